"""Conditions on which faults begin: "motor1.position > 0.3 and time_s > 2". Read, never evaluated as code.

    condition   = comparison ("and" comparison)*
    comparison  = expression (">" | ">=" | "<" | "<=") expression

Expressions are those of machine files (`multibody.expressions`), over `NAME.position` and `NAME.velocity` of
sensors, `NAME.effort` of motors, `time_s` and `tick`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from multibody.expressions import ExpressionError, Node, names_in, parse
from multibody.expressions.text import LONGEST, TIME, words_in

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_SIGN = re.compile(r">=|<=|>|<|==|!=|=")
_AND = re.compile(r"\band\b")
_OTHER_WORDS = {"or": "write two faults, one for each", "not": "turn the sign of the comparison"}
_ARITHMETIC: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": math.pow,
    "negative": operator.neg,
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")},
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "tanh")},
}


@dataclass(frozen=True)
class Comparison:
    """left SIGN right."""

    left: Node
    sign: str
    right: Node


@dataclass(frozen=True)
class Condition:
    """Comparisons that must all hold. `names` are those it looks at, with their first places in the text."""

    comparisons: tuple[Comparison, ...]
    names: dict[str, int]

    def met(self, values: Mapping[str, float]) -> bool:
        """Whether it holds for these values; where an expression has no value, it does not."""
        try:
            return all(
                _SIGNS[each.sign](_value(each.left, values), _value(each.right, values))
                for each in self.comparisons
            )
        except (ValueError, ZeroDivisionError, OverflowError):
            return False


def parse_condition(text: str) -> Condition:
    """The condition in a text. Raises ExpressionError, `at` counted in the whole text."""
    if len(text) > LONGEST:
        raise ExpressionError(
            "the condition is too long", LONGEST, f"{len(text)} characters", f"at most {LONGEST}"
        )
    for word, remedy in _OTHER_WORDS.items():
        if word in words_in(text):
            raise ExpressionError("only `and` joins comparisons", words_in(text)[word], word, "and", remedy)
    comparisons: list[Comparison] = []
    start = 0
    for end, after in [*(match.span() for match in _AND.finditer(text)), (len(text), 0)]:
        comparisons.append(_comparison(text, start, end))
        start = after
    names: dict[str, int] = {}
    for each in comparisons:
        for side in (each.left, each.right):
            if TIME in _heads(side):
                raise ExpressionError("there is no such name", words_in(text)[TIME], TIME, "", "write time_s")
            for name, at in names_in(side).items():
                names.setdefault(name, at)
    return Condition(tuple(comparisons), names)


def _comparison(text: str, start: int, end: int) -> Comparison:
    signs = list(_SIGN.finditer(text, start, end))
    allowed = ", ".join(_SIGNS)
    if not signs:
        raise ExpressionError("a comparison is missing here", start, text[start:end].strip(), allowed)
    sign, *more = signs
    if sign[0] not in _SIGNS:
        raise ExpressionError("measured numbers are never exactly equal", sign.start(), sign[0], allowed)
    if more:
        raise ExpressionError(
            "one comparison has one sign", more[0].start(), more[0][0], "", "join two by `and`"
        )
    return Comparison(_expression(text, start, sign.start()), sign[0], _expression(text, sign.end(), end))


def _expression(text: str, start: int, end: int) -> Node:
    """The expression between two places, all its places those of the whole text."""
    return parse(" " * start + text[start:end])


def _heads(node: Node) -> set[float | str]:
    return {node.head}.union(*map(_heads, node.arguments))


def _value(node: Node, values: Mapping[str, float]) -> float:
    if isinstance(node.head, float):
        return node.head
    if not node.arguments:
        return values[node.head]
    return _ARITHMETIC[node.head](*(_value(argument, values) for argument in node.arguments))
