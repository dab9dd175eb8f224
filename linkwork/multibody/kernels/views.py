"""Fields of the flat arrays as arrays inside kernels, at no cost: no allocation, no reference counting.

The arrays share memory with their source, which must outlive them: use them in the kernel, never return them.
"""

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import floats_from, integers_from, part


@part
def vector(t: Integers, a: Floats, field: int) -> Floats:
    """Return a field of a (p or w, flat) as a float64 vector (n)."""
    start, end = t[field], t[field + 1]
    values: Floats = floats_from(a, start, (end - start,))
    return values


@part
def matrix(t: Integers, a: Floats, field: int, columns: int) -> Floats:
    """Return a field of a (p or w, flat) as a float64 matrix (rows × columns), row-major."""
    start, end = t[field], t[field + 1]
    values: Floats = floats_from(a, start, ((end - start) // columns, columns))
    return values


@part
def block(a: Floats, start: int, rows: int, columns: int) -> Floats:
    """Return the matrix (rows × columns) that begins at a[start]."""
    values: Floats = floats_from(a, start, (rows, columns))
    return values


@part
def table(t: Integers, field: int, columns: int) -> Integers:
    """Return a table in t as an int64 matrix (rows × columns)."""
    start, end = t[field], t[field + 1]
    values: Integers = integers_from(t, start, ((end - start) // columns, columns))
    return values


@part
def fill(values: Floats, number: float) -> None:
    """Set a vector (n) to one number.

    An explicit loop compiles several times faster than a slice assignment.
    """
    for i in range(len(values)):
        values[i] = number


@part
def fill_matrix(values: Floats, number: float) -> None:
    """Set a matrix (rows × columns) to one number."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = number


@part
def copy(source: Floats, target: Floats) -> None:
    """Copy a vector (n) into another."""
    for i in range(len(source)):
        target[i] = source[i]
