"""Ways to move the machine on offline: the steps of a formulation and an integrator, what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from machine import Machine
from multibody import formulations
from multibody.model import Integers
from multibody.workspace import Workspace, touches
from plant import offline_kernels as kernels
from plant.layout import METHODS

Floats = NDArray[np.float64]

OWN_STEPS: Final = ("minimal", "taylor")
FORMULATIONS: Final = (*formulations.FORMULATIONS, *OWN_STEPS)
ADAPTIVE: Final = ("dop853", "lsoda")
INTEGRATORS: Final = (*METHODS, *ADAPTIVE)


class Steps(Protocol):
    """What advances a workspace by `count` steps of dt, with the state after each in a row; returns how many.

    `method` is that of `plant.layout`, `figures` those of offline_kernels.py. `switches`: changes of
    independent coordinates, None where there are none to choose. `stopped`: why fewer steps were made, if
    that is known.
    """

    @property
    def switches(self) -> int | None:
        """Changes of independent coordinates so far."""

    @property
    def stopped(self) -> str:
        """Why fewer steps were made than asked for."""

    def __call__(
        self,
        p: Floats,
        t: Integers,
        w: Floats,
        method: int,
        dt: float,
        count: int,
        rows: Floats,
        figures: Floats,
    ) -> int:
        """Advance."""


class KernelSteps:
    """Steps by one compiled call."""

    switches: int | None = None
    stopped: str = ""

    def __init__(self, run: Callable[..., int]) -> None:
        """Take the kernel."""
        self._run = run

    def __call__(
        self,
        p: Floats,
        t: Integers,
        w: Floats,
        method: int,
        dt: float,
        count: int,
        rows: Floats,
        figures: Floats,
    ) -> int:
        """Advance by `count` steps of dt; returns how many came out finite."""
        return int(self._run(p, t, w, method, dt, count, rows, figures))


def integrator_of(machine: Machine, formulation: str) -> str:
    """The file's integrator, or adaptive_rk4 where the formulation's own steps cannot be made by it."""
    own = formulation in OWN_STEPS and machine.plant.integrator == "gauss"
    return "adaptive_rk4" if own else machine.plant.integrator


def steps_by(
    machine: Machine,
    work: Workspace,
    formulation: str,
    method: str,
    stabilisation: str,
    switched: bool,
    reactions_at: float = 0.5,
) -> Steps:
    """The steps that these names ask for, from a workspace that holds the start.

    `switched`: whether constraints are switched on the way. `reactions_at`: the part of a step after which
    `taylor` takes its reactions. Raises ValueError where they do not go together,
    and for machines that `taylor` cannot take.
    """
    own = formulation in OWN_STEPS
    if own and stabilisation == "baumgarte":
        raise ValueError(f"{formulation} has no stabilisation by Baumgarte: take projection (or none)")
    if own and method in (*ADAPTIVE, "gauss"):
        raise ValueError(
            f"{formulation} has steps of its own, so that {method} cannot make them: take integrator "
            f"{' or '.join(name for name in METHODS if name != 'gauss')}, or formulation projected"
        )
    if formulation == "taylor":
        from plant.offline_taylor import TaylorSteps

        return TaylorSteps(machine, work, reactions_at)
    if method in ADAPTIVE:
        from plant.offline_reference import AdaptiveSteps

        return AdaptiveSteps(work, method)
    if formulation == "minimal" and machine.closed_form and not switched and not touches(work):
        from plant.offline_closed_form import ClosedFormSteps

        return ClosedFormSteps(machine.plant_mechanism, work, machine.closed_form)
    if formulation == "minimal":
        from plant.offline_minimal import MinimalSteps

        return MinimalSteps(work)
    if method == "gauss":
        if touches(work):
            raise ValueError("gauss does not see stops and contacts touch: take integrator adaptive_rk4")
        from plant.offline_gauss import gauss_steps

        return KernelSteps(gauss_steps)
    constrained = len(work.phi) > 0
    if touches(work):
        from plant import compliant_kernels as compliant  # compiled for machines that touch something alone

        return KernelSteps(
            compliant.constrained_compliant_steps if constrained else compliant.free_compliant_steps
        )
    return KernelSteps(kernels.constrained_steps if constrained else kernels.free_steps)
