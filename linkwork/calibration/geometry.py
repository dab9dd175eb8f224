"""Numbers of the machine file that a calibration may change, and the mechanism with changed ones."""

import copy
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.building.idle_motions import with_idle
from linkwork.machine.building.mechanism_builder import build_mechanism
from linkwork.machine.checks.schema_validation import validate
from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import MachineError
from linkwork.machine.sections.file import MachineFile
from linkwork.multibody.mechanism import Mechanism

Unit = Literal["m", "rad"]
AXES = ("x", "y", "z")
FRAME = ("x", "y", "z", "roll", "pitch", "yaw")
_SAME_PLACE = 1e-9
_LENGTHS = {"_m": 1.0, "_mm": 1e-3}
_ANGLES = {"_rad": 1.0, "_deg": math.pi / 180.0}
_TERM = re.compile(r"\s*([+-]?)\s*(?:([0-9.eE+-]+)\s*\*\s*)?([A-Za-z][\w.<>]*)\s*")


class UnknownParameter(ValueError):
    """A parameter that the machine file does not have."""


@dataclass(frozen=True)
class GeometricParameter:
    """An unknown: a change (m or rad) of numbers of the file, each by its own factor.

    A term's key is the path of a number in the file ("joints.left.at_m.x"), or zero.JOINT, play.JOINT or
    frame.AXIS of what the file does not hold. size: the number in the file, 0 for others.
    """

    name: str
    unit: Unit
    terms: tuple[tuple[str, float], ...]
    size: float = 0.0

    @property
    def of_file(self) -> bool:
        """Whether it changes the mechanism."""
        return self.terms[0][0].partition(".")[0] not in ("zero", "play", "frame")

    def factor(self, key: str) -> float:
        """The factor of a key; 0 where it has no part."""
        return dict(self.terms).get(key, 0.0)


class Geometry:
    """The file's numbers, and mechanisms with other ones. The file stays as it is."""

    def __init__(self, machine: Machine) -> None:
        """Keep the machine."""
        self.machine = machine
        self._data: dict[str, Any] = machine.document.data

    def mechanism(self, changes: Mapping[str, float]) -> Mechanism:
        """Return the mechanism with numbers changed, by key (m or rad). Raises MachineError, ModelError."""
        document, idle = self.machine.document, self.machine.assembly.idle
        file = validate(MachineFile, self.data(changes), document)
        if isinstance(file, list):
            raise MachineError(file)
        return with_idle(build_mechanism(file), idle, held=True)

    def data(self, changes: Mapping[str, float]) -> dict[str, Any]:
        """Return the data of the file with numbers changed, by key (m or rad)."""
        data = copy.deepcopy(self._data)
        for key, change in changes.items():
            holder, last, factor = self._place(data, key)
            holder[last] = float(holder[last]) + change / factor
        return data

    def value(self, key: str) -> float:
        """Return a number of the file, m or rad. Raises UnknownParameter."""
        holder, last, factor = self._place(copy.deepcopy(self._data), key)
        return float(holder[last]) * factor

    def unit(self, key: str) -> Unit:
        """Return the unit of a key."""
        head, _, rest = key.partition(".")
        if head in ("zero", "play"):
            mechanism = self.machine.mechanism
            if rest not in mechanism.joint_names:
                likely = nearest(rest, mechanism.joint_names)
                raise UnknownParameter(f"{key}: there is no joint {rest}; {likely or 'see the file'}")
            return "rad" if mechanism.joint_is_angle[mechanism.joint_index(rest)] else "m"
        if head == "frame":
            if rest not in FRAME:
                raise UnknownParameter(f"{key}: write frame.x, y, z, roll, pitch or yaw")
            return "m" if rest in AXES else "rad"
        named = [part for part in key.split(".") if part not in AXES and not part.isdigit()][-1]
        if any(named.endswith(suffix) for suffix in _LENGTHS):
            return "m"
        if named == "axis" or any(named.endswith(suffix) for suffix in _ANGLES):
            return "rad"
        raise UnknownParameter(f"{key} is neither a length nor an angle nor an axis")

    def parameter(self, text: str) -> GeometricParameter:
        """Return the parameter that a text names: KEY, or NAME=KEY+0.5*KEY. Raises UnknownParameter."""
        name, sign, terms = (part.strip() for part in text.partition("="))
        return self.tied(name, _terms(terms if sign else name))

    def tied(self, name: str, terms: Sequence[tuple[str, float]]) -> GeometricParameter:
        """Return a parameter of several numbers of one kind. Raises UnknownParameter."""
        units = {self.unit(key) for key, _ in terms}
        if len(units) > 1:
            raise UnknownParameter(f"{name}: lengths and angles cannot be tied to each other")
        first, factor = terms[0]
        outside = first.partition(".")[0] in ("zero", "play", "frame")
        sizes = [0.0 if outside else self.value(key) for key, _ in terms]
        return GeometricParameter(name, units.pop(), tuple(terms), sizes[0] / factor)

    def points(self, used: Iterable[str], read: Sequence[str]) -> list[GeometricParameter]:
        """Return what may matter: points of joints, closures and `used` tools, lengths of rods, zeros.

        Numbers at one place of one body are one parameter. The order is that in which they are kept where
        several have one effect: what is on the ground, other lengths, zeros of the joints read, the rest.
        """
        places: dict[tuple[str, tuple[float, ...]], list[str]] = {}

        def add(body: str, at: Any, key: str) -> None:
            own = tuple(float(x) for x in (at or [0.0, 0.0, 0.0]))
            near = next((each for each in places if each[0] == body and _near(each[1], own)), (body, own))
            places.setdefault(near, []).append(key)

        for name, joint in (self._data.get("joints") or {}).items():
            add(joint["parent"], joint.get("at_m"), f"joints.{name}.at_m")
        lengths = []
        for name, spec in (self._data.get("constraints") or {}).items():
            for side in ("a", "b"):
                if isinstance(spec.get(side), dict):
                    add(spec[side]["body"], spec[side].get("at_m"), f"constraints.{name}.{side}.at_m")
            if "distance_m" in spec:
                lengths.append(f"constraints.{name}.distance_m")
        for name in used:
            spec = self._data["points"][name]
            add(spec["body"], spec.get("at_m"), f"points.{name}.at_m")
        ground, along, across = (
            list[GeometricParameter](),
            list[GeometricParameter](),
            list[GeometricParameter](),
        )
        for (body, at), keys in places.items():
            for k, axis in enumerate(AXES):
                group = ground if body == "world" else along if abs(at[k]) > _SAME_PLACE else across
                terms = [(f"{key}.{axis}", 1.0) for key in keys]
                group.append(self.tied(terms[0][0], terms))
        along += [self.parameter(key) for key in lengths]
        zeros = [self.parameter(f"zero.{name}") for name in read]
        return [*ground, *along, *zeros, *across]

    def _place(self, data: dict[str, Any], key: str) -> tuple[Any, Any, float]:
        """Return the holder of a number in data, its key or index there, and the factor to SI units."""
        steps: list[Any] = key.split(".")
        holder: Any = data
        factor = 1.0
        for k, step in enumerate(steps):
            for suffix, own in (_LENGTHS | _ANGLES).items():
                factor = own if step.endswith(suffix) else factor
            last = k == len(steps) - 1
            if isinstance(holder, list):
                place = AXES.index(step) if step in AXES else int(step) if step.isdigit() else len(holder)
                if place < len(holder) and last:
                    return holder, place, factor
                step, inner = place, holder[place] if place < len(holder) else None
            elif isinstance(holder, dict):
                if step not in holder and step in ("at_m", "rpy_deg", "rpy_rad"):
                    holder[step] = [0.0, 0.0, 0.0]
                if last and isinstance(holder.get(step), (int, float)):
                    return holder, step, factor
                inner = holder.get(step)
                if step == "axis" and isinstance(inner, list):
                    length = math.hypot(*map(float, inner))
                    inner = holder[step] = [float(x) / length for x in inner]
            else:
                inner = None
            if inner is None or last:
                known = list(holder) if isinstance(holder, dict) else AXES
                likely = nearest(str(step), map(str, known))
                hint = f"write {likely}" if likely else f"there are: {', '.join(map(str, known))}"
                raise UnknownParameter(f"{key}: the machine file has no such number at {step!r}; {hint}")
            holder = inner
        raise UnknownParameter(f"{key} is no number")


def changes_of(parameters: Sequence[GeometricParameter], values: Floats) -> dict[str, float]:
    """Return the changes of the file's numbers, by key, for values (n; m or rad) of n parameters."""
    changes: dict[str, float] = {}
    for parameter, value in zip(parameters, values.tolist(), strict=True):
        if parameter.of_file and value != 0.0:
            for key, factor in parameter.terms:
                changes[key] = changes.get(key, 0.0) + factor * value
    return changes


def _near(one: Sequence[float], other: Sequence[float]) -> bool:
    return bool(np.abs(np.subtract(one, other)).max() < _SAME_PLACE)


def _terms(text: str) -> list[tuple[str, float]]:
    found, place = list[tuple[str, float]](), 0
    while place < len(text):
        match = _TERM.match(text, place)
        if match is None or (found and not match[1]):
            raise UnknownParameter(f"{text!r} is no sum of numbers; write KEY, or NAME=KEY+0.5*KEY")
        try:
            factor = float(match[2] or 1.0) * (-1.0 if match[1] == "-" else 1.0)
        except ValueError:
            raise UnknownParameter(f"{match[2]!r} in {text!r} is no factor") from None
        found.append((match[3], factor))
        place = match.end()
    if not found:
        raise UnknownParameter("an empty parameter; write KEY, or NAME=KEY+0.5*KEY")
    return found
