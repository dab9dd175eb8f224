"""CSV recordings of spreadsheets and drives, and signals that are refused before anything is fitted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.identification.csv_motion import read_csv_motion
from linkwork.identification.filtered_equations import Equations
from linkwork.identification.identification import equations_for, identify, prepared
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.identification.regressor import Regressor
from linkwork.identification.sensor_mixups import mixups
from linkwork.machine import Machine, load
from linkwork.machine.problems import MachineError
from tests.command import linkwork
from tests.identification.excited import changed_truth, recorded, write_csv

COLUMNS = ("time_ms", "effort/right_mN_m", "q/right_deg", "effort/left_N_m", "q/left_rad")


@pytest.fixture(scope="module")
def five_bar() -> Machine:
    return load("five_bar")


@pytest.fixture
def smooth() -> MeasuredMotion:
    """Both motors of the five-bar move on sines; the efforts have nothing to do with it."""
    time_s = 0.004 * np.arange(500)
    positions = {
        "left": np.radians(120.0) + 0.3 * np.sin(4.0 * time_s),
        "right": np.radians(60.0) + 0.2 * np.sin(5.0 * time_s),
    }
    efforts = {"left": np.cos(4.0 * time_s), "right": 0.5 * np.cos(5.0 * time_s + 1.0)}
    return MeasuredMotion("run", "", time_s, positions, efforts)


def _rows(motion: MeasuredMotion) -> list[list[str]]:
    own = (
        1e3 * motion.time_s, 1e3 * motion.efforts["right"], np.degrees(motion.positions["right"]),
        motion.efforts["left"], motion.positions["left"],
    )  # fmt: skip
    return [[f"{cell:.12g}" for cell in row] for row in zip(*own, strict=True)]


@pytest.mark.parametrize(
    ("delimiter", "decimal", "encoding", "end"),
    [(";", ",", "utf-8-sig", "\r\n"), ("\t", ",", "utf-16", "\n"), ("\t", ".", "utf-8", "\n")],
)
def test_files_of_spreadsheets(five_bar, smooth, delimiter, decimal, encoding, end, tmp_path: Path):
    lines = [delimiter.join(f'"{name}"' for name in COLUMNS)]
    lines += [delimiter.join(row).replace(".", decimal) for row in _rows(smooth)]
    path = tmp_path / "run.csv"
    path.write_bytes(end.join(lines).encode(encoding))
    found = read_csv_motion(path, five_bar)
    assert found.time_s == pytest.approx(smooth.time_s)
    for name in ("left", "right"):
        assert found.positions[name] == pytest.approx(smooth.positions[name], rel=1e-9, abs=1e-10)
        assert found.efforts[name] == pytest.approx(smooth.efforts[name], rel=1e-9, abs=1e-10)


def test_a_column_without_a_unit_is_refused_with_those_it_may_have(five_bar, smooth, tmp_path: Path):
    path = tmp_path / "run.csv"
    path.write_text("\n".join([",".join(COLUMNS).replace("left_rad", "left"), "0,0,0,0,0"]), "utf-8")
    with pytest.raises(MachineError) as refused:
        read_csv_motion(path, five_bar)
    (problem,) = refused.value.problems
    assert problem.message == "this column names no unit"
    assert problem.allowed == "q/left_rad, q/left_deg, q/left_mrad, q/left_turns"


@pytest.mark.parametrize("turn", [-2.0 * np.pi, 0.0])
def test_encoders_that_count_one_turn(five_bar, smooth, turn: float, tmp_path: Path):
    wrapped = {**smooth.positions, "left": (smooth.positions["left"] - np.radians(120.0)) % (2.0 * np.pi)}
    wrapped["left"] += np.radians(120.0) + turn
    write_csv(tmp_path / "run.csv", replace(smooth, positions=wrapped))
    found = read_csv_motion(tmp_path / "run.csv", five_bar)
    assert found.positions["left"] == pytest.approx(smooth.positions["left"])
    assert any("jumps by a turn" in remark for remark in found.remarks)


def frozen(run: MeasuredMotion) -> MeasuredMotion:
    values = run.positions["left"].copy()
    values[200:300] = values[200]
    return replace(run, positions={**run.positions, "left": values})


def spiked(run: MeasuredMotion) -> MeasuredMotion:
    values = run.efforts["right"].copy()
    values[250] += 4.0
    return replace(run, efforts={**run.efforts, "right": values})


def clipped(run: MeasuredMotion) -> MeasuredMotion:
    return replace(run, efforts={**run.efforts, "left": np.clip(run.efforts["left"], -0.7, 0.7)})


def with_elbow(run: MeasuredMotion) -> MeasuredMotion:
    return replace(run, positions={**run.positions, "left_elbow": np.full(len(run.time_s), -1.4)})


@pytest.mark.parametrize(
    ("spoil", "reason", "says"),
    [
        (frozen, "jumps", "the position of left jumps at 0.8 s"),
        (spiked, "jumps", "the effort of right has a spike at 1 s"),
        (clipped, "saturated", "its largest effort, 0.7, which its drive seems to limit"),
        (with_elbow, "contradiction", "left_elbow moves by 0 rad, where the closed loops move it by"),
    ],
)
def test_signals_that_cannot_be_true(five_bar, smooth, spoil, reason, says):
    prepared(five_bar, smooth)
    with pytest.raises(RefusedData, match=says) as refused:
        prepared(five_bar, spoil(smooth))
    assert refused.value.reason == reason


def test_a_further_encoder_that_is_reversed_is_not_taken_for_degrees(five_bar, smooth):
    elbow = np.radians(83.0) + 0.1 * np.sin(smooth.time_s)
    with pytest.raises(RefusedData, match="left_elbow moves by"):
        prepared(five_bar, replace(smooth, positions={**smooth.positions, "left_elbow": elbow}))


def test_mixed_up_columns_of_three_motors_are_among_those_tried():
    names = ["motor_1", "motor_2", "motor_3"]
    right = {name: np.array([float(k), 2.0]) for k, name in enumerate(names)}
    turned = {name: -values for name, values in right.items()}
    shifted = dict(zip(names, (right[name] for name in ("motor_2", "motor_3", "motor_1")), strict=True))

    def mended(positions, efforts) -> list[str]:
        run = MeasuredMotion("run", "", np.arange(2.0), positions, efforts)
        return [
            text
            for text, each in mixups(run, names)
            if all((each.positions[name] == right[name]).all() for name in names)
            and all((each.efforts[name] == right[name]).all() for name in names)
        ]

    assert any("the efforts of" in text for text in mended(right, shifted))
    assert any("the positions of" in text for text in mended(shifted, right))
    assert any("positions and efforts of" in text for text in mended(shifted, shifted))
    assert mended(right, turned) == ["the efforts of all motors are reversed"]
    assert mended(turned, turned) == ["positions and efforts of all motors are reversed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("effort", "says"),
    [(-1.0, "position and effort of lift are reversed"), (1.0, "position of lift is reversed")],
)
def test_a_reversed_lift_that_an_offset_would_explain(effort: float, says: str):
    scara = load("scara")
    truth = changed_truth(scara, np.random.default_rng(1), friction=0.3)
    run = recorded(scara, truth, seed=2, seconds=8.0, rate_hz=200.0, base_hz=0.2, size=0.35)
    turned = replace(
        run,
        positions={**run.positions, "lift": -run.positions["lift"]},
        efforts={**run.efforts, "lift": effort * run.efforts["lift"]},
    )
    with pytest.raises(RefusedData, match=says):
        identify(scara, [turned])


@pytest.mark.slow
def test_a_recording_with_many_gaps_and_a_load_in_between(five_bar):
    run = recorded(five_bar, five_bar.mechanism, seed=1, seconds=10.0, rate_hz=250.0, base_hz=0.3, size=0.5)
    gone = np.random.default_rng(0).uniform(size=len(run.time_s)) < 0.06
    efforts = {name: np.where(gone, np.nan, values) for name, values in run.efforts.items()}
    kept = np.isfinite(efforts["left"])
    thinned = MeasuredMotion(
        "thinned", "", run.time_s[kept], {name: values[kept] for name, values in run.positions.items()},
        {name: values[kept] for name, values in efforts.items()},
    )  # fmt: skip
    found = identify(five_bar, [thinned])
    assert not found.model_error
    pushed = run.efforts["right"].copy()
    pushed[1000:1500] += 0.3 * pushed.std()
    with pytest.raises(RefusedData, match="changed during the recording"):
        identify(five_bar, [replace(run, efforts={**run.efforts, "right": pushed})])


def _left_over(machine: Machine, run: MeasuredMotion) -> float:
    """Share of the filtered efforts that the true parameters leave."""
    regressor = Regressor(machine.mechanism)
    columns = np.flatnonzero(regressor.values).tolist()
    equations: Equations = equations_for(machine, [run], columns, cutoff_hz=12.0)
    measured = equations.efforts(np.zeros(len(equations.motors)))
    rest = measured - equations.matrix @ regressor.values[columns]
    return float(np.sqrt(np.mean(rest**2) / np.mean(measured**2)))


def test_smoothing_leaves_equations_that_the_true_parameters_solve(five_bar):
    """Exact sensors and efforts: only smoothing and interpolation are left."""
    run = recorded(
        five_bar, five_bar.mechanism, seed=1, seconds=3.0, rate_hz=100.0, base_hz=0.3, size=0.5, noise=0.0,
        counts=1e-12,
    )  # fmt: skip
    assert _left_over(five_bar, run) < 5e-6


def test_the_command_reads_decimal_commas(tmp_path: Path):
    path = tmp_path / "run.csv"
    rows = [f"{0.004 * k:.3f};1,0;2,0;0,0;0,0".replace(".", ",") for k in range(60)]
    header = "time_s;q/left_rad;q/right_rad;effort/left_N_m;effort/right_N_m"
    path.write_text("\n".join([header, *rows]), "utf-8")
    out = tmp_path / "out.yaml"
    ran = linkwork("identify", "five_bar", str(path), "--out", str(out))
    assert ran.returncode == 3
    assert "position of left is constant" in ran.stderr.replace("\n", " ")
    assert not out.exists()


@pytest.mark.slow
def test_degrees_of_a_joint_without_limits_are_named():
    crank = load("slider_crank")
    run = recorded(crank, crank.mechanism, seed=1, seconds=6.0, rate_hz=250.0, base_hz=0.4, size=0.5)
    with pytest.raises(RefusedData, match="position of crank is in degrees"):
        identify(crank, [replace(run, positions={"crank": np.degrees(run.positions["crank"])})])
