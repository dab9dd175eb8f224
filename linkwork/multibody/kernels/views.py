"""Fields of the flat arrays as arrays inside kernels, at no cost: no allocation, no reference counting.

The arrays share memory with their source, which must outlive them: use them in the kernel, never return them.
"""

from typing import Any

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.kernels.numba_backend import MODE, floats_from, integers_from


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


def _checked(a: Any, start: int, rows: int, columns: int) -> Any:
    """Entries of an array as a matrix. Raises IndexError where they are not all inside it."""
    if min(start, rows, columns) < 0 or start + rows * columns > len(a):
        raise IndexError(f"{rows} × {columns} entries from {start} on, in an array of {len(a)}")
    return a[start : start + rows * columns].reshape(rows, columns)


def _checked_vector(t: Integers, a: Any, field: int) -> Any:
    return _checked(a, t[field], 1, t[field + 1] - t[field])[0]


def _checked_matrix(t: Integers, a: Any, field: int, columns: int) -> Any:
    return _checked(a, t[field], (t[field + 1] - t[field]) // columns, columns)


def _checked_table(t: Integers, field: int, columns: int) -> Any:
    return _checked_matrix(t, t, field, columns)


if MODE == "debug":
    vector, matrix, block, table = _checked_vector, _checked_matrix, _checked, _checked_table
