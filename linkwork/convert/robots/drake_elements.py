"""Drake's elements of URDF and SDF: ball constraints, springs between points, tendons of joints.

SDF has their values as texts, URDF as the attributes `name` and `value`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.robot_model import (
    FramePose,
    RobotModel,
    SourceClosure,
    SourceCoupling,
    SourceSpring,
)
from linkwork.convert.robots.xml_reading import XmlFile

PlaceOf = Callable[[str, int], tuple[str, FramePose]]
"""The link that a name of a body or frame (in a line) means, and the frame in this link."""
_Named = SourceClosure | SourceSpring | SourceCoupling


def drake_kind(element: Element) -> str:
    """Return NAME of <drake:NAME>; empty for elements without a namespace."""
    space, found, name = str(element.tag).rpartition("}")
    return name if found and "drake" in space else ""


class DrakeElements:
    """Adds the elements of a file to a robot; `prefix` stands before names of joints."""

    def __init__(self, robot: RobotModel, file: XmlFile, place: PlaceOf, prefix: str = "") -> None:
        """Prepare to add elements."""
        self._robot, self._file, self._place, self._prefix = robot, file, place, prefix

    def add(self, element: Element) -> None:
        """Add an element, if it is of a known kind. Raises ImportProblem."""
        kind = drake_kind(element)
        parts: dict[str, Element] = {}
        for child in element:
            parts.setdefault(str(child.tag).rpartition("}")[2].removeprefix(f"{kind}_"), child)
        if kind == "ball_constraint" and not self._robot.as_tree:
            self._add_ball(element, parts)
        elif kind == "linear_spring_damper":
            self._add_spring(element, parts)
        elif kind == "tendon_constraint":
            self._add_tendon(element, parts)

    def _ends(self, element: Element, parts: dict[str, Element]) -> list[tuple[str, Floats]]:
        """Return the links of a point P of body A and a point Q of body B, and the points' places (3, m)."""
        kind, ends = drake_kind(element), []
        for body, point in (("body_A", "p_AP"), ("body_B", "p_BQ")):
            if body not in parts:
                raise self._file.problem(element, f"<drake:{kind}> has no <drake:{kind}_{body}>")
            at = self._numbers(parts[point], 3) if point in parts else np.zeros(3)
            link, frame = self._place(_value(parts[body]), self._file.line(parts[body]))
            ends.append((link, (frame @ FramePose(at)).at))
        return ends

    def _numbers(self, element: Element, count: int) -> Floats:
        return self._file.parsed(element, f"<drake:{drake_kind(element)}>", _value(element), count)

    def _number(self, parts: dict[str, Element], key: str) -> float:
        return float(self._numbers(parts[key], 1)[0]) if key in parts else 0.0

    def _name(self, element: Element, others: Sequence[_Named]) -> str:
        """Return the element's name, or its kind with a number."""
        kind = drake_kind(element)
        number = 1 + sum(each.name.startswith(f"{kind}_") for each in others)
        return element.get("name") or f"{kind}_{number}"

    def _add_ball(self, element: Element, parts: dict[str, Element]) -> None:
        (a, a_at), (b, b_at) = self._ends(element, parts)
        closures = self._robot.closures
        name, line = self._name(element, closures), self._file.line(element)
        closures.append(SourceClosure(name, "point", a, FramePose(a_at), b, FramePose(b_at), line))

    def _add_spring(self, element: Element, parts: dict[str, Element]) -> None:
        (a, a_at), (b, b_at) = self._ends(element, parts)
        name, line = self._name(element, self._robot.springs), self._file.line(element)
        stiffness, damping, rest = (
            self._number(parts, key) for key in ("stiffness", "damping", "free_length")
        )
        if min(stiffness, damping, rest) < 0.0:
            raise self._file.problem(element, f"a value of the spring {name!r} is negative")
        spring = SourceSpring(name, a, a_at, b, b_at, stiffness, damping, rest, line)
        self._robot.springs.append(spring)

    def _add_tendon(self, element: Element, parts: dict[str, Element]) -> None:
        """Couple joints: Σ a q + offset keeps one value."""
        line = self._file.line(element)
        low, high = (
            self._number(parts, key) if key in parts else None for key in ("lower_limit", "upper_limit")
        )
        if low is None or low != high or self._number(parts, "stiffness"):
            self._robot.leave_out(f"drake:tendon_constraint (line {line}) is soft or slack, and left out")
            return
        factors: dict[str, float] = {}
        for child in element:
            if drake_kind(child) == "tendon_constraint_joint":
                name = f"{self._prefix}{self._file.text(child, 'name')}"
                factors[name] = factors.get(name, 0.0) + self._file.number(child, "a")
        factors = {name: factor for name, factor in factors.items() if factor}
        if not factors:
            raise self._file.problem(element, "a tendon without joints")
        name = self._name(element, self._robot.couplings)
        value = low - self._number(parts, "offset")
        self._robot.couplings.append(SourceCoupling.of_sum(name, factors, value, line))


def _value(element: Element) -> str:
    return element.get("name") or element.get("value") or (element.text or "").strip()
