"""Whether the names and units of a time line are those of the machine."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.machine import Machine, Sensor
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.loading import plant_mechanism_with
from linkwork.machine.problems import MachineError, Problem, shown
from linkwork.machine.sections.quantity import given_keys
from linkwork.machine.signal_values import SignalValueError
from linkwork.machine.yaml_document import Document
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import parse_condition
from linkwork.multibody.forces import AppliedForce, Spring
from linkwork.multibody.mechanism import Mechanism
from linkwork.plant.faults.actuator_faults import ActuatorEntry, Friction, Stick
from linkwork.plant.faults.entries import FaultEntry, condition_in
from linkwork.plant.faults.mechanism_entries import Change, Open, OtherForce, Payload, Push, WeakSpring
from linkwork.plant.faults.pushes import is_pushable, moving_bodies, pushable_mechanism, pushed
from linkwork.plant.faults.sensor_faults import Noise, SensorEntry, Swap
from linkwork.plant.faults.signal_faults import FlickeringSignal, SignalEntry, StuckSignal


class Naming:
    """Checks entries one by one and collects their problems."""

    def __init__(self, machine: Machine, document: Document, *, hardware: bool) -> None:
        self.machine, self._document, self._hardware = machine, document, hardware
        self.problems: list[Problem] = []
        self.built: dict[int, Mechanism] = {}
        """The mechanisms that entries ask for, by their places in the list."""
        self._sensors = {sensor.joint: sensor for sensor in machine.sensors}
        self._motors = {motor.joint: motor for motor in machine.motors}
        self._force_sensors = {sensor.name: sensor for sensor in machine.force_sensors}

    def note(
        self, index: int, key: str, message: str, found: str = "", allowed: str = "", remedy: str = ""
    ) -> None:
        """Something is wrong with a key of an entry."""
        self.problems.append(
            self._document.problem(
                ("faults", index, key), message, found=found, allowed=allowed, remedy=remedy
            )
        )

    def unknown(self, index: int, key: str, name: str, what: str, known: Sequence[str]) -> None:
        """A key of an entry names what there is not."""
        self.problems.append(unknown(self._document, ("faults", index, key), name, what, known))

    def check(self, index: int, entry: FaultEntry) -> None:
        """One entry."""
        if entry.when is not None:
            self._condition(index, entry.when)
        if isinstance(entry, SensorEntry):
            self._sensor(index, entry)
        elif isinstance(entry, ActuatorEntry):
            self._motor(index, entry)
        elif isinstance(entry, SignalEntry):
            self._signal(index, entry)
        elif isinstance(entry, Open):
            names = self.machine.plant_mechanism.constraint_names
            if entry.of not in names:
                self.unknown(index, "of", entry.of, "constraint", names)
        elif isinstance(entry, Payload):
            bodies = {body.name: body for body in self.machine.plant_mechanism.bodies}
            if entry.of in bodies:
                self._build(index, "mass_kg", entry.settings(bodies[entry.of]))
            else:
                self.unknown(index, "of", entry.of, "body", list(bodies))
        elif isinstance(entry, Change):
            self._build(index, "set", entry.set)
        elif isinstance(entry, WeakSpring):
            self._spring(index, entry)
        elif isinstance(entry, OtherForce):
            self._force(index, entry)
        elif isinstance(entry, Push):
            mechanism = self.machine.plant_mechanism
            moving = moving_bodies(mechanism)
            if entry.of in moving:
                self.built[index] = pushed(mechanism, entry)
            else:
                self.unknown(index, "of", entry.of, "moving body", moving)

    def _condition(self, index: int, text: str) -> None:
        known = names_of(self.machine)
        switches = [signal.name for signal in self.machine.signals if signal.is_digital]
        for name in condition_in(text).names:
            if name not in known:
                self.unknown(index, "when", name, "measured quantity", known)
                return
        try:
            parse_condition(text, switches)
        except ExpressionError as error:
            self.note(index, "when", error.message, error.found, error.allowed, error.remedy)

    def _signal(self, index: int, entry: SignalEntry) -> None:
        signals = {signal.name: signal for signal in self.machine.signals}
        signal = signals.get(entry.of)
        if signal is None:
            self.unknown(index, "of", entry.of, "signal", list(signals))
            return
        if isinstance(entry, FlickeringSignal) and not signal.is_digital:
            self.note(index, "of", "only a digital signal flickers", entry.of, remedy="use stuck or delay")
        if isinstance(entry, StuckSignal) and entry.value is not None:
            try:
                signal.read(entry.value)
            except SignalValueError as error:
                self.note(
                    index, "value", f"{entry.of} cannot have this value", shown(entry.value), error.allowed
                )

    def _sensor(self, index: int, entry: SensorEntry) -> None:
        is_force = entry.is_of_force(self._sensors)
        known = list(self._force_sensors if is_force else self._sensors)
        if entry.of not in known:
            names = [*self._sensors, *self._force_sensors] if entry.measures is None else known
            self.unknown(index, "of", entry.of, "sensor", names)
            return
        sensor = None if is_force else self._sensors[entry.of]
        if is_force and not entry.forces:
            self.note(index, "of", "a force sensor cannot have this fault", entry.of)
        if not is_force and entry.axis is not None:
            self.note(index, "axis", "only a force sensor has axes", entry.axis, remedy="remove axis")
        if sensor is not None:
            right = ("rad", "deg") if sensor.is_angle else ("m",)
        else:
            gauge = self._force_sensors[entry.of]
            right = (gauge.unit,)
            if entry.axis is not None and entry.axis not in gauge.components:
                self.unknown(index, "axis", entry.axis, "component", gauge.components)
        amount = type(entry).amount
        if amount is not None and (given := amount.given(entry)):
            allowed = [
                key for key, unit, _ in amount.spellings(None) if unit.text.removesuffix("/s") in right
            ]
            if given.key not in allowed:
                self.note(index, given.key, f"{entry.of} is not measured in this unit", given.key,
                          ", ".join(allowed), f"write {allowed[0]}")  # fmt: skip
        if isinstance(entry, Noise):
            self._velocity_noise(index, entry, sensor)
        if isinstance(entry, Swap):
            self._partner(index, entry, is_force=is_force)

    def _velocity_noise(self, index: int, entry: Noise, sensor: Sensor | None) -> None:
        given = Noise.velocity_noise.given(entry)
        if given is None:
            return
        if sensor is None or not sensor.velocity:
            remedy = f"remove {given.key}"
            self.note(index, given.key, f"{entry.of} does not measure velocity", given.key, remedy=remedy)
        elif given not in Noise.velocity_noise.spellings(sensor.is_angle):
            self.note(index, given.key, f"the velocity of {entry.of} has another unit", given.key)

    def _partner(self, index: int, entry: Swap, *, is_force: bool) -> None:
        if is_force:
            own = self._force_sensors[entry.of]
            kin = [
                name
                for name, sensor in self._force_sensors.items()
                if (sensor.unit, len(sensor.components)) == (own.unit, len(own.components))
            ]
        else:
            angle = self._sensors[entry.of].is_angle
            kin = [name for name, sensor in self._sensors.items() if sensor.is_angle is angle]
        if entry.other not in kin:
            self.unknown(
                index, "other", entry.other, f"sensor like {entry.of}", [n for n in kin if n != entry.of]
            )

    def _motor(self, index: int, entry: ActuatorEntry) -> None:
        motor = self._motors.get(entry.of)
        if motor is None:
            self.unknown(index, "of", entry.of, "motor", list(self._motors))
            return
        for key in given_keys(entry, not motor.is_angle):
            moves = "turns" if motor.is_angle else "slides"
            self.note(index, key, f"{entry.of} {moves}, so the unit does not apply", key)
        if isinstance(entry, Stick) and not (entry.friction or motor.brake_effort):
            (key,) = Stick.friction.keys(motor.is_angle)
            self.note(index, "of", f"{entry.of} has no brake", entry.of, remedy=f"give {key}")
        if self._hardware and isinstance(entry, Friction) and entry.of not in self._sensors:
            self.note(index, "of", f"the speed of {entry.of} is not measured", entry.of)

    def _spring(self, index: int, entry: WeakSpring) -> None:
        mechanism = self.machine.plant_mechanism
        springs = [each.name for each in mechanism.elements if isinstance(each, Spring)]
        if entry.of not in springs:
            self.unknown(index, "of", entry.of, "spring", springs)
            return
        self.built[index] = mechanism.changed(
            elements=[
                entry.changed(each) if isinstance(each, Spring) and each.name == entry.of else each
                for each in mechanism.elements
            ]
        )

    def _force(self, index: int, entry: OtherForce) -> None:
        elements = self.machine.plant_mechanism.elements
        forces = {each.name: each.value for each in elements if isinstance(each, AppliedForce)}
        if entry.of not in forces:
            self.unknown(index, "of", entry.of, "force", list(forces))
        elif isinstance(forces[entry.of], str):
            message = "the value of this force is an expression, which cannot change"
            self.note(
                index, "of", message, entry.of, "a force with a number", "add a force to the machine file"
            )
        else:
            self._build(index, "of", entry.settings)

    def _build(self, index: int, key: str, settings: Sequence[str]) -> None:
        """The mechanism as the entry wants it."""
        try:
            built = plant_mechanism_with(self.machine, settings)
            pushes = is_pushable(self.machine.plant_mechanism)
            self.built[index] = pushable_mechanism(built) if pushes else built
        except MachineError as error:
            for each in error.problems:
                found = each.found or ", ".join(settings)
                self.note(index, key, f"{each.key}: {each.message}", found, each.allowed, each.remedy)


def names_of(machine: Machine) -> list[str]:
    """Quantities that a condition may use."""
    names = ["time_s", "tick"]
    for sensor in machine.sensors:
        names += [f"{sensor.joint}.position", f"{sensor.joint}.velocity"]
    names += [f"{motor.joint}.effort" for motor in machine.motors]
    return [*names, *(signal.name for signal in machine.signals)]
