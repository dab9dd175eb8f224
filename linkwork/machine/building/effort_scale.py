"""The settings `controller.effort_scale`: the metric in which efforts of redundant motors are smallest."""

from __future__ import annotations

from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml import Document


def effort_scales(file: MachineFile, document: Document, dof: int) -> tuple[float, ...]:
    """Return one scale for each motor (N m or N), its largest effort by default. Raises MachineError."""
    given, problems = file.controller.effort_scale, list[Problem]()
    for name in given:
        if name not in file.motors:
            at = ("controller", "effort_scale", name)
            problems.append(unknown(document, at, name, "motor", list(file.motors), of_key=True))
    if given and len(file.motors) <= dof:
        problems.append(
            document.problem(
                ("controller", "effort_scale"),
                "there is nothing to allocate: the machine has no more motors than degrees of freedom",
                of_key=True,
                found=f"{len(file.motors)} motors, {dof} degrees of freedom",
                remedy="leave it out",
            )
        )
    if problems:
        raise MachineError(problems)
    return tuple(
        given[name] if name in given else motor.values().max_effort for name, motor in file.motors.items()
    )
