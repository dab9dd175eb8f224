"""Planned measurements: they make known more than random ones, and can be filled in and read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from linkwork.calibration.geometry import Geometry
from linkwork.calibration.information import admitted_changes, information
from linkwork.calibration.linearisation import LinearPoses
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow
from linkwork.calibration.planning import grid_poses, planned
from linkwork.calibration.prior import Prior
from linkwork.machine import load
from tests.command import linkwork


@pytest.mark.slow
@pytest.mark.parametrize(("count", "least"), [(10, 2.0), (20, 1.6)])
def test_the_worst_deviation_of_random_poses_is_larger(count: int, least: float) -> None:
    machine = load("five_bar")
    plan = planned(machine, count, "position", 2e-5)
    poses = grid_poses(machine)
    rows = tuple(
        MeasuredRow("position", (k,), "tool", (0.0, 0.0, 0.0), sigma=2e-5) for k in range(len(poses))
    )
    grid = LinearPoses(
        machine, GeometryMeasurements("grid", tuple(poses), rows), plan.parameters, Geometry(machine)
    )
    before = Prior().of(plan.parameters)
    admitted = admitted_changes(grid.unclosed(), before)
    blocks = grid.linear().by_parameters.reshape(len(poses), 3, -1)
    rng = np.random.default_rng(0)
    drawn = [
        information(np.vstack(blocks[rng.choice(len(poses), count, replace=False)]), before, admitted)
        for _ in range(20)
    ]
    worst = np.median([(each.sigma / before).max() for each in drawn])
    assert worst / (plan.information.sigma / before).max() >= least


def test_planned_distances_make_the_arms_known() -> None:
    plan = planned(load("five_bar"), 29, "distance", 5e-5)
    sigma = dict(zip((each.name for each in plan.parameters), plan.information.sigma, strict=True))
    assert sigma["joints.left_elbow.at_m.x"] < 6e-5
    assert sigma["joints.right_elbow.at_m.x"] < 6e-5


def test_a_plan_is_a_file_to_fill_in(tmp_path: Path) -> None:
    target = tmp_path / "points.csv"
    ran = linkwork(
        "calibrate", "five_bar", "--plan", "12", "--sigma", "0.02mm", "--out", str(target), "--json"
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["rank"] == 10
    rows = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8"))))
    assert len(rows) == 12
    empty = linkwork("calibrate", "five_bar", str(target))
    assert empty.returncode == 2
    assert "a position without x, y and z" in empty.stderr


def test_neither_file_nor_plan() -> None:
    ran = linkwork("calibrate", "five_bar")
    assert ran.returncode == 2
    assert "--plan N" in ran.stderr
