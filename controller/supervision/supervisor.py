"""The supervisor: takes orders, handles faults, and decides whether the machine is braked or in motion.

It owns the state machine, the brake sequence and the latched fault, and computes no effort. Everything it
decides depends on its inputs alone, so that a lockstep run and a replayed run decide the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.estimation.limit_monitor import LimitMonitor
from linkwork.controller.exchange.faults import Fault, FaultCode
from linkwork.controller.exchange.orders import (
    Adopt,
    AdvanceTime,
    AuthorityEnd,
    CancelGoal,
    ChooseLaw,
    ConfirmBranch,
    Disable,
    EmergencyStop,
    Enable,
    Finish,
    JogCoordinates,
    LeaseLost,
    Order,
    OrderOutcome,
    Pause,
    Recover,
    ReportDifference,
    Reset,
    Resume,
    SetGains,
    SetOutputs,
    SetPayload,
    SetPreload,
    SetSpeed,
    Shutdown,
    StartGoal,
    StartStream,
    Stop,
    SuggestPose,
    SwitchConstraint,
)
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.motion.forces.preload import Preload
from linkwork.controller.motion.motion_executor import MotionExecutor
from linkwork.controller.supervision.brakes import BrakeSequence, Phase
from linkwork.controller.supervision.estimate_monitor import EstimateMonitor
from linkwork.controller.supervision.following_error import FollowingError
from linkwork.controller.supervision.output_signals import OutputSignals
from linkwork.controller.supervision.pending_orders import PendingOrders
from linkwork.controller.supervision.state_machine import (
    ACTIVE,
    STOPPING,
    UNCONFIGURED,
    Event,
    State,
    after,
)
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.protocol.codes import DeviceStatus, ResultCode

AT_REST = 1e-6
"""rad/s or m/s: an estimated speed below this counts as rest."""
COASTING_S = 5.0
"""Longest lockstep time for a braked machine that does not come to rest: one without brakes may swing on, and
the readings of some sensors never settle.
"""
_NO_OUTCOME = OrderOutcome.NONE
CARRIED = (
    "_advance_ticks", "_braked_ticks", "_disabling", "_tick", "_time_s", "fault", "handshake_wanted",
    "leaving", "order_id", "order_outcome", "outputs", "pending", "state", "switching",
)  # fmt: skip
"""State that a supervisor takes over from that of another constraint set (`Supervisor.adopt`)."""


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


class Supervisor:
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
        self._beliefs = EstimateMonitor(machine, estimate, quality)
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
        self._advance_ticks = self._braked_ticks = 0
        self._disabling = False
        self._tick, self._time_s = 0, 0.0
        self.pending = PendingOrders(self._period_s)
        self.switching = Switching()
        self.outputs = OutputSignals(machine) if machine.outputs else None
        """Output signals; None of a machine without any."""
        self.tune: Callable[[SetGains | SetPayload], OrderOutcome] = lambda _: OrderOutcome.REFUSED_VALUE
        """Carries out orders that change gains or loads; the tick sets it."""
        self._handlers = self._handlers_of_orders()

    def update(self, inputs: Inputs, tick: int, bad_sensor: int) -> None:
        """One tick: faults first, then the motion under way, then an order."""
        self._tick, self._time_s = tick, inputs.time_s
        self.order_id, self.order_outcome = 0, _NO_OUTCOME
        executor, state = self.executor, self.state
        if self.outputs is not None:
            self.outputs.begin_tick(inputs)
        moving = state is ACTIVE or state is STOPPING
        if self.switching.unasked >= 0 and state is not UNCONFIGURED:
            self._switched_by_itself(moving=moving)
            moving = self.moving
        self._braked_ticks = 0 if moving else self._braked_ticks + 1
        if self._advance_ticks:
            self._advance_ticks -= 1
        if state is UNCONFIGURED and inputs.connected:
            self._move(Event.CONNECTED)
        found = self._watch.check(
            inputs,
            self._q,
            self._v,
            bad_sensor,
            moving=moving,
            following=moving and executor.motion.follows,
        )
        if self._beliefs.needed:
            doubt = self._beliefs.check()
            found = found or doubt
        if found is not None and self.state is not UNCONFIGURED:
            self.raise_fault(*found)
            moving = self.moving
        if self.brakes.changing:
            self.brakes.advance(inputs.time_s)
        if self.preload.changing:
            self.preload.advance()
        executor.advance(inputs.time_s, inputs.set_point)
        if moving:
            if not executor.check():
                self._move(Event.STOP)
                self._end_authority(AuthorityEnd.TOLERANCE)
            if self.state is STOPPING and executor.settled():
                self._stopped()
            if not executor.on_path:
                astray = self._following_error.check(executor.motion, executor.now, executor.law)
                if astray is not None:
                    self.raise_fault(*astray)
        order, pending = None, self.pending
        if inputs.order is not None or pending.timed or pending.goals.waiting:
            order = self._due(inputs.order)
        if order is not None:
            self.order_id = order.id
            self.order_outcome = self._handlers[type(order)](order, inputs)
        if self.outputs is not None:
            self.outputs.act(executor.goal)
        if self.handshake_wanted and inputs.connected:
            self._try_clear(inputs)

    def raise_fault(self, code: FaultCode, index: int = -1, value: float = 0.0, limit: float = 0.0) -> None:
        """Latch a fault (the first cause stays) and brake. In an emergency stop the stop stays.

        index: of the joint, sensor or other part that the code is about, -1 for none. value, limit: what was
        measured and allowed, in the code's unit.
        """
        if self.fault.code is FaultCode.NONE:
            self.fault = Fault(code, index, value, limit, self._tick)
        if self.state is not State.FAULT:
            self._brake_now(Event.FAULT)

    @property
    def moving(self) -> bool:
        """Whether the executor moves or holds the machine, not the brake."""
        state = self.state
        return state is ACTIVE or state is STOPPING

    @property
    def busy(self) -> bool:
        """Whether something is under way that lockstep time must run for."""
        return (
            self._advance_ticks > 0
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

    def _stopped(self) -> None:
        """Hold, or continue the disable, once the reference is at rest."""
        if not self._disabling:
            self._move(Event.AT_REST)
        elif self.brakes.phase is Phase.BRAKED:
            self._disabling = False
            self._move(Event.BRAKED)
            if self.outputs is not None:
                self.outputs.disabled()
        else:
            self.brakes.disengage(self._time_s)

    def _brake_now(self, event: Event) -> None:
        if event is Event.ESTOP or self.state is not State.ESTOP:
            self._end_authority(AuthorityEnd.ESTOP if event is Event.ESTOP else AuthorityEnd.FAULT)
        self.executor.abort()
        if self.outputs is not None:
            self.outputs.fault(link_lost=event is Event.FAULT and self.fault.code is FaultCode.LINK_LOST)
        self.switching.wanted = -1
        self._disabling = False
        self.brakes.drop()
        self._move(event)

    def _end_authority(self, why: AuthorityEnd, order: Order | None = None) -> bool:
        """End the authority of all orders accepted so far; True when some of them still waited.

        order: the order that ends it, whose number of the next authority counts where it is ahead.
        """
        return self.pending.end_authority(why, self.executor, order)

    def _move(self, event: Event) -> bool:
        following = after(self.state, event)
        if following is None:
            return False
        self.state = following
        return True

    # Orders.

    def _due(self, arrived: Order | None) -> Order | None:
        """The order that takes effect now; one for a later tick waits, and so does a goal for another one."""
        refused = self.pending.refusal(arrived, self._tick) if arrived is not None else None
        if arrived is not None and refused is not None:
            self.order_id, self.order_outcome = arrived.id, refused
            return None
        return self.pending.due(arrived, self._tick, self.executor)

    def _handlers_of_orders(self) -> dict[type[Order], Callable[[Any, Inputs], OrderOutcome]]:
        """Return the handler of each kind of order."""
        return {
            Enable: self._enable,
            Disable: self._disable,
            StartGoal: self._start_goal,
            Stop: self._stop,
            CancelGoal: self._cancel,
            Pause: self._steer,
            Resume: self._steer,
            SetSpeed: self._steer,
            JogCoordinates: self._jog,
            Recover: self._recover,
            EmergencyStop: self._stop_at_once,
            Reset: self._reset,
            AdvanceTime: self._advance,
            ChooseLaw: self._choose_law,
            Adopt: self._adopted,
            Shutdown: self._leave,
            LeaseLost: self._lose_lease,
            SetPreload: self._set_preload,
            ConfirmBranch: self._confirm_branch,
            SuggestPose: self._suggest_pose,
            ReportDifference: self._differs,
            SetGains: self._tune,
            SetPayload: self._tune,
            SwitchConstraint: self._switch,
            SetOutputs: self._set_outputs,
            StartStream: self._start_stream,
            Finish: self._finish,
        }

    def _enable(self, _: Enable, inputs: Inputs) -> OrderOutcome:
        if self.state is State.ACTIVE:
            return OrderOutcome.NOTHING_TO_DO
        if self.state is State.INACTIVE and not self._beliefs.confirmed:
            return OrderOutcome.REFUSED_BRANCH
        if not inputs.connected or self.leaving or not self._move(Event.ENABLE):
            return OrderOutcome.REFUSED_STATE
        self.executor.hold_here()
        self.brakes.engage(self._time_s)
        return OrderOutcome.DONE

    def _confirm_branch(self, _: ConfirmBranch, inputs: Inputs) -> OrderOutcome:
        if not inputs.connected:
            return OrderOutcome.REFUSED_STATE
        if self._beliefs.confirmed:
            return OrderOutcome.NOTHING_TO_DO
        return OrderOutcome.DONE if self._beliefs.confirm() else OrderOutcome.REFUSED_VALUE

    def _suggest_pose(self, order: SuggestPose, inputs: Inputs) -> OrderOutcome:
        """Begin the estimate at another pose, while the brakes hold the machine."""
        if not inputs.connected or self.moving or self.brakes.phase is not Phase.BRAKED:
            return OrderOutcome.REFUSED_STATE
        return OrderOutcome.DONE if self._beliefs.suggest(order.pairs) else OrderOutcome.REFUSED_VALUE

    def estimates_by(self, begin_at: Callable[[Floats], None]) -> None:
        """`begin_at` begins the next estimate at a pose (nq; rad or m), at rest."""
        self._beliefs.begin_at = begin_at

    def _start_goal(self, order: StartGoal, inputs: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        if refused is None and not inputs.device_status & int(DeviceStatus.HOMED):
            refused = OrderOutcome.REFUSED_NOT_HOMED
        return self.executor.accept(order) if refused is None else refused

    def _start_stream(self, order: StartStream, inputs: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        if refused is None and not inputs.device_status & int(DeviceStatus.HOMED):
            refused = OrderOutcome.REFUSED_NOT_HOMED
        return self.executor.begin_stream(order) if refused is None else refused

    def _finish(self, order: Finish, _: Inputs) -> OrderOutcome:
        return self.executor.finish(order)

    def _jog(self, order: JogCoordinates, _: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        return self.executor.jog(order) if refused is None else refused

    def _choose_law(self, order: ChooseLaw, _: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        return self.executor.choose(order) if refused is None else refused

    def _not_ready_to_move(self) -> OrderOutcome | None:
        """The reason why no motion may begin now."""
        if self.state is not State.ACTIVE or self.brakes.phase is not Phase.RELEASED:
            return OrderOutcome.REFUSED_STATE
        return OrderOutcome.REFUSED_BUSY if self.switching.wanted >= 0 else None

    def _steer(self, order: Pause | Resume | SetSpeed, _: Inputs) -> OrderOutcome:
        return self.executor.steer(order)

    def _set_preload(self, order: SetPreload, _: Inputs) -> OrderOutcome:
        return self.preload.obey(order)

    def _tune(self, order: SetGains | SetPayload, _: Inputs) -> OrderOutcome:
        return self.tune(order)

    def _adopted(self, _: Adopt, __: Inputs) -> OrderOutcome:
        return OrderOutcome.DONE

    def _switch(self, order: SwitchConstraint, inputs: Inputs) -> OrderOutcome:
        """Ask the device for another set of constraints; the machine holds, or is braked."""
        switching, here = self.switching, self.state is State.ACTIVE or self.state is State.INACTIVE
        if not inputs.connected or not here or self.brakes.changing:
            return OrderOutcome.REFUSED_STATE
        if self.executor.under_way or self.executor.pressing.control.pressing or switching.wanted >= 0:
            return OrderOutcome.REFUSED_BUSY
        bit = order.constraint
        if not 0 <= bit < switching.count:
            return OrderOutcome.REFUSED_VALUE
        wanted = switching.closed | 1 << bit if order.on else switching.closed & ~(1 << bit)
        if wanted == switching.closed:
            return OrderOutcome.NOTHING_TO_DO
        if wanted not in switching.runnable:
            return OrderOutcome.REFUSED_SET
        switching.wanted = wanted
        return OrderOutcome.DONE

    def _set_outputs(self, order: SetOutputs, inputs: Inputs) -> OrderOutcome:
        """Set output signals, in every state with a plant."""
        if not inputs.connected:
            return OrderOutcome.REFUSED_STATE
        return OrderOutcome.REFUSED_VALUE if self.outputs is None else self.outputs.set(order)

    def switched(self, *, asked: bool) -> None:
        """Switch to other constraints from this tick on: motions planned before have no effect."""
        if asked:
            self.switching.wanted = -1
        if self.state is not UNCONFIGURED:
            self._end_authority(AuthorityEnd.SWITCHED)

    def _switched_by_itself(self, *, moving: bool) -> None:
        """A constraint was switched without an order: a fault in motion, or where no model is for it."""
        switching = self.switching
        if moving or not switching.modelled:
            self.raise_fault(FaultCode.CONSTRAINT_SWITCHED, switching.unasked)
        if switching.modelled:
            switching.unasked = -1

    def adopt(self, other: Supervisor) -> None:
        """Take over the machine, at rest, from the supervisor of another constraint set."""
        for name in CARRIED:
            setattr(self, name, getattr(other, name))
        self.brakes.adopt(other.brakes)
        self.preload.adopt(other.preload)
        self.executor.adopt(other.executor)
        self._beliefs.adopt(other._beliefs)
        self._watch.begun = False

    def _stop(self, order: Stop, _: Inputs) -> OrderOutcome:
        return self._end_motion(order, AuthorityEnd.STOP, ResultCode.CANCELLED)

    def _lose_lease(self, order: LeaseLost, _: Inputs) -> OrderOutcome:
        return self._end_motion(order, AuthorityEnd.LEASE_LOST, ResultCode.LEASE_LOST)

    def _disable(self, order: Disable, _: Inputs) -> OrderOutcome:
        return self._end_motion(order, AuthorityEnd.DISABLE, ResultCode.CANCELLED, disable=True)

    def _end_motion(
        self, order: Order, why: AuthorityEnd, code: ResultCode, *, disable: bool = False
    ) -> OrderOutcome:
        """Stop on the path and end the authority; a goal ends with `code`."""
        dropped = self._end_authority(why, order)
        outcome = self._come_to_rest(code, disable=disable)
        return OrderOutcome.DONE if dropped and outcome is OrderOutcome.NOTHING_TO_DO else outcome

    def _stop_at_once(self, order: EmergencyStop, _: Inputs) -> OrderOutcome:
        self._brake_now(Event.ESTOP)
        pending = self.pending
        pending.authority = max(pending.authority, order.authority)
        return OrderOutcome.DONE

    def _cancel(self, order: CancelGoal, _: Inputs) -> OrderOutcome:
        """End the goal under way, or remove one that waits. With a cause the authority ends too."""
        if order.waiting:
            dropped = self.pending.drop(order.waiting)
            return OrderOutcome.DONE if dropped else OrderOutcome.NOTHING_TO_DO
        if order.goal not in (0, self.executor.goal_state.id):
            return self._withdraw(order.goal)
        if order.cause is None:
            return self._come_to_rest(ResultCode.CANCELLED, disable=False)
        self._end_authority(AuthorityEnd.INFEASIBLE, order)
        return self._come_to_rest(order.cause, disable=False)

    def _withdraw(self, goal: int) -> OrderOutcome:
        """A goal that waits shall not begin."""
        done = self.pending.withdraw(goal, self.executor)
        return OrderOutcome.DONE if done else OrderOutcome.NOTHING_TO_DO

    def _come_to_rest(self, code: ResultCode, *, disable: bool) -> OrderOutcome:
        under_way = self.moving and self.executor.under_way
        if self.state is State.ACTIVE and not (under_way or disable):
            return OrderOutcome.NOTHING_TO_DO
        if not self._move(Event.DISABLE if disable else Event.STOP):
            return OrderOutcome.REFUSED_STATE
        if self.moving:
            self.executor.stop(code)
            self._disabling = self._disabling or disable
        return OrderOutcome.DONE if under_way or disable else OrderOutcome.NOTHING_TO_DO

    def _differs(self, order: ReportDifference, _: Inputs) -> OrderOutcome:
        if not self.moving:
            return OrderOutcome.NOTHING_TO_DO
        if not order.fault:
            self._end_authority(AuthorityEnd.DIFFERENCE, order)
            return self._come_to_rest(ResultCode.MODEL_DIFFERENCE, disable=False)
        self.raise_fault(FaultCode.MODEL_DIFFERENCE, order.which, order.value, order.limit)
        return OrderOutcome.DONE

    def _leave(self, order: Shutdown, _: Inputs) -> OrderOutcome:
        self.leaving = True
        self._end_authority(AuthorityEnd.SHUTDOWN, order)
        if self.moving and order.at_once:
            self._brake_now(Event.ESTOP)
        elif self.moving:
            self._come_to_rest(ResultCode.CANCELLED, disable=True)
        return OrderOutcome.DONE

    def _advance(self, order: AdvanceTime, _: Inputs) -> OrderOutcome:
        if order.ticks < 0:
            return OrderOutcome.REFUSED_VALUE
        self._advance_ticks += max(0, order.ticks - 1)  # this tick is the first of them
        return OrderOutcome.DONE

    # Clearing.

    def _recover(self, _: Recover, inputs: Inputs) -> OrderOutcome:
        if self.state is not State.FAULT:
            nothing = self.fault.code is FaultCode.NONE
            return OrderOutcome.NOTHING_TO_DO if nothing else OrderOutcome.REFUSED_STATE
        tripped = self.fault.code is FaultCode.DEVICE_WATCHDOG
        if tripped and inputs.connected and inputs.device_status & int(DeviceStatus.FAULT):
            self.handshake_wanted = True
            return OrderOutcome.DONE
        return OrderOutcome.DONE if self._try_clear(inputs) else OrderOutcome.NOT_CLEARED

    def _try_clear(self, inputs: Inputs) -> bool:
        if self._still_there(inputs):
            return False
        self.fault, self.handshake_wanted = Fault(), False
        self._move(Event.CLEARED)
        return True

    def _still_there(self, inputs: Inputs) -> bool:
        code = self.fault.code
        if not self.switching.modelled:
            return True
        return self._watch.still_there(code, inputs, self._v) or self._beliefs.still_there(code)

    def _reset(self, _: Reset, inputs: Inputs) -> OrderOutcome:
        if self.state is not State.ESTOP:
            return OrderOutcome.NOTHING_TO_DO
        if not inputs.connected or self._still_there(inputs):
            return OrderOutcome.NOT_CLEARED
        self.fault = Fault()
        self._move(Event.RESET)
        return OrderOutcome.DONE
