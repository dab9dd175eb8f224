"""Orientation of a frame: three angles, a unit quaternion, or a rotation matrix."""

import math
from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from linkwork.machine.sections.fields import Number, Section, Vector3, entry, one_of, wrong
from linkwork.multibody.tree.quaternions import to_matrix

_ROUNDED = 1e-3
"""Largest error of a quaternion's length, or of products of a matrix's columns, that rounding explains."""


class Orientation(Section):
    """A rotation."""

    rpy_rad: Vector3 | None = entry(
        "Roll, pitch, yaw of the frame in that of its parent: Rz(yaw) Ry(pitch) Rx(roll)", "rad", None
    )
    rpy_deg: Vector3 | None = entry("The same in degrees", "deg", None)
    quaternion_wxyz: Annotated[list[Number], Field(min_length=4, max_length=4)] | None = entry(
        "The same as a unit quaternion, its scalar part first; rounded values are normalized", default=None
    )
    rotation_matrix: Annotated[list[Vector3], Field(min_length=3, max_length=3)] | None = entry(
        "The same as a matrix, row by row; its columns are the frame's axes", default=None
    )

    @model_validator(mode="after")
    def _one_orientation(self) -> Self:
        one_of(self, "rpy_rad", "rpy_deg", "quaternion_wxyz", "rotation_matrix")
        if self.quaternion_wxyz is not None:
            length = math.hypot(*self.quaternion_wxyz)
            if abs(length - 1.0) > _ROUNDED:
                allowed = f"a unit quaternion, within {_ROUNDED:g}"
                raise wrong(
                    "this quaternion has another length", f"{length:.6g}", allowed, at=("quaternion_wxyz",)
                )
        if self.rotation_matrix is not None:
            matrix = np.array(self.rotation_matrix)
            if np.abs(matrix.T @ matrix - np.eye(3)).max() > _ROUNDED or np.linalg.det(matrix) < 0.0:
                allowed = f"orthonormal columns, within {_ROUNDED:g}, that are right-handed"
                raise wrong("this matrix is no rotation", allowed=allowed, at=("rotation_matrix",))
        return self

    def rotation(self) -> NDArray[np.float64]:
        """Return the rotation matrix (3 × 3): its columns are the frame's axes, in those of the parent."""
        if self.rotation_matrix is not None:
            left, _, right = np.linalg.svd(np.array(self.rotation_matrix, dtype=np.float64))
            return np.asarray(left @ right)
        if self.quaternion_wxyz is not None:
            return to_matrix(self.quaternion_wxyz)
        if self.rpy_deg is not None:
            roll, pitch, yaw = (math.radians(angle) for angle in self.rpy_deg)
        else:
            roll, pitch, yaw = self.rpy_rad or (0.0, 0.0, 0.0)
        return rotation_of(roll, pitch, yaw)


def unit(direction: Sequence[float]) -> NDArray[np.float64]:
    """Return a direction (3) with length 1."""
    vector: NDArray[np.float64] = np.array(direction, dtype=np.float64)
    return vector / np.linalg.norm(vector)


def rotation_of(roll: float, pitch: float, yaw: float) -> NDArray[np.float64]:
    """Return R (3 × 3) = Rz(yaw) Ry(pitch) Rx(roll), angles in rad."""
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
