"""The variables of a machine's FMU: name, unit, meaning, and the place of each in an instance's memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkwork.machine import Machine
from linkwork.multibody.parameters import dof_with_coordinates
from linkwork.multibody.tree.link_tree import links_of

BOOLEAN, OUTPUT, START, NOT_NEGATIVE = 1, 2, 4, 8
"""Flags of a variable in the C code: its type, and what may be set."""


@dataclass(frozen=True)
class FmuVariable:
    """place: index in the instance's floats, which has its start value, too.

    A `settable` output is a start value; a `boolean` is kept as 0 or 1.
    """

    name: str
    place: int
    causality: Literal["independent", "input", "output", "parameter"]
    unit: str
    about: str
    boolean: bool = False
    settable: bool = False
    not_negative: bool = False

    @property
    def flags(self) -> int:
        """The flags of the C code."""
        fixed = self.causality in ("output", "independent") and not self.settable
        kinds = (
            (self.boolean, BOOLEAN),
            (fixed, OUTPUT),
            (self.settable, START),
            (self.not_negative, NOT_NEGATIVE),
        )
        return sum(flag for holds, flag in kinds if holds)

    @property
    def has_start(self) -> bool:
        """Whether it has a start value, which may be set."""
        return not self.flags & OUTPUT


@dataclass(frozen=True)
class FmuPlaces:
    """Index of each field's first entry in the instance's floats: of model, workspace, plant, and its own."""

    model: Mapping[str, int]
    work: Mapping[str, int]
    plant: Mapping[str, int]
    own: Mapping[str, int]


def variables_of(machine: Machine, places: FmuPlaces) -> list[FmuVariable]:
    """Return the variables in the order of their value references; the time is the first."""
    time = FmuVariable("time", places.own["time"], "independent", "s", "Time")
    parts = _inputs, _motion, _coordinates, _bodies, _joints, _motors
    return [time, *(each for part in parts for each in part(machine, places))]


def _inputs(machine: Machine, places: FmuPlaces) -> Iterator[FmuVariable]:
    for i, motor in enumerate(machine.motors):
        about, unit = f"Effort of the motor at joint {motor.joint}", _effort(motor.effort_unit)
        yield FmuVariable(f"effort.{motor.joint}", places.own["effort"] + i, "input", unit, about)
    yield FmuVariable(
        "brake", places.own["brake"], "input", "", "Whether the motors' brakes hold", boolean=True
    )


def _motion(machine: Machine, places: FmuPlaces) -> Iterator[FmuVariable]:
    mechanism = machine.plant_mechanism
    angle = dict(zip(mechanism.joint_names, mechanism.joint_is_angle, strict=True))
    separate = dof_with_coordinates(links_of(mechanism.bodies, mechanism.joints)[0])
    for k, name in enumerate(mechanism.position_names):
        own = k in separate
        about = f"Position of {name}" if own else f"{name}, a component of a unit quaternion"
        unit = _length(angle[name]) if own else ""
        yield FmuVariable(f"position.{name}", places.work["q"] + k, "output", unit, about, settable=own)
    for k, name in enumerate(mechanism.joint_names):
        about, unit = f"Velocity of {name}", f"{_length(angle[name])}/s"
        yield FmuVariable(f"velocity.{name}", places.work["v"] + k, "output", unit, about, settable=True)


def _coordinates(machine: Machine, places: FmuPlaces) -> Iterator[FmuVariable]:
    mechanism = machine.plant_mechanism
    for k, name in enumerate(mechanism.coordinate_names):
        if name not in mechanism.joint_names:
            unit = _length(mechanism.coordinate_is_angle[k])
            yield FmuVariable(
                f"coordinate.{name}", places.work["theta"] + k, "output", unit, f"Coordinate {name}"
            )
            about = f"Rate of coordinate {name}"
            yield FmuVariable(f"rate.{name}", places.own["rates"] + k, "output", f"{unit}/s", about)
    for i, motor in enumerate(machine.motors):
        about, unit = f"Effort that acts at joint {motor.joint}", _effort(motor.effort_unit)
        yield FmuVariable(f"acting_effort.{motor.joint}", places.plant["effort"] + i, "output", unit, about)


def _bodies(machine: Machine, places: FmuPlaces) -> Iterator[FmuVariable]:
    at, mechanism = places.model, machine.plant_mechanism
    for k, axis in enumerate("xyz"):
        about = f"Gravity along {axis} of the world"
        yield FmuVariable(f"gravity.{axis}", at["gravity"] + k, "parameter", "m/s2", about)
    links, seats, *_ = links_of(mechanism.bodies, mechanism.joints)
    carried: dict[int, list[str]] = {}
    for body in mechanism.bodies:
        if seats[body.name].link >= 0:
            carried.setdefault(seats[body.name].link, []).append(body.name)
    for link, names in carried.items():
        seat = seats[names[0]]
        if np.any(seat.origin) or np.any(seat.axes != np.eye(3)) or links[link].mass <= 0.0:
            continue
        fixed = f" with what is fixed to it ({', '.join(names[1:])})" if len(names) > 1 else ""
        name, about = f"body.{names[0]}", f"of {names[0]}{fixed}"
        yield FmuVariable(
            f"{name}.mass", at["mass"] + link, "parameter", "kg", f"Mass {about}", not_negative=True
        )
        for k, axis in enumerate("xyz"):
            text = f"Centre of mass {about}, {axis} in its axes"
            yield FmuVariable(f"{name}.com.{axis}", at["com"] + 3 * link + k, "parameter", "m", text)
        for k, axes in enumerate(("xx", "xy", "xz", "yy", "yz", "zz")):
            text = f"Inertia {about} about its centre of mass, {axes}"
            yield FmuVariable(
                f"{name}.inertia.{axes}", at["inertia"] + 6 * link + k, "parameter", "kg.m2", text
            )


def _joints(machine: Machine, places: FmuPlaces) -> Iterator[FmuVariable]:
    at, mechanism = places.model, machine.plant_mechanism
    for k, name in enumerate(mechanism.joint_names):
        angle = mechanism.joint_is_angle[k]
        effort, rate = ("N.m", "N.m.s/rad") if angle else ("N", "N.s/m")
        rows = (
            ("viscous", rate, "Viscous friction"),
            ("coulomb", effort, "Dry friction"),
            ("armature", "kg.m2" if angle else "kg", "Inertia of the rotor, at the joint,"),
        )
        for field, unit, about in rows:
            name_of, place = f"joint.{name}.{field}", at[field] + k
            yield FmuVariable(name_of, place, "parameter", unit, f"{about} of {name}", not_negative=True)


def _motors(machine: Machine, places: FmuPlaces) -> Iterator[FmuVariable]:
    at = places.plant
    for i, motor in enumerate(machine.motors):
        unit, name = _effort(motor.effort_unit), f"motor.{motor.joint}"
        about = f"Friction of the brake at {motor.joint}"
        yield FmuVariable(
            f"{name}.brake", at["brake_effort"] + i, "parameter", unit, about, not_negative=True
        )
        about = f"Largest effort of the drive at {motor.joint}; counts with `drives` alone"
        yield FmuVariable(
            f"{name}.max_effort", at["max_effort"] + i, "parameter", unit, about, not_negative=True
        )
    about = "Whether efforts pass through the drives of the machine file: limits, rates and lags"
    yield FmuVariable("drives", places.own["drives"], "parameter", "", about, boolean=True)


def _length(angle: bool) -> str:
    return "rad" if angle else "m"


def _effort(unit: str) -> str:
    return unit.replace(" ", ".")
