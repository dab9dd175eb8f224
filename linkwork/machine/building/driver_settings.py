"""Options of a driver and settings of motors: `driver`, `effort_scale`, `preload`, and their problems."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.sections.drivers import DriverSensor, channels
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.settings import PreloadLimit
from linkwork.machine.yaml_document import Document


def check_driver(file: MachineFile, document: Document, is_angle: dict[str, bool]) -> Iterator[Problem]:
    """Yield the problems of names, kinds and channels; `is_angle` of every degree of freedom."""
    driver = file.driver
    for section, known, numbers in (
        ("motors", list(file.motors), channels(driver.motors_of(file.motors))),
        ("sensors", list(file.sensors), channels(driver.sensors_of(file.sensors))),
    ):
        rows = list(getattr(driver, section))
        for name in rows:
            if name not in known:
                path = ("driver", section, name)
                yield unknown(document, path, name, section[:-1], known, of_key=True)
        used: dict[int, str] = {}
        for name, channel in zip(known, numbers, strict=True):
            if channel in used:
                at = ("driver", section, name) if name in rows else ("driver", section, used[channel])
                yield document.problem(
                    at,
                    "two entries have the same channel of the device",
                    of_key=True,
                    found=f"channel {channel} for {used[channel]} and for {name}",
                    remedy="give each a different `channel`",
                )
            used[channel] = name
    for name, sensor in driver.sensors.items():
        turns = is_angle.get(name, True)
        counts = "counts_per_m" if turns else "counts_per_turn"
        right = "counts_per_turn, at_zero_deg or at_zero_rad" if turns else "counts_per_m or at_zero_m"
        for key in (counts, *DriverSensor.at_zero.keys(not turns)):
            if getattr(sensor, key) is not None and name in file.sensors:
                yield document.problem(
                    ("driver", "sensors", name, key),
                    f"this joint {'turns' if turns else 'slides'}",
                    of_key=True,
                    found=key,
                    allowed=right,
                )


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
    return tuple(given.get(name, motor.max_effort) for name, motor in file.motors.items())


def preloads(file: MachineFile, document: Document, dof: int) -> tuple[PreloadLimit, ...]:
    """Return one pre-load for each motor, in the order of the file. Raises MachineError."""
    given = file.controller.preload
    problems: list[Problem] = []
    for name, spec in given.items():
        at = ("controller", "preload", name)
        if name not in file.motors:
            problems.append(_unknown_motor(file, document, "preload", name))
            continue
        limit = file.motors[name].max_effort
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
    none = PreloadLimit.model_construct(effort=0.0, most=0.0)
    return tuple(given.get(name, none) for name in file.motors)


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
