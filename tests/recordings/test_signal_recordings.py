"""Runs with a gripper and parts: the same bytes twice, an exact replay, signals as people see them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from linkwork.cli.live_table import view
from linkwork.controller.exchange.orders import SetOutputs
from linkwork.machine import Machine, load, shipped_path
from linkwork.recordings.path_plot import HUES
from linkwork.recordings.recording import Recording, read_recording, signals
from linkwork.recordings.replay import replay
from linkwork.recordings.signal_plot import (
    chosen,
    draw_panels,
    panel_columns,
    recorded_panels,
    signal_panels,
    units_of,
)
from tests.controller.loop.in_process import InProcess
from tests.recordings.recorded import InProcessRecorder
from tests.signal_machine import signal_machine

FIRST_AT, UNDER_THE_TOOL = "at_m: [0.18, 0.30, 0.015]", "at_m: [0.025, 0.39, 0.015]"
OPEN, CLOSED = SetOutputs(((0, 0.0),)), SetOutputs(((0, 1.0),))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """With a part below the tool at the beginning."""
    text = shipped_path("scara_gripper").read_text()
    assert FIRST_AT in text
    path = tmp_path_factory.mktemp("machine") / "scara_gripper.yaml"
    path.write_text(text.replace(FIRST_AT, UNDER_THE_TOOL))
    return load(path)


def pick_and_drop(machine: Machine, folder: Path) -> Path:
    """Lower the tool, close the gripper, lift the part, and let it fall."""
    folder.mkdir()
    run = InProcessRecorder(machine, folder)
    run.enable()
    for goal, (lift, order) in enumerate(((-0.08, CLOSED), (0.06, OPEN)), 1):
        index, knots, values = run.swing(0.0, 0.3)
        x = knots / 0.3
        values[:, 0, 3] += lift * (10 * x**3 - 15 * x**4 + 6 * x**5)
        values[:, 1, 3] = lift / 0.3 * (30 * x**2 - 60 * x**3 + 30 * x**4)
        values[:, 2, 3] = lift / 0.09 * (60 * x - 180 * x**2 + 120 * x**3)
        run.send(index, knots, values, goal_id=goal)
        run.run(0.35)
        run.order(order)
        run.run(0.05)
    run.run(0.2)
    return run.close()


@pytest.fixture(scope="module")
def logs(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("logs")
    return pick_and_drop(machine, folder / "one"), pick_and_drop(machine, folder / "two")


@pytest.fixture(scope="module")
def picked(logs: tuple[Path, Path]) -> Recording:
    return read_recording(logs[0])


def test_the_part_is_seen_held_and_lost(picked: Recording) -> None:
    found = signals(picked.ticks)
    gripper, present = found["output.gripper"], found["input.part_present"]
    closed, opened = (int(np.argmax(gripper)), len(gripper) - int(np.argmax(gripper[::-1])))
    assert present[closed:opened].all(), "the gripper holds the part"
    assert not present[-1], "the part has fallen out of the light barrier"
    held = picked.table["effort"][opened - 20 : opened, 3].mean()
    empty = picked.table["effort"][-20:, 3].mean()
    assert held - empty == pytest.approx(0.8 * 9.81, rel=1e-3), "the motor carries the part's weight"


def test_two_runs_give_the_same_bytes(logs: tuple[Path, Path]) -> None:
    one, two = (path.read_bytes() for path in logs)
    assert one == two


def test_a_run_with_a_change_of_load_replays_to_the_last_bit(picked: Recording, machine: Machine) -> None:
    found = replay(picked, machine)
    assert (found.ticks, found.difference, found.ended) == (len(picked.table), None, "")


def test_digital_signals_are_bands_and_analog_ones_share_a_panel_a_unit(tmp_path: Path) -> None:
    machine = signal_machine(tmp_path)
    run = InProcessRecorder(machine, tmp_path)
    run.order(SetOutputs(((0, 1.0), (2, 2.0))))
    run.run(0.02)
    ticks = read_recording(run.close()).ticks
    units = units_of(machine.source_text)
    assert units == {"gripper": None, "lamp": None, "flow": "l/min", "part_present": None, "pressure": "bar"}
    panels = signal_panels(signals(ticks), units)
    assert [(panel.title, list(panel.curves), panel.bands) for panel in panels] == [
        ("digital signals", ["part_present", "gripper", "lamp"], True),
        ("analog signals / bar", ["pressure"], False),
        ("analog signals / l/min", ["flow"], False),
    ]
    [(_, found)] = chosen(ticks, ["gripper"])
    assert list(found) == ["output.gripper"]
    shown = recorded_panels(ticks, ["gripper", "flow", "coordinate.z"], machine.source_text)
    draw_panels(ticks.table["time_s"], shown, tmp_path / "a.png", "signals")
    assert (tmp_path / "a.png").stat().st_size > 5_000
    assert units_of("not: [a machine") == {}


def test_plots_are_in_the_units_of_people_by_the_recorded_machine(picked: Recording, tmp_path: Path) -> None:
    names = ["coordinate", "v", "effort", "q.lift", "path_s", "gripper"]
    panels = [panel.displayed() for panel in recorded_panels(picked.ticks, names, picked.machine_file)]
    assert [panel.title for panel in panels] == [
        "coordinate / °", "coordinate / mm", "v / °/s", "v / mm/s", "effort / N m", "effort / N",
        "q.lift / mm", "path_s / s", "digital signals",
    ]  # fmt: skip
    found = signals(picked.ticks)
    np.testing.assert_allclose(panels[0].curves["elbow"], np.degrees(found["coordinate.elbow"]))
    np.testing.assert_allclose(panels[1].curves["z"], 1e3 * found["coordinate.z"])
    assert len(set(HUES)) >= 8, "as many colours as a robot has motors"
    columns = panel_columns(picked.table["time_s"], panels)
    assert {"time_s", "coordinate.elbow_deg", "v.lift_mm_s", "effort.lift_N", "q.lift_mm"} <= columns.keys()
    assert {"effort.elbow_N_m", "path_s_s", "gripper"} <= columns.keys()
    draw_panels(picked.table["time_s"], panels, tmp_path / "a.svg", "run")
    drawn = re.findall("<!-- (.*?) -->", (tmp_path / "a.svg").read_text())
    assert {"run", "coordinate", "°", "mm", "N m", "time / s", "shoulder", "lift"} <= set(drawn)


def test_a_plot_of_an_unreadable_machine_file_has_no_units(picked: Recording) -> None:
    (panel,) = recorded_panels(picked.ticks, ["coordinate"], "not: [a machine")
    assert panel.title == "coordinate"


def test_a_quaternion_is_no_angle(tmp_path: Path) -> None:
    recorder = InProcessRecorder(load("platform_3rrs"), tmp_path)
    recorder.tick()
    recorder.log.close()
    recording = read_recording(recorder.path)
    titles = {
        panel.title: panel.curves for panel in recorded_panels(recording.ticks, ["q"], recording.machine_file)
    }
    assert set(titles) == {"q / rad", "q"}
    assert {"ball_1_rx", "ball_1_quaternion"} <= titles["q"].keys()


def test_watch_shows_on_off_and_units(tmp_path: Path) -> None:
    machine = signal_machine(tmp_path)
    run = InProcess(machine)
    run.order(SetOutputs(((0, 1.0),)))
    sample = run.layout.as_map(run.tick().record) | {"timestamp": 0.0}
    page = io.StringIO()
    Console(width=200, file=page).print(view(sample, units=units_of(machine.source_text)))
    assert "gripper on; lamp off; flow 0.5 l/min" in page.getvalue()
