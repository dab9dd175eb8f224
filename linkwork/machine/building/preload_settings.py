"""The settings `controller.preload`: what redundant motors are strained by against each other."""

from __future__ import annotations

from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.description import PreloadLimit
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml import Document


def preloads(file: MachineFile, document: Document, dof: int) -> tuple[PreloadLimit, ...]:
    """Return one for each motor, in the order of the file. Raises MachineError."""
    given = file.controller.preload
    problems: list[Problem] = []
    for name, spec in given.items():
        at = ("controller", "preload", name)
        if name not in file.motors:
            problems.append(unknown(document, at, name, "motor", list(file.motors), of_key=True))
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
        problems.append(
            document.problem(
                ("controller", "preload"),
                "there is no internal force to set: the machine has no more motors than degrees of freedom",
                of_key=True,
                found=f"{len(file.motors)} motors, {dof} degrees of freedom",
                remedy="leave it out",
            )
        )
    if problems:
        raise MachineError(problems)
    none = PreloadLimit(0.0, 0.0)
    return tuple(
        PreloadLimit(given[name].effort, given[name].most) if name in given else none for name in file.motors
    )
