"""The trajectories in docs/examples are those of the demos, and the machines accept them."""

import re
from pathlib import Path

import pytest

from linkwork.cli.demo_command import files_of
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path as Way
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.controller.planning.walk.walk import walk
from linkwork.demos import DEMOS, demo_named
from linkwork.machine import Machine, load
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.trajectories.trajectory_file import read_trajectory_file

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
FILES = [(name, file) for name in DEMOS for file in files_of(name, demo_named(name))]


@pytest.mark.parametrize("name", DEMOS)
def test_the_files_are_the_demos(name: str) -> None:
    """Made anew by: linkwork demo NAME --write docs/examples."""
    for file, text in files_of(name, demo_named(name)).items():
        assert (EXAMPLES / file).read_text(encoding="utf-8") == text, file


def test_no_file_is_left_over() -> None:
    no_motions = {"udp_motor.yaml", "five_bar_campaign.yaml"}
    lying_there = {path.name for path in EXAMPLES.glob("*.yaml")}
    assert lying_there - no_motions == {file for _, file in FILES}


@pytest.mark.parametrize("file", [file for _, file in FILES])
def test_an_example_is_feasible_from_where_it_says(file: str) -> None:
    path = EXAMPLES / file
    made = load(path.read_text().partition(":")[0].removeprefix("# "))
    start, closed, sets = Start.at_pose(made, made.initial_q), made.closed_at_start, constraint_sets(made)
    for command, told in re.findall(r"linkwork (move|switch) (.*)", path.read_text()):
        if command == "switch":
            constraint, to = told.split()
            bit = 1 << made.switchable.index(constraint)
            closed = closed | bit if to == "on" else closed & ~bit
            under = sets[closed]
            assert isinstance(under, Machine)
            made, start = under, Start.at_pose(under, start.q)
            continue
        target, _, options = told.partition(" --")
        asked = {
            "target": {key: float(value) for key, _, value in (one.partition("=") for one in target.split())}
        }
        if options.startswith("until-force"):
            asked["until_force"] = {made.force_rows[0].name: float(options.split()[1])}
        move = plan("move", asked, made, start)
        start = Start.at_pose(made, walk(made, Way.of_block(move.words), start.q).q[-1])
    trajectory = read_trajectory_file(path).trajectory.model_dump(exclude_none=True)
    found = judge({"trajectory": trajectory}, made, start)
    assert found["feasible"], found["violations"]
