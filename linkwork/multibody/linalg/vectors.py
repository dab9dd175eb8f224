"""Three-vectors as tuples, for the inside of kernels: the compiler keeps them in registers."""

from typing import TypeAlias

from linkwork.arrays import Matrix
from linkwork.multibody.kernels.compiling import part

Vector: TypeAlias = tuple[float, float, float]


@part
def squared(x: float) -> float:
    """x², as a product: a power of a float may round otherwise."""
    return x * x


@part
def load(rows: Matrix, i: int) -> Vector:
    """Row i of an n × 3 array."""
    return rows[i, 0], rows[i, 1], rows[i, 2]


@part
def store(rows: Matrix, i: int, a: Vector) -> None:
    """Write row i of an n × 3 array."""
    rows[i, 0], rows[i, 1], rows[i, 2] = a


@part
def increase(rows: Matrix, i: int, a: Vector) -> None:
    """Add to row i of an n × 3 array."""
    rows[i, 0] += a[0]
    rows[i, 1] += a[1]
    rows[i, 2] += a[2]


@part
def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@part
def subtract(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@part
def times(s: float, a: Vector) -> Vector:
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@part
def dot(a: Vector, b: Vector) -> float:
    """a' b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@part
def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@part
def combine(x: Vector, y: Vector, z: Vector, a: Vector) -> Vector:
    """a0 x + a1 y + a2 z: the vector with components a in the axes x, y, z."""
    return (
        x[0] * a[0] + y[0] * a[1] + z[0] * a[2],
        x[1] * a[0] + y[1] * a[1] + z[1] * a[2],
        x[2] * a[0] + y[2] * a[1] + z[2] * a[2],
    )


@part
def apply(symmetric: Matrix, i: int, a: Vector) -> Vector:
    """Return S a (3); row i of `symmetric` (n × 6) holds the symmetric S as (xx, xy, xz, yy, yz, zz)."""
    return (
        symmetric[i, 0] * a[0] + symmetric[i, 1] * a[1] + symmetric[i, 2] * a[2],
        symmetric[i, 1] * a[0] + symmetric[i, 3] * a[1] + symmetric[i, 4] * a[2],
        symmetric[i, 2] * a[0] + symmetric[i, 4] * a[1] + symmetric[i, 5] * a[2],
    )
