"""Fields of the flat arrays as numpy arrays inside kernels, at no cost: no allocation, no reference counting."""

from typing import Any

from numba import carray, types
from numba.extending import intrinsic

from multibody.compiling import part


@intrinsic
def _floats(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.uintp), code


@intrinsic
def _integers(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.int64)(types.uintp), code


@part
def vector(t: Any, a: Any, field: int) -> Any:
    """Field of p or w as a float64 vector. It shares memory with `a`; never return it to Python."""
    return carray(_floats(a.ctypes.data + 8 * t[field]), (t[field + 1] - t[field],))


@part
def matrix(t: Any, a: Any, field: int, columns: int) -> Any:
    """Field of p or w as a float64 matrix with so many columns, row after row."""
    return carray(_floats(a.ctypes.data + 8 * t[field]), ((t[field + 1] - t[field]) // columns, columns))


@part
def table(t: Any, field: int, columns: int) -> Any:
    """Table in t as an int64 matrix with so many columns."""
    return carray(_integers(t.ctypes.data + 8 * t[field]), ((t[field + 1] - t[field]) // columns, columns))
