"""A run in one process: the motion of lockstep daemons bit for bit, its log, its figures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import Robot
from linkwork.campaigns.campaign_plan import read_campaign
from linkwork.campaigns.in_process import InProcessRun, MotionRequest
from linkwork.campaigns.run_worker import RunWorker, logged_run
from linkwork.client.goal import GoalFailed
from linkwork.controller.configuration import configured
from linkwork.launch.daemons import Rig
from linkwork.plant.faults.pushes import pushable
from linkwork.plant.faults.timeline import read_timeline
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay
from tests.campaigns import small_campaign

DISTURBED = """\
seed: 3
faults:
  - {wire: delay, direction: states, by_ticks: 2}
  - {at_s: 0.12, for_s: 0.02, wire: drop, direction: both, probability: 0.4}
  - {at_s: 0.15, sensor: noise, of: left, std_rad: 1.0e-5}
  - {at_s: 0.18, for_s: 1.0, wire: disconnect}
"""
TARGET = {"left": 2.2}


def test_a_run_in_one_process_is_that_of_lockstep_daemons_bit_for_bit(tmp_path: Path) -> None:
    line = tmp_path / "faults.yaml"
    line.write_text(DISTURBED)
    machine = pushable(configured("five_bar"))
    tables: list[Any] = []
    processors = os.sched_getaffinity(0)

    def take(table: Any, _: Any) -> None:
        tables.append(table.copy())
        assert os.sched_getaffinity(0) == processors  # runs of other workers need the others

    request = MotionRequest("move", {"target": TARGET})
    timeline = read_timeline(line, machine, hardware=False)
    end = InProcessRun(machine, [request], take, 7, timeline).run()
    assert (end.goal, end.name) == (1, "")
    here = np.concatenate(tables)

    there = _of_daemons(tmp_path, line)
    count = int(np.flatnonzero(there["goal_status"] >= 5)[0]) + 1
    assert count > 150
    for name in there.dtype.names:
        assert there[name][:count].tobytes() == here[name][:count].tobytes(), name


def _of_daemons(folder: Path, line: Path) -> Any:
    pace = ["five_bar", "--pace", "lockstep", "--realtime", "ignore"]
    plant = [*pace, "--seed", "7", "--faults", str(line)]
    with Rig("five_bar", plant, [*pace, "--log", str(folder)]) as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            robot.enable()
            with pytest.raises(GoalFailed, match="no fresh state"):
                robot.move(TARGET)
            log = robot.status["log"]
    assert log is not None
    return read_recording(Path(log)).table


def test_the_log_of_a_run_replays_to_the_last_bit(tmp_path: Path) -> None:
    plan = small_campaign.planned(tmp_path)
    worker = RunWorker(plan.recipe)
    task = next(plan.task(run) for run in range(plan.runs) if plan.task(run).variant == "slow")
    merit, end, path = logged_run(worker, task, tmp_path / "logs")
    assert (merit.result, end.text) == ("SUCCESSFUL", "")
    assert path is not None
    recording = read_recording(path)
    (tmp_path / "machine.yaml").write_text(recording.machine_file)
    machine = configured(str(tmp_path / "machine.yaml"))
    assert machine.controller.bandwidth_rad_s == 10.0
    assert [joint.name for joint in machine.joints] == [joint.name for joint in plan.machine.joints]
    replayed = replay(recording, machine)
    assert (replayed.difference, replayed.ended) == (None, "")
    assert replayed.ticks == len(recording.table)


def test_figures_follow_from_the_physics(tmp_path: Path) -> None:
    """Runs repeat to the last bit; a wrong mass, a slower controller, and a delay cost accuracy."""
    text = small_campaign.TEXT.replace("samples: 2", "levels: 2").replace("latin_hypercube", "grid")
    text = text.replace("[0.7, 0.9]", "[0.8, 0.9]").replace("{sensor: noise", "{at_s: 9, sensor: noise")
    plan = read_campaign(small_campaign.write(tmp_path, text))
    lines = small_campaign.lines(plan)
    assert lines == small_campaign.lines(plan)
    found: dict[tuple[float, float, str], dict[str, float]] = {}
    for run, line in enumerate(lines):
        told, task = json.loads(line), plan.task(run)
        assert told["result"] == "SUCCESSFUL"
        mass, delay = task.values
        found[mass, delay, task.variant] = dict(zip(plan.figures, told["figures"], strict=True))
    exact, wrong = found[0.8, 0.0, "shipped"], found[0.9, 0.0, "shipped"]
    slow, late = found[0.9, 0.0, "slow"], found[0.9, 1.0, "shipped"]
    assert exact["error_max.left"] < 0.05 * wrong["error_max.left"]
    assert slow["error_max.left"] > 1.2 * wrong["error_max.left"]
    assert late["error_max.left"] > 1.2 * wrong["error_max.left"]
    assert 0.0 < wrong["error_rms.left"] < wrong["error_max.left"]
    assert 0.0 < exact["speed_share"] < 1.01
    largest = max(exact["effort_peak.left"], exact["effort_peak.right"])
    assert exact["effort_share"] == pytest.approx(largest / 10.0)
    assert exact["energy"] > 0.0


def test_states_that_were_lost_before_the_motion_do_not_count(tmp_path: Path) -> None:
    text = small_campaign.TEXT.replace("{sensor: noise, of: left, std_rad: 1.0e-6}", "LOSS")
    lost = {}
    for name, at_s, for_s in (("before", 0.0, 0.03), ("all the time", 0.0, 9.0)):
        loss = f"{{at_s: {at_s}, for_s: {for_s}, wire: drop, direction: states, probability: 0.3}}"
        plan = small_campaign.planned(tmp_path, text.replace("LOSS", loss))
        worker, tables = RunWorker(plan.recipe), []
        merit, _ = worker.run(plan.task(0), lambda table, _, kept=tables: kept.append(table.copy()))
        table = np.concatenate(tables)
        assert table["lost_total"][table["goal_id"] == 1][0] > 0
        lost[name] = dict(zip(plan.figures, merit.values, strict=True))["lost_states"]
    assert lost["before"] == 0.0
    assert lost["all the time"] > 0.0


@pytest.mark.slow
def test_runs_by_daemons_have_the_same_results(tmp_path: Path) -> None:
    plan = small_campaign.planned(tmp_path)
    daemons = RunWorker(read_campaign(plan.path, daemons=True).recipe)
    for run, line in enumerate(small_campaign.lines(plan)):
        assert daemons.line(plan.task(run)) == line
