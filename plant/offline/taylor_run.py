"""The machine alone by the maximal-coordinate stepper of Huang et al. 2000, in the shape of other steps."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody.model import ModelError
from linkwork.multibody.reactions.reactions import Reaction
from linkwork.multibody.taylor import SingularStep, StepTooLong, TaylorStepper
from linkwork.multibody.taylor.conversion import TreeConversion, efforts_of, maximal_model_of
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.offline.run_kernels import POSITION, look


class TaylorSteps:
    """Steps of a maximal model in place of a workspace's, whose q and v follow the bodies.

    `stopped`: the reason why a step failed. `reactions`: of each step, for the state at its beginning, with
    places and directions taken after the part `reactions_at` of it.
    """

    switches: int | None = None

    def __init__(self, machine: Machine, work: Workspace, reactions_at: float = 0.5) -> None:
        """Convert the plant's mechanism and place its bodies at the workspace's state.

        Raises ValueError, which names the part and the remedy, for elements that the stepper does not
        support.
        """
        mechanism = machine.plant_mechanism
        try:
            self._stepper = TaylorStepper(maximal_model_of(mechanism, work.q), reactions_at)
            efforts_of(self._stepper.model, mechanism, work.effort)
        except ModelError as error:
            text = f"taylor cannot simulate {machine.name}: {error}. Use formulation projected"
            raise ValueError(text) from None
        self._stepper.stand_as(mechanism, work.q, work.v)
        self._coordinates = TreeConversion(mechanism, self._stepper, work.q)
        self._work, self._mechanism, self.stopped = work, mechanism, ""
        self.reactions: list[tuple[Reaction, ...]] = []

    def __call__(
        self,
        m: Model,
        w: Workspace,
        method: int,  # noqa: ARG002  the stepper has its own
        dt: float,
        count: int,
        rows: Floats,
        figures: Floats,
    ) -> int:
        """Advance by `count` steps of dt; return how many could be made."""
        work = self._work
        self._stepper.effort[:] = efforts_of(self._stepper.model, self._mechanism, work.effort)
        for step in range(count):
            try:
                self._stepper.step(dt)
            except (SingularStep, StepTooLong, ValueError) as error:
                self.stopped = str(error)
                return step
            self.reactions.append(self._stepper.reactions())
            work.q[:], work.v[:] = self._coordinates.read()
            work.clock[0] += dt
            rows[step] = np.concatenate([work.q, work.v])
            look(m, w, dt, figures)
            figures[POSITION] = max(figures[POSITION], float(np.abs(self._stepper.gap()).max(initial=0.0)))
        return count

    def last_reactions(self, dt: float) -> tuple[Reaction, ...]:
        """Reactions where the bodies are now, as a step of dt would find them."""
        self._stepper.evaluate(dt)
        return self._stepper.reactions()
