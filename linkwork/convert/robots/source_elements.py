"""Elements of URDF and SDF: which are read, which matter to no motion, and the effects of all others.

One table for each format (urdf.py, sdf.py) decides: an element that is neither read nor harmless is left out
with its effect, and one that no table has is counted by its name. A name that sounds like a closure is an
error, since a robot without one of its closures is another robot.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

_CLOSES = re.compile(r"loop|constraint|(?<!en)clos(e|ing|ure)|equality|bushing|weld|joint$", re.I)
_CONTROLS = re.compile(
    r"control|publisher|broadcast|physics|user-commands|sensor|camera|imu|lidar|laser|p3d|bumper|ft_", re.I
)
"""Names of plugins that measure, or drive the motors."""
LINK_EFFECTS = {
    "kinematic": "the simulator moves it, not its forces",
    "enable_wind": "wind pushes it",
    "velocity_decay": "its velocity decays",
    "dampingFactor": "its velocity decays",
    "fluid_added_mass": "the fluid around it adds to its inertia",
    "static": "it does not move",
}
"""Effects of elements of links that both formats have, by names."""


@dataclass(frozen=True)
class ElementTable:
    """Knowledge of the elements of one format.

    read: names of the children that are read, by the parent's name; harmless: names that matter to no motion;
    effects: what others do, by name or PARENT/NAME; `@NAME` is an attribute.
    """

    read: Mapping[str, str]
    harmless: str
    effects: Mapping[str, str]

    def check(self, robot: RobotModel, file: XmlFile, top: Element) -> None:
        """Note what is left out below an element. Raises ImportProblem for closures that are not read."""
        left: dict[tuple[str, str], list[str]] = {}
        unknown: Counter[str] = Counter()
        waiting, harmless = [top], set(self.harmless.split())
        while waiting:
            parent = waiting.pop()
            name = label(parent)
            for child in parent:
                own = label(child)
                effect = self.effects.get(f"{name}/{own}", self.effects.get(own))
                if own == "plugin":
                    self._plugin(robot, file, child)
                elif own in self.read.get(name, "").split():
                    waiting += [child] if own in self.read and name != "gazebo" else []
                elif effect is not None:
                    if not _is_neutral(child):
                        owner = parent.get("name") or parent.get("reference") or name
                        left.setdefault((own, effect), []).append(f"{owner}, line {file.line(child)}")
                elif own in harmless:
                    continue
                elif not _CLOSES.search(own):
                    unknown[own] += 1
                elif not robot.as_tree:
                    remedy = f"known: {self.read[name]}; --no-closures imports the tree alone"
                    text = f"<{own}> {child.get('name', '')!r} may close a loop, and is not read"
                    raise file.problem(child, text, remedy)
        for (own, effect), owners in left.items():
            robot.leave_out(f"<{own}> is left out ({'; '.join(_first(owners))}): {effect}")
        if unknown:
            listed = ", ".join(f"<{name}>{f' ({n})' if n > 1 else ''}" for name, n in unknown.items())
            robot.remarks.append(f"elements that are not read: {listed}")

    def _plugin(self, robot: RobotModel, file: XmlFile, plugin: Element) -> None:
        name = plugin.get("filename") or plugin.get("name") or "without a name"
        if not _CONTROLS.search(f"{name} {plugin.get('name', '')}") or "mimic" in name:
            does = "it may exert forces or couple joints"
            robot.leave_out(f"the plugin {name} (line {file.line(plugin)}) is left out: {does}")


def label(element: Element) -> str:
    """Return the name of an element, with `drake:` before those of Drake."""
    space, _, name = str(element.tag).rpartition("}")
    return f"drake:{name}" if "drake" in space else name


def _is_neutral(element: Element) -> bool:
    """Whether all that an element says is zero or false."""
    said = [each.text or "" for each in element.iter()] + list(element.attrib.values())
    words = " ".join(said).split()
    return bool(words) and all(word in ("false", "False") or not word.strip("+-.0e") for word in words)


def _first(names: list[str]) -> list[str]:
    return names if len(names) <= 3 else [*names[:3], f"{len(names) - 3} more"]


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
