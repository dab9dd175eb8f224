"""Start of an offline simulation: the file's initial state, assembled or exactly as given."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Floats
from linkwork.machine import Machine, given_state_of
from linkwork.machine.nearest_name import with_remedy
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace
from linkwork.offline.efforts import MotorEfforts
from linkwork.plant.simulator.start_values import StartNotAssembled, put_together

STARTS: Final = ("assembled", "as-given")
_KEPT: Final = 1e-6
"""Relative difference of a given speed from the one that the constraints leave, above which it is refused."""


@dataclass(frozen=True)
class StartState:
    """Changes of the file's initial state.

    `positions` (rad or m) and `speeds` (rad/s or m/s) by joint. `how`: "assembled" brings the state onto the
    closures, keeping these first; "as-given" leaves every value as it is given, here or in the file, so that
    closures may be open at the start.
    """

    positions: Mapping[str, float] = field(default_factory=dict)
    speeds: Mapping[str, float] = field(default_factory=dict)
    how: str = "assembled"


def begin(
    machine: Machine,
    initial: Mapping[str, float] | StartState,
    effort: ArrayLike | Mapping[str, float | str] | None = None,
) -> Workspace:
    """Return the plant's state at the start in a new workspace, with the motors' efforts at time 0.

    initial: positions by joint (rad or m), or a `StartState`; effort (motors) or by motor, see
    `MotorEfforts`. Raises ValueError for names that do not exist, values that are not finite, and a start
    that the constraints do not allow.
    """
    start = initial if isinstance(initial, StartState) else StartState(initial)
    if start.how not in STARTS:
        raise ValueError(f"there is no start {start.how!r}; there are {', '.join(STARTS)}")
    mechanism = machine.plant_mechanism
    work = mechanism.workspace()
    as_given = start.how == "as-given"
    work.q[:], work.v[:] = given_state_of(machine) if as_given else (machine.initial_q, machine.initial_v)
    own = [name for name in mechanism.joint_names if name in mechanism.coordinate_names]
    _put("position", mechanism, own, start.positions, work.q)
    _put("speed", mechanism, mechanism.joint_names, start.speeds, work.v)
    if not as_given:
        put_together(machine, work, list(start.positions), list(start.speeds))
        _refuse_other_speeds(machine, work, start.speeds)
    MotorEfforts(machine, effort).apply(work, 0.0)
    return work


def refuse_start(machine: Machine, start: StartState, formulation: str) -> None:
    """Raise ValueError where a formulation cannot begin with open closures."""
    if (
        start.how == "as-given"
        and machine.plant_mechanism.constraints
        and formulation in ("minimal", "taylor")
    ):
        raise ValueError(
            f"{formulation} closes every constraint in its first step: for a start as-given use formulation "
            "projected, udwadia_kalaba or lagrange"
        )


def _put(
    what: str, mechanism: Mechanism, known: Sequence[str], values: Mapping[str, float], into: Floats
) -> None:
    for name, value in values.items():
        if name not in known:
            raise ValueError(
                with_remedy(f"unknown joint {name!r}; available: {', '.join(known)}", name, known)
            )
        if not math.isfinite(value):
            raise ValueError(f"the initial {what} of {name} must be finite, not {value}")
        into[mechanism.joint_index(name)] = value


def _refuse_other_speeds(machine: Machine, work: Workspace, speeds: Mapping[str, float]) -> None:
    """Raise ValueError where the constraints have not left a speed as it was given."""
    mechanism = machine.plant_mechanism
    size = max(1.0, float(np.abs(work.v).max()))
    for name, wanted in speeds.items():
        left = float(work.v[mechanism.joint_index(name)])
        if abs(left - wanted) > _KEPT * size:
            raise StartNotAssembled(
                f"{machine.name} cannot start with the speed {wanted:g} of {name}: the constraints and the "
                f"speeds before it give {left:g}. Give at most {machine.dof} (one per degree of "
                "freedom), of joints that can move here, or start as-given"
            )
