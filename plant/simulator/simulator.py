"""The simulated machine: state, latched command, one period of motion at a time. No clock, no socket."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine, MachineError
from linkwork.machine.checks.rank_gap import undetermined_cells
from linkwork.machine.motor_heat import thermal_model, warm
from linkwork.multibody.assembly.switching import SwitchRefused, switch
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.multibody.steps.step import MINIMAL
from linkwork.multibody.workspace import Model
from linkwork.plant.machinery import MachineryFailed
from linkwork.plant.scene.handling import Handling
from linkwork.plant.scene.loose_part import LoosePart
from linkwork.plant.simulator.plant_state import BRAKE, DAMP, ZERO, PlantState
from linkwork.plant.simulator.simulated_force_sensors import ForceSensing
from linkwork.plant.simulator.simulated_inputs import SimulatedInputs
from linkwork.plant.simulator.start_values import put_together
from linkwork.plant.simulator.stepping import advance, latch, measure
from linkwork.protocol.codes import DeviceStatus
from linkwork.protocol.link import Measurements

_READY: Final = int(DeviceStatus.ENABLED | DeviceStatus.HOMED)
ACTIONS: Final = {"brake": BRAKE, "damp": DAMP, "zero": ZERO}
STANDSTILL: Final = 1e-6
"""Largest speed (rad/s or m/s) at which a machine that cannot stick counts as at rest."""


class SimulationDiverged(MachineryFailed):
    """The integration left the finite numbers; the text says where and what to change in the machine file."""


class Simulator:
    """A machine that starts braked, in the file's initial state (`plant.machinery.Machinery`).

    Views into its memory, none of them to be written from outside: `q` (nq), `v` (nv, true state),
    `measured` (of the present state, see `linkwork.protocol.link.Measurements`), `joint_effort` (nv, the
    motors' effort at every joint in the last period), `travel` (nv, distance since the last fresh command).
    `state` has the plant's own numbers. `tick` counts periods; `mode` is the acting mode (stepping.py);
    `fastest` is the largest speed of a joint. `work` is the mechanism's workspace. `seed` decides the
    sensors' noise.
    """

    runs_by_itself = False
    sampled = True
    fault = 0
    homing: dict[str, Any] | None = None

    def __init__(self, machine: Machine, seed: int = 0) -> None:
        self.machine = machine
        self.joints = machine.plant_mechanism.joint_names
        self.tick = 0
        self.mode = BRAKE
        self.work = machine.plant_mechanism.workspace()
        self.work.choice[MINIMAL] = float(machine.plant.formulation == "minimal")
        self.state = PlantState(machine)
        self._arguments = (*self.work.arguments, self.state)
        self.q, self.v = self.work.q, self.work.v
        self.joint_effort = self.work.effort
        self._commanded, self.travel = self.state.commanded, self.state.travel
        self._drawn = self.state.drawn
        self._noise = np.random.default_rng(seed)
        self._noisy = any(sensor.noise or sensor.velocity_noise for sensor in machine.sensors)
        self._switches = Switches(machine)
        self._force_sensing = _force_sensing(machine, self._noise)
        self.measured = Measurements(
            q=self.state.measured_q,
            v=self.state.measured_v,
            effort=self.state.effort,
            force=self._force_sensing.measured if self._force_sensing else np.zeros(0),
            inputs=np.array([signal.initial for signal in machine.inputs]),
            outputs=np.array([signal.initial for signal in machine.outputs]),
        )
        self.heat = thermal_model(machine.motors)
        """Temperatures of the motors; None where the machine file has no thermal model of them."""
        self._thermometers: list[tuple[int, str]] = []
        if self.heat is not None:
            places = ((i, machine.motors[at].temperature_sensor) for i, at in enumerate(self.heat.motor))
            self._thermometers = [(i, part) for i, part in places if part is not None]
        if self._thermometers:
            self.measured.temperature = np.full(len(machine.motors), np.nan)
            self._measure_temperatures()
        self._base = self.work.model
        self._handling: Handling | None = None
        if machine.scene is not None:
            inputs, outputs = self.measured.inputs, self.measured.outputs
            self._handling = Handling(machine, self.work, inputs, outputs, seed)
        self._inputs: SimulatedInputs | None = None
        if any(signal.simulated for signal in machine.inputs):
            self._inputs = SimulatedInputs(
                machine, self.work, self.measured.inputs, self.measured.outputs, self._handling, seed
            )
        self.q[:] = machine.initial_q
        self.v[:] = machine.initial_v
        put_together(machine, self.work)
        self.fastest = float(np.max(np.abs(self.v)))
        self._look()

    def latch(self, mode: int, effort: Floats) -> None:
        """Act from now on in a mode (protocol.codes.Mode) with efforts (motors; N m or N), saturated here."""
        latch(self.state, mode, effort)
        self.mode = mode

    def refer(self, position: Floats, feedforward: Floats) -> None:
        """Ignore references (motors): the efforts of `latch` act, in which the law closes the loop."""

    def act(self, action: str) -> None:
        """The time-out's action, "brake", "damp" or "zero", acts from now on, without a command's effort."""
        self.measured.effort[:] = self._commanded[:] = 0.0
        self.mode = ACTIONS[action]

    def integrate(self, periods: int = 1) -> None:
        """Advance by whole periods with the latched command; sample the sensors. Raises
        SimulationDiverged."""
        for _ in range(periods):
            if self._noisy:
                self._noise.standard_normal(out=self._drawn)
            fastest = advance(*self._arguments, self.mode)
            self.tick += 1
            if fastest == math.inf:
                raise SimulationDiverged(self._diverged())
            self.fastest = fastest
            if self.heat is not None:
                warm(self.heat, self.state.effort, self.machine.plant.period_s)
                self._measure_temperatures()
            if self._handling is not None:
                self._handling.step(self.tick * self.machine.plant.period_s)
            if self._inputs is not None:
                self._inputs.sample(self.tick)
            if self._handling is not None:
                self._handle()
            if self._force_sensing is not None:
                self._force_sensing.sample(*self._arguments)

    def _measure_temperatures(self) -> None:
        heat, measured = self.heat, self.measured.temperature
        if heat is None or measured is None:
            return
        for i, part in self._thermometers:
            measured[heat.motor[i]] = heat.body[i] if part == "body" else heat.winding[i]

    def sense(self) -> Sequence[dict[str, Any]]:
        """Return the switches since the last call; the sensors were sampled when the period ended."""
        reported = self._switches.reported
        if not reported:
            return ()
        self._switches.reported = []
        return reported

    def close(self) -> None:
        """Do nothing: the simulator holds no resource."""

    def give(self, model: Model) -> None:
        """Continue with other parameters of the mechanism. Parts that grippers hold are added to them."""
        self._base = model
        self._continue_with(model if self._handling is None else self._handling.loaded(model))

    @property
    def base(self) -> Model:
        """The mechanism's model, without parts that are held."""
        return self._base

    @property
    def parts(self) -> Sequence[LoosePart]:
        """The loose parts."""
        return () if self._handling is None else self._handling.parts

    def _continue_with(self, model: Model) -> None:
        self.work.model = model
        self._arguments = (*self.work.arguments, self.state)

    def sample_sensors(self) -> None:
        """Sample the sensors again, after the state was changed from outside."""
        self.fastest = float(np.max(np.abs(self.v)))
        self._look()

    @property
    def closed(self) -> int:
        """Bit i is set while the i-th switchable constraint holds; -1 of a machine without any."""
        places = self._switches.places
        if not places:
            return -1
        return sum(1 << i for i, at in enumerate(places) if self.work.on[at])

    def switch(self, closed: int) -> list[dict[str, Any]]:
        """Switch constraints: first those that open, then those that close, by an impulse in the mass metric.

        A constraint that is open by too much stays open, and the report says why. The sensors see the state
        after the impulse.
        """
        changes = [
            (i, bool(closed >> i & 1))
            for i in range(len(self._switches.places))
            if (closed ^ self.closed) >> i & 1
        ]
        reports = [self._switch(i, on) for i, on in sorted(changes, key=lambda change: change[1])]
        if reports:
            self.sample_sensors()
        return reports

    def _switch(self, number: int, on: bool) -> dict[str, Any]:
        mechanism, name = self.machine.plant_mechanism, self.machine.switchable[number]
        try:
            done = switch(mechanism, self.work, name, on)
        except SwitchRefused as refused:
            return {"name": name, "on": not on, "refused": str(refused), "residual": refused.residual}
        return {
            "name": name,
            "on": on,
            "energy_loss_J": done.energy_loss_J,
            "impulse": [float(each) for each in done.impulse],
            "residual": done.residual,
        }

    def set_outputs(self, values: Floats) -> None:
        """Put the values (outputs) of output signals in force."""
        self.measured.outputs[:] = values
        if self._handling is not None:
            self._handle()
        if self._inputs is not None:
            self._inputs.sample(self.tick)
        if self._switches.followers:
            closed = self._switches.wanted(self.measured, self.closed)
            if closed != self.closed:
                self._switches.reported += self.switch(closed)

    def _handle(self) -> None:
        """Close and open grippers, by the signals of this tick."""
        assert self._handling is not None
        model = self._handling.act(self._base)
        if model is not None:
            self._continue_with(model)
            if self._handling.moved:
                self.sample_sensors()
        self._switches.reported += self._handling.reported
        self._handling.reported.clear()

    @property
    def status(self) -> int:
        """Status bits (protocol.codes.DeviceStatus)."""
        return _READY | (int(DeviceStatus.BRAKE) if self.mode == BRAKE else 0)

    @property
    def simulation(self) -> dict[str, str]:
        """Formulation and integrator, as in the machine file."""
        settings = self.machine.plant
        return {"formulation": settings.formulation, "integrator": settings.integrator}

    @property
    def resting(self) -> bool:
        """Whether the machine is braked and exactly at rest, so that time has no effect."""
        parts = self._handling is None or self._handling.resting
        return self.mode == BRAKE and self.fastest == 0.0 and parts

    @property
    def standing(self) -> bool:
        """Whether the machine is at rest, exactly or nearly (STANDSTILL)."""
        return self.fastest <= STANDSTILL

    def _look(self) -> None:
        if self._noisy:
            self._noise.standard_normal(out=self._drawn)
        measure(*self._arguments)
        if self._inputs is not None:
            self._inputs.sample(self.tick)
        if self._force_sensing is not None:
            self._force_sensing.sample(*self._arguments)

    def _diverged(self) -> str:
        mechanism = self.machine.plant_mechanism
        names, values = (*mechanism.position_names, *mechanism.joint_names), (*self.q, *self.v)
        state = zip(names, values, strict=True)
        wrong = list(dict.fromkeys(name for name, value in state if not math.isfinite(value)))
        return (
            f"the simulation of {self.machine.name} diverged at tick {self.tick}: the state of "
            f"{', '.join(wrong)} is no longer finite; lower plant.period_s, raise plant.substeps, or look "
            "for tiny inertias and for steep friction (coulomb over coulomb_speed) in the machine file"
        )


def _force_sensing(machine: Machine, noise: np.random.Generator) -> ForceSensing | None:
    if not machine.force_sensors:
        return None
    if wrong := list(undetermined_cells(machine)):
        raise MachineError(wrong)
    return ForceSensing(machine, noise)


@dataclass
class _Follower:
    """A switchable constraint, bit `bit`, and whether its condition on signals was met last."""

    bit: int
    condition: Condition
    met: bool


class Switches:
    """places: of the switchable constraints among all; followers: those that signals switch.

    reported: switches by signals and actions of grippers that have not been reported yet.
    """

    def __init__(self, machine: Machine) -> None:
        names = machine.plant_mechanism.constraint_names
        self.places = [names.index(name) for name in machine.switchable]
        digital = [signal.name for signal in machine.signals if signal.is_digital]
        self.followers = [
            _Follower(bit, parse_condition(text, digital), bool(machine.closed_at_start >> bit & 1))
            for bit, text in enumerate(machine.closed_when)
            if text
        ]
        self.reported: list[dict[str, Any]] = []
        self._names = [each.name for each in machine.inputs], [each.name for each in machine.outputs]

    def wanted(self, measured: Measurements, closed: int) -> int:
        """Return `closed` with the bits of the constraints whose conditions have changed."""
        inputs, outputs = self._names
        values = dict(zip(inputs, measured.inputs.tolist(), strict=True))
        values |= zip(outputs, measured.outputs.tolist(), strict=True)
        for follower in self.followers:
            met = follower.condition.met(values)
            if met != follower.met:
                follower.met = met
                closed = closed | 1 << follower.bit if met else closed & ~(1 << follower.bit)
        return closed


class RecordedSimulator(Simulator):
    """A simulator that writes its exact motion, period by period, without sensor errors, to a file.

    The file is one line of JSON, `{"machine": …, "period_s": …, "columns": [names]}`, and then 64-bit floats,
    little-endian, one for each column in each period: `tick` of the plant (whose states have the time tick ×
    period), positions `q.NAME` and velocities `v.NAME` at it, and the motors' `effort.NAME` at every joint
    during the period that follows. Of loose parts, `part.NAME.x`, `.y` and `.z` are the centre (m, world).
    Raises OSError when the file cannot be opened.
    """

    def __init__(self, machine: Machine, seed: int, path: Path) -> None:
        super().__init__(machine, seed)
        mechanism = machine.plant_mechanism
        columns = ["tick", *(f"q.{name}" for name in mechanism.position_names)]
        columns += [f"{kind}.{name}" for kind in ("v", "effort") for name in mechanism.joint_names]
        columns += [f"part.{part.part.name}.{axis}" for part in self.parts for axis in "xyz"]
        self._row = np.zeros(len(columns), "<f8")
        nq, nv = len(mechanism.position_names), len(mechanism.joint_names)
        self._of_q, self._of_v = self._row[1 : 1 + nq], self._row[1 + nq : 1 + nq + nv]
        self._of_effort = self._row[1 + nq + nv : 1 + nq + 2 * nv]
        self._of_parts = self._row[1 + nq + 2 * nv :].reshape(-1, 3)
        self._file = path.open("wb", buffering=0)
        head = {"machine": machine.name, "period_s": machine.plant.period_s, "columns": columns}
        self._file.write(json.dumps(head).encode() + b"\n")

    def integrate(self, periods: int = 1) -> None:
        """Advance as the simulator does, and keep each period as a row."""
        for _ in range(periods):
            self._row[0] = self.tick
            self._of_q[:], self._of_v[:] = self.q, self.v
            for row, part in zip(self._of_parts, self.parts, strict=True):
                row[:] = part.centre
            super().integrate()
            self._of_effort[:] = self.joint_effort
            self._file.write(self._row.data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
