"""A section of `linkwork symbolic` as plain data, and its lines as text or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from linkwork.convert.symbolic_report import ReportSection, Result, TooLong
from linkwork.multibody.symbolic.symbolic_model import SymbolicModel
from linkwork.multibody.symbolic.writing import latex, latex_names, text

Form = Literal["text", "latex"]
LATEX_NEEDS = r"% needs \usepackage{amsmath}; \allowdisplaybreaks lets long results continue on the next page"
_MARKS = {"text": "#", "latex": "%"}
_LETTERS = {"Φ": r"\Phi", "Γ": r"\Gamma", "Ȧv": r"\dot{A}v", "V'∂U/∂q": r"V^{\top}\partial U/\partial q"}
_LETTERS |= {f"ω{k}": rf"\omega_{k}" for k in (1, 2, 3)} | {"∂Φ/∂t": r"\partial\Phi/\partial t"}


def content(section: ReportSection, model: SymbolicModel, form: Form) -> dict[str, Any]:
    """The section as it is written with --json."""
    return {
        "title": section.title,
        "remarks": list(section.remarks),
        "results": [_written(result, model, form) for result in section.results],
        "too_long": [vars(each) for each in section.too_long],
    }


def too_long(name: str, machine: str, each: TooLong) -> str:
    """Message in place of a result that is too long."""
    return (
        f"{each.name} of {name} takes {each.operations} operations with common subexpressions named, and "
        f"{each.operations_written_out} written out: too long to read. `linkwork codegen {machine} "
        "--language c --out DIR` writes the recursion as C code instead; --however-long shows it anyway"
    )


def lines(found: dict[str, Any], form: Form, left_out: Sequence[str]) -> list[str]:
    """The lines of a section's content, as text or as LaTeX; entries that are `left_out` are listed at the
    end."""
    mark = _MARKS[form]
    made = [f"{mark} {found['title']}; entries that are not listed are zero"]
    made += [f"{mark} {remark}" for remark in found["remarks"]]
    for result in found["results"]:
        unit = f", {result['unit']}" if result["unit"] else ""
        made += ["", f"{mark} {result['name']}{unit}: {_size(result)}"]
        named = [*result["definitions"].items(), *result["entries"].items()]
        made += _align(named) if form == "latex" else [f"{name} = {value}" for name, value in named]
    for remark in left_out:
        made += ["", f"{mark} {remark}"]
    return [*made, ""]


def _size(result: dict[str, Any]) -> str:
    if not result["definitions"]:
        return f"{result['operations_shown']} operations"
    return f"{result['operations']} operations with names, {result['operations_written_out']} written out"


def _align(named: list[tuple[str, str]]) -> list[str]:
    if not named:
        return []
    rows = [rf"  {label(name)} &= {value}" for name, value in named]
    return [r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]


def _written(result: Result, model: SymbolicModel, form: Form) -> dict[str, Any]:
    names = latex_names(model)

    def write(expression: Any) -> str:
        if form == "text":
            return text(expression)
        return " \\\\\n  &\\quad ".join(latex(expression, names))

    made = result.shown
    return {
        "name": result.name,
        "unit": result.unit,
        "definitions": {str(each.symbol): write(each.value) for each in made.definitions},
        "entries": {label: write(entry) for label, entry in zip(result.labels, made.entries, strict=True)},
        "operations": made.named_operations,
        "operations_written_out": made.explicit_operations,
        "operations_shown": made.operations,
    }


def label(name: str) -> str:
    """M[a, b] as M with an upright index, X of a[…] with a above, x12 as x with a number; ASCII alone."""
    body, _, index = name.partition("[")
    if not index and body[1:].isdigit():
        return f"{body[0]}_{{{body[1:]}}}"
    letter, _, owner = body.partition(" of ")
    made = _symbol(letter) + (rf"^{{{_upright(owner)}}}" if owner else "")
    if index:
        made += "_{" + r",\,".join(_index(each) for each in index.rstrip("]").split(", ")) + "}"
    return made


def _symbol(letter: str) -> str:
    return _LETTERS.get(letter) or (letter if len(letter) == 1 else _upright(letter))


def _index(name: str) -> str:
    return _LETTERS.get(name) or _upright(name)


def _upright(name: str) -> str:
    plain = name.replace("_", r"\_")
    return rf"\text{{{plain}}}"
