"""Conditions on numbers by name: "motor1.position > 0.3 and part_present". Read, never evaluated as code.

    condition   = all ("or" all)*
    all         = one ("and" one)*
    one         = expression (">" | ">=" | "<" | "<=") expression | switch | "(" condition ")"
    switch      = name | name "=" ("on" | "off")

Expressions are those of machine files (`multibody.expressions`), with abs, min and max beside their
functions. A switch is the name of a quantity that is 0 or 1, such as a digital signal.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.multibody.expressions import ExpressionError, Node, names_in, parse
from linkwork.multibody.expressions.text import DEEPEST, LONGEST, TIME, words_in

SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_SIGN = re.compile(r">=|<=|>|<|==|!=|=")
_MARK = re.compile(r"[()]|\b(?:and|or)\b")
_LOGIC = re.compile(rf"{_SIGN.pattern}|\b(?:and|or)\b")
_ON, _OFF, _HALF = ("", "on", "true", "1"), ("off", "false", "0"), 0.5
_MORE = {"abs": 1, "min": 2, "max": 2}


def _least(*values: float) -> float:
    return math.nan if any(value != value for value in values) else min(values)


def _largest(*values: float) -> float:
    return math.nan if any(value != value for value in values) else max(values)


ARITHMETIC: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": math.pow,
    "negative": operator.neg,
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")},
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "tanh")},
    "abs": abs,
    "min": _least,
    "max": _largest,
}


def _raising(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, not a number where `math` raises an error: an infinite result of finite arguments."""

    def defined(*values: Any) -> Any:
        found = function(*values)
        bad = np.isinf(found)
        for value in values:
            bad = bad & np.isfinite(value)
        return np.where(bad, math.nan, found)

    return defined


def _divided(left: Any, right: Any) -> Any:
    return np.where(np.equal(right, 0.0), math.nan, np.divide(left, right))


_OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divided,
    "**": _raising(np.power),
    "negative": np.negative,
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sqrt", "tanh", "abs")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "tan2")},
    **{name: _raising(getattr(np, name)) for name in ("exp", "log")},
    "min": np.minimum,
    "max": np.maximum,
}
"""ARITHMETIC for many values at once."""


@dataclass(frozen=True)
class ConditionTerm:
    """left SIGN right."""

    left: Node
    sign: str
    right: Node

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether it holds for these values; where an expression has no value, it does not."""
        try:
            return SIGNS[self.sign](_value(self.left, values), _value(self.right, values))
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):  # TypeError: a complex power
            return False

    def held(self, columns: Mapping[str, Floats]) -> Any:
        """Return whether it holds, as `holds`, for each row of columns (n,) of values."""
        return SIGNS[self.sign](_values(self.left, columns), _values(self.right, columns))

    @property
    def sides(self) -> Iterator[Node]:
        """The two expressions that are compared."""
        yield self.left
        yield self.right


@dataclass(frozen=True)
class Joined:
    """Several that must all hold, or of which one must (`any_of`)."""

    parts: tuple[ConditionTerm | Joined, ...]
    any_of: bool

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether it holds for these values."""
        return (any if self.any_of else all)(part.holds(values) for part in self.parts)

    def held(self, columns: Mapping[str, Floats]) -> Any:
        """Return whether it holds, as `holds`, for each row of columns (n,) of values."""
        join = np.logical_or if self.any_of else np.logical_and
        return functools.reduce(join, [part.held(columns) for part in self.parts])

    @property
    def sides(self) -> Iterator[Node]:
        """The expressions of all comparisons, in their order."""
        for part in self.parts:
            yield from part.sides


@dataclass(frozen=True)
class Condition:
    """Condition of a fault. `names` are the quantities in it, with their first places in the text."""

    root: ConditionTerm | Joined
    names: dict[str, int]

    def met(self, values: Mapping[str, float]) -> bool:
        """Whether it holds for these values; a comparison with a missing value does not."""
        return self.root.holds(values)

    def met_rows(self, columns: Mapping[str, Floats], count: int) -> NDArray[np.intp]:
        """Return the numbers of the rows for which it holds; `columns`: the values (count,) of each name."""
        with np.errstate(all="ignore"):
            return np.flatnonzero(np.broadcast_to(self.root.held(columns), count))

    @property
    def size(self) -> int:
        """Number of its operations, names and numbers."""
        return sum(_size(side) for side in self.root.sides)


@dataclass(frozen=True)
class NamedExpression:
    """An expression over values by name. `names` are those that it contains, with their first places."""

    root: Node
    names: dict[str, int]

    def value(self, values: Mapping[str, float]) -> float:
        """Return its value, NaN where it has none."""
        try:
            return float(_value(self.root, values))
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):  # TypeError: a complex power
            return math.nan


def parse_named(text: str) -> NamedExpression:
    """Return the expression in a text. Raises ExpressionError."""
    root = parse(text, _MORE)
    _refuse_time(root, text)
    return NamedExpression(root, dict(names_in(root)))


def parse_condition(text: str, switches: Collection[str] = ()) -> Condition:
    """The condition in a text. Raises ExpressionError, `at` counted in the whole text.

    switches: names of quantities that are 0 or 1.
    """
    if len(text) > LONGEST:
        raise ExpressionError(
            "the condition is too long", LONGEST, f"{len(text)} characters", f"at most {LONGEST}"
        )
    if "not" in words_in(text):
        remedy = "reverse the comparison"
        raise ExpressionError("there is no `not`", words_in(text)["not"], "not", "and, or", remedy)
    root = _condition(text, (0, len(text)), 0, switches)
    names: dict[str, int] = {}
    for side in root.sides:
        _refuse_time(side, text)
        for name, at in names_in(side).items():
            names.setdefault(name, at)
    return Condition(root, names)


def _condition(
    text: str, span: tuple[int, int], depth: int, switches: Collection[str]
) -> ConditionTerm | Joined:
    """Parse the text between two positions: comparisons joined by `or`, by `and`, one in brackets, or one."""
    start, end = span
    if depth > DEEPEST:
        raise ExpressionError("the condition is nested too deeply", start, "(", f"at most {DEEPEST} levels")
    marks = list(_outside(text, start, end))
    for word, any_of in (("or", True), ("and", False)):
        joins = [mark.span() for mark in marks if mark[0] == word]
        if joins:
            begins, ends = [start, *(after for _, after in joins)], [*(at for at, _ in joins), end]
            spans = zip(begins, ends, strict=True)
            parts = (_condition(text, each, depth + 1, switches) for each in spans)
            return Joined(tuple(parts), any_of)
    inner = text[start:end].strip()
    opens = text.find("(", start, end)
    wrapped = inner.startswith("(") and [mark[0] for mark in marks] == ["(", ")"] and inner.endswith(")")
    if wrapped and (_LOGIC.search(inner) or inner.strip("() \t\n") in switches):
        return _condition(text, (opens + 1, text.rfind(")", start, end)), depth + 1, switches)
    return _comparison(text, start, end, switches)


def _outside(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The brackets, `and`s and `or`s outside all other brackets."""
    depth = 0
    opened: list[int] = []
    for mark in _MARK.finditer(text, start, end):
        if mark[0] == ")":
            depth -= 1
            if depth < 0:
                remedy = "remove it, or add an opening bracket"
                raise ExpressionError("this bracket has no opening bracket", mark.start(), ")", "", remedy)
            opened.pop()
        if depth == 0:
            yield mark
        if mark[0] == "(":
            depth += 1
            opened.append(mark.start())
    if opened:
        raise ExpressionError("this bracket is not closed", opened[-1], "(", "", "add )")


def _comparison(text: str, start: int, end: int, switches: Collection[str]) -> ConditionTerm:
    signs = list(_SIGN.finditer(text, start, end))
    allowed = ", ".join(SIGNS)
    if not signs or (len(signs) == 1 and signs[0][0] in ("=", "==")):
        switched = _switch(text, start, signs[0].span() if signs else (end, end), end)
        if switched is not None and switched.left.head in switches:
            return switched
    if not signs:
        raise ExpressionError("a comparison is missing here", start, text[start:end].strip(), allowed)
    sign, *more = signs
    if sign[0] not in SIGNS:
        name, word = text[start : sign.start()].strip(), text[sign.end() : end].strip().lower()
        if name.isidentifier() and word in ("on", "off"):
            raise ExpressionError(
                "this is no digital signal", start, name, ", ".join(sorted(switches)) or "none is there"
            )
        raise ExpressionError("measured numbers are never exactly equal", sign.start(), sign[0], allowed)
    if more:
        raise ExpressionError(
            "a comparison has one operator", more[0].start(), more[0][0], "", "join two by `and`"
        )
    return ConditionTerm(_expression(text, start, sign.start()), sign[0], _expression(text, sign.end(), end))


def _switch(text: str, start: int, sign: tuple[int, int], end: int) -> ConditionTerm | None:
    """The term of a name alone, or of NAME=on and NAME=off; None where the text is neither."""
    name, word = text[start : sign[0]], text[sign[1] : end].strip().lower()
    at = start + len(name) - len(name.lstrip())
    if word not in _ON and word not in _OFF:
        return None
    return ConditionTerm(Node(name.strip(), at=at), "<" if word in _OFF else ">", Node(_HALF))


def _expression(text: str, start: int, end: int) -> Node:
    """The expression between two places, all its places those of the whole text."""
    if not text[start:end].strip():
        raise ExpressionError("an expression is missing here", start, "nothing", "a name, or arithmetic")
    return parse(" " * start + text[start:end], _MORE)


def _refuse_time(node: Node, text: str) -> None:
    if TIME in _heads(node):
        raise ExpressionError("unknown name", words_in(text)[TIME], TIME, "", "write time_s")


def _heads(node: Node) -> set[float | str]:
    return {node.head}.union(*map(_heads, node.arguments))


def _size(node: Node) -> int:
    return 1 + sum(map(_size, node.arguments))


def _values(node: Node, columns: Mapping[str, Floats]) -> Any:
    if isinstance(node.head, float):
        return node.head
    if not node.arguments:
        return columns[node.head]
    return _OF_ARRAYS[node.head](*(_values(argument, columns) for argument in node.arguments))


def _value(node: Node, values: Mapping[str, float]) -> float:
    if isinstance(node.head, float):
        return node.head
    if not node.arguments:
        return values[node.head]
    return ARITHMETIC[node.head](*(_value(argument, values) for argument in node.arguments))
