"""The command `symbolic`: a machine's equations in symbols, or made linear."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linkwork.cli.options.files import SymbolicOptions
from linkwork.convert.linearization import as_map, linear_model, write
from linkwork.convert.symbolic_report import LATEX_NEEDS, SymbolicReport, content, lines, too_long
from linkwork.machine import Machine, load
from linkwork.symbolic.linear_model import LinearModel
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import console, emit, goal_bar, say


def symbolic(options: SymbolicOptions) -> None:
    """Run `linkwork symbolic`."""
    machine = load(options.config)
    if options.linearize is not None:
        if options.show:
            raise Misuse("--linearize shows only the linear model; leave --show out")
        names = [name.strip() for name in (options.coordinates or "").split(",") if name.strip()]
        linear(machine, options.linearize, names, options.out, as_json=options.as_json)
        return
    for option, value in (("--out", options.out), ("--coordinates", options.coordinates)):
        if value is not None:
            raise Misuse(f"{option} is for the linear model; add --linearize")
    report = SymbolicReport(
        machine.mechanism,
        coordinates=options.velocities == "coordinates",
        however_long=options.however_long,
    )
    found: dict[str, Any] = {"machine": machine.name, "format": options.form, "sections": []}
    left_out: list[str] = []
    empty = True
    for each in options.show or ("joints", "inertia", "gravity"):
        with goal_bar(console, f"deriving {each}") as bar:
            section = report.section(each, bar)
        made = content(section, report.model, options.form)
        found["sections"].append({"show": each, **made})
        missing = [too_long(machine.name, options.config, result) for result in section.too_long]
        left_out += missing
        if missing and not section.results:
            continue
        if not options.as_json:
            if options.form == "latex" and empty:
                say(LATEX_NEEDS)
            say("\n".join(lines(made, options.form, missing)))
        empty = False
    if empty:
        raise Misuse("\n".join(left_out))
    if options.as_json:
        emit(found)


_ROUND_OFF = 1e-12
"""Part of the largest number of its kind below which a number is printed as 0."""


def linear(
    machine: Machine, where: str, coordinates: Sequence[str], out: Path | None, *, as_json: bool
) -> None:
    """Derive the linear model about the pose `where`, write it to `out`, and print it. Raises Misuse.

    coordinates: independent ones that are the states; () chooses them.
    """
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
