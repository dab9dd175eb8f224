"""The command that shows a machine's equations in symbols."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from station.cli.connected import AsJson
from station.cli.failures import Misuse
from station.cli.files import Config
from station.cli.output import console, emit, say

if TYPE_CHECKING:
    from machine import Machine
    from multibody.symbolic.model import SymbolicModel
    from station.symbolic_report import Result, Section


class Show(StrEnum):
    """Parts of the model."""

    JOINTS = "joints"
    KINEMATICS = "kinematics"
    INERTIA = "inertia"
    CORIOLIS = "coriolis"
    GRAVITY = "gravity"
    CLOSURES = "closures"
    POINCARE = "poincare"


class Form(StrEnum):
    """How it is written."""

    TEXT = "text"
    LATEX = "latex"


class Velocities(StrEnum):
    """What the equations are in."""

    MACHINE = "machine"
    COORDINATES = "coordinates"


def symbolic(
    config: Config,
    show: Annotated[
        list[Show] | None, typer.Option(help="What to derive; may be given several times.")
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="How to write it.")] = Form.TEXT,
    velocities: Annotated[
        Velocities,
        typer.Option(help="The machine's velocities (Poincaré), or rates of coordinates alone (Lagrange)."),
    ] = Velocities.MACHINE,
    however_long: Annotated[
        bool, typer.Option("--however-long", help="Show forms that are too long to mean anything, too.")
    ] = False,
    linearize: Annotated[
        str | None,
        typer.Option(
            metavar="POSE",
            help="A linear model at the equilibrium near a pose instead: initial, crank_deg=60,… or q=0.5,…",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The linear model as .npz or .json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The machine's equations in symbols: explicit, or with common subexpressions named."""
    from machine import load

    machine = load(config)
    needs_sympy()
    if linearize is not None:
        if show:
            raise Misuse("--linearize shows the linear model alone; leave --show out")
        _linear(machine, linearize, out, as_json=as_json)
        return
    if out is not None:
        raise Misuse("--out is for the linear model; say where with --linearize")
    from station.progress import goal_bar
    from station.symbolic_report import Report, TooLong

    wanted = show or [Show.JOINTS, Show.INERTIA, Show.GRAVITY]
    found: dict[str, Any] = {"machine": machine.name, "format": form.value, "sections": []}
    for each in wanted:
        with goal_bar(console, f"deriving {each.value}") as bar:
            report = Report(
                machine.name,
                machine.mechanism,
                coordinates=velocities is Velocities.COORDINATES,
                however_long=however_long,
                progress=bar,
            )
            try:
                section = report.section(each.value)
            except TooLong as error:
                raise Misuse(str(error)) from None
        content = _content(section, report.model, form)
        found["sections"].append({"show": each.value, **content})
        if not as_json:
            _say(content, form)
    if as_json:
        emit(found)


def _linear(machine: Machine, where: str, out: Path | None, *, as_json: bool) -> None:
    from station.linearization import as_map, linear_model, write

    try:
        model = linear_model(machine, where)
        if out is not None:
            write(machine, model, out)
    except OSError as error:
        raise Misuse(f"{out} cannot be written: {error.strerror}") from None
    except ValueError as error:
        raise Misuse(str(error)) from None
    content = as_map(machine, model)
    if as_json:
        emit(content)
        return
    say("equilibrium: " + ", ".join(f"{name} {value:.6g}" for name, value in content["q"].items()))
    say("effort: " + (", ".join(f"{name} {x:.6g}" for name, x in content["effort"].items()) or "no motors"))
    say(f"states: {', '.join(model.states)}")
    for name in ("A", "B"):
        for row in content[name]:
            say(f"{name}  " + "  ".join(f"{value:12.6g}" for value in row))
    say("eigenvalues (1/s): " + ", ".join(f"{x:.6g}" for x in model.eigenvalues))
    lost = ", ".join(f"{x:.6g}" for x in model.uncontrollable)
    say("controllable" if model.controllable else f"not controllable: no motor reaches {lost}")
    if out is not None:
        say(f"written: {out}")


def needs_sympy() -> None:
    """Raises Misuse with the remedy where SymPy is not there."""
    try:
        import multibody.symbolic  # noqa: F401
    except ImportError as error:
        raise Misuse(str(error)) from None


def _content(section: Section, model: SymbolicModel, form: Form) -> dict[str, Any]:
    results = [_written(result, model, form) for result in section.results]
    return {"title": section.title, "remarks": section.remarks, "results": results}


def _written(result: Result, model: SymbolicModel, form: Form) -> dict[str, Any]:
    from multibody.symbolic.writing import latex, latex_names, text

    if form is Form.LATEX:
        write: Callable[[Any], str] = partial(latex, names=latex_names(model))
    else:
        write = text
    return {
        "name": result.name,
        "unit": result.unit,
        "definitions": {str(each.symbol): write(each.value) for each in result.shown.definitions},
        "entries": {
            label: write(entry) for label, entry in zip(result.labels, result.shown.entries, strict=True)
        },
        "operations": result.shown.named_operations,
        "operations_written_out": result.shown.explicit_operations,
    }


def _say(content: dict[str, Any], form: Form) -> None:
    mark = "%" if form is Form.LATEX else "#"
    say(f"{mark} {content['title']}; entries that are not listed are zero")
    for remark in content["remarks"]:
        say(f"{mark} {remark}")
    for result in content["results"]:
        unit = f", {result['unit']}" if result["unit"] else ""
        say(
            f"\n{mark} {result['name']}{unit}: {result['operations']} operations with names, "
            f"{result['operations_written_out']} written out"
        )
        lines = [*result["definitions"].items(), *result["entries"].items()]
        if form is Form.TEXT:
            for name, value in lines:
                say(f"{name} = {value}")
        elif lines:
            rows = [rf"  {_latex_label(name)} &= {value}" for name, value in lines]
            say("\n".join([r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]))
    say("")


def _latex_label(label: str) -> str:
    """M[a, b] as M with an upright index; x12 as x with a number."""
    name, _, index = label.partition("[")
    if not index and name[1:].isdigit():
        return f"{name[0]}_{{{name[1:]}}}"
    plain = rf"\text{{{name}}}" if len(name) > 1 else name
    below = index.rstrip("]").replace("_", r"\_")
    return rf"{plain}_{{\text{{{below}}}}}" if below else plain.replace("_", r"\_")
