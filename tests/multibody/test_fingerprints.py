"""Fingerprints change with what is compiled, and with nothing else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from linkwork.multibody.kernels.fingerprints import fingerprint

BASE = """
import numpy as np
from enum import IntEnum
from typing import NamedTuple

SIZE = 3
TABLE = np.array([1.0, 2.0])
PAIR = (1, (2.5, "three"))

class WrittenPlace(IntEnum):
    FIRST = 1

class WrittenRow(NamedTuple):
    left: float
    right: float

def helper(x):
    'Some words.'
    return x + SIZE

def function(x, most=2.0):
    'Some words.'
    y = helper(x) * TABLE[WrittenPlace.FIRST] + PAIR[0]
    return WrittenRow(y, most).left + sum([each * 2 for each in (1, 2)]) + np.sqrt(y)
"""


def of(text: str, outside: Callable[[Any], str | None] = lambda _: None) -> str:
    names: dict[str, Any] = {"__name__": "linkwork.written"}
    exec(compile(text, "written.py", "exec"), names)
    return fingerprint(names["function"], outside)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SIZE = 3", "SIZE = 4"),
        ("SIZE = 3", "SIZE = 3.0"),
        ("[1.0, 2.0]", "[1.0, 2.5]"),
        ("2.5, ", "2.25, "),
        ("FIRST = 1", "FIRST = 0"),
        ("    right: float", "    other: float"),
        ("x + SIZE", "x - SIZE"),
        ("most=2.0", "most=3.0"),
        ("each * 2", "each * 3"),
        ("np.sqrt(y)", "np.cbrt(y)"),
        ("helper(x) *", "helper(x) /"),
    ],
)
def test_a_change_of_what_is_compiled_shows(old: str, new: str) -> None:
    assert old in BASE
    assert of(BASE.replace(old, new)) != of(BASE)


def test_remarks_docstrings_and_other_code_do_not() -> None:
    changed = "# Above.\nOTHER = 5\n\n" + BASE.replace("'Some words.'", "'Other words.'\n    # More.")
    assert of(changed) == of(BASE)


def test_of_a_function_compiled_apart_only_the_interface_counts() -> None:
    def interface(value: Any) -> str | None:
        return "float64(float64)" if getattr(value, "__name__", "") == "helper" else None

    assert of(BASE.replace("x + SIZE", "x - SIZE"), interface) == of(BASE, interface) != of(BASE)


def test_cells_and_recursion() -> None:
    def make(cell: Any) -> Callable[[float], float]:
        def function(x: float) -> float:
            return x + cell if x > 0 else function(-x)

        return function

    def plain(value: Callable[..., Any]) -> str:
        return fingerprint(value, lambda _: None)

    assert plain(make(1.0)) == plain(make(1.0)) != plain(make(2.0))
    assert plain(make(np.float64(1.0))) != plain(make(1.0))
