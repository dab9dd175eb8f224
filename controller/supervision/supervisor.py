"""The supervisor: takes orders, handles faults, and decides whether the machine is braked or in motion.

It owns the state machine, the brake sequence and the latched fault, and computes no effort. Everything it
decides depends on its inputs alone, so that a lockstep run and a replayed run decide the same.
"""

from collections.abc import Callable

from linkwork.arrays import Floats
from linkwork.controller.estimation.estimate_quality import Quality
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import AuthorityEnd, Order, OrderOutcome
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.supervision.order_handlers import OrderHandlers
from linkwork.controller.supervision.state_machine import ACTIVE, STOPPING, UNCONFIGURED, Event
from linkwork.controller.supervision.supervised_machine import SupervisedMachine
from linkwork.machine import Machine
from linkwork.machine.motor_heat import ThermalModel
from linkwork.multibody import Workspace

_NO_OUTCOME = OrderOutcome.NONE


class Supervisor(SupervisedMachine):
    """A machine that is supervised tick by tick; arguments as of `SupervisedMachine`."""

    def __init__(
        self, machine: Machine, estimate: Workspace, quality: Quality, slot: Callable[[int], Floats]
    ) -> None:
        super().__init__(machine, estimate, quality, slot)
        self._orders = OrderHandlers(self)

    def update(self, inputs: Inputs, tick: int, bad_sensor: int) -> None:
        """One tick: faults first, then the motion under way, then an order."""
        self.tick, self.time_s = tick, inputs.time_s
        self.order_id, self.order_outcome = 0, _NO_OUTCOME
        executor, state = self.executor, self.state
        if self.outputs is not None:
            self.outputs.begin_tick(inputs)
        moving = state is ACTIVE or state is STOPPING
        if self.switching.unasked >= 0 and state is not UNCONFIGURED:
            self.switched_by_itself(moving=moving)
            moving = self.moving
        self._braked_ticks = 0 if moving else self._braked_ticks + 1
        if self.advance_ticks:
            self.advance_ticks -= 1
        if state is UNCONFIGURED and inputs.connected:
            self.move(Event.CONNECTED)
        found = self._watch.check(
            inputs,
            self._q,
            self._v,
            bad_sensor,
            moving=moving,
            following=moving and executor.motion.follows,
        )
        if self.estimate_monitor.needed:
            doubt = self.estimate_monitor.check()
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
                self.move(Event.STOP)
                self.end_authority(AuthorityEnd.TOLERANCE)
            if self.state is STOPPING and executor.settled():
                self.stopped()
            if not executor.on_path:
                astray = self._following_error.check(executor.motion, executor.now, executor.law)
                if astray is not None:
                    self.raise_fault(*astray)
        if self.heat is not None:
            self._mind_heat(self.heat, moving=moving)
        order, pending = None, self.pending
        if inputs.order is not None or pending.timed or pending.goals.waiting:
            order = self._due(inputs.order)
        if order is not None:
            self.order_id = order.id
            self.order_outcome = self._orders.carry_out(order, inputs)
        if self.outputs is not None:
            self.outputs.act(executor.goal)
        if self.handshake_wanted and inputs.connected:
            self.try_clear(inputs)

    def _mind_heat(self, heat: ThermalModel, *, moving: bool) -> None:
        """Fault where a winding is at its largest temperature; say when efforts are lowered before that."""
        if not (moving and heat.derated):
            return
        self.executor.limited |= int(Limited.HEAT)
        at = heat.hottest()
        if at is not None:
            hot, most = float(heat.winding[at]), float(heat.ambient[at] + heat.rise[at])
            self.raise_fault(FaultCode.MOTOR_TEMPERATURE, int(heat.motor[at]), hot, most)

    def _due(self, arrived: Order | None) -> Order | None:
        """The order that takes effect now; one for a later tick waits, and so does a goal for another one."""
        refused = self.pending.refusal(arrived, self.tick) if arrived is not None else None
        if arrived is not None and refused is not None:
            self.order_id, self.order_outcome = arrived.id, refused
            return None
        return self.pending.due(arrived, self.tick, self.executor)
