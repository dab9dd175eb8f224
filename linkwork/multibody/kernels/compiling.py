"""Declare kernels: functions that are compiled when linkwork is built.

A *kernel* is a function of the subset that translator.py describes; its annotations are the types of its
arguments. Its decorator replaces it by the compiled function of the library (library.py), which Python and
other kernels call. A *part* is called by kernels; called by Python it is the Python function.

    @kernel
    def dynamics(m: Model, w: Workspace) -> None: ...

Arguments are `float`, `int`, `bool`, contiguous arrays (`Floats`, `Integers`, `Flags`; `Matrix` and `Table`
with two dimensions) and structs (structs.py). A kernel with an argument `Vector` is called by kernels alone.

`LINKWORK_DEBUG_KERNELS=1` runs kernels as Python and checks each index, those below 0 too. Kernels of another
package are compiled by `linkwork build-kernels PACKAGE`; until then they run as Python, without these checks.
"""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast, get_type_hints, overload

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix, Table
from linkwork.multibody.kernels.library import PACKAGE, function_in, load, load_package
from linkwork.multibody.kernels.structs import CheckedArray, Struct

__all__ = ["DEBUG", "DEBUG_VARIABLE", "block", "flat", "kernel", "part"]

DEBUG_VARIABLE: Final = "LINKWORK_DEBUG_KERNELS"
DEBUG: Final = os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")
"""Whether kernels run as Python, with checked indices."""

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function, /) -> Function: ...
@overload
def kernel(*, concurrent: bool = False) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, /, *, concurrent: bool = False) -> Any:  # noqa: ARG001  the translator reads it
    """Declare a kernel.

    A `concurrent` kernel releases the global interpreter lock: it runs beside others in threads.
    """
    return _declared if function is None else _declared(function)


def _declared(function: Function) -> Function:
    if DEBUG:
        return cast(Function, _checked(function))
    package, name = function.__module__.partition(".")[0], f"{function.__module__}.{function.__qualname__}"
    ours = Path(function.__code__.co_filename).is_relative_to(PACKAGE)
    library = load() if ours else load_package(package)
    compiled = None if library is None else function_in(library, name, function.__doc__)
    if compiled is None and library is not None and "Vector" not in str(function.__annotations__):
        library = load(build_again=True) if ours else load_package(package, build_again=True)
        compiled = None if library is None else function_in(library, name, function.__doc__)
    return cast(Function, compiled or function)


def part(function: Function) -> Function:
    """Declare a function that kernels call, and Python only for tests."""
    return function


def block(a: Any, start: int, rows: int, columns: int) -> Any:
    """Return the matrix (rows × columns) that begins at an entry of an array, whatever the array's shape.

    Raises IndexError where it does not end inside.
    """
    count = rows * columns
    if min(start, rows, columns) < 0 or start + count > a.size:
        raise IndexError(f"{rows} × {columns} entries from {start} on, in an array of {a.size}")
    return a.reshape(-1)[start : start + count].reshape(rows, columns)


def flat(a: Any) -> Any:
    """Return all entries of an array as a vector."""
    return a.reshape(-1)


def _checked(function: Callable[..., Any]) -> Any:
    """Return the function with its arguments checked: number type, dimensions, then every index."""

    @functools.cache
    def expected() -> list[Any]:
        hints = get_type_hints(function, include_extras=True)
        return [hints[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]]

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if len(arguments) != len(expected()):
            raise TypeError(f"{function.__qualname__}: {len(arguments)} arguments, needs {len(expected())}")
        return function(*map(_checked_argument, arguments, expected()))

    return call


_ARRAYS: dict[Any, tuple[type, int]] = {
    Floats: (np.float64, 1),
    Integers: (np.int64, 1),
    Flags: (np.bool_, 1),
    Matrix: (np.float64, 2),
    Table: (np.int64, 2),
}


def _checked_argument(given: Any, expected: Any) -> Any:
    if isinstance(expected, type) and issubclass(expected, Struct):
        if not isinstance(given, expected):
            raise TypeError(f"{type(given).__name__} given for a {expected.__name__}")
        return given.checked()
    if expected not in _ARRAYS:
        return given
    number, dimensions = _ARRAYS[expected]
    if not (isinstance(given, np.ndarray) and given.ndim == dimensions):
        raise TypeError(f"{type(given).__name__} given for an array of {dimensions} dimension(s)")
    if given.dtype != number or not given.flags.c_contiguous:
        raise TypeError(f"array of {given.dtype} given for a contiguous one of {np.dtype(number)}")
    return given.view(CheckedArray)
