"""A real plant daemon with faults, a bare controller, and somebody who injects, over real sockets."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from linkwork.cli.app import build
from linkwork.client.injector import InjectionRefused, Injector
from linkwork.command_line import call
from linkwork.protocol.codes import Mode, Pace
from linkwork.protocol.injection import InjectRefusal, read_lost
from linkwork.protocol.link import read_map
from linkwork.terminal.failures import run
from tests.plant.conftest import SLIDER

FAULTS: list[dict[str, Any]] = [
    {"at_tick": 3, "for_ticks": 12, "wire": "drop", "direction": "states", "probability": 0.4},
    {"at_tick": 9, "for_ticks": 9, "wire": "jitter", "up_to_ticks": 2},
]
TICKS = 30


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The slider, slow enough that no clock of a busy computer interferes."""
    path = tmp_path / "slider.yaml"
    path.write_text(SLIDER.replace("AXIS", "[1, 0, 0]").replace("period_s: 0.001", "period_s: 0.25"))
    return path


def command(plant: Any, *words: str) -> int:
    """The exit status of `linkwork inject` with these words."""
    argv = ["inject", "--plant", plant.endpoint, *words]
    return run(lambda: call(build(), argv, "linkwork"), as_json=False)


def exchange(me: Any, pace: Pace) -> list[tuple[int, int] | None]:
    """For each tick the (seq, ack) of the state that came, None where none did."""
    found: list[tuple[int, int] | None] = []
    state, seq = me.connect(pace), -1
    for _ in range(TICKS):
        fresh = state is not None and state.seq > seq
        found.append((state.seq, state.ack) if fresh else None)
        seq = state.seq if fresh else seq
        state = _next(me, pace, seq, fresh, len(found) - 1)
    return found


def _next(me: Any, pace: Pace, seq: int, fresh: bool, tick: int) -> Any:
    """Sends what a controller sends at this tick, and takes the newest state that comes before the next."""
    if pace is Pace.LOCKSTEP and not fresh:
        me.client.send(me.lost)
    else:
        me.command(seq, Mode.BRAKE)
    newest, until = None, time.monotonic() + (60.0 if pace is Pace.LOCKSTEP else 0.2)
    while True:
        message = me.receive(max(0.0, until - time.monotonic()))
        if message is None:
            return newest
        if read_lost(read_map(message)) is not None:
            me.lost = message
            return newest
        state = me.states.message()
        me.states.unpack(message, state)
        if newest is None or state.seq > newest.seq:
            newest = state
        if newest.seq > seq:
            return newest


def test_a_refused_fault_is_described_once(config: Path, start_plant, tmp_path, capsys) -> None:
    plant = start_plant(config, "--inject")
    line = tmp_path / "line.yaml"
    line.write_text("faults:\n  - {sensor: bias,\n     of: slied, by_m: 1}\n")
    for words, place in (
        ([str(line)], "line.yaml:3:10: error"),
        (["--fault", "{sensor: bias, of: slied, by_m: 1}"], "fault: error"),
    ):
        assert command(plant, *words) == 2
        said = capsys.readouterr().err
        assert f"{place}: faults[0].of: no sensor has this name" in said
        assert said.count("no sensor has this name") == 1


@pytest.mark.slow
def test_a_daemon_loses_the_same_in_lockstep_and_by_the_controllers_clock(
    config: Path, start_plant, controller, tmp_path, capsys
) -> None:
    plant = start_plant(config, "--inject")
    runs = []
    with Injector(plant.endpoint) as injector:
        for pace in (Pace.LOCKSTEP, Pace.HOST, Pace.LOCKSTEP):
            answer = injector.inject(*FAULTS, seed=5)
            me = controller(plant)
            runs.append(exchange(me, pace))
            me.bye()
            plant.wait_for("left", len(runs))
            injector.clear()
        assert runs[0] == runs[2]
        assert runs[0] == runs[1]
        assert None in runs[0]
        assert answer.names == ["drop1", "jitter2"]
        assert {report.kind for report in injector.history().faults} == {"wire.drop", "wire.jitter"}
        assert injector.report("drop1").state == "ended"
        with pytest.raises(LookupError, match="drop1"):
            injector.report("nobody")
    line = tmp_path / "line.yaml"
    line.write_text("seed: 3\nfaults:\n  - {name: off, sensor: bias, of: slide, by_m: 1}\n")
    assert command(plant, str(line)) == 0
    assert "off (sensor.bias of slide) begins at tick" in capsys.readouterr().out
    assert command(plant, "--clear", "off", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["faults"][-1]["name"], len(answer["names"])) == ("off", 1)
    assert command(plant, "--fault", "{name: late, after_s: 900, sensor: bias, of: slide, by_m: 1}") == 0
    capsys.readouterr()
    assert command(plant, "--clear", "late") == 0
    assert "cleared: late" in capsys.readouterr().out
    line.write_text("faults:\n  - {sensor: bias,\n     of: slied, by_m: 1}\n")
    assert command(plant, str(line)) == 2
    assert "line.yaml:3:10: error: faults[0].of: no sensor has this name" in capsys.readouterr().err
    assert command(plant, "--fault", "{mechanism: open, of: nothing}") == 2
    assert "faults[0].of" in capsys.readouterr().err
    assert command(plant) == 0
    assert "wire.jitter" in capsys.readouterr().err
    said = [event for event in plant.events if event["event"] == "fault"]
    assert {event["what"] for event in said} == {"begins", "ends"}
    assert plant.end() == 0


def test_a_time_line_of_the_command_line_acts_but_is_not_open_to_all(
    config: Path, start_plant, controller, tmp_path: Path
) -> None:
    line = tmp_path / "line.yaml"
    line.write_text("faults:\n  - {name: off, at_tick: 2, sensor: bias, of: slide, by_m: 1}\n")
    plant = start_plant(config, "--faults", str(line))
    me = controller(plant)
    told = [me.connect(Pace.LOCKSTEP).q[0], *(me.exchange(k).q[0] for k in range(4))]
    assert [q > 1.0 for q in told] == [False, False, True, True, True]
    begins = plant.wait_for("fault")
    assert (begins["name"], begins["from_tick"], begins["what"]) == ("off", 2, "begins")
    with Injector(plant.endpoint) as injector:
        assert injector.history().faults[0].applied
        with pytest.raises(InjectionRefused) as caught:
            injector.clear()
        assert caught.value.code is InjectRefusal.NOT_OFFERED
    plain = start_plant(config.rename(tmp_path / "other.yaml"), "--endpoint", f"ipc://{tmp_path}/p.ipc")
    with Injector(f"ipc://{tmp_path}/p.ipc") as injector, pytest.raises(InjectionRefused, match="--inject"):
        injector.history()
    assert plain.end() == 0


def test_a_time_line_that_is_wrong_ends_the_daemon_with_its_place(
    config: Path, start_plant, tmp_path
) -> None:
    line = tmp_path / "line.yaml"
    line.write_text("faults:\n  - {sensor: bais, of: slide, by_m: 1}\n")
    plant = start_plant(config, "--faults", str(line), ready=False)
    _, error = plant.process.communicate(timeout=60)
    assert plant.process.returncode == 2
    assert b"line.yaml:2:14: error: faults[0].sensor" in error
    assert b"write bias" in error


def test_in_lockstep_a_cut_without_an_end_holds_time_until_it_is_cleared(
    config: Path, start_plant, controller
) -> None:
    plant = start_plant(config, "--inject")
    me, other = controller(plant), controller(plant, "other@there")
    with Injector(plant.endpoint) as injector:
        state = me.connect(Pace.LOCKSTEP)
        for k in range(5):
            state = me.exchange(k)
        injector.inject({"wire": "disconnect", "name": "cut"})
        me.command(state.seq)
        assert read_lost(read_map(me.receive())) is not None
        me.bye()
        allowed = plant.machine.plant.command_timeout_periods
        trip = plant.wait_for("watchdog")
        assert (trip["last_fresh_tick"], trip["tick"]) == (6, 6 + allowed), "a command that came before it"
        other.hello(Pace.LOCKSTEP)
        assert other.silence(0.3), "and time stands meanwhile"
        injector.clear()
        begun = other.connect(Pace.LOCKSTEP)
        assert other.welcome.tick == trip["tick"] + 2, "the tick of the trip, and that of the clear"
        assert begun.seq == 0
        assert other.exchange(0).fault == 0
