"""Trajectory files: what they mean, and where their mistakes are placed."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.machine import MachineError
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError
from linkwork.trajectories.trajectory_file import read_csv, read_trajectory_file

HELIX = """\
curve:
  helix:
    center_m: [0, 0.35, 0]
    radius_m: 0.05
    rate_rad_s: 1.2566
    pitch_speed_m_s: 0.02
    duration_s: 5
hold: {angle: 0}
entry: {ramp_s: 1}
"""


def written(folder: Path, text: str, name: str = "path.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_curve(tmp_path: Path) -> None:
    trajectory = read_trajectory_file(written(tmp_path, HELIX)).trajectory
    assert trajectory.coordinates == ["x", "y", "z", "angle"]
    assert trajectory.curve is not None
    assert trajectory.curve.helix is not None
    assert trajectory.curve.helix.pitch_speed_m_s == 0.02
    assert trajectory.entry is not None


@pytest.mark.parametrize(
    ("was", "becomes", "line", "says"),
    [
        ("radius_m: 0.05", "radius_mm: 50", 4, "write radius_m"),
        ("radius_m: 0.05", "radius_m: -1", 4, "greater than 0"),
        ("duration_s: 5", "duration_s: .nan", 7, "finite"),
        ("center_m: [0, 0.35, 0]", "center_m: [0, 0.35]", 3, "3 items"),
        ("entry: {ramp_s: 1}", "entry: {ramp: 1}", 9, "write ramp_s"),
        ("hold: {angle: 0}", "hold: {x: 0}", 8, "moved by the curve"),
        ("entry: {ramp_s: 1}", "points: []", 9, "at least 1 item"),
    ],
)
def test_a_mistake_is_placed(tmp_path: Path, was: str, becomes: str, line: int, says: str) -> None:
    path = written(tmp_path, HELIX.replace(was, becomes))
    with pytest.raises(MachineError) as caught:
        read_trajectory_file(path)
    (problem,) = caught.value.problems
    assert problem.line == line
    assert says in str(problem)


def test_way_points_with_rates_from_csv(tmp_path: Path) -> None:
    text = (
        "# from the optimiser\n"
        "time_from_start_s, lift_velocity, shoulder, lift, shoulder_velocity\n"
        "0, 0.5, 0.1, 0.2, 0.3\n"
        "\n"
        "1.5, 0, 0.4, 0.5, 0\n"
    )
    trajectory = read_trajectory_file(written(tmp_path, text, "path.csv")).trajectory
    assert trajectory.coordinates == ["shoulder", "lift"]
    assert trajectory.points is not None
    first, last = trajectory.points
    assert (first.positions, first.velocities, first.accelerations) == ([0.1, 0.2], [0.3, 0.5], None)
    assert (last.time_from_start_s, last.positions) == (1.5, [0.4, 0.5])


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("time_from_start_s,shoulder\n0,1\n1,abc\n", 3, 2, "finite number"),
        ("time_from_start_s,shoulder\n0,1\n1,nan\n", 3, 2, "finite number"),
        ("time_from_start_s,shoulder\n0,1\n1,2,3\n", 3, 1, "wrong number of cells"),
        ("time_from_start_s,shoulder\n0,1\n0,2\n", 3, 1, "increase strictly"),
        ("time_s,shoulder\n0,1\n", 1, 1, "time_from_start_s"),
        ("time_from_start_s,shoulder,shoulder\n0,1,2\n", 1, 3, "given twice"),
        ("time_from_start_s,a,b,a_velocity\n0,1,2,3\n", 1, 1, "b_velocity"),
        ("time_from_start_s,shoulder\n", 1, 1, "no way-points"),
        ("", None, None, "empty"),
    ],
)
def test_a_mistake_in_a_csv_is_placed(
    tmp_path: Path, text: str, line: int | None, column: int | None, says: str
) -> None:
    with pytest.raises(MachineError) as caught:
        read_trajectory_file(written(tmp_path, text, "path.csv"))
    problem = caught.value.problems[0]
    assert (problem.line, problem.column) == (line, column)
    assert says in str(problem)


def test_a_refusal_is_placed_in_the_file(tmp_path: Path) -> None:
    table = read_trajectory_file(written(tmp_path, "time_from_start_s,lift\n0,0\n#\n1,9\n", "path.csv"))
    refused = RequestError(RequestCode.INVALID_PARAMS, "", ("trajectory", "points", 1, "positions", 0))
    assert table.place(refused).endswith("path.csv:4:2")
    assert table.place(RequestError(RequestCode.BUSY, "")) == ""


@given(text=st.text(max_size=200) | st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_whatever_a_csv_holds_the_answer_is_a_table_or_a_problem(
    tmp_path_factory: pytest.TempPathFactory, text: str | bytes
) -> None:
    path = tmp_path_factory.mktemp("csv") / "path.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    with suppress(MachineError):
        assert read_csv(path).data["points"]
