"""Offline stepping methods: the steps of a formulation and an integrator, and their restrictions."""

import math
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody.assembly.closed_form_search import CLOSED_FORMS
from linkwork.multibody.dynamics import other_formulations as formulations
from linkwork.multibody.dynamics.partition import COUNT, LISTS, SWITCHES, UNDECIDED
from linkwork.multibody.formulations.projector import ASSEMBLIES
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ModelError
from linkwork.multibody.reactions.reactions import Reaction
from linkwork.multibody.steps.step import ADAPTIVE_RK4, METHODS, SEMI_IMPLICIT
from linkwork.multibody.steps.step import MINIMAL as MINIMAL_COORDINATES
from linkwork.multibody.workspace import Workspace, touches
from linkwork.offline.closed_form import ClosedFormMotion
from linkwork.offline.offline_steps import OfflineSteps, SingleSteps
from linkwork.offline.reference_run import AssembledSteps, ReferenceSteps
from linkwork.offline.run_kernels import POSITION, steps
from linkwork.offline.taylor import SingularStep, StepTooLong, TaylorStepper
from linkwork.offline.taylor.conversion import TreeConversion, maximal_model_of

OWN_STEPS: Final = ("minimal", "taylor")
FORMULATIONS: Final = (*formulations.FORMULATIONS, *ASSEMBLIES, *OWN_STEPS)
ADAPTIVE: Final = ("dop853", "lsoda")
MINIMAL: Final = tuple(name for name in METHODS if name != "gauss")
"""Integrators that make the steps of `minimal`."""
REFERENCE: Final = {"dop853": (1e-15, 1e-17), "lsoda": (3e-14, 1e-15)}
"""Tolerances of a step without others: relative, and absolute in rad, m, rad/s and m/s."""
LEAST_RELATIVE: Final = {"dop853": 1e-16, "lsoda": 100.0 * float(np.finfo(np.float64).eps)}
"""Least relative tolerances: round-off, and what LSODA accepts."""
Tolerances = tuple[float, float]
"""Relative and absolute tolerance of a step of an adaptive integrator."""
INTEGRATORS: Final = (*METHODS, *ADAPTIVE)


class KernelSteps(OfflineSteps):
    """Steps by one compiled call; minimal: in minimal coordinates."""

    def __init__(self, work: Workspace, minimal: bool = False) -> None:
        """Set what the steps integrate."""
        super().__init__(work)
        work.choice[MINIMAL_COORDINATES] = float(minimal)
        self._minimal = minimal

    def restart(self) -> None:
        """Choose the independent coordinates again."""
        self._work.partition[COUNT:LISTS] = UNDECIDED

    def __call__(self, method: int, dt: float, count: int, rows: Floats, figures: Floats) -> int:
        """Make the steps, see `OfflineSteps`."""
        return steps(*self._work.arguments, method, dt, count, rows, figures)

    @property
    def switches(self) -> int | None:
        """Number of changes of the independent coordinates."""
        return int(self._work.partition[SWITCHES]) if self._minimal else None


def integrator_of(machine: Machine, formulation: str, asked: str | None) -> str:
    """The integrator asked for, else the file's, or adaptive_rk4 where the formulation cannot use that.

    Raises ValueError where one is asked for and the formulation takes none.
    """
    if asked is not None and formulation == "taylor":
        raise ValueError(f"taylor has its own integrator: leave {asked} out, or use formulation projected")
    if asked is None and formulation in ASSEMBLIES:
        return "rk4"
    if asked is not None:
        return asked
    own = formulation in OWN_STEPS and machine.plant.integrator == "gauss"
    return "adaptive_rk4" if own else machine.plant.integrator


def tolerances_of(method: str, relative: float | None, absolute: float | None) -> Tolerances:
    """The tolerances asked for, else those of a reference. Raises ValueError where they cannot hold."""
    if method not in ADAPTIVE:
        if relative is not None or absolute is not None:
            raise ValueError(
                f"{method} has fixed steps and no tolerance: set a shorter step (dt), or use integrator "
                f"{' or '.join(ADAPTIVE)}"
            )
        return 0.0, 0.0
    usual, least = REFERENCE[method], LEAST_RELATIVE[method]
    found = usual[0] if relative is None else relative, usual[1] if absolute is None else absolute
    if not least <= found[0] < 1.0:
        raise ValueError(
            f"the relative tolerance of {method} must be between {least:.2g} and 1, not {found[0]}"
        )
    if not 0.0 < found[1] < math.inf:
        raise ValueError(f"the absolute tolerance must be positive and finite, not {found[1]}")
    return found


def steps_by(
    machine: Machine,
    work: Workspace,
    formulation: str,
    method: str,
    stabilisation: str,
    switched: bool,
    tolerances: Tolerances,
    reactions_at: float = 0.5,
    gamma: float | None = None,
) -> OfflineSteps:
    """The steps that these names ask for, from a workspace that holds the start.

    `switched`: whether constraints are switched on the way. `reactions_at`: the part of a step after which
    `taylor` takes its reactions. `gamma`: that of `scaled`. Raises ValueError where they do not go together,
    and for machines that `taylor` cannot take.
    """
    if formulation in OWN_STEPS and stabilisation == "baumgarte":
        raise ValueError(f"{formulation} has no Baumgarte stabilization: use projection (or none)")
    if formulation == "minimal" and method not in MINIMAL:
        raise ValueError(
            f"minimal cannot use {method}: use integrator {' or '.join(MINIMAL)}, or formulation projected"
        )
    if gamma is not None and formulation != "scaled":
        raise ValueError(f"gamma belongs to the formulation scaled, not to {formulation}")
    if gamma is not None and not (math.isfinite(gamma) and gamma > 0.0):
        raise ValueError(f"gamma must be positive and finite, not {gamma}")
    if formulation in ASSEMBLIES:
        return _assembled_steps(machine, work, formulation, method, gamma)
    if formulation == "taylor":
        return TaylorSteps(machine, work, reactions_at)
    if method in ADAPTIVE:
        return ReferenceSteps(work, method, *tolerances)
    if formulation == "minimal" and machine.closed_form and not switched and not touches(work):
        return ClosedFormSteps(machine.plant_mechanism, work, machine.closed_form)
    if method == "gauss" and touches(work):
        raise ValueError("gauss does not detect stops and contacts: use integrator adaptive_rk4")
    return KernelSteps(work, formulation == "minimal")


def _assembled_steps(
    machine: Machine, work: Workspace, formulation: str, method: str, gamma: float | None
) -> OfflineSteps:
    if method != "rk4":
        raise ValueError(
            f"{formulation} is stepped in plain numpy by rk4, not by {method}: leave the integrator out, or "
            "take formulation projected"
        )
    if not len(work.phi) or touches(work):
        raise ValueError(
            f"{formulation} is for machines with constraints, without stops or contacts: use "
            "formulation projected"
        )
    return AssembledSteps(machine.plant_mechanism, work, formulation, gamma)  # type: ignore[arg-type]  # one of ASSEMBLIES


class ClosedFormSteps(SingleSteps):
    """Steps by closed forms of the closures."""

    def __init__(self, mechanism: Mechanism, work: Workspace, name: str) -> None:
        """Find the closed forms of that name in the mechanism, and begin at the state of `work`."""
        super().__init__(work)
        self._motion = ClosedFormMotion(mechanism, CLOSED_FORMS[name](mechanism), work.q, work.v)

    def _advance(self, method: int, dt: float) -> bool:
        motion, work = self._motion, self._work
        motion.effort[:] = work.effort
        if method == SEMI_IMPLICIT:
            motion.semi_implicit_step(dt)
        elif method == ADAPTIVE_RK4:
            motion.divided_step(dt)
        else:
            motion.step(dt)
        work.q[:], work.v[:], work.clock[0] = motion.q, motion.v, work.clock[0] + dt
        return True

    @property
    def switches(self) -> int:
        """Number of changes of the independent coordinates."""
        return self._motion.switches


class TaylorSteps(SingleSteps):
    """Steps of a maximal model in place of a workspace's, whose q and v follow the bodies.

    `reactions`: of each step, for the state at its beginning, with places and directions taken after the part
    `reactions_at` of it.
    """

    reactions: list[tuple[Reaction, ...]]

    def __init__(self, machine: Machine, work: Workspace, reactions_at: float = 0.5) -> None:
        """Convert the plant's mechanism and place its bodies at the workspace's state.

        Raises ValueError, which names the part and the remedy, for elements that the stepper does not
        support.
        """
        super().__init__(work)
        mechanism = machine.plant_mechanism
        try:
            self._stepper = TaylorStepper(maximal_model_of(mechanism, work.q), reactions_at)
            self._stepper.stand_as(mechanism, work.q, work.v)
            self._coordinates = TreeConversion(mechanism, self._stepper, work.q)
            self._coordinates.push(work)
        except ModelError as error:
            text = f"taylor cannot simulate {machine.name}: {error}. Use formulation projected"
            raise ValueError(text) from None
        self.reactions = []

    def _advance(self, method: int, dt: float) -> bool:  # noqa: ARG002  the stepper has its own method
        work = self._work
        try:
            self._coordinates.push(work)
            self._stepper.step(dt)
        except (SingularStep, StepTooLong, ValueError) as error:
            self.stopped = str(error)
            return False
        self.reactions.append(self._stepper.reactions())
        work.q[:], work.v[:] = self._coordinates.read()
        work.clock[0] += dt
        return True

    def _record(self, dt: float, row: Floats, figures: Floats) -> bool:
        finite = super()._record(dt, row, figures)
        figures[POSITION] = max(figures[POSITION], float(np.abs(self._stepper.gap()).max(initial=0.0)))
        return finite

    def last_reactions(self, dt: float) -> tuple[Reaction, ...]:
        """Reactions where the bodies are now, as a step of dt would find them."""
        self._coordinates.push(self._work)
        self._stepper.evaluate(dt)
        return self._stepper.reactions()
