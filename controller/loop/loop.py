"""The loop: one tick object and what surrounds it, for the paces to drive."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.estimation.loop_model import LoopModel, without_touch
from linkwork.controller.exchange.orders import Adopt, LeaseLost, Order, Shutdown
from linkwork.controller.exchange.records import Record, RecordLayout, layout_for
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.controller.loop.overruns import TickPhase, TickTiming
from linkwork.controller.loop.switching_tick import SwitchingTick
from linkwork.controller.loop.tick import Tick, no_slots
from linkwork.controller.motion.references.goal_loading import Inbox, OrderSource
from linkwork.controller.supervision.brakes import RELEASED
from linkwork.controller.supervision.state_machine import State
from linkwork.controller.supervision.supervisor import Supervisor
from linkwork.machine import Machine
from linkwork.machine.payloads import Loads, carrying
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels.layout import ORDINARY
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.reactions.reaction_kernels import COLUMNS
from linkwork.multibody.reactions.reactions import ReactionTable
from linkwork.protocol.codes import Pace
from linkwork.timing.children import Lifeline
from linkwork.timing.clock import Clock, MonotonicClock

LIFELINE_EVERY = 16
"""Ticks between two looks at the lifeline."""


class Loop:
    """Everything a tick touches, and what surrounds it: ring, orders, lifeline. The pace decides when `tick`
    is called.
    """

    def __init__(
        self,
        machine: Machine,
        link: DeviceLink,
        shared: Shared,
        inbox: Inbox,
        lifeline: Lifeline,
        pace: Pace,
        clock: Clock | None = None,
    ) -> None:
        layout = layout_for(machine)
        self.link, self.pace, self.inbox = link, pace, inbox
        self.clock: Clock = MonotonicClock() if clock is None else clock
        self.period_s = machine.period_s
        self.period_ns = round(1e9 * self.period_s)
        self.peer_timeout_s = machine.plant.peer_timeout_s
        self.loss_limit = machine.controller.loss_limit
        self.inputs = Inputs.for_machine(machine)
        self.outputs = Outputs.sized(len(machine.motors), len(machine.outputs))
        self.source = OrderSource(inbox, shared.slot, at_once=pace is Pace.LOCKSTEP)
        self._tick = tick_of(machine, layout, shared.slot)
        self._shared, self._lifeline = shared, lifeline
        self._set_points = shared.set_points
        self._orphan_s = machine.controller.orphan_timeout_s
        self._orphan_since_ns: int | None = None
        self._own_orders: list[Order] = []
        self._count = 0
        self._last_time_s = 0.0
        self.expected_until_ns = 0
        """Until then (on the clock) a plant whose connection was lost may well answer a hello."""
        self._losses = LossWindow(round(1.0 / self.period_s))
        self._words = self._tick.record.floats
        self._link_text = ""
        explains = pace is not Pace.LOCKSTEP and not self.clock.simulated
        self.timing = TickTiming(self._tick.record, self.period_ns, self.clock, explains=explains)

    def tick(
        self, *, fresh: bool, received_ns: int, missed: int = 0, late_ns: int = 0, orders: bool = True
    ) -> None:
        """One tick: order in (unless they are to wait), step, command packed. The caller sends it, then calls
        `finish`.

        missed: whole periods skipped before this tick. late_ns: how long after its deadline the loop woke.
        """
        inputs, mark = self.inputs, self.timing.mark
        mark(TickPhase.RECEIVE)
        inputs.fresh = fresh
        inputs.connected = self.link.connected
        inputs.lost_in_a_row = 0 if fresh else inputs.lost_in_a_row + self.link.connected
        inputs.loss_ratio = self._losses.add(lost=self.link.connected and not fresh)
        if not fresh:
            inputs.time_s += self.period_s
        inputs.order = self._next_order() if orders else None
        stream = self._tick.supervisor.executor.stream
        inputs.set_point = None if stream is None else self._set_points.read(stream.next_number)
        if isinstance(inputs.order, Adopt):
            self._adopt()
        dt = self.period_s if inputs.clock_jump_s else inputs.time_s - self._last_time_s
        self._last_time_s = inputs.time_s
        mark(TickPhase.ORDER)
        self._tick.step(inputs, self.outputs, dt, mark)
        self.link.prepare(self.outputs)
        self.timing.begin(received_ns, missed, late_ns)

    def _next_order(self) -> Order | None:
        return self._own_orders.pop(0) if self._own_orders else self.source.next()

    def finish(self) -> None:
        """After the command is out: the record goes to the ring, and now and then a look around."""
        sent_ns = self.timing.mark(TickPhase.SEND)
        self._tick.note(self.inputs, self.outputs)
        self.timing.note(sent_ns, self.inputs, self._tick.iterations)
        self._shared.append(self._words)
        self._count += 1
        self.inputs.clock_jump_s = 0.0
        supervisor = self.supervisor
        if self.link.connected and self.inputs.lost_in_a_row >= self.loss_limit:
            self.lose(f"no state for {self.inputs.lost_in_a_row} periods", for_now=True)
        elif supervisor.handshake_wanted and self.link.connected:
            self.lose("a new handshake was requested", for_now=True)
        if self._count % LIFELINE_EVERY == 0:
            self.look_around()
        self.timing.mark(TickPhase.RECORD)

    def lose(self, why: str, *, for_now: bool = False) -> None:
        """Drop the connection; the pacing object makes the next one. `for_now`: the plant may still be
        there."""
        self.link.lose(why)
        self.expected_until_ns = self.clock.now_ns() + round(1e9 * self.peer_timeout_s) if for_now else 0
        self.inputs.device_status = self.inputs.device_fault = 0
        self.inputs.device_tick = -1
        self.inputs.motors[:], self.inputs.motors_told = 0, True
        self.inputs.lost_in_a_row = 0  # the next connection begins without losses
        self._losses.clear()
        self.look_around()

    def look_around(self) -> None:
        """Off the tick's path: a sign of life and link text for the gateway, and the gateway's end."""
        self._shared.beat()
        if self.link.text != self._link_text:
            self._link_text = self._shared.link_text = self.link.text
            self._shared.homing, self._shared.simulation = self.link.homing, self.link.simulation
            self._shared.features = self.link.features
        self.timing.refresh()
        if not self._lifeline.ended():
            return
        now_ns = self.clock.now_ns()
        if self._orphan_since_ns is None:
            self._orphan_since_ns = now_ns
            self._own_orders.append(LeaseLost())
        elif 1e-9 * (now_ns - self._orphan_since_ns) > self._orphan_s and not self.supervisor.leaving:
            self._own_orders.append(Shutdown())

    def _adopt(self) -> None:
        if self.inbox.lifeline is not None:
            if self._orphan_since_ns is None:  # adopted before the end of the last gateway was noticed
                self._own_orders.append(LeaseLost())
            self._lifeline.replace(self.inbox.lifeline)
            self.inbox.lifeline = None
            self._orphan_since_ns = None

    @property
    def supervisor(self) -> Supervisor:
        """Supervisor of the tick; another one under other constraints."""
        return self._tick.supervisor

    @property
    def orphan(self) -> bool:
        """Whether the gateway is gone and no other has come."""
        return self._orphan_since_ns is not None

    @property
    def own_orders(self) -> bool:
        """Whether an internal order of the loop is pending."""
        return bool(self._own_orders)

    @property
    def ring_full(self) -> bool:
        """Whether the gateway has to catch up first (minded in lockstep only)."""
        return self._shared.full

    @property
    def time_stands(self) -> bool:
        """Whether lockstep time is stopped until the next order; published to the gateway."""
        return self._shared.stands

    @time_stands.setter
    def time_stands(self, waits: bool) -> None:
        self._shared.stands = waits

    @property
    def done(self) -> bool:
        """Whether a shutdown was ordered and the machine is braked."""
        return self.supervisor.leaving and self.supervisor.state not in (State.ACTIVE, State.STOPPING)


def tick_of(
    machine: Machine,
    layout: RecordLayout,
    slot: Callable[[int], NDArray[np.float64]],
) -> Tick | SwitchingTick:
    """Return the tick of a machine: a `PublishingTick` where the machine file asks for reactions.

    layout: of its records. slot: gives a goal slot's words.
    """
    build = Tick
    if machine.controller.publish:
        build = PublishingTick
    if machine.switchable:
        return SwitchingTick(machine, layout, build, slot)
    return build(machine, layout, slot)


class LossWindow:
    """Share of lost states over the last second."""

    def __init__(self, periods: int) -> None:
        self._lost = bytearray(max(periods, 1))
        self._at = self._count = 0

    def add(self, *, lost: bool) -> float:
        """Count one period; return the share over the window."""
        self._count += lost - self._lost[self._at]
        self._lost[self._at] = lost
        self._at = (self._at + 1) % len(self._lost)
        return self._count / len(self._lost)

    def clear(self) -> None:
        """Forget all periods."""
        self._lost[:] = bytes(len(self._lost))
        self._count = 0


_PLACE = 3
"""Columns of a result before its force."""


class PublishedReactions:
    """The reactions of a model in the state that a tick has estimated, under given efforts."""

    def __init__(self, machine: Machine, model: LoopModel, loads: Loads | None) -> None:
        mechanism, now = machine.mechanism, model.now
        self._now, self._felt = now, model.felt
        self._work = without_touch(Workspace(now.model))
        self._work.ranking[ORDINARY] = machine.assembly.ordinary_rank
        self._motor = np.array([motor.index for motor in machine.motors], np.int64)
        self._table = ReactionTable(mechanism)
        self._columns = _columns(self._table.effort_units)
        self._loads, self._renewed = loads, 0
        self._carried = [] if loads is None else _carriers(mechanism, self._table, loads)

    def compute(self, effort: Floats, touch: Callable[[Workspace], None] | None, out: Floats) -> None:
        """Write the reactions (the record's columns) under `effort` (motors; N m or N); `touch` sets
        contacts.
        """
        work, now = self._work, self._now
        work.q[:], work.v[:], work.on[:], work.target[:] = now.q, now.v, now.on, now.target
        work.effort[:] = self._felt
        np.add.at(work.effort, self._motor, effort)
        constrained_forward_dynamics(*work.arguments)
        if touch is not None:
            touch(work)
        if self._loads is not None and self._loads.changes != self._renewed:
            self._renewed = self._loads.changes
            for carrier in self._carried:
                carrier.renew()
        self._table.update(work)
        np.take(self._table.values, self._columns, out=out)


class PublishingTick(Tick):
    """A tick that publishes the reactions of all joints and constraints beside its record.

    They are those of the estimated state under the efforts that act over the period that begins with it: the
    last command as the drives deliver it, and the disturbance observer's effort. Contacts count with their
    measured force. They are computed after the command has been handed over, and only where the machine file
    asks.
    """

    def __init__(
        self,
        machine: Machine,
        layout: RecordLayout,
        slot: Callable[[int], Floats] = no_slots,
        record: Record | None = None,
    ) -> None:
        super().__init__(machine, layout, slot, record)
        self._reactions = PublishedReactions(machine, self._model, self._loads)
        self._r_reaction = self.record.view("reaction")
        self._touch = self._force_control.felt_contacts if machine.mechanism.contacts else None

    def note(self, inputs: Inputs, outputs: Outputs) -> None:
        """As `Tick.note`. While a brake is engaged its load is unknown, and so are the reactions."""
        if self.supervisor.brakes.phase is RELEASED:
            acting = self._disturbance.with_it(self._efforts.acted)
            self._reactions.compute(acting, self._touch, self._r_reaction)
        else:
            self._r_reaction[:] = np.nan
        super().note(inputs, outputs)


def _columns(units: Sequence[str]) -> NDArray[np.int64]:
    """Places of the published numbers in the table's values, row after row."""
    places = [
        COLUMNS * row + column
        for row, unit in enumerate(units)
        for column in range(_PLACE, COLUMNS if unit else COLUMNS - 1)
    ]
    return np.array(places, np.int64)


class _Carrier:
    """A body that may carry loads at some of its points: its constants in a table of reactions."""

    def __init__(self, table: ReactionTable, body: int, loads: Loads, points: Sequence[int]) -> None:
        self._seat, self._moments = table.seats[body], table.moments[body]
        self._own = float(self._seat[0]), self._seat[1:4].copy(), self._moments.copy()
        self._loads, self._points = loads, list(points)

    def renew(self) -> None:
        """Apply the present payloads."""
        mass, centre, about = carrying(*self._own, self._loads.load_at(self._points))
        self._seat[0], self._seat[1:4], self._moments[:] = mass, centre, about


def _carriers(mechanism: Mechanism, table: ReactionTable, loads: Loads) -> list[_Carrier]:
    bodies = list(mechanism.body_names)
    found: dict[str, list[int]] = {}
    for place, point in enumerate(mechanism.points):
        if point.body in bodies:
            found.setdefault(point.body, []).append(place)
    return [_Carrier(table, bodies.index(name), loads, points) for name, points in found.items()]
