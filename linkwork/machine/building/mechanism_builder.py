"""From checked sections to the mechanism and the frozen values that the daemons use."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar, cast

import numpy as np

from linkwork.machine.building.contact_parameters import stop_of
from linkwork.machine.building.dof_names import (
    coordinates,
    degrees_of_freedom,
    gap_of,
    joint_limits,
    owned,
    unnamed_coordinates,
)
from linkwork.machine.problems import Problem
from linkwork.machine.sections.constraints import Constraint as ConstraintOfFile
from linkwork.machine.sections.fields import NamedSection
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.formulas import with_names
from linkwork.machine.sections.limits import Limits
from linkwork.machine.yaml_document import Document
from linkwork.multibody.constraints import Constraint
from linkwork.multibody.forces import ForceElement
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Coordinate, CoordinateKind, Joint, ModelError, Point

N = TypeVar("N", bound=NamedSection)
_SECTION = {"coordinates": "task"}


def build_mechanism(file: MachineFile, *, plant: bool = False) -> Mechanism:
    """Build the mechanism that a file describes, or the plant's, which has all forces.

    Raises multibody.ModelError.
    """
    points = [
        Point(name, spec.body, np.array(spec.at_m, dtype=np.float64)) for name, spec in file.points.items()
    ]
    return Mechanism.build(
        [body_of(file, name) for name in file.bodies],
        [joint_of(file, name) for name in file.joints],
        np.array(file.gravity_m_s2, dtype=np.float64),
        points=points,
        coordinates=[
            *(task.make(name) for name, task in file.task.items()),
            *_unnamed(file),
            *_gaps(file),
        ],
        constraints=_constraints(file),
        rank_tolerance=file.rank_tolerance,
        elements=elements_of(file, plant=plant),
    )


def body_of(file: MachineFile, name: str) -> Body:
    """Return a body."""
    spec = file.bodies[name]
    inertia, com = spec.inertia_kg_m2, np.array(spec.com_m, dtype=np.float64)
    return Body(name, spec.mass_kg, com, inertia.matrix(), inertia.unphysical)


def elements_of(file: MachineFile, *, plant: bool) -> list[ForceElement]:
    """The springs and applied forces: of the plant all, of the controller's model those that it knows."""
    called = unnamed_coordinates(file)
    known = {name: spec for name, spec in file.forces.items() if plant or not spec.plant_only}
    return [
        *(spec.make(name) for name, spec in file.springs.items()),
        *(spec.make(name, called) for name, spec in known.items()),
    ]


def _unnamed(file: MachineFile) -> list[Coordinate]:
    """The coordinates of points that only constraints name."""
    texts = [text for text, name in unnamed_coordinates(file).items() if text == name]
    return [
        Coordinate(text, cast(CoordinateKind, text.rpartition(".")[2]), text.partition(".")[0])
        for text in texts
    ]


def _gaps(file: MachineFile) -> list[Coordinate]:
    """Return the coordinates CONTACT.gap: distance of each contact's point from its surface."""
    return [spec.distance(gap_of(name)) for name, spec in file.contacts.items()]


def _constraints(file: MachineFile) -> list[Constraint]:
    called = unnamed_coordinates(file)
    return [replace(_renamed(spec, called).make(name), on=spec.on) for name, spec in file.constraints.items()]


def _renamed(spec: ConstraintOfFile, called: dict[str, str]) -> ConstraintOfFile:
    """A constraint that calls all coordinates as the mechanism does."""
    if not spec.named() and not spec.coordinates_in_formulas():
        return spec
    return with_names(spec, called)


def joint_of(file: MachineFile, name: str) -> Joint:
    """Return a joint with the friction and the rotor of its motor."""
    spec = file.joints[name]
    place: dict[str, Any] = {
        "name": name,
        "kind": "fixed" if spec.type == "weld" else spec.type,
        "parent": spec.parent,
        "child": spec.child,
        "at_m": np.array(spec.at_m, dtype=np.float64),
        "rotation": spec.rotation(),
    }
    armature, viscous, coulomb, coulomb_speed = spec.friction()
    if name in file.motors:
        motor = file.motors[name]
        armature, viscous, coulomb = (
            armature + motor.armature,
            viscous + motor.viscous,
            coulomb + motor.coulomb,
        )
    return Joint(
        **place,
        **spec.geometry(),
        armature=armature,
        viscous=viscous,
        coulomb=coulomb,
        coulomb_speed=coulomb_speed,
    )


def model_problem(error: ModelError, document: Document) -> Problem:
    """Convert the mechanism's errors to problems with a place in the file."""
    section, *rest = error.where or ("",)
    place = (_SECTION.get(section, section), *rest) if section else ()
    return document.problem(place, error.text, of_key=True, remedy=error.remedy)


def physics(file: MachineFile, *, plant: bool = False) -> dict[str, Any]:
    """Return the quantities that determine the motion, in SI units, for the hash of the model."""
    joints = {name: asdict(joint_of(file, name)) for name in file.joints}
    return {
        "gravity_m_s2": file.gravity_m_s2,
        "bodies": {
            name: {"mass_kg": spec.mass_kg, "com_m": spec.com_m, "inertia_kg_m2": spec.inertia_kg_m2.matrix()}
            for name, spec in file.bodies.items()
        },
        "joints": joints,
        "points": {name: {"body": spec.body, "at_m": spec.at_m} for name, spec in file.points.items()},
        "task": {
            name: [spec.coordinate, spec.place()] if spec.place() else spec.coordinate
            for name, spec in file.task.items()
        },
        **({"constraints": _demands(file)} if file.constraints else {}),
        **_touch(file),
        **({"elements": elements} if (elements := elements_of(file, plant=plant)) else {}),
        **({"scene": file.scene.model_dump()} if plant and file.scene else {}),
    }


def _touch(file: MachineFile) -> dict[str, Any]:
    """Stops and contacts, where there are any."""
    found = {name: stop_of(file, name) for name in owned(file)}
    stops = {
        name: [spec.stiffness, spec.damping, limits.position]
        for name, spec in found.items()
        if spec is not None and (limits := joint_limits(file, name)) is not None
    }
    contacts = {name: spec.make(name) for name, spec in file.contacts.items()}
    return {key: rows for key, rows in (("stops", stops), ("contacts", contacts)) if rows}


def _demands(file: MachineFile) -> list[Any]:
    return [
        [spec.type, made] for spec, made in zip(file.constraints.values(), _constraints(file), strict=True)
    ]


def everything(file: MachineFile) -> dict[str, Any]:
    """Return all that a file says, defaults filled in and order kept where it counts."""
    order = [list(file.joints), list(file.task), list(file.motors), list(file.sensors)]
    order += [
        list(rows) for rows in (file.constraints, file.contacts, file.force_sensors, file.signals) if rows
    ]
    return {"file": file.model_dump(), "order": order}


def limits_of(file: MachineFile) -> tuple[Limits, ...]:
    """Return the limits of every coordinate, in the order of the mechanism's."""
    known = degrees_of_freedom(file)
    return tuple(_limits(file, name, is_angle, known) for name, is_angle in coordinates(file).items())


def joint_limits_of(file: MachineFile) -> tuple[Limits, ...]:
    """Return the limits of every degree of freedom, in the order of v."""
    known = degrees_of_freedom(file)
    return tuple(_limits(file, name, is_angle, known) for name, is_angle in known.items())


def _limits(file: MachineFile, name: str, is_angle: bool, known: Container[str]) -> Limits:
    task = file.task.get(name)
    if task is not None:
        own: Limits | None = task.limits
    else:
        own = joint_limits(file, name) if name in known else None
    return (own or Limits.of_kind(is_angle)()).at(name)


def placed(rows: Mapping[str, N], order: Iterable[str]) -> tuple[N, ...]:
    """Return sections with their names and their places in this order, in the order of the file."""
    places = {name: place for place, name in enumerate(order)}
    return tuple(row.at(name, places[name]) for name, row in rows.items())
