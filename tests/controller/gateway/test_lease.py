"""The lease as pure rules, over any sequence of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from linkwork.controller.gateway.requests.lease import Lease, LeaseHeld

NAMES = st.sampled_from(["ann@desk", "bob@bench", "cam@lab"])
LEASE_S = 2.0
SECOND = 1_000_000_000


class Sequences(RuleBasedStateMachine):
    """Any order of requests, and what must hold after each."""

    @initialize()
    def begin(self) -> None:
        self.lease = Lease(LEASE_S)
        self.now = 0
        self.renewed = 0
        self.moving = False

    def live(self) -> bool:
        return self.lease.owner is not None and self.now < self.renewed + 2 * SECOND

    @rule(by=st.integers(0, 3 * SECOND))
    def time_passes(self, by: int) -> None:
        self.now += by

    @rule(by=st.integers(0, 5 * SECOND))
    def nothing_is_received(self, by: int) -> None:
        self.now += by
        self.renewed += by
        self.lease.extend(by)

    @rule(name=NAMES, force=st.booleans(), keep=st.booleans())
    def asks(self, name: str, force: bool, keep: bool) -> None:
        before, live = self.lease.owner, self.live()
        refused = live and before != name and not (force and keep)
        try:
            if keep:
                change = self.lease.acquire(name, self.now, force=force, in_motion=self.moving)
            else:
                change = self.lease.borrow(name, self.now, in_motion=self.moving)
            granted, holder, left_s = True, None, 0.0
        except LeaseHeld as held:
            granted, holder, left_s = False, held.owner, held.left_s
        assert granted != refused
        if not granted:
            assert holder == before
            assert 0 < left_s <= LEASE_S
            return
        assert self.lease.owner == name
        assert (change is None) == (before == name)
        if change is not None:
            assert change.motion_lost == (self.moving and before is not None)
            self.moving = self.moving and not change.motion_lost
        self.renewed = self.now

    @rule(name=NAMES)
    def says_anything(self, name: str) -> None:
        if name == self.lease.owner and self.live():
            self.renewed = self.now
        self.lease.renew(name, self.now)

    @rule(name=NAMES)
    def gives_back(self, name: str) -> None:
        before = self.lease.owner
        change = self.lease.release(name, in_motion=self.moving)
        assert (change is not None) == (name == before)
        if change is not None:
            assert change.motion_lost == self.moving
            self.moving = False

    @rule()
    def starts_to_move(self) -> None:
        self.moving = self.live()

    @rule(in_use=st.booleans())
    def settles(self, in_use: bool) -> None:
        before, kept, live = self.lease.owner, self.lease.kept, self.live()
        change = self.lease.settle(self.now, in_use=in_use, in_motion=self.moving)
        if before is None:
            assert change is None
        elif in_use and not self.moving:
            assert change is None
            self.renewed = self.now
        elif not live:
            assert change is not None
            assert (change.reason, change.motion_lost) == ("expired", self.moving)
            self.moving = False
        else:
            assert (change is None) == (kept or in_use or self.moving)

    @invariant()
    def time_left_is_what_the_last_renewal_left(self) -> None:
        expected = max(0, self.renewed + 2 * SECOND - self.now) / SECOND if self.lease.owner else 0.0
        assert self.lease.left_s(self.now) == pytest.approx(expected)

    @invariant()
    def nobody_moves_unanswered(self) -> None:
        assert not self.moving or self.lease.owner is not None


TestSequences = Sequences.TestCase


@given(NAMES, st.integers(0, 10 * SECOND))
def test_a_loss_in_motion_is_reported_exactly_once(name: str, late: int) -> None:
    lease = Lease(LEASE_S)
    lease.borrow(name, 0)
    changes = [
        lease.settle(t, in_use=True, in_motion=True) for t in (0, SECOND, 2 * SECOND + late, 20 * SECOND)
    ]
    assert [change.motion_lost for change in changes if change is not None] == [True]


def test_a_renewal_that_comes_too_late_revives_nothing() -> None:
    lease = Lease(LEASE_S)
    lease.acquire("ann@desk", 0)
    lease.renew("ann@desk", 2 * SECOND)
    change = lease.settle(2 * SECOND, in_use=False, in_motion=False)
    assert change is not None
    assert change.reason == "expired"


def test_whoever_waits_for_an_answer_at_rest_does_not_lose_the_lease() -> None:
    lease = Lease(LEASE_S)
    lease.borrow("ann@desk", 0)
    assert lease.settle(7 * SECOND, in_use=True, in_motion=False) is None
    assert lease.left_s(7 * SECOND) == LEASE_S


def test_a_stale_lease_is_taken_over_without_force() -> None:
    lease = Lease(LEASE_S)
    lease.acquire("ann@desk", 0)
    change = lease.acquire("bob@bench", 2 * SECOND, in_motion=True)
    assert change is not None
    assert (change.owner, change.before, change.reason, change.motion_lost) == (
        "bob@bench",
        "ann@desk",
        "taken_over",
        True,
    )


def test_an_acquired_lease_stays_when_nothing_uses_it_and_a_borrowed_one_goes() -> None:
    kept, borrowed = Lease(LEASE_S), Lease(LEASE_S)
    kept.acquire("ann@desk", 0)
    borrowed.borrow("ann@desk", 0)
    assert kept.settle(SECOND, in_use=False, in_motion=False) is None
    change = borrowed.settle(SECOND, in_use=False, in_motion=False)
    assert change is not None
    assert change.reason == "released"


def test_borrowing_does_not_turn_a_kept_lease_into_a_borrowed_one() -> None:
    lease = Lease(LEASE_S)
    lease.acquire("ann@desk", 0)
    lease.borrow("ann@desk", 1)
    assert lease.settle(2, in_use=False, in_motion=False) is None


def test_holders_of_one_name_keep_the_lease_for_each_other() -> None:
    lease = Lease(LEASE_S)
    for holder in ("first", "second"):
        lease.acquire("ann@desk", 0, holder=holder)
    assert lease.release("ann@desk", 1, holder="first", in_motion=True) is None
    change = lease.release("ann@desk", 2, holder="second", in_motion=True)
    assert change is not None
    assert (change.reason, change.motion_lost) == ("released", True)


def test_a_holder_that_is_silent_keeps_nothing() -> None:
    lease = Lease(LEASE_S)
    lease.acquire("ann@desk", 0, holder="gone")
    lease.acquire("ann@desk", SECOND, holder="here")
    change = lease.release("ann@desk", 2 * SECOND, holder="here")
    assert change is not None
    assert lease.owner is None


def test_an_observer_of_the_same_name_does_not_keep_the_lease_of_a_holder_that_crashed() -> None:
    lease = Lease(2.0)
    lease.acquire("ann@desk", 0, holder="a program that crashes")
    for now_ns in range(0, 2 * SECOND, SECOND // 4):
        lease.renew("ann@desk", now_ns)
        assert lease.settle(now_ns, in_use=False, in_motion=True) is None
    change = lease.settle(2 * SECOND, in_use=False, in_motion=True)
    assert change is not None
    assert (change.before, change.reason, change.motion_lost) == ("ann@desk", "expired", True)


def test_a_release_without_a_holder_is_for_all() -> None:
    lease = Lease(LEASE_S)
    lease.acquire("ann@desk", 0, holder="first")
    assert lease.release("ann@desk", 1) is not None
