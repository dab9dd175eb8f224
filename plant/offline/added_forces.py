"""Forces of `simulate` beside those of the machine file, by the name of a joint or POINT.x, .y, .z."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from linkwork.machine import Machine
from linkwork.machine.alias_text import with_own_names
from linkwork.machine.nearest_name import meant
from linkwork.multibody.expressions import ExpressionError, names_in, parse
from linkwork.multibody.expressions.text import RATE_OF
from linkwork.multibody.forces import AlongDirection, AppliedForce, OnJoint
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ANGLES, WORLD, Coordinate, CoordinateKind, ModelError

_KINDS = (*"xyz", *ANGLES)
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def with_forces(machine: Machine, forces: Mapping[str, float | str]) -> Machine:
    """Return the machine with more forces in its plant.

    forces: of joints (or degrees of freedom, N m or N) and of points along the world's axes (POINT.x, N) to a
    number, or to an expression of coordinates, `rate(COORDINATE)` and t (s). Raises ValueError for unknown
    names and for texts that are no expressions.
    """
    if not forces:
        return machine
    given = machine.plant_mechanism
    forces = {name: _with_own_names(value, machine.aliases) for name, value in forces.items()}
    added = [_force(given, machine.aliases.get(name, name), value) for name, value in forces.items()]
    try:
        mechanism = given.changed(
            coordinates=[*given.coordinates, *_more_coordinates(given, forces.values())],
            elements=[*given.elements, *added],
        )
    except ModelError as error:
        raise ValueError(f"force {error.where[1]}: {error.text}") from None
    return replace(machine, plant_mechanism=mechanism)


def _force(mechanism: Mechanism, name: str, value: float | str) -> AppliedForce:
    number = _number(value)
    if name in mechanism.joint_names:
        return AppliedForce(f"{name} (added)", OnJoint(name), number)
    point, _, axis = name.rpartition(".")
    moving = [each.name for each in mechanism.points if each.body != WORLD]
    if point in moving and axis in _AXES:
        return AppliedForce(f"{name} (added)", AlongDirection(point, _AXES[axis]), number)
    places = [f"{each}.{axis}" for each in moving for axis in _AXES]
    remedy = meant(name, [*mechanism.joint_names, *places])
    joints, points = ", ".join(mechanism.joint_names), ", ".join(places) or "none"
    text = f"no joint or moving point for a force on {name!r}; joints: {joints}; points: {points}"
    raise ValueError(f"{text}; {remedy}" if remedy else text)


def _more_coordinates(mechanism: Mechanism, values: Iterable[float | str]) -> list[Coordinate]:
    """Return the coordinates of points that expressions name and the mechanism does not have."""
    found = {}
    for value in values:
        try:
            names = names_in(parse(value, {RATE_OF: 1})) if isinstance(value, str) else {}
        except ExpressionError:  # the mechanism reports it
            continue
        for name in names:
            point, _, axis = name.rpartition(".")
            if name not in mechanism.coordinate_names and point in mechanism.point_names and axis in _KINDS:
                found[name] = Coordinate(name, cast(CoordinateKind, axis), point)
    return list(found.values())


def _with_own_names(value: float | str, aliases: Mapping[str, str]) -> float | str:
    return with_own_names(value, aliases) if isinstance(value, str) else value


def _number(value: float | str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def parse_force(text: str) -> tuple[str, str]:
    """Read "hinge=0.5*sin(t)" or "tip.x=-3": a name and a value. Raises ValueError for other texts."""
    name, sign, value = (part.strip() for part in text.partition("="))
    if not (name and sign and value):
        raise ValueError(f"{text}: not a force; write JOINT=VALUE or POINT.x=VALUE, say tip.x=10")
    return name, value
