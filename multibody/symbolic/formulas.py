"""What rows and coordinates are as formulas of a frame's axes and place, and their derivatives.

A formula is one SymPy expression in placeholders, from which SymPy makes the gradient and, along a motion
with given first and second derivatives of the placeholders, the rate and the second derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import sympy as sp

from multibody.expressions import Node
from multibody.symbolic.tape import ZERO, Expression, Tape, exact

A_AXES = [sp.symbols(f"a{i}x a{i}y a{i}z", real=True) for i in range(3)]
B_AXES = [sp.symbols(f"b{i}x b{i}y b{i}z", real=True) for i in range(3)]
SEPARATION = sp.symbols("dx dy dz", real=True)
TIME = sp.Symbol("t", real=True)


def dot(a: Sequence[Expression], b: Sequence[Expression]) -> Expression:
    """Scalar product of placeholders."""
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)


def rate(formula: Expression, first: Mapping[Expression, Expression]) -> Expression:
    """Derivative along the motion whose placeholders have these rates."""
    return sum((formula.diff(x) * xd for x, xd in first.items() if formula.has(x)), ZERO)


def second_rate(
    formula: Expression, first: Mapping[Expression, Expression], second: Mapping[Expression, Expression]
) -> Expression:
    """Second derivative along that motion."""
    total = rate(formula, second)
    gradient = {x: formula.diff(x) for x in first if formula.has(x)}
    return total + sum((rate(slope, first) * first[x] for x, slope in gradient.items()), ZERO)


class Placed:
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

    def at(self, formula: Expression) -> Expression:
        """The value of a formula, named."""
        return self._tape.put(formula.xreplace(self.value))

    def _moving(self, formula: Expression) -> dict[Expression, Expression]:
        return {x: sp.Symbol(f"{x}'", real=True) for x in self.first if formula.has(x)}

    def rate(self, formula: Expression) -> Expression:
        """The rate of a formula, named."""
        names = self._moving(formula)
        known = self.value | {name: self.first[x] for x, name in names.items()}
        return self._tape.put(rate(formula, names).xreplace(known))

    def second_rate(self, formula: Expression) -> Expression:
        """The second derivative of a formula, named."""
        names = self._moving(formula)
        twice = {x: sp.Symbol(f"{x}''", real=True) for x in names}
        known = self.value | {name: self.first[x] for x, name in names.items()}
        known |= {name: self.second[x] for x, name in twice.items()}
        return self._tape.put(second_rate(formula, names, twice).xreplace(known))


_OPERATORS: Mapping[str, Callable[..., Expression]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "negative": lambda a: -a,
}


def formula_of(node: Node, coordinate: Mapping[str, Expression]) -> Expression:
    """The tree of an expression in a machine file, in SymPy; `coordinate` gives the symbol of each name."""
    if isinstance(node.head, float):
        return exact(node.head)
    if not node.arguments:
        return TIME if node.head == "t" else coordinate[node.head]
    arguments = [formula_of(each, coordinate) for each in node.arguments]
    made = _OPERATORS.get(node.head)
    return made(*arguments) if made else getattr(sp, node.head)(*arguments)
