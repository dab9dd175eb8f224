"""Unit quaternions q = (w, x, y, z), scalar first: the rotation about u by φ is (cos φ/2, u sin φ/2).

They map as R does, from turned to fixed axes; q and -q are the same rotation.
"""

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats


def normalised(q: npt.ArrayLike) -> Floats:
    """The unit quaternion of the same direction (4). Raises ValueError for a zero one."""
    given = np.asarray(q, dtype=np.float64)
    length = float(np.linalg.norm(given))
    if not 1e-150 < length < np.inf:
        raise ValueError(f"a quaternion needs a direction, found {given.tolist()}")
    return given / length


def to_matrix(q: npt.ArrayLike) -> Floats:
    """R (3 × 3), whose columns are the turned axes. A quaternion not quite of unit length is normalised."""
    w, x, y, z = normalised(q)
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def from_matrix(rotation: npt.ArrayLike) -> Floats:
    """The quaternion (4) with w ≥ 0 of a rotation matrix, without loss of digits at any angle.

    Each column of the symmetric matrix 4 q q' follows from R; the one with the largest diagonal is taken.
    """
    r = np.asarray(rotation, dtype=np.float64)
    a, b, c = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    d, e, f = r[1, 0] + r[0, 1], r[0, 2] + r[2, 0], r[2, 1] + r[1, 2]
    x, y, z = np.diag(r)
    squares = np.array(
        [
            [1.0 + x + y + z, a, b, c],
            [a, 1.0 + x - y - z, d, e],
            [b, d, 1.0 - x + y - z, f],
            [c, e, f, 1.0 - x - y + z],
        ]
    )
    q = normalised(squares[int(np.argmax(np.diag(squares)))])
    return -q if q[0] < 0.0 else q
