"""What commands show of a machine with many passive joints."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.large_machines import branched, ladder
from linkwork.cli.live_table import view
from linkwork.cli.status_commands import positions
from linkwork.machine import load
from linkwork.machine.checks.assembly_modes import fitting_poses
from tests.command import linkwork
from tests.controller.loop.in_process import enabled


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ladder of nine cells: one motor, eighteen passive joints."""
    path = tmp_path_factory.mktemp("large") / "ladder.yaml"
    path.write_text(json.dumps(ladder(9)), encoding="utf-8")
    return path


def test_check_and_model_count_the_passive_joints(file: Path) -> None:
    checked = linkwork("check", str(file))
    assert "19 joints: bar_0; 18 passive joints (--all shows them)" in checked.stdout
    shown = linkwork("model", str(file))
    assert "18 passive joints (--all shows them)" in shown.stdout
    assert "9 pin constraints, 18 rows (--all shows them)" in shown.stdout
    assert "rung_3" not in shown.stdout + shown.stderr


def test_all_shows_every_joint_and_closure(file: Path) -> None:
    assert "bar_0, bar_1, bar_2" in linkwork("check", str(file), "--all").stdout
    shown = linkwork("model", str(file), "--all")
    assert "rung_3: revolute, bar_3 → rung_3" in shown.stdout
    assert "close_5: pin constraint, 2 rows" in shown.stdout
    assert "rung_3  -0.52" in shown.stdout


def test_check_shows_the_first_problems_of_a_kind(tmp_path: Path) -> None:
    content = ladder(9)
    for name in content["bodies"]:
        content["bodies"][name]["inertia_kg_m2"] = [1, 1, 3, 0, 0, 0]
    path = tmp_path / "wrong.yaml"
    path.write_text(json.dumps(content), encoding="utf-8")
    short, full = linkwork("check", str(path)), linkwork("check", str(path), "--all")
    assert short.stderr.count("no rigid body has these moments") == 5
    assert "and 14 more of this kind (--all shows them)" in short.stderr
    assert full.stderr.count("no rigid body has these moments") == 19
    assert json.loads(linkwork("check", str(path), "--json").stdout)["problems"][18]


def test_telemetry_counts_passive_joints_and_small_loads(file: Path) -> None:
    rig = enabled(load(file))
    rig.tick()
    sample = rig.controller.record.layout.as_map(rig.record) | {"timestamp": 0.0}
    short, full = (page(view(sample, show_all=show_all)) for show_all in (False, True))
    assert "bar_0" in short
    assert "rung_3" not in short
    assert "18 passive joints (--all shows them)" in short
    assert "10 rows with smaller loads (--all shows them)" in short
    assert "rung_3" in full
    assert "passive joints" not in full
    state = {"q": sample["q"], "v": sample["v"], "effort": sample["effort"], "coordinates": {}}
    assert "rung_3" not in page(positions(state, {"rung_3"}))


def test_assembly_modes_of_one_leg_are_found_among_many_joints(tmp_path: Path) -> None:
    path = tmp_path / "branched.yaml"
    path.write_text(json.dumps(branched(3)), encoding="utf-8")
    machine = load(path)
    first = dict(zip(machine.mechanism.joint_names, machine.initial_q, strict=True))
    others = fitting_poses(machine).modes
    moved = {
        name.split("_")[1]
        for pose in others
        for name, value in zip(first, pose[: len(first)], strict=True)
        if abs(value - first[name]) > 0.01
    }
    assert len(others) >= 3
    assert moved == {"0", "1", "2"}


def page(what: object) -> str:
    """What is printed, as text."""
    out = io.StringIO()
    Console(width=200, file=out).print(what)
    return out.getvalue()
