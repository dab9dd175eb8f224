"""The plant with a clock: its own (device pace) or the controller's (host pace)."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwork.protocol.codes import UNANSWERED_STATES, DeviceFault, DeviceStatus, Mode, Pace

SLOW = ("period_s: 0.001", "period_s: 0.02")
"""20 ms, so that a busy computer seldom loses a command."""


def drive(me, seq: int, ticks: int, effort: list[float]) -> list:
    """Answers each state at once for so many states, from state `seq` on; returns the states."""
    states = []
    me.command(seq, Mode.EFFORT, effort)
    while len(states) < ticks:
        states.append(me.state())
        me.command(states[-1].seq, Mode.EFFORT, effort)
    return states


def test_states_come_by_the_plants_clock_and_commands_act_a_period_later(
    scara, start_plant, controller
) -> None:
    plant = start_plant(scara(), "--pace", "device")
    me = controller(plant)
    began = time.monotonic()
    first = me.connect(Pace.DEVICE)
    assert (first.seq, first.time_s, first.ack) == (0, 0.0, -1)
    states = drive(me, 0, 300, [0.0, 0.0, 0.0, 4.905])
    assert time.monotonic() - began >= 0.299, "no faster than real time"
    seqs = [state.seq for state in states]
    assert seqs == list(range(seqs[0], seqs[0] + 300)), "no state is left out, whatever the load"
    assert all(state.time_s == state.seq * 0.001 for state in states)
    assert all(state.ack < state.seq for state in states)
    acks = [state.ack for state in states]
    assert acks == sorted(acks)


@pytest.mark.slow
def test_lockstep_and_loss_free_device_pace_give_the_same_bytes(
    scara: Callable[..., Path], start_plant, controller
) -> None:
    config = scara(SLOW)
    efforts = np.random.default_rng(2).uniform(-20, 20, (60, 4))

    def run(pace: Pace) -> list[bytes]:
        plant = start_plant(config, "--pace", str(pace))
        me = controller(plant)
        me.session = 12345
        state = me.connect(pace)
        replies = [me.last]
        while state.seq < 59 and state.ack == state.seq - 1:
            me.command(state.seq, Mode.EFFORT, efforts[state.seq].tolist())
            state = me.state()
            replies.append(me.last)
        plant.end()
        return replies

    lockstep = run(Pace.LOCKSTEP)
    assert len(lockstep) == 60
    for _ in range(5):
        device = run(Pace.DEVICE)
        assert device[:-1] == lockstep[: len(device) - 1], "until a command was lost, if one was"
        if device == lockstep:
            return
    pytest.skip("this computer is too busy to answer 60 states of 20 ms without a loss")


def test_the_watchdog_acts_at_the_twentieth_period_and_the_machine_stands(
    scara, start_plant, controller
) -> None:
    plant = start_plant(scara(), "--pace", "device")
    me = controller(plant)
    me.connect(Pace.DEVICE)
    sent = drive(me, 0, 100, [20.0, 0.0, 0.0, 4.905])[-1].seq
    states = []
    while not states or not states[-1].fault:
        states.append(me.state())
    taken = next(state for state in states if state.ack == sent)
    tripped = states[-1]
    trip = plant.wait_for("watchdog")
    assert trip["last_fresh_tick"] == taken.seq
    assert trip["tick"] == tripped.seq == taken.seq + 20
    assert (tripped.fault, tripped.mode) == (DeviceFault.COMMAND_TIMEOUT, Mode.BRAKE)
    assert tripped.status == DeviceStatus.FAULT | DeviceStatus.BRAKE | DeviceStatus.HOMED
    assert tripped.effort.tolist() == [0.0] * 4
    me.command(tripped.seq, Mode.EFFORT, [20.0])
    later = me.state()
    while later.v.any():
        me.command(later.seq, Mode.EFFORT, [20.0])
        later = me.state()
    rest = plant.wait_for("standstill")
    assert rest["standstill_tick"] <= later.seq
    way = sum(abs(b.q[0] - a.q[0]) for a, b in itertools.pairwise(states))
    assert rest["travel"]["shoulder"] >= way * 0.999
    held = later.q.tobytes()
    for _ in range(30):
        me.command(later.seq, Mode.EFFORT, [20.0])
        later = me.state()
        assert (later.q.tobytes(), later.mode, later.fault) == (held, Mode.BRAKE, DeviceFault.COMMAND_TIMEOUT)
    again = controller(plant)
    state = again.connect(Pace.DEVICE)
    assert again.welcome.watchdog["travel"]["shoulder"] == rest["travel"]["shoulder"]
    assert (state.fault, state.q.tobytes()) == (0, held)
    assert drive(again, 0, 50, [20.0, 0.0, 0.0, 4.905])[-1].v[0] > 0.0, "the latch is open"


@pytest.mark.slow
def test_nobody_who_reads_nothing_is_spoken_to_for_long(scara, start_plant, controller) -> None:
    plant = start_plant(scara(SLOW), "--pace", "device")
    me = controller(plant)
    me.connect(Pace.DEVICE)
    me.command(0)
    count = 0
    while (message := me.receive(2.0)) is not None:
        count += 1
        last = message
    assert UNANSWERED_STATES - 3 <= count <= UNANSWERED_STATES
    me.command(1, Mode.EFFORT, [50.0])
    me.states.unpack(last, state := me.states.message())
    assert me.state().fault == DeviceFault.COMMAND_TIMEOUT, "it is told why nothing moves"
    assert state.fault == DeviceFault.COMMAND_TIMEOUT


def test_the_host_is_the_clock(scara, start_plant, controller) -> None:
    plant = start_plant(scara(SLOW), "--pace", "host")
    me = controller(plant)
    state = me.connect(Pace.HOST)
    assert state.seq == 0
    for _ in range(100):
        me.command(state.seq, Mode.EFFORT, [5.0, 0.0, 0.0, 4.905])
        before = state
        state = me.state()
        assert state.seq == before.seq + 1
        assert state.time_s == pytest.approx(state.seq * 0.02)
    assert state.v[0] > 0.0


def test_without_the_host_the_plant_goes_on_alone_and_brakes(scara, start_plant, controller) -> None:
    plant = start_plant(scara(), "--pace", "host")
    me = controller(plant)
    state = me.connect(Pace.HOST)
    for _ in range(200):
        me.command(state.seq, Mode.EFFORT, [20.0, 0.0, 0.0, 4.905])
        state = me.state()
    trip = plant.wait_for("watchdog")
    assert trip["tick"] == trip["last_fresh_tick"] + 20
    rest = plant.wait_for("standstill")
    other = controller(plant)
    assert not other.connect(Pace.HOST).v.any()
    assert other.welcome.tick >= rest["standstill_tick"]


def test_a_host_that_has_no_state_yet_moves_time_but_nothing_else(scara, start_plant, controller) -> None:
    plant = start_plant(scara(SLOW), "--pace", "host")
    me = controller(plant)
    first = me.connect(Pace.HOST)
    for _ in range(10):
        me.command(-1, Mode.EFFORT, [50.0] * 4)
        state = me.state()
    assert state.seq >= 10
    assert (state.ack, state.mode) == (-1, Mode.BRAKE)
    assert state.q.tobytes() == first.q.tobytes()


@pytest.mark.parametrize("on_overrun", ["slip", "advance"])
def test_after_an_overrun_time_slips_or_advances(on_overrun: str, scara, start_plant, controller) -> None:
    """The daemon is stopped for a while, as a computer that is too busy would do."""
    change = ("plant:\n", f"plant:\n  on_overrun: {on_overrun}\n  command_timeout_periods: 100000\n")
    config = scara(change, ("\n  command_timeout_periods: 20", ""))
    plant = start_plant(config, "--pace", "device")
    me = controller(plant)
    me.connect(Pace.DEVICE)
    seqs = [state.seq for state in drive(me, 0, 20, [0.0, 0.0, 0.0, 4.905])]
    plant.process.send_signal(signal.SIGSTOP)
    while me.receive(0.3) is not None:
        seqs.append(seqs[-1])
    plant.process.send_signal(signal.SIGCONT)
    overruns = 0
    while sum(event["periods"] for event in plant.events if event["event"] == "overrun") < 250:
        overruns += 1
        plant.wait_for("overrun", overruns)
    for _ in range(5):
        me.command(seqs[-1], Mode.EFFORT, [0.0, 0.0, 0.0, 4.905])
        state = me.state()
        assert state.time_s == state.seq * 0.001
        seqs.append(state.seq)
    assert any(b - a >= 250 for a, b in itertools.pairwise(seqs)) == (on_overrun == "advance")
