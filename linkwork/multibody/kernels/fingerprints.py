"""Hashes of what a compiled function depends on.

Machine code follows from the bytecode of a function and from the values that it names: constants, entries of
modules, and functions that are compiled into it. Comments, docstrings, line numbers and the place of a file
have no influence, and neither has other code in the same file.
"""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_ROOT = "linkwork"
_LIBRARIES = ("numba", "numpy", "math")


def fingerprint(function: Any, outside: Callable[[Any], str | None]) -> str:
    """Return a hash of what the machine code of a function, or of several, depends on: 20 hexadecimal digits.

    `outside` returns the interface of a function that is compiled apart and called, None for every other
    value. An interface is hashed in place of the function.
    """
    digest, seen = hashlib.sha256(), dict[int, int]()

    def add(*words: object) -> None:
        digest.update("\0".join(map(str, words)).encode() + b"\1")

    def add_value(value: Any) -> None:
        if isinstance(value, CodeType):
            add_code(value, None)
            return
        if isinstance(value, (int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic)):
            add(type(value).__name__, value.hex() if isinstance(value, float) else repr(value))
            return
        if id(value) in seen:
            add("seen", seen[id(value)])
            return
        seen[id(value)] = len(seen)
        interface = outside(value)
        if interface is not None:
            add("outside", interface)
        elif _is_compiled_in(getattr(value, "py_func", value)):
            add_function(getattr(value, "py_func", value))
        elif isinstance(value, (tuple, list)):
            add(type(value).__name__, len(value))
            for each in value:
                add_value(each)
        elif isinstance(value, np.ndarray):
            add("array", value.dtype, value.shape, hashlib.sha256(value.tobytes()).hexdigest())
        elif isinstance(value, ModuleType):
            add("module", value.__name__)
        else:
            add(*_described(value))

    def add_function(given: FunctionType) -> None:
        add("function", given.__qualname__)
        add_code(given.__code__, given.__doc__)
        for default in given.__defaults__ or ():
            add_value(default)
        for name, cell in zip(given.__code__.co_freevars, given.__closure__ or (), strict=True):
            add("cell", name)
            add_value(cell.cell_contents)
        names = list(dict.fromkeys(_names(given.__code__)))
        for name in names:
            if name in given.__globals__:
                value = given.__globals__[name]
                add("global", name)
                add_value(value)
                for entry, found in _entries(value, names):
                    add("entry", entry)
                    add_value(found)

    def add_code(code: CodeType, doc: str | None) -> None:
        add("code", code.co_argcount, code.co_flags, code.co_code.hex(), *code.co_names)
        for place, constant in enumerate(code.co_consts):
            if not (place == 0 and doc is not None and constant == doc):
                add_value(constant)

    add_value(function)
    return digest.hexdigest()[:20]


def _is_compiled_in(value: Any) -> bool:
    """Whether a value is a function whose own code counts; numba and numpy are known by their versions."""
    return isinstance(value, FunctionType) and str(value.__module__).partition(".")[0] not in _LIBRARIES


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function and those inside it read from globals or as attributes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _entries(value: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The entries of one of our modules that a function may read."""
    if isinstance(value, ModuleType) and _is_ours(value.__name__):
        for name in names:
            if hasattr(value, name):
                yield name, getattr(value, name)


def _described(value: Any) -> Iterator[object]:
    """Words that change with a class or another object."""
    named = value if hasattr(value, "__qualname__") else type(value)
    text = str(value)
    yield from (named.__module__, named.__qualname__, "" if " at 0x" in text else text)
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        yield from value._fields
    elif isinstance(value, type) and issubclass(value, Enum):
        yield from ((member.name, member.value) for member in value)
    elif isinstance(named.__module__, str) and _is_ours(named.__module__):
        yield _source_of(named.__module__)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == _ROOT


def _source_of(module: str) -> str:
    path = getattr(sys.modules.get(module), "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""
