"""From the section `force_sensors` to the sensors of a machine: what each of them measures."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem, refuse
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_sensors import AXES, ForceSensor, ForceSensorSpec
from linkwork.machine.sections.force_settings import rows_with_unit
from linkwork.machine.yaml_document import Document
from linkwork.multibody.mechanism import Mechanism


def check_force_sensors(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return the problems of the names in the section."""
    for name, sensor in file.force_sensors.items():
        for key, word, known in (
            ("contact", "contact", file.contacts),
            ("constraint", "constraint", file.constraints),
        ):
            given = getattr(sensor, key)
            if given is not None and given not in known:
                yield unknown(document, ("force_sensors", name, key), given, word, known)


def force_sensors(file: MachineFile, mechanism: Mechanism, document: Document) -> tuple[ForceSensor, ...]:
    """Return the sensors in the order of the file. Raises MachineError for a sensor without a force to
    measure."""
    made: list[ForceSensor] = []
    problems: list[Problem] = []
    first = 0
    for name, spec in file.force_sensors.items():
        components: tuple[str, ...] = AXES
        rows: tuple[int, ...] = ()
        problem = None
        if spec.constraint is not None:
            own = rows_with_unit(mechanism, spec.constraint, spec.unit())
            components, rows = tuple(own), tuple(own.values())
            problem = None if rows else _nothing(file, document, name, spec)
        if problem is not None:
            problems.append(problem)
        made.append(
            ForceSensor(
                name,
                -1 if spec.contact is None else list(file.contacts).index(spec.contact),
                -1 if spec.constraint is None else mechanism.constraint_names.index(spec.constraint),
                "constraint" if spec.contact is None else spec.frame or "world",
                spec.unit(),
                components,
                rows,
                first,
                spec.resolution(),
                spec.noise(),
            )
        )
        first += len(components)
    refuse(problems)
    return tuple(made)


def _nothing(file: MachineFile, document: Document, name: str, spec: ForceSensorSpec) -> Problem:
    word, other = ("torque", "force") if spec.measures == "torque" else ("force", "torque")
    assert spec.constraint is not None
    kind = file.constraints[spec.constraint].type
    return document.problem(
        ("force_sensors", name, "constraint"),
        f"a constraint of type {kind} has no {word}",
        found=spec.constraint,
        remedy=f"write measures: {other}, or leave the sensor out",
    )
