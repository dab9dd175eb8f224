"""Numbers from symbols: results of a model as a Python function of q and v, carried out name by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.symbolic.code import python
from linkwork.multibody.symbolic.symbolic_model import NamedResult, SymbolicModel
from linkwork.multibody.symbolic.sympy_formulas import TIME

Numbers = Callable[..., tuple[Floats, ...]]


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
