"""Faults of the simulated mechanism: other parameters, a payload, a constraint that acts no more.

The new parameters take over between two periods; then the state is brought back onto the constraints, as
they are now, by the shortest correction in the mass metric (`multibody.dynamics.projection`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

import numpy as np

from linkwork.multibody.assembly.switching import SwitchRefused, switch
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.projection import (
    TOLERANCE,
    correct_position,
    correct_velocity,
    position_residual,
)
from linkwork.multibody.mechanism import Mechanism
from linkwork.plant.faults.effects import CannotBegin, Site
from linkwork.plant.faults.mechanism_entries import Change, Open, OtherForce, Payload, Push, WeakSpring
from linkwork.plant.faults.simulated import Simulated

CLOSED: Final = 1e-9
"""What may be left open after a change, in typical lengths or rad."""
_CORRECTIONS: Final = 50


class _Changing(ABC):
    """An effect on a running simulation; `built`: the mechanism as it will be."""

    def __init__(self, entry: Any, site: Site, built: Mechanism | None) -> None:
        assert site.machinery.simulated is not None
        self.entry, self.site = entry, site
        self.simulated: Simulated = site.machinery.simulated
        if built is not None:
            before = site.machine.plant_mechanism
            if not before.model.alike(built.model):
                raise AssertionError("a setting of physics has changed the shape of the mechanism")
            self.places = np.flatnonzero(before.model.buffer != built.model.buffer)
            self.values = built.model.buffer[self.places]

    @abstractmethod
    def begin(self, tick: int) -> str:
        """Change the simulation. Raises CannotBegin."""

    def tick(self, tick: int) -> None:  # noqa: B027 - only some have more to do
        """Update the fault at a tick; by default without effect."""

    def end(self) -> str:
        """Undo the change."""
        return ""


class Changed(_Changing):
    """Other parameters: those that differ in the mechanism as it will be."""

    entry: Change | Payload | WeakSpring | OtherForce | Push

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """The parameters take over."""
        simulated = self.simulated
        kept = simulated.work.buffer.copy()
        simulated.change(self, self.places, self.values)
        moved = put_back(simulated)
        if moved is None:
            simulated.release(self)
            simulated.work.buffer[:] = kept
            raise CannotBegin(
                "the constraints cannot be closed with these values in this pose: nothing is changed"
            )
        simulated.simulator.sample_sensors()
        return f"the state was moved by {moved:.3g} to close the constraints" if moved > TOLERANCE else ""

    def end(self) -> str:
        """Restore the parameters."""
        self.simulated.release(self)
        left = put_back(self.simulated)
        self.simulated.simulator.sample_sensors()
        return "the constraints could not be closed again" if left is None else ""


class Opened(_Changing):
    """A constraint that does not act."""

    entry: Open

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """Release the constraint without any other change."""
        mechanism, work = self.site.machine.plant_mechanism, self.simulated.work
        if not work.on[mechanism.constraint_index(self.entry.of)]:
            raise CannotBegin(f"{self.entry.of} is open already")
        switch(mechanism, work, self.entry.of, False)
        return ""

    def end(self) -> str:
        """Close the constraint, if it is not too far open; the impulse stops its motion."""
        try:
            done = switch(self.site.machine.plant_mechanism, self.simulated.work, self.entry.of, True)
        except SwitchRefused as refused:
            return f"stays open: {refused}"
        self.simulated.simulator.sample_sensors()
        return f"closed again, energy loss {done.energy_loss_J:.3g} J"


def put_back(simulated: Simulated) -> float | None:
    """Bring the state onto the constraints of the parameters that now hold; how far q moved.

    None: it was not possible.
    """
    work = simulated.work
    if not len(work.phi):
        return 0.0
    q = work.q.copy()
    constraint_rows(*work.arguments)
    correct_position(*work.arguments, TOLERANCE, _CORRECTIONS)
    left = position_residual(*work.arguments)
    if not left <= CLOSED or not np.all(np.isfinite(work.q)):
        return None
    correct_velocity(*work.arguments)
    return float(np.max(np.abs(work.q - q)))


MECHANISM_EFFECTS: dict[str, type[_Changing]] = {
    Change.kind: Changed,
    Payload.kind: Changed,
    Open.kind: Opened,
    WeakSpring.kind: Changed,
    OtherForce.kind: Changed,
    Push.kind: Changed,
}
