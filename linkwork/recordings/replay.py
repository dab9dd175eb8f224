"""Replay of a recording into the present controller: tick by tick, up to the first difference.

The controller's tick is a pure function of its inputs so far: measured values, device time and status,
orders. The recording has all inputs and outputs.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import Order, StartGoal
from linkwork.controller.exchange.records import CHANNELS, SETTINGS, RecordLayout, field_name, layout_for
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.gateway.records.logged_orders import GoalWords
from linkwork.controller.loop.loop import tick_of
from linkwork.machine import Machine
from linkwork.recordings.recording import NoRecording, Recording

PLAIN: Final = (
    "time_s",
    "device_tick",
    "fresh",
    "connected",
    "lost_in_a_row",
    "lost_total",
    "loss_ratio",
    "device_status",
    "device_fault",
)
"""Channels that are the inputs of the same name, one number each; then those with one a sensor or motor."""
ARRAYS: Final = (
    "q_measured", "v_measured", "device_effort", "temperature", "force_measured", "input", "output",
)  # fmt: skip
MOTORS: Final = ("motor_status", "motor_fault", "motor_mode")
"""Channels of the rows of `Inputs.motors`."""
SWITCHES: Final = ("closed", "switched", "switch_figures")
"""Inputs that are made of the channels of switchable constraints."""


@dataclass(frozen=True)
class ReplayDifference:
    """Place of a difference: channel and name in it ("" for a single number)."""

    tick: int
    time_s: float
    field: str
    was: float
    now: float

    def __str__(self) -> str:
        """Return the difference as one line."""
        return (
            f"tick {self.tick} ({self.time_s:g} s): {self.field} was {self.was!r}, is {self.now!r} "
            f"(by {abs(self.now - self.was):.3g})"
        )


@dataclass(frozen=True)
class Replayed:
    """Result of a replay: ticks compared, the first difference, and the reason of an early end."""

    ticks: int
    difference: ReplayDifference | None
    ended: str


def replay(
    recording: Recording,
    machine: Machine,
    tolerance: float | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Replayed:
    """Feed a recording to the controller of a machine, up to the first difference.

    tolerance: largest difference of numbers (none: equal to the last bit); discrete values must be equal
    anyway. Raises NoRecording where the recording does not begin with the controller's first tick, lacks
    inputs of the controller, or is of a machine with other sensors and motors.
    """
    layout = layout_for(machine)
    table = recording.table
    compared = _check(recording, layout)
    alike = _alike(table.dtype, layout)
    streams, given = "set_point" in (table.dtype.names or ()), _Given(table)
    for done, row in enumerate(table):
        if int(row["tick"]) == 0:  # a loop begins: the first, or one that replaces a loop that ended
            first = done
            slots: dict[int, Floats] = {}
            tick = tick_of(machine, layout, _slot_words(slots))
            answer = tick.record.record()
            inputs = Inputs.for_machine(machine)
            outputs = Outputs.sized(len(machine.motors), len(machine.outputs))
            before, clock = 0.0, DeviceClock(machine)
        if int(row["tick"]) != done - first:
            missing = f"{done - first} to {int(row['tick']) - 1}"
            return Replayed(done, None, f"the records of ticks {missing} are missing")
        if done % 1000 == 0:
            progress(done, len(table))
        given.put(inputs, done, row)
        order, why = _order(recording, row)
        if why:
            return Replayed(done, None, f"tick {done}: {why}")
        goal = recording.goals.get(order.id) if order is not None else None
        if isinstance(order, StartGoal) and goal is not None:
            slots[order.slot] = goal.words
            order = replace(order, verified=_agrees(order, goal))
        inputs.order = order
        number = int(row["set_point"]) if streams else 0
        inputs.set_point = recording.set_points.get(number)
        if number and inputs.set_point is None:
            return Replayed(done, None, f"tick {done}: set-point {number} is not in the recording")
        inputs.clock_jump_s = clock.jump(inputs)
        dt = machine.period_s if inputs.clock_jump_s else inputs.time_s - before
        tick.step(inputs, outputs, dt)
        before = inputs.time_s
        tick.note(inputs, outputs)
        if alike and row.tobytes()[:alike] == answer.tobytes()[:alike]:
            continue
        found = _compare(row, answer, compared, tolerance)
        if found is not None:
            channel, index, was, now = found
            return Replayed(
                done, ReplayDifference(done, inputs.time_s, _named(layout, channel, index), was, now), ""
            )
    return Replayed(len(table), None, "" if recording.cut else recording.damage)


class DeviceClock:
    """Finds again where the device's time jumped, as the device link does (`Inputs.clock_jump_s`)."""

    def __init__(self, machine: Machine) -> None:
        self._period_s = machine.period_s
        self._largest_s = machine.controller.loss_limit * self._period_s
        self._device_tick, self._time_s = -1, 0.0

    def jump(self, inputs: Inputs) -> float:
        """Return by how much the time of this tick's state differs from the time expected (s); 0: it fits."""
        if not inputs.connected:
            self._device_tick = -1
        if not inputs.fresh:
            return 0.0
        passed, elapsed_s = inputs.device_tick - self._device_tick, inputs.time_s - self._time_s
        known = self._device_tick >= 0 and passed > 0
        self._device_tick, self._time_s = inputs.device_tick, inputs.time_s
        jump_s = elapsed_s - passed * self._period_s
        return jump_s if known and abs(jump_s) > self._largest_s else 0.0


def _check(recording: Recording, layout: RecordLayout) -> list[str]:
    """The channels to compare: what follows from the settings, not these themselves. Raises NoRecording."""
    table, dtype = recording.table, layout.dtype
    there = set(table.dtype.names or ())
    where = recording.paths[0]
    for name in (*PLAIN, "order_arrived"):
        if name not in there:
            raise NoRecording(
                f"{where} was made by a linkwork that did not record {name}: it cannot be replayed"
            )
    first = int(table["tick"][0])
    if first != 0:
        raise NoRecording(
            f"{where} begins with tick {first}, but what the controller does then depends on all that it was "
            "given before: take the run's first segment, or record from the start"
        )
    deterministic = [channel for channel in CHANNELS if not channel.wall_clock and channel.name in there]
    for channel in deterministic:
        names = layout.names[channel.per] if channel.per else ()
        recorded = recording.ticks.names.get(channel.name, ())
        if channel.per and tuple(map(field_name, names)) != tuple(map(field_name, recorded)):
            raise NoRecording(
                f"{where} is of another machine: its {channel.name} has {', '.join(recorded) or 'nothing'}, "
                f"that of the machine here {', '.join(names) or 'nothing'}"
            )
    recorded_here = [channel.name for channel in deterministic if dtype[channel.name].itemsize > 0]
    return [name for name in recorded_here if name not in SETTINGS]


def _alike(recorded: np.dtype[Any], layout: RecordLayout) -> int:
    """Number of bytes of a record that can be compared directly; 0 where the recorded layout differs."""
    size = layout.deterministic_bytes
    inside = {name: at for name, (_, at, *_) in (layout.dtype.fields or {}).items() if at < size}
    there = {name: at for name, (_, at, *_) in (recorded.fields or {}).items() if at < size}
    wide = {name: at for name, at in inside.items() if layout.dtype[name].itemsize > 0}
    return size if there == wide else 0


class _Given:
    """The inputs in a recording's rows."""

    def __init__(self, table: NDArray[Any]) -> None:
        wide = {name for name in table.dtype.names or () if table.dtype[name].itemsize}
        self._plain = table[list(PLAIN)]
        self._arrays = [name for name in ARRAYS if name in wide]
        self._motors, self._switches = MOTORS[0] in wide, "closed" in wide

    def put(self, inputs: Inputs, at: int, row: np.void) -> None:
        """Write the inputs of row `at`."""
        for name, value in zip(PLAIN, self._plain[at].item(), strict=True):
            setattr(inputs, name, value)
        inputs.fresh, inputs.connected = bool(inputs.fresh), bool(inputs.connected)
        for name in self._arrays:
            getattr(inputs, name)[:] = row[name]
        if self._motors:
            for into, name in zip(inputs.motors, MOTORS, strict=True):
                into[:] = row[name]
            inputs.motors_told = True
        if self._switches:
            _give_switch(inputs, row)


def _give_switch(inputs: Inputs, row: np.void) -> None:
    """The device's report of the switchable constraints that held, and of a switch."""
    inputs.closed = sum(1 << bit for bit, on in enumerate(row["closed"]) if on)
    inputs.switched, inputs.switch_figures = 0, (0.0, 0.0, 0.0)
    for bit in np.flatnonzero(row["switched"])[:1].tolist():
        inputs.switched = (bit + 1) * (1 if row["switched"][bit] > 0.0 else -1)
        energy, impulse, residual = (
            float(row[f"switch_{figure}"][bit]) for figure in ("energy_loss", "impulse", "residual")
        )
        inputs.switch_figures = (energy, impulse, residual)


def _order(recording: Recording, row: np.void) -> tuple[Order | None, str]:
    """Return the order that this tick received, or the reason why it is unknown."""
    number = int(row["order_arrived"])
    order = recording.orders.get(number)
    if number and order is None:
        return None, f"order {number} arrived, but the recording does not say what it asked for"
    if isinstance(order, StartGoal) and number not in recording.goals:
        return None, f"order {number} began goal {order.goal}, which is not in the recording"
    return order, ""


def _slot_words(slots: dict[int, Floats]) -> Callable[[int], Floats]:
    return lambda slot: slots.get(slot, np.zeros(1))


def _agrees(order: StartGoal, goal: GoalWords) -> bool:
    return len(goal.words) == order.words and zlib.crc32(goal.words.tobytes()) == order.checksum


def _compare(
    was: np.void, now: np.void, channels: list[str], tolerance: float | None
) -> tuple[str, int, float, float] | None:
    """The first channel that differs: its name, index in it, and both values."""
    for channel in channels:
        before, after = np.atleast_1d(was[channel]), np.atleast_1d(now[channel])
        if before.tobytes() == after.tobytes():
            continue
        same = before == after
        if before.dtype == np.float64:
            same |= np.isnan(before) & np.isnan(after)
            if tolerance is None:
                same = before.view(np.int64) == after.view(np.int64)
                same |= np.isnan(before) & np.isnan(after)
            else:
                same |= np.abs(before - after) <= tolerance
        if not same.all():
            index = int(np.argmin(same))
            return channel, index, before[index].item(), after[index].item()
    return None


def _named(layout: RecordLayout, channel: str, index: int) -> str:
    per: Any = next(each.per for each in CHANNELS if each.name == channel)
    return f"{channel}.{layout.names[per][index]}" if per else channel
