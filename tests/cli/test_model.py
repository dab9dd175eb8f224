"""What `linkwork model` tells and draws."""

from pathlib import Path

import pytest

from linkwork.convert.model_report import report
from linkwork.drawing.model_drawing import draw
from linkwork.machine import load, shipped
from tests.command import linkwork


def test_a_delta_is_understood() -> None:
    found = report(load("delta"))
    assert (found["degrees_of_freedom"], found["rank"], found["rows"], found["redundancy"]) == (3, 13, 25, 12)
    assert found["actuated"] == ["motor_1", "motor_2", "motor_3"]
    assert len(found["passive"]) == 13
    assert found["controllable"] is True
    assert [each["type"] for each in found["closures"]] == ["revolute"] * 5


def test_a_slider_crank_at_its_branch_pose_has_more_mobility(tmp_path: Path) -> None:
    path = tmp_path / "upright.yaml"
    text = Path(load("slider_crank").path).read_text(encoding="utf-8")
    path.write_text(text.replace("{crank_deg: 30}", "{crank_deg: 90, knee_deg: 180}"), encoding="utf-8")
    found = report(load(path))
    assert (found["degrees_of_freedom"], found["mobility"]) == (1, 2)


@pytest.mark.parametrize("name", shipped())
def test_every_machine_can_be_reported_and_drawn(name: str, tmp_path: Path) -> None:
    machine = load(name)
    assert report(machine)["name"] == name
    draw(machine, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_assembly_modes_are_listed_as_values_to_paste() -> None:
    ran = linkwork("model", "five_bar", "--assemblies", "left_deg=100", "right=1.2")
    assert ran.returncode == 0
    assert "2 assembly modes with left 1.74533, right 1.2" in ran.stdout
    assert ran.stdout.count("initial: {left_deg: 100, right_deg: 68.7549354}") == 2
    assert ran.stdout.count("initial_guess: {left_elbow_deg:") == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("five_bar", "left=1"), "belong to --assemblies"),
        (("scara", "--assemblies"), "no constraints"),
        (("five_bar", "--assemblies", "lft=1"), "there are left, right"),
        (("five_bar", "--assemblies", "left=1", "right=1", "left_elbow=1"), "2 degrees of freedom"),
    ],
)
def test_modes_that_cannot_be_listed_are_a_misuse(words: tuple[str, ...], says: str) -> None:
    ran = linkwork("model", *words)
    assert ran.returncode == 2
    assert says in ran.stderr.replace("\n", " ")
