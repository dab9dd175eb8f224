"""Each kind of row from files with the plainest columns; a straightedge beside its closed form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.machine import load
from tests.calibration.five_bar_measurements import motor_angles
from tests.command import linkwork

ARM, TRUE, SIGMA = "joints.right_elbow.at_m.x", 3e-4, 1e-5
HEADER = "kind,pose,pose_2,q/left_rad,q/right_rad,point,x_m,y_m,z_m,value_m,sigma_m"


def right_angle(place: Floats, arm: float) -> float:
    """Angle of the right motor of a five-bar at a place of the tool (2)."""
    x, y = float(place[0]) - 0.1, float(place[1])
    way = np.hypot(x, y)
    return float(np.arctan2(y, x) - np.arccos((arm**2 + way**2 - 0.25**2) / (2.0 * arm * way)))


def readings(place: Floats) -> tuple[float, float]:
    """Readings of a machine whose right arm is longer than that of the file."""
    return motor_angles(*place.tolist())[0], right_angle(place, 0.2 + TRUE)


def calibrated(tmp_path: Path, rows: list[str], header: str = HEADER, machine: str = "five_bar", *words: str):
    path, out = tmp_path / "rows.csv", tmp_path / "out.yaml"
    path.write_text("\n".join([header, *rows]), "utf-8")
    given = words or ("--parameters", ARM)
    ran = linkwork("calibrate", machine, str(path), *given, "--out", str(out), "--json", columns=400)
    return ran, out


def line_of(places: Floats) -> list[str]:
    return [
        f"line,P{k},,{left:.12g},{right:.12g},tool,,,,,{SIGMA}"
        for k, (left, right) in enumerate(map(readings, places))
    ]


def test_a_straightedge_is_as_certain_as_its_closed_form(tmp_path: Path):
    """The unknown line takes the mean and the slope of what the arm moves; the rest measures the arm."""
    along = np.linspace(-0.1, 0.1, 9)
    direction = np.array([1.0, 0.2]) / np.hypot(1.0, 0.2)
    places = np.array([0.0, 0.33]) + along[:, None] * direction
    ran, out = calibrated(tmp_path, line_of(places))
    assert ran.returncode == 0, ran.stderr
    content = json.loads(ran.stdout)
    assert content["rank"] == 1
    (found,) = content["parameters"]
    step, normal = 1e-6, np.array([-direction[1], direction[0]])
    moved = []
    for place in places:
        # the tool moves on the circle about the left elbow until the right motor reads the same
        left, right = motor_angles(*place.tolist())
        elbow = np.array([-0.1, 0.0]) + 0.2 * np.array([np.cos(left), np.sin(left)])
        other = np.array([0.1, 0.0]) + 0.2 * np.array([np.cos(right), np.sin(right)])
        grown = step * np.array([np.cos(right), np.sin(right)])
        spokes = np.array([place - elbow, place - other])
        moved.append(np.linalg.solve(spokes, [0.0, float(spokes[1] @ grown)]) / step @ normal)
    beside = np.column_stack([np.ones(len(along)), along])
    rest = np.array(moved) - beside @ np.linalg.lstsq(beside, np.array(moved), rcond=None)[0]
    assert found["sigma"] == pytest.approx(SIGMA / np.linalg.norm(rest), rel=0.02)
    assert found["change"] == pytest.approx(TRUE, abs=0.2 * found["sigma"])
    assert load(str(out)).name == "five_bar"


def rows_of(kind: str) -> list[str]:
    """Exact rows of a kind, over a grid of places."""
    places = np.array([[x, y] for y in (0.28, 0.33, 0.38) for x in (-0.1, -0.03, 0.05, 0.1)])
    found = []
    for k, place in enumerate(places):
        left, right = readings(place)
        head, (x, y) = f"P{k},{{}},{left:.12g},{right:.12g},tool", place.tolist()
        if kind in ("position", "pose"):
            found.append(f"{kind},{head.format('')},{x:.9g},{y:.9g},0,,{SIGMA}")
        elif kind == "plane":
            found.append(f"plane,{head.format('')},,,,{0.6 * x + 0.8 * y - 0.2:.9g},{SIGMA}")
        elif k:
            gap = float(np.linalg.norm(place - places[k - 1]))
            found.append(f"distance,{head.format(f'P{k - 1}')},,,,{gap:.9g},{SIGMA}")
        else:
            found.append(f"pose,{head.format('')},,,,,")
    return found


@pytest.mark.parametrize("kind", ["position", "pose", "distance", "plane"])
def test_each_kind_needs_no_other_columns(tmp_path: Path, kind: str):
    ran, _ = calibrated(tmp_path, rows_of(kind))
    assert ran.returncode == 0, ran.stderr
    (found,) = json.loads(ran.stdout)["parameters"]
    assert found["change"] == pytest.approx(TRUE, abs=found["sigma"] + 1e-7)
    assert found["sigma"] < 0.2 * TRUE


def test_nothing_is_written_where_no_number_becomes_known(tmp_path: Path):
    """Heights over one plane show combinations of all lengths, and moving all of them may make it worse."""
    ran, out = calibrated(tmp_path, rows_of("plane")[:4], HEADER, "five_bar", "--parameters", "default")
    assert ran.returncode == 3, ran.stderr
    content = json.loads(ran.stdout)
    assert "known" not in {each["verdict"] for each in content["parameters"]}
    assert content["refused"]
    assert "refused: these measurements make none of the" in ran.stderr
    assert not out.exists()


def test_a_stop_of_a_slide_is_a_length(tmp_path: Path):
    scara = load("scara")
    lift = scara.initial_q[scara.mechanism.joint_index("lift")]
    header = "kind,pose,q/shoulder_rad,q/elbow_rad,q/wrist_rad,q/lift_m,point,value_m,sigma_m"
    rows = [f"stop,P1,0.1,0.2,0.3,{lift:.9g},lift,{lift + 2e-3:.9g},1e-5"]
    ran, _ = calibrated(tmp_path, rows, header, "scara", "--parameters", "zero.lift")
    assert ran.returncode == 0, ran.stderr
    (found,) = json.loads(ran.stdout)["parameters"]
    assert found["change"] == pytest.approx(2e-3, abs=1e-5)
    assert found["sigma"] == pytest.approx(1e-5, rel=1e-3)
