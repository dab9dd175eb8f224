"""A machine with passive joints behind real daemons: motors driven and measured, goals in joints and task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from linkwork import Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import load, shipped_path
from linkwork.machine.checks.assembly_modes import fitting_poses
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.recordings.log_file import read_ticks
from tests.system.running import linkwork


@pytest.fixture(scope="module")
def five_bar() -> Iterator[Rig]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        folder = Path(made)
        arguments = ["five_bar", "--pace", "lockstep", "--realtime", "ignore"]
        with Rig("five_bar", arguments, [*arguments, "--log", str(folder / "log")], folder) as rig:
            rig.wait_ready(lambda _: None)
            yield rig


def test_goals_in_motor_angles_and_in_tool_coordinates(five_bar: Rig) -> None:
    with Robot(endpoint=five_bar.requests) as robot:
        robot.enable()
        home = {name: robot.state["q"][name] for name in ("left", "right")}
        robot.move({"left": 1.9, "right": 1.2})
        robot.move({"x": 0.03, "y": 0.32})
        there = robot.state["coordinates"]
        assert (there["x"], there["y"]) == pytest.approx((0.03, 0.32), abs=1e-5)
        shape = {"center_m": [0.0, 0.32, 0.0], "radius_m": 0.03, "rate_rad_s": 2.0, "duration_s": 3.0}
        circle = {"curve": {"circle": shape, "of": ["x", "y"]}, "entry": {"ramp_s": 0.5}}
        log = robot.status["log"]
        with pytest.raises(RequestError, match="Move to") as elsewhere:
            robot.send(circle)
        robot.move(elsewhere.value.data["begin"])
        assert robot.send(circle).wait()["code"] == ResultCode.SUCCESSFUL
        robot.move(home)
        robot.disable()
    ticks = read_ticks(Path(log)).table
    reference, real = ticks["reference"], ticks["coordinate"]
    moving = np.isfinite(reference)
    assert np.abs(reference - real)[moving].max() < 1e-4


def test_what_cannot_be_reached_or_is_dependent_is_refused_with_the_reason(five_bar: Rig) -> None:
    with Robot(endpoint=five_bar.requests) as robot:
        robot.enable()
        with pytest.raises(RequestError, match="cannot reach"):
            robot.move({"x": 0.0, "y": 0.6})
        with pytest.raises(RequestError, match="left, x, y contradict each other"):
            robot.move({"left": 2.0, "x": 0.0, "y": 0.3})
        robot.disable()


def test_the_controller_begins_in_the_assembly_mode_that_a_person_names(tmp_path: Path) -> None:
    text = shipped_path("five_bar").read_text()
    assert "assemblies: one" in text
    path = tmp_path / "five_bar.yaml"
    path.write_text(text.replace("assemblies: one", "assemblies: several"))
    machine = load(path)
    elbows = {
        name: float(fitting_poses(machine).modes[0][machine.mechanism.joint_index(name)])
        for name in ("left_elbow", "right_elbow")
    }
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        words = [str(path), "--pace", "lockstep", "--realtime", "ignore"]
        with Rig("five_bar", words, [*words, "--no-log"], Path(made)) as rig:
            rig.wait_ready(lambda _: None)
            with Robot(endpoint=rig.requests) as robot:
                own = robot.state["q"]
                with pytest.raises(RequestError, match="did you mean 'left_elbow'"):
                    robot.confirm_branch({"left_elbo": 1.0})
                with pytest.raises(RequestError, match="the nearest pose that closes"):
                    robot.confirm_branch({"left_elbow": own["left_elbow"] + 0.3})
                with pytest.raises(RequestError, match="confirm_branch"):
                    robot.enable()
                ran = linkwork(Path(made), "confirm-branch", f"left_elbow={elbows['left_elbow']:.3f}")
                assert (ran.returncode, "the estimate begins again" in ran.stdout) == (0, True), ran
                for name, value in elbows.items():
                    assert robot.state["q"][name] == pytest.approx(value, abs=1e-6)
                robot.confirm_branch(own)
                assert robot.state["q"] == pytest.approx(own, abs=1e-9)
                robot.enable()
                robot.move({"left": own["left"] + 0.1, "right": own["right"]})
                with pytest.raises(RequestError) as while_enabled:
                    robot.confirm_branch(robot.state["q"])
                assert while_enabled.value.code == RequestCode.WRONG_STATE


@pytest.mark.slow
def test_a_demo_runs_from_one_command(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "linkwork",
        "demo",
        "five_bar",
        "--lockstep",
        "--json",
        "--seconds",
        "0.5",
    ]
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as runtime:
        env = {**os.environ, "LINKWORK_RUNTIME_DIR": runtime}
        run = subprocess.run(
            [*command, "--out", str(tmp_path)], capture_output=True, text=True, env=env, timeout=200
        )
        assert list(Path(runtime).glob("rig-*")) == []
    assert run.returncode == 0, run.stdout + run.stderr
    summary = json.loads(run.stdout)
    assert (summary["result"], summary["mode"], summary["missed_ticks"]) == ("SUCCESSFUL", "lockstep", 0)
    assert summary["tracking_error_max"] <= 1e-5
    assert summary["measured_ticks"] == 501
    assert summary["plant"]["passive_effort_max"] == {"left_elbow": 0.0, "right_elbow": 0.0}
    assert summary["plant"]["closure_residual_max"] <= 1e-9
    for name in ("plot", "log", "plant_record"):
        assert Path(summary[name]).stat().st_size > 0
