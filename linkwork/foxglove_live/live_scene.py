"""A machine in Foxglove's 3-D panel: a frame for each body, and its lines and shapes in that frame."""

from collections.abc import Iterable, Sequence

import numpy as np
from foxglove.messages import (
    Color,
    CubePrimitive,
    CylinderPrimitive,
    FrameTransform,
    FrameTransforms,
    LinePrimitive,
    LinePrimitiveLineType,
    Point3,
    Pose,
    Quaternion,
    SceneEntity,
    SceneUpdate,
    SpherePrimitive,
    Timestamp,
    Vector3,
)
from scipy.spatial.transform import Rotation

from linkwork.arrays import Floats
from linkwork.drawing.skeleton import MemberLine, Skeleton
from linkwork.machine.loading import Drawable
from linkwork.machine.visuals import VisualShape
from linkwork.multibody.model import WORLD

_COLORS = {
    "body": Color(r=0.30, g=0.45, b=0.65, a=1.0),
    "slide": Color(r=0.55, g=0.55, b=0.55, a=1.0),
    "rod": Color(r=0.80, g=0.50, b=0.20, a=1.0),
    "spring": Color(r=0.25, g=0.60, b=0.35, a=1.0),
}
_SHAPE = Color(r=0.60, g=0.64, b=0.70, a=0.8)
_WIDTH_PX = 3.0
ACROSS = "across"
"""Entity of the lines from one body to another, whose ends move against each other."""


class LiveScene:
    """The scene of one machine. Names of frames are those of its bodies, and `world`."""

    def __init__(self, drawn: Drawable) -> None:
        """Collect lines and shapes; meshes are left out."""
        self._skeleton = Skeleton(drawn)
        self._frames = self._skeleton.frames
        self._own = [line for line in self._skeleton.lines if line.ends[0][0] == line.ends[1][0]]
        self.positions = self._frames.positions

    def content(self) -> SceneUpdate:
        """Return the parts that move with the frames of their bodies."""
        return SceneUpdate(entities=[self._entity(name) for name in (WORLD, *self._frames.bodies)])

    def transforms(self, q: Floats, stamp: Timestamp) -> FrameTransforms:
        """Return the frames of the bodies in the world at q (nq)."""
        frames = self._frames.frames_at(q)
        turns: Floats = Rotation.from_matrix(frames[:, :3].transpose(0, 2, 1)).as_quat()
        return FrameTransforms(
            transforms=[
                FrameTransform(
                    timestamp=stamp,
                    parent_frame_id=WORLD,
                    child_frame_id=body,
                    translation=_vector(frame[3]),
                    rotation=_quaternion(turn),
                )
                for body, frame, turn in zip(self._frames.bodies, frames, turns, strict=True)
            ]
        )

    def across(self, q: Floats, stamp: Timestamp) -> SceneUpdate | None:
        """Return the lines between bodies at q (nq), in the world; None where there are none."""
        all_lines = self._skeleton.lines
        if len(self._own) == len(all_lines):
            return None
        ends = zip(all_lines, self._skeleton.lines_at(q), strict=True)
        lines = [_line(line, places) for line, places in ends if line.ends[0][0] != line.ends[1][0]]
        return SceneUpdate(entities=[SceneEntity(timestamp=stamp, frame_id=WORLD, id=ACROSS, lines=lines)])

    def _entity(self, body: str) -> SceneEntity:
        shapes = [shape for shape in self._skeleton.shapes if shape.body == body]
        return SceneEntity(
            frame_id=body,
            id=body,
            frame_locked=True,
            lines=[_line(line, [at for _, at in line.ends]) for line in self._own if line.ends[0][0] == body],
            cubes=[
                CubePrimitive(pose=_pose(shape), size=_vector(shape.sizes), color=_color(shape))
                for shape in shapes
                if shape.kind == "box"
            ],
            cylinders=[_cylinder(shape) for shape in shapes if shape.kind in ("cylinder", "capsule")],
            spheres=[each for shape in shapes for each in _spheres(shape)],
        )


def _line(line: MemberLine, ends: Iterable[Floats]) -> LinePrimitive:
    return LinePrimitive(
        type=LinePrimitiveLineType.LineList,
        thickness=_WIDTH_PX,
        scale_invariant=True,
        points=[Point3(x=float(x), y=float(y), z=float(z)) for x, y, z in ends],
        color=_COLORS[line.kind],
    )


def _cylinder(shape: VisualShape) -> CylinderPrimitive:
    radius, length = shape.sizes
    return CylinderPrimitive(
        pose=_pose(shape),
        size=_vector((2.0 * radius, 2.0 * radius, length)),
        bottom_scale=1.0,
        top_scale=1.0,
        color=_color(shape),
    )


def _spheres(shape: VisualShape) -> list[SpherePrimitive]:
    """Return a sphere, or the ends of a capsule."""
    if shape.kind not in ("sphere", "capsule"):
        return []
    size, length = _vector([2.0 * shape.sizes[0]] * 3), shape.sizes[1] if shape.kind == "capsule" else 0.0
    places = {0.5 * length, -0.5 * length}
    return [
        SpherePrimitive(pose=_pose(shape, np.array([0.0, 0.0, z])), size=size, color=_color(shape))
        for z in sorted(places)
    ]


def _pose(shape: VisualShape, at: Floats | None = None) -> Pose:
    place = np.asarray(shape.at_m) + (0.0 if at is None else shape.rotation @ at)
    turn = Rotation.from_matrix(np.asarray(shape.rotation)).as_quat()
    return Pose(position=_vector(place), orientation=_quaternion(turn))


def _color(shape: VisualShape) -> Color:
    if shape.color is None:
        return _SHAPE
    r, g, b, a = (int(f"{shape.color}ff"[k : k + 2], 16) / 255.0 for k in (1, 3, 5, 7))
    return Color(r=r, g=g, b=b, a=a)


def _vector(place: Sequence[float] | Floats) -> Vector3:
    x, y, z = map(float, place)
    return Vector3(x=x, y=y, z=z)


def _quaternion(turn: Sequence[float] | Floats) -> Quaternion:
    x, y, z, w = map(float, turn)
    return Quaternion(x=x, y=y, z=z, w=w)
