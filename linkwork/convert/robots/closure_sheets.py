"""Closures of a robot from a sheet beside it, or from the names of its frames.

Two kinds of sheets are read: `robot.yaml` of example-parallel-robots (closed_loop, type, name_mot,
joint_name, joint_type), and linkwork's own:

    closures:
      loop: {type: revolute, a: LINK, b: {link: LINK, at_m: [0, 0, 0.1], rpy_deg: [0, 0, 0]}, axis: [0, 0, 1]}
    motors: [JOINT, …]

A name in `closed_loop`, and a text for `a` or `b`, is a link or a joint; a joint means its child's frame.
onshape-to-robot writes links closing_NAME_1 and closing_NAME_2, whose z axes are that of a hinge.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.convert.robots.robot_model import (
    ClosureType,
    FramePose,
    ImportProblem,
    JointType,
    RobotModel,
    SourceClosure,
)
from linkwork.machine.nearest_name import with_remedy
from linkwork.machine.problems import MachineError
from linkwork.machine.sections.orientation import rotation_of
from linkwork.machine.yaml_document import Document, read_yaml

_TYPES: dict[str, ClosureType] = {
    "6d": "weld", "3d": "point", "weld": "weld", "point": "point", "revolute": "revolute",
    "prismatic": "prismatic",
}  # fmt: skip
_JOINTS: dict[str, JointType] = {
    "spherical": "spherical", "ball": "spherical", "revolute": "revolute", "continuous": "continuous",
    "prismatic": "prismatic", "fixed": "fixed", "cylindrical": "cylindrical", "planar": "planar",
    "floating": "floating", "freeflyer": "floating",
}  # fmt: skip
_UNIVERSAL = re.compile(r"(?:ujoint|universal|cardan)(?:_([xyz])(?!\1)([xyz]))?")
"""A universal joint about two axes of its frame, the first fixed in the parent; x and y by default."""
_KEYS = {"closed_loop", "name_closedloop", "closures"}
_PAIRED = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
_CLOSING = re.compile(r"(closing_.+)_([12])$")


def closing_frames(robot: RobotModel) -> list[SourceClosure]:
    """Return the closures that pairs of links closing_NAME_1 and closing_NAME_2 mean."""
    pairs: dict[str, dict[str, str]] = {}
    for name in robot.links:
        match = _CLOSING.match(name)
        if match:
            pairs.setdefault(match[1], {})[match[2]] = name
    return [
        SourceClosure(
            name, "revolute", pair["1"], FramePose(), pair["2"], FramePose(), robot.links[pair["1"]].line
        )
        for name, pair in pairs.items()
        if len(pair) == 2
    ]


def add_sheet(robot: RobotModel, path: Path) -> None:
    """Add what a sheet says to a robot. Raises ImportProblem."""
    try:
        document = read_yaml(path)
    except MachineError as error:
        first = error.problems[0]
        raise ImportProblem(str(path), first.line or 0, first.message, first.remedy) from None
    sheet = _Sheet(robot, path, document)
    if not isinstance(document.data, dict):
        raise sheet.problem((), "the sheet must be a mapping with closed_loop or closures")
    if "closed_loop" in document.data:
        sheet.add_pairs()
    elif "closures" in document.data:
        sheet.add_closures()
    else:
        raise sheet.problem((), "the sheet has neither closed_loop nor closures", "add closures: {NAME: {…}}")


def is_of(robot: RobotModel, path: Path) -> bool:
    """Whether a file beside a robot is a sheet of this robot: it has closures and one of its names."""
    text = path.read_text(encoding="utf-8", errors="replace")
    words = set(re.findall(r"[^\s,:'\"\[\]{}]+", text))
    return bool(words & _KEYS) and not words.isdisjoint([*robot.links, *robot.joints])


class _Sheet:
    def __init__(self, robot: RobotModel, path: Path, document: Document) -> None:
        self._robot, self._path, self._document = robot, path, document
        self._data: dict[str, Any] = document.data

    def problem(self, place: tuple[str | int, ...], message: str, remedy: str = "") -> ImportProblem:
        line, _ = self._document.position(place) if place else (0, 0)
        remedy = remedy or "--no-closures imports the tree alone"
        return ImportProblem(str(self._path), line, message, remedy)

    def add_pairs(self) -> None:
        """Read the sheet of example-parallel-robots."""
        for key in self._data.keys() - _PAIRED:
            raise self.problem((key,), f"unknown key {key!r}; known: {', '.join(_PAIRED)}")
        pairs, types = self._list("closed_loop"), self._list("type")
        if len(types) != len(pairs):
            text = f"type has {len(types)} entries for {len(pairs)} closed loops"
            raise self.problem(("type",), text, "write one type, 6d or 3d, for each closed loop")
        for index, (pair, kind) in enumerate(zip(pairs, types, strict=True)):
            place = ("closed_loop", index)
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.problem(place, "a closed loop is a list of two names")
            ends = [self._frame(name, place) for name in pair]
            if ends[0][0] == ends[1][0]:
                raise self.problem(place, f"the closed loop joins {ends[0][0]!r} to itself")
            self._robot.closures.append(
                SourceClosure(f"loop_{index + 1}", self._type(kind, ("type", index)), *ends[0], *ends[1])
            )
        self._motors("name_mot")
        names, kinds = self._list("joint_name"), self._list("joint_type")
        if len(names) != len(kinds):
            text = f"joint_type has {len(kinds)} entries for {len(names)} joints of joint_name"
            raise self.problem(("joint_type",), text, "write one type for each joint")
        for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            if str(name) not in self._robot.joints:
                text = self._unknown("joint", str(name), self._robot.joints)
                raise self.problem(("joint_name", index), text)
            self._retype(str(name), str(kind), ("joint_type", index))

    def _retype(self, name: str, kind: str, place: tuple[str | int, ...]) -> None:
        """Give a joint another type; of a universal one the axes are those of the joint's frame."""
        joint, axes = self._robot.joints[name], _UNIVERSAL.fullmatch(kind.lower())
        if axes is None and kind.lower() not in _JOINTS:
            known = ", ".join([*_JOINTS, "cardan", "ujoint_xy and the like"])
            raise self.problem(place, f"unknown joint type {kind!r}; known: {known}")
        made: JointType = "universal" if axes else _JOINTS[kind.lower()]
        if axes:
            first, second = ("xyz".index(axis) for axis in (axes[1] or "x", axes[2] or "y"))
            joint.second_axis, joint.axis = np.eye(3)[first], np.eye(3)[second]
        if joint.type != made:
            joint.type = made
            self._robot.retyped.append(name)

    def add_closures(self) -> None:
        """Read linkwork's own sheet."""
        closures = self._data["closures"]
        if not isinstance(closures, dict):
            raise self.problem(("closures",), "closures must be a mapping from names to closures")
        for name, entry in closures.items():
            place = ("closures", name)
            if not isinstance(entry, dict) or not {"type", "a", "b"} <= set(entry):
                raise self.problem(place, "a closure needs type, a and b")
            unknown = set(entry) - {"type", "a", "b", "axis"}
            if unknown:
                raise self.problem(place, f"unknown key {sorted(unknown)[0]}; known: type, a, b, axis")
            axis = self._vector(entry.get("axis", [0, 0, 1]), (*place, "axis"))
            a, b = (self._end(entry[end], (*place, end)) for end in ("a", "b"))
            kind = self._type(entry["type"], (*place, "type"))
            self._robot.closures.append(SourceClosure(str(name), kind, *a, *b, axis=axis))
        self._motors("motors")

    def _end(self, entry: object, place: tuple[str | int, ...]) -> tuple[str, FramePose]:
        if isinstance(entry, str):
            return self._frame(entry, place)
        if (
            not isinstance(entry, dict)
            or "link" not in entry
            or set(entry) - {"link", "at_m", "rpy_deg", "rpy_rad"}
        ):
            raise self.problem(place, "an end is a link, or a mapping of link, at_m and rpy_deg or rpy_rad")
        name, inner = self._frame(str(entry["link"]), place)
        at = self._vector(entry.get("at_m", [0, 0, 0]), place)
        turn = self._vector(entry.get("rpy_rad", [0, 0, 0]), place)
        turn = turn + np.radians(self._vector(entry.get("rpy_deg", [0, 0, 0]), place))
        return name, inner @ FramePose(at, rotation_of(*turn))

    def _frame(self, name: object, place: tuple[str | int, ...]) -> tuple[str, FramePose]:
        """The link and frame that a name means."""
        robot = self._robot
        if isinstance(name, str) and name in robot.links:
            return name, FramePose()
        if isinstance(name, str) and name in robot.joints:
            return robot.joints[name].child, FramePose()
        raise self.problem(place, self._unknown("link or joint", str(name), [*robot.links, *robot.joints]))

    def _unknown(self, kind: str, name: str, known: Any) -> str:
        return with_remedy(f"there is no {kind} {name!r}", name, known)

    def _type(self, kind: object, place: tuple[str | int, ...]) -> ClosureType:
        if not isinstance(kind, str) or kind.lower() not in _TYPES:
            raise self.problem(place, f"unknown type of closure {kind!r}; known: {', '.join(_TYPES)}")
        return _TYPES[kind.lower()]

    def _vector(self, value: object, place: tuple[str | int, ...]) -> Any:
        try:
            vector = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.zeros(0)
        if vector.shape != (3,) or not np.all(np.isfinite(vector)):
            raise self.problem(place, f"expected three numbers, found {str(value)[:60]}")
        return vector

    def _list(self, key: str) -> list[Any]:
        value = self._data.get(key, [])
        if not isinstance(value, list):
            raise self.problem((key,), f"{key} must be a list")
        return value

    def _motors(self, key: str) -> None:
        if key not in self._data:
            return
        names = [str(name) for name in self._list(key)]
        for index, name in enumerate(names):
            if name not in self._robot.joints:
                raise self.problem((key, index), self._unknown("joint", name, self._robot.joints))
        self._robot.motors = names
