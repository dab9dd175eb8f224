"""Structs: named arrays and numbers as one argument of a kernel.

A struct is a class whose annotations say for each field its numbers, its shape and its meaning, once, for
Python, for kernels and for the C that is made of them:

    class Limits(Struct):
        n_motors: Annotated[int, "number of motors"]
        motor: Annotated[Integers, "n_motors", "index in v"]
        response: Annotated[Floats, "n_motors, nv", "velocities per effort"]

    @kernel
    def limit(limits: Limits) -> None:
        ... limits.response[i, j] ...

    limit(Limits(motor=motor, response=response))

A shape is a list of lengths: names, numbers, and sums and products of them. A field without a shape is a
vector of any length. A field may also be another struct.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import numpy as np

from linkwork.arrays import Flags, Floats, Integers
from linkwork.multibody.kernels.symbols import fingerprint

__all__ = ["CheckedArray", "Struct"]

_ANY = "*"
_NUMBERS: dict[Any, tuple[str, type]] = {
    Floats: ("f", np.float64),
    Integers: ("i", np.int64),
    Flags: ("b", np.bool_),
}


@dataclass(frozen=True)
class _Field:
    """A declared field: f, i or b and shape of an array; int; or another struct."""

    name: str
    kind: Any
    shape: tuple[str, ...] = ()
    number: Any = None

    @property
    def c(self) -> str:
        """Its type in C."""
        if self.shape:
            return f"{self.kind}{len(self.shape)}"
        return "int64_t" if self.kind is int else str(self.kind.__name__)


_known: dict[type, tuple[_Field, ...]] = {}


def _declared(struct: type) -> tuple[_Field, ...]:
    """Return the fields of a struct. Raises TypeError for one of another type."""
    if struct in _known:
        return _known[struct]
    found: list[_Field] = []
    for name, hint in get_type_hints(struct, include_extras=True).items():
        if get_origin(hint) is ClassVar or name in ("words", "buffer", "integers"):
            continue
        base, *words = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if base in _NUMBERS:
            kind, number = _NUMBERS[base]
            found.append(_Field(name, kind, tuple((words or [_ANY])[0].split(", ")), number))
        elif base is int or (isinstance(base, type) and issubclass(base, Struct)):
            found.append(_Field(name, base))
        else:
            raise TypeError(
                f"{struct.__name__}.{name} is {hint}, must be Floats, Integers, Flags, int or a struct"
            )
    _known[struct] = tuple(found)
    return _known[struct]


class CheckedArray(np.ndarray[Any, Any]):
    """An array in debug mode: numpy refuses indices beyond its end, this class those below 0 too."""

    def __getitem__(self, index: Any) -> Any:
        """Read entries. Raises IndexError for an index below 0."""
        _refuse_negative(index)
        return _read(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write entries. Raises IndexError for an index below 0."""
        _refuse_negative(index)
        _write(self, index, value)


_read, _write = np.ndarray.__getitem__, np.ndarray.__setitem__


def _refuse_negative(index: Any) -> None:
    for each in index if index.__class__ is tuple else (index,):
        if each.__class__ is not slice and each < 0:
            raise IndexError(f"index {each} is below 0: no kernel counts from an array's end")


class Struct:
    """Base class of structs. `words` (int64) is what a kernel gets: addresses, lengths and numbers in turn.

    Fields that are not given are allocated, filled with 0, in two flat arrays: `buffer` (float64) and
    `integers` (int64). sizes: further lengths that shapes name. Raises ValueError for an array of other
    numbers or another shape than declared, and for one that is not C-contiguous; TypeError for other names.
    """

    __slots__ = ("words",)

    words: Integers
    buffer: Floats
    integers: Integers

    def __init__(self, sizes: Mapping[str, int] | None = None, /, **given: Any) -> None:
        """Lay out the fields."""
        declared = _declared(type(self))
        if unknown := given.keys() - {each.name for each in declared}:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        known = {**(sizes or {}), **{name: value for name, value in given.items() if isinstance(value, int)}}
        for each in declared:
            if each.name not in given:
                if each.shape in ((), (_ANY,)) or each.kind == "b":
                    raise TypeError(f"{type(self).__name__} needs its field {each.name}")
            elif each.shape:
                self._check(each, given[each.name], known)
            elif not isinstance(given[each.name], each.kind):
                kind = type(given[each.name]).__name__
                raise TypeError(f"{type(self).__name__}.{each.name} is {kind}, must be {each.kind.__name__}")
        self._place(given, known)

    def _check(self, field: _Field, array: Any, known: dict[str, int]) -> None:
        where = f"{type(self).__name__}.{field.name}"
        if not isinstance(array, np.ndarray) or array.dtype != field.number:
            kind = f"of {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
            raise ValueError(f"{where} is {kind}, must be an array of {np.dtype(field.number)}")
        if array.ndim != len(field.shape):
            raise ValueError(f"{where} has shape {array.shape}, needs {len(field.shape)} dimension(s)")
        if not array.flags.c_contiguous:
            raise ValueError(f"{where} is not contiguous; use np.ascontiguousarray")
        for length, size in zip(field.shape, array.shape, strict=True):
            wanted = known.setdefault(length, size) if length.isidentifier() else _length(length, known)
            if wanted not in (size, None):
                raise ValueError(f"{where} has {size} {length}, must have {wanted}")

    def _place(
        self, given: Mapping[str, Any], known: Mapping[str, int], buffer: Floats | None = None
    ) -> None:
        """Make the fields: those given, and views of the two flat arrays (buffer: of another instance)."""
        declared, shapes, sizes = _declared(type(self)), dict[str, tuple[int, ...]](), {"f": 0, "i": 0}
        for each in declared:
            if each.shape and each.name not in given:
                lengths = [_length(length, known) for length in each.shape]
                if None in lengths:
                    where = f"{type(self).__name__}.{each.name}"
                    raise TypeError(f"{where} needs its length {each.shape[lengths.index(None)]}: give sizes")
                shapes[each.name] = shape = tuple(length for length in lengths if length is not None)
                sizes[each.kind] += int(np.prod(shape))
        flat: dict[str, Any] = {
            "f": np.zeros(sizes["f"]) if buffer is None else buffer,
            "i": np.zeros(sizes["i"], np.int64),
        }
        places, starts = {kind: _address(array) for kind, array in flat.items()}, {"f": 0, "i": 0}
        words = [fingerprint(type(self).__name__, {each.name: each.c for each in declared})]
        made: dict[str, Any] = {"buffer": flat["f"], "integers": flat["i"]}
        for each in declared:
            if each.name in shapes:
                shape, start = shapes[each.name], starts[each.kind]
                starts[each.kind] = end = start + int(np.prod(shape))
                made[each.name] = flat[each.kind][start:end].reshape(shape)
                words += [places[each.kind] + 8 * start, *shape]
            else:
                made[each.name] = value = given[each.name]
                if each.shape:
                    words += [_address(value), *value.shape]
                else:
                    words.append(value if each.kind is int else _address(value.words))
        self.__dict__.update(made)
        object.__setattr__(self, "words", np.array(words, np.int64))

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse another array in the place of a field: kernels would not see it."""
        declared = any(each.name == name for each in _declared(type(self)))
        if declared and value is not self.__dict__.get(name):  # `work.v += …` gives the same array
            raise AttributeError(f"write into it: {name}[:] = …")
        object.__setattr__(self, name, value)

    @property
    def layout(self) -> dict[str, Any]:
        """The fields in the order in which `words` has them after its first entry."""
        return {each.name: self.__dict__[each.name] for each in _declared(type(self))}

    def checked(self) -> Any:
        """Return the same fields with checked indices, for kernels that run as Python."""
        if "checked_" not in self.__dict__:
            copy = object.__new__(type(self))
            for each in _declared(type(self)):
                value = self.__dict__[each.name]
                if each.shape:
                    value = value.view(CheckedArray)
                copy.__dict__[each.name] = value.checked() if isinstance(value, Struct) else value
            copy.__dict__["checked_"] = copy
            object.__setattr__(copy, "words", self.words)
            self.__dict__["checked_"] = copy
        return self.__dict__["checked_"]


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _length(text: str, known: Mapping[str, int]) -> int | None:
    """Return a length of a shape, None where it contains a name that is not known."""
    if text == _ANY:
        return None
    try:
        return int(eval(_code(text), {}, dict(known)))
    except NameError:
        return None


@cache
def _code(text: str) -> Any:
    return compile(text, "<shape>", "eval")
