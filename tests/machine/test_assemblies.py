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
