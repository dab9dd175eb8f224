"""Many arrays as one argument of a kernel.

A call from Python pays for each array argument more than a small kernel's work. Arrays that a kernel gets on
each call are therefore declared once, as a `NamedTuple`:

    class Limits(NamedTuple):
        motor: Integers
        most: Annotated[Floats, "motors"]
        table: Annotated[Floats, "rows", "motors"]

    read_limits = reader(Limits)

    @kernel(void(BUNDLE))
    def limit(bundle):
        given = read_limits(bundle)
        ... given.most[i] ...

    bundle = Bundle(Limits(motor, most, table))
    limit(bundle.words)

An annotation gives the type of the numbers (`Floats`: float64, `Integers`: int64) and names the lengths: as
many names, as many dimensions; none: a vector of any length. Equal names are equal lengths.
"""

import ctypes
from collections.abc import Callable
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import DEBUG, INTEGERS, CheckedArray

BUNDLE = INTEGERS
"""The type of a bundle in a kernel's signature."""

Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


class _Field(NamedTuple):
    name: str
    number: "np.dtype[Any]"
    lengths: tuple[str, ...]


def _fields(declared: type[tuple[Any, ...]]) -> list[_Field]:
    """Return the fields of a declaration. Raises TypeError for one that is neither Floats nor Integers."""
    found: list[_Field] = []
    for name, hint in get_type_hints(declared, include_extras=True).items():
        base, *lengths = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        numbers = {Floats: np.dtype(np.float64), Integers: np.dtype(np.int64)}
        if base not in numbers:
            raise TypeError(f"{declared.__name__}.{name} is {hint}, must be Floats or Integers")
        found.append(_Field(name, numbers[base], tuple(lengths) or ("",)))
    return found


class Bundle(Generic[Arrays]):
    """The arrays of a declaration, checked. `words` (int64) is the argument of the kernel.

    words has the address and the lengths of each array in turn. It is valid for the lifetime of the bundle,
    which keeps the arrays. Raises ValueError for an array with another type of numbers or number of
    dimensions than declared, for one that is not C-contiguous, and for lengths that contradict each other.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        named: dict[str, tuple[int, str]] = {}
        words: list[int] = []
        for field, array in zip(_fields(type(arrays)), arrays, strict=True):
            where = f"{type(arrays).__name__}.{field.name}"
            if not isinstance(array, np.ndarray) or array.dtype != field.number:
                raise ValueError(f"{where} is {_kind(array)}, must be an array of {field.number}")
            if array.ndim != len(field.lengths):
                raise ValueError(f"{where} has shape {array.shape}, needs {len(field.lengths)} dimension(s)")
            if not array.flags.c_contiguous:
                raise ValueError(f"{where} is not contiguous; use np.ascontiguousarray")
            for length, size in zip(field.lengths, array.shape, strict=True):
                first, at = named.setdefault(length, (size, where)) if length else (size, where)
                if first != size:
                    raise ValueError(f"{where} has {size} {length}, but {at} has {first}")
            words += [array.ctypes.data, *array.shape]
        self.words: Integers = np.array(words, np.int64)


def _kind(array: object) -> str:
    return f"of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__


def reader(declared: type[Arrays]) -> Callable[[Integers], Arrays]:
    """Return the function with which a kernel gets the declared arrays by name: views, of their own shapes,
    at no cost.
    """
    fields = [(each.number, len(each.lengths)) for each in _fields(declared)]

    def read(bundle: Integers) -> Arrays:
        arrays, at = [], 0
        for number, dimensions in fields:
            arrays.append(
                _array(number, int(bundle[at]), tuple(map(int, bundle[at + 1 : at + 1 + dimensions])))
            )
            at += 1 + dimensions
        return declared(*arrays)

    return read


def _array(number: "np.dtype[Any]", address: int, shape: tuple[int, ...]) -> Any:
    """Return the array at an address."""
    kind = CheckedArray if DEBUG else np.ndarray
    if not all(shape):
        return np.empty(shape, number).view(kind)
    pointer = ctypes.cast(address, ctypes.POINTER(np.ctypeslib.as_ctypes_type(number)))
    return np.ctypeslib.as_array(pointer, shape).view(kind)
