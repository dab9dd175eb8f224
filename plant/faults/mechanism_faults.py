"""Faults of the simulated mechanism: other parameters, a payload, a push, a constraint that acts no more.

New parameters take over between two periods; then the state is brought back onto the constraints, as they
are now, by the shortest correction in the mass metric (`multibody.dynamics.projection`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from linkwork.machine import Machine
from linkwork.machine.loading import plant_mechanism_with
from linkwork.machine.problems import MachineError
from linkwork.machine.sections.fields import Number, Vector3, entry, one_of, wrong
from linkwork.multibody.assembly.switching import SwitchRefused, switch
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.projection import (
    TOLERANCE,
    correct_position,
    correct_velocity,
    position_residual,
)
from linkwork.multibody.forces import AppliedForce, Spring
from linkwork.plant.faults.fault import CannotBegin, Effect, FaultCheck, MachineName, Named, PlantFault, Site
from linkwork.plant.faults.faulty_machinery import Simulated
from linkwork.plant.faults.pushes import is_pushable, moving_bodies, pushable_mechanism, pushed

CLOSED: Final = 1e-9
"""What may be left open after a change, in typical lengths or rad."""
_CORRECTIONS: Final = 50


def _springs(machine: Machine) -> list[str]:
    return [each.name for each in machine.plant_mechanism.elements if isinstance(each, Spring)]


def _forces(machine: Machine) -> dict[str, float | str]:
    """Return the values of the applied forces, by name."""
    elements = machine.plant_mechanism.elements
    return {each.name: each.value for each in elements if isinstance(each, AppliedForce)}


BodyName = Annotated[
    Named, MachineName("body", lambda machine, _: [body.name for body in machine.plant_mechanism.bodies])
]
MovingBodyName = Annotated[
    Named, MachineName("moving body", lambda machine, _: moving_bodies(machine.plant_mechanism))
]
ConstraintName = Annotated[
    Named, MachineName("constraint", lambda machine, _: machine.plant_mechanism.constraint_names)
]
SpringName = Annotated[Named, MachineName("spring", lambda machine, _: _springs(machine))]
ForceName = Annotated[Named, MachineName("force", lambda machine, _: list(_forces(machine)))]


class MechanismFault(PlantFault):
    """A change of the simulated mechanism."""

    hardware: ClassVar[str] = "the plant is hardware: only a simulated mechanism can be changed"

    def effect(self, site: Site) -> Effect[Any]:
        """Return the change to the mechanism that the check has built."""
        return Changed(self, site)


class Change(MechanismFault):
    """Other masses, lengths, frictions: what --plant-set can set, while the machine moves."""

    mechanism: Literal["change"]
    set: Annotated[list[str], Field(min_length=1, max_length=100)] = entry(
        'Value to change: "rod.mass_kg=+20%"'
    )

    @property
    def about(self) -> str:
        """The parameters to set."""
        return ", ".join(self.set)[:120]

    def compare(self, check: FaultCheck) -> None:
        """Build the mechanism with these parameters."""
        _build(check, "set", self.set)


class Payload(MechanismFault):
    """A point mass is attached to a body."""

    mechanism: Literal["payload"]
    of: BodyName = entry("The body that carries it")
    mass_kg: Number = entry("Its mass", "kg", gt=0)
    at_m: Vector3 = entry("Position, in the body's frame", "m", default=[0.0, 0.0, 0.0])

    def compare(self, check: FaultCheck) -> None:
        """Build the mechanism with the mass: about the new centre, by parallel axes."""
        body = next(each for each in check.machine.plant_mechanism.bodies if each.name == self.of)
        at = np.array(self.at_m)
        total = body.mass_kg + self.mass_kg
        com = (body.mass_kg * np.array(body.com_m) + self.mass_kg * at) / total
        inertia = np.array(body.inertia_kg_m2)
        inertia += about(body.mass_kg, np.array(body.com_m) - com) + about(self.mass_kg, at - com)
        name = f"bodies.{self.of}"
        parts = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
        settings = [
            f"{name}.mass_kg={total!r}",
            f"{name}.com_m={com.tolist()!r}",
            *(f"{name}.inertia_kg_m2.{part}={float(inertia[at])!r}" for part, at in parts.items()),
        ]
        _build(check, "mass_kg", settings)


def about(mass: float, arm: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inertia (3 × 3, kg m²) of a point mass (kg) at the end of an arm (m)."""
    return mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))


class WeakSpring(MechanismFault):
    """A spring and its damper pull less; without a factor the spring is broken."""

    mechanism: Literal["spring"]
    of: SpringName = entry("The spring")
    factor: Number = entry("Factor of its whole pull; 0: it is broken", default=0.0, ge=0, le=1)

    @classmethod
    def missing(cls, machine: Machine) -> str:
        """Return that there is no spring."""
        return "" if _springs(machine) else "the machine has no spring"

    def compare(self, check: FaultCheck) -> None:
        """Build the mechanism with the factor in stiffness, damping, preload and progressive term."""
        keys = ("stiffness", "damping", "preload", "progressive")
        mechanism = check.machine.plant_mechanism
        elements = [
            replace(each, **{key: self.factor * getattr(each, key) for key in keys})
            if isinstance(each, Spring) and each.name == self.of
            else each
            for each in mechanism.elements
        ]
        check.built = mechanism.changed(elements=elements)


class OtherForce(MechanismFault):
    """An applied force of the machine file has another value."""

    mechanism: Literal["force"]
    of: ForceName = entry("The force, of the section `forces`, whose value is a number")
    force_N: Number | None = entry("The force", "N", None)
    torque_N_m: Number | None = entry("The torque", "N m", None)

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        one_of(self, "force_N", "torque_N_m", needed=True)
        return self

    @classmethod
    def missing(cls, machine: Machine) -> str:
        """Return that there is no force with a number."""
        numbers = [value for value in _forces(machine).values() if not isinstance(value, str)]
        return "" if numbers else "the machine has no force with a number as its value"

    def compare(self, check: FaultCheck) -> None:
        """Build the mechanism with the new value."""
        if isinstance(_forces(check.machine)[self.of], str):
            message = "the value of this force is an expression, which cannot change"
            remedy = "add a force to the machine file"
            check.note("of", message, self.of, "a force with a number", remedy)
            return
        key = "force_N" if self.force_N is not None else "torque_N_m"
        _build(check, "of", [f"forces.{self.of}.{key}={getattr(self, key)!r}"])


class Push(MechanismFault):
    """A force at a place of a body, a torque on it, or both."""

    mechanism: Literal["push"]
    of: MovingBodyName = entry("The body")
    force_N: Vector3 | None = entry("Force, in the world's axes", "N", None)
    torque_N_m: Vector3 | None = entry("Torque, in the world's axes", "N m", None)
    at_m: Vector3 = entry("Place of the force, in the body's frame", "m", default=[0.0, 0.0, 0.0])

    @model_validator(mode="after")
    def _loaded(self) -> Self:
        if self.force_N is None and self.torque_N_m is None:
            raise wrong("force_N or torque_N_m is missing", "nothing", remedy="add force_N: [0, 0, 10]")
        return self

    def compare(self, check: FaultCheck) -> None:
        """Build the mechanism with these loads."""
        nothing, mechanism = [0.0, 0.0, 0.0], check.machine.plant_mechanism
        loads = self.force_N or nothing, self.torque_N_m or nothing
        check.built = pushed(mechanism, self.of, *loads, self.at_m)


class Open(MechanismFault):
    """A closure or another constraint acts no more."""

    mechanism: Literal["open"]
    of: ConstraintName = entry("The constraint")

    @classmethod
    def missing(cls, machine: Machine) -> str:
        """Return that there is no constraint."""
        return "" if machine.plant_mechanism.constraints else "the machine has no constraint to open"

    def effect(self, site: Site) -> Effect[Any]:
        """Return the constraint that does not act."""
        return Opened(self, site)


MECHANISM = (Change, Payload, Open, WeakSpring, OtherForce, Push)


def _build(check: FaultCheck, key: str, settings: Sequence[str]) -> None:
    """Build the mechanism with settings as those of --plant-set, which a key of the fault asks for."""
    machine = check.machine
    try:
        built = plant_mechanism_with(machine, settings)
    except MachineError as error:
        for each in error.problems:
            found = each.found or ", ".join(settings)
            check.note(key, f"{each.key}: {each.message}", found, each.allowed, each.remedy)
        return
    check.built = pushable_mechanism(built) if is_pushable(machine.plant_mechanism) else built


class SimulationEffect(Effect[MechanismFault]):
    """A change of a running simulation."""

    def __init__(self, fault: MechanismFault, site: Site) -> None:
        super().__init__(fault, site)
        assert site.machinery.simulated is not None
        self.simulated = site.machinery.simulated


class Changed(SimulationEffect):
    """Other parameters: those in which the mechanism that the check has built differs."""

    def __init__(self, fault: MechanismFault, site: Site) -> None:
        super().__init__(fault, site)
        assert site.built is not None
        before, after = site.machine.plant_mechanism.model, site.built.model
        if not before.alike(after):
            raise AssertionError("a setting of physics has changed the shape of the mechanism")
        self._places = np.flatnonzero(before.buffer != after.buffer)
        self._values = after.buffer[self._places]

    def begin(self, tick: int) -> str:
        """The parameters take over."""
        simulated = self.simulated
        kept = simulated.work.buffer.copy()
        simulated.change(self, self._places, self._values)
        moved = put_back(simulated)
        if moved is None:
            simulated.release(self)
            simulated.work.buffer[:] = kept
            raise CannotBegin(
                "the constraints cannot be closed with these values in this pose: nothing is changed"
            )
        simulated.simulator.sample_sensors()
        moves = f"the state was moved by {moved:.3g} to close the constraints"
        return super().begin(tick) or (moves if moved > TOLERANCE else "")

    def end(self) -> str:
        """Restore the parameters."""
        self.simulated.release(self)
        left = put_back(self.simulated)
        self.simulated.simulator.sample_sensors()
        return "the constraints could not be closed again" if left is None else ""


class Opened(SimulationEffect):
    """A constraint that does not act."""

    def begin(self, tick: int) -> str:
        """Release the constraint without any other change."""
        mechanism, work, name = self.site.machine.plant_mechanism, self.simulated.work, self.fault.about
        if not work.on[mechanism.constraint_index(name)]:
            raise CannotBegin(f"{name} is open already")
        switch(mechanism, work, name, False)
        return super().begin(tick)

    def end(self) -> str:
        """Close the constraint, if it is not too far open; the impulse stops its motion."""
        mechanism, work = self.site.machine.plant_mechanism, self.simulated.work
        try:
            done = switch(mechanism, work, self.fault.about, True)
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
