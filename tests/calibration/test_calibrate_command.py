"""`linkwork calibrate` on files: what it prints, writes and refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from linkwork.calibration.geometry import Geometry
from linkwork.machine import load
from linkwork.multibody.functions import point_position
from tests.calibration.five_bar_measurements import grid, measured_by
from tests.command import linkwork

HEADER = "sigma_mm,kind,point,y_mm,x_m,q/right_rad,pose,q/left_deg"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Positions of a five-bar whose right arm is 0.3 mm longer and whose left encoder is off by 2 mrad."""
    machine = load("five_bar")
    mechanism = Geometry(machine).mechanism({"joints.right_elbow.at_m.x": 3e-4})
    poses, _, _ = grid(machine)
    places, _ = measured_by(machine, mechanism, poses, {"left": 2e-3})
    rng = np.random.default_rng(0)
    return [
        f"0.02,position,tool,{1e3 * (y + 20e-6 * rng.normal()):.9f},{x + 20e-6 * rng.normal():.12f},"
        f"{pose.readings['right']:.12f},{pose.name},{math.degrees(pose.readings['left']):.12f}"
        for pose, (x, y, _) in zip(poses, places, strict=True)
    ]


def _file(tmp_path: Path, lines: list[str], header: str = HEADER) -> str:
    path = tmp_path / "points.csv"
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return str(path)


def test_mixed_units_in_any_order_give_a_file_with_the_true_numbers(tmp_path: Path, lines: list[str]) -> None:
    target = tmp_path / "true.yaml"
    ran = linkwork("calibrate", "five_bar", _file(tmp_path, lines), "--out", str(target), "--json")
    assert ran.returncode == 0, ran.stderr
    found = {each["parameter"]: each for each in json.loads(ran.stdout)["parameters"]}
    arm = found["joints.right_elbow.at_m.x"]
    assert abs(arm["change"] - 3e-4) < 3.5 * arm["sigma"] < 1e-4
    assert abs(found["zero.left"]["change"] - 2e-3) < 3.5 * found["zero.left"]["sigma"]
    text = target.read_text(encoding="utf-8")
    assert "SHA-256" in text
    assert "±" in text
    calibrated = load(target)
    machine = load("five_bar")
    poses, _, _ = grid(machine)
    true, _ = measured_by(
        machine, Geometry(machine).mechanism({"joints.right_elbow.at_m.x": 3e-4}), poses, {"left": 2e-3}
    )
    own, _ = measured_by(machine, calibrated.mechanism, poses, {})
    assert np.abs(own - true).max() < 40e-6
    assert np.abs(own - true).max() < 0.2 * np.abs(grid(machine)[1] - true).max()
    assert point_position(calibrated.mechanism, "tool", calibrated.initial_q)[2] == pytest.approx(
        0.0, abs=1e-12
    )


@pytest.mark.slow
def test_the_table_names_what_is_not_seen(tmp_path: Path, lines: list[str]) -> None:
    file = _file(tmp_path, lines)
    ran = linkwork(
        "calibrate", "five_bar", file, "--parameters", "default", "--parameters", "zero.left_elbow"
    )
    assert ran.returncode == 0, ran.stderr
    assert "show 10 of 11 directions" in ran.stdout
    assert "not seen: zero.left_elbow: no row reads this joint" in ran.stdout
    again = linkwork("calibrate", "five_bar", file, "--prior", "none", "--prior", "1mm", "--prior", "0.1deg")
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize(
    ("header", "status", "text"),
    [
        (HEADER.replace("q/left_deg", "q/left_rad"), 3, "seem to be in degrees"),
        (HEADER.replace("y_mm", "y_m"), 3, "seem to be in millimetres"),
        (HEADER.replace("q/left_deg", "q/lefft_deg"), 2, "write q/left_deg"),
        (HEADER.replace("kind", "sort"), 2, "the column kind is missing"),
        (HEADER.replace("sigma_mm", "other"), 2, "the standard deviation is missing"),
        (HEADER.replace("y_mm", "y_inch"), 2, "points.csv:1:"),
        (HEADER.replace("y_mm", "y_inch"), 2, "no such unit"),
    ],
)
def test_files_that_cannot_answer(
    tmp_path: Path, lines: list[str], header: str, status: int, text: str
) -> None:
    target = tmp_path / "out.yaml"
    ran = linkwork("calibrate", "five_bar", _file(tmp_path, lines, header), "--out", str(target), columns=400)
    assert ran.returncode == status
    assert text in ran.stderr
    assert not target.exists()


def test_a_parameter_that_is_none(tmp_path: Path, lines: list[str]) -> None:
    ran = linkwork("calibrate", "five_bar", _file(tmp_path, lines), "--parameters", "joints.lefty.at_m.x")
    assert ran.returncode == 2
    assert "write left" in ran.stderr


def _swapped_readings(row: list[str]) -> list[str]:
    return [*row[:5], repr(math.radians(float(row[7]))), row[6], repr(math.degrees(float(row[5])))]


def _reversed_reading(row: list[str]) -> list[str]:
    return [*row[:5], repr(-float(row[5])), *row[6:]]


def _swapped_axes(row: list[str]) -> list[str]:
    return [*row[:3], repr(1e3 * float(row[4])), repr(1e-3 * float(row[3])), *row[5:]]


def _reversed_axis(row: list[str]) -> list[str]:
    return [*row[:4], repr(-float(row[4])), *row[5:]]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_swapped_readings, "the readings of right and left are swapped"),
        pytest.param(_reversed_reading, "the readings of right are reversed", marks=pytest.mark.slow),
        pytest.param(_swapped_axes, "the columns of x and y are swapped", marks=pytest.mark.slow),
        pytest.param(_reversed_axis, "the column of x is reversed", marks=pytest.mark.slow),
    ],
)
def test_swapped_and_reversed_columns_are_named(tmp_path: Path, lines: list[str], spoil, says: str) -> None:
    spoiled = [",".join(spoil(line.split(","))) for line in lines]
    target = tmp_path / "out.yaml"
    ran = linkwork("calibrate", "five_bar", _file(tmp_path, spoiled), "--out", str(target), columns=400)
    assert ran.returncode == 3, ran.stderr
    assert says in ran.stderr
    assert not target.exists()
