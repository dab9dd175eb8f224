"""The watchdog counts periods since the last fresh command, trips once, and only a handshake opens it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.plant.device.watchdog import Watchdog


def watchdog(allowed: int = 20) -> Watchdog:
    return Watchdog(allowed, "brake", 0.001, ("a", "b"))


@given(allowed=st.integers(1, 50), start=st.integers(0, 10_000))
def test_trips_exactly_when_the_allowance_is_used_up(allowed: int, start: int) -> None:
    dog = watchdog(allowed)
    dog.handshake(start, allowed)
    dog.fresh(start + 1)
    due = [dog.due(start + 1 + n) for n in range(allowed + 3)]
    assert due == [False] * allowed + [True] * 3


def test_each_fresh_command_begins_the_count_anew() -> None:
    dog = watchdog(3)
    dog.handshake(0, 3)
    for tick in range(1, 100, 2):
        dog.fresh(tick)
        assert not dog.due(tick + 2)


def test_before_the_first_command_the_grace_counts() -> None:
    dog = watchdog(20)
    dog.handshake(100, 5000)
    assert not dog.due(5099)
    assert dog.due(5100)
    dog.fresh(200)
    assert dog.due(220)


def test_a_trip_is_latched_until_a_handshake() -> None:
    dog = watchdog(2)
    dog.handshake(0, 2)
    dog.trip(2, "silence", "me")
    assert dog.tripped
    assert not dog.due(50), "it trips once"
    dog.handshake(60, 2)
    assert not dog.tripped
    assert dog.due(62)


def test_the_report_says_when_what_and_how_far() -> None:
    dog = watchdog()
    dog.handshake(0, 20)
    dog.fresh(7)
    dog.trip(27, "no fresh command", "ann@desk")
    assert dog.last_trip is not None
    assert dog.last_trip.standstill_tick is None
    trip = dog.standstill(90, [0.5, 0.25])
    assert dog.last_trip.standstill_tick == 90
    assert trip.as_map() == {
        "tick": 27,
        "time_s": pytest.approx(0.027),
        "last_fresh_tick": 7,
        "action": "brake",
        "cause": "no fresh command",
        "owner": "ann@desk",
        "standstill_tick": 90,
        "travel": {"a": 0.5, "b": 0.25},
    }
    dog.handshake(100, 20)
    assert dog.last_trip == trip, "a handshake ends the latch, not the memory"


def test_a_standstill_without_a_trip_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="has not tripped"):
        watchdog().standstill(3, [0.0, 0.0])
    with pytest.raises(ValueError, match="at least one period"):
        watchdog(0)
