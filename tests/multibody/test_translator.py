"""Kernels in C compute what their Python source says, bit for bit; what is not in the subset is refused."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import math
import sys
import warnings
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork.multibody.kernels.library import PACKAGE, build, function_in, load
from linkwork.multibody.kernels.sources import KernelError

_HEAD = """
import math

import numpy as np

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.kernels.views import copy, fill

FEW, MANY = range(2)
_TABLE = (1.5, -2.0, 3.25)
"""
_count = itertools.count()


def both(folder: Path, text: str, name: str = "run") -> tuple[Any, Any]:
    """A kernel of this text: as C, and as Python."""
    package = f"trial_{next(_count)}"
    root = folder / package
    root.mkdir()
    (root / "kernels.py").write_text(_HEAD + text)
    build(
        folder / f"{package}_library",
        {package: root, "linkwork": PACKAGE},
        only=package,
    )
    compiled = function_in(load(folder / f"{package}_library"), f"{package}.kernels.{name}", None)
    spec = importlib.util.spec_from_file_location(f"{package}.kernels", root / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return compiled, getattr(module, name)


def bits(value: Any) -> Any:
    """The bits of a number or an array; which of its operands' NaN an operation returns is left open."""
    if isinstance(value, np.ndarray):
        return np.where(value != value, np.nan, value).tobytes()
    if value != value:
        return "nan"
    return np.float64(value).tobytes() if isinstance(value, float | np.floating) else (type(value), value)


def agree(functions: tuple[Any, Any], *arguments: Any) -> None:
    """Both return the same and leave the same in the arrays."""
    given = [[np.copy(x) if isinstance(x, np.ndarray) else x for x in arguments] for _ in functions]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [function(*each) for function, each in zip(functions, given, strict=True)]
    assert bits(results[0]) == bits(results[1])
    for one, other in zip(*given, strict=True):
        if isinstance(one, np.ndarray):
            assert bits(one) == bits(other)


# Random programs: statements over x (floats), n (integers) and local variables

_floats = st.sampled_from(
    ["x[0]", "x[1]", "x[n[0] % 4]", "a", "b", "1.5", "-0.25", "_TABLE[n[1] % 3]", "y[1, 2]"]
)
_integers = st.sampled_from(["n[0]", "n[1]", "i", "j", "3", "-2", "len(x)", "y.shape[1]", "MANY"])


def _float_expressions(depth: int) -> st.SearchStrategy[str]:
    if depth == 0:
        return _floats
    inner, whole = _float_expressions(depth - 1), _integer_expressions(depth - 1)
    return st.one_of(
        _floats,
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({} / (1.0 + {} * {}))".format, inner, inner, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "*"]), whole),
        st.builds("({} / 7)".format, whole),
        st.builds("abs({})".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["max", "min", "math.atan2"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["math.sin", "math.tanh", "math.cos"]), inner),
        st.builds("({} if {} < {} else {})".format, inner, inner, inner, inner),
        st.builds("twice({}, {})".format, inner, inner),
        st.builds("(-{})".format, inner),
    )


def _integer_expressions(depth: int) -> st.SearchStrategy[str]:
    if depth == 0:
        return _integers
    inner = _integer_expressions(depth - 1)
    return st.one_of(
        _integers,
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
        st.builds("({} // {})".format, inner, st.sampled_from(["3", "-4", "(1 + abs({}))"])).map(
            lambda text: text.format("j")
        ),
        st.builds("({} % {})".format, inner, st.sampled_from(["5", "-3"])),
        st.builds("{}({}, {})".format, st.sampled_from(["max", "min"]), inner, inner),
        st.builds("abs({})".format, inner),
    )


_conditions = st.one_of(
    st.builds("{} < {}".format, _float_expressions(1), _float_expressions(1)),
    st.builds("{} == {}".format, _integer_expressions(1), _integers),
    st.builds("{} < {} <= {}".format, _floats, _float_expressions(1), _floats),
    st.builds("not ({} > {}) and {} != {}".format, _floats, _floats, _integers, _integers),
    st.builds("{} in (FEW, MANY)".format, _integers),
)


def _statements(depth: int) -> st.SearchStrategy[list[str]]:
    simple = st.one_of(
        st.builds("a = {}".format, _float_expressions(2)),
        st.builds("b = {}".format, _float_expressions(2)),
        st.builds("i = {} % 997".format, _integer_expressions(2)),
        st.builds("j = {} % 997".format, _integer_expressions(2)),
        st.builds("x[abs(i) % 4] = {}".format, _float_expressions(2)),
        st.builds("x[2] {}= {}".format, st.sampled_from(["+", "-", "*"]), _float_expressions(1)),
        st.builds("y[abs(j) % 2, 1] = {}".format, _float_expressions(1)),
        st.just("x[0], x[3] = x[3], x[0]"),
        st.just("a, b = b, a"),
        st.just("y[0, 0] = y[1, 1] = a"),
        st.just("copy(y[1], x[1:4])"),
        st.just("fill(x[1:3], b)"),
        st.builds(
            "for i in range({}, {}, {}):\n    a = a * 0.5 + i".format,
            _integers,
            _integers,
            st.sampled_from([1, -1, 2]),
        ),
    ).map(lambda text: text.split("\n"))
    if depth == 0:
        return simple
    inner = st.lists(_statements(depth - 1), min_size=1, max_size=3).map(lambda found: [*chain(*found)])

    return st.one_of(
        simple,
        st.builds(_branches, _conditions, inner, inner),
        st.builds(lambda body: ["for k in range(3):", *_indented([*body, "a = a * 0.25 - k"])], inner),
        st.builds(_while, _conditions, inner),
    )


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _branches(test: str, yes: list[str], no: list[str]) -> list[str]:
    return [f"if {test}:", *_indented(yes), "else:", *_indented(no)]


def _while(test: str, body: list[str]) -> list[str]:
    m = f"m{sum('while' in line for line in body)}"  # a counter for each loop, or nested loops never end
    end = [f"{m} += 1", f"if {m} == 3:", "    break"]
    return [f"{m} = 0", f"while {m} < 4 and ({test}):", *_indented([*body, *end])]


_HELP = """
@part
def twice(u: float, v: float) -> float:
    w = u + v
    return w * 0.5


@kernel
def run(x: Floats, n: Integers, y: Matrix) -> float:
    a, b, i, j = x[0], 0.5, n[0], 1
"""


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=st.lists(_statements(2), min_size=2, max_size=6), data=st.data())
def test_random_programs_compute_the_same_in_both_languages(
    tmp_path_factory: pytest.TempPathFactory, program: list[list[str]], data: st.DataObject
) -> None:
    lines = [*(line for statement in program for line in statement), "return a + b * i - j"]
    functions = both(tmp_path_factory.mktemp("programs"), _HELP + "".join(f"    {line}\n" for line in lines))
    numbers = st.floats(-4, 4) | st.sampled_from([0.0, -0.0, math.inf, math.nan, 1e300])
    for _ in range(4):
        x = np.array(data.draw(st.lists(numbers, min_size=4, max_size=4)))
        n = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=2, max_size=2)))
        y = np.array(data.draw(st.lists(numbers, min_size=6, max_size=6))).reshape(2, 3)
        with contextlib.suppress(ValueError, ArithmeticError):  # Python refuses sin(inf) and 1 / 0
            agree(functions[::-1], x, n, y)


@pytest.mark.parametrize(
    "text",
    [
        "    return float(n[0] // n[1]) + 10.0 * (n[0] % n[1])",
        "    return x[0] // x[1]",
        "    return x[0] % x[1]",
        "    return max(x[0], x[1], x[2]) + min(x[0], x[1])",
        "    return math.copysign(1.0, max(x[0], x[1]))",
        "    return float(int(x[3])) + math.floor(x[3]) + math.ceil(x[3])",
        "    i = 7\n    for i in range(3):\n        pass\n    return float(i)",
        "    total = 0.0\n    for k in (2, 3, 5):\n        total = total * 10.0 + k\n    return total",
        "    return 1.0 if x[0] < x[1] < x[2] else 2.0",
        "    rows, columns = y.shape\n    return float(10 * rows + columns)",
        "    n[0], n[1] = n[1], n[0]\n    return float(n[0])",
        "    z = np.empty((2, 2))\n    z[1, 1] = x[0]\n    return z[1, 1] + len(z)",
        "    return math.sqrt(x[2] * x[2]) + math.hypot(x[0], 2.0)",
        "    return float(3000000 * 3000000 + n[0])",
        "    z = 0.0\n    for i in range(3000):\n        z = math.sin(z + (0.37 * i) ** 3)\n    return z",
        "    x[n[0] % 4] += raised(x)\n    return x[0]",
    ],
)  # fmt: skip
def test_operators_that_differ_between_python_and_c(tmp_path: Path, text: str) -> None:
    head = (
        "@part\ndef raised(x: Floats) -> float:\n    x[0] += 1.0\n    x[1] += 1.0\n    return x[2]\n\n\n"
        "@kernel\ndef run(x: Floats, n: Integers, y: Matrix) -> float:\n"
    )
    functions = both(tmp_path, f"{head}{text}\n")
    for a, b in itertools.product((7, -7, 1, -1), (3, -3, 1)):
        x = np.array([a / 2, b / 4, a + 0.25, -2.75])
        agree(functions, x, np.array([a, b]), np.arange(6.0).reshape(2, 3))
    agree(functions, np.array([-0.0, 0.25, 0.0, 2.5]), np.array([0, 5]), np.ones((3, 2)))


_REFUSED = {
    "try": ("    try:\n        pass\n    finally:\n        pass", "`Try` statements are not allowed"),
    "string": ("    a = 'text'", "'text' is not allowed"),
    "list": ("    a = [1.0]", "is not allowed"),
    "keyword": ("    fill(x, number=1.0)", "have no keywords"),
    "from the end": ("    a = x[-1]", "not counted from the end"),
    "step": ("    copy(x[0:4:2], x)", "slices of kernels have no step"),
    "columns": ("    copy(y[:, 0], x)", "only the last index may be a slice"),
    "unknown name": ("    a = unknown", "`unknown` is not allowed"),
    "unknown function": ("    a = math.gamma(x[0])", "`math.gamma` is not a function of kernels"),
    "undecorated": ("    a = plain(1.0)", "decorate it with `part`"),
    "larger type": ("    a = 0\n    a = x[0]", "`a`: int in one place, float in another"),
    "float in ints": ("    n[0] = x[0]", "float where int is needed"),
    "no such type": ("    a: str = 1.0", "`str` is not a type of kernels; allowed: float, int"),
    "two types": ("    a = 1.0\n    a = x", "`a`: float in one place, array of float"),
    "float index": ("    a = x[1.0]", "must be int"),
    "too many indices": ("    a = x[0, 0]", "2 indices of array of float, 1 dimension(s)"),
    "no value": ("    a = fill(x, 0.0)", "`a` gets no value"),
    "before": ("    b = a\n    a = 1.0", "`a` is used before it has a value"),
    "loop over an array": ("    for a in x:\n        pass", "loops go over `range(…)` or a tuple"),
    "else of a loop": ("    for i in range(3):\n        pass\n    else:\n        pass", "`else` of a loop"),
    "whole array": ("    y[0] = x", "only single entries are assigned"),
    "comparing arrays": ("    if x == y:\n        pass", "compares array of float"),
    "no effect": ("    x[0]", "has no effect"),
    "lambda": ("    a = lambda: 1.0", "is not allowed"),
    "variable step": ("    for i in range(0, 4, n[0]):\n        pass", "is not a constant"),
    "power": ("    a = n[0] ** n[1]", "`Pow` between int and int is not allowed"),
    "complex": ("    a = 1j", "is not allowed"),
    "deleted": ("    del x", "`Delete` statements are not allowed"),
    "global": ("    global FEW", "`Global` statements are not allowed"),
    "assert": ("    assert x[0] > 0.0", "`Assert` statements are not allowed"),
    "raise": ("    raise ValueError", "`Raise` statements are not allowed"),
    "with": ("    with x:\n        pass", "`With` statements are not allowed"),
    "comprehension": ("    a = (v for v in x)", "is not allowed"),
    "walrus": ("    if (a := x[0]) > 0.0:\n        pass", "is not allowed"),
    "starred": ("    a, *b = 1.0, 2.0, 3.0", "2 names for 3 values"),
    "arguments": ("    a = own(1.0)", "has 2 arguments"),
    "itself": ("    a = run(x, n, y)", "calls itself"),
    "order": ("    a = own(x, 1.0) + own(x, 2.0)", "C does not say which part is computed first"),
    "attribute": ("    a = x.mean", "has no `mean`"),
    "print": ("    print(x[0])", "`print` is not a function of kernels"),
    "bitwise": ("    a = n[0] ^ n[1]", "`BitXor` between int and int is not allowed"),
    "matrix product": ("    a = x @ x", "no such operation"),
    "text condition": ("    if x:\n        pass", "must be bool"),
}


@pytest.mark.parametrize("case", _REFUSED)
def test_what_is_not_in_the_subset_is_refused_with_its_place(tmp_path: Path, case: str) -> None:
    body, message = _REFUSED[case]
    text = (
        "def plain(a: float) -> float:\n    return a\n\n\n"
        "@part\ndef own(x: Floats, a: float) -> float:\n    x[0] = a\n    return a\n\n\n"
        "@kernel\n"
        f"def run(x: Floats, n: Integers, y: Matrix) -> None:\n{body}\n"
    )
    with pytest.raises(KernelError) as refused:
        both(tmp_path, text)
    found = str(refused.value)
    assert message in found
    path, line, column, _ = found.split(":", 3)
    assert path.endswith("kernels.py")
    assert int(column) > 0
    lines = (_HEAD + text).splitlines()
    assert 0 < int(line) <= len(lines)
