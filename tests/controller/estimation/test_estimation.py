"""Machines whose encoders give positions only, in closed loop with the simulated plant."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.error_law import LIMIT, compare
from benchmarks.held_effort import double_integrator, sampled
from benchmarks.tracking import MOVES, tracking_error, with_wrong_masses
from linkwork.controller.laws.feedback import lag
from linkwork.machine import load
from linkwork.machine.sections.settings import DisturbanceSettings
from tests.controller.loop.in_process import COUNTS, InProcess, with_controller, with_encoders

DISTURBANCE = DisturbanceSettings(bandwidth_rad_s=100.0)
SCARA = {"shoulder": 0.2, "elbow": -0.2, "wrist": 0.1, "lift": -0.03}


@pytest.mark.parametrize(("counts", "jerk", "allowed"), [(COUNTS, 200.0, 1e-4), (0, 200.0, 2e-5)])
@pytest.mark.parametrize("name", ["scara", "five_bar", "slider_crank"])
def test_the_observer_follows_without_measured_velocities(
    name: str, counts: int, jerk: float, allowed: float
) -> None:
    assert tracking_error(with_encoders(load(name), counts), MOVES.get(name, SCARA), jerk) <= allowed


def test_slow_motion_with_exact_positions_is_followed_to_a_millionth() -> None:
    assert tracking_error(with_encoders(load("slider_crank"), 0), MOVES["slider_crank"], 5.0) <= 1e-6


@pytest.mark.parametrize("name", ["scara", "five_bar"])
def test_a_filtered_difference_lags_as_said(name: str) -> None:
    machine = with_controller(with_encoders(load(name), COUNTS), velocity="difference")
    assert 2e-4 < tracking_error(machine, MOVES.get(name, SCARA), 200.0) < 5e-3


@pytest.mark.parametrize("name", ["scara", "five_bar"])
def test_the_disturbance_observer_makes_up_for_wrong_masses(name: str) -> None:
    heavier, way = with_wrong_masses(name, "+20%"), MOVES.get(name, SCARA)
    without = tracking_error(heavier, way, 100.0)
    with_it = tracking_error(with_controller(heavier, disturbance_observer=DISTURBANCE), way, 100.0)
    assert with_it < 0.2 * without


def test_the_disturbance_observer_leaves_a_right_model_alone() -> None:
    machine = with_controller(with_encoders(load("five_bar"), 0), disturbance_observer=DISTURBANCE)
    assert tracking_error(machine, MOVES["five_bar"], 200.0) <= 2e-5


@pytest.mark.parametrize(
    ("name", "where", "bandwidths"),
    [
        ("five_bar", "at rest", [20.0, 500.0]),
        ("five_bar", "a quarter", [200.0]),
        ("slider_crank", "a quarter", [50.0, 500.0]),
        ("slider_crank", "half", [20.0, 200.0, 1000.0]),
    ],
)
def test_an_initial_error_dies_away_as_the_closed_form_in_quick_motion_and_through_branch_poses_too(
    name: str, where: str, bandwidths: list[float]
) -> None:
    for found in compare(name, where, bandwidths):
        assert found["from_sampled"] <= LIMIT
        if found["bandwidth_rad_s"] == 20.0:
            assert found["from_continuous"] <= 1e-2
        if where == "a quarter":
            assert found["from_steady"] > LIMIT  # the inertia changes while efforts are held


def test_where_efforts_are_accelerations_the_closed_form_has_no_memory() -> None:
    omega, t = 300.0, 1e-3
    found = sampled(omega, t, [double_integrator(t)] * 50)[:, 0]
    x, v = 1.0, 0.0
    for k in range(1, 51):
        assert found[k] == pytest.approx(x, abs=1e-12)
        a = -(2.0 * omega * v + omega**2 * (x + 0.5 * t * v)) / (1.0 + lag(omega, 1.0, t))
        x, v = x + t * v + 0.5 * t * t * a, v + t * a


def test_speeds_from_differences_do_not_jump_after_lost_states() -> None:
    rig = InProcess(with_controller(with_encoders(load("scara"), 0), velocity="difference"))
    rig.enable()
    rig.send(*rig.swing())
    rig.run(0.3)

    def error() -> float:
        true = rig.simulator.v.copy()
        return float(np.max(np.abs(rig.tick()["v"] - true)))

    before = error()
    for _ in range(8):
        rig.inputs.fresh = False
        rig.inputs.lost_in_a_row += 1
        rig.tick()
    rig.inputs.fresh, rig.inputs.lost_in_a_row = True, 0
    assert max(error() for _ in range(20)) < 5.0 * before  # the mean speed of nine periods, a little old
