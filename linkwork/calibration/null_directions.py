"""Directions of the parameters that measurements do not see, in words."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.calibration.information import Information, sparse_directions
from linkwork.calibration.linearisation import LinearPoses
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow
from linkwork.multibody.tree.orientations import hat

_SHARE = 1e-4
"""Share of a displacement that may remain beside a motion of the whole."""
_MOST_NAMED = 8


@dataclass(frozen=True)
class NullDirection:
    """Changes (m or rad) by parameter that leave all measurements as they are; why, and what would help."""

    changes: dict[str, float]
    text: str

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data."""
        return {"changes": self.changes, "text": self.text}


def null_directions(poses: LinearPoses, found: Information) -> tuple[NullDirection, ...]:
    """Return the directions that nothing measured, with few parameters each."""
    names = [each.name for each in poses.parameters]
    result = []
    shown = _displacements(poses) if len(found.unseen) else np.zeros((0, 3, len(names)))
    for way in sparse_directions(found.unseen):
        change = way * found.before
        own = {name: float(x) for name, x in zip(names, change.tolist(), strict=True) if x}
        if own:
            result.append(NullDirection(own, _words(poses, own, shown @ change)))
    return tuple(result)


def _displacements(poses: LinearPoses) -> Floats:
    """Return the derivative of the measured points' places (points × 3 × parameters) in all poses."""
    points = poses.measured.points or poses.machine.mechanism.point_names[:1]
    rows = [
        MeasuredRow("position", (k,), name, (0.0, 0.0, 0.0), sigma=1.0)
        for k in range(len(poses.q))
        for name in points
    ]
    kept = poses.measured
    poses.measured = GeometryMeasurements(kept.name, kept.poses, tuple(rows))
    try:
        linear = poses.linear()
    finally:
        poses.measured = kept
    own = np.array([each >= 0 for each in linear.owner], dtype=np.bool_)
    return linear.by_parameters[own].reshape(-1, 3, len(poses.parameters))


def _words(poses: LinearPoses, changes: dict[str, float], shift: Floats) -> str:
    """Return a direction in words."""
    own = list(changes)
    named = ", ".join(own[:_MOST_NAMED]) + (
        f" and {len(own) - _MOST_NAMED} more" if len(own) > _MOST_NAMED else ""
    )
    size = float(np.abs(shift).max(initial=0.0))
    unread = [
        name for name in own if name.startswith("zero.") and not any(
            len(pose.readings) > poses.machine.dof or name[5:] in joints
            for pose, joints in zip(poses.measured.poses, poses.independent, strict=True)
        )
    ]  # fmt: skip
    if len(own) == 1 and unread:
        return f"{named}: no row reads this joint beside those that determine the pose"
    if size < 1e-9 * max(abs(x) for x in changes.values()):
        verb = "has" if len(own) == 1 else "have, taken together,"
        return f"{named}: {verb} no effect on what is measured; leave one out, or measure more"
    places = _places(poses, len(shift))
    left, growth = _rigid(places, shift)
    if left < _SHARE * size:
        if growth > _SHARE * size:
            return f"{named}: the lengths are known only as a ratio: measure one distance"
        return (
            f"{named}: moves or turns the machine as a whole, which distances do not show: measure "
            "positions, or leave it out"
        )
    kinds = {row.kind for row in poses.measured.rows}
    arms = "only as a combination"
    if "distance" not in kinds:
        return f"{named}: {arms}: measure one distance at least between points of different poses"
    return f"{named}: {arms}: measure positions, or in poses that differ more"


def _places(poses: LinearPoses, count: int) -> Floats:
    points = poses.measured.points or poses.machine.mechanism.point_names[:1]
    kept = poses.measured
    rows = [MeasuredRow("position", (k,), name) for k in range(len(poses.q)) for name in points]
    poses.measured = GeometryMeasurements(kept.name, kept.poses, tuple(rows))
    try:
        return poses.places()[:count]
    finally:
        poses.measured = kept


def _rigid(places: Floats, shift: Floats) -> tuple[float, float]:
    """Return what a motion of the whole and a change of size leave of displacements, and that change."""
    middle = places.mean(axis=0)
    columns = [np.tile(np.eye(3), (len(places), 1))]
    columns.append(np.vstack([-hat(place - middle) for place in places]))
    columns.append((places - middle).reshape(-1, 1))
    matrix = np.hstack(columns)
    solved = np.linalg.lstsq(matrix, shift.reshape(-1), rcond=1e-10)[0]
    left = float(np.abs(matrix @ solved - shift.reshape(-1)).max())
    growth = float(abs(solved[6]) * np.abs(places - middle).max())
    return left, growth
