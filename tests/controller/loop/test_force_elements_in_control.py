"""Machines with springs, dampers and applied forces under control: the law compensates those it knows."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import Machine, load, shipped_path
from linkwork.machine.yaml_document import read_yaml
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import SendParams
from linkwork.protocol.trajectory import read_trajectory
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.test_closed_chains import move
from tests.machine.test_force_element_sections import DATA

SPRINGS = {
    "stay": {"between": ["hook", "tip"], "stiffness_N_m": 60, "damping_N_s_m": 4, "rest_m": 0.3},
    "wound": {"joint": "hinge", "stiffness_N_m_rad": 2, "damping_N_m_s": 0.3, "rest_deg": 20},
}
PUSH = {"point": "tip", "direction": [0, 0, 1], "force_N": "4*sin(9*t) - 2*rate(tip.z)"}
CRANK = {
    "springs": {"buffer": {"joint": "knee", "stiffness_N_m_rad": 5, "damping_N_m_s": 1}},
    "forces": {"pull": {"point": "tip", "direction": [1, 0, 0], "force_N": "6*cos(5*t) - 3*rate(tip.x)"}},
}


def arm(folder: Path, **changed: object) -> Machine:
    path = folder / "arm.yaml"
    exact = {"sensors": {"hinge": {"velocity": True}}}
    sections = {**DATA, **exact, "springs": SPRINGS, "forces": {"push": PUSH}, **changed}
    path.write_text(json.dumps(sections))
    return load(path)


def crank(folder: Path, **changed: object) -> Machine:
    data = read_yaml(shipped_path("slider_crank")).data
    path = folder / "crank.yaml"
    path.write_text(json.dumps({**data, **CRANK, **changed}))
    return load(path)


def worst_error(machine: Machine, target: dict[str, float]) -> float:
    rig = InProcess(machine)
    rig.enable()
    rig.run(0.5)
    move(rig, target)
    worst = 0.0
    for _ in range(8000):
        sample = rig.tick()
        moving = np.isfinite(sample["reference"])
        if moving.any():
            worst = max(worst, float(np.abs(sample["reference"] - sample["coordinate"])[moving].max()))
        if sample["goal_status"] not in (GoalStatus.RUNNING, GoalStatus.SETTLING):
            break
    return worst


def test_known_forces_do_not_disturb_an_open_chain(tmp_path: Path) -> None:
    known = worst_error(arm(tmp_path), {"hinge": 0.8})
    unknown = worst_error(arm(tmp_path, forces={"push": {**PUSH, "plant_only": True}}), {"hinge": 0.8})
    assert 0.0 < known < 2e-5
    assert unknown > 100 * known


def test_known_forces_do_not_disturb_a_closed_chain(tmp_path: Path) -> None:
    known = worst_error(crank(tmp_path), {"crank": 1.2})
    assert 0.0 < known < 2e-5  # encoders of 2^20 counts


WEAK = {"hinge": {"max_torque_N_m": 9, "max_speed_rad_s": 10, "brake_torque_N_m": 20}}
DAMPED = {"brake": {"joint": "hinge", "damping_N_m_s": 3}}


def lift(machine: Machine, seconds: float) -> None:
    """Plan a swing by 0.8 rad in that time."""
    points = [
        {"positions": [place], "velocities": [0.0], "accelerations": [0.0], "time_from_start_s": time}
        for place, time in ((0.0, 0.0), (0.8, seconds))
    ]
    trajectory = read_trajectory({"coordinates": ["hinge"], "points": points})
    plan("send", SendParams(trajectory=trajectory), machine, Start.at_pose(machine, [0.0]))


def test_admission_counts_what_dampers_ask_and_names_a_feasible_stretch(tmp_path: Path) -> None:
    """A damper's effort falls with the speed, not with its square."""
    lift(arm(tmp_path, springs={}, forces={}, motors=WEAK), 0.7)
    machine = arm(tmp_path, springs=DAMPED, forces={}, motors=WEAK)
    with pytest.raises(RequestError, match="effort") as caught:
        lift(machine, 0.7)
    stretch = caught.value.data["min_time_stretch"]
    lift(machine, 0.7 * stretch * 1.001)
    with pytest.raises(RequestError, match="effort"):
        lift(machine, 0.7 * stretch * 0.99)
