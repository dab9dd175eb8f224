"""Commands on a machine's equations: shown in symbols, made linear, written as C or Python."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.connected import AsJson
from linkwork.cli.file_commands import Config
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import console, emit, say

if TYPE_CHECKING:
    from linkwork.machine import Machine
    from linkwork.multibody.symbolic.linear_model import LinearModel


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

        names = [name.strip() for name in (coordinates or "").split(",") if name.strip()]
        linear(machine, linearize, names, out, as_json=as_json)
        return
    for option, value in (("--out", out), ("--coordinates", coordinates)):
        if value is not None:
            raise Misuse(f"{option} is for the linear model; add --linearize")
    from linkwork.convert.symbolic_report import LATEX_NEEDS, SymbolicReport, content, lines, too_long
    from linkwork.terminal.output import goal_bar

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


_ROUND_OFF = 1e-12
"""Part of the largest number of its kind below which a number is printed as 0."""


def linear(
    machine: Machine, where: str, coordinates: Sequence[str], out: Path | None, *, as_json: bool
) -> None:
    """Derive, write and print the linear model."""
    from linkwork.convert.linearization import as_map, linear_model, write

    model = linear_model(machine, where, coordinates)
    try:
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
    for line in _lines(content, model):
        say(line)
    if out is not None:
        say(f"written: {out}")


def _lines(content: dict[str, Any], model: LinearModel) -> list[str]:
    made = [
        "equilibrium: " + _listed(content["q"]),
        "effort: " + (_listed(content["effort"]) or "no motors"),
        f"states: {', '.join(model.states)}",
    ]
    for name in ("A", "B"):
        largest = max((abs(value) for row in content[name] for value in row), default=0.0)
        for row in content[name]:
            made.append(f"{name}  " + "  ".join(f"{_tidy(value, largest):12.6g}" for value in row))
    made.append("eigenvalues (1/s): " + _complex(model, model.eigenvalues.tolist()))
    if model.controllable:
        return [*made, "controllable"]
    return [*made, f"not controllable: no motor reaches {_complex(model, model.uncontrollable.tolist())}"]


def _listed(named: dict[str, float]) -> str:
    largest = max((abs(value) for value in named.values()), default=0.0)
    return ", ".join(f"{name} {_tidy(value, max(largest, 1.0)):.6g}" for name, value in named.items())


def _complex(model: LinearModel, values: list[complex]) -> str:
    largest = float(abs(model.eigenvalues).max(initial=0.0))
    return ", ".join(_number(_tidy(x.real, largest), _tidy(x.imag, largest)) for x in values)


def _number(real: float, imaginary: float) -> str:
    if imaginary == 0.0:
        return f"{real:.6g}"
    return (f"{real:.6g}" if real else "") + f"{imaginary:{'+' if real else ''}.6g}j"


def _tidy(value: float, largest: float) -> float:
    return value if abs(value) > _ROUND_OFF * largest else 0.0


class LanguageChoice(StrEnum):
    """Languages of generated programs."""

    C = "c"
    PYTHON = "python"


def codegen(
    config: Config,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files; created if missing.")],
    language: Annotated[LanguageChoice, typer.Option(help="C99, or a Python module.")] = LanguageChoice.C,
    single: Annotated[bool, typer.Option("--float/--double", help="Precision of the C code.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write M, h, A, Ȧv, kinematics and the control law as a program without dependencies."""
    from linkwork.machine import load

    machine = load(config)
    needs_sympy()
    if single and language is LanguageChoice.PYTHON:
        raise Misuse("--float is for C; the Python module computes in doubles")
    from linkwork.convert.codegen import generate

    files = generate(machine, language.value, single=single)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{out} cannot be written: {error.strerror}") from None
    if as_json:
        emit({"machine": machine.name, "files": [str(out / name) for name in files]})
        return
    for name, text in files.items():
        say(f"{out / name}: {text.count(chr(10))} lines")
    if language is LanguageChoice.C:
        base = next(iter(files)).removesuffix(".h")
        say(f"test it: cd {out} && cc -O2 {base}.c {base}_test.c -lm -o {base}_test && ./{base}_test")
