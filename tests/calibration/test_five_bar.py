"""The five-bar by tracker, calliper and elbow encoder: ranks, deviations and values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.calibration.calibration import Calibration, calibrate
from linkwork.calibration.geometry import Geometry
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow
from linkwork.calibration.prior import Prior
from linkwork.identification.consistent_samples import ClosedPoses
from linkwork.identification.measured_motion import RefusedData
from linkwork.machine import Machine, load
from linkwork.multibody.functions import point_position
from tests.calibration.five_bar_measurements import (
    ELEVEN,
    distances,
    grid,
    measured_by,
    positions,
    with_elbow,
)

NO_PRIOR = Prior(counts=False)


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load("five_bar")


def _sigmas(found: Calibration, *names: str) -> list[float]:
    return [1e6 * found.sigma(name) for name in names]


def test_positions_show_ten_directions_of_eleven(machine: Machine) -> None:
    poses, places, _ = grid(machine)
    found = calibrate(machine, positions(poses, places), ELEVEN, NO_PRIOR)
    assert found.rank == 10
    arms = _sigmas(found, "left_arm", "right_arm", "left_forearm", "right_forearm")
    assert arms == pytest.approx([24, 24, 228, 228], rel=0.05)
    assert len(found.unseen) == 1
    assert found.unseen[0].text.startswith("zero.left_elbow: no row reads this joint")
    assert np.abs(found.values).max() < 1e-8


def test_short_distances_say_that_they_are_of_no_use(machine: Machine) -> None:
    poses, places, _ = grid(machine)
    measured = distances(poses, places, [(k, k + 1) for k in range(29)])
    found = calibrate(machine, measured, ELEVEN, NO_PRIOR)
    assert found.rank == 7
    assert _sigmas(found, "left_arm", "right_arm") == pytest.approx([1320, 1010], rel=0.05)
    verdicts = {each.parameter.name: each.verdict for each in found.found}
    assert verdicts["left_arm"] == verdicts["right_arm"] == "useless"
    assert any("moves or turns the machine as a whole" in each.text for each in found.unseen)


def test_four_distances_and_an_elbow_encoder(machine: Machine) -> None:
    poses, places, elbows = grid(machine)
    measured = distances(with_elbow(poses, elbows), places, [(0, 5), (5, 24), (24, 29), (29, 0)])
    found = calibrate(machine, measured, ELEVEN, NO_PRIOR)
    assert found.rank == 8
    assert _sigmas(found, "left_arm", "right_arm") == pytest.approx([36, 46], rel=0.05)


def test_the_default_frees_what_positions_show(machine: Machine) -> None:
    poses, places, _ = grid(machine)
    found = calibrate(machine, positions(poses, places))
    assert found.rank == len(found.found) == 10
    assert not found.unseen


def _truth(
    machine: Machine, rng: np.random.Generator
) -> tuple[Floats, GeometryMeasurements, GeometryMeasurements]:
    """Return true changes, and noisy positions and distances with an elbow encoder, of another five-bar."""
    geometry = Geometry(machine)
    parameters = [geometry.parameter(text) for text in ELEVEN]
    true = rng.normal(size=len(parameters)) * [3e-4 if each.unit == "m" else 3e-3 for each in parameters]
    changes = {
        key: factor * value
        for each, value in zip(parameters, true.tolist(), strict=True)
        for key, factor in each.terms
        if each.of_file
    }
    mechanism = geometry.mechanism(changes)
    poses, _, _ = grid(machine)
    zeros = {"left": float(true[8]), "right": float(true[9])}
    seen, elbows = measured_by(machine, mechanism, poses, zeros)
    read = elbows - true[10] + 20e-6 * rng.normal(size=len(elbows))
    pairs = [(0, 5), (5, 24), (24, 29), (29, 0)]
    far = distances(with_elbow(poses, read), seen, pairs)
    rows = tuple(replace(row, value=row.value + 50e-6 * rng.normal()) for row in far.rows)
    return true, positions(poses, seen + 20e-6 * rng.normal(size=seen.shape)), replace(far, rows=rows)


def _misses(found: Calibration, true: Floats) -> list[float]:
    return [
        abs(each.change - value) / each.sigma
        for each, value in zip(found.found, true.tolist(), strict=True)
        if math.isfinite(each.sigma)
    ]


def test_true_numbers_lie_within_three_deviations(machine: Machine) -> None:
    true, near, far = _truth(machine, np.random.default_rng(1))
    for measured in (near, far):
        found = calibrate(machine, measured, ELEVEN, NO_PRIOR)
        assert not found.model_error
        assert max(_misses(found, true)) < 3.5


@pytest.mark.slow
def test_three_deviations_hold_in_200_draws(machine: Machine) -> None:
    rng = np.random.default_rng(7)
    misses = []
    for _ in range(200):
        true, near, far = _truth(machine, rng)
        misses += _misses(calibrate(machine, near, ELEVEN, NO_PRIOR), true)
        misses += _misses(calibrate(machine, far, ELEVEN, NO_PRIOR), true)
    assert np.mean(np.array(misses) < 3.0) >= 0.99


def test_an_outlier_is_left_out_by_name(machine: Machine) -> None:
    true, near, _ = _truth(machine, np.random.default_rng(2))
    rows = list(near.rows)
    x, y, z = rows[12].position
    rows[12] = replace(rows[12], position=((x or 0.0) + 4e-4, y, z))
    found = calibrate(machine, replace(near, rows=tuple(rows)), ELEVEN, NO_PRIOR)
    assert [text for _, text, _ in found.outliers] == ["position P12 (line 14)"]
    assert max(_misses(found, true)) < 3.5


def test_play_of_poses_from_two_sides_is_no_noise(machine: Machine) -> None:
    poses, _, _ = grid(machine)
    play = 1e-3
    both, rows = [], []
    way = ClosedPoses(machine.mechanism, machine.initial_q, ["left", "right"])
    for pose in poses:
        for side in (1.0, -1.0):
            angles = np.array([pose.readings["left"] + 0.5 * side * play, pose.readings["right"]])
            assert way.go_to(angles)
            x, y, _ = point_position(machine.mechanism, "tool", way.pose)
            rows.append(
                MeasuredRow("position", (len(both),), "tool", (float(x), float(y), None), sigma=20e-6)
            )
            both.append(replace(pose, name=f"{pose.name}{side:+.0f}", side={"left": side}))
    found = calibrate(machine, GeometryMeasurements("sides.csv", tuple(both), tuple(rows)))
    changes = {each.parameter.name: each.change for each in found.found}
    assert changes["play.left"] == pytest.approx(play, rel=0.01)
    assert max(abs(x) for name, x in changes.items() if name != "play.left") < 2e-6


def test_constant_readings_are_refused(machine: Machine) -> None:
    poses, places, _ = grid(machine)
    still = [replace(pose, readings={**pose.readings, "left": 2.0}) for pose in poses]
    with pytest.raises(RefusedData, match="reading of left is the same in all 30 poses"):
        calibrate(machine, positions(still, places))


def test_degrees_and_millimetres_in_columns_of_rad_and_m_are_refused(machine: Machine) -> None:
    poses, places, _ = grid(machine)
    turned = [
        replace(pose, readings={name: math.degrees(x) for name, x in pose.readings.items()}) for pose in poses
    ]
    with pytest.raises(RefusedData, match="seem to be in degrees; then name the column q/left_deg"):
        calibrate(machine, positions(turned, places))
    with pytest.raises(RefusedData, match="seem to be in millimetres"):
        calibrate(machine, positions(poses, 1000.0 * places))


def test_swapped_columns_are_no_calibration(machine: Machine) -> None:
    poses, places, _ = grid(machine)
    swapped = [
        replace(pose, readings={"left": pose.readings["right"], "right": pose.readings["left"]})
        for pose in poses
    ]
    try:
        found = calibrate(machine, positions(swapped, places))
    except RefusedData:
        return
    assert found.model_error
