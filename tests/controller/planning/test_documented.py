"""The examples in docs/trajectories.md are accepted by the machine that ships."""

import re
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import load
from linkwork.machine.yaml_document import read_yaml
from linkwork.protocol.errors import RequestError
from linkwork.trajectories.trajectory_file import read_trajectory_file
from tests.controller.planning.conftest import joints_at

PAGE = Path(__file__).parents[3] / "docs" / "trajectories.md"


def examples(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def example(tmp_path):
    def written(content, name):
        path = tmp_path / name
        path.write_text(content, "utf-8")
        return path

    return written


def test_the_way_points_are_followed_from_yaml_and_csv_alike(scara, start, example):
    as_yaml = read_yaml(example(examples("yaml")[0], "wave.yaml")).data
    done = plan("send", {"trajectory": as_yaml}, scara, start)
    assert done.duration_s == 4.0
    (table,) = (text for text in examples("text") if text.startswith("time_from_start_s"))
    as_csv = read_trajectory_file(example(table, "wave.csv")).trajectory
    again = plan("send", {"trajectory": as_csv.model_dump(exclude_none=True)}, scara, start)
    found = np.empty((2, 3, 4))
    for s in np.linspace(0.0, 4.0, 41):
        GoalBlock(done.words).evaluate(s, *found[0])
        GoalBlock(again.words).evaluate(s, *found[1])
        np.testing.assert_array_equal(found[0], found[1])


def test_the_curve_is_followed_from_where_its_refusal_says(scara, start, example):
    (text,) = (each for each in examples("yaml") if each.startswith("curve:"))
    trajectory = read_yaml(example(text, "helix.yaml")).data
    with pytest.raises(RequestError) as caught:
        plan("send", {"trajectory": trajectory}, scara, start)
    begin = caught.value.data["begin"]
    there = Start.at_pose(scara, joints_at(scara, list(begin), list(begin.values()), start.q))
    assert plan("send", {"trajectory": trajectory}, scara, there).duration_s == 7.0


@pytest.mark.slow
def test_the_corridor_saves_time(example):
    delta = load("delta")
    (text,) = (each for each in examples("yaml") if "between:" in each)
    trajectory = read_yaml(example(text, "corridor.yaml")).data
    made = plan("send", {"trajectory": trajectory}, delta, Start.at_pose(delta, delta.initial_q))
    assert made.report["timing"]["corridor"]["saves_s"] > 0.01


def test_the_lines_with_corners_are_followed_without_a_warning(example):
    delta = load("delta")
    (text,) = (each for each in examples("yaml") if "\ncorner:" in each and "between" not in each)
    trajectory = read_yaml(example(text, "corners.yaml")).data
    made = plan("send", {"trajectory": trajectory}, delta, Start.at_pose(delta, delta.initial_q))
    assert made.duration_s == 1.6
    assert "warnings" not in made.report
