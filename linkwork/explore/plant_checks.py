"""The plant beside the records of the loop: estimates, constraints and signals, and the commands in force.

The plant is observed when it sends a state, which is the instant that the state describes.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.faults import FaultCode
from linkwork.explore.record_checks import ENABLED
from linkwork.explore.world import World
from linkwork.machine import Machine
from linkwork.plant.faults.device import FaultyDevice
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode
from linkwork.protocol.laws import MOTION_LAWS

KEPT: Final = 2048
"""States of the plant that are kept for the records that answer them."""
SOUND_TICKS: Final = 500
"""Ticks after a disturbance in which estimates and motion recover."""
MEASURED_SLACK: Final = 2e-3
"""Largest error of the position of a measured joint (rad or m), beside its sensor's uncertainty."""
SPEED_SLACK: Final = 0.05
"""Largest error of its velocity (rad/s or m/s), beside that of its sensor."""
AVERAGED, MEAN_SLACK = 32, 0.02
"""Least number of records over which estimates are, on average, as measured, and how nearly (rad or m)."""
CALM_SLACK: Final = 1.1
"""Largest share of a velocity limit that a joint reaches in motion while nothing disturbs it."""
DOUBTED: Final = (FaultCode.CLOSURE_RESIDUAL, FaultCode.SENSORS_DISAGREE, FaultCode.BRANCH_FLIP)
"""Faults that say that the estimate is not where the sensors are."""
_ROUND_OFF: Final = 1e-9


class PlantChecks:
    """Compares the records of a machine with its plant; `fail` is called with the rule and what was seen."""

    def __init__(
        self, machine: Machine, speed_uncertainty: NDArray[np.float64], fail: Callable[[str, str], None]
    ) -> None:
        self._fail, self._switches = fail, len(machine.switchable)
        self._limits = np.array([motor.max_effort for motor in machine.motors])
        sensors = machine.sensors
        model, plant = machine.mechanism, machine.plant_mechanism
        plain = model.nq == model.nv and plant.nq == plant.nv
        known = {name: at for at, name in enumerate(plant.joint_names)}
        self._joints = [sensor.index for sensor in sensors] if plain else []
        self._places = [known[sensor.joint] for sensor in sensors] if plain else []
        self._far = MEASURED_SLACK + 2.0 * np.array([sensor.uncertainty for sensor in sensors])
        self._calm_speed = CALM_SLACK * np.array([joint.velocity for joint in machine.joints])
        self._calm_speed[[sensor.index for sensor in sensors]] += 2.0 * speed_uncertainty
        self._fast = SPEED_SLACK + 2.0 * speed_uncertainty
        motors, signals = len(machine.motors), len(machine.inputs) + len(machine.outputs)
        self._inputs = len(machine.inputs)
        self._parts = np.cumsum([5, motors, len(self._places), len(self._places), signals])
        self._seen = np.full((KEPT, self._parts[-1]), np.nan)
        self._session, self._disturbed = -1, 0
        self._trip: tuple[int, int] | None = None
        """Tick and device of the last trip of the watchdog."""

    def observe(self, device: FaultyDevice, *, calm: bool) -> None:
        """Keep the state that a plant sends now. calm: all processes have run for a while."""
        owner, machinery = device.seat.owner, device.machinery
        if owner is None:
            return
        if owner.session != self._session:
            self._session = owner.session
            self._seen[:] = np.nan
        seq, inner = machinery.tick - owner.first_tick, machinery.inner
        assert isinstance(inner, Simulator), "sessions have a simulated plant"
        if device.faults.acting or not calm:
            self._disturbed = machinery.tick + SOUND_TICKS
        row, (head, efforts, q, v, _) = self._seen[seq % KEPT], self._parts
        linked = device.wire.idle and not machinery.driving
        row[:head] = seq, machinery.tick >= self._disturbed, linked, machinery.mode, machinery.closed
        row[head:efforts] = inner.state.commanded
        row[efforts:q], row[q:v] = inner.q[self._places], inner.v[self._places]
        row[v:] = *machinery.measured.inputs, *machinery.measured.outputs

    def check(self, whole: NDArray[Any]) -> None:
        """Check a batch of records; the first one is the last of the batch before."""
        seq = whole["device_tick"]
        seen = self._seen[seq % KEPT]
        known = (seen[:, 0] == seq) & (whole["fresh"] != 0) & (whole["connected"] != 0)
        if not known.any():
            return
        doubted = np.isin(whole["fault"], DOUBTED)
        doubted[1:] |= doubted[:-1].copy()  # cleared for a tick
        sound = known & (seen[:, 1] != 0.0) & ~doubted
        _, efforts, q, v, _ = self._parts
        if self._places:
            far = np.abs(whole["q"][:, self._joints] - seen[:, efforts:q]) > self._far
            fast = np.abs(whole["v"][:, self._joints] - seen[:, q:v]) > self._fast
            self._first(sound & far.any(axis=1), whole, "q", seen[:, efforts:q])
            moving = ENABLED[whole["state"]]
            self._first(sound & moving & fast.any(axis=1), whole, "v", seen[:, q:v])
        if self._switches:
            closed = (np.nan_to_num(seen[:, 4]).astype(int)[:, None] >> np.arange(self._switches)) & 1
            self._first(known & (closed != whole["closed"]).any(axis=1), whole, "closed", closed)
        if self._parts[-1] > v:
            inputs, outputs = np.split(seen[:, v:], [self._inputs], axis=1)
            self._first(sound & (inputs != whole["input"]).any(axis=1), whole, "input", inputs)
            self._first(sound & (outputs != whole["output"]).any(axis=1), whole, "output", outputs)
        sensed = (whole["fresh"] != 0) & (whole["connected"] != 0) & ~doubted
        if self._places and len(whole) >= AVERAGED and sensed.all():
            off = whole["q"][:, self._joints] - whole["q_measured"]
            wrong = np.abs(off.mean(axis=0)) > MEAN_SLACK + 2.0 * off.std(axis=0) + self._far
            self._first(np.full(1, wrong.any()), whole[-1:], "q", whole["q_measured"][-1:])
        self._check_commands(whole, seen, known)
        if ENABLED[whole["state"]].all() and np.isin(whole["law"], MOTION_LAWS).all():
            fast = (np.abs(whole["v"]) > self._calm_speed).any(axis=1)
            for row in np.flatnonzero(sound & fast)[:1]:
                text = f"v {whole['v'][row]} without a disturbance (tick {int(whole['tick'][row])})"
                self._fail("velocity", text)

    def _check_commands(
        self, whole: NDArray[Any], seen: NDArray[np.float64], known: NDArray[np.bool_]
    ) -> None:
        """Check that a command acts at the tick after the state that it answers."""
        head, efforts, *_ = self._parts
        next_one = (np.diff(whole["device_tick"]) == 1) & (np.diff(whole["tick"]) == 1)
        follows = next_one & known[1:] & known[:-1]
        follows &= (seen[1:, 2] != 0.0) & (seen[:-1, 2] != 0.0) & (whole["device_fault"][1:] == 0)
        mode, then = whole["mode"][:-1], seen[1:]
        self._first(follows & (then[:, 3] != mode), whole[:-1], "mode", then[:, 3])
        sent = np.clip(whole["effort"][:-1], -self._limits, self._limits)
        other = (np.abs(sent - then[:, head:efforts]) > _ROUND_OFF * (1.0 + np.abs(sent))).any(axis=1)
        self._first(follows & (mode == Mode.EFFORT) & other, whole[:-1], "effort", then[:, head:efforts])

    def _first(self, wrong: NDArray[np.bool_], table: NDArray[Any], name: str, plant: NDArray[Any]) -> None:
        for row in np.flatnonzero(wrong)[:1]:
            record = table[row]
            was = f"{record[name]} in the record of tick {int(record['tick'])}"
            self._fail("plant", f"{name} {was}, {plant[row]} in the plant")

    def check_watchdog(self, world: World) -> None:
        """Check that the watchdog trips after its periods, and that the plant brakes then."""
        device, now = world.device, world.simulation.now_ns
        if device is None or world.running("plant") is None:
            return
        trip, plant, period_s = device.watchdog.last_trip, world.machine.plant, world.machine.period_s
        allowed = plant.command_timeout_periods
        if trip is not None and (trip.tick, id(device)) != self._trip:
            self._trip = trip.tick, id(device)
            waited, grace = trip.tick - trip.last_fresh_tick, math.ceil(plant.peer_timeout_s / period_s)
            if waited not in (allowed, max(allowed, grace)):
                self._fail("watchdog", f"it tripped after {waited} periods, not {allowed}")
        if device.watchdog.tripped and device.machinery.mode == Mode.EFFORT:
            self._fail("watchdog", "it has tripped, and the plant follows the last effort")
        long_ns = round(1e9 * period_s * (allowed + 3))
        silent = world.running("loop") is None and now - world.disturbed_ns > long_ns
        if silent and device.machinery.mode == Mode.EFFORT:
            self._fail("watchdog", "the plant follows the last effort of a controller that is gone")
