"""Declare kernels: functions that are compiled when linkwork is built.

A *kernel* is a function of the subset that translator.py describes, with the types of its arguments. Its
decorator replaces it by the compiled function of the library (library.py), which Python and other kernels
call. A *part* is called by kernels; called by Python it is the Python function.

`LINKWORK_DEBUG_KERNELS=1` runs kernels as Python and checks each index, those below 0 too. Kernels of
packages other than linkwork always run as Python, without these checks.

Types for signatures: `PARAMETERS` and `TOPOLOGY` are the read-only arrays of a `Mechanism`, `BUFFER` is the
flat buffer of a `Workspace`, `VECTOR` and `MATRIX` are any contiguous float64 arrays. `ON_MECHANISM` is the
signature of most kernels: no return value, arguments (p, t, w).
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np

from linkwork.multibody.kernels.library import PACKAGE, function_in, load

__all__ = [
    "BUFFER",
    "DEBUG",
    "DEBUG_VARIABLE",
    "FLAGS",
    "INTEGERS",
    "MATRIX",
    "ON_MECHANISM",
    "PARAMETERS",
    "THREE",
    "TOPOLOGY",
    "VECTOR",
    "CheckedArray",
    "boolean",
    "entries",
    "float64",
    "floats_from",
    "int64",
    "integers_from",
    "kernel",
    "part",
    "void",
]

DEBUG_VARIABLE: Final = "LINKWORK_DEBUG_KERNELS"
DEBUG: Final = os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")
"""Whether kernels run as Python, with checked indices."""


@dataclass(frozen=True)
class Signature:
    """The types of a kernel's arguments, and of its result."""

    result: ArgumentType
    arguments: tuple[ArgumentType, ...]


@dataclass(frozen=True)
class ArgumentType:
    """A type of an argument: of numbers, or of arrays of them (dimensions above 0)."""

    number: str
    dimensions: int = 0

    def __call__(self, *arguments: ArgumentType) -> Signature:
        """Return the signature of a kernel with this result."""
        return Signature(self, arguments)

    def __getitem__(self, index: slice | tuple[slice, ...]) -> ArgumentType:
        """Return the type of contiguous arrays: `float64[::1]`, `float64[:, ::1]`."""
        return ArgumentType(self.number, len(index) if isinstance(index, tuple) else 1)


float64, int64, boolean = ArgumentType("float64"), ArgumentType("int64"), ArgumentType("bool")
void, THREE = ArgumentType("nothing"), ArgumentType("three float64")
PARAMETERS = BUFFER = VECTOR = float64[::1]
MATRIX = float64[:, ::1]
TOPOLOGY = INTEGERS = int64[::1]
FLAGS = boolean[::1]
ON_MECHANISM = void(PARAMETERS, TOPOLOGY, BUFFER)

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(
    signature: Signature,
    *,
    allocates: bool = False,  # noqa: ARG001
    concurrent: bool = False,  # noqa: ARG001  read by the translator
) -> Callable[[Function], Function]:
    """Declare a kernel for one signature, such as `ON_MECHANISM` or `float64(MATRIX, VECTOR)`.

    A `concurrent` kernel releases the global interpreter lock: it runs beside others in threads.
    """

    def declare(function: Function) -> Function:
        if DEBUG:
            return cast(Function, _checked(function, signature))
        if not Path(function.__code__.co_filename).is_relative_to(PACKAGE):
            return function
        name = f"{function.__module__}.{function.__qualname__}"
        compiled = function_in(load(), name, function.__doc__)
        if compiled is None and THREE not in signature.arguments:
            compiled = function_in(load(build_again=True), name, function.__doc__)
        return cast(Function, compiled or function)

    return declare


def part(function: Function) -> Function:
    """Declare a function that kernels call, and Python only for tests."""
    return function


def entries(a: Any, start: int, shape: tuple[int, ...]) -> Any:
    """Return the array of this shape that begins at an entry of a flat one.

    Raises IndexError where it does not end inside.
    """
    count = math.prod(shape)
    if min(start, *shape) < 0 or start + count > len(a):
        raise IndexError(f"{shape} entries from {start} on, in an array of {len(a)}")
    return a[start : start + count].reshape(shape)


floats_from = integers_from = entries
"""The same; by these names kernels say what the array holds."""


class CheckedArray(np.ndarray[Any, Any]):
    """An array in debug mode: numpy refuses indices beyond its end, this class those below 0 too."""

    def __getitem__(self, index: Any) -> Any:
        """Read entries. Raises IndexError for an index below 0."""
        _refuse_negative(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write entries. Raises IndexError for an index below 0."""
        _refuse_negative(index)
        super().__setitem__(index, value)


def _refuse_negative(index: Any) -> None:
    for each in index if isinstance(index, tuple) else (index,):
        if isinstance(each, (int, np.integer)) and each < 0:
            raise IndexError(f"index {each} is below 0: no kernel counts from an array's end")


def _checked(function: Callable[..., Any], signature: Signature) -> Any:
    """Return the function with its array arguments checked: number type, dimensions, then every index."""
    expected = signature.arguments

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if len(arguments) != len(expected):
            raise TypeError(f"{function.__qualname__}: {len(arguments)} arguments, needs {len(expected)}")
        return function(*map(_checked_argument, arguments, expected))

    return call


def _checked_argument(given: Any, expected: ArgumentType) -> Any:
    if not expected.dimensions:
        return given
    if not (isinstance(given, np.ndarray) and given.ndim == expected.dimensions):
        raise TypeError(f"{type(given).__name__} given for an array of {expected.dimensions} dimension(s)")
    if given.dtype != np.dtype(expected.number) or not given.flags.c_contiguous:
        raise TypeError(f"array of {given.dtype} given for a contiguous one of {expected.number}")
    return given.view(CheckedArray)
