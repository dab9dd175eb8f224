"""Faults of the simulated mechanism: other parameters, a payload, a constraint that acts no more.

The new parameters take over between two periods; then the state is brought back onto the constraints, as
they are now, by the shortest correction in the mass metric (`multibody.projection`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from machine.loading import plant_mechanism_with
from multibody.mechanism import Mechanism
from multibody.projection import TOLERANCE, correct_position, correct_velocity, position_residual
from multibody.rows import constraint_rows
from multibody.switching import SwitchRefused, switch
from plant.faults.effects import CannotBegin, Site
from plant.faults.mechanism_entries import Change, Open, Payload
from plant.faults.simulated import Simulated

CLOSED: Final = 1e-9
"""What may be left open after a change, in typical lengths or rad."""
_CORRECTIONS: Final = 50


class _Changing:
    """An effect on a running simulation."""

    def __init__(self, entry: Any, site: Site, random: np.random.Generator) -> None:  # noqa: ARG002
        assert site.machinery.simulated is not None
        self.entry, self.site = entry, site
        self.simulated: Simulated = site.machinery.simulated
        self.prepare()

    def prepare(self) -> None:
        """What can be made ready before the tick of the beginning."""

    def begin(self, tick: int) -> str:
        """Changes the simulation. Raises CannotBegin."""
        raise AssertionError(f"{type(self).__name__} changes nothing at {tick}")

    def tick(self, tick: int) -> None:
        """Nothing is left to do."""

    def end(self) -> str:
        """Takes the change back."""
        return ""


class Changed(_Changing):
    """Other parameters."""

    entry: Change

    def prepare(self) -> None:
        """Builds the mechanism as it will be, and keeps what differs."""
        self.places, self.values = differences(self.site, self.entry.set)

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """The parameters take over."""
        simulated = self.simulated
        kept = simulated.work.buffer.copy()
        simulated.change(self, self.places, self.values)
        moved = put_back(simulated)
        if moved is None:
            simulated.release(self)
            simulated.work.buffer[:] = kept
            raise CannotBegin("the constraints cannot be closed with these values, here: nothing is changed")
        simulated.simulator.look()
        return f"the state was moved by {moved:.3g} to close the constraints" if moved > TOLERANCE else ""

    def end(self) -> str:
        """The parameters are what they were."""
        self.simulated.release(self)
        left = put_back(self.simulated)
        self.simulated.simulator.look()
        return "the constraints could not be closed again" if left is None else ""


class Laden(Changed):
    """A point mass on a body: its mass, centre and inertia become those of both together."""

    entry: Payload  # type: ignore[assignment]

    def prepare(self) -> None:
        """The body as it will be, about its new centre of mass (parallel axes)."""
        entry, mechanism = self.entry, self.site.machine.plant_mechanism
        body = next(each for each in mechanism.bodies if each.name == entry.of)
        mass, at = entry.mass_kg, np.array(entry.at_m)
        total = body.mass_kg + mass
        com = (body.mass_kg * np.array(body.com_m) + mass * at) / total
        inertia = (
            np.array(body.inertia_kg_m2)
            + about(body.mass_kg, np.array(body.com_m) - com)
            + about(mass, at - com)
        )
        xx, yy, zz = np.diag(inertia)
        numbers = [xx, yy, zz, inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        names = [f"bodies.{entry.of}.inertia_kg_m2.{part}" for part in ("xx", "yy", "zz", "xy", "xz", "yz")]
        settings = [f"bodies.{entry.of}.mass_kg={total!r}", f"bodies.{entry.of}.com_m={com.tolist()!r}"]
        settings += [f"{name}={float(number)!r}" for name, number in zip(names, numbers, strict=True)]
        self.places, self.values = differences(self.site, settings)


class Opened(_Changing):
    """A constraint that does not act."""

    entry: Open

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """It lets go: nothing else changes at that moment."""
        mechanism, work = self.site.machine.plant_mechanism, self.simulated.work
        if not work.on[mechanism.constraint_index(self.entry.of)]:
            raise CannotBegin(f"{self.entry.of} is open already")
        switch(mechanism, work, self.entry.of, False)
        return ""

    def end(self) -> str:
        """It closes, where it is no farther open than it may be; the impulse of that stops its motion."""
        try:
            done = switch(self.site.machine.plant_mechanism, self.simulated.work, self.entry.of, True)
        except SwitchRefused as refused:
            return f"stays open: {refused}"
        self.simulated.simulator.look()
        return f"closed again, which took {done.energy_loss_J:.3g} J"


def about(mass: float, arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inertia (3 × 3, kg m²) of a point mass (kg) at the end of an arm (m)."""
    matrix: NDArray[np.float64] = mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return matrix


def differences(site: Site, settings: list[str]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Where the parameters of the plant's mechanism with these settings differ, and what is there then.

    Raises MachineError.
    """
    before, after = plant_mechanism_with(site.machine, ()), plant_mechanism_with(site.machine, settings)
    if not _same(before, after):
        raise AssertionError("a setting of physics has changed the shape of the mechanism")
    places = np.flatnonzero(before.parameters != after.parameters)
    return places, after.parameters[places]


def put_back(simulated: Simulated) -> float | None:
    """Brings the state onto the constraints of the parameters that now hold; how far q moved.

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


def _same(one: Mechanism, other: Mechanism) -> bool:
    return np.array_equal(one.topology, other.topology) and one.parameters.shape == other.parameters.shape


MECHANISM_EFFECTS: dict[str, type[_Changing]] = {
    Change.kind: Changed,
    Payload.kind: Laden,
    Open.kind: Opened,
}
