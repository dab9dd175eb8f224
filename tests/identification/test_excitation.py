"""Designed excitations: admitted, at rest at both ends, and worth what they say."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import BPoly

from benchmarks.identify_campaign import TrueMotion, needed_efforts, recorded
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import judge
from linkwork.identification.consistent_samples import ClosedPoses
from linkwork.identification.excitation import Excitation, excite
from linkwork.identification.identification import identify
from linkwork.machine import Machine, load
from linkwork.trajectories.trajectory_file import read_trajectory_file
from tests.command import linkwork
from tests.identification.excited import write_csv


@pytest.fixture(scope="module")
def five_bar():
    return load("five_bar")


@pytest.fixture(scope="module")
def designed(five_bar):
    return excite(five_bar, seconds=10.0, search_s=0.0)


def followed(machine: Machine, found: Excitation, rate_hz: float) -> TrueMotion:
    """The motion as a controller follows it."""
    way = found.way
    path = BPoly.from_derivatives(way.time_s, np.stack([way.y, way.rate, way.acceleration], axis=1))
    time_s = np.arange(0.0, way.time_s[-1], 1.0 / rate_hz)
    poses = ClosedPoses(machine.mechanism, machine.initial_q, found.joints)
    states = poses.samples(path(time_s), path(time_s, 1), path(time_s, 2), 1.0 / rate_hz)
    return TrueMotion(time_s, list(found.joints), states.q, states.v, states.vdot, states.gradient)


def test_it_is_admitted_from_the_file_and_rests_at_both_ends(five_bar, tmp_path: Path):
    out = tmp_path / "motion.yaml"
    ran = linkwork("excite", "five_bar", "--out", str(out), "--seconds", "8", "--search", "0", "--json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert answer["duration_s"] == pytest.approx(8.0)
    trajectory = read_trajectory_file(out).trajectory
    first, last = trajectory.points[0], trajectory.points[-1]
    for end in (first, last):
        assert end.positions == pytest.approx(five_bar.initial_q[:2], abs=1e-9)
        assert end.velocities == pytest.approx([0.0, 0.0], abs=1e-9)
        assert end.accelerations == pytest.approx([0.0, 0.0], abs=1e-9)
    start = Start.at_pose(five_bar, five_bar.initial_q)
    verdict = judge({"trajectory": trajectory.model_dump(exclude_none=True)}, five_bar, start)
    assert verdict["feasible"], verdict["violations"]


@pytest.mark.slow
def test_the_deviations_are_those_that_were_promised(five_bar, designed):
    rate_hz = 1.0 / five_bar.period_s
    motion = followed(five_bar, designed, rate_hz)
    efforts = needed_efforts(five_bar, five_bar.mechanism, motion)
    rng = np.random.default_rng(0)
    run = recorded(five_bar, motion, efforts, rng, noise=0.0, delay_s=0.0)
    noisy = {
        name: values + designed.noise[name] * rng.normal(size=len(values))
        for name, values in run.efforts.items()
    }
    found = identify(five_bar, [replace(run, efforts=noisy)])
    promised = {each.base.first.name: each.deviation for each in designed.expected}
    ratios = [each.deviation / promised[each.base.first.name] for each in found.found]
    assert 0.3 < np.median(ratios) < 3.0
    assert max(ratios) < 6.0


def test_sweeps_for_friction_go_at_constant_speed_both_ways(five_bar):
    way = excite(five_bar, seconds=12.0, search_s=0.0, purpose="friction").way
    step = float(way.time_s[1] - way.time_s[0])
    steady = np.abs(way.acceleration).max(axis=1) < 1e-9
    for k in range(2):
        for sign in (1.0, -1.0):
            assert step * (steady & (sign * way.rate[:, k] > 1e-3)).sum() > 0.5


def test_an_interrupted_search_keeps_the_best_motion(five_bar, designed):
    done = []

    def interrupt(share: float) -> None:
        done.append(share)
        if len(done) == 4:
            raise KeyboardInterrupt

    longer = excite(five_bar, seconds=10.0, search_s=1e9, progress=interrupt)
    assert longer.tried == 4
    sizes = [np.mean([np.log(each.deviation) for each in one.expected]) for one in (longer, designed)]
    assert sizes[0] <= sizes[1] + 1e-9


@pytest.mark.slow
def test_what_was_recorded_before_counts(five_bar, designed, tmp_path: Path):
    motion = followed(five_bar, designed, 250.0)
    efforts = needed_efforts(five_bar, five_bar.mechanism, motion)
    run = recorded(five_bar, motion, efforts, np.random.default_rng(0))
    write_csv(tmp_path / "run.csv", run)
    ran = linkwork(
        "excite", "five_bar", "--seconds", "10", "--search", "0", "--after", str(tmp_path / "run.csv"),
        "--json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    after = {each["parameter"]: each["sigma"] for each in json.loads(ran.stdout)["parameters"]}
    assert all(after[each.base.first.name] < each.deviation for each in designed.expected)


@pytest.mark.parametrize(
    "name",
    ["scara", *(pytest.param(name, marks=pytest.mark.slow) for name in ("delta", "five_bar_redundant"))],
)
def test_other_machines_get_an_admitted_motion(name: str):
    machine = load(name)
    found = excite(machine, seconds=6.0, search_s=0.0)
    start = Start.at_pose(machine, machine.initial_q)
    assert judge({"trajectory": found.trajectory()}, machine, start)["feasible"]
    assert (np.ptp(found.way.y, axis=0) > 0.0).all()


def test_a_machine_without_motors_is_wrong_usage():
    ran = linkwork("excite", "double_pendulum")
    assert ran.returncode == 2
    assert "no motors" in ran.stderr.replace("\n", " ")
