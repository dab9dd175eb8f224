"""Handlers of orders: each decides whether the machine may obey now, and returns the outcome."""

from collections.abc import Callable
from typing import Any

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
    SetGainMatrices,
    SetGains,
    SetOutputs,
    SetPayload,
    SetPreload,
    SetSpeed,
    SetTemperatures,
    Shutdown,
    StartGoal,
    StartStream,
    Stop,
    SuggestPose,
    SwitchConstraint,
)
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import Event, State
from linkwork.controller.supervision.supervised_machine import SupervisedMachine
from linkwork.protocol.codes import DeviceStatus, ResultCode


class OrderHandlers:
    """Carries out orders on one machine."""

    def __init__(self, machine: SupervisedMachine) -> None:
        self._machine = machine
        self._handlers = self._handlers_of_orders()

    def carry_out(self, order: Order, inputs: Inputs) -> OrderOutcome:
        """Carry out an order in a tick with these inputs; return its outcome."""
        return self._handlers[type(order)](order, inputs)

    def _handlers_of_orders(self) -> dict[type[Order], Callable[[Any, Inputs], OrderOutcome]]:
        """Return the handler of each kind of order; it gets the order and the inputs of the tick."""
        machine = self._machine
        return {
            Enable: self._enable,
            Disable: self._disable,
            StartGoal: self._start_goal,
            Stop: self._stop,
            CancelGoal: self._cancel,
            Pause: lambda order, _: machine.executor.steer(order),
            Resume: lambda order, _: machine.executor.steer(order),
            SetSpeed: lambda order, _: machine.executor.steer(order),
            JogCoordinates: self._jog,
            Recover: self._recover,
            EmergencyStop: self._stop_at_once,
            Reset: self._reset,
            AdvanceTime: self._advance,
            ChooseLaw: self._choose_law,
            Adopt: lambda *_: OrderOutcome.DONE,
            Shutdown: self._leave,
            LeaseLost: self._lose_lease,
            SetPreload: lambda order, _: machine.preload.obey(order),
            ConfirmBranch: self._confirm_branch,
            SuggestPose: self._suggest_pose,
            ReportDifference: self._differs,
            SetGains: lambda order, _: machine.tune(order),
            SetGainMatrices: lambda order, _: machine.tune(order),
            SetPayload: lambda order, _: machine.tune(order),
            SwitchConstraint: self._switch,
            SetOutputs: self._set_outputs,
            SetTemperatures: self._set_temperatures,
            StartStream: self._start_stream,
            Finish: lambda order, _: machine.executor.finish(order),
        }

    def _enable(self, _: Enable, inputs: Inputs) -> OrderOutcome:
        machine = self._machine
        if machine.state is State.ACTIVE:
            return OrderOutcome.NOTHING_TO_DO
        if machine.state is State.INACTIVE and not machine.estimate_monitor.confirmed:
            return OrderOutcome.REFUSED_BRANCH
        if not inputs.connected or machine.leaving or not machine.move(Event.ENABLE):
            return OrderOutcome.REFUSED_STATE
        machine.executor.hold_here()
        machine.brakes.engage(machine.time_s)
        return OrderOutcome.DONE

    def _confirm_branch(self, _: ConfirmBranch, inputs: Inputs) -> OrderOutcome:
        if not inputs.connected:
            return OrderOutcome.REFUSED_STATE
        if self._machine.estimate_monitor.confirmed:
            return OrderOutcome.NOTHING_TO_DO
        return OrderOutcome.DONE if self._machine.estimate_monitor.confirm() else OrderOutcome.REFUSED_VALUE

    def _suggest_pose(self, order: SuggestPose, inputs: Inputs) -> OrderOutcome:
        """Begin the estimate at another pose, while the brakes hold the machine."""
        machine = self._machine
        if not inputs.connected or machine.moving or machine.brakes.phase is not Phase.BRAKED:
            return OrderOutcome.REFUSED_STATE
        return (
            OrderOutcome.DONE if machine.estimate_monitor.suggest(order.pairs) else OrderOutcome.REFUSED_VALUE
        )

    def _start_goal(self, order: StartGoal, inputs: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        if refused is None and not inputs.device_status & int(DeviceStatus.HOMED):
            refused = OrderOutcome.REFUSED_NOT_HOMED
        return self._machine.executor.accept(order) if refused is None else refused

    def _start_stream(self, order: StartStream, inputs: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        if refused is None and not inputs.device_status & int(DeviceStatus.HOMED):
            refused = OrderOutcome.REFUSED_NOT_HOMED
        return self._machine.executor.begin_stream(order) if refused is None else refused

    def _jog(self, order: JogCoordinates, _: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        return self._machine.executor.jog(order) if refused is None else refused

    def _choose_law(self, order: ChooseLaw, _: Inputs) -> OrderOutcome:
        refused = self._not_ready_to_move()
        return self._machine.executor.choose(order) if refused is None else refused

    def _not_ready_to_move(self) -> OrderOutcome | None:
        """The reason why no motion may begin now."""
        machine = self._machine
        if machine.state is not State.ACTIVE or machine.brakes.phase is not Phase.RELEASED:
            return OrderOutcome.REFUSED_STATE
        return OrderOutcome.REFUSED_BUSY if machine.switching.wanted >= 0 else None

    def _switch(self, order: SwitchConstraint, inputs: Inputs) -> OrderOutcome:
        """Ask the device for another set of constraints; the machine holds, or is braked."""
        machine = self._machine
        switching, here = (
            machine.switching,
            machine.state is State.ACTIVE or machine.state is State.INACTIVE,
        )
        if not inputs.connected or not here or machine.brakes.changing:
            return OrderOutcome.REFUSED_STATE
        if machine.executor.under_way or machine.executor.pressing.control.pressing or switching.wanted >= 0:
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
        return (
            OrderOutcome.REFUSED_VALUE if self._machine.outputs is None else self._machine.outputs.set(order)
        )

    def _set_temperatures(self, order: SetTemperatures, _: Inputs) -> OrderOutcome:
        """Continue an earlier estimate of the motors' temperatures."""
        heat, told = self._machine.heat, dict(order.pairs)
        if heat is None or not all(0 <= at < 2 * heat.n and at ^ 1 in told for at in told):
            return OrderOutcome.REFUSED_VALUE
        for at in range(0, 2 * heat.n, 2):
            if at in told:
                heat.set(at // 2, told[at], told[at + 1])
        return OrderOutcome.DONE

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
        dropped = self._machine.end_authority(why, order)
        outcome = self._machine.come_to_rest(code, disable=disable)
        return OrderOutcome.DONE if dropped and outcome is OrderOutcome.NOTHING_TO_DO else outcome

    def _stop_at_once(self, order: EmergencyStop, _: Inputs) -> OrderOutcome:
        self._machine.brake_now(Event.ESTOP)
        pending = self._machine.pending
        pending.authority = max(pending.authority, order.authority)
        return OrderOutcome.DONE

    def _cancel(self, order: CancelGoal, _: Inputs) -> OrderOutcome:
        """End the goal under way, or remove one that waits. With a cause the authority ends too."""
        machine = self._machine
        if order.waiting:
            dropped = machine.pending.drop(order.waiting)
            return OrderOutcome.DONE if dropped else OrderOutcome.NOTHING_TO_DO
        if order.goal not in (0, machine.executor.goal_state.id):
            return self._withdraw(order.goal)
        if order.cause is None:
            return machine.come_to_rest(ResultCode.CANCELLED, disable=False)
        machine.end_authority(AuthorityEnd.INFEASIBLE, order)
        return machine.come_to_rest(order.cause, disable=False)

    def _withdraw(self, goal: int) -> OrderOutcome:
        """A goal that waits shall not begin."""
        done = self._machine.pending.withdraw(goal, self._machine.executor)
        return OrderOutcome.DONE if done else OrderOutcome.NOTHING_TO_DO

    def _differs(self, order: ReportDifference, _: Inputs) -> OrderOutcome:
        machine = self._machine
        if not machine.moving:
            return OrderOutcome.NOTHING_TO_DO
        if not order.fault:
            machine.end_authority(AuthorityEnd.DIFFERENCE, order)
            return machine.come_to_rest(ResultCode.MODEL_DIFFERENCE, disable=False)
        machine.raise_fault(FaultCode.MODEL_DIFFERENCE, order.which, order.value, order.limit)
        return OrderOutcome.DONE

    def _leave(self, order: Shutdown, _: Inputs) -> OrderOutcome:
        machine = self._machine
        machine.leaving = True
        machine.end_authority(AuthorityEnd.SHUTDOWN, order)
        if machine.moving and order.at_once:
            machine.brake_now(Event.ESTOP)
        elif machine.moving:
            machine.come_to_rest(ResultCode.CANCELLED, disable=True)
        return OrderOutcome.DONE

    def _advance(self, order: AdvanceTime, _: Inputs) -> OrderOutcome:
        if order.ticks < 0:
            return OrderOutcome.REFUSED_VALUE
        self._machine.advance_ticks += max(0, order.ticks - 1)  # this tick is the first of them
        return OrderOutcome.DONE

    def _recover(self, _: Recover, inputs: Inputs) -> OrderOutcome:
        machine = self._machine
        if machine.state is not State.FAULT:
            nothing = machine.fault.code is FaultCode.NONE
            return OrderOutcome.NOTHING_TO_DO if nothing else OrderOutcome.REFUSED_STATE
        tripped = machine.fault.code is FaultCode.DEVICE_WATCHDOG
        if tripped and inputs.connected and inputs.device_status & int(DeviceStatus.FAULT):
            machine.handshake_wanted = True
            return OrderOutcome.DONE
        return OrderOutcome.DONE if machine.try_clear(inputs) else OrderOutcome.NOT_CLEARED

    def _reset(self, _: Reset, inputs: Inputs) -> OrderOutcome:
        machine = self._machine
        if machine.state is not State.ESTOP:
            return OrderOutcome.NOTHING_TO_DO
        if not inputs.connected or machine.still_there(inputs):
            return OrderOutcome.NOT_CLEARED
        machine.fault = Fault()
        machine.move(Event.RESET)
        return OrderOutcome.DONE
