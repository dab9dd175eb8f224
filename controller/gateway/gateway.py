"""The gateway: owns every client socket, supervises loop and planner, and keeps lease, log and history.

One thread, one poll loop (`server.py`). No function here may block: work that takes time registers a
callback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.controller.controller_options import GatewayOptions
from linkwork.controller.exchange.orders import LeaseLost
from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.gateway.goals.goal_queue import GoalQueue, StreamIntake
from linkwork.controller.gateway.goals.planner_jobs import Planning
from linkwork.controller.gateway.history import Memory, Requester
from linkwork.controller.gateway.loop_host import LoopHost
from linkwork.controller.gateway.order_queue import OrderQueue
from linkwork.controller.gateway.records.broadcast import Broadcast
from linkwork.controller.gateway.records.flight_record import Aftermath, FlightRecorder
from linkwork.controller.gateway.records.intake import RecordIntake
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.messages import Messages, in_motion, state_name
from linkwork.controller.gateway.requests.call import Call, PendingResult
from linkwork.controller.gateway.requests.lease import Lease, LeaseChange, LeaseHeld
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.protocol.codes import ORDER_HORIZON_S, Pace, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.request_messages import pack_notification
from linkwork.protocol.results import FaultState
from linkwork.timing.clock import Clock
from linkwork.timing.memory import give_back

if TYPE_CHECKING:
    from linkwork.controller.gateway.records.kept_temperatures import KeptTemperatures
    from linkwork.controller.gateway.twin.twin_watch import TwinWatch

GIVE_BACK_EVERY_NS = 10_000_000_000
"""Wall time after which memory that was freed goes back to the system."""
PRESSING_MS, BUSY_MS, IDLE_MS = 1, 8, 10
SUSPENDED_NS = 500_000_000
"""Time between two rounds of work after which the gateway counts as having been suspended."""
ORDERS_UNSEEN = 1_000_000
"""An adopted loop may hold orders of the gateway before this one; new ones are numbered well beyond them."""


_HOW_ENDED = {
    "released": "released",
    "expired": "lost",
    "taken_over": "taken over",
    "acquired": "taken",
    "revoked": "revoked",
}


@dataclass
class LiveTuning:
    """Settings of the machine that requests have changed while it runs.

    payloads: by point, in the planner's form. loads: number of payload changes. gains:
    bandwidth (rad/s) and damping ratio requested last; None: not requested.
    """

    payloads: dict[str, tuple[float, ...]] = field(default_factory=dict)
    loads: int = 0
    gains: tuple[float, float] | None = None


class Gateway:
    """The gateway's state, and what happens to it. Sockets are polled elsewhere."""

    def __init__(
        self,
        options: GatewayOptions,
        machine: Machine,
        layout: RecordLayout,
        host: LoopHost,
        planning: Planning,
        broadcast: Broadcast,
        log: Log | None,
        flights: FlightRecorder,
        clock: Clock,
    ) -> None:
        self.options, self.machine, self.layout = options, machine, layout
        self.sets = constraint_sets(machine)
        """The machine under each set of its switchable constraints, or why it cannot be run there."""
        self.host, self.planning, self.broadcast = host, planning, broadcast
        self.log = log
        self.wording = Messages(machine)
        self.lease = Lease(machine.controller.lease_s)
        self.order_queue, self.memory, self.goal_queue = OrderQueue(), Memory(), GoalQueue()
        self.aftermath = Aftermath(flights, self.memory)
        self.tuning = LiveTuning()
        self.latest: np.void | None = None
        self.records = RecordIntake(self)
        self.loops_started = 0
        self.twin_watch: TwinWatch | None = None
        self.temperatures: KeptTemperatures | None = None
        """Keeps the motors' estimated temperatures; None of a machine without a thermal model of them."""
        self.leaving = False
        """A shutdown is under way: new motions are refused."""
        self.now_ns = clock.now_ns()
        self._goal = self._gave_back_ns = 0
        self._timers: list[tuple[int, Callable[[], None]]] = []

    # What handlers ask.

    @property
    def closed(self) -> int:
        """The set of the switchable constraints that hold, as a bit mask; -1 without any."""
        if self.latest is None or not self.machine.switchable:
            return self.machine.closed_at_start
        return sum(1 << bit for bit, on in enumerate(self.latest["closed"]) if on)

    @property
    def held(self) -> Machine:
        """The machine under the constraints that hold; as it starts, where it cannot be run under these."""
        found = self.sets[self.closed]
        return self.machine if isinstance(found, str) else found

    @property
    def tick(self) -> int:
        """Number of the newest tick; -1 before the first."""
        return int(self.latest["tick"]) if self.latest is not None else -1

    @property
    def state_name(self) -> str:
        """The newest state."""
        return state_name(self.latest) if self.latest is not None else "unconfigured"

    @property
    def time_stands(self) -> bool:
        """Whether lockstep time is stopped, with all orders executed and all records received."""
        shared = self.host.shared
        if shared is None or not self.host.ready or self.order_queue.busy:
            return False
        return shared.stands and shared.head == self.records.since

    @property
    def in_motion(self) -> bool:
        """Whether a motion is active that needs a lease."""
        return self.latest is not None and in_motion(self.latest)

    @property
    def connection_record(self) -> np.void | None:
        """The record that shows the plant's state, or None when only the link's text is available.

        In lockstep a plant may be connected before time has run for the first tick.
        """
        standing = self.options.pace is Pace.LOCKSTEP and self.host.link_text.startswith("connected")
        known = self.latest is not None and bool(self.latest["connected"])
        return self.latest if known or not standing else None

    def fault_of(self, record: np.void) -> FaultState | None:
        """The latched fault, with the path of its flight record where there is one."""
        if not int(record["fault"]):
            return None
        return self.memory.fault_at(int(record["fault_tick"])) or self.wording.fault(record)

    def next_goal(self) -> int:
        """A number for a new goal."""
        self._goal += 1
        return self._goal

    def need_owner(self, call: Call) -> None:
        """Refuse a request that does not say in whose name it is made."""
        if not call.owner:
            text = "as: the name of the client is missing, such as user@host; the lease belongs to a name"
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["as"])

    def borrow(self, call: Call) -> None:
        """Check that the client may move the machine."""
        if self.leaving:
            raise RequestError(RequestCode.WRONG_STATE, "the controller is being shut down")
        self.need_owner(call)
        self.change_lease(
            lambda: self.lease.borrow(call.owner, self.now_ns, key=call.key, in_motion=self.in_motion)
        )

    def change_lease(self, act: Callable[[], LeaseChange | None]) -> None:
        """Act on the lease; a live owner who is in the way is named in the refusal."""
        try:
            change = act()
        except LeaseHeld as held:
            text = (
                f"{held.owner} holds the lease, for another {held.left_s:.1f} s unless renewed; "
                f"ask {held.owner} to end that program, or take the lease over with "
                "`Robot(take_over=True)`; `stop` and `estop` need no lease"
            )
            data = {"owner": held.owner, "left_s": round(held.left_s, 3)}
            raise RequestError(RequestCode.NOT_OWNER, text, ["as"], data) from None
        self._lease_changed(change)

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Act a little later."""
        self._timers.append((self.now_ns + round(1e9 * seconds), act))

    def pause(self, seconds: float) -> PendingResult[None]:
        """Await a later time."""
        awaited: PendingResult[None] = PendingResult()
        self.after(seconds, lambda: awaited(None))
        return awaited

    def check_tick(self, at_tick: int | None) -> None:
        """Refuse a request for a tick beyond the horizon."""
        ahead = round(ORDER_HORIZON_S / self.machine.period_s)
        if at_tick is not None and at_tick - self.tick > ahead:
            text = (
                f"at_tick: {at_tick} is more than {ORDER_HORIZON_S:g} s ({ahead} ticks) ahead of tick "
                f"{self.tick}; ask again nearer to it, for a tick up to {self.tick + ahead}"
            )
            data = {"tick": self.tick, "latest": self.tick + ahead}
            raise RequestError(RequestCode.INVALID_PARAMS, text, ["at_tick"], data)

    def still_owner(self, call: Call) -> bool:
        """Whether the client that asked has a lease that has not ended."""
        return self.lease.held_by(call.owner, call.key) and self.lease.left_s(self.now_ns) > 0.0

    def goal_refused(self, goal: int, error: RequestError, requester: Requester) -> None:
        """A goal for a later tick was refused, or cancelled, before it began."""
        code = error.code if error.code < 0 else ResultCode.INVALID_GOAL
        result = {
            "goal": goal, "code": int(code), "name": ResultCode(code).name, "text": error.message,
            "tick": self.tick, "time_s": float(self.latest["time_s"]) if self.latest is not None else 0.0,
            "coordinate": None, "value": None, "limit": None,
        }  # fmt: skip
        self.records.reports.complete(result)
        self.memory.end(result)  # type: ignore[arg-type]
        self.publish("goal.result", result, requester)

    # What happens.

    def loop_ready(self) -> None:
        """Begin with a loop, new or adopted."""
        shared, outbox = self.host.shared, self.host.outbox
        assert shared is not None
        assert outbox is not None
        next_order = authority = 1
        self.latest, since, known = None, 0, None
        newest = shared.set_points.newest if self.host.adopted else self.goal_queue.stream.next_number - 1
        self.goal_queue, self.tuning.gains = GoalQueue(), None
        self.goal_queue.stream = StreamIntake(next_number=newest + 1, taken=newest)
        if not self.host.adopted:
            self.tuning.payloads = {}  # a new loop has no payloads
        if self.host.adopted:
            words, first, _ = shared.read_records(0)
            seen = words.view(self.layout.dtype)[:, 0]
            since = shared.tail  # records that the previous gateway has logged
            if first < since <= first + len(seen):
                known = seen[since - 1 - first]  # it has published the events up to here
            if len(seen):
                next_order = int(seen["order_id"].max()) + ORDERS_UNSEEN
                self._goal = max(self._goal, int(seen["goal_id"].max()))
                authority = int(seen["authority"][-1])
        self.records.begin(since, known)
        self.loops_started += 1
        if self.twin_watch is not None:
            self.twin_watch.begin()
        self.host.ready = True
        self.order_queue.connect(outbox, next_order, authority)
        if self.temperatures is not None and not self.host.adopted:
            orders, text = self.temperatures.begin()
            for order in orders:
                self.order_queue.place(order, self.temperatures.continued, now_ns=self.now_ns)
            self.aside("heat", {"text": text})

    def loop_ended(self) -> None:
        """Handle the end of the loop: take its last records and answer all waiting calls."""
        self.records.drain(last=True)
        self.host.ready = False
        status = self.host.returncode
        reason = f"the real-time loop ended unexpectedly (status {status}); a new one is started, inactive"
        if self.latest is not None and not self.leaving:
            ended = {"tick": self.tick, "name": "LOOP_ENDED", "text": reason}
            self.aftermath.now(self.host.shared, ended)
            progress = self.wording.progress(self.latest)
            if progress is not None:
                self._goal_lost(progress["goal"], reason)
        self.order_queue.disconnect(RequestError(RequestCode.NO_LOOP, reason))
        self.planning.drop_motions("the real-time loop ended")
        if self.temperatures is not None:
            self.temperatures.keep(self.latest)
        self.latest = None
        if not self.leaving:
            self.aside("loop", {"text": reason})

    def _goal_lost(self, goal: int, reason: str) -> None:
        assert self.latest is not None
        result = self.wording.result(self.latest)
        result |= {"goal": goal, "code": int(ResultCode.FAULT), "name": "FAULT", "text": reason}
        result |= {"coordinate": None, "value": None, "limit": None}
        self.records.reports.complete(result)  # type: ignore[arg-type]
        self.memory.end(result)
        self.publish("goal.result", dict(result), self.memory.owner_of(goal))

    def publish(self, name: str, content: Mapping[str, Any], requester: Requester | None = None) -> None:
        """Publish an event to all subscribers, and to the requester that it concerns.

        name, content: of the event, plain data (protocol/README.md).
        """
        self.broadcast.event(name, self.broadcast.timestamp(self.latest), content)
        if requester is not None:
            requester.server.send(requester.peer, pack_notification(name, content))

    def aside(self, name: str, content: dict[str, Any]) -> None:
        """Publish an event that no record shows; it is logged too, unless the log must depend on records
        alone."""
        self.publish(name, content)
        self.note(name, content)

    def note(self, name: str, content: Mapping[str, Any]) -> None:
        """An event for the log, if that may depend on more than records."""
        if self.log is not None and self.options.pace is not Pace.LOCKSTEP:
            self.records.note(name, content)

    def wake(self, now_ns: int) -> None:
        """Begin a round of work. The lease lasts longer by a time in which the gateway was suspended."""
        if now_ns - self.now_ns > SUSPENDED_NS:
            self.lease.extend(now_ns - self.now_ns)
        self.now_ns = now_ns

    def attend(self) -> None:
        """Periodic work: lease, time-outs, flight record, log."""
        self._settle_lease()
        if self.twin_watch is not None:
            self.twin_watch.attend()
        self.order_queue.send()
        self.order_queue.expire(self.now_ns)
        due = [act for at, act in self._timers if at <= self.now_ns]
        self._timers = [timer for timer in self._timers if timer[0] > self.now_ns]
        for act in due:
            act()
        if self.temperatures is not None and self.latest is not None:
            self.temperatures.note(self.latest)
        self.aftermath.attend(self.tick, self.now_ns, self.host.shared)
        if self.log is not None:
            self.log.flush(self.now_ns)
        self.records.report_files()
        if self.host.ready and self.now_ns - self._gave_back_ns > GIVE_BACK_EVERY_NS:
            self._gave_back_ns = self.now_ns
            give_back()

    @property
    def patience_ms(self) -> int:
        """Longest time until the records must be polled without another event."""
        if self.records.behind:
            return 0
        held = self.twin_watch is not None and self.twin_watch.pressing
        if held or self.order_queue.pressing or self._timers or self.aftermath.busy:
            return PRESSING_MS
        return BUSY_MS if self.order_queue.busy or self.in_motion else IDLE_MS

    def _settle_lease(self) -> None:
        in_use = self.order_queue.in_use or self.planning.in_use
        change = self.lease.settle(
            self.now_ns, in_use=in_use, in_motion=self.in_motion, pending=bool(self.order_queue.revocable)
        )
        self._lease_changed(change)

    def _lease_changed(self, change: LeaseChange | None) -> None:
        if change is None:
            return
        if change.before is not None:
            if change.motion_lost or self.order_queue.bound:
                self.order_queue.place(LeaseLost(), lambda _: None, now_ns=self.now_ns, urgent=True)
            self.planning.drop_motions(f"the lease of {change.before} was {_HOW_ENDED[change.reason]}")
        self.aside("lease", dict(self.lease.as_map(self.now_ns, change.reason)))

    def close(self) -> None:
        """Process the last records and complete the files."""
        self.records.drain(last=True)
        if self.temperatures is not None:
            self.temperatures.keep(self.latest)
        self.aftermath.close(self.host.shared)
        if self.log is not None:
            self.log.close()
