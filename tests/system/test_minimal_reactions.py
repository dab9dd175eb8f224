"""Minimal coordinates in the plant and published reactions, through whole daemons in lockstep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgpack
import numpy as np
import pytest
import zmq

from linkwork import Robot
from linkwork.demos.demo_run import plant_figures
from linkwork.launch.daemons import Rig
from linkwork.machine import load, shipped_path
from linkwork.protocol.codes import ResultCode
from linkwork.recordings.log_file import read_ticks
from linkwork.recordings.recording import read_truth
from tests.waiting import wait_for

TOLERANCE = 1e-9
PINS = ("left", "right")


@pytest.fixture
def rig(folder: Path) -> Iterator[Rig]:
    text = shipped_path("five_bar").read_text()
    text = text.replace("controller:\n", "controller:\n  publish: [reactions]\n")
    path = folder / "five_bar.yaml"
    path.write_text(f"{text}rank_tolerance: {TOLERANCE}\nplant: {{formulation: minimal, integrator: rk4}}\n")
    arguments = [str(path), "--pace", "lockstep", "--realtime", "ignore"]
    truth, log = folder / "truth", folder / "log"
    with Rig(
        "five_bar", [*arguments, "--truth", str(truth)], [*arguments, "--log", str(log)], folder
    ) as running:
        running.wait_ready(lambda _: None)
        yield running


def weight_N(path: Path) -> float:
    mechanism = load(path).mechanism
    return float(sum(body.mass_kg for body in mechanism.bodies) * -np.asarray(mechanism.gravity_m_s2)[2])


@pytest.mark.slow
def test_a_plant_in_minimal_coordinates_and_its_reactions_in_state_telemetry_and_log(
    rig: Rig, folder: Path
) -> None:
    with Robot(endpoint=rig.requests) as robot, zmq.Context() as context, context.socket(zmq.SUB) as socket:
        wait_for(lambda: robot.status["device"]["simulation"], "word of how the plant simulates")
        status = robot.status
        assert status["device"]["simulation"] == {"formulation": "minimal", "integrator": "rk4"}
        assert status["rank_decision"]["tolerance"] == TOLERANCE
        assert status["rank_decision"]["smallest"] > 0.1 > status["rank_decision"]["limit"]
        assert not status["rank_decision"]["narrow"]
        socket.subscribe(b"telemetry")
        socket.set(zmq.RCVTIMEO, 60_000)
        socket.connect(status["telemetry"])
        assert robot.state["reactions"]["left"]["force_N"] == [None] * 3  # braked
        robot.enable()
        assert robot.move({"x": 0.05, "y": 0.33}).wait()["code"] == ResultCode.SUCCESSFUL
        told = robot.state["reactions"]
        assert told["left"]["from_body"] == "world"
        upward = sum(told[name]["force_N"][2] for name in PINS)
        assert upward == pytest.approx(weight_N(folder / "five_bar.yaml"), abs=1e-3)
        topic, payload = socket.recv_multipart()
        assert topic == b"telemetry"
        assert set(msgpack.unpackb(payload)["reaction"]) >= {"left.fx", "right_elbow.mz"}
        log = robot.status["log"]
        robot.disable()
    rig.close()
    ticks = read_ticks(Path(log)).table
    assert np.isfinite(ticks["reaction"]).all(axis=1).sum() > 100
    assert (
        plant_figures(read_truth(folder / "truth"), load(folder / "five_bar.yaml"))["closure_residual_max"]
        < 1e-12
    )  # solved for in every step, not corrected after it
