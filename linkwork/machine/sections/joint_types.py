"""All types of joints together. A new type is a new class and one more line here.

A motor or sensor stands under a joint's name, so the joint decides whether it is about an angle or a length;
a task coordinate says it itself. `mark_kinds` marks their data, and pydantic picks the section by the mark.
"""

from typing import Annotated, Any, get_args

from pydantic import Field

from linkwork.machine.sections import multi_dof_joints as several
from linkwork.machine.sections.joints import FixedSpec, JointSpec, PrismaticSpec, RevoluteSpec, ScrewSpec
from linkwork.machine.sections.quantity import ANGLE, LENGTH, MarkedKind, angle_or_length
from linkwork.machine.sections.tasks import LENGTHS
from linkwork.multibody.model import ANGLES

Joint = Annotated[
    RevoluteSpec
    | PrismaticSpec
    | ScrewSpec
    | several.CylindricalSpec
    | several.UniversalSpec
    | several.PlanarSpec
    | several.SphericalSpec
    | several.FreeSpec
    | several.ColumnsSpec
    | FixedSpec,
    Field(discriminator="type"),
]


_SPECS: tuple[type[JointSpec], ...] = get_args(get_args(Joint)[0])
_DOF = {
    name: spec.model_construct().degrees_of_freedom()
    for spec in _SPECS
    if spec is not several.ColumnsSpec  # its columns say
    for name in get_args(spec.model_fields["type"].annotation)
}


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
    if not isinstance(joint, dict) or "" in _dof_of_type(joint):
        return joint
    stops = joint.get("stop")
    if not isinstance(stops, dict):
        return joint
    return {
        **joint,
        "stop": {each: _mark("stop", f"{name}.{each}", row, joints) for each, row in stops.items()},
    }


def _mark(section: str, name: str, row: Any, joints: Any) -> Any:
    if not isinstance(row, dict):
        return row
    kind = None
    if section == "task":
        axis = str(row.get("coordinate")).rpartition(".")[2]
        kind = ANGLE if axis in ANGLES else LENGTH if axis in LENGTHS else None
    elif isinstance(joints, dict):
        kind = _kind_of_dof(joints, str(name))
    marked = MarkedKind(row)
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
    own = _dof_of_type(joint)
    return ANGLE if own.get("" if "" in own else dof, True) else LENGTH


def _dof_of_type(joint: dict[str, Any]) -> dict[str, bool]:
    """Return `JointSpec.degrees_of_freedom` of a joint's type; empty for an unknown type."""
    return _DOF.get(str(joint.get("type")), {})
