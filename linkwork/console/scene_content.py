"""Content of the 3-D view of a machine: one group for each body, all places in the body's own frame."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.drawing.skeleton import member_lines, plane_normal, shapes_of
from linkwork.machine.loading import Drawable
from linkwork.machine.visuals import VisualShape, file_hash, mesh_path
from linkwork.multibody.constraints import Closure

_TURNS = ("revolute", "screw", "cylindrical", "universal")
_SLIDES = ("prismatic",)


def scene_content(drawable: Drawable, described: dict[str, Any]) -> dict[str, Any]:
    """Return bodies, joints, closures, points and regions as plain data for the page (m, body frames).

    Shapes stand at the index of their body; joints stand on their parent, closures on body a; `rows` are
    the names of a closure's multipliers along the x, y and z axis of its frame. `normal` (3, world) is
    that of the plane in which the machine moves, if there is one.
    """
    mechanism = drawable.mechanism
    normal = plane_normal(mechanism)
    motors = {motor["name"]: motor["limits"]["effort"] for motor in described["motors"]}
    return {
        "bodies": [{"name": body.name, "com": _list(body.com_m)} for body in mechanism.bodies],
        "lines": [
            {
                "kind": line.kind,
                "of": line.of,
                "ends": [{"body": body, "at": _list(at)} for body, at in line.ends],
            }
            for line in member_lines(mechanism)
        ],
        "normal": None if normal is None else _list(normal),
        "shapes": [_shape(shape, k) for k, shape in enumerate(shapes_of(drawable))],
        "joints": [
            {
                "name": joint.name,
                "kind": "turns" if joint.kind in _TURNS else "slides" if joint.kind in _SLIDES else "other",
                "child": joint.child,
                "parent": joint.parent,
                "at": _list(joint.at_m),
                "axis": _list(joint.axis),
                "most": motors.get(joint.name),
            }
            for joint in mechanism.joints
        ],
        "closures": [
            {
                "name": constraint.name,
                "body": constraint.a.body,
                "at": _list(constraint.a.at_m),
                "axes": _list(np.asarray(constraint.a.rotation).T),
            }
            for constraint in mechanism.constraints
            if isinstance(constraint, Closure)
        ],
        "points": [
            {"name": point.name, "body": point.body, "at": _list(point.at_m)} for point in mechanism.points
        ],
        "regions": [
            {"point": region.name, "low": _bounded(region.low), "high": _bounded(region.high)}
            for region in drawable.regions
        ],
    }


def _shape(shape: Any, number: int) -> dict[str, Any]:
    return {
        "body": shape.body,
        "kind": shape.kind,
        "sizes": list(shape.sizes),
        "at": _list(shape.at_m),
        "axes": _list(np.asarray(shape.rotation).T),
        "color": shape.color,
        "mesh": f"/console/mesh/{number}{_suffix(shape.file)}" if shape.kind == "mesh" else None,
    }


def _suffix(file: str | None) -> str:
    return "." + (file or "").rpartition(".")[2].lower()


def _list(value: Any) -> Any:
    return np.asarray(value, dtype=np.float64).round(9).tolist()


def _bounded(place: tuple[float, ...]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in place]


def mesh_file(
    name: str, shapes: Sequence[VisualShape], machine_file: str, hashes: Mapping[str, str]
) -> Path | None:
    """Return the file of a mesh, `NUMBER.suffix`; None where there is none, or another than is known.

    shapes: of the machine; machine_file: its path; hashes: of its meshes, by their names in it.
    """
    number, _, suffix = name.partition(".")
    if not number.isdecimal() or int(number) >= len(shapes):
        return None
    shape = shapes[int(number)]
    path = mesh_path(machine_file, shape)
    known = hashes.get(shape.file or "")
    if shape.kind != "mesh" or known is None or path.suffix.lower() != f".{suffix}":
        return None
    return path if file_hash(path) == known else None
