"""Choice between two forms of a section: angle or length.

A motor or sensor stands under a joint's name, so the joint decides; a task coordinate says it itself.
Pydantic picks the form by `angle_or_length`, which reads the mark that `mark_kinds` left on the data.
"""

from __future__ import annotations

import re
from typing import Any

ANGLE, LENGTH = "angle", "length"

_KIND_OF_COORDINATE = {
    "x": LENGTH,
    "y": LENGTH,
    "z": LENGTH,
    "along": LENGTH,
    "distance": LENGTH,
    "roll": ANGLE,
    "pitch": ANGLE,
    "yaw": ANGLE,
}
_LENGTH_UNIT = re.compile(r"_(N|N_s|N_s_m|rad_m)$|(?<!_N)_m(_s[23]?)?$")


class _Marked(dict[str, Any]):
    """A mapping of the file, marked as angle or length."""

    kind: str = ANGLE


def mark_kinds(data: Any) -> Any:
    """Return the file's data with `motors`, `sensors`, `task` and stops marked as angle or length."""
    if not isinstance(data, dict):
        return data
    marked = dict(data)
    joints = data.get("joints")
    for section in ("motors", "sensors", "task"):
        rows = data.get(section)
        if isinstance(rows, dict):
            marked[section] = {name: _mark(section, name, row, joints) for name, row in rows.items()}
    if isinstance(joints, dict):
        marked["joints"] = {name: _mark_stops(str(name), row, joints) for name, row in joints.items()}
    return marked


def _mark_stops(name: str, joint: Any, joints: dict[str, Any]) -> Any:
    """Return a joint of several degrees of freedom with the mappings under its `stop` marked."""
    if not isinstance(joint, dict) or "" in _dof(joint):
        return joint
    stops = joint.get("stop")
    if not isinstance(stops, dict):
        return joint
    return {
        **joint,
        "stop": {each: _mark("stop", f"{name}.{each}", row, joints) for each, row in stops.items()},
    }


def angle_or_length(value: Any) -> str:
    """Return the form of a section: by its mark or class, else by the units of its keys."""
    kind = getattr(value, "kind", None)
    if isinstance(kind, str):
        return kind
    turns = getattr(value, "is_angle", None)
    if isinstance(turns, bool):
        return ANGLE if turns else LENGTH
    keys = value if isinstance(value, dict) else ()
    return LENGTH if any(_LENGTH_UNIT.search(str(key)) for key in keys) else ANGLE


def _mark(section: str, name: str, row: Any, joints: Any) -> Any:
    if not isinstance(row, dict):
        return row
    kind = None
    if section == "task":
        kind = _KIND_OF_COORDINATE.get(str(row.get("coordinate")).rpartition(".")[2])
    elif isinstance(joints, dict):
        kind = _kind_of_dof(joints, str(name))
    marked = _Marked(row)
    marked.kind = kind or angle_or_length(row)
    return marked


def _kind_of_dof(joints: dict[str, Any], name: str) -> str | None:
    """Return the kind of a joint's degree of freedom ("elbow", "sleeve.turn"), if unchecked data shows it."""
    owner, _, dof = name.partition(".")
    joint = joints.get(owner)
    if not isinstance(joint, dict):
        return None
    kind = str(joint.get("type"))
    if kind in ("compound", "simple"):
        columns, place = joint.get("columns"), int(dof) - 1 if dof.isdecimal() else 0
        if not isinstance(columns, list) or not 0 <= place < len(columns):
            return None
        column = columns[place]
        return ANGLE if isinstance(column, list) and any(column[:3]) else LENGTH
    own = _dof(joint)
    return ANGLE if own.get("" if "" in own else dof, True) else LENGTH


def _dof(joint: dict[str, Any]) -> dict[str, bool]:
    from linkwork.machine.sections.joint_types import dof_of_type  # whose modules import this one

    return dof_of_type(str(joint.get("type")))
