"""The loop: one tick object and what surrounds it, for the paces to drive."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.orders import Adopt, LeaseLost, Order, Shutdown
from linkwork.controller.exchange.records import RecordLayout, layout_for
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.controller.loop.overruns import TickPhase, TickTiming
from linkwork.controller.loop.publishing import PublishingTick
from linkwork.controller.loop.switching_tick import SwitchingTick
from linkwork.controller.loop.tick import Tick
from linkwork.controller.motion.references.goal_loading import Inbox, OrderSource
from linkwork.controller.supervision.state_machine import State
from linkwork.controller.supervision.supervisor import Supervisor
from linkwork.machine import Machine
from linkwork.protocol.codes import Pace
from linkwork.timing.children import Lifeline

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
    ) -> None:
        layout = layout_for(machine)
        self.link, self.pace, self.inbox = link, pace, inbox
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
        self._orphan_since: float | None = None
        self._own_orders: list[Order] = []
        self._count = 0
        self._last_time_s = 0.0
        self.expected_until_ns = 0
        """Until then (CLOCK_MONOTONIC) a plant whose connection was lost may well answer a hello."""
        self._losses = LossWindow(round(1.0 / self.period_s))
        self._words = self._tick.record.floats
        self._link_text = ""
        self.timing = TickTiming(self._tick.record, self.period_ns, explains=pace is not Pace.LOCKSTEP)

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
        self.expected_until_ns = time.monotonic_ns() + round(1e9 * self.peer_timeout_s) if for_now else 0
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
        now = time.monotonic()
        if self._orphan_since is None:
            self._orphan_since = now
            self._own_orders.append(LeaseLost())
        elif now - self._orphan_since > self._orphan_s and not self.supervisor.leaving:
            self._own_orders.append(Shutdown())

    def _adopt(self) -> None:
        if self.inbox.lifeline is not None:
            self._lifeline.replace(self.inbox.lifeline)
            self.inbox.lifeline = None
            self._orphan_since = None

    @property
    def supervisor(self) -> Supervisor:
        """Supervisor of the tick; another one under other constraints."""
        return self._tick.supervisor

    @property
    def orphan(self) -> bool:
        """Whether the gateway is gone and no other has come."""
        return self._orphan_since is not None

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
    """The tick of a machine: one that publishes more than usual where the machine file asks for it."""
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
        """Forgets."""
        self._lost[:] = bytes(len(self._lost))
        self._count = 0
