"""Constraints that are switched on and off during an offline simulation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linkwork.machine.nearest_name import nearest
from linkwork.multibody.assembly.switching import SwitchRefused, switch
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace
from linkwork.offline import run_kernels as kernels

Action = Literal["on", "off", "hold"]
_NO_TIME = 1e-300
"""Duration (s) of a step that is none, and yet not the 0 that begins the figures."""
ACTIONS: tuple[Action, ...] = ("on", "off", "hold")


@dataclass(frozen=True)
class Switch:
    """Switch a constraint at a time: "on", "off", or "hold": on, at the value that it has then.

    It happens at the end of the step that is nearest to the time.
    """

    constraint: str
    action: Action
    time_s: float


@dataclass(frozen=True)
class SwitchedAt:
    """A constraint switch: constraint, time (s), kinetic energy lost to the impulse (J) and its size.

    `impulse`: the norm of the impulses of the constraint's own rows, N s or N m s. `residual`: how far open
    the constraint was (typical lengths or rad).
    """

    time_s: float
    constraint: str
    on: bool
    energy_loss_J: float
    impulse: float
    residual: float


def parse_switch(text: str, aliases: Mapping[str, str]) -> Switch:
    """Read "grip=on@0.5", with the constraint's name or one of its `aliases`. Raises ValueError."""
    name, sign, rest = (part.strip() for part in text.partition("="))
    action, at, time_text = (part.strip() for part in rest.partition("@"))
    try:
        time_s = float(time_text)
    except ValueError:
        time_s = math.nan
    if not (name and sign and at and math.isfinite(time_s)) or action not in ACTIONS:
        raise ValueError(
            f"{text}: not a switch; write NAME=on@SECONDS, NAME=off@SECONDS or NAME=hold@SECONDS"
        )
    return Switch(aliases.get(name, name), action, time_s)


def schedule(
    mechanism: Mechanism, switches: Sequence[Switch], dt: float, steps: int
) -> dict[int, list[Switch]]:
    """Return the switches by the number of steps after which they happen, in time. Raises ValueError."""
    events: dict[int, list[Switch]] = {}
    names = mechanism.constraint_names
    for event in sorted(switches, key=lambda each: each.time_s):
        if event.constraint not in names:
            meant = nearest(event.constraint, names)
            raise ValueError(
                f"unknown constraint {event.constraint!r}; available: {', '.join(names) or 'none'}"
                + (f"; write {meant}" if meant else "")
            )
        if event.action not in ACTIONS:
            raise ValueError(f"{event.action!r} is not a way to switch; allowed: {', '.join(ACTIONS)}")
        if not (math.isfinite(event.time_s) and 0.0 <= event.time_s <= (steps + 0.5) * dt):
            raise ValueError(
                f"{event.constraint} is to be switched at {event.time_s:g} s, but the simulation lasts "
                f"from 0 to {steps * dt:g} s"
            )
        events.setdefault(min(steps, round(event.time_s / dt)), []).append(event)
    return events


def refuse_switches(switches: Sequence[Switch], formulation: str) -> None:
    """Raise ValueError for what cannot be asked for where constraints are switched."""
    if switches and formulation == "taylor":
        raise ValueError("taylor cannot switch constraints during a run: use formulation projected")


def perform(
    mechanism: Mechanism, work: Workspace, event: Switch, time_s: float, figures: NDArray[np.float64]
) -> SwitchedAt:
    """Switch a constraint in `work` at time_s; return what happened. Raises ValueError where it is refused.

    event: the constraint, and whether it is switched on. figures (a flat array): energies and errors of the
    run, which account for the loss.
    """
    q = work.q.copy()
    try:
        done = switch(mechanism, work, event.constraint, event.action != "off", hold=event.action == "hold")
    except SwitchRefused as error:
        raise ValueError(f"at {time_s:g} s {error}") from None
    pushed = float(work.effort @ (work.q - q)[: len(work.v)])
    figures[kernels.SWITCH_LOSS] += done.energy_loss_J - done.shift_J + pushed
    kernels.look(*work.arguments, _NO_TIME, figures)
    return SwitchedAt(
        time_s,
        done.constraint,
        done.on,
        done.energy_loss_J,
        float(np.linalg.norm(done.impulse)),
        done.residual,
    )
