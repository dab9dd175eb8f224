"""Fields of the flat arrays as arrays inside kernels, at no cost: no allocation, no reference counting.

The arrays share memory with their source, which must outlive them: use them in the kernel, never return them.
"""

from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import part

_numba: Any = numba
_types: Any = types


def _pointer_to(element: Any) -> Any:
    """A compiler intrinsic that takes an address as a number and gives a pointer to such elements."""

    def pointer(typing_context: Any, address: Any) -> Any:  # noqa: ARG001  numba gives both
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return _types.CPointer(element)(_types.uintp), code

    return intrinsic(pointer)


_floats = _pointer_to(_types.float64)
_integers = _pointer_to(_types.int64)
_array = _numba.carray


@part
def vector(t: Integers, a: Floats, field: int) -> Floats:
    """Field of p or w as a float64 vector."""
    start, end = t[field], t[field + 1]
    values: Floats = _array(_floats(a.ctypes.data + 8 * start), (end - start,))
    return values


@part
def matrix(t: Integers, a: Floats, field: int, columns: int) -> Floats:
    """Field of p or w as a float64 matrix with so many columns, row after row."""
    start, end = t[field], t[field + 1]
    values: Floats = _array(_floats(a.ctypes.data + 8 * start), ((end - start) // columns, columns))
    return values


@part
def block(a: Floats, start: int, rows: int, columns: int) -> Floats:
    """Matrix of a given shape that begins at a[start]."""
    values: Floats = _array(_floats(a.ctypes.data + 8 * start), (rows, columns))
    return values


@part
def table(t: Integers, field: int, columns: int) -> Integers:
    """Table in t as an int64 matrix with so many columns."""
    start, end = t[field], t[field + 1]
    values: Integers = _array(_integers(t.ctypes.data + 8 * start), ((end - start) // columns, columns))
    return values


@part
def fill(values: Floats, number: float) -> None:
    """Set a vector to one number. A loop of our own compiles several times faster than a slice assignment."""
    for i in range(len(values)):
        values[i] = number


@part
def fill_matrix(values: Floats, number: float) -> None:
    """Set a matrix to one number."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = number


@part
def copy(source: Floats, target: Floats) -> None:
    """Write a vector over another."""
    for i in range(len(source)):
        target[i] = source[i]
