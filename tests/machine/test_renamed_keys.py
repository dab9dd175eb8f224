"""Old keys of the machine file are read under their new names, with a warning at their place."""

from pathlib import Path

import pytest

from linkwork.machine import MachineError, check, load, shipped_path


def written(folder: Path, more: str) -> Path:
    path = folder / "five_bar.yaml"
    path.write_text(shipped_path("five_bar").read_text() + more)
    return path


def test_the_old_name_of_the_twin_section_is_accepted_with_a_warning(tmp_path: Path) -> None:
    old = load(written(tmp_path, "shadow: {on_exceeded: stop, effort_share: 0.2}\n"))
    (warning,) = [one for one in old.warnings if one.key == "shadow"]
    assert (warning.severity, warning.remedy) == ("warning", "write twin")
    assert warning in check(tmp_path / "five_bar.yaml")
    new = load(written(tmp_path, "twin: {on_exceeded: stop, effort_share: 0.2}\n"))
    assert old.twin == new.twin
    assert [one for one in new.warnings if one.key == "shadow"] == []


def test_a_mistake_below_an_old_key_is_placed(tmp_path: Path) -> None:
    path = written(tmp_path, "shadow: {effort_share: high}\n")
    with pytest.raises(MachineError) as refused:
        load(path)
    (problem,) = refused.value.problems
    assert (problem.line, problem.key) == (len(path.read_text().splitlines()), "twin.effort_share")


def test_both_names_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="unknown key"):
        load(written(tmp_path, "shadow: {on: true}\ntwin: {on: true}\n"))
