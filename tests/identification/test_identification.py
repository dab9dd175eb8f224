"""Identification of simulated recordings whose truth is known, and what it refuses."""

import json
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest

from linkwork.identification.csv_motion import read_csv_motion
from linkwork.identification.identification import equations_for, identify, predict
from linkwork.identification.identification_page import identification_page
from linkwork.identification.identified_model import identified_parameters
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.identification.regressor import Regressor
from linkwork.identification.twin_threshold import MARGIN, twin_effort_share
from linkwork.machine import load
from tests.command import linkwork
from tests.identification.excited import changed_truth, recorded, write_csv

CONFIGS = Path(__file__).parents[2] / "configs"
HEADER = "time_s,q/left_rad,q/right_rad,effort/left_N_m,effort/right_N_m\n"
SHORT = {"seconds": 6.0, "rate_hz": 250.0, "base_hz": 0.3, "size": 0.5}


@pytest.fixture(scope="module")
def five_bar():
    return load("five_bar")


@pytest.fixture(scope="module")
def truth(five_bar):
    return changed_truth(five_bar, np.random.default_rng(0))


@pytest.fixture(scope="module")
def run(five_bar, truth) -> MeasuredMotion:
    return recorded(five_bar, truth, seed=1, delay_s=0.004, **SHORT)


@pytest.fixture(scope="module")
def another_run(five_bar, truth) -> MeasuredMotion:
    return recorded(five_bar, truth, seed=2, **SHORT)


@pytest.fixture(scope="module")
def identified(five_bar, run):
    return identify(five_bar, [run])


def true_values(found, truth) -> np.ndarray:
    regressor = Regressor(truth)
    own = {each.name: value for each, value in zip(regressor.parameters, regressor.values, strict=True)}
    return found.base.matrix @ np.array([own[each.name] for each in found.base.parameters])


def test_the_truth_is_found_within_its_deviations(five_bar, truth, identified, another_run):
    found = identified
    assert found.model_error == ""
    deviations = np.array(
        [
            (each.value - true) / each.deviation
            for each, true in zip(found.found, true_values(found, truth), strict=True)
            if each.status != "not excited"
        ]
    )
    assert len(deviations) >= 12
    assert np.abs(deviations).max() < 4.0
    assert (np.abs(deviations) < 2.0).mean() > 0.7
    assert found.estimate.delays == pytest.approx([0.004, 0.004], abs=1e-3)
    after = predict(five_bar, another_run, found.values)
    before = predict(five_bar, another_run)
    ideal = predict(five_bar, another_run, Regressor(truth).values)
    for fit, wrong, best in zip(after.fits, before.fits, ideal.fits, strict=True):
        assert fit.residual_rms < 1.1 * best.residual_rms
        assert wrong.residual_rms > 3.0 * best.residual_rms


def test_the_report_shows_efforts_residuals_parameters_and_unused_data(five_bar, identified, another_run):
    validation = predict(five_bar, another_run, identified.values)
    made = {
        "made": "",
        "took_s": 0,
        "command": "",
        "versions": {},
        "sources": "",
        "system": "",
        "processor": "",
    }
    page = identification_page(identified, validation, made)
    assert page.count("<svg") == 2 * 3 * 2  # effort, residual and spectrum of two motors, fitted and unused
    for each in identified.found:
        assert escape(each.base.text) in page
    assert "the model explains the efforts" in page
    assert "Validation on data not used" in page
    assert "http" not in page.replace("http://www.w3.org", "")
    wrong = identification_page(replace(identified, model_error="Stribeck <friction>"), None, made)
    assert "model error: Stribeck &lt;friction&gt;" in wrong
    assert "Validation" not in wrong


@pytest.mark.slow
def test_friction_of_another_shape_is_a_model_error(five_bar, truth, tmp_path: Path):
    def stribeck(q, v):
        force = np.zeros(truth.nv)
        force[:2] = 0.08 * np.tanh(v[:2] / 1e-3) * np.exp(-((v[:2] / 0.1) ** 2))
        return force

    write_csv(tmp_path / "run.csv", recorded(five_bar, truth, seed=1, added=stribeck, **SHORT))
    out = tmp_path / "five_bar.identified.yaml"
    page = tmp_path / "report.html"
    ran = linkwork(
        "identify", "five_bar", str(tmp_path / "run.csv"), "--out", str(out), "--html", str(page), "--json"
    )
    assert ran.returncode == 1
    assert "model error" in page.read_text("utf-8")
    assert "Stribeck" in json.loads(ran.stdout)["model_error"]
    assert "model error" in ran.stderr
    assert not out.exists()


def with_play(run: MeasuredMotion, width: float) -> MeasuredMotion:
    """The encoders sit on the motors, which cross the play of their gears where efforts are reversed."""
    crossing = np.hanning(17)[1:-1] / np.hanning(17).sum()
    positions = {
        name: values + 0.5 * width * np.convolve(np.sign(run.efforts[name]), crossing, mode="same")
        for name, values in run.positions.items()
    }
    return replace(run, positions=positions)


@pytest.mark.slow
@pytest.mark.parametrize("width", [5e-4, 2e-3])
def test_play_is_a_model_error(five_bar, run, width: float):
    assert "play" in identify(five_bar, [with_play(run, width)]).model_error


@pytest.mark.slow
def test_a_spring_that_the_file_lacks_is_a_model_error(five_bar, truth):
    def spring(q, v):
        force = np.zeros(truth.nv)
        force[:2] = q[:2] - five_bar.initial_q[:2]
        return force

    found = identify(five_bar, [recorded(five_bar, truth, seed=1, added=spring, **SHORT)])
    assert "spring" in found.model_error


def test_noise_that_a_control_loop_feeds_back_is_no_model_error(five_bar):
    """It is in the efforts and in the positions, whose second derivatives it spoils at high frequencies."""
    exact = recorded(
        five_bar, five_bar.mechanism, seed=1, seconds=6.0, rate_hz=250.0, noise=0.0, counts=1e-12, size=0.5,
        base_hz=0.3,
    )  # fmt: skip
    rng, positions, efforts = np.random.default_rng(3), {}, {}
    for name, values in exact.positions.items():
        noise = rng.normal(scale=3e-5, size=len(values))
        positions[name] = values + noise
        efforts[name] = exact.efforts[name] - 2.0 * (250.0 * np.gradient(noise) + 20.0 * noise)
    found = identify(five_bar, [replace(exact, positions=positions, efforts=efforts)])
    assert not found.model_error
    assert max(each.unexplained for each in found.fits) < 0.02
    errors = [(each.value - each.base.value) / each.deviation for each in found.found]
    assert np.abs(errors).max() < 4.0


@pytest.mark.slow
def test_a_wrong_zero_of_an_encoder_is_a_model_error(five_bar, run):
    moved = {**run.positions, "right": run.positions["right"] + 0.1}
    assert "zero" in identify(five_bar, [replace(run, positions=moved)]).model_error


@pytest.mark.slow
def test_deviations_hold_what_smoothing_does_without_noise(five_bar):
    """Exact sensors, and a cut-off so low that smoothing changes what the motion shows."""
    smooth = changed_truth(five_bar, np.random.default_rng(0), friction=0.0)
    run = recorded(
        five_bar, smooth, seed=1, seconds=8.0, rate_hz=100.0, base_hz=0.35, size=0.5, noise=0.0, counts=1e-12
    )
    found = identify(five_bar, [run], cutoff_hz=4.5)
    apart = np.array([each.value for each in found.found]) - true_values(found, smooth)
    sizes = np.abs(apart) / np.array([each.deviation for each in found.found])
    assert sizes.max() < 3.0
    assert np.median(sizes) > 0.05  # and not many times too large


@pytest.mark.slow
def test_the_recording_of_another_geometry_is_no_identification(five_bar, truth, tmp_path: Path):
    text = (CONFIGS / "five_bar.yaml").read_text("utf-8")
    assert text.count("at_m: [0.2, 0, 0]") == 2
    (tmp_path / "longer.yaml").write_text(text.replace("at_m: [0.2, 0, 0]", "at_m: [0.23, 0, 0]"), "utf-8")
    longer = load(tmp_path / "longer.yaml")
    run = recorded(longer, longer.mechanism, seed=1, **SHORT)
    try:
        found = identify(five_bar, [run])
    except RefusedData:
        return
    assert found.model_error


def test_columns_may_be_permuted_and_in_other_units(five_bar, run, tmp_path: Path):
    units = {
        "q/left": ("deg", 180.0 / np.pi), "q/right": ("mrad", 1e3), "effort/right": ("mN_m", 1e3),
    }  # fmt: skip
    write_csv(tmp_path / "other.csv", run, units, order=[3, 2, 0, 4, 1])
    found = read_csv_motion(tmp_path / "other.csv", five_bar)
    assert found.time_s == pytest.approx(run.time_s)
    for name in ("left", "right"):
        assert found.positions[name] == pytest.approx(run.positions[name], rel=1e-9, abs=1e-12)
        assert found.efforts[name] == pytest.approx(run.efforts[name], rel=1e-9, abs=1e-12)


@pytest.mark.slow
def test_the_identified_file_predicts_better(run, tmp_path: Path):
    write_csv(tmp_path / "plain.csv", run)
    out = tmp_path / "identified.yaml"
    words = ("--out", str(out), "--twin", "--points", "50", "--json")
    ran = linkwork("identify", "five_bar", str(tmp_path / "plain.csv"), *words)
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    text = out.read_text("utf-8")
    curves = {each["joint"]: each for each in answer["efforts"]}
    assert set(curves) == {"left", "right"}
    assert 25 < len(curves["left"]["measured"]) == len(curves["left"]["time_s"]) <= 50
    assert load(out).twin.effort_share == answer["twin_effort_share"]
    assert answer["recordings"][0]["sha256"] in text
    assert "±" in text
    checked = linkwork("check", str(out))
    assert checked.returncode == 0, checked.stderr
    shares = [
        json.loads(linkwork("validate", name, str(tmp_path / "plain.csv"), "--json").stdout)["fits"]
        for name in ("five_bar", str(out))
    ]
    assert all(new["unexplained"] < 0.2 * old["unexplained"] for old, new in zip(*shares, strict=True))


def test_the_twins_threshold_is_above_what_the_file_leaves(five_bar, run):
    left = predict(five_bar, run)
    share = twin_effort_share(five_bar, left)
    most = {motor.joint: motor.max_effort for motor in five_bar.motors}
    worst = max(
        np.abs(left.measured - left.predicted)[left.equations.row == row].max() / most[joint]
        for row, joint in enumerate(left.equations.joints)
    )
    assert worst < share <= 1.05 * MARGIN * worst


def test_a_threshold_needs_a_file_to_stand_in():
    ran = linkwork("identify", "five_bar", "run.csv", "--twin")
    assert ran.returncode == 2
    assert "give --out, too" in ran.stderr


def constant(run):
    return replace(run, positions={**run.positions, "left": np.full_like(run.time_s, 2.0)})


def still(run):
    middle = run.positions["left"].mean()
    return replace(run, positions={**run.positions, "left": middle + 0.01 * (run.positions["left"] - middle)})


def reversed_effort(run):
    return replace(run, efforts={**run.efforts, "right": -run.efforts["right"]})


def reversed_sensor(run):
    return replace(run, positions={**run.positions, "right": -run.positions["right"]})


def swapped_efforts(run):
    return replace(run, efforts={"left": run.efforts["right"], "right": run.efforts["left"]})


def saturated(run):
    return replace(
        run,
        efforts={**run.efforts, "left": np.where(np.arange(len(run.time_s)) % 9, run.efforts["left"], 10.0)},
    )


def loaded(run):
    late = run.time_s > 3.0
    return replace(run, efforts={name: values * (1.0 + 0.4 * late) for name, values in run.efforts.items()})


def in_degrees(run):
    return replace(run, positions={name: np.degrees(values) for name, values in run.positions.items()})


def in_milliseconds(run):
    return replace(run, time_s=1e3 * run.time_s)


def hurried(run):
    return replace(run, time_s=1e-3 * run.time_s)


def in_thousandths(run):
    return replace(run, efforts={name: 1e3 * values for name, values in run.efforts.items()})


def in_thousands(run):
    return replace(run, efforts={name: 1e-3 * values for name, values in run.efforts.items()})


def reversed_axis(run):
    return reversed_effort(reversed_sensor(run))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("spoil", "reason", "says"),
    [
        (in_degrees, "units", "in degrees; then name the column q/left_deg"),
        (in_milliseconds, "units", "name the column time_ms"),
        (hurried, "units", "of the times"),
        (in_thousandths, "units", "mN_m"),
        pytest.param(in_thousands, "units", "times the efforts that the file's need", marks=SLOW),
        pytest.param(reversed_axis, "swapped or reversed", "and effort of right are reversed", marks=SLOW),
        (constant, "constant sensor", "left is constant"),
        (still, "never moved", "left moves by"),
        (saturated, "saturated", "at its limit"),
        pytest.param(reversed_effort, "swapped or reversed", "effort of right is reversed", marks=SLOW),
        pytest.param(reversed_sensor, "swapped or reversed", "position of right is reversed", marks=SLOW),
        pytest.param(swapped_efforts, "swapped or reversed", "left and right are swapped", marks=SLOW),
        pytest.param(loaded, "load", "changed during the recording", marks=SLOW),
    ],
)
def test_data_that_cannot_answer_are_refused_in_words(five_bar, run, spoil, reason, says):
    with pytest.raises(RefusedData, match=says) as refused:
        identify(five_bar, [spoil(run)])
    assert refused.value.reason == reason


@SLOW
def test_a_reversed_sensor_whose_values_leave_the_limits_is_no_wrong_unit(run, tmp_path: Path):
    text, limits = (CONFIGS / "five_bar.yaml").read_text("utf-8"), "position_deg: [-60, 170]"
    assert limits in text
    (tmp_path / "five_bar.yaml").write_text(text.replace(limits, "position_deg: [0, 170]"), "utf-8")
    with pytest.raises(RefusedData, match="position of right is reversed"):
        identify(load(tmp_path / "five_bar.yaml"), [reversed_sensor(run)])


def test_a_refusal_writes_nothing_and_has_a_status(run, tmp_path: Path):
    write_csv(tmp_path / "run.csv", constant(run))
    out = tmp_path / "out.yaml"
    ran = linkwork("identify", "five_bar", str(tmp_path / "run.csv"), "--out", str(out), "--json")
    assert ran.returncode == 3
    assert json.loads(ran.stdout)["error"]["reason"] == "constant sensor"
    assert not out.exists()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("time_s,q/left_rad,q/right_rad,effort/left_N_m\n0,0,0,0\n", "efforts are missing: right"),
        (HEADER.replace("left_rad", "left_m") + "0,0,0,0,0\n", "no joint or motor has this name"),
        (HEADER.replace("time_s", "clock") + "0,0,0,0,0\n", "column of times"),
        (HEADER + "0,0,0,x,0\n", "not a number"),
        (HEADER + "0,0,0,0\n", "wrong number of cells"),
        (HEADER + "1,0,0,0,0\n0,0,0,0,0\n", "does not rise"),
        ("", "empty"),
    ],
)  # fmt: skip
def test_wrong_files_are_named(lines: str, says: str, tmp_path: Path):
    path = tmp_path / "run.csv"
    path.write_text(lines, "utf-8")
    ran = linkwork("identify", "five_bar", str(path))
    assert ran.returncode == 2
    assert says in ran.stderr.replace("\n", " ")
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_gaps_and_jitter_are_named_and_harmless(five_bar, truth, run):
    rng = np.random.default_rng(0)
    kept = np.ones(len(run.time_s), dtype=bool)
    kept[600:680] = False
    late = run.time_s + rng.uniform(-0.3, 0.3, len(run.time_s)) * 0.004
    jittered = replace(
        run,
        time_s=late[kept],
        positions={name: np.interp(late, run.time_s, x)[kept] for name, x in run.positions.items()},
        efforts={name: np.interp(late, run.time_s, x)[kept] for name, x in run.efforts.items()},
    )
    found = identify(five_bar, [jittered], cutoff_hz=8.0)
    assert any("gaps" in remark for remark in found.remarks)
    assert any("evenly" in remark for remark in found.remarks)
    assert found.model_error == ""
    friction = {each.base.first.name: each.value for each in found.found}
    own = {each.name: each.value for each in Regressor(truth).parameters}
    for name in ("left.coulomb", "right.coulomb"):
        assert friction[name] == pytest.approx(own[name], rel=0.1)


def test_a_recording_of_other_joints_is_refused(run):
    with pytest.raises(RefusedData, match="do not determine the pose"):
        identify(load("five_bar"), [replace(run, positions={"left": run.positions["left"]})])


@pytest.mark.parametrize("noise", [0.0, 1e-5])
def test_rest_before_a_gap_does_not_count_as_motion(five_bar, run, noise: float):
    rng, period = np.random.default_rng(0), run.time_s[1] - run.time_s[0]
    times = run.time_s[0] - 1.0 - period * np.arange(100, 0, -1)
    resting = {
        name: np.concatenate([values[0] + noise * rng.normal(size=100), values])
        for name, values in run.positions.items()
    }
    efforts = {name: np.concatenate([values[:1].repeat(100), values]) for name, values in run.efforts.items()}
    longer = replace(run, time_s=np.concatenate([times, run.time_s]), positions=resting, efforts=efforts)
    columns = identified_parameters(five_bar)
    alone, both = (equations_for(five_bar, [each], columns) for each in (run, longer))
    assert both.excited_hz == pytest.approx(alone.excited_hz)
