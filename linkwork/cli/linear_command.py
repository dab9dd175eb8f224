"""Output of `linkwork symbolic --linearize`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say

if TYPE_CHECKING:
    from linkwork.machine import Machine
    from linkwork.multibody.symbolic.linear_model import LinearModel

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
