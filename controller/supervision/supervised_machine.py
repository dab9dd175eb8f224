"""The machine as orders and ticks find it: its state, brakes, latched fault, and the executor of its motion.

All of it depends on the inputs of ticks alone, so that a lockstep run and a replayed run decide the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.estimation.limit_monitor import Found, LimitMonitor
from linkwork.controller.exchange.faults import Fault, FaultCode
from linkwork.controller.exchange.orders import AuthorityEnd, LiveOrder, Order, OrderOutcome
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.laws import Reference
from linkwork.controller.motion.motion_executor import MotionExecutor
from linkwork.controller.motion.references.reference import Follow, ReferenceMotion
from linkwork.controller.supervision.brakes import BrakeSequence, Phase
from linkwork.controller.supervision.estimate_monitor import EstimateMonitor
from linkwork.controller.supervision.live_tuning import Preload
from linkwork.controller.supervision.output_signals import OutputSignals
from linkwork.controller.supervision.pending_orders import PendingOrders
from linkwork.controller.supervision.state_machine import ACTIVE, STOPPING, UNCONFIGURED, Event, State, after
from linkwork.machine import Machine
from linkwork.machine.motor_heat import COOLED, thermal_model
from linkwork.multibody import Workspace
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.laws import FREE_LAWS, LawKind

AT_REST = 1e-6
"""rad/s or m/s: an estimated speed below this counts as rest."""
COASTING_S = 5.0
"""Longest lockstep time for a braked machine that does not come to rest: one without brakes may swing on, and
the readings of some sensors never settle.
"""
CARRIED = (
    "advance_ticks", "_braked_ticks", "disabling", "tick", "time_s", "fault", "handshake_wanted",
    "heat", "leaving", "order_id", "order_outcome", "outputs", "pending", "state", "switching",
)  # fmt: skip
"""State that `SupervisedMachine.adopt` takes over from the machine under other constraints."""


class FollowingError:
    """Monitor of the distance between reference and machine; `theta` are the coordinates of the estimate.

    Path tolerances monitor a running goal and stop it on its path. This monitor covers all other states: a
    machine that holds, jogs, waits or comes to rest while its motors, sensors or joints deviate from the
    model. It is braked when its following error is larger than the machine file allows.
    """

    def __init__(self, machine: Machine, watch: LimitMonitor, theta: Floats) -> None:
        self._most = np.array([tolerance.following_limit for tolerance in machine.tolerances])
        self._watch, self._theta = watch, theta
        self._error = np.zeros(len(theta))
        self._motion: ReferenceMotion | None = None
        self._index = np.zeros(0, np.int64)
        self._allowed = np.zeros(0)

    def check(self, motion: ReferenceMotion, reference: Reference, law: LawKind) -> Found | None:
        """The coordinate that is further from its reference than allowed, if any: (code, index, error,
        limit).

        A goal that was begun with path tolerances wider than that comes to rest within them.
        """
        if law in FREE_LAWS or (isinstance(motion, Follow) and motion.on_its_way):
            return None
        if motion is not self._motion or motion.index is not self._index:
            self._motion, self._index = motion, motion.index
            self._allowed = self._most[motion.index]
            if isinstance(motion, Follow) and not motion.waiting:
                self._allowed = np.maximum(self._allowed, motion.path_tolerance)
        worst = self._watch.violation(self._index, reference.theta, self._theta, self._allowed, self._error)
        if worst < 0:
            return None
        where, off, allowed = self._index[worst], self._error[worst], self._allowed[worst]
        return FaultCode.FOLLOWING_ERROR, int(where), float(off), float(allowed)


@dataclass
class Switching:
    """The `count` switchable constraints of a machine: their present and wanted states.

    `closed`, `wanted` and each of `runnable` are bit masks, -1 for none: those that hold, those requested
    from the device, and those that the controller has models for. `unasked`: the constraint that the device
    has switched by itself, -1 none; `modelled`: whether the controller has a model for those that hold.
    """

    count: int = 0
    closed: int = -1
    wanted: int = -1
    runnable: frozenset[int] = frozenset()
    unasked: int = -1
    modelled: bool = True

    @property
    def common(self) -> int:
        """Constraints that hold before and after the requested switch."""
        return self.closed if self.wanted < 0 else self.closed & self.wanted


class SupervisedMachine:
    """State, brakes and fault of one machine, and the executor of its motion.

    `estimate` is the workspace that the tick keeps current, `quality` its quality; `slot`
    gives a goal slot's words.
    """

    def __init__(
        self,
        machine: Machine,
        estimate: Workspace,
        quality: Quality,
        slot: Callable[[int], Floats],
    ) -> None:
        self._q, self._v = estimate.q[: len(estimate.v)], estimate.v
        self._period_s = machine.period_s
        self._watch = LimitMonitor(machine, estimate)
        self.estimate_monitor = EstimateMonitor(machine, estimate, quality)
        self.preload = Preload(machine)
        self.executor = MotionExecutor(machine, self._watch, estimate, slot)
        self._following_error = FollowingError(machine, self._watch, estimate.theta)
        self.state = State.UNCONFIGURED
        self.brakes = BrakeSequence(max((motor.brake_release_s for motor in machine.motors), default=0.0))
        self.fault = Fault()
        self.order_id, self.order_outcome = 0, OrderOutcome.NONE
        self.leaving = False
        """A shutdown has been ordered; once inactive the loop may leave."""
        self.handshake_wanted = False
        """`recover` needs a fresh handshake with the plant before it can clear the fault."""
        self.advance_ticks = self._braked_ticks = 0
        self.disabling = False
        self.tick, self.time_s = 0, 0.0
        self.pending = PendingOrders(self._period_s)
        self.switching = Switching()
        self.outputs = OutputSignals(machine) if machine.outputs else None
        """Output signals; None of a machine without any."""
        self.heat = thermal_model(machine.motors)
        """Temperatures of the motors; None where the machine file has no thermal model of them."""
        self.tune: Callable[[LiveOrder], OrderOutcome] = lambda _: OrderOutcome.REFUSED_VALUE
        """Carries out orders that change gains or loads; the tick sets it."""

    def raise_fault(self, code: FaultCode, index: int = -1, value: float = 0.0, limit: float = 0.0) -> None:
        """Latch a fault (the first cause stays) and brake. In an emergency stop the stop stays.

        index: of the joint, sensor or other part that the code is about, -1 for none. value, limit: what was
        measured and allowed, in the code's unit.
        """
        if self.fault.code is FaultCode.NONE:
            self.fault = Fault(code, index, value, limit, self.tick)
        if self.state is not State.FAULT:
            self.brake_now(Event.FAULT)

    @property
    def moving(self) -> bool:
        """Whether the executor moves or holds the machine, not the brake."""
        state = self.state
        return state is ACTIVE or state is STOPPING

    @property
    def busy(self) -> bool:
        """Whether something is under way that lockstep time must run for."""
        return (
            self.advance_ticks > 0
            or self.switching.wanted >= 0
            or self.handshake_wanted
            or self.state is State.STOPPING
            or self.brakes.changing
            or self.executor.busy
            or (self.outputs is not None and self.outputs.settling)
            or self._waits_for_its_tick
            or self._coasts
        )

    @property
    def _coasts(self) -> bool:
        """Whether a machine that is braked is still waited for."""
        if self.moving or not self._watch.connected or self._braked_ticks * self._period_s > COASTING_S:
            return False
        return not bool(np.all(np.abs(self._v) <= AT_REST))

    @property
    def _waits_for_its_tick(self) -> bool:
        """Whether time must run so that an order can arrive: of the twin, or any while a goal is paused."""
        return self.pending.reports or (self.executor.goal is not None and bool(self.pending.timed))

    def stopped(self) -> None:
        """Hold, or continue the disable, once the reference is at rest."""
        if not self.disabling:
            self.move(Event.AT_REST)
        elif self.brakes.phase is Phase.BRAKED:
            self.disabling = False
            self.move(Event.BRAKED)
            if self.outputs is not None:
                self.outputs.disabled()
        else:
            self.brakes.disengage(self.time_s)

    def brake_now(self, event: Event) -> None:
        """Brake at once, for an emergency stop or a fault; goals, streams and waiting orders end."""
        if event is Event.ESTOP or self.state is not State.ESTOP:
            self.end_authority(AuthorityEnd.ESTOP if event is Event.ESTOP else AuthorityEnd.FAULT)
        self.executor.abort()
        if self.outputs is not None:
            self.outputs.fault(link_lost=event is Event.FAULT and self.fault.code is FaultCode.LINK_LOST)
        self.switching.wanted = -1
        self.disabling = False
        self.brakes.drop()
        self.move(event)

    def end_authority(self, why: AuthorityEnd, order: Order | None = None) -> bool:
        """End the authority of all orders accepted so far; True when some of them still waited.

        order: the order that ends it, whose number of the next authority counts where it is ahead.
        """
        return self.pending.end_authority(why, self.executor, order)

    def move(self, event: Event) -> bool:
        """Change the state by an event; False where the present state does not know it."""
        following = after(self.state, event)
        if following is None:
            return False
        self.state = following
        return True

    def come_to_rest(self, code: ResultCode, *, disable: bool) -> OrderOutcome:
        """Stop what is under way; a goal ends with `code`. disable: brake and disable the machine at rest."""
        under_way = self.moving and self.executor.under_way
        if self.state is State.ACTIVE and not (under_way or disable):
            return OrderOutcome.NOTHING_TO_DO
        if not self.move(Event.DISABLE if disable else Event.STOP):
            return OrderOutcome.REFUSED_STATE
        if self.moving:
            self.executor.stop(code)
            self.disabling = self.disabling or disable
        return OrderOutcome.DONE if under_way or disable else OrderOutcome.NOTHING_TO_DO

    def estimates_by(self, begin_at: Callable[[Floats], None]) -> None:
        """`begin_at` begins the next estimate at a pose (nq; rad or m), at rest."""
        self.estimate_monitor.begin_at = begin_at

    def switched(self, *, asked: bool) -> None:
        """Switch to other constraints from this tick on: motions planned before have no effect."""
        if asked:
            self.switching.wanted = -1
        if self.state is not UNCONFIGURED:
            self.end_authority(AuthorityEnd.SWITCHED)

    def switched_by_itself(self, *, moving: bool) -> None:
        """A constraint was switched without an order: a fault in motion, or where no model is for it."""
        switching = self.switching
        if moving or not switching.modelled:
            self.raise_fault(FaultCode.CONSTRAINT_SWITCHED, switching.unasked)
        if switching.modelled:
            switching.unasked = -1

    def adopt(self, other: Self) -> None:
        """Take over the machine, at rest, from that of another constraint set."""
        for name in CARRIED:
            setattr(self, name, getattr(other, name))
        self.brakes.adopt(other.brakes)
        self.preload.adopt(other.preload)
        self.executor.adopt(other.executor)
        self.estimate_monitor.adopt(other.estimate_monitor)
        self._watch.begun = False

    def try_clear(self, inputs: Inputs) -> bool:
        """Clear the latched fault; False while its cause is there."""
        if self.still_there(inputs):
            return False
        self.fault, self.handshake_wanted = Fault(), False
        self.move(Event.CLEARED)
        return True

    def still_there(self, inputs: Inputs) -> bool:
        """Whether the cause of the latched fault is still there."""
        code = self.fault.code
        if not self.switching.modelled:
            return True
        if code is FaultCode.MOTOR_TEMPERATURE and self.heat is not None:
            return self.heat.hottest(COOLED) is not None
        return self._watch.still_there(code, inputs, self._v) or self.estimate_monitor.still_there(code)
