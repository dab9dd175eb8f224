"""Goals whose motors get too hot: refused where one run does, warned of where a cycle cannot be repeated."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.splines import path_through
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.controller.planning.walk.walk import walk
from linkwork.machine import Machine, load
from linkwork.machine.motor_heat import ThermalModel, warm
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Waypoint
from tests.heat_machine import HEAT, heat_machine


def at_rest(machine: Machine, *temperatures: float) -> Start:
    return replace(Start.at_pose(machine, machine.initial_q), temperatures=temperatures)


def there_and_back(stretch: float = 1.0, back_to: float = 0.0) -> dict[str, Any]:
    points = [
        {"time_from_start_s": stretch * seconds, "positions": [at]}
        for seconds, at in ((0.25, 0.4), (0.27, 0.4), (0.52, back_to))
    ]
    return {"trajectory": {"coordinates": ["hinge"], "points": points}}


def stepped(machine: Machine, efforts: np.ndarray, dt: np.ndarray, begin: float, until: float) -> float:
    """Seconds of the cycle, stepped on and on, until the winding is so hot."""
    heat, passed_s = ThermalModel(machine.motors), 0.0
    heat.set(0, begin, begin)
    for _ in range(100_000):
        for effort, seconds in zip(efforts, dt, strict=True):
            warm(heat, np.array([effort]), seconds)
            passed_s += seconds
            if heat.winding[0] >= until:
                return passed_s
    return math.inf


@pytest.mark.parametrize("begin", [25.0, 80.0])
@pytest.mark.parametrize("windings", ["", ", winding_time_s: 4, winding_share: 0.5"])
def test_a_cycle_that_cannot_be_repeated_is_told_for_how_long_it_can(tmp_path, begin, windings):
    machine = heat_machine(tmp_path, HEAT.replace("_N_m: 2", "_N_m: 1.1") + windings)
    start = at_rest(machine, begin, begin)
    report = plan("send", there_and_back(), machine, start).report
    found = report["heat"]["hinge"]
    points = [Waypoint.model_validate(point) for point in there_and_back()["trajectory"]["points"]]
    path = path_through(points, [0], start.present(machine, (0,)))
    walked = walk(machine, path, start.q)
    efforts, dt = walked.rest[:, 0] + walked.motion[:, 0], np.diff(walked.s)
    mean = np.sqrt(0.5 * (efforts[1:] ** 2 + efforts[:-1] ** 2))
    assert found["share"] == pytest.approx(math.sqrt(mean**2 @ dt / path.duration_s) / 1.1, rel=1e-3)
    assert found["share"] > 1.0
    assert found["lasts_s"] == pytest.approx(stepped(machine, mean, dt, begin, 105.0), rel=0.02)
    assert found["derated_after_s"] < found["lasts_s"]
    (warning,) = report["warnings"]
    stretch = found["min_time_stretch"]
    assert warning.startswith(f"hinge: {100 * found['share']:.0f} % of continuous torque; this cycle can run")
    assert warning.endswith(f"or {math.ceil(100 * stretch) / 100:.2f} × slower without end")
    slower = plan("send", there_and_back(stretch * 1.001), machine, start).report
    assert "warnings" not in slower
    assert slower["heat"]["hinge"]["lasts_s"] is None
    faster = plan("send", there_and_back(max(1.0, 0.97 * stretch)), machine, start).report
    assert faster["heat"]["hinge"]["derated_after_s"] is not None


def test_a_motion_that_does_not_return_is_no_cycle(tmp_path):
    machine = heat_machine(tmp_path, HEAT.replace("_N_m: 2", "_N_m: 0.5"))
    report = plan("send", there_and_back(1.2, back_to=0.2), machine, at_rest(machine)).report
    assert "warnings" not in report
    assert report["heat"]["hinge"]["share"] > 1.0
    assert "lasts_s" not in report["heat"]["hinge"]


def test_a_load_that_gravity_alone_makes_does_not_go_with_speed(tmp_path):
    machine = heat_machine(tmp_path, HEAT.replace("_N_m: 2", "_N_m: 0.5"), 90.0)
    points = [
        {"time_from_start_s": 1.0, "positions": [1.6]},
        {"time_from_start_s": 2.0, "positions": [math.pi / 2]},
    ]
    trajectory = {"trajectory": {"coordinates": ["hinge"], "points": points}}
    (warning,) = plan("send", trajectory, machine, at_rest(machine)).report["warnings"]
    assert warning.endswith("and a slower one does not help")


def test_a_motor_without_a_thermal_time_has_its_share_judged(tmp_path):
    machine = heat_machine(tmp_path, "continuous_torque_N_m: 1.1")
    report = plan("send", there_and_back(), machine, at_rest(machine)).report
    assert "this cycle cannot run without end, or" in report["warnings"][0]
    assert report["heat"]["hinge"]["lasts_s"] is None


def test_a_single_run_that_overheats_a_winding_is_refused_and_a_move_slowed_down(tmp_path):
    keys = "continuous_torque_N_m: 1, thermal_time_s: 60, winding_time_s: 0.5, winding_share: 0.5"
    machine = heat_machine(tmp_path, keys)
    start = at_rest(machine, 60.0, 60.0)
    with pytest.raises(RequestError) as caught:
        plan("send", there_and_back(), machine, start)
    data = caught.value.data
    assert (data["quantity"], data["coordinate"], data["unit"], data["limit"]) == (
        "temperature",
        "hinge",
        "°C",
        100.0,
    )
    assert data["value"] > 100.0
    found = judge(there_and_back(), machine, start)
    assert not found["feasible"]
    assert [each["quantity"] for each in found["violations"]] == ["temperature"]
    too_hot = at_rest(machine, 101.0, 99.0)
    with pytest.raises(RequestError, match="hinge would reach temperature 1"):
        plan("move", {"target": {"hinge": 0.3}}, machine, too_hot)
    move = {"target": {"hinge": 0.3}}
    quick = plan("move", move, machine, at_rest(machine, 25.0, 25.0))
    slowed = plan("move", move, machine, at_rest(machine, 80.0, 75.0))
    assert slowed.duration_s > 1.05 * quick.duration_s
    assert slowed.report["limits"]["temperature"]["hinge"]["value"] < 100.0


def test_reports_of_machines_without_continuous_efforts_are_as_before():
    machine = load("scara")
    report = plan(
        "move", {"target": {"lift": 0.1}}, machine, Start.at_pose(machine, machine.initial_q)
    ).report
    assert "heat" not in report
    assert "temperature" not in report["limits"]
