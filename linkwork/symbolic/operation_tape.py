"""Long derivations as a sequence of short named expressions: every intermediate result has a name.

A `Tape` is a list of definitions, symbol = short expression, each in terms of inputs and earlier symbols.
Common subexpressions get one name; x and -x share it. So the expressions stay short for any machine, and the
sequence is directly the program for a compiler. `expanded` puts names back where the explicit form is small
enough to mean something.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy as sp

Expression: TypeAlias = Any
"""A SymPy expression: SymPy has no types of its own that a checker could use."""
Triple: TypeAlias = tuple[Expression, Expression, Expression]

ZERO, ONE = sp.Integer(0), sp.Integer(1)
NOWHERE: Triple = (ZERO, ZERO, ZERO)
_ROUND_OFF = 1e-15


def exact(value: float) -> Expression:
    """The number as SymPy should have it: short decimals exactly, round-off near 0 and ±1 taken away."""
    for whole in (0, 1, -1):
        if abs(value - whole) < _ROUND_OFF:
            return sp.Integer(whole)
    text = repr(float(value))
    if len(text.strip("-").replace(".", "").lstrip("0")) <= 6 or "e" in text:
        return sp.Rational(text)
    return sp.Float(value)


def exact_triple(values: Any) -> Triple:
    """`exact` of three numbers."""
    x, y, z = (exact(float(value)) for value in values)
    return x, y, z


@dataclass(frozen=True)
class Definition:
    """One line of a tape."""

    symbol: Expression
    value: Expression


class Tape:
    """Definitions in the order in which they are to be carried out; see the module."""

    def __init__(self, prefix: str = "x") -> None:
        """Begin with none; names are the prefix and a number."""
        self._prefix = prefix
        self._symbol_of: dict[Expression, Expression] = {}
        self._value_of: dict[Expression, Expression] = {}

    def __len__(self) -> int:
        """Return the number of definitions."""
        return len(self._value_of)

    def value(self, symbol: Expression) -> Expression | None:
        """The definition of a symbol; None for inputs."""
        return self._value_of.get(symbol)

    def put(self, expression: Expression) -> Expression:
        """Name an expression: returns a number, an input, or a symbol of this tape, perhaps with a minus."""
        if expression.is_Atom:
            return expression
        short = self._short(expression)
        if short.is_Atom:
            return short
        if (
            short.is_Mul
            and len(short.args) == 2
            and short.args[0] is sp.S.NegativeOne
            and short.args[1].is_Atom
        ):
            return short
        flipped = short.could_extract_minus_sign()
        positive = -short if flipped else short
        symbol = self._symbol_of.get(positive)
        if symbol is None:
            symbol = sp.Symbol(f"{self._prefix}{len(self._value_of)}")
            self._symbol_of[positive] = symbol
            self._value_of[symbol] = positive
        return -symbol if flipped else symbol

    def triple(self, expressions: Iterable[Expression]) -> Triple:
        """`put` for the components of a vector."""
        x, y, z = (self.put(expression) for expression in expressions)
        return x, y, z

    def _short(self, expression: Expression) -> Expression:
        """The expression with its inner parts named: a sum of products of atoms and squares."""
        if expression.is_Atom:
            return expression
        if expression.is_Add:
            return expression.func(*[self._term(each) for each in expression.args])
        return self._term(expression)

    def _term(self, expression: Expression) -> Expression:
        if expression.is_Atom:
            return expression
        if expression.is_Mul:
            return expression.func(*[self._factor(each) for each in expression.args])
        return self._factor(expression)

    def _factor(self, expression: Expression) -> Expression:
        if expression.is_Atom:
            return expression
        if expression.is_Pow and expression.exp == 2:
            return self.put(expression.base) ** 2
        if expression.is_Add or expression.is_Mul:
            return self.put(expression)
        whole = expression.func(*[self.put(each) for each in expression.args])
        symbol = self._symbol_of.get(whole)
        if symbol is None:
            symbol = sp.Symbol(f"{self._prefix}{len(self._value_of)}")
            self._symbol_of[whole] = symbol
            self._value_of[symbol] = whole
        return symbol

    def needed(self, results: Iterable[Expression]) -> list[Definition]:
        """The definitions that these results rest on, in order."""
        wanted: set[Expression] = set()
        for result in results:
            wanted |= result.free_symbols
        for symbol in reversed(self._value_of):
            if symbol in wanted:
                wanted |= self._value_of[symbol].free_symbols
        return [Definition(symbol, value) for symbol, value in self._value_of.items() if symbol in wanted]

    def operations(self, results: Iterable[Expression]) -> int:
        """Additions, multiplications and calls of functions that the results take with all their names."""
        listed = list(results)
        return sum(count(each.value) for each in self.needed(listed)) + sum(count(each) for each in listed)

    def expanded_operations(self, results: Iterable[Expression]) -> int:
        """Return the number of operations without any names, the size of the explicit form."""
        listed = list(results)
        size: dict[Expression, int] = {}
        for each in self.needed(listed):
            size[each.symbol] = _grown(each.value, size)
        return sum(_grown(each, size) for each in listed)

    def expanded(self, results: Sequence[Expression]) -> list[Expression]:
        """The results in terms of inputs alone."""
        known: dict[Expression, Expression] = {}
        for each in self.needed(results):
            known[each.symbol] = each.value.xreplace(known)
        return [result.xreplace(known) for result in results]

    def rates(self, results: Sequence[Expression], of: Mapping[Expression, Expression]) -> list[Expression]:
        """The derivatives of results along a motion of the inputs, Σ ∂result/∂input `of`[input], named."""
        rate: dict[Expression, Expression] = dict(of)
        for each in self.needed(results):
            rate[each.symbol] = self._rate(each.value, rate)
        return [self._rate(result, rate) for result in results]

    def _rate(self, expression: Expression, rate: Mapping[Expression, Expression]) -> Expression:
        total = ZERO
        for symbol in sorted(expression.free_symbols, key=str):
            own = rate.get(symbol, ZERO)
            if own != 0:
                total += expression.diff(symbol) * own
        return self.put(total)

    # vectors

    def add(self, a: Triple, b: Triple) -> Triple:
        """Sum of two vectors."""
        return self.triple(x + y for x, y in zip(a, b, strict=True))

    def subtract(self, a: Triple, b: Triple) -> Triple:
        """a - b."""
        return self.triple(x - y for x, y in zip(a, b, strict=True))

    def times(self, factor: Expression, a: Triple) -> Triple:
        """A vector times a number."""
        return self.triple(factor * x for x in a)

    def dot(self, a: Triple, b: Triple) -> Expression:
        """Scalar product."""
        return self.put(sum((x * y for x, y in zip(a, b, strict=True)), ZERO))

    def cross(self, a: Triple, b: Triple) -> Triple:
        """a × b."""
        return self.triple((a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]))

    def combine(self, x: Triple, y: Triple, z: Triple, a: Triple) -> Triple:
        """x a[0] + y a[1] + z a[2]: components in axes x, y, z to components in their own frame."""
        return self.triple(x[k] * a[0] + y[k] * a[1] + z[k] * a[2] for k in range(3))

    def components(self, x: Triple, y: Triple, z: Triple, a: Triple) -> Triple:
        """(x'a, y'a, z'a): the opposite way."""
        return self.dot(x, a), self.dot(y, a), self.dot(z, a)


def count(expression: Expression) -> int:
    """Additions, multiplications, divisions and function calls of one expression as it would be computed."""
    return _own(expression) + sum(count(each) for each in expression.args)


def _own(expression: Expression) -> int:
    """The operations of an expression's outermost part."""
    if expression.is_Atom:
        return 0
    if expression.is_Add:
        return len(expression.args) - 1
    if expression.is_Mul:
        return len(expression.args) - 1 - sum(each is sp.S.NegativeOne for each in expression.args)
    return 1


def _grown(expression: Expression, size: Mapping[Expression, int]) -> int:
    if expression.is_Atom:
        return size.get(expression, 0)
    return _own(expression) + sum(_grown(each, size) for each in expression.args)
