"""Conditions as programs: rows of numbers that a real-time loop evaluates on the words of a record.

Row (operation, operand), in the order of execution on a stack. Where an expression has no value, it is not a
number, and every comparison with it is false, as in `Condition.met`.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.expressions.conditions import ARITHMETIC, SIGNS, Condition, ConditionTerm, Joined
from linkwork.multibody.expressions.text import Node

_CONSTANT, _WORD, _WHOLE, _ALL, _ANY = range(5)
_FIRST_SIGN, _FIRST_FUNCTION = 8, 16
_SIGNS = (">", ">=", "<", "<=")
_FUNCTIONS = (
    "+", "-", "*", "/", "**", "negative", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp",
    "log", "tanh", "abs", "min", "max",
)  # fmt: skip
"""In the order of their operations, which logs keep: new ones go to the end."""

Words = Mapping[str, tuple[int, bool]]
"""Name → word of a record, and whether the word is a 64-bit integer."""


def program_rows(condition: Condition, words: Words) -> Floats:
    """Return the program of a condition (n, 2). `words`: every name in it."""
    rows: list[tuple[float, float]] = []

    def term(part: ConditionTerm | Joined) -> None:
        if isinstance(part, Joined):
            for each in part.parts:
                term(each)
            rows.append((_ANY if part.any_of else _ALL, len(part.parts)))
            return
        value(part.left)
        value(part.right)
        rows.append((_FIRST_SIGN + _SIGNS.index(part.sign), 2))

    def value(node: Node) -> None:
        if isinstance(node.head, float):
            rows.append((_CONSTANT, node.head))
        elif not node.arguments:
            word, whole = words[node.head]
            rows.append((_WHOLE if whole else _WORD, word))
        else:
            for argument in node.arguments:
                value(argument)
            rows.append((_FIRST_FUNCTION + _FUNCTIONS.index(node.head), len(node.arguments)))

    term(condition.root)
    return np.array(rows, np.float64)


class ConditionProgram:
    """A program (n, 2), ready to run. Raises ValueError when the rows are no program."""

    def __init__(self, rows: Floats) -> None:
        self._steps: list[tuple[int, float, int, Callable[..., float | bool] | None]] = []
        depth = 0
        for operation, operand in rows.tolist():
            kind, number = int(operation), int(operand)
            function: Callable[..., float | bool] | None = None
            if _FIRST_SIGN <= kind < _FIRST_SIGN + len(_SIGNS):
                function = SIGNS[_SIGNS[kind - _FIRST_SIGN]]
            elif _FIRST_FUNCTION <= kind < _FIRST_FUNCTION + len(_FUNCTIONS):
                function = ARITHMETIC[_FUNCTIONS[kind - _FIRST_FUNCTION]]
            elif not _CONSTANT <= kind <= _ANY:
                raise ValueError(f"the condition has the unknown operation {kind}")
            taken = number if kind > _WHOLE else 0
            if taken > depth or (kind > _WHOLE and taken < 1):
                raise ValueError("the condition is damaged")
            depth += 1 - taken
            self._steps.append((kind, operand, number, function))
        if depth != 1:
            raise ValueError("the condition is damaged")

    def holds(self, words: Floats) -> bool:
        """Whether it holds for the words of a record (a flat array)."""
        stack: list[float | bool] = []
        for kind, operand, number, function in self._steps:
            if kind == _WORD:
                stack.append(float(words[number]))
            elif kind == _CONSTANT:
                stack.append(operand)
            elif kind == _WHOLE:
                stack.append(float(words.view(np.int64)[number]))
            else:
                arguments = stack[-number:]
                del stack[-number:]
                if function is not None:
                    stack.append(_applied(function, arguments))
                else:
                    stack.append(any(arguments) if kind == _ANY else all(arguments))
        return bool(stack[0])


def _applied(function: Callable[..., float | bool], arguments: list[float | bool]) -> float | bool:
    try:
        return function(*arguments)
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


Span = tuple[float, float]
"""Lowest and highest value."""
_ANYTHING: Span = (-math.inf, math.inf)
_SPANS: dict[str, Span] = {
    "sin": (-1.0, 1.0), "cos": (-1.0, 1.0), "tanh": (-1.0, 1.0), "sqrt": (0.0, math.inf),
    "exp": (0.0, math.inf), "asin": (-math.pi / 2.0, math.pi / 2.0), "acos": (0.0, math.pi),
    "atan": (-math.pi / 2.0, math.pi / 2.0), "atan2": (-math.pi, math.pi),
}  # fmt: skip


def can_hold(condition: Condition, spans: Mapping[str, Span]) -> bool:
    """Whether a condition can hold for some values of its names. `spans`: of those that are limited.

    By interval arithmetic, comparison by comparison: True may be wrong, False is not.
    """
    return _possible(condition.root, spans)


def _possible(part: ConditionTerm | Joined, spans: Mapping[str, Span]) -> bool:
    if isinstance(part, Joined):
        return (any if part.any_of else all)(_possible(each, spans) for each in part.parts)
    left, right = _span(part.left, spans), _span(part.right, spans)
    sign = SIGNS[part.sign]
    return sign(left[1], right[0]) if ">" in part.sign else sign(left[0], right[1])


def _span(node: Node, spans: Mapping[str, Span]) -> Span:
    if isinstance(node.head, float):
        return node.head, node.head
    if not node.arguments:
        return spans.get(node.head, _ANYTHING)
    given = [_span(argument, spans) for argument in node.arguments]
    head, (low, high) = node.head, given[0]
    match head:
        case "+":
            found = low + given[1][0], high + given[1][1]
        case "-":
            found = low - given[1][1], high - given[1][0]
        case "*":
            corners = [a * b for a in given[0] for b in given[1]]
            found = (-math.inf, math.inf) if any(x != x for x in corners) else (min(corners), max(corners))
        case "negative":
            found = -high, -low
        case "abs":
            found = max(low, -high, 0.0), max(abs(low), abs(high))
        case "min":
            found = min(low, given[1][0]), min(high, given[1][1])
        case "max":
            found = max(low, given[1][0]), max(high, given[1][1])
        case _:
            found = _SPANS.get(head, _ANYTHING)
    return _ANYTHING if any(x != x for x in found) else found
