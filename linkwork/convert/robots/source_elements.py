"""Elements that URDF and SDF share: inertia, shapes, mimic joints, rotors, and Drake's elements.

And which others are read, which matter to no motion, and the effects of all others. One table for each format
(urdf.py, sdf.py) decides: an element that is neither read nor harmless is left out with its effect, and one
that no table has is counted by its name. A name that sounds like a closure is an error, since a robot without
one of its closures is another robot.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.link_shapes import LinkShapes
from linkwork.convert.robots.robot_model import (
    FramePose,
    RobotModel,
    SourceClosure,
    SourceCoupling,
    SourceLink,
    SourceSpring,
)
from linkwork.convert.robots.xml_reading import NOTHING, XmlElement

_CLOSES = re.compile(r"loop|constraint|(?<!en)clos(e|ing|ure)|equality|bushing|weld|joint$", re.I)
_CLOSES_BELOW = re.compile(_CLOSES.pattern.removesuffix("|joint$"), re.I)
"""Of elements below one that is not read, where a joint may only be named."""
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

    def check(self, robot: RobotModel, top: XmlElement) -> None:
        """Note what is left out below an element. Raises ImportProblem for closures that are not read."""
        left: dict[tuple[str, str], list[str]] = {}
        unknown: Counter[str] = Counter()
        waiting, harmless = [top], set(self.harmless.split())
        while waiting:
            parent = waiting.pop()
            name = parent.label
            for child in parent:
                own = child.label
                effect = self.effects.get(f"{name}/{own}", self.effects.get(own))
                if own == "plugin":
                    self._plugin(robot, child)
                elif own in self.read.get(name, "").split():
                    waiting += [child] if own in self.read and name != "gazebo" else []
                elif own in harmless and effect is None:
                    continue
                elif not robot.as_tree and (closure := _closure_in(child, effect)) is not None:
                    remedy = f"known: {self.read[name]}; --no-closures imports the tree alone"
                    text = f"<{closure.label}> {closure.get('name')!r} may close a loop, and is not read"
                    raise closure.problem(text, remedy)
                elif effect is None:
                    unknown[own] += 1
                elif not _is_neutral(child):
                    owner = parent.get("name") or parent.get("reference") or name
                    left.setdefault((own, effect), []).append(f"{owner}, line {child.line}")
        for (own, effect), owners in left.items():
            robot.leave_out(f"<{own}> is left out ({'; '.join(_first(owners))}): {effect}")
        if unknown:
            listed = ", ".join(f"<{name}>{f' ({n})' if n > 1 else ''}" for name, n in unknown.items())
            robot.remarks.append(f"elements that are not read: {listed}")

    def _plugin(self, robot: RobotModel, plugin: XmlElement) -> None:
        name = plugin.get("filename") or plugin.get("name") or "without a name"
        if not _CONTROLS.search(f"{name} {plugin.get('name')}") or "mimic" in name:
            does = "it may exert forces or couple joints"
            robot.leave_out(f"the plugin {name} (line {plugin.line}) is left out: {does}")


def _closure_in(element: XmlElement, effect: str | None) -> XmlElement | None:
    """Return an element that sounds like a closure: this one, unless its effect is known, or one below it."""
    if effect is None and _CLOSES.search(element.label):
        return element
    below = (each for each in element.walk() if each is not element)
    return next((each for each in below if _CLOSES_BELOW.search(each.label)), None)


def _is_neutral(element: XmlElement) -> bool:
    """Whether all that an element says is zero or false."""
    said = [each.text for each in element.walk()] + list(element.attributes.values())
    words = " ".join(said).split()
    return bool(words) and all(word in ("false", "False") or not word.strip("+-.0e") for word in words)


def _first(names: list[str]) -> list[str]:
    return names if len(names) <= 3 else [*names[:3], f"{len(names) - 3} more"]


def add_inertial(link: SourceLink, inertial: XmlElement, pose: FramePose, moment: float | None) -> None:
    """Add mass, and inertia in the frame `pose` of the link. moment: kg m² (mass: kg) where none is given."""
    link.mass, link.com = inertial.number("mass", moment), pose.at
    given, default = inertial.child("inertia") or NOTHING, moment or 0.0
    xx, yy, zz = (given.number(key, default) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (given.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    link.inertia = pose.rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ pose.rotation.T
    if link.mass < 0.0:
        raise inertial.problem(f"the mass of {link.name!r} is negative: {link.mass:g} kg")


_SIZES = {"box": {"size": 3}, "cylinder": {"radius": 1, "length": 1}, "capsule": {"radius": 1, "length": 1},
          "sphere": {"radius": 1}}  # fmt: skip


def add_visual(
    shapes: LinkShapes, link: SourceLink, visual: XmlElement, pose: FramePose, rgba: Sequence[float] | None
) -> None:
    """Add the shape of a <visual>, whose frame in the link is `pose`. Raises ImportProblem."""
    shape = next(iter(visual.child("geometry") or ()), None)
    if shape is None:
        return
    if shape.tag != "mesh":
        sizes = [each for key, n in _SIZES.get(shape.local, {}).items() for each in shape.numbers(key, n)]
        shapes.add(link, shape.local, sizes, pose, rgba)
        return
    where = shape.words("uri" if shape.child("uri") else "filename")
    beside = where if "://" in where else Path(shape.file).parent / where
    shapes.add_mesh(link, beside, shape.numbers("scale", 3, np.ones(3)).tolist(), pose, rgba)


def mimic_coupling(mimic: XmlElement, joint: str, scope: str = "") -> SourceCoupling:
    """Return q = multiplier (other - reference) + offset; scope: before the name of the other joint."""
    factor, offset, reference = (
        mimic.number(key, default)
        for key, default in (("multiplier", 1.0), ("offset", 0.0), ("reference", 0.0))
    )
    rule, other = (offset - factor * reference, factor), f"{scope}{mimic.words('joint')}"
    return SourceCoupling(f"{joint}_mimic", joint, other, rule, mimic.line)


def rotor_inertia(element: XmlElement) -> float:
    """Return the inertia of a rotor at its joint: rotor_inertia times the square of gear_ratio."""
    values = {"rotor_inertia": 0.0, "gear_ratio": 1.0}
    for each in element.walk():
        if each.local in values:
            values[each.local] = float(each.parsed(f"<{each.tag}>", each.content, 1)[0])
    return values["rotor_inertia"] * values["gear_ratio"] ** 2


# -- Drake

PlaceOf = Callable[[str, XmlElement], tuple[str, FramePose]]
"""The link that a name of a body or frame (in an element) means, and the frame in this link."""
_Named = SourceClosure | SourceSpring | SourceCoupling


class DrakeElements:
    """Adds elements of Drake to a robot; `prefix` stands before names of joints."""

    def __init__(self, robot: RobotModel, place: PlaceOf, prefix: str = "") -> None:
        """Prepare to add elements."""
        self._robot, self._place, self._prefix = robot, place, prefix

    def add(self, element: XmlElement) -> None:
        """Add an element, if it is of a known kind. Raises ImportProblem."""
        if element.tag == "drake:ball_constraint" and not self._robot.as_tree:
            self._add_ball(element)
        elif element.tag == "drake:linear_spring_damper":
            self._add_spring(element)
        elif element.tag == "drake:tendon_constraint":
            self._add_tendon(element)

    def _ends(self, element: XmlElement) -> list[tuple[str, Floats]]:
        """Return the links of a point P of body A and a point Q of body B, and the points' places (3, m)."""
        ends = []
        for body, point in (("body_A", "p_AP"), ("body_B", "p_BQ")):
            link, frame = self._place(element.words(body), element)
            at = element.numbers(point, 3, np.zeros(3))
            ends.append((link, (frame @ FramePose(at)).at))
        return ends

    def _name(self, element: XmlElement, others: Sequence[_Named]) -> str:
        """Return the element's name, or its kind with a number."""
        number = 1 + sum(each.name.startswith(f"{element.local}_") for each in others)
        return element.get("name") or f"{element.local}_{number}"

    def _add_ball(self, element: XmlElement) -> None:
        (a, a_at), (b, b_at) = self._ends(element)
        closures = self._robot.closures
        name = self._name(element, closures)
        closures.append(SourceClosure(name, "point", a, FramePose(a_at), b, FramePose(b_at), element.line))

    def _add_spring(self, element: XmlElement) -> None:
        (a, a_at), (b, b_at) = self._ends(element)
        name = self._name(element, self._robot.springs)
        stiffness, damping, rest = (
            element.number(key, 0.0) for key in ("stiffness", "damping", "free_length")
        )
        if min(stiffness, damping, rest) < 0.0:
            raise element.problem(f"a value of the spring {name!r} is negative")
        spring = SourceSpring(name, a, a_at, b, b_at, stiffness, damping, rest, element.line)
        self._robot.springs.append(spring)

    def _add_tendon(self, element: XmlElement) -> None:
        """Couple joints: Σ a q + offset keeps one value."""
        low, high = element.number("lower_limit", -np.inf), element.number("upper_limit", np.inf)
        if low != high or element.number("stiffness", 0.0):
            left_out = f"drake:tendon_constraint (line {element.line}) is soft or slack, and left out"
            self._robot.leave_out(left_out)
            return
        factors: dict[str, float] = {}
        for each in element.all("drake:tendon_constraint_joint"):
            name = f"{self._prefix}{each.words('name')}"
            factors[name] = factors.get(name, 0.0) + each.number("a")
        factors = {name: factor for name, factor in factors.items() if factor}
        if not factors:
            raise element.problem("a tendon without joints")
        name = self._name(element, self._robot.couplings)
        value = low - element.number("offset", 0.0)
        self._robot.couplings.append(SourceCoupling.of_sum(name, factors, value, element.line))
