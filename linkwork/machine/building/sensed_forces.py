"""From the section `force_sensors` to the sensors of a machine: what each of them measures."""

from collections.abc import Iterator

from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem, refuse
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_sensors import ForceSensor
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
    for name, sensor in file.force_sensors.items():
        rows: dict[str, int] = {}
        if sensor.constraint is not None:
            rows = rows_with_unit(mechanism, sensor.constraint, sensor.unit)
            if not rows:
                problems.append(_nothing(file, document, name, sensor))
        contact = -1 if sensor.contact is None else list(file.contacts).index(sensor.contact)
        made.append(sensor.at(name, contact).measuring(rows, first))
        first = made[-1].numbers.stop
    refuse(problems)
    return tuple(made)


def _nothing(file: MachineFile, document: Document, name: str, sensor: ForceSensor) -> Problem:
    word, other = ("torque", "force") if sensor.measures == "torque" else ("force", "torque")
    assert sensor.constraint is not None
    kind = file.constraints[sensor.constraint].type
    return document.problem(
        ("force_sensors", name, "constraint"),
        f"a constraint of type {kind} has no {word}",
        found=sensor.constraint,
        remedy=f"write measures: {other}, or leave the sensor out",
    )
