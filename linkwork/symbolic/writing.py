"""Results as people read them: explicit where that is short, else with named common subexpressions.

A result is written out in inputs alone where that takes few operations; it is then simplified. Longer ones
keep the names of common subexpressions, in their order of computation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.simplify.fu import TR10i

from linkwork.symbolic.operation_tape import Definition, Expression, count
from linkwork.symbolic.symbolic_model import SymbolicModel

EXPLICIT = 600
"""Operations up to which results are written without names, all together."""
SIMPLIFIED = 120
"""Operations up to which one entry is simplified."""
LINE = 160
"""Characters of LaTeX from which on a sum continues on the next line."""
INLINE = 12
"""Largest number of operations for inlining a subexpression that is used once."""


@dataclass(frozen=True)
class WrittenFormulas:
    """Definitions to read first, and the entries; operations with names, and without any."""

    definitions: list[Definition]
    entries: list[Expression]
    named_operations: int
    explicit_operations: int

    @property
    def operations(self) -> int:
        """Simplified copies of these definitions and entries."""
        return sum(count(each.value) for each in self.definitions) + sum(count(each) for each in self.entries)


def shown(
    model: SymbolicModel, entries: Sequence[Expression], progress: Callable[[float], None] = lambda _: None
) -> WrittenFormulas:
    """The entries of a result in the most readable form; `progress` receives the completed share."""
    tape = model.tape
    named, explicit = tape.operations(entries), tape.expanded_operations(entries)
    if explicit <= EXPLICIT:
        written = []
        for entry in tape.expanded(entries):
            written.append(simplified(entry))
            progress(len(written) / len(entries))
        return WrittenFormulas([], written, named, explicit)
    definitions, results = _fewer_names(tape.needed(entries), list(entries), model.q)
    return WrittenFormulas(definitions, results, named, explicit)


def simplified(expression: Expression) -> Expression:
    """A short expression with its angles put together, where that makes it shorter."""
    if expression.is_Atom or count(expression) > SIMPLIFIED:
        return expression
    forms = [expression, TR10i(expression), sp.expand(expression)]
    forms.append(sp.trigsimp(forms[2]))
    forms.append(sp.factor_terms(forms[3]))
    return min(forms, key=count)


def _fewer_names(
    definitions: list[Definition], results: list[Expression], inputs: Sequence[Expression]
) -> tuple[list[Definition], list[Expression]]:
    """Names used once, of something short, give way to it; the others are renumbered."""
    uses: dict[Expression, int] = {}
    for expression in [*(each.value for each in definitions), *results]:
        for symbol in expression.free_symbols:
            uses[symbol] = uses.get(symbol, 0) + 1
    known: dict[Expression, Expression] = {}
    kept: list[Definition] = []
    prefix = _free_prefix([str(name) for name in inputs])
    for each in definitions:
        value = each.value.xreplace(known)
        if uses[each.symbol] == 1 and count(value) <= INLINE:
            known[each.symbol] = value
            continue
        symbol = sp.Symbol(f"{prefix}{len(kept) + 1}")
        known[each.symbol] = symbol
        kept.append(Definition(symbol, value))
    return kept, [result.xreplace(known) for result in results]


def _free_prefix(names: Sequence[str]) -> str:
    """A letter that no coordinate's name begins with and a number follows."""
    taken = {name[0] for name in names if name[1:2].isdigit()}
    return next(letter for letter in "xyzabcde_" if letter not in taken)


def text(expression: Expression) -> str:
    """One line of plain text."""
    return str(sp.sstr(_decimals(expression), full_prec=False))


def latex(expression: Expression, names: Mapping[Expression, str]) -> list[str]:
    """LaTeX in one or more lines, with these texts for symbols; a long sum continues on the next line."""
    whole = _decimals(expression)
    terms = whole.as_ordered_terms() if whole.is_Add else [whole]
    lines = [""]
    for term in terms:
        written = str(sp.latex(term, symbol_names=dict(names)))
        if lines[-1] and len(lines[-1]) + len(written) > LINE:
            lines.append("")
        joined = written if written.startswith("-") or term is terms[0] else f"+ {written}"
        lines[-1] += f" {joined}" if lines[-1] else joined
    return lines


def latex_names(model: SymbolicModel) -> dict[Expression, str]:
    """LaTeX of coordinates and velocities: names upright, a dot on rates, ω for quasi-velocities."""
    names = {symbol: rf"\mathrm{{{_plain(str(symbol))}}}" for symbol in model.q}
    for name, symbol in zip(model.mechanism.joint_names, model.v, strict=True):
        own = rf"\mathrm{{{_plain(name)}}}"
        names[symbol] = rf"\dot{{{own}}}" if str(symbol) == f"{name}'" else rf"\omega_{{{own}}}"
    return names


def _plain(name: str) -> str:
    return name.replace("_", r"\_")


def _decimals(expression: Expression) -> Expression:
    """Fractions that machine files wrote as decimals, as decimals again."""
    fractions = [each for each in expression.atoms(sp.Rational) if each.q not in (1, 2)]
    return expression.xreplace({each: sp.Float(float(each)) for each in fractions})
