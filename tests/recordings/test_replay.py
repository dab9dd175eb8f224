"""Recordings fed to the controller again: to the last bit, and where something differs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import Disable, Enable, JogCoordinates, SetSpeed, Splice, Stop
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.supervision.brakes import Phase
from linkwork.machine import Machine, load
from linkwork.protocol.codes import ResultCode
from linkwork.recordings.recording import NoRecording, Recording, read_recording
from linkwork.recordings.replay import ARRAYS, PLAIN, SWITCHES, DeviceClock, replay
from tests.controller.loop.in_process import with_controller
from tests.recordings.recorded import InProcessRecorder

SCARA = load("scara")


@pytest.fixture(scope="module")
def swung(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Enabled, swung, stopped on the way with a lost state, a refused order, disabled."""
    run = InProcessRecorder(SCARA, tmp_path_factory.mktemp("log"))
    run.enable()
    run.run(0.02)
    run.send(*run.swing(seconds=0.5))
    run.run(0.2)
    run.inputs.fresh, run.inputs.lost_in_a_row, run.inputs.loss_ratio = False, 1, 1e-3
    run.tick()
    run.inputs.fresh, run.inputs.lost_in_a_row = True, 0
    run.order(Enable())
    run.order(Stop())
    run.run(0.4)
    run.send(*run.swing(0.1, 0.3), at_tick=run.simulator.tick + 20, goal_id=2)
    run.run(0.4)
    run.order(SetSpeed(0.0, at_tick=3))
    run.order(Disable())
    run.run(0.2)
    return read_recording(run.close())


def test_a_recording_holds_everything(swung: Recording) -> None:
    assert swung.machine_file == SCARA.source_text
    assert swung.metadata["machine"] == "scara"
    assert [order.name for order in swung.orders.values()] == [
        "enable", "goal", "enable", "stop", "goal", "speed", "disable",
    ]  # fmt: skip
    assert sorted(goal.goal for goal in swung.goals.values()) == [1, 2]
    np.testing.assert_array_equal(swung.table["tick"], np.arange(len(swung.table)))


def test_the_same_build_answers_to_the_last_bit(swung: Recording) -> None:
    found = replay(swung, SCARA)
    assert (found.ticks, found.difference, found.ended) == (len(swung.table), None, "")


def test_goals_that_wait_for_another_one_too(tmp_path: Path) -> None:
    """A waiting goal is what the law sees ahead of the junction, and the log tells when it arrived."""
    run = InProcessRecorder(SCARA, tmp_path)
    run.enable()
    index, knots, values = run.swing(seconds=0.5)
    run.send(index, knots, values)
    run.run(0.05)
    half = len(knots) // 2
    later, turned = knots[half:] - knots[half], values[half:].copy()
    turned[:, 0, 0] += 2.0 * later**3
    turned[:, 1, 0] += 6.0 * later**2
    turned[:, 2, 0] += 12.0 * later
    splice = Splice(1, float(knots[half]), 1.0, ResultCode.REPLACED)
    run.send(index, later, turned, goal_id=2, slot=1, begin=splice)
    run.run(0.1)
    run.order(SetSpeed(0.5, at_tick=run.simulator.tick + 130))
    run.run(1.0)
    recording = read_recording(run.close())
    assert set(recording.table["goal_id"]) == {0, 1, 2}
    found = replay(recording, SCARA)
    assert (found.ticks, found.difference, found.ended) == (len(recording.table), None, "")


def test_another_gain_differs_at_the_first_tick_that_it_touches(swung: Recording) -> None:
    other = with_controller(SCARA, bandwidth_rad_s=SCARA.controller.bandwidth_rad_s * (1 + 1e-9))
    found = replay(swung, other)
    assert found.difference is not None
    tick, table = found.difference.tick, swung.table
    error = np.nan_to_num(table["reference"] - table["coordinate"])
    assert not error[:tick].any()  # a gain times nothing is nothing: so far the brakes held
    assert not table["v"][:tick].any()
    assert 0 <= tick - int(np.argmax(table["phase"] == Phase.RELEASED)) <= 1
    assert found.difference.field.startswith("law_effort.")
    assert found.difference.was != found.difference.now
    assert replay(swung, other, tolerance=1e-3).difference is None


def test_another_tolerance_differs_where_it_is_met(swung: Recording) -> None:
    strict = tuple(each.with_values(start=1e-12) for each in SCARA.tolerances)
    found = replay(swung, dataclasses.replace(SCARA, tolerances=strict))
    assert found.difference is not None
    began = swung.table["tick"][np.isin(swung.table["order_id"], list(swung.goals))]
    assert found.difference.tick in began


def test_what_cannot_be_replayed_says_why(swung: Recording) -> None:
    late = dataclasses.replace(swung, ticks=dataclasses.replace(swung.ticks, table=swung.table[5:]))
    with pytest.raises(NoRecording, match="begins with tick 5"):
        replay(late, SCARA)
    with pytest.raises(NoRecording, match="of another machine"):
        replay(swung, load("four_bar"))
    holey = np.delete(swung.table, 10)
    found = replay(dataclasses.replace(swung, ticks=dataclasses.replace(swung.ticks, table=holey)), SCARA)
    assert (found.ticks, found.ended) == (10, "the records of ticks 10 to 10 are missing")
    mute = dataclasses.replace(swung, events=())
    assert "does not say what it asked for" in replay(mute, SCARA).ended


def test_a_closed_machine_too(tmp_path: Path) -> None:
    machine: Machine = load("four_bar")
    run = InProcessRecorder(machine, tmp_path)
    run.enable()
    run.run(0.05)
    run.order(JogCoordinates(((0, 0.2),)))
    run.run(0.2)
    found = replay(read_recording(run.close()), machine)
    assert (found.difference, found.ended) == (None, "")


def test_every_input_of_the_tick_is_recorded() -> None:
    """Whoever gives the tick something new must record it too."""
    assert {field.name for field in dataclasses.fields(Inputs)} == {
        *PLAIN, *ARRAYS, *SWITCHES, "order", "set_point", "motors", "motors_told", "clock_jump_s",
    }  # fmt: skip


def test_a_jump_of_the_devices_clock_is_found_again() -> None:
    clock, inputs = DeviceClock(SCARA), Inputs.for_machine(SCARA)
    inputs.connected = inputs.fresh = True
    found = []
    for device_tick, time_s in (
        (0, 5.0),
        (1, 5.001),
        (3, 5.003),
        (4, 65.004),
        (5, 65.005),
        (0, 1.0),
        (1, 0.5),
    ):
        inputs.device_tick, inputs.time_s = device_tick, time_s
        found.append(clock.jump(inputs))
    assert found == [0.0, 0.0, 0.0, pytest.approx(60.0), 0.0, 0.0, pytest.approx(-0.501)]
    inputs.fresh = False
    assert clock.jump(inputs) == 0.0


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    path = tmp_path / "x.mcap"
    path.write_bytes(b"nothing of that kind")
    with pytest.raises(NoRecording, match="not a recording"):
        read_recording(path)
    path.write_bytes(b"")
    with pytest.raises(NoRecording, match="no ticks"):
        read_recording(path)


def test_published_reactions_are_replayed(tmp_path: Path) -> None:
    machine = with_controller(SCARA, publish=("reactions",))
    run = InProcessRecorder(machine, tmp_path)
    run.enable()
    run.send(*run.swing(seconds=0.2))
    run.run(0.3)
    recording = read_recording(run.close())
    assert np.isfinite(recording.table["reaction"][-1]).all()
    found = replay(recording, machine)
    assert (found.ticks, found.difference, found.ended) == (len(recording.table), None, "")
