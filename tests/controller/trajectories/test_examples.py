"""The trajectories in docs/examples are accepted by the machines that they are for."""

import re
from pathlib import Path

import pytest

from controller.trajectories.path import Path as Way
from controller.trajectories.planner import judge, plan
from controller.trajectories.start import Start
from controller.trajectories.walking import walk
from machine import load
from station.trajectory_file import read_trajectory_file

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


@pytest.mark.parametrize(
    ("machine", "example"), [("delta", "delta_pick_and_place"), ("five_bar", "five_bar_circle")]
)
def test_an_example_is_feasible_from_where_it_says(machine: str, example: str) -> None:
    made, path = load(machine), EXAMPLES / f"{example}.yaml"
    start = Start.at(made, made.initial_q)
    told = re.search(r"linkwork move (.*?);", path.read_text())
    if told:
        pairs = (word.split("=") for word in told[1].split())
        move = plan("move", {"target": {name: float(value) for name, value in pairs}}, made, start)
        start = Start.at(made, walk(made, Way.of_block(move.words), made.initial_q).q[-1])
    trajectory = read_trajectory_file(path).trajectory.model_dump(exclude_none=True)
    found = judge({"trajectory": trajectory}, made, start)
    assert found["feasible"], found["violations"]
