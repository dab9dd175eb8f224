"""The settings `controller.effort_scale` and `controller.preload`, which need redundant motors."""

from __future__ import annotations

from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.description import PreloadLimit
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml import Document


def effort_scales(file: MachineFile, document: Document, dof: int) -> tuple[float, ...]:
    """Return one scale for each motor (N m or N), its largest effort by default. Raises MachineError."""
    given = file.controller.effort_scale
    problems = [
        _unknown_motor(file, document, "effort_scale", name) for name in given if name not in file.motors
    ]
    if given and len(file.motors) <= dof:
        problems.append(_not_redundant(file, document, dof, "effort_scale", "there is nothing to allocate"))
    if problems:
        raise MachineError(problems)
    return tuple(
        given[name] if name in given else motor.values().max_effort for name, motor in file.motors.items()
    )


def preloads(file: MachineFile, document: Document, dof: int) -> tuple[PreloadLimit, ...]:
    """Return one pre-load for each motor, in the order of the file. Raises MachineError."""
    given = file.controller.preload
    problems: list[Problem] = []
    for name, spec in given.items():
        at = ("controller", "preload", name)
        if name not in file.motors:
            problems.append(_unknown_motor(file, document, "preload", name))
            continue
        limit = file.motors[name].values().max_effort
        if spec.most > limit:
            problems.append(
                document.problem(
                    (*at, "most"),
                    "this exceeds the motor's largest effort",
                    found=f"{spec.most:g}",
                    allowed=f"its largest effort, {limit:g}, or less",
                )
            )
        if abs(spec.effort) > spec.most:
            problems.append(
                document.problem(
                    (*at, "effort"),
                    "more than the largest pre-load",
                    found=f"{spec.effort:g}",
                    allowed=f"-{spec.most:g} to {spec.most:g}",
                )
            )
    if given and len(file.motors) <= dof:
        problems.append(_not_redundant(file, document, dof, "preload", "there is no internal force to set"))
    if problems:
        raise MachineError(problems)
    none = PreloadLimit(0.0, 0.0)
    return tuple(
        PreloadLimit(given[name].effort, given[name].most) if name in given else none for name in file.motors
    )


def _unknown_motor(file: MachineFile, document: Document, key: str, name: str) -> Problem:
    return unknown(document, ("controller", key, name), name, "motor", list(file.motors), of_key=True)


def _not_redundant(file: MachineFile, document: Document, dof: int, key: str, effect: str) -> Problem:
    return document.problem(
        ("controller", key),
        f"{effect}: the machine has no more motors than degrees of freedom",
        of_key=True,
        found=f"{len(file.motors)} motors, {dof} degrees of freedom",
        remedy="leave it out",
    )
