"""Rows of planes and stops in CSV files: mixed kinds, other units, wrong columns; and files that load."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from linkwork.calibration.geometry import Geometry
from linkwork.identification.consistent_samples import ClosedPoses
from linkwork.machine import load
from linkwork.multibody.functions import point_position
from tests.calibration.five_bar_measurements import grid, measured_by
from tests.command import linkwork

ARM, TRUE = "joints.right_elbow.at_m.x", 3e-4
HEADER = "value_mm;kind;sigma_mm;q/right_mrad;name;pose;q/left_deg;point;value_deg;sigma_deg"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    """Heights over two planes and the stop of the left motor, of a five-bar with a longer right arm."""
    machine = load("five_bar")
    poses, _, _ = grid(machine)
    places, _ = measured_by(machine, Geometry(machine).mechanism({ARM: TRUE}), poses, {"left": 2e-3})
    found = []
    for k, (pose, place) in enumerate(zip(poses, places, strict=True)):
        normal = np.array([0.6, 0.8, 0.0]) if k % 2 else np.array([-0.8, 0.6, 0.0])
        found.append(
            {
                "kind": "plane",
                "name": f"side {k % 2}",
                "point": "tool",
                "value_mm": f"{1e3 * (float(normal @ place) - 0.2):.9f}",
                "sigma_mm": "0.01",
                **_readings(pose),
            }
        )
    stop = math.degrees(poses[0].readings["left"] + 2e-3)
    found.append(
        {
            "kind": "stop",
            "point": "left",
            "value_deg": f"{stop:.9f}",
            "sigma_deg": "0.001",
            **_readings(poses[0]),
        }
    )
    return found


def _readings(pose) -> dict[str, str]:
    left, right = (pose.readings[name] for name in ("left", "right"))
    return {
        "pose": pose.name,
        "q/left_deg": f"{math.degrees(left):.12g}",
        "q/right_mrad": f"{1e3 * right:.12g}",
    }


def _run(tmp_path: Path, rows: list[dict[str, str]], header: str = HEADER, decimal: str = ","):
    names = HEADER.split(";")
    lines = [header, *(";".join(row.get(name, "").replace(".", decimal) for name in names) for row in rows)]
    path, out = tmp_path / "rows.csv", tmp_path / "out.yaml"
    path.write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    words = ["--parameters", ARM, "--parameters", "zero.left", "--out", str(out), "--json"]
    return linkwork("calibrate", "five_bar", str(path), *words, columns=400), out


def test_planes_and_a_stop_in_one_file(tmp_path: Path, rows):
    ran, out = _run(tmp_path, rows)
    assert ran.returncode == 0, ran.stderr
    found = {each["parameter"]: each for each in json.loads(ran.stdout)["parameters"]}
    assert found[ARM]["change"] == pytest.approx(TRUE, abs=4.0 * found[ARM]["sigma"])
    assert found[ARM]["sigma"] < 0.1 * TRUE
    assert found["zero.left"]["change"] == pytest.approx(2e-3, abs=4.0 * found["zero.left"]["sigma"])
    load(out)


def _stop_in_radians(rows):
    return [*rows[:-1], {**rows[-1], "value_deg": f"{math.radians(float(rows[-1]['value_deg'])):.9f}"}]


def _heights_in_metres(rows):
    return [
        {**row, "value_mm": f"{1e-3 * float(row['value_mm']):.9f}"} if row["kind"] == "plane" else row
        for row in rows
    ]


def _length_at_a_stop(rows):
    return [*rows[:-1], {**rows[-1], "value_deg": "", "value_mm": "3.0"}]


@pytest.mark.parametrize(
    ("spoil", "header", "status", "says"),
    [
        (_stop_in_radians, HEADER, 3, "stop"),
        pytest.param(_heights_in_metres, HEADER, 3, "value", marks=pytest.mark.slow),
        (lambda rows: rows, HEADER.replace("value_mm", "value_m"), 3, "value_mm"),
        (_length_at_a_stop, HEADER, 2, "value of a stop is missing"),
        (lambda rows: rows, HEADER.replace("q/right_mrad", "q/right"), 2, "names no unit"),
    ],
)
def test_rows_that_cannot_answer(tmp_path: Path, rows, spoil, header, status, says):
    ran, out = _run(tmp_path, spoil(rows), header)
    assert ran.returncode == status, ran.stdout
    assert says in ran.stderr
    assert not out.exists()


@pytest.mark.slow
def test_the_calibrated_file_of_an_overconstrained_machine_loads(tmp_path: Path):
    """Its redundant closures admit no rounding of the numbers."""
    machine = load("delta")
    names = [motor.joint for motor in machine.motors]
    way = ClosedPoses(machine.mechanism, machine.initial_q, names)
    lines = ["kind,q/motor_1_rad,q/motor_2_rad,q/motor_3_rad,x_m,y_m,z_m,sigma_m"]
    for y in np.random.default_rng(0).uniform(0.1, 0.6, (8, 3)):
        assert way.go_to(y + np.array([1e-3, 0.0, 0.0]))
        place = point_position(machine.mechanism, "tool", way.pose)
        lines.append("position," + ",".join(f"{value:.12g}" for value in [*y, *place, 2e-5]))
    (tmp_path / "points.csv").write_text("\n".join(lines), "utf-8")
    out = tmp_path / "out.yaml"
    ran = linkwork(
        "calibrate", "delta", str(tmp_path / "points.csv"), "--parameters", "zeros", "--out", str(out)
    )
    assert ran.returncode == 0, ran.stderr
    assert "does not load" not in ran.stderr
    load(out)
