"""One controller owns the plant: refusals over a real socket, foreign commands, and who may enter when."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from linkwork.protocol.codes import Mode, Pace, RefuseCode
from linkwork.protocol.handshake import Refuse, Welcome

PATIENT = ("plant:\n", "plant:\n  peer_timeout_s: 60\n")


def test_a_second_controller_is_refused_with_the_owners_name_and_changes_nothing(
    scara, start_plant, controller
) -> None:
    plant = start_plant(scara(PATIENT))
    first, second = controller(plant, "ann@desk"), controller(plant, "bob@bench")
    first.connect(Pace.LOCKSTEP)
    first.exchange(0, Mode.EFFORT)
    for _ in range(3):
        second.hello(Pace.LOCKSTEP)
        said = second.answer()
        assert isinstance(said, Refuse)
        assert (said.code, said.owner, said.session) == (RefuseCode.TAKEN, "ann@desk", second.session)
        assert "ann@desk" in said.text
    assert first.exchange(1, Mode.EFFORT).seq == 2
    assert plant.wait_for("refused")["code"] == "TAKEN"
    plant.end()
    assert len([event for event in plant.events if event["event"] == "refused"]) == 1, "said once"


def test_commands_of_a_foreign_session_are_counted_and_dropped(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT))
    first, second = controller(plant), controller(plant, "bob@bench")
    first.connect(Pace.LOCKSTEP)
    first.exchange(0, Mode.BRAKE)
    assert second.client.writable(10_000)
    for seq in range(20):
        second.command(seq, Mode.EFFORT, [60.0])
    second.command(1, Mode.EFFORT, [60.0], session=0)
    assert second.silence(0.1)
    state = first.exchange(1, Mode.BRAKE)
    assert (state.seq, state.ack, state.mode, state.effort.tolist()) == (2, 1, Mode.BRAKE, [0.0] * 4)
    first.bye()
    plant.wait_for("left")
    dropped = plant.wait_for("dropped", 2)
    assert (dropped["kind"], dropped["count"]) == ("foreign", 10)


def test_in_device_pace_a_silent_owner_is_stale_after_the_command_timeout(
    scara, start_plant, controller
) -> None:
    plant = start_plant(scara())
    first, second = controller(plant, "ann@desk"), controller(plant, "bob@bench")
    first.connect(Pace.DEVICE)
    first.command(0)
    plant.wait_for("watchdog")
    second.connect(Pace.DEVICE)
    assert second.welcome.watchdog["owner"] == "ann@desk"
    second.command(0)
    first.command(1, Mode.EFFORT, [60.0])
    while True:
        state = second.state()
        second.command(state.seq)
        if state.seq > 100:
            break
    assert state.mode == Mode.BRAKE
    assert not state.fault
    assert state.session == second.session


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"interface": "0" * 64, "layout": {}}, RefuseCode.INTERFACE, ["0" * 64]),
        ({"period_s": 0.002}, RefuseCode.PERIOD, ["0.001 s", "0.002 s"]),
        ({"pace": "host"}, RefuseCode.PACE, ["lockstep", "host"]),
    ],
)
def test_a_mismatch_is_refused_and_a_better_hello_enters(
    changes: dict[str, Any], code: RefuseCode, words: list[str], scara, start_plant, controller
) -> None:
    plant = start_plant(scara(PATIENT), "--pace", "lockstep")
    me = controller(plant)
    me.hello(**{"pace": Pace.LOCKSTEP, **changes})
    said = me.answer()
    assert isinstance(said, Refuse)
    assert said.code == code
    for word in words:
        assert word in said.text
    me.connect(Pace.LOCKSTEP)


def test_another_version_and_nonsense_are_refused(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT))
    me = controller(plant)
    assert me.client.writable(60_000)
    for message, code, word in [
        ({"type": "hello", "protocol": 2, "session": 5, "novel": True}, RefuseCode.VERSION, "version 2"),
        ({"type": "hello", "session": 5}, RefuseCode.VERSION, "no version"),
        ({"type": "hello", "protocol": 1, "session": 5}, RefuseCode.MALFORMED, "owner"),
    ]:
        assert me.client.send(msgpack.packb(message))
        said = me.answer()
        assert isinstance(said, Refuse)
        assert (said.code, said.session) == (code, 5)
        assert word in said.text


def test_another_model_is_shown_and_accepted(scara, start_plant, controller) -> None:
    plant = start_plant(scara(PATIENT), "--plant-set", "lift_link.mass_kg=+20%")
    me = controller(plant)
    me.connect(Pace.LOCKSTEP)
    assert me.welcome.model != me.machine.model_hash
    assert plant.wait_for("connected")["model_differs"] is True


def test_the_welcome_says_what_the_plant_is(scara, start_plant, controller) -> None:
    plant = start_plant(scara())
    me = controller(plant)
    me.hello(Pace.DEVICE)
    said = me.answer()
    assert isinstance(said, Welcome)
    machine = plant.machine
    assert said.session == me.session
    assert (said.name, said.pace, said.period_s) == ("scara", Pace.DEVICE, 0.001)
    assert (said.interface, said.model) == (machine.interface_hash, machine.model_hash)
    assert (said.tick, said.command_timeout_periods, said.watchdog) == (0, 20, None)
    assert said.layout["sensors"][3] == {"joint": "lift", "unit": "m", "velocity": True}


def test_a_command_with_a_wrong_number_of_efforts_is_refused_by_name(scara, start_plant, controller) -> None:
    me = controller(start_plant(scara(PATIENT)), "ann@desk")
    me.connect(Pace.LOCKSTEP)
    command = {"type": "command", "session": me.session, "seq": 0, "mode": 0, "effort": [0.0] * 7}
    me.client.send(msgpack.packb(command))
    said = me.answer()
    assert (said.code, said.session) == (RefuseCode.MALFORMED, me.session)
    assert "`effort` must have" in said.text
    me.command(0, Mode.BRAKE)
    assert me.state().seq == 1, "the session continues"
