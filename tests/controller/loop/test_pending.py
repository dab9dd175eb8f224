"""Orders for a later tick: what ends all motion ends them too, whatever comes after."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.goal_block import pack_block
from linkwork.controller.exchange.order_socket import OrderInbox, OrderOutbox
from linkwork.controller.exchange.orders import (
    BY_NAME,
    NOW,
    Adopt,
    AuthorityEnd,
    CancelGoal,
    ChooseLaw,
    Disable,
    EmergencyStop,
    Enable,
    JogCoordinates,
    LeaseLost,
    Order,
    OrderOutcome,
    Recover,
    ReportDifference,
    Reset,
    Resume,
    SetPayload,
    SetTemperatures,
    Splice,
    StartGoal,
    Stop,
)
from linkwork.controller.gateway.order_queue import Asked, OrderEffect, OrderQueue
from linkwork.controller.gateway.requests.lease import Lease, LeaseHeld
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.protocol.codes import ORDER_HORIZON_S, PENDING_GOALS, PENDING_ORDERS, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.examples_of_orders import examples_of_orders
from tests.controller.loop.in_process import InProcess

FOREVER = 10**6
JOG = JogCoordinates(((3, 0.02),))


@pytest.fixture
def rig() -> InProcess:
    rig = InProcess()
    rig.enable()
    return rig


def fault(rig: InProcess) -> None:
    rig.supervisor.raise_fault(FaultCode.SINGULAR_POSE, -1, 0.0, 1.0)


def ordered(order: Order) -> Callable[[InProcess], None]:
    return lambda rig: rig.order(order) and None


ENDS: dict[AuthorityEnd, Callable[[InProcess], None]] = {
    AuthorityEnd.STOP: ordered(Stop()),
    AuthorityEnd.DISABLE: ordered(Disable()),
    AuthorityEnd.ESTOP: ordered(EmergencyStop()),
    AuthorityEnd.LEASE_LOST: ordered(LeaseLost()),
    AuthorityEnd.FAULT: fault,
}


def enabled_again(rig: InProcess) -> None:
    """Whatever ended the motion: active and released."""
    rig.until(lambda sample: sample["state"] != State.STOPPING)
    for order in (Reset(), Recover(), Enable()):
        rig.order(order)
    rig.until(lambda sample: sample["phase"] == Phase.RELEASED)
    assert rig.supervisor.state is State.ACTIVE


def now(rig: InProcess) -> int:
    return int(rig.tick()["tick"])


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_a_goal_that_waits_for_its_tick_ends_with_what_ends_motion(rig: InProcess, end: AuthorityEnd) -> None:
    rig.send(*rig.swing(), at_tick=now(rig) + 700, goal_id=7)
    before = int(rig.tick()["authority"])
    ENDS[end](rig)
    sample = rig.tick()
    assert (sample["authority"], sample["authority_end"]) == (before + 1, end)
    enabled_again(rig)
    rest = rig.simulator.q.copy()
    for sample in rig.run(1.5):
        assert sample["goal_id"] == 0
    np.testing.assert_allclose(rig.simulator.q, rest, atol=1e-6)
    assert rig.supervisor.pending.timed == [], "and leaves nothing behind"


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
@pytest.mark.parametrize(
    "order", [JOG, Enable(), ChooseLaw(1), Resume(), SetPayload(0, 0.0)], ids=lambda order: order.name
)
def test_so_does_any_other_order_of_an_owner(rig: InProcess, end: AuthorityEnd, order: Order) -> None:
    rig.order(replace(order, at_tick=now(rig) + 400))
    waiting = rig._orders
    ENDS[end](rig)
    enabled_again(rig)
    assert waiting not in {int(sample["order_id"]) for sample in rig.run(0.6)}
    assert rig.supervisor.pending.timed == []


def test_a_stop_for_a_later_tick_is_never_cancelled(rig: InProcess) -> None:
    rig.order(EmergencyStop(at_tick=now(rig) + 300))
    rig.order(Stop())
    assert rig.run(0.4)[-1]["state"] == State.ESTOP


@pytest.mark.parametrize("order", examples_of_orders(), ids=lambda order: order.name)
def test_an_order_from_before_the_end_that_arrives_after_it_has_no_effect(
    rig: InProcess, order: Order
) -> None:
    authority = int(rig.tick()["authority"])
    rig.order(Stop())
    if not order.bound:
        waiting, harmless = replace(order, at_tick=5), ReportDifference | Adopt | SetTemperatures
        assert order.ends_authority or waiting.bound or isinstance(order, harmless)
        return
    late = rig.order(replace(order, authority=authority))
    assert late["order_outcome"] == OrderOutcome.REVOKED
    later = rig.order(replace(order, authority=authority, at_tick=now(rig) + 50))
    assert later["order_outcome"] == OrderOutcome.REVOKED
    assert not rig.supervisor.executor.under_way


def test_a_stop_that_ends_nothing_but_a_pending_order_has_done_something(rig: InProcess) -> None:
    assert rig.order(Stop())["order_outcome"] == OrderOutcome.NOTHING_TO_DO
    rig.send(*rig.swing(), at_tick=now(rig) + 100)
    assert rig.order(Stop())["order_outcome"] == OrderOutcome.DONE


def test_a_pending_goal_is_cancelled_by_its_number_alone(rig: InProcess) -> None:
    tick = now(rig)
    rig.send(*rig.swing(0.2, 0.5), at_tick=tick + 50, goal_id=3)
    rig.order(replace(JOG, at_tick=tick + 900))
    assert rig.order(CancelGoal(9))["order_outcome"] == OrderOutcome.NOTHING_TO_DO
    assert rig.order(CancelGoal(3))["order_outcome"] == OrderOutcome.DONE
    assert rig.run(0.4)[-1]["goal_id"] == 0
    assert [type(order) for order in rig.supervisor.pending.timed] == [JogCoordinates]


def test_beyond_the_horizon_and_beyond_their_number_orders_are_refused(rig: InProcess) -> None:
    horizon = round(ORDER_HORIZON_S / rig.period_s)
    far = rig.order(Enable(at_tick=now(rig) + horizon + 2))
    assert far["order_outcome"] == OrderOutcome.REFUSED_FAR
    assert rig.order(Enable(at_tick=now(rig) + horizon))["order_outcome"] == OrderOutcome.NONE
    outcomes = [
        rig.order(ChooseLaw(1, at_tick=now(rig) + 5000))["order_outcome"] for _ in range(PENDING_ORDERS)
    ]
    assert outcomes == [OrderOutcome.NONE] * (PENDING_ORDERS - 1) + [OrderOutcome.REFUSED_FULL]
    assert rig.order(Stop(at_tick=now(rig) + 5000))["order_outcome"] == OrderOutcome.NONE


def test_an_orphaned_loop_drops_what_is_pending(rig: InProcess) -> None:
    rig.send(*rig.swing(), at_tick=now(rig) + 200)
    rig.tick(LeaseLost())
    assert rig.run(0.4)[-1]["goal_id"] == 0


class Controller:
    """Desk, lease and loop without processes: requests of several owners, as the gateway treats them."""

    OWNERS = ("ann", "bob")

    def __init__(self, folder: Path) -> None:
        self.rig, self.lease, self.order_queue = InProcess(), Lease(0.2), OrderQueue()
        self.inbox = OrderInbox(folder / "orders")
        self.order_queue.connect(OrderOutbox(folder / "orders"), 1)
        self.rig.tick()
        self.owner_of: dict[int, str] = {}
        self.jogs: dict[int, str] = {}
        self.goals = 0
        self.told: dict[int, ResultCode | None] = {}

    @property
    def now_ns(self) -> int:
        return round(1e9 * self.rig.simulator.tick * self.rig.period_s)

    @property
    def in_motion(self) -> bool:
        return self.rig.supervisor.moving and self.rig.supervisor.executor.under_way

    def changed(self, change: object) -> None:
        """What the gateway does when the lease changes hands."""
        if (
            change is not None
            and change.before is not None
            and (change.motion_lost or self.order_queue.bound)
        ):  # type: ignore[attr-defined]
            self.order_queue.place(LeaseLost(), lambda _: None, now_ns=self.now_ns, urgent=True)

    def borrow(self, owner: str) -> bool:
        try:
            self.changed(self.lease.borrow(owner, self.now_ns, in_motion=self.in_motion))
        except LeaseHeld:
            return False
        return True

    def tick(self) -> None:
        pending = bool(self.order_queue.pending)
        in_use = self.order_queue.in_use
        self.changed(self.lease.settle(self.now_ns, in_use=in_use, in_motion=self.in_motion, pending=pending))
        self.order_queue.send()
        holder = self.lease.owner
        order = self.inbox.receive()
        if isinstance(order, StartGoal):
            order = replace(order, verified=True)
        sample = self.rig.tick(order)
        self.judge(sample, holder)
        self.order_queue.settle(sample.record)

    def judge(self, sample: object, holder: str | None) -> None:
        """Whatever begins to move does so for the owner of the lease."""
        done = sample["order_outcome"] == OrderOutcome.DONE  # type: ignore[index]
        number = int(sample["order_id"])  # type: ignore[index]
        owner = self.owner_of.get(number)
        if done and owner is not None:
            assert owner == holder, f"order {number} of {owner} moved the machine under the lease of {holder}"

    def motion(self, owner: str, what: str, ahead: int) -> None:
        if not self.borrow(owner):
            return
        at_tick = NOW if ahead == 0 else self.rig.simulator.tick + ahead
        order = self.goal() if what == "goal" else JogCoordinates(((3, 0.05),))
        try:
            number = self.order_queue.place(
                replace(order, at_tick=at_tick), lambda effect: self.tell(number, effect), now_ns=self.now_ns,
                leased=True, timeout_s=None if ahead else 10.0, asked=Asked(what, owner),
            )  # fmt: skip
        except RequestError:
            return
        self.owner_of[number] = owner

    def tell(self, number: int, effect: OrderEffect | RequestError) -> None:
        self.told[number] = None

    def goal(self) -> StartGoal:
        self.goals += 1
        index, knots, values = self.rig.swing(0.05, 0.1)
        k = len(index)
        words = pack_block(
            [int(i) for i in index], knots, values, path_tolerance=[0.5] * k, goal_tolerance=[0.5] * k,
            goal_time_s=0.5, stopping=np.array([[4.0], [40.0], [800.0]]),
        )  # fmt: skip
        slot = self.goals % 2
        self.rig.slot_of(slot)[: len(words)] = words
        return StartGoal(slot, len(words), zlib.crc32(words.tobytes()), self.goals)

    def simple(self, owner: str, what: str) -> None:
        order = BY_NAME[what]()
        anyone = isinstance(order, Stop | EmergencyStop)
        if anyone or self.borrow(owner):
            self.order_queue.place(
                order, lambda _: None, now_ns=self.now_ns, urgent=anyone, leased=not anyone, timeout_s=10.0
            )

    def act(self, what: str, owner: str, amount: int) -> None:
        match what:
            case "take":
                self.changed(self.lease.acquire(owner, self.now_ns, force=True, in_motion=self.in_motion))
            case "release":
                self.changed(self.lease.release(owner, self.now_ns, in_motion=self.in_motion))
            case "fault":
                fault(self.rig)
            case "wait":
                for _ in range(amount):
                    self.tick()
            case "goal" | "jog":
                self.motion(owner, what, amount)
            case _:
                self.simple(owner, what)

    def close(self) -> None:
        self.order_queue.disconnect(RequestError(RequestCode.NO_LOOP, "over"))
        self.inbox.close()


ACTS = st.tuples(
    st.sampled_from(
        ["goal", "jog", "goal", "jog", "take", "release", "stop", "disable", "enable", "estop", "reset",
         "recover", "fault", "wait", "wait", "wait"]
    ),
    st.sampled_from(Controller.OWNERS),
    st.sampled_from([0, 1, 5, 40, 120, 260]),
)  # fmt: skip


@given(acts=st.lists(ACTS, min_size=4, max_size=25))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_moves_without_a_live_lease_of_its_owner(
    acts: list[tuple[str, str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    controller = Controller(tmp_path_factory.mktemp("loop"))
    try:
        controller.simple("ann", "enable")
        controller.act("wait", "", 150)
        for what, owner, amount in acts:
            controller.act(what, owner, amount)
            controller.tick()
        controller.act("wait", "", 300)
        assert controller.order_queue.pending == []
        assert set(controller.told) == set(controller.owner_of), (
            "whoever asked was told, once, what became of it"
        )
    finally:
        controller.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[OrderQueue]:
    inbox = OrderInbox(tmp_path / "orders")
    desk = OrderQueue()
    desk.connect(OrderOutbox(tmp_path / "orders"), 1)
    yield desk
    desk.disconnect(RequestError(RequestCode.NO_LOOP, "over"))
    inbox.close()


def test_pending_orders_count_against_their_owner(desk: OrderQueue) -> None:
    for goal in range(PENDING_GOALS):
        desk.refuse_if_full("ann", goal=True)
        desk.place(
            StartGoal(0, 1, 0, goal + 1, at_tick=FOREVER),
            lambda _: None,
            now_ns=0,
            asked=Asked("move", "ann"),
        )
    with pytest.raises(RequestError) as caught:
        desk.refuse_if_full("ann", goal=True)
    assert (caught.value.code, caught.value.data["goals"]) == (RequestCode.BUSY, [1, 2, 3])
    desk.refuse_if_full("bob", goal=True)
    desk.refuse_if_full("ann", goal=False)
    for _ in range(PENDING_ORDERS - PENDING_GOALS):
        desk.place(ChooseLaw(1, at_tick=FOREVER), lambda _: None, now_ns=0, asked=Asked("law", "ann"))
    with pytest.raises(RequestError, match=f"the maximum is {PENDING_ORDERS}"):
        desk.refuse_if_full("ann", goal=False)
    assert len(desk.pending) == PENDING_ORDERS
    assert not desk.in_use, "what waits for its tick does not renew the lease"


def test_each_goal_of_a_chain_looks_ahead_to_the_next_one(rig: InProcess) -> None:
    index, knots, values = rig.swing(seconds=0.6)
    rig.send(index, knots, values)
    rig.run(0.02)
    for goal, k, before in ((2, 15, 0), (3, 25, 15)):
        splice = Splice(goal - 1, float(knots[k] - knots[before]), 1.0, ResultCode.REPLACED)
        rig.send(index, knots[k:] - knots[k], values[k:], goal_id=goal, slot=goal - 1, begin=splice)
    executor = rig.controller.supervisor.executor

    def ahead() -> tuple[int, float | None]:
        assert executor.goal is not None
        following = executor.goal.following
        return executor.goal.goal_id, None if following is None else following.s

    assert ahead() == (1, knots[15])
    rig.run(0.18)
    assert ahead() == (2, knots[25] - knots[15])
    rig.run(0.12)
    assert ahead() == (3, None)
    assert int(rig.run(0.5)[-1].record["goal_code"]) == ResultCode.SUCCESSFUL
