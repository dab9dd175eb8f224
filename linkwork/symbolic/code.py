"""Expressions as source text of C or Python: only sums, products, quotients and functions of <math.h>.

`numeric` makes numbers from symbols: a Python function of q and v that is carried out name by name.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import sympy as sp

from linkwork.arrays import Floats
from linkwork.symbolic.operation_tape import Expression
from linkwork.symbolic.symbolic_model import NamedResult, SymbolicModel
from linkwork.symbolic.sympy_formulas import TIME

_FUNCTIONS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
    "atan2": "atan2", "exp": "exp", "log": "log", "tanh": "tanh", "floor": "floor", "Abs": "fabs",
}  # fmt: skip
Numbers = Callable[..., tuple[Floats, ...]]


@dataclass(frozen=True)
class CodeLanguage:
    """Notation of numbers and functions in a language. `names` are the texts of symbols."""

    call: str
    number: str = "{}"
    names: Mapping[Expression, str] = field(default_factory=dict)

    def function(self, name: str) -> str:
        """The name of a function of <math.h> in this language."""
        return self.call.format(name)

    def text(self, expression: Expression) -> str:
        """The source text of an expression. Raises TypeError for what no generated code has."""
        return _text(self, expression, 0)


def python(names: Mapping[Expression, str]) -> CodeLanguage:
    """Python with `import math`."""
    return CodeLanguage("math.{}", names=names)


def c(names: Mapping[Expression, str], *, single: bool = False) -> CodeLanguage:
    """C with <math.h>, in doubles or in floats."""
    return CodeLanguage("{}f" if single else "{}", "{}F" if single else "{}", names)


_SUM, _PRODUCT, _ATOM = 1, 2, 3


def _text(language: CodeLanguage, expression: Expression, inside: int) -> str:
    if expression.is_Symbol:
        name = language.names.get(expression)
        return str(expression) if name is None else name
    if expression.is_number:
        value = float(expression)
        text = language.number.format(repr(value))
        return f"({text})" if value < 0 and inside else text
    if expression.is_Add:
        return _bracket(_sum(language, expression), inside >= _PRODUCT)
    if expression.is_Mul:
        return _bracket(_product(language, expression), inside >= _ATOM)
    if expression.is_Pow:
        return _bracket(_power(language, expression), inside >= _PRODUCT)
    name = type(expression).__name__
    if name not in _FUNCTIONS:
        raise TypeError(f"no code for {expression}")
    called = language.function(_FUNCTIONS[name])
    if called == "math.fabs":
        called = "abs"
    return f"{called}({', '.join(_text(language, each, 0) for each in expression.args)})"


def _bracket(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def _sum(language: CodeLanguage, expression: Expression) -> str:
    # positive terms come first, so that the text seldom begins with a sign
    terms = sorted(expression.args, key=lambda each: (bool(each.could_extract_minus_sign()), str(each)))
    text = ""
    for term in terms:
        if term.could_extract_minus_sign():
            text += (
                f" - {_text(language, -term, _PRODUCT)}" if text else f"-{_text(language, -term, _PRODUCT)}"
            )
        else:
            text += f" + {_text(language, term, _SUM)}" if text else _text(language, term, _SUM)
    return text


def _product(language: CodeLanguage, expression: Expression) -> str:
    if expression.args[0] is sp.S.NegativeOne:
        return f"-{_text(language, -expression, _PRODUCT)}"
    above, below = [], []
    for factor in expression.args:
        if factor.is_Pow and factor.exp.is_number and factor.exp.is_negative:
            below.append(_text(language, 1 / factor, _ATOM))
        else:
            above.append(_text(language, factor, _ATOM if factor.is_Pow and factor.exp != 2 else _PRODUCT))
    top = "*".join(above) or language.number.format("1.0")
    return top + "".join(f"/{each}" for each in below)


def _power(language: CodeLanguage, expression: Expression) -> str:
    base, exponent = expression.args
    if exponent == 2 and base.is_Atom:
        text = _text(language, base, _ATOM)
        return f"{text}*{text}"
    if exponent == sp.Rational(1, 2):
        return f"{language.function('sqrt')}({_text(language, base, 0)})"
    if exponent.is_number and exponent.is_negative:
        return f"{language.number.format('1.0')}/{_text(language, 1 / expression, _ATOM)}"
    arguments = f"{_text(language, base, 0)}, {_text(language, exponent, 0)}"
    return f"{language.function('pow')}({arguments})"


def numeric(model: SymbolicModel, parts: Sequence[NamedResult]) -> Numbers:
    """A function (q, v, t=0) -> one array for each part, of its shape, in double precision."""
    language = python(input_names(model))
    results = [entry for part in parts for entry in part.entries]
    lines = [f"    {each.symbol} = {language.text(each.value)}" for each in model.tape.needed(results)]
    listed = ", ".join(language.text(each) for each in results)
    source = "\n".join(
        ["def evaluate(q, v, t):", *lines, f"    return ({listed},)" if listed else "    return ()"]
    )
    scope: dict[str, object] = {"math": math}
    exec(compile(source, "<symbolic model>", "exec"), scope)
    evaluate: Callable[[list[float], list[float], float], tuple[float, ...]] = scope["evaluate"]  # type: ignore[assignment]
    sizes = np.cumsum([0, *(len(part.entries) for part in parts)]).tolist()

    def function(q: npt.ArrayLike, v: npt.ArrayLike, t: float = 0.0) -> tuple[Floats, ...]:
        found = evaluate(np.asarray(q, float).tolist(), np.asarray(v, float).tolist(), t)
        return tuple(
            np.array(found[start:end], dtype=np.float64).reshape(part.shape)
            for part, start, end in zip(parts, sizes, sizes[1:], strict=False)
        )

    return function


def input_names(model: SymbolicModel) -> dict[object, str]:
    """Texts of the inputs in programs: q[0], v[0] and t."""
    names: dict[object, str] = {symbol: f"q[{k}]" for k, symbol in enumerate(model.q)}
    names |= {symbol: f"v[{k}]" for k, symbol in enumerate(model.v)}
    return names | {TIME: "t"}
