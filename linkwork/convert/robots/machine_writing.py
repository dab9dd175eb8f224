"""The text of a machine file for a robot, as a person would write it, with the source in comments."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.loop_simplification import FramePoint
from linkwork.convert.robots.robot_model import (
    TURNS,
    FramePose,
    ImportProblem,
    RobotModel,
    SourceClosure,
    SourceCoupling,
    SourceJoint,
    SourceShape,
    SourceSpring,
)
from linkwork.machine.sections.fields import ALIAS_PATTERN, LONGEST_ALIAS, NAME_PATTERN
from linkwork.multibody.tree.orientations import to_angles_321

LONGEST_NAME = 40
_STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_EFFORT, _SPEED = 100.0, 10.0
"""Limits of a motor where the source gives none: N m or N, rad/s or m/s."""


@dataclass
class MachineNames:
    """Names that a machine file accepts for the names of a source, each one used once."""

    given: dict[str, str] = field(default_factory=dict)
    _used: set[str] = field(default_factory=lambda: {"world"})
    _aliases: dict[str, str] = field(default_factory=dict)

    def of(self, kind: str, name: str) -> str:
        """Return the name for a source's element of a kind (joint, link, point, closure)."""
        key = f"{kind} {name}"
        if key in self.given:
            return self.given[key]
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or kind
        plain = plain if plain[0].isalpha() else f"{kind}_{plain}"
        short, number = plain[:LONGEST_NAME], 1
        while f"{kind} {short}" in self._used or short == "world":
            number += 1
            short = f"{plain[: LONGEST_NAME - 4]}_{number}"
        self._used.add(f"{kind} {short}")
        self.given[key] = short
        return short

    def alias(self, kind: str, name: str) -> list[str]:
        """Return the key `alias` where the source's name differs and can be one."""
        own = self.of(kind, name)
        scope = "link" if kind == "link" else "named"
        legal = len(name) <= LONGEST_NAME and re.fullmatch(NAME_PATTERN, name)
        if legal or not re.fullmatch(ALIAS_PATTERN, name) or not name.isprintable():
            return []
        if len(name) > LONGEST_ALIAS or self._aliases.setdefault(f"{scope} {name}", own) != own:
            return []
        return [f"alias: {json.dumps(name, ensure_ascii=False)}"]

    @property
    def changed(self) -> dict[str, str]:
        """Names that differ from the source's, by the source's."""
        found = {key.partition(" ")[2]: name for key, name in self.given.items()}
        return {old: new for old, new in found.items() if old != new}


class MachineWriter:
    """Writes a robot; `names` is filled on the way."""

    def __init__(
        self, robot: RobotModel, frames: Iterable[FramePoint] = (), folder: Path | None = None
    ) -> None:
        """Prepare to write; frames: points to write; folder: that of the machine file, for shapes."""
        roots = robot.roots()
        if len(roots) != 1:
            listed = ", ".join(roots[:5])
            text = f"the joints form {len(roots)} trees, with the roots {listed}"
            remedy = "connect them by joints, or let all float (--base floating) or stand (--base fixed)"
            raise ImportProblem(robot.file, 0, text, remedy)
        (self._root,) = roots
        self.robot, self.names = robot, MachineNames()
        self._frames = list(frames)
        self._folder = folder
        self._lines: list[str] = []

    def text(self, pose: Mapping[str, float] | None = None) -> str:
        """Return the whole file. pose: initial values (rad, m) by the file's own names of coordinates."""
        robot = self.robot
        self._lines = []
        self._put(f"name: {self.names.of('machine', robot.name)}")
        if not np.allclose(robot.gravity, _STANDARD_GRAVITY, rtol=0.0, atol=1e-12):
            self._put(f"gravity_m_s2: {vector(robot.gravity)}")
        self._section("bodies", (self._body(name) for name in robot.links if name != self._root))
        self._section("joints", map(self._joint, robot.joints.values()))
        ends = [end for spring in robot.springs for end in spring_ends(spring)]
        self._section("points", map(self._point, [*self._frames, *ends]))
        closures = [*map(self._closure, robot.closures), *map(self._coupling, robot.couplings)]
        self._section("constraints", closures)
        sprung = [each for each in robot.joints.values() if each.stiffness != 0.0]
        self._section("springs", [*map(self._spring, sprung), *map(self._spring_between, robot.springs)])
        joints = [robot.joints[name] for name in robot.motors or () if name in robot.joints]
        driven = [each for each in joints if each.type in (*TURNS, "prismatic")]
        self._section("motors", map(self._motor, driven))
        self._section(
            "sensors", (f"  {self.names.of('joint', each.name)}: {{velocity: true}}" for each in driven)
        )
        kept = {self.names.of("joint", each.name) for each in (driven if closures else robot.joints.values())}
        for key, chosen in (("initial", True), ("initial_guess", False)):
            values = {name: value for name, value in (pose or {}).items() if (name in kept) is chosen}
            if values:
                given = ", ".join(
                    f"{name}_{self._unit(name)}: {number(value)}" for name, value in values.items()
                )
                self._put(f"{key}: {{{given}}}")
        return "\n".join(self._lines) + "\n"

    def _put(self, line: str) -> None:
        self._lines.append(line)

    def _section(self, title: str, rows: Iterable[str]) -> None:
        found = list(rows)
        if found:
            self._lines += ["", f"{title}:", *found]

    def _link(self, name: str) -> str:
        return "world" if name == self._root else self.names.of("link", name)

    def _body(self, name: str) -> str:
        link = self.robot.links[name]
        parts = [*self.names.alias("link", name), f"mass_kg: {number(link.mass)}"]
        if np.any(np.abs(link.com) > 1e-14):
            parts.append(f"com_m: {vector(link.com)}")
        inertia = link.inertia
        values = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
        kept = [
            f"{key}: {number(float(inertia[at]))}"
            for key, at in values.items()
            if at[0] == at[1] or number(float(inertia[at])) != "0"
        ]
        if link.unphysical:
            kept.append("unphysical: true")
        parts.append(f"inertia_kg_m2: {{{', '.join(kept)}}}")
        own, source = self._link(name), self._source("link", name, link.line)
        if not link.shapes or self._folder is None:
            return f"  {own}: {{{', '.join(parts)}}}  # {source}"
        shapes = [f"      - {{{self._shape(shape, self._folder)}}}" for shape in link.shapes]
        return "\n".join(
            [f"  {own}:  # {source}", *(f"    {each}" for each in parts), "    visual:", *shapes]
        )

    def _shape(self, shape: SourceShape, folder: Path) -> str:
        parts = [f"type: {shape.kind}"]
        if shape.file is not None:
            file = Path(os.path.relpath(shape.file, folder.resolve())).as_posix()
            parts.append(f"file: {json.dumps(file, ensure_ascii=False)}")
            x, y, z = shape.sizes
            if x == y == z > 0.0:
                parts += [f"scale: {number(x)}"] if x != 1.0 else []
            else:
                parts.append(f"scale: {vector(np.array(shape.sizes))}")
            parts += ["outside: true"] if file.startswith("../") else []
        elif shape.kind == "box":
            parts.append(f"size_m: {vector(np.array(shape.sizes))}")
        else:
            keys = ("radius_m", "length_m")
            parts += [f"{key}: {number(value)}" for key, value in zip(keys, shape.sizes, strict=False)]
        parts += placed(shape.pose)
        if shape.color is not None:
            parts.append(f'color: "{shape.color}"')
        return ", ".join(parts)

    def _source(self, kind: str, name: str, line: int) -> str:
        return f'{kind} "{name}"' + (f", line {line}" if line else "")

    def _joint(self, joint: SourceJoint) -> str:
        own = self.names.of("joint", joint.name)
        kinds = {"continuous": "revolute", "floating": "free"}
        parts = [*self.names.alias("joint", joint.name), f"type: {kinds.get(joint.type, joint.type)}"]
        parts += [
            f"parent: {self._link(joint.parent)}",
            f"child: {self._link(joint.child)}",
            *placed(joint.pose),
        ]
        if joint.type not in ("fixed", "floating", "spherical"):
            parts.append(f"axis: {vector(joint.axis)}")
        if joint.type == "universal" and joint.second_axis is not None:
            parts.append(f"second_axis: {vector(joint.second_axis)}")
        if joint.type == "screw":
            parts.append(f"pitch_m_per_rad: {number(joint.pitch)}")
        if joint.type in (*TURNS, "prismatic"):
            parts += self._limits(joint)
        if joint.type in (*TURNS, "prismatic", "spherical", "universal"):
            slides = joint.type == "prismatic"
            keys = (
                ("armature_kg", "viscous_N_s_m", "coulomb_N")
                if slides
                else ("armature_kg_m2", "viscous_N_m_s", "coulomb_N_m")
            )
            values = (joint.armature, joint.damping, joint.friction)
            parts += [f"{key}: {number(value)}" for key, value in zip(keys, values, strict=True) if value]
        if joint.idle:
            parts.append("idle: true")
        return f"  {own}: {{{', '.join(parts)}}}  # {self._source('joint', joint.name, joint.line)}"

    def _spring(self, joint: SourceJoint) -> str:
        own = self.names.of("joint", joint.name)
        turns = joint.type in TURNS
        key = "stiffness_N_m_rad" if turns else "stiffness_N_m"
        parts = [f"joint: {own}", f"{key}: {number(joint.stiffness)}"]
        if joint.rest:
            parts.append(f"{'rest_rad' if turns else 'rest_m'}: {number(joint.rest)}")
        return f"  {own}: {{{', '.join(parts)}}}  # {self._source('joint', joint.name, joint.line)}"

    def _spring_between(self, spring: SourceSpring) -> str:
        ends = ", ".join(self.names.of("point", end.name) for end in spring_ends(spring))
        values = {
            "stiffness_N_m": spring.stiffness, "damping_N_s_m": spring.damping, "rest_m": spring.rest,
        }  # fmt: skip
        parts = [f"between: [{ends}]", *(f"{key}: {number(value)}" for key, value in values.items() if value)]
        own = self.names.of("spring", spring.name)
        return f"  {own}: {{{', '.join(parts)}}}  # {self._source('spring', spring.name, spring.line)}"

    def _limits(self, joint: SourceJoint) -> list[str]:
        unit = "rad" if joint.type in TURNS else "m"
        found = []
        if (
            joint.type != "continuous"
            and None not in (joint.lower, joint.upper)
            and joint.lower != joint.upper
        ):
            found.append(f"position_{unit}: [{number(joint.lower or 0.0)}, {number(joint.upper or 0.0)}]")
        if joint.velocity:
            found.append(f"velocity_{unit}_s: {number(joint.velocity)}")
        return [f"limits: {{{', '.join(found)}}}"] if found else []

    def _point(self, frame: FramePoint) -> str:
        at = f", at_m: {vector(frame.at)}" if np.any(np.abs(frame.at) > 1e-14) else ""
        name = self.names.of("point", frame.name)
        alias = "".join(f"{key}, " for key in self.names.alias("point", frame.name))
        return f'  {name}: {{{alias}body: {self._link(frame.link)}{at}}}  # link "{frame.name}"'

    def _closure(self, closure: SourceClosure) -> str:
        own = self.names.of("closure", closure.name)
        ends = []
        for end, link, pose in (("a", closure.a, closure.a_pose), ("b", closure.b, closure.b_pose)):
            parts = [f"body: {self._link(link)}"]
            if closure.type in ("weld", "prismatic"):
                parts += placed(pose)
            else:
                parts += placed(FramePose(pose.at))
            if closure.type in ("revolute", "cylindrical", "universal"):
                arm = closure.b_axis if end == "b" and closure.b_axis is not None else closure.axis
                parts.append(f"axis: {vector(pose.rotation @ arm)}")
            ends.append(f"{end}: {{{', '.join(parts)}}}")
        more = ""
        if closure.type == "prismatic":
            more = f", axis: {vector(closure.axis)}"
        elif closure.type == "pin":
            more = f", normal: {vector(closure.a_pose.rotation @ closure.axis)}"
        elif closure.type == "distance":
            more = f", distance_m: {number(closure.distance)}"
        where = f"  # {self._source('closure', closure.name, closure.line)}"
        parts = [*self.names.alias("closure", closure.name), f"type: {closure.type}", *ends]
        return f"  {own}: {{{', '.join(parts)}{more}}}{where}"

    def _coupling(self, coupling: SourceCoupling) -> str:
        own = self.names.of("joint", coupling.joint)
        name = self.names.of("closure", coupling.name)
        unit = "rad" if self.robot.joints[coupling.joint].type in TURNS else "m"
        offset, *rest = (number(each) for each in (*coupling.coefficients, 0.0))
        where = self._source("coupling", coupling.name, coupling.line)
        if coupling.other is None or all(each == "0" for each in rest):
            return f"  {name}: {{type: coordinate, of: {own}, equals_{unit}: {offset}}}  # {where}"
        other = self.names.of("joint", coupling.other)
        if all(each == "0" for each in rest[1:]):
            terms = {coupling.other: coupling.coefficients[1]} | coupling.more
            factors = [f"{own}: 1"]
            factors += [f"{self.names.of('joint', key)}: {number(-value)}" for key, value in terms.items()]
            listed = ", ".join(factors)
            return f"  {name}: {{type: coupling, factors: {{{listed}}}, equals: {offset}}}  # {where}"
        powers = [f"({each})*{other}**{k}" for k, each in enumerate(rest, 1) if each != "0"]
        equation = f"{own} = {' + '.join([f'({offset})', *powers])}"
        return f'  {name}: {{type: expression, equation: "{equation}"}}  # {where}'

    def _motor(self, joint: SourceJoint) -> str:
        turns = joint.type in TURNS
        most, speed = joint.effort or _EFFORT, joint.velocity or _SPEED
        keys = (
            ("max_torque_N_m", "max_speed_rad_s", "brake_torque_N_m")
            if turns
            else ("max_force_N", "max_speed_m_s", "brake_force_N")
        )
        values = ", ".join(
            f"{key}: {number(value)}" for key, value in zip(keys, (most, speed, most), strict=True)
        )
        assumed = "" if joint.effort and joint.velocity else "; limits are assumed"
        return f"  {self.names.of('joint', joint.name)}: {{{values}}}  # the brake is assumed{assumed}"

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """Position limits (rad or m) by the file's names of joints."""
        return {
            self.names.of("joint", joint.name): (joint.lower, joint.upper)
            for joint in self.robot.joints.values()
            if joint.type in ("revolute", "screw", "prismatic")
            and joint.lower is not None
            and joint.upper is not None
            and joint.lower < joint.upper
        }

    def _unit(self, name: str) -> str:
        """The unit of a coordinate by its name in the file."""
        owners = {self.names.of("joint", each.name): each for each in self.robot.joints.values()}
        joint, _, dof = name.partition(".")
        slides = owners[joint].type == "prismatic" or dof in ("x", "y", "z", "slide")
        return "m" if slides else "rad"


def spring_ends(spring: SourceSpring) -> tuple[FramePoint, FramePoint]:
    """Return the points between which a spring acts."""
    return (
        FramePoint(f"{spring.name}_end_a", spring.a, spring.a_at),
        FramePoint(f"{spring.name}_end_b", spring.b, spring.b_at),
    )


def number(value: float) -> str:
    """Return a number with fifteen digits; those within rounding of 0 as 0."""
    if abs(value) < 1e-14:
        return "0"
    text = f"{value:.15g}"
    return re.sub(r"^(-?\d+)e", r"\1.0e", text)  # YAML takes 1e-05 for a text


def vector(values: Floats) -> str:
    """Return the text of a list (n) of numbers."""
    return f"[{', '.join(number(float(value)) for value in values)}]"


def placed(pose: FramePose) -> list[str]:
    """Return at_m and rpy of a frame, where they are not zero; degrees where they are round."""
    parts = []
    if np.any(np.abs(pose.at) > 1e-14):
        parts.append(f"at_m: {vector(pose.at)}")
    if np.abs(pose.rotation - np.eye(3)).max() > 1e-15:
        angles = to_angles_321(pose.rotation)[::-1]
        degrees = [round(math.degrees(angle), 6) for angle in angles]
        if max(abs(math.radians(d) - a) for d, a in zip(degrees, angles, strict=True)) < 1e-15:
            parts.append(f"rpy_deg: {vector(np.array(degrees))}")
        else:
            parts.append(f"rpy_rad: {vector(np.array(angles))}")
    return parts
