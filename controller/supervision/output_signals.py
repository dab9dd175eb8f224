"""Output signals: set by orders, by goals on their path, by reactions to a fault, a lost link, a disable."""

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_action_part import NEAREST_PERIODS, ActionPart
from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.exchange.orders import OrderOutcome, SetOutputs
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.motion.references.path_rate import PathRate
from linkwork.controller.motion.references.reference import Follow
from linkwork.machine import Machine

SETTLES_TICKS = 2
"""Ticks from an order to the record that shows its effect: lockstep time runs on for these."""
NO_STATE = 2**62


_SAME_S = 1e-9
"""Rounding of times, by which an event may come half a period early rather than late."""


class OutputEvents:
    """The events of one output, from the first that has not been reached: its place, lead and value.

    rows (n, 4): see `goal_action_part`, in the order of places; done: how many have been reached.
    """

    def __init__(self, rows: Floats, done: int) -> None:
        self.output, self.done, self._rows = int(rows[0, 2]), done, rows
        self._fetch()

    def _fetch(self) -> None:
        self.s, self.lead_s, self.value = np.inf, 0.0, 0.0
        if self.done < len(self._rows):
            self.s, self.lead_s, _, self.value = self._rows[self.done].tolist()

    def reach(self) -> None:
        """The first has been reached."""
        self.done += 1
        self._fetch()


class SpeedOutput:
    """One output that follows the speed of a point. Numbers: see `goal_action_part`; speeds (m, m/s)."""

    def __init__(self, row: Floats, speeds: Floats, duration_s: float, low: float, high: float) -> None:
        self.output = int(row[0])
        self._slope, self._offset = float(row[1]), float(row[2])
        self._low, self._high = max(float(row[3]), low), min(float(row[4]), high)
        self.lead_s = float(row[5])
        self._speeds, self._last = speeds, len(speeds) - 1
        self._duration_s, self._per_s = duration_s, (len(speeds) - 1) / duration_s

    def value(self, s: float, rate: float) -> float:
        """The output at a path parameter and its rate."""
        speed = 0.0
        if 0.0 <= s <= self._duration_s:
            place = s * self._per_s
            left = min(int(place), self._last - 1)
            before, after = float(self._speeds[left]), float(self._speeds[left + 1])
            speed = rate * (before + (after - before) * (place - left))
        return min(max(self._offset + self._slope * speed, self._low), self._high)

    @property
    def at_rest(self) -> float:
        """The output while the point stands still."""
        return min(max(self._offset, self._low), self._high)


class PathOutputs:
    """The outputs that goals set on their path: events at places, and followers of the speed of a point.

    The outputs of tick k are in force from the plant's sample k + 1 on. An event is set in the tick whose
    sample is then the one nearest to its place: as soon as the path parameter, foreseen by the present course
    of its rate, reaches the place within one and a half periods and the lead. Each event is set once.

    `value` (n) are those of the machine, written in place.

    `set_by_events` (n): events of the last goal that have set each output. `followed` (n): 1 where an output
    follows the goal under way.
    """

    def __init__(self, machine: Machine, value: Floats) -> None:
        self._value = value
        self._ahead_s = NEAREST_PERIODS * machine.period_s
        self._ranges = [(signal.low, signal.high) for signal in machine.outputs]
        self.set_by_events, self.followed = np.zeros((2, len(value)))
        self._goal: Follow | None = None
        self._block: GoalBlock | None = None
        self._events: list[OutputEvents] = []
        self._followers: list[SpeedOutput] = []

    def act(self, goal: Follow | None) -> bool:
        """Set the outputs of this tick by the goal under way, if any; return whether one changed."""
        changed = False
        if goal is not self._goal:
            changed = self._change(goal)
        if goal is None:
            return changed
        if goal.block is not self._block:
            self._read(goal.block)
        if not (self._events or self._followers) or goal.waiting:
            return changed
        path, leaves_s, ahead_s = goal.path, goal.leaves_s, self._ahead_s
        for events in self._events:
            while (s := events.s) <= leaves_s and path.rate_at(ahead_s + events.lead_s)[0] >= s - _SAME_S:
                changed = self._set(events.output, events.value) or changed
                events.reach()
                self.set_by_events[events.output] = events.done
        for follower in self._followers:
            changed = self._set(follower.output, self._speed_value(follower, path)) or changed
        return changed

    def _speed_value(self, follower: SpeedOutput, path: PathRate) -> float:
        """The output in the middle of the period over which it is in force."""
        s, rate, _ = path.rate_at(self._ahead_s + follower.lead_s)
        return follower.value(s, rate)

    def _set(self, output: int, value: float) -> bool:
        changed = bool(self._value[output] != value)
        self._value[output] = value
        return changed

    def _change(self, goal: Follow | None) -> bool:
        """Another goal, or none, is under way: outputs that followed the one before go to rest."""
        changed = False
        for follower in self._followers:
            changed = self._set(follower.output, follower.at_rest) or changed
        self._goal, self._block, self._events, self._followers = goal, None, [], []
        self.followed[:] = 0.0
        if goal is not None:
            self.set_by_events[:] = 0.0
        return changed

    def _read(self, block: GoalBlock) -> None:
        """Read the actions of the goal under way, or of the same goal at another speed."""
        self._block, part = block, block.actions
        self._events, self._followers = [], []
        if part is not None:
            for rows in rows_by_output(part):
                self._events.append(OutputEvents(rows, int(self.set_by_events[int(rows[0, 2])])))
            for row, speeds in zip(part.followers, part.speeds, strict=True):
                made = SpeedOutput(row, speeds, block.duration_s, *self._ranges[int(row[0])])
                self._followers.append(made)
                self.followed[made.output] = 1.0


def rows_by_output(part: ActionPart) -> list[Floats]:
    """Return the rows (n, 4) of each output that has any, in the order of their places."""
    if not len(part.events):
        return []
    return np.split(part.events, np.flatnonzero(np.diff(part.events[:, 2])) + 1)


class OutputSignals:
    """The values that each command asks for. `value`: one number an output signal, in its unit.

    With each connection the values that are in force in the device are taken over, so that a restarted
    controller changes nothing.
    """

    def __init__(self, machine: Machine) -> None:
        self._signals = machine.outputs
        self.value: Floats = np.array([signal.initial for signal in self._signals])
        self._on_fault, self._on_link_loss, self._on_disable = (
            np.array([getattr(signal, key) for signal in self._signals])
            for key in ("on_fault", "on_link_loss", "on_disable")
        )
        self.path = PathOutputs(machine, self.value)
        self._device_tick = NO_STATE
        self._settling = 0

    @property
    def settling(self) -> bool:
        """Whether the effect of a change is not yet in a record."""
        return self._settling > 0

    def begin_tick(self, inputs: Inputs) -> None:
        """Take over the device's values with the first state of a connection."""
        if self._settling:
            self._settling -= 1
        if not inputs.connected:
            self._device_tick = NO_STATE
        elif inputs.fresh:
            if inputs.device_tick <= self._device_tick:  # states count from 0 in each connection
                self.value[:] = inputs.output
            self._device_tick = inputs.device_tick

    def act(self, goal: Follow | None) -> None:
        """Set the outputs that the goal under way (None: no goal) sets in this tick, after the orders."""
        if self.path.act(goal):
            self._settling = SETTLES_TICKS

    def set(self, order: SetOutputs) -> OrderOutcome:
        """Carry out an order: all of its values, or none."""
        wanted = dict(order.pairs)
        count = len(self._signals)
        if not all(0 <= at < count and self._signals[at].admits(value) for at, value in wanted.items()):
            return OrderOutcome.REFUSED_VALUE
        if any(self.path.followed[at] for at in wanted):
            return OrderOutcome.REFUSED_BUSY
        if all(self.value[at] == value for at, value in wanted.items()):
            return OrderOutcome.NOTHING_TO_DO
        for at, value in wanted.items():
            self.value[at] = value
        self._settling = SETTLES_TICKS
        return OrderOutcome.DONE

    def fault(self, *, link_lost: bool) -> None:
        """React to a fault or an emergency stop, which has ended the goal."""
        self.act(None)
        self._react(self._on_fault)
        if link_lost:
            self._react(self._on_link_loss)

    def disabled(self) -> None:
        """React to the end of a disable: the machine is braked."""
        self._react(self._on_disable)

    def _react(self, reaction: Floats) -> None:
        changes = ~np.isnan(reaction) & (reaction != self.value)
        if changes.any():
            self.value[changes] = reaction[changes]
            self._settling = SETTLES_TICKS
