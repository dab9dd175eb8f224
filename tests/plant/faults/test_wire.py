"""Faults of the link: which tick has a state, which command is in force, in lockstep and in real time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.machine import load
from linkwork.plant.device.session import Hearing
from linkwork.protocol.codes import DeviceFault, Mode, Pace
from linkwork.protocol.injection import LostMessage
from tests.plant.faults.line import PEER, Line, Told

MACHINE = load("scara")
PACES = [Pace.LOCKSTEP, Pace.DEVICE]


def seen(told: list[Told]) -> list[tuple[bool, int, int]]:
    return [(each.fresh, each.seq, each.ack) for each in told]


@pytest.mark.parametrize("pace", PACES)
def test_lost_states_are_missing_and_no_command_answers_them(pace) -> None:
    line = Line(MACHINE, {"at_tick": 3, "for_ticks": 2, "wire": "drop", "direction": "states"}, pace=pace)
    told = line.run(8)
    assert [each.fresh for each in told] == [True] * 3 + [False] * 2 + [True] * 3
    assert [each.ack for each in told if each.fresh] == [-1, 0, 1, 2, 5, 6]


@pytest.mark.parametrize("pace", PACES)
def test_lost_commands_leave_the_one_before_in_force(pace) -> None:
    line = Line(MACHINE, {"at_tick": 3, "for_ticks": 2, "wire": "drop", "direction": "commands"}, pace=pace)
    told = line.run(8)
    assert all(each.fresh for each in told)
    assert [each.ack for each in told] == [-1, 0, 1, 2, 2, 2, 5, 6]


@pytest.mark.parametrize("pace", PACES)
def test_late_messages_come_so_many_ticks_later(pace) -> None:
    states = {"at_tick": 3, "for_ticks": 4, "wire": "delay", "by_ticks": 2, "direction": "states"}
    told = Line(MACHINE, states, pace=pace).run(11)
    assert [each.seq if each.fresh else None for each in told] == [0, 1, 2, None, None, 3, 4, 7, 8, 9, 10]
    commands = {**states, "direction": "commands"}
    told = Line(MACHINE, commands, pace=pace).run(11)
    assert [each.ack for each in told] == [-1, 0, 1, 2, 2, 2, 3, 4, 7, 8, 9]


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("kind", ["duplicate", "reorder", "corrupt", "disconnect"])
def test_what_comes_twice_is_taken_once_and_what_is_overtaken_or_unreadable_is_lost(pace, kind) -> None:
    line = Line(MACHINE, {"at_tick": 3, "for_ticks": 1, "wire": kind}, pace=pace)
    told = line.run(7)
    assert [each.fresh for each in told] == [True, True, True, kind == "duplicate", True, True, True]
    assert [each.ack for each in told if each.fresh][-2:] == [4, 5]
    unreadable = line.device.seat.counts.unreadable
    assert unreadable == (0 if kind != "corrupt" else unreadable)


def test_corrupted_commands_are_counted_as_unreadable() -> None:
    line = Line(MACHINE, {"at_tick": 2, "for_ticks": 3, "wire": "corrupt", "direction": "commands"})
    assert [each.ack for each in line.run(7)] == [-1, 0, 1, 1, 1, 1, 5]
    assert line.device.seat.counts.unreadable == 3


def test_a_controller_that_stalls_gets_the_newest_state_when_it_is_back() -> None:
    line = Line(MACHINE, {"at_tick": 3, "for_s": 0.004, "processor": "stall", "of": "controller"})
    told = line.run(9)
    assert [each.seq if each.fresh else None for each in told] == [0, 1, 2, None, None, None, None, 7, 8]
    assert [each.ack for each in told if each.fresh] == [-1, 0, 1, 2, 7]


def test_a_plant_that_stalls_in_lockstep_says_that_nothing_changes() -> None:
    plain, line = (
        Line(MACHINE),
        Line(MACHINE, {"at_tick": 3, "for_s": 5, "processor": "stall", "of": "plant"}),
    )
    assert seen(line.run(8)) == seen(plain.run(8))
    assert "time does not advance" in next(each["text"] for each in line.said if each["event"] == "fault")


@pytest.mark.parametrize("direction", ["states", "commands"])
def test_the_watchdog_counts_what_does_not_come(direction) -> None:
    allowed = MACHINE.plant.command_timeout_periods
    line = Line(MACHINE, {"at_tick": 5, "wire": "drop", "direction": direction})
    line.run(5 + allowed)
    trip = line.device.watchdog.last_trip
    assert trip is not None
    assert (trip.last_fresh_tick, trip.tick) == (5, 5 + allowed)
    if direction == "commands":
        line.link.read_message(line.queue.to_controller[-1], line.inputs)
        state = line.link._state
        assert (state.fault, state.mode) == (DeviceFault.COMMAND_TIMEOUT, Mode.BRAKE)


def test_while_it_is_cut_nobody_shakes_hands_and_time_goes_on() -> None:
    line = Line(MACHINE, {"at_tick": 2, "for_ticks": 30, "wire": "disconnect"})
    line.run(2)
    line.connect_again = True  # type: ignore[attr-defined]
    plant = line.device
    owner = plant.seat.owner
    for _ in range(24):
        if owner.alive:
            line.run(1)
    assert not owner.alive
    line.link.lose("tired of waiting")
    line.link.hello()
    said = [plant.receive(PEER, message) for message in line.queue.to_plant]
    assert said == [Hearing.CUT_OFF, None], "of the bye only its coming counts"
    assert plant.seat.owner is owner
    assert not plant.machinery.resting, "otherwise the end of the fault would never come"
    while plant.wire.cuts:
        plant.sense()
        plant.step()
    assert plant.machinery.tick == 33
    assert plant.receive(PEER, line.queue.to_plant.pop()) is not None


def test_a_repeated_message_of_lockstep_is_answered_and_moves_nothing() -> None:
    line = Line(MACHINE, {"at_tick": 2, "for_ticks": 1, "wire": "drop", "direction": "states"})
    line.run(2)
    session, plant = line.link._session, line.device
    assert line.queue.to_controller[-1] == LostMessage(session=session, seq=2).pack()
    line.link.read_message(line.queue.to_controller.pop(), line.inputs)
    line.link.pass_over()
    word = line.queue.to_plant.pop()
    assert plant.receive(PEER, word).name == "PASSED"
    plant.apply_commands()
    plant.sense()
    plant.send_state()
    plant.step()
    assert plant.receive(PEER, word).name == "REPEATED"
    assert plant.seat.owner.reply == line.queue.to_controller[-1], "what was said at that tick is said again"
    assert plant.receive(PEER, line.device._commands.pack(session, 1, 2, line.effort)).name in (
        "OLD",
        "REPEATED",
    )


def test_a_lost_command_of_lockstep_that_is_repeated_stays_lost() -> None:
    line = Line(MACHINE, {"at_tick": 2, "for_ticks": 1, "wire": "drop", "direction": "commands"})
    line.run(3)
    command = line.device._commands.pack(line.link._session, 2, 2, line.effort)
    assert line.device.receive(PEER, command).name == "REPEATED"
    assert not line.device.fresh
    assert [each.ack for each in line.run(2)] == [1, 3]


KINDS: list[dict[str, Any]] = [
    {"wire": "drop", "probability": 0.4},
    {"wire": "delay", "by_ticks": 3},
    {"wire": "jitter", "up_to_ticks": 3},
    {"wire": "duplicate", "probability": 0.5},
    {"wire": "reorder", "probability": 0.5},
    {"wire": "corrupt", "probability": 0.3, "bytes_flipped": 3},
    {"processor": "stall", "of": "controller", "for_ticks": 5},
]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.sampled_from(["states", "commands", "both"]),
            st.integers(0, 20),
            st.integers(1, 12),
        ),
        max_size=4,
    ),
    st.integers(0, 2**32),
)
def test_lockstep_and_real_time_lose_the_same(chosen, seed) -> None:
    """The same ticks without a state, the same commands in force, the same motion: bit for bit, and again."""
    faults = []
    for kind, direction, at, ticks in chosen:
        timing = {"at_tick": at} | ({} if "for_ticks" in kind else {"for_ticks": ticks})
        faults.append({**kind, **timing, **({"direction": direction} if "wire" in kind else {})})
    runs = []
    for pace in (Pace.LOCKSTEP, Pace.DEVICE, Pace.LOCKSTEP):
        line = Line(MACHINE, *faults, pace=pace, seed=seed)
        line.effort[:] = [5.0, -2.0, 0.5, 6.0]
        runs.append(line.run(40))
    assert runs[0] == runs[1] == runs[2]
    if not chosen:
        assert all(each.fresh for each in runs[0])


def test_another_seed_is_another_run() -> None:
    runs = [
        seen(Line(MACHINE, {"wire": "drop", "probability": 0.5}, seed=seed).run(60)) for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]
