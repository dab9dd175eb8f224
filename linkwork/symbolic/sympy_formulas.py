"""Formulas of rows and coordinates in a frame's axes and place, and their derivatives.

A formula is one SymPy expression in placeholders, from which SymPy makes the gradient and, along a motion
with given first and second derivatives of the placeholders, the rate and the second derivative.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

import sympy as sp

from linkwork.multibody.expressions import Node
from linkwork.multibody.expressions.text import RATE_OF
from linkwork.symbolic.operation_tape import ZERO, Expression, Tape, exact

A_AXES = [sp.symbols(f"a{i}x a{i}y a{i}z") for i in range(3)]
B_AXES = [sp.symbols(f"b{i}x b{i}y b{i}z") for i in range(3)]
SEPARATION = sp.symbols("dx dy dz")
TIME = sp.Symbol("t", real=True)


def dot(a: Sequence[Expression], b: Sequence[Expression]) -> Expression:
    """Scalar product of placeholders."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


@cache
def gradient(formula: Expression, name: Expression) -> Expression:
    """∂formula/∂name; kept, since the rows of a kind have the same formula."""
    return formula.diff(name)


@cache
def rate_formula(formula: Expression, moving: tuple[Expression, ...]) -> Expression:
    """The rate of a formula, with x' for the rate of the placeholder x."""
    return sum((gradient(formula, x) * primed(x) for x in moving), ZERO)


@cache
def second_rate_formula(formula: Expression, moving: tuple[Expression, ...]) -> Expression:
    """Its second derivative, with x'' for that of x."""
    bending = (rate_formula(gradient(formula, x), moving) * primed(x) for x in moving)
    return sum((gradient(formula, x) * primed(x, 2) for x in moving), ZERO) + sum(bending, ZERO)


def primed(name: Expression, times: int = 1) -> Expression:
    """The placeholder of a derivative."""
    return sp.Symbol(str(name) + "'" * times)


class PlacedFormula:
    """Values of placeholders (`value`) with their two derivatives (`first`, `second`)."""

    def __init__(self, tape: Tape) -> None:
        """Begin with no placeholder."""
        self._tape = tape
        self.value: dict[Expression, Expression] = {}
        self.first: dict[Expression, Expression] = {}
        self.second: dict[Expression, Expression] = {}

    def place(
        self,
        names: Sequence[Expression],
        value: Sequence[Expression],
        first: Sequence[Expression],
        second: Sequence[Expression],
    ) -> None:
        """Give placeholders their values."""
        self.value.update(zip(names, value, strict=True))
        self.first.update(zip(names, first, strict=True))
        self.second.update(zip(names, second, strict=True))

    def named_value(self, formula: Expression) -> Expression:
        """The value of a formula, named."""
        return self._tape.put(formula.xreplace(self.value))

    def _moving(self, formula: Expression) -> tuple[Expression, ...]:
        there = formula.free_symbols
        return tuple(x for x in self.first if x in there)

    def rate(self, formula: Expression) -> Expression:
        """The rate of a formula, named."""
        moving = self._moving(formula)
        known = self.value | {primed(x): self.first[x] for x in moving}
        return self._tape.put(rate_formula(formula, moving).xreplace(known))

    def second_rate(self, formula: Expression) -> Expression:
        """The second derivative of a formula, named."""
        moving = self._moving(formula)
        known = self.value | {primed(x): self.first[x] for x in moving}
        known |= {primed(x, 2): self.second[x] for x in moving}
        return self._tape.put(second_rate_formula(formula, moving).xreplace(known))


_OPERATORS: Mapping[str, Callable[..., Expression]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "negative": lambda a: -a,
}


def formula_of(
    node: Node, coordinate: Mapping[str, Expression], rates: Mapping[str, Expression] = MappingProxyType({})
) -> Expression:
    """The tree of an expression in a machine file, in SymPy.

    `coordinate` gives the symbol of each name, `rates` the formula of each rate.
    """
    if isinstance(node.head, float):
        return exact(node.head)
    if not node.arguments:
        return TIME if node.head == "t" else coordinate[node.head]
    if node.head == RATE_OF:
        return rates[str(node.arguments[0].head)]
    arguments = [formula_of(each, coordinate, rates) for each in node.arguments]
    made = _OPERATORS.get(node.head)
    return made(*arguments) if made else getattr(sp, node.head)(*arguments)
