"""The simulator beside the machine: tick by tick, from where the machine is, under what acts on it.

Over a period T the model, begun in the estimated state and driven by what acts, arrives at v⁻ where the
machine is found to have v. With the mass matrix M there,

    f = M (v - v⁻) / T

is the generalized force that the model lacked. It is filtered as the observer of the generalized momentum
does (De Luca & Mattone 2005), of bandwidth ω:

    r := r + (1 - exp(-ω T)) (f - r)

so that a constant force F shows as F (1 - exp(-ω t)), and an error δ of one velocity as no more than ω M δ:
in the sum over the ticks the errors of the velocities in between cancel.

r lies in the space of all joints. Where closures tie joints together only its share along the admitted
motions Λ counts. From it follow the efforts along goal coordinates θ (θ˙ = J v), and the least efforts of the
motors (columns B, weights W: their largest efforts, squared) that would do the same:

    (J Λ)' r_θ = Λ' r,        Λ' B u = Λ' r,  u' W⁻¹ u least.

Its work is that of f over the way, with v₀ the velocity at the period's beginning, added over a window:

    E = Σ T f' (v₀ + v) / 2.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.machine import Machine
from linkwork.machine.payloads import Loads, SignalLoads, load_vector, with_own_model
from linkwork.machine.twin_differences import differences
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.linalg.orthogonal import least_squares
from linkwork.multibody.workspace import Model, Workspace
from linkwork.plant.simulator.simulator import SimulationDiverged, Simulator
from linkwork.plant.twin.torque_scale import TorqueScale
from linkwork.protocol.codes import Mode

LEAD = 2
"""Ticks in a row that the motors must have had the machine before a period is compared: the command of tick k
acts from k + 1 to k + 2.
"""
NOTHING = 1e-6
"""Share of the largest singular value below which a direction is omitted: θ is singular there."""


class Residual:
    """Unmodelled effort and energy of one machine. After `add` or `forget` all of them are current.

    `effort` (goal coordinates) and `motor_effort` (motors): r_θ and u, N m or N. `power` (W): of the period
    compared last; `energy` (J): of the window.
    """

    def __init__(self, machine: Machine) -> None:
        settings, self._period_s = machine.twin, machine.period_s
        self.gain = -math.expm1(-settings.bandwidth_rad_s * self._period_s)
        goals = [machine.coordinate_index(name) for name in machine.goal_coordinates]
        self._goals = np.array(goals, np.int64)
        self._motors = np.array([motor.index for motor in machine.motors], np.int64)
        self._most = np.array([motor.max_effort for motor in machine.motors])
        self._force = np.zeros(machine.mechanism.nv)
        wide = max(len(self._goals), len(self._motors))
        self._scratch = np.zeros(scratch_words(machine.mechanism.nv, wide))
        self._works = np.zeros(max(1, round(settings.window_s / self._period_s)))
        self._at = 0
        self.effort, self.motor_effort = np.zeros(len(self._goals)), np.zeros(len(self._motors))
        self.power = self.energy = 0.0

    def add(self, work: Workspace, before: Floats, predicted: Floats) -> None:
        """A period is over. `work`: evaluated at the state found; `before`, `predicted` (nv): v₀ and v⁻."""
        force = work.M @ (work.v - predicted)
        force /= self._period_s
        self.power = 0.5 * float(force @ (before + work.v))
        self._add_up(self.power * self._period_s)
        force -= self._force
        force *= self.gain
        self._force += force
        self._spread(work)

    def skip(self) -> None:
        """End a period without a comparison: the last values stay, and no work is added."""
        self.power = 0.0
        self._add_up(0.0)

    def forget(self) -> None:
        """Start without a model state."""
        self._force[:] = self.effort[:] = self.motor_effort[:] = self._works[:] = 0.0
        self.power = self.energy = 0.0

    def _add_up(self, work: float) -> None:
        self._works[self._at] = work
        self._at = (self._at + 1) % len(self._works)
        self.energy = float(self._works.sum())

    def _spread(self, work: Workspace) -> None:
        """From the force on all joints to goal coordinates and motors."""
        spread(
            *work.arguments, self._force, self._goals, self._motors, self._most, self._scratch,
            self.effort, self.motor_effort,
        )  # fmt: skip


def scratch_words(nv: int, wide: int) -> int:
    """Numbers of scratch that `spread` needs; wide: goal coordinates or motors, whichever are more."""
    return nv * wide + 4 * nv


@part
def _share(basis: Matrix, force: Floats, needed: Floats) -> None:
    """needed := Λ' r."""
    for j in range(basis.shape[0]):
        needed[j] = 0.0
        for c in range(basis.shape[1]):
            needed[j] += basis[j, c] * force[c]


@part
def _solve(rows: Matrix, needed: Floats, scratch: Floats, x: Floats) -> None:
    """x := rows⁺ needed; all but x are destroyed."""
    largest = 0.0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            largest = max(largest, abs(rows[i, j]))
    least_squares(rows, needed, NOTHING * largest, scratch, x)


@kernel
def spread(
    m: Model,
    w: Workspace,
    force: Floats,
    goals: Integers,
    motors: Integers,
    most: Floats,
    scratch: Floats,
    effort: Floats,
    motor_effort: Floats,
) -> None:
    """After `evaluate_motion`: efforts along goal coordinates and of motors that do what force (nv) does.

    most (motors): their largest efforts, by which the least are weighed. scratch: `scratch_words`.
    """
    nv = m.nv
    free = nv - int(w.ranking[RANK])
    basis = w.basis[:free]
    wide = max(len(goals), len(motors))
    needed, rest = block(scratch, nv * wide, 1, free)[0], block(scratch, nv * wide + nv, 1, 3 * nv)[0]
    rows = block(scratch, 0, free, len(goals))
    for j in range(free):
        for i in range(len(goals)):
            rows[j, i] = 0.0
            for c in range(nv):
                rows[j, i] += basis[j, c] * w.J[goals[i], c]
    _share(basis, force, needed)
    _solve(rows, needed, rest, effort)
    rows = block(scratch, 0, free, len(motors))
    for j in range(free):
        for i in range(len(motors)):
            rows[j, i] = basis[j, motors[i]] * most[i]
    _share(basis, force, needed)
    _solve(rows, needed, rest, motor_effort)
    for i in range(len(motors)):
        motor_effort[i] *= most[i]


def model_of(machine: Machine) -> tuple[Machine, Loads]:
    """A machine whose plant is the controller's model, with its payloads."""
    own = with_own_model(machine)
    signals = tuple(signal.with_values(simulated="") for signal in own.signals)
    model = replace(own, plant_mechanism=own.mechanism, scene=None, signals=signals)
    return model, Loads(machine.mechanism.model, own.mechanism.model)


class TwinComparison:
    """Comparison of one machine with its model. Rows are those of protocol.twin_messages."""

    def __init__(self, machine: Machine) -> None:
        model, self._loads = model_of(machine)
        self._by_signal = SignalLoads(machine, self._loads)
        self._simulator = Simulator(model)
        self._work = self._simulator.work
        self._residual = Residual(model)
        self._scale = TorqueScale(model, self._residual.gain)
        self.suspicions: list[tuple[int, int, float]] = []
        """Tick, motor and factor of its efforts, where `TorqueScale` found one; the caller empties it."""
        self._in_force = np.zeros(len(machine.motors))
        self._thresholds = np.array([each.threshold for each in differences(machine)])
        self._values = np.zeros(len(self._thresholds))
        nv = machine.mechanism.nv
        self._before, self._predicted = np.zeros(nv), np.zeros(nv)
        self._effort = np.zeros(len(machine.motors))
        self._reported = machine.driver.follows_positions
        """Whether a tick has the efforts that act from it on, not those of its command."""
        self._mode = int(Mode.BRAKE)
        self._row = 0
        self._device_tick = -1
        self._to_carry: list[np.void] = []
        constraints = list(machine.mechanism.constraint_names)
        self._switches = [constraints.index(name) for name in machine.switchable]
        self._closed = max(machine.closed_at_start, 0)

    def carry(self, load: np.void) -> None:
        """From a tick on the machine carries this (protocol.twin_messages.LOAD)."""
        self._to_carry.append(load.copy())

    def compare(self, asked: NDArray[Any], answered: NDArray[Any]) -> None:
        """Ticks as the gateway sends them (n,); the answers are written to the other rows (n,)."""
        for given, answer in zip(asked, answered, strict=True):
            compared = self._tick(given)
            self._answer(given, answer, compared=compared)

    def _tick(self, given: np.void) -> bool:
        """Compare the period that ends with this tick, then predict the next one."""
        if self._to_carry and self._to_carry[0]["from_tick"] <= given["tick"]:
            self._take_up(self._to_carry.pop(0))
        if self._by_signal and given["fresh"]:
            self._by_signal.follow(given["input"], given["output"])
        if given["closed"] != self._closed:
            self._switch(int(given["closed"]))
        follows = given["device_tick"] == self._device_tick + 1
        self._device_tick = int(given["device_tick"])
        compared = False
        if not given["driven"]:
            self._row = 0
            self._residual.forget()
            self._scale.begin()
        else:
            self._row = (self._row + 1 if follows else 1) if given["fresh"] else 0
            if self._reported:
                self._effort[:] = given["effort"]
            if self._row:
                compared = self._look(given)
            if not compared:
                self._residual.skip()
        self._mode = int(given["mode"])
        self._effort[:] = given["effort"]
        return compared

    def _look(self, given: np.void) -> bool:
        """Compares, if there is a prediction, and makes the next one."""
        simulator, work, residual = self._simulator, self._work, self._residual
        compared = self._row > LEAD
        work.q[:], work.v[:] = given["q"], given["v"]
        if compared:
            evaluate_motion(*work.arguments)
            residual.add(work, self._before, self._predicted)
            if given["judged"]:
                self._suspect(int(given["tick"]))
        if self._row >= LEAD:
            self._before[:] = work.v
            simulator.latch(self._mode, self._effort)
            self._in_force[:] = self._effort
            try:
                simulator.integrate()
            except SimulationDiverged:  # the estimate was none; begin again
                self._row = 0
                residual.forget()
            self._predicted[:] = work.v
        return compared

    def _suspect(self, tick: int) -> None:
        found = self._scale.add(self._work, self._before, self._in_force, self._residual.motor_effort)
        if found:
            self.suspicions.append((tick, *found))

    def _answer(self, given: np.void, answer: np.void, *, compared: bool) -> None:
        residual, values = self._residual, self._values
        for name in ("tick", "time_s", "judged", "stamp_ns"):
            answer[name] = given[name]
        answer["compared"] = compared
        answer["power"], answer["energy"] = residual.power, residual.energy
        answer["effort"], answer["motor_effort"] = residual.effort, residual.motor_effort
        motors = len(residual.motor_effort)
        values[:motors], values[motors:-1], values[-1] = (
            residual.motor_effort, residual.effort, residual.energy,
        )  # fmt: skip
        np.abs(values, out=values)
        values /= self._thresholds
        answer["worst"] = worst = int(values.argmax())
        answer["share"] = values[worst] if math.isfinite(values[worst]) else math.inf

    def _switch(self, closed: int) -> None:
        """Other constraints hold from this state on: begins again, without the period that ends with it."""
        self._closed, self._row = closed, 0
        for bit, place in enumerate(self._switches):
            self._work.on[place] = float(closed >> bit & 1)
        self._residual.forget()

    def _take_up(self, load: np.void) -> None:
        numbers = load["load"].tolist()
        self._loads.aim(int(load["point"]), load_vector(numbers[0], numbers[1:4], numbers[4:10]))
        self._loads.apply(1.0)
