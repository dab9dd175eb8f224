"""Efforts of motors in an offline simulation, numbers or functions of time, and forces beside the file's."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.alias_text import with_own_names
from linkwork.machine.nearest_name import with_remedy
from linkwork.multibody.expressions import ExpressionError, parse
from linkwork.multibody.expressions.program import CLOCK_TIME, Program, program_of
from linkwork.multibody.expressions.text import RATE_OF, TIME, names_in
from linkwork.multibody.forces import AlongDirection, AppliedForce, OnJoint
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ANGLES, WORLD, Coordinate, CoordinateKind, ModelError
from linkwork.multibody.workspace import Workspace
from linkwork.offline.run_kernels import FIGURES, MOTOR_EARLIER

_Value = TypeVar("_Value")
_KINDS = (*"xyz", *ANGLES)
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class MotorEfforts:
    """One effort for each motor, in N m or N at its joint.

    given: one number per motor in their order, or numbers and texts by the motor's joint ("10", or a function
    of time: "10*sin(2*pi*t)", t in s); motors that are not named have zero effort. Functions are held over
    each step at their value in its middle, which is of second order in the step.

    Raises ValueError for unknown motors, texts that are no expression of time, and numbers that are not
    finite.
    """

    def __init__(self, machine: Machine, given: ArrayLike | Mapping[str, float | str] | None) -> None:
        """Read the efforts."""
        self._places = [motor.index for motor in machine.motors]
        self._names = [motor.joint for motor in machine.motors]
        if given is None or isinstance(given, Mapping):
            texts = known_motors(machine, given or {})
        else:
            texts = dict[str, float | str](zip(self._names, _numbers(given, len(self._names)), strict=True))
        self._programs = [_program(name, texts.get(name, 0.0)) for name in self._names]

    @property
    def vary(self) -> bool:
        """Whether some effort is a function of time."""
        return any(step[0] == CLOCK_TIME for each in self._programs for step in each.instructions)

    def close(self) -> None:
        """Release what efforts from outside need; these need nothing."""

    def values(self, time_s: float) -> Floats:
        """Return the efforts (motors; N m or N) at a time. Raises ValueError where one is not finite."""
        found = np.array([_value(each, time_s) for each in self._programs])
        for name, value in zip(self._names, found, strict=True):
            if not math.isfinite(value):
                raise ValueError(f"the effort of {name} is not a finite number at {time_s:g} s")
        return found

    def apply(self, work: Workspace, time_s: float) -> None:
        """Replace the motors' efforts in a workspace by those at a time."""
        work.effort[self._places] = 0.0
        np.add.at(work.effort, self._places, self.values(time_s))

    def hold(self, work: Workspace, figures: Floats, time_s: float) -> None:
        """Do the same between two steps, and add the work of the efforts that ended to the figures (flat
        array).
        """
        nv = len(work.v)
        start = figures[FIGURES : FIGURES + nv]
        figures[MOTOR_EARLIER] += float(work.effort @ (work.q[:nv] - start))
        start[:] = work.q[:nv]
        self.apply(work, time_s)


def parse_effort(text: str, machine: Machine) -> tuple[str, str]:
    """Read "shoulder=10", "shoulder_N_m=10" or "shoulder=10*sin(t)": the motor's joint and its effort.

    Raises ValueError for unknown motors, other units, and texts that are no assignment.
    """
    key, sign, value = (part.strip() for part in text.partition("="))
    units = {motor.joint: motor.effort_unit.replace(" ", "_") for motor in machine.motors}
    keys = {f"{name}_{unit}": name for name, unit in units.items()}
    if not (key and sign and value):
        example = next(iter(keys), "shoulder_N_m")
        raise ValueError(f"{text}: not an effort; write MOTOR=VALUE, say {example}=10")
    for alias, name in machine.aliases.items():
        if name in units and key in (alias, f"{alias}_{units[name]}"):
            return name, value
    if key not in units and key not in keys:
        names = f"available: {', '.join(units) or 'none'}, with a unit {', '.join(keys) or 'none'}"
        raise ValueError(with_remedy(f"{text}: unknown motor {key!r}; {names}", key, [*units, *keys]))
    return keys.get(key, key), value


def known_motors(machine: Machine, given: Mapping[str, _Value]) -> dict[str, _Value]:
    """Return values by motor, aliases resolved. Raises ValueError for names of no motor."""
    names, found = [motor.joint for motor in machine.motors], dict[str, _Value]()
    for written, value in given.items():
        name = machine.aliases.get(written, written)
        if name not in names:
            text = f"unknown motor {name!r}; available: {', '.join(names) or 'none'}"
            raise ValueError(with_remedy(text, name, names))
        found[name] = value
    return found


def _numbers(given: ArrayLike, count: int) -> list[float]:
    values = np.asarray(given, np.float64)
    if values.shape != (count,) or not np.all(np.isfinite(values)):
        raise ValueError(f"`effort` must be {count} finite numbers, one per motor")
    return [float(value) for value in values]


def _program(name: str, given: float | str) -> Program:
    text = given if isinstance(given, str) else repr(float(given))
    try:
        tree = parse(text)
        other = next(iter(names_in(tree)), None)
        if other is not None:
            allowed = f"numbers, {TIME} (time, s), pi, deg and functions of them"
            raise ExpressionError("an effort may depend only on time", names_in(tree)[other], other, allowed)
        return program_of(tree, {})
    except ExpressionError as error:
        raise ValueError(f"effort {name}={text}: {error}") from None


def _value(program: Program, time_s: float) -> float:
    try:
        return program.value([], time_s)
    except (ArithmeticError, ValueError):
        return math.nan


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
    joints, points = ", ".join(mechanism.joint_names), ", ".join(places) or "none"
    text = f"no joint or moving point for a force on {name!r}; joints: {joints}; points: {points}"
    raise ValueError(with_remedy(text, name, [*mechanism.joint_names, *places]))


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
