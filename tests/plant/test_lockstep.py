"""Lockstep with a real daemon: one command, one period, one reply; repeats; silence."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode, Pace
from linkwork.protocol.handshake import Bye, Welcome, read_handshake

PATIENT = ("plant:\n", "plant:\n  peer_timeout_s: 60\n")
IMPATIENT = ("plant:\n", "plant:\n  peer_timeout_s: 0.4\n")


def test_one_command_is_one_period_and_acts_one_period_later(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT), "--pace", "lockstep")
    me = controller(plant)
    state = me.connect(Pace.LOCKSTEP)
    assert (state.seq, state.time_s, state.ack, state.mode) == (0, 0.0, -1, Mode.BRAKE)
    assert state.status == DeviceStatus.ENABLED | DeviceStatus.BRAKE | DeviceStatus.HOMED
    twin = Simulator(plant.machine)
    twin.integrate()
    random = np.random.default_rng(1)
    for k in range(200):
        effort = random.uniform(-80, 80, 4)
        state = me.exchange(k, Mode.EFFORT, effort.tolist())
        assert (state.seq, state.ack, state.mode, state.fault) == (k + 1, k, Mode.EFFORT, 0)
        assert state.time_s == (k + 1) * 0.001
        assert state.q.tobytes() == twin.measured.q.tobytes(), "sampled before the command acts"
        assert state.v.tobytes() == twin.measured.v.tobytes()
        twin.latch(Mode.EFFORT, effort)
        assert state.effort.tobytes() == twin.measured.effort.tobytes(), "saturated as it acts"
        twin.integrate()
    assert me.silence(0.1), "nobody speaks unasked"


def test_a_repeated_command_gets_the_stored_reply_and_moves_nothing(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT), "--pace", "lockstep")
    me = controller(plant)
    me.connect(Pace.LOCKSTEP)
    me.exchange(0, Mode.EFFORT, [10.0])
    me.exchange(1, Mode.EFFORT, [10.0])
    reply = me.last
    for _ in range(5):
        me.command(1, Mode.EFFORT, [10.0])
        me.state()
        assert me.last == reply
    me.command(0, Mode.EFFORT, [-10.0])
    me.command(9, Mode.EFFORT, [-10.0])
    assert me.silence(0.1), "old and early commands are not answered"
    assert me.exchange(2).seq == 3


def test_a_repeated_hello_is_answered_with_the_stored_welcome_and_state(
    scara, start_plant, controller
) -> None:
    plant = start_plant(scara(PATIENT), "--pace", "lockstep")
    me = controller(plant)
    said = []
    for _ in range(3):
        me.hello(Pace.LOCKSTEP)
        said.append((me.receive(), me.receive()))
    assert said[0] == said[1] == said[2]
    assert isinstance(read_handshake(said[0][0]), Welcome)
    me.exchange(0)
    state = me.last
    me.hello(Pace.LOCKSTEP)
    assert (me.receive(), me.receive()) == (said[0][0], state)
    assert me.exchange(1).seq == 2


def test_what_cannot_be_read_is_dropped(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT), "--pace", "lockstep")
    me = controller(plant)
    me.connect(Pace.LOCKSTEP)
    good = me.commands.pack(me.session, 0, Mode.EFFORT, np.zeros(4))
    bad = [b"", b"\xc1", b"\x80", good[:-1], good.replace(b"effort", b"efford")]
    bad.append(me.commands.pack(me.session, 0, Mode.EFFORT, np.full(4, np.nan)))
    bad.append(me.commands.pack(me.session, 0, 7, np.zeros(4)))
    for message in bad:
        assert me.client.send(message)
    assert me.silence(0.1)
    assert me.exchange(0).seq == 1
    assert plant.wait_for("dropped")["kind"] == "unreadable"


@pytest.mark.parametrize("action", ["brake", "damp", "zero"])
def test_silence_ends_lockstep_with_the_action_and_a_new_handshake_goes_on(
    action: str, scara: Callable[..., Path], start_plant, controller
) -> None:
    config = scara(IMPATIENT, ("on_timeout: brake", f"on_timeout: {action}"))
    plant = start_plant(config, "--pace", "lockstep")
    me = controller(plant)
    me.connect(Pace.LOCKSTEP)
    for k in range(100):
        state = me.exchange(k, Mode.EFFORT, [20.0, 0.0, 0.0, 4.905])
    assert state.v[0] > 0.3
    trip = plant.wait_for("watchdog")
    assert (trip["action"], trip["last_fresh_tick"]) == (action, 100)
    assert trip["tick"] - trip["last_fresh_tick"] <= 20
    if action == "brake":
        rest = plant.wait_for("standstill")
        assert rest["standstill_tick"] > trip["tick"]
        assert 0.0 < rest["travel"]["shoulder"] < 0.1
    late = me.exchange(100, Mode.EFFORT, [20.0])
    assert late.fault == DeviceFault.COMMAND_TIMEOUT
    assert late.status & DeviceStatus.FAULT
    assert not late.status & DeviceStatus.ENABLED
    assert (late.ack, bool(late.status & DeviceStatus.BRAKE)) == (99, action == "brake")
    if action == "brake":
        assert late.v.tolist() == [0.0] * 4
        assert me.exchange(101, Mode.EFFORT, [20.0]).q.tobytes() == late.q.tobytes()
    me.hello(Pace.LOCKSTEP)
    assert isinstance(me.answer(), Welcome)
    assert me.state().fault == DeviceFault.COMMAND_TIMEOUT, "the same session opens nothing"
    other = controller(plant, "other@there")
    state = other.connect(Pace.LOCKSTEP)
    report = other.welcome.watchdog
    assert (report["action"], report["owner"], report["last_fresh_tick"]) == (action, "tester@here", 100)
    assert (state.seq, state.ack, state.fault) == (0, -1, 0)
    assert other.welcome.tick >= trip["tick"]
    assert state.time_s == other.welcome.tick * 0.001
    if action == "brake":
        assert report["standstill_tick"] == rest["standstill_tick"]
        assert state.q.tobytes() == late.q.tobytes(), "no jump"
    assert other.exchange(0).seq == 1


def test_repeats_keep_the_plants_patience(scara, start_plant, controller) -> None:
    plant = start_plant(scara(IMPATIENT), "--pace", "lockstep")
    me = controller(plant)
    me.connect(Pace.LOCKSTEP)
    reply = None
    me.exchange(0, Mode.EFFORT)
    for _ in range(20):
        assert me.silence(0.05)
        me.command(0, Mode.EFFORT)
        me.state()
        assert reply in (None, me.last)
        reply = me.last
    assert me.exchange(1, Mode.EFFORT).fault == 0


def test_bye_brakes_and_frees(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT), "--pace", "lockstep")
    me, other = controller(plant), controller(plant, "other@there")
    me.connect(Pace.LOCKSTEP)
    for k in range(50):
        moving = me.exchange(k, Mode.EFFORT, [30.0, 0.0, 0.0, 4.905])
    assert moving.v[0] > 0.1
    me.bye()
    assert "tester@here left: enough" in plant.wait_for("left")["text"]
    state = other.connect(Pace.LOCKSTEP)
    assert other.welcome.watchdog is None
    assert state.mode == Mode.BRAKE
    k = 0
    while np.any(state.v):
        state = other.exchange(k)
        k += 1
    held = state.q.tobytes()
    assert other.exchange(k).q.tobytes() == held


def test_divergence_ends_the_daemon_and_says_so(scara, start_plant, controller) -> None:
    config = scara(PATIENT, ("brake_torque_N_m: 8", "viscous_N_m_s: 1.0e+6"))
    plant = start_plant(config, "--pace", "lockstep")
    me = controller(plant)
    me.connect(Pace.LOCKSTEP)
    k = 0
    while True:
        me.client.send(me.commands.pack(me.session, k, Mode.EFFORT, np.ones(4)))  # it may be gone by now
        message = me.receive()
        assert message is not None
        if b"bye" in message:
            break
        k += 1
    said = read_handshake(message)
    assert isinstance(said, Bye)
    assert "diverged" in said.text
    me.client.send(Bye(session=me.session, text="enough").pack())
    assert plant.process.wait(60) == 1
    assert plant.wait_for("diverged")["text"] == said.text


def test_a_plant_that_ends_waits_for_the_answer_to_its_bye(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT), "--pace", "lockstep")
    me = controller(plant)
    me.connect(Pace.LOCKSTEP)
    plant.process.send_signal(signal.SIGTERM)
    plant.wait_for("end")
    with pytest.raises(subprocess.TimeoutExpired):
        plant.process.wait(0.1)  # nobody has read the bye yet
    said = me.answer()
    assert isinstance(said, Bye)
    assert said.text == "the plant was stopped"
    me.client.send(Bye(session=me.session, text="enough").pack())
    assert plant.process.wait(60) == 0
