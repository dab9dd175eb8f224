"""A file that does not say in which assemblies its machine may be: `check` looks, and warns."""

from collections.abc import Callable
from pathlib import Path

from linkwork.machine import check, shipped_path

SAID = "  estimator: {assemblies: one} # always switched on in that of `initial`; the motors fit others too\n"


def test_check_warns_where_the_sensors_fit_other_assemblies(write: Callable[..., Path]) -> None:
    text = shipped_path("five_bar").read_text(encoding="utf-8")
    assert check(write(text)) == ()
    assert SAID in text
    (found,) = check(write(text.replace(SAID, "")))
    assert (found.severity, found.found) == ("warning", "at least 1 others")
    assert "confirm_branch" in found.remedy
    assert check(write(text.replace(SAID, SAID.replace("one", "several")))) == ()


def test_sensors_that_tell_all_are_no_reason_to_warn() -> None:
    assert check("five_bar_redundant") == ()


def test_check_warns_of_goal_coordinates_that_depend_on_each_other_where_the_machine_starts(
    write: Callable[..., Path],
) -> None:
    text = shipped_path("platform_3rrs").read_text(encoding="utf-8")
    changed = text.replace("[motor_1, motor_2, motor_3]", "[height, roll, yaw]")
    assert changed != text
    (found,) = check(write(changed))
    assert (found.severity, found.key) == ("warning", "controller.goal_coordinates")
    assert found.found == "roll among them, determined by the others"  # it moves with the height


def test_check_refuses_a_machine_without_a_degree_of_freedom(write: Callable[..., Path]) -> None:
    text = shipped_path("four_bar").read_text(encoding="utf-8")
    held = "  held: {type: coordinate, of: a1, equals_rad: 0}\n"
    changed = text.replace("closed_form: four_bar", "#").replace("task:\n", f"{held}task:\n")
    found = check(write("".join(line for line in changed.splitlines(True) if "goal_coordinates" not in line)))
    assert any("no degree of freedom" in each.message and each.severity == "error" for each in found)
