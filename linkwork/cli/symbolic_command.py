"""The command that shows a machine's equations in symbols."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from linkwork.cli.connected import AsJson
from linkwork.cli.file_commands import Config
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import console, emit, say


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
    """Form of the output."""

    TEXT = "text"
    LATEX = "latex"


class Velocities(StrEnum):
    """Velocities of the equations."""

    MACHINE = "machine"
    COORDINATES = "coordinates"


def symbolic(
    config: Config,
    show: Annotated[list[Show] | None, typer.Option(help="Results to derive; repeatable.")] = None,
    form: Annotated[Form, typer.Option("--format", help="Output format.")] = Form.TEXT,
    velocities: Annotated[
        Velocities,
        typer.Option(help="The machine's velocities (Poincaré), or rates of coordinates alone (Lagrange)."),
    ] = Velocities.MACHINE,
    however_long: Annotated[
        bool, typer.Option("--however-long", help="Also show very long expressions.")
    ] = False,
    linearize: Annotated[
        str | None,
        typer.Option(
            metavar="POSE",
            help="A linear model at the equilibrium near a pose instead: initial, crank_deg=60,… or q=0.5,…",
        ),
    ] = None,
    coordinates: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="Independent coordinates of the linear model. Default: the file's goal coordinates.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The linear model as .npz or .json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the machine's equations in symbols: explicit, or with common subexpressions named."""
    from linkwork.machine import load

    machine = load(config)
    needs_sympy()
    if linearize is not None:
        if show:
            raise Misuse("--linearize shows only the linear model; leave --show out")
        from linkwork.cli.linear_command import linear

        names = [name.strip() for name in (coordinates or "").split(",") if name.strip()]
        linear(machine, linearize, names, out, as_json=as_json)
        return
    for option, value in (("--out", out), ("--coordinates", coordinates)):
        if value is not None:
            raise Misuse(f"{option} is for the linear model; add --linearize")
    from linkwork.convert.symbolic_report import SymbolicReport
    from linkwork.convert.symbolic_text import LATEX_NEEDS, content, lines, too_long
    from linkwork.terminal.progress import goal_bar

    report = SymbolicReport(
        machine.mechanism, coordinates=velocities is Velocities.COORDINATES, however_long=however_long
    )
    found: dict[str, Any] = {"machine": machine.name, "format": form.value, "sections": []}
    left_out: list[str] = []
    empty = True
    for each in show or [Show.JOINTS, Show.INERTIA, Show.GRAVITY]:
        with goal_bar(console, f"deriving {each.value}") as bar:
            section = report.section(each.value, bar)
        made = content(section, report.model, form.value)
        found["sections"].append({"show": each.value, **made})
        missing = [too_long(machine.name, config, result) for result in section.too_long]
        left_out += missing
        if missing and not section.results:
            continue
        if not as_json:
            if form is Form.LATEX and empty:
                say(LATEX_NEEDS)
            say("\n".join(lines(made, form.value, missing)))
        empty = False
    if empty:
        raise Misuse("\n".join(left_out))
    if as_json:
        emit(found)


def needs_sympy() -> None:
    """Raise Misuse with the remedy where SymPy is not installed."""
    try:
        import linkwork.multibody.symbolic  # noqa: F401
    except ImportError as error:
        raise Misuse(str(error)) from None
