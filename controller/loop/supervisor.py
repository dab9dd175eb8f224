"""The supervisor: takes orders, minds faults and tolerances, and says which reference the law follows.

It owns the state machine, the brake sequence and the motion under way. It computes no effort. Everything it decides
depends on its inputs alone, so that a lockstep run and a recorded run decide the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from controller.laws import LawKind
from controller.loop.brakes import BrakeSequence, Phase
from controller.loop.exchange import Inputs
from controller.loop.faults import Fault, FaultCode
from controller.loop.goals import Follow, GoalStatus, Hold, Jog, Motion
from controller.loop.limits import Limited
from controller.loop.states import Event, State, after
from controller.loop.watch import Watch
from controller.orders import NOW, Order, OrderKind, OrderOutcome
from controller.trajectories.block import BlockError, GoalBlock
from machine import Machine
from protocol.codes import DeviceStatus, ResultCode

Floats = NDArray[np.float64]
MAX_PENDING = 32
JOG_DEAD_MAN_S = 0.25
AT_REST_VELOCITY = 1e-3
"""rad/s or m/s below which damping has brought the machine to rest."""


class Supervisor:
    """State, brakes, motion, goal and fault of one machine.

    `slot` gives a goal slot's words; `sound` holds the ids of goal orders whose block was verified; `theta` is the
    estimate of all goal coordinates, kept current by the tick.
    """

    def __init__(
        self,
        machine: Machine,
        theta: Floats,
        q: Floats,
        v: Floats,
        slot: Callable[[int], Floats],
        sound: set[int],
    ) -> None:
        self._theta, self._q, self._v = theta, q, v
        self._slot, self._sound = slot, sound
        settings = machine.controller
        names = list(machine.mechanism.coordinate_names)
        self._home = np.array([names.index(name) for name in settings.goal_coordinates], np.int64)
        self._motion_law = LawKind.SERVO if settings.law == "servo" else LawKind.PIDC
        self._watch = Watch(machine)
        self.state = State.UNCONFIGURED
        self.brakes = BrakeSequence(max((motor.brake_release_s for motor in machine.motors), default=0.0))
        self.law = LawKind.HOLD
        self.motion: Motion = Hold(self._home, theta[self._home])
        self.fault = Fault()
        self.limited = Limited.NOTHING
        self.goal_id, self.goal_status, self.goal_code = 0, GoalStatus.NONE, 0
        self.goal_coordinate, self.goal_value, self.goal_limit = -1, 0.0, 0.0
        self.slots_in_use = 0
        self.order_id, self.order_outcome = 0, OrderOutcome.NONE
        self.leaving = False
        """A shutdown has been ordered; once inactive the loop may leave."""
        self.handshake_wanted = False
        """`recover` needs a fresh handshake with the plant before it can clear the fault."""
        self.advance_ticks = 0
        self._disabling = False
        self._settling_since_s = 0.0
        self._pending: list[Order] = []
        self._start_tolerance = np.array([tolerance.start for tolerance in settings.tolerances])
        self._scratch = np.zeros((4, len(names)))

    # -- one tick ---------------------------------------------------------------------------------------------

    def update(self, inputs: Inputs, tick: int, bad_sensor: int) -> None:
        """One tick: faults first, then the motion under way, then an order."""
        self._tick, self._time_s = tick, inputs.time_s
        self.order_id, self.order_outcome, self.limited = 0, OrderOutcome.NONE, Limited.NOTHING
        self.advance_ticks = max(0, self.advance_ticks - 1)
        if inputs.connected and self.state is State.UNCONFIGURED:
            self._move(Event.CONNECTED)
        moving = self.state in (State.ACTIVE, State.STOPPING)
        found = self._watch.look(inputs, self._q, self._v, bad_sensor, moving=moving)
        if found is not None and self.state is not State.UNCONFIGURED:
            self.raise_fault(*found)
        self.brakes.advance(inputs.time_s)
        self.motion.advance(inputs.time_s)
        if moving and self.state in (State.ACTIVE, State.STOPPING):
            self._progress()
        order = self._due(inputs.order)
        if order is not None:
            self.order_id = order.id
            self.order_outcome = self._obey(order, inputs)
        if self.fault.code is not FaultCode.NONE and self.handshake_wanted and inputs.connected:
            self._try_clear(inputs)

    def raise_fault(self, code: FaultCode, index: int = -1, value: float = 0.0, limit: float = 0.0) -> None:
        """Latches a fault (the first cause stays) and brakes. In an emergency stop the stop stays."""
        if self.fault.code is FaultCode.NONE:
            self.fault = Fault(code, index, value, limit, self._tick)
        if self.state is not State.FAULT:
            self._brake_now(Event.FAULT)

    @property
    def busy(self) -> bool:
        """Whether something is under way that lockstep time must run for."""
        return (
            self.advance_ticks > 0
            or self.handshake_wanted
            or self.state is State.STOPPING
            or self.brakes.changing
            or self.goal_status in (GoalStatus.RUNNING, GoalStatus.SETTLING, GoalStatus.STOPPING)
            or (self.goal_status is GoalStatus.PAUSED and not self.motion.resting)
            or isinstance(self.motion, Jog)
            or (self.state in (State.FAULT, State.ESTOP) and bool(np.any(self._v)) and self._watch.connected)
        )

    # -- motion -----------------------------------------------------------------------------------------------

    def _progress(self) -> None:
        motion = self.motion
        if isinstance(motion, Follow):
            self._follow(motion)
        elif isinstance(motion, Jog):
            self._jogging(motion)
        if self.state is State.STOPPING and not isinstance(self.motion, Follow | Jog):
            self._stopped()

    def _follow(self, goal: Follow) -> None:
        reference, velocity, acceleration, error = (row[: len(goal.index)] for row in self._scratch)
        goal.at(0.0, reference, velocity, acceleration)
        self._watch.deviation(goal.index, reference, self._theta, error)
        if not goal.stopping:
            self._tolerances(goal, error)
        elif goal.resting:
            self._end(GoalStatus.ENDED, self.goal_code)

    def _tolerances(self, goal: Follow, error: Floats) -> None:
        worst = int(np.argmax(error - goal.block.path_tolerance))
        if error[worst] > goal.block.path_tolerance[worst]:
            self._violated(goal, worst, error[worst], goal.block.path_tolerance[worst])
            self._stop_goal(goal, ResultCode.PATH_TOLERANCE_VIOLATED)
            self._move(Event.STOP)
            return
        if not goal.arrived:
            return
        if self.goal_status is not GoalStatus.SETTLING:
            self.goal_status, self._settling_since_s = GoalStatus.SETTLING, self._time_s
        worst = int(np.argmax(error - goal.block.goal_tolerance))
        if error[worst] <= goal.block.goal_tolerance[worst]:
            self._end(GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL)
        elif self._time_s - self._settling_since_s > goal.block.goal_time_s:
            self._violated(goal, worst, error[worst], goal.block.goal_tolerance[worst])
            self._end(GoalStatus.ENDED, ResultCode.GOAL_TOLERANCE_VIOLATED)

    def _violated(self, goal: Follow, which: int, value: float, limit: float) -> None:
        self.goal_coordinate = int(goal.index[which])
        self.goal_value, self.goal_limit = float(value), float(limit)

    def _stop_goal(self, goal: Follow, code: ResultCode) -> None:
        if not goal.stopping:
            goal.stop()
            self.goal_status, self.goal_code = GoalStatus.STOPPING, int(code)

    def _end(self, status: GoalStatus, code: int) -> None:
        """The goal is over; the machine holds where the reference stands."""
        self.goal_status, self.goal_code = status, int(code)
        self.slots_in_use = 0
        self._hold()

    def _jogging(self, jog: Jog) -> None:
        if self._watch.near_limit(self._q, self._v):
            self.limited |= Limited.JOG_POSITION
            jog.stop()
        if jog.resting:
            self._hold()

    def _hold(self) -> None:
        """Holds where the reference stands, in the coordinates it is in."""
        reference, velocity, acceleration, _ = (row[: len(self.motion.index)] for row in self._scratch)
        self.motion.at(0.0, reference, velocity, acceleration)
        self.motion, self.law = Hold(self.motion.index, reference), LawKind.HOLD

    def _hold_here(self) -> None:
        """Holds where the machine is, in the file's goal coordinates."""
        self.motion, self.law = Hold(self._home, self._theta[self._home]), LawKind.HOLD

    def _stopped(self) -> None:
        if self.law in (LawKind.FLOAT, LawKind.DAMP):
            if float(np.max(np.abs(self._v))) > AT_REST_VELOCITY:
                return
            self._hold_here()
        if not self._disabling:
            self._move(Event.AT_REST)
        elif self.brakes.phase is Phase.BRAKED:
            self._disabling = False
            self._move(Event.BRAKED)
        elif not self.brakes.changing or self.brakes.phase in (Phase.ENGAGING, Phase.RELEASING):
            self.brakes.disengage(self._time_s)

    def _brake_now(self, event: Event) -> None:
        if isinstance(self.motion, Follow):
            code = self.goal_code if self.goal_status is GoalStatus.STOPPING else ResultCode.FAULT
            self.goal_status, self.goal_code, self.slots_in_use = GoalStatus.ENDED, int(code), 0
        self._disabling = False
        self.brakes.drop()
        self._hold_here()
        self._move(event)

    def _move(self, event: Event) -> bool:
        following = after(self.state, event)
        if following is None:
            return False
        self.state = following
        return True

    # -- orders -----------------------------------------------------------------------------------------------

    def _due(self, arrived: Order | None) -> Order | None:
        """The order that takes effect now; one for a later tick waits."""
        if arrived is not None:
            if arrived.at_tick in (NOW, self._tick):
                return arrived
            if arrived.at_tick < self._tick or len(self._pending) >= MAX_PENDING:
                late = arrived.at_tick < self._tick
                self.order_id = arrived.id
                self.order_outcome = OrderOutcome.REFUSED_LATE if late else OrderOutcome.REFUSED_FULL
                self._sound.discard(arrived.id)
                return None
            self._pending.append(arrived)
            self._pending.sort(key=lambda order: (order.at_tick, order.id))
        if self._pending and self._pending[0].at_tick <= self._tick:
            return self._pending.pop(0)
        return None

    def _obey(self, order: Order, inputs: Inputs) -> OrderOutcome:
        match order.kind:
            case OrderKind.ENABLE:
                return self._enable(inputs)
            case OrderKind.GOAL:
                return self._accept(order)
            case OrderKind.JOG:
                return self._jog(order)
            case OrderKind.STOP | OrderKind.LEASE_LOST | OrderKind.DISABLE | OrderKind.SHUTDOWN:
                return self._come_to_rest(order)
            case OrderKind.CANCEL | OrderKind.PAUSE | OrderKind.RESUME | OrderKind.SPEED:
                return self._steer(order)
            case OrderKind.RECOVER:
                return self._recover(inputs)
            case OrderKind.ESTOP:
                self._brake_now(Event.ESTOP)
                return OrderOutcome.DONE
            case OrderKind.RESET:
                return self._reset(inputs)
            case OrderKind.LAW:
                return self._choose_law(order)
            case OrderKind.ADVANCE:
                if order.length < 0:
                    return OrderOutcome.REFUSED_VALUE
                self.advance_ticks += max(0, order.length - 1)  # this tick is the first of them
                return OrderOutcome.DONE
            case OrderKind.ADOPT:
                return OrderOutcome.DONE

    def _enable(self, inputs: Inputs) -> OrderOutcome:
        if self.state is State.ACTIVE:
            return OrderOutcome.NOTHING_TO_DO
        if not inputs.connected or self.leaving or not self._move(Event.ENABLE):
            return OrderOutcome.REFUSED_STATE
        self._hold_here()
        self.brakes.engage(self._time_s)
        return OrderOutcome.DONE

    def _accept(self, order: Order) -> OrderOutcome:
        sound = order.id in self._sound
        self._sound.discard(order.id)
        if self.state is not State.ACTIVE or self.brakes.phase is not Phase.RELEASED:
            return OrderOutcome.REFUSED_STATE
        if isinstance(self.motion, Follow | Jog):
            return OrderOutcome.REFUSED_BUSY
        if not sound:
            return OrderOutcome.REFUSED_BLOCK
        try:
            block = GoalBlock(self._slot(order.slot)[: order.length])
        except BlockError:
            return OrderOutcome.REFUSED_BLOCK
        if not self._begins_here(block):
            return OrderOutcome.REFUSED_START
        speed = order.arguments[0]
        if not 0.0 < speed <= 1.0:
            return OrderOutcome.REFUSED_VALUE
        self.motion = Follow(order.goal_id, block, self._time_s, speed)
        self.law = self._motion_law
        self.goal_id, self.goal_status, self.goal_code = order.goal_id, GoalStatus.RUNNING, 0
        self.goal_coordinate, self.goal_value, self.goal_limit = -1, 0.0, 0.0
        self.slots_in_use = 1 << order.slot
        return OrderOutcome.DONE

    def _begins_here(self, block: GoalBlock) -> bool:
        index = block.coordinates
        start, rate, change, here = (row[: len(index)] for row in self._scratch)
        block.evaluate(0.0, start, rate, change)
        allowed = self._start_tolerance[index]
        if np.any(np.abs(rate) > allowed):
            return False
        here[:] = self._theta[index]
        if self.law is LawKind.HOLD and np.array_equal(self.motion.index, index):
            self.motion.at(0.0, here, rate, change)
        return bool(np.all(np.abs(start - here) <= allowed))

    def _jog(self, order: Order) -> OrderOutcome:
        if self.state is not State.ACTIVE or self.brakes.phase is not Phase.RELEASED:
            return OrderOutcome.REFUSED_STATE
        if isinstance(self.motion, Follow):
            return OrderOutcome.REFUSED_BUSY
        pairs = order.arguments[: 2 * order.length]
        index = self._watch.jog_set([int(number) for number in pairs[::2]])
        if index is None:
            return OrderOutcome.REFUSED_VALUE
        velocity = np.zeros(len(index))
        for number, rate in zip(pairs[::2], pairs[1::2], strict=True):
            velocity[int(np.flatnonzero(index == int(number))[0])] = rate
        if not isinstance(self.motion, Jog):
            self.motion = Jog(index, self._theta[index], self._watch.jog_limits(index), self._time_s)
            self.law = self._motion_law
        elif not np.array_equal(self.motion.index, index):
            return OrderOutcome.REFUSED_BUSY
        if self.motion.want(velocity, self._time_s + JOG_DEAD_MAN_S):
            self.limited |= Limited.JOG_VELOCITY
        return OrderOutcome.DONE

    def _come_to_rest(self, order: Order) -> OrderOutcome:
        leaving = order.kind is OrderKind.SHUTDOWN
        self.leaving = self.leaving or leaving
        if leaving and order.length:
            if self.state in (State.ACTIVE, State.STOPPING):
                self._brake_now(Event.ESTOP)
            return OrderOutcome.DONE
        moving = isinstance(self.motion, Follow | Jog) or self.law in (LawKind.FLOAT, LawKind.DAMP)
        off = leaving or order.kind is OrderKind.DISABLE
        if self.state in (State.ACTIVE, State.STOPPING):
            if isinstance(self.motion, Follow):
                lost = order.kind is OrderKind.LEASE_LOST
                self._stop_goal(self.motion, ResultCode.LEASE_LOST if lost else ResultCode.CANCELLED)
            elif isinstance(self.motion, Jog):
                self.motion.stop()
            elif self.law is LawKind.FLOAT:
                self.law = LawKind.DAMP
            self._disabling = self._disabling or off
            if not (moving or off):
                return OrderOutcome.NOTHING_TO_DO
        if not self._move(Event.DISABLE if off else Event.STOP):
            return OrderOutcome.REFUSED_STATE if not leaving else OrderOutcome.DONE
        return OrderOutcome.DONE if moving or off else OrderOutcome.NOTHING_TO_DO

    def _steer(self, order: Order) -> OrderOutcome:
        goal = self.motion
        if not isinstance(goal, Follow) or goal.stopping or (order.goal_id and order.goal_id != goal.goal_id):
            return OrderOutcome.NOTHING_TO_DO
        if order.kind is OrderKind.CANCEL:
            self._stop_goal(goal, ResultCode.CANCELLED)
            self._move(Event.STOP)
        elif order.kind is OrderKind.PAUSE:
            goal.pause()
            self.goal_status = GoalStatus.PAUSED
        elif order.kind is OrderKind.RESUME:
            goal.resume()
            self.goal_status = GoalStatus.RUNNING
        elif not 0.0 <= order.arguments[0] <= 1.0:
            return OrderOutcome.REFUSED_VALUE
        else:
            goal.set_speed(order.arguments[0])
        return OrderOutcome.DONE

    def _choose_law(self, order: Order) -> OrderOutcome:
        allowed = (LawKind.HOLD, LawKind.FLOAT, LawKind.DAMP)
        if order.length not in allowed:
            return OrderOutcome.REFUSED_VALUE
        if self.state is not State.ACTIVE or self.brakes.phase is not Phase.RELEASED:
            return OrderOutcome.REFUSED_STATE
        if isinstance(self.motion, Follow | Jog):
            return OrderOutcome.REFUSED_BUSY
        self._hold_here()
        self.law = LawKind(order.length)
        return OrderOutcome.DONE

    # -- clearing ---------------------------------------------------------------------------------------------

    def _recover(self, inputs: Inputs) -> OrderOutcome:
        if self.state is not State.FAULT:
            return OrderOutcome.NOTHING_TO_DO if self.fault.code is FaultCode.NONE else OrderOutcome.REFUSED_STATE
        if self.fault.code is FaultCode.DEVICE_WATCHDOG and inputs.device_status & DeviceStatus.FAULT:
            self.handshake_wanted = True
            return OrderOutcome.DONE
        return OrderOutcome.DONE if self._try_clear(inputs) else OrderOutcome.NOT_CLEARED

    def _try_clear(self, inputs: Inputs) -> bool:
        if self._watch.still_there(self.fault.code, inputs, self._v):
            return False
        self.fault, self.handshake_wanted = Fault(), False
        self._move(Event.CLEARED)
        return True

    def _reset(self, inputs: Inputs) -> OrderOutcome:
        if self.state is not State.ESTOP:
            return OrderOutcome.NOTHING_TO_DO
        if not inputs.connected or self._watch.still_there(self.fault.code, inputs, self._v):
            return OrderOutcome.NOT_CLEARED
        self.fault = Fault()
        self._move(Event.RESET)
        return OrderOutcome.DONE
