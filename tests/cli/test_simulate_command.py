"""`linkwork simulate` through the real command line: efforts, starts, samples, reactions, and refusals."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork import machine
from tests import command
from tests.command import Ran

G = 9.81
HELIX = """
constraints:
  servo:
    type: motion
    coordinates: {tool.x: 0.05*sin(0.4*pi*t), tool.y: 0.35 + 0.05*cos(0.4*pi*t), tool.z: 0.02*t, angle: 0}
"""
CART = """name: cart
bodies:
  cart: {mass_kg: 2, inertia_kg_m2: [0, 0, 0, 0, 0, 0]}
  bob: {mass_kg: 1, com_m: [0, 0, -0.5], inertia_kg_m2: [0, 0, 0, 0, 0, 0]}
joints:
  slide: {type: prismatic, parent: world, child: cart, axis: [1, 0, 0]}
  hinge: {type: revolute, parent: cart, child: bob, axis: [0, 1, 0]}
initial: {hinge_deg: 20}
constraints:
  drive: {type: coordinate, of: slide, equals_m: 0.1*sin(9*t)}
"""


def linkwork(*words: str) -> Ran:
    """Run `linkwork simulate`."""
    return command.linkwork("simulate", *words, columns=200)


def summary_of(*words: str) -> dict[str, Any]:
    ran = linkwork(*words, "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert isinstance(found, dict)
    return found


def samples_of(*words: str) -> dict[str, np.ndarray]:
    """The columns that --csv writes to standard output."""
    ran = linkwork(*words, "--csv")
    assert ran.returncode == 0, ran.stderr
    header, *rows = csv.reader(io.StringIO(ran.stdout))
    return dict(zip(header, np.array(rows, dtype=np.float64).T, strict=True))


def test_constant_efforts_and_initial_speeds() -> None:
    words = ["scara", "--duration", "0.5", "--effort", f"lift_N={0.5 * (G + 2.0)!r}", "--speed", "lift=0.3"]
    found = summary_of(*words, "--speed", "wrist_deg_s=90")
    assert found["q"]["lift"] == pytest.approx(0.3 * 0.5 + 0.25, rel=1e-12)
    assert found["v"]["lift"] == pytest.approx(0.3 + 1.0, rel=1e-12)
    assert found["motor_work_J"] == pytest.approx(0.5 * (G + 2.0) * 0.4, rel=1e-12)
    assert found["energy_balance_error_J"] < 1e-10


def test_lsoda_over_a_long_time_is_warned_of() -> None:
    words = ["scara", "--duration", "101", "--dt", "101", "--integrator"]
    effort = f"--effort=lift_N={0.5 * G!r}"  # at rest
    assert "use --integrator dop853" in linkwork(*words, "lsoda", effort).stderr
    assert "warning" not in linkwork(*words, "dop853", effort).stderr


def test_efforts_that_are_functions_of_time_are_of_second_order_in_the_step() -> None:
    errors = []
    for dt in ("0.002", "0.001"):
        words = ["scara", "--duration", "0.5", "--dt", dt, "--effort", f"lift={0.5 * G!r} + 0.5*4*cos(3*t)"]
        found = summary_of(*words)
        errors.append(abs(found["q"]["lift"] - 4.0 * (1.0 - math.cos(1.5)) / 9.0))
        gained = found["energy_end_J"] - found["energy_start_J"]
        assert found["motor_work_J"] == pytest.approx(gained, rel=1e-9)
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_a_start_as_given_drifts_as_the_paper_says(tmp_path: Path) -> None:
    """Xu & Liu 2017: z begins with the rate 0.0195 for 0.02 m/s; without stabilisation its error grows."""
    text = machine.shipped_path("scara").read_text(encoding="utf-8")
    path = tmp_path / "scara.yaml"
    path.write_text(
        text.replace("  goal_coordinates: [shoulder, elbow, wrist, lift]\n", "").replace(
            "initial:", "initial_guess:"
        )
        + HELIX,
        encoding="utf-8",
    )
    start = [f"--initial={name}" for name in ("shoulder_deg=30", "elbow_deg=-55", "wrist_deg=24", "lift=0")]
    rates = ("shoulder=-0.157", "elbow=0.0001", "wrist=0.157", "lift_m_s=0.0195")
    words = [str(path), "--duration", "1", "--every", "100", "--stabilisation", "none", "--start", "as-given"]
    found = samples_of(*words, *start, *(f"--speed={rate}" for rate in rates), "--constraint-efforts")
    assert len(found["time_s"]) == 11
    assert found["shoulder"][0] == math.radians(30)
    assert found["elbow_velocity"][0] == 0.0001
    np.testing.assert_allclose(found["lift"] - 0.02 * found["time_s"], -5e-4 * found["time_s"], atol=1e-12)
    np.testing.assert_allclose(found["lift_constraint_N"], 0.5 * G, rtol=1e-9)
    assert np.abs(found["shoulder_constraint_N_m"]).max() > 0.1
    closed = samples_of(*words[:7], *start)
    assert abs(closed["shoulder"][0] - math.radians(30)) > 1e-3


def test_the_force_of_a_prescribed_coordinate_in_closed_form(tmp_path: Path) -> None:
    path = tmp_path / "cart.yaml"
    path.write_text(CART, encoding="utf-8")
    words = [str(path), "--duration", "0.7", "--reactions", "--constraint-efforts", "--every", "7"]
    found = samples_of(*words)
    t, angle, rate = found["time_s"], found["hinge"], found["hinge_velocity"]
    pivot = -8.1 * np.sin(9 * t)
    # of the bob: 0.5 angle¨ = cos(angle) pivot - g sin(angle), its x is slide - 0.5 sin(angle)
    acceleration = (pivot * np.cos(angle) - G * np.sin(angle)) / 0.5
    wanted = 3.0 * pivot - 0.5 * (acceleration * np.cos(angle) - rate**2 * np.sin(angle))
    np.testing.assert_allclose(found["drive.effort_N"], wanted, atol=1e-9)
    np.testing.assert_allclose(found["drive.fx_N"], wanted, atol=1e-9)
    np.testing.assert_allclose(found["slide_constraint_N"], wanted, atol=1e-9)
    assert np.abs(found["hinge_constraint_N_m"]).max() < 1e-9
    summary = summary_of(*words)
    drive = summary["reactions"]["drive"]
    assert (drive["on_body"], drive["from_body"]) == ("cart", "world")
    assert drive["effort_N"] == found["drive.effort_N"][-1]
    assert drive["effort_max_N"] == np.abs(found["drive.effort_N"]).max()
    efforts = summary["constraint_efforts"]["slide"]
    assert efforts == {"unit": "N", "effort": drive["effort_N"], "effort_max": drive["effort_max_N"]}
    told = linkwork(*words)
    assert "drive" in told.stderr
    assert "largest constraint efforts" in told.stderr


def test_where_taylor_takes_its_reactions() -> None:
    words = [
        "double_pendulum",
        "--duration",
        "0.2",
        "--formulation",
        "taylor",
        "--reactions",
        "--dt",
        "0.002",
    ]
    found = {
        at: summary_of(*words, "--reactions-at", at)["reactions"]["shoulder"]["force_N"]
        for at in ("begin", "middle", "end")
    }
    middle = summary_of(*words)["reactions"]["shoulder"]["force_N"]
    assert found["middle"] == middle
    assert found["begin"] != middle
    assert found["end"] != middle


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--effort", "sholder=3"], "write shoulder"),
        (["--effort", "shoulder_deg=3"], "shoulder_N_m"),
        (["--effort", "shoulder"], "MOTOR=VALUE"),
        (["--effort", "shoulder=3*elbow"], "only on time"),
        (["--effort", "shoulder=1/t", "--effort", "lift=1/(t-0.0005)"], "not a finite number"),
        (["--effort", "shoulder=1", "--effort", "shoulder_N_m=2"], "given twice"),
        (["--speed", "sholder_deg_s=3"], "write shoulder_deg_s"),
        (["--speed", "shoulder_deg=3"], "shoulder_rad_s"),
        (["--speed", "shoulder=fast"], "finite number"),
        (["--initial", "lift=1", "--initial", "lift_m=2"], "given twice"),
        (["--every", "0"], "at least 1"),
        (["--start", "loose"], "as-given"),
        (["--csv", "--json"], "choose one"),
        (["--reactions-at", "end"], "applies only with reactions"),
        (["--reactions-at", "middle", "--reactions"], "only taylor"),
    ],
)
def test_mistakes(words: list[str], says: str) -> None:
    ran = linkwork("scara", "--duration", "0.002", *words)
    assert ran.returncode == 2
    assert says in ran.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--speed", "a1=1", "--speed", "a3=1"], "one per degree of freedom"),
        (["--start", "as-given", "--formulation", "minimal"], "use formulation projected"),
    ],
)
def test_mistakes_of_closed_machines(words: list[str], says: str) -> None:
    ran = linkwork("four_bar", "--duration", "0.002", *words)
    assert ran.returncode == 2
    assert says in ran.stderr


def test_a_plot_has_a_panel_for_each_quantity_in_the_units_of_people(tmp_path: Path) -> None:
    path = tmp_path / "motion.svg"
    words = [
        "platform_3rrs",
        "--duration",
        "0.02",
        "--track",
        "centre",
        "--reactions",
        "--constraint-efforts",
    ]
    assert summary_of(*words, "--plot", str(path))["plot"] == str(path)
    drawn = re.findall("<!-- (.*?) -->", path.read_text())
    assert drawn.count("position") == 2, "the quaternion of the ball joint is no angle"
    assert {"velocity", "points", "velocity of points", "reaction forces", "constraint efforts"} <= set(drawn)
    assert {"°", "°/s", "mm", "mm/s", "N", "N m", "time / s", "motor_1", "centre.x", "ball_1"} <= set(drawn)


@pytest.mark.parametrize(
    ("name", "said"), [("motion.nosuch", "supported formats"), ("none/a.png", "cannot be written")]
)
def test_a_plot_that_cannot_be_written(tmp_path: Path, name: str, said: str) -> None:
    ran = linkwork("scara", "--duration", "0.02", "--plot", str(tmp_path / name))
    assert (ran.returncode, said in ran.stderr) == (2, True)
