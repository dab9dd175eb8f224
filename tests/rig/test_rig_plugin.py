"""The pytest plug-in on a machine: the page's example as printed, records, skips; what it costs others."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from linkwork.rig.collected import Number, TestFindings
from linkwork.rig.collecting import Collected, read_collected
from linkwork.rig.running import SUITES
from linkwork.rig.series import MeasuredValue

PAGE = Path(__file__).parents[2] / "docs" / "rig_tests.md"
HEAVY = ("numpy", "scipy", "zmq", "pydantic", "msgpack", "mcap", "click", "machine", "controller")
MORE = '''
import numpy as np
import pytest

def test_what_happened_instead_is_told(rig):
    """An assertion that fails says what happened instead."""
    entry = {"wire": "duplicate", "after_s": 0.1}
    record = rig.run(rig.motions.fast, inject=entry)
    with pytest.raises(AssertionError, match="LINK_LOST was expected within 3 ticks; no fault was latched"):
        record.fault("LINK_LOST").within(ticks=3)
    with pytest.raises(AssertionError, match=r"effort.shoulder. was .* N m at .* s; 0.001 N m is allowed"):
        record.effort("shoulder").never_exceeds(1e-3)
    with pytest.raises(KeyError, match="did you mean 'shoulder'"):
        record.effort("sholder")
    with pytest.raises(KeyError, match="did you mean 'LINK_LOST'"):
        record.fault("LINK_LOSTT")
    with pytest.raises(AssertionError, match="nothing stopped"):
        record.stopped_within(1.0)
    record.tolerates("a number is taken once", record.worst_error.max, 1.0)
    assert rig.injected[-1]["kind"] == "wire.duplicate"

def test_is_ready_again(rig):
    """Each test gets the machine at home, enabled, with nothing injected."""
    assert rig.state["state"] == "active"
    assert rig.injected == []
    assert all(abs(rig.positions[name] - at) < 1e-4 for name, at in rig.home.items())
    record = rig.run(rig.motions.fast, during={0.1: "pause", 0.8: "resume"})
    record.succeeded()
    assert np.ptp(record.device_tick - record.table["tick"]) == 0
    for coordinate in ("x", "y", "z", "angle"):
        q = record.tracking_error(coordinate).max
        assert q < 1e-6
    assert record.true_error("shoulder").max < 1e-6
    with rig.recording("still"):
        rig.pass_time(0.05)
    assert len(rig.record) == 50
    assert rig.record.energy_gain.max < 1e-6

@pytest.mark.rig(closures=True)
def test_of_closed_machines(rig):
    """Never run here."""

@pytest.mark.rig(pace="device")
def test_of_real_time(rig):
    """Never run here."""

@pytest.mark.rig("delta")
def test_of_another(rig):
    """Never run here."""
'''


INSTALLED = any(found.value == "linkwork.rig.plugin" for found in entry_points(group="pytest11"))
FOUND = () if INSTALLED else ("-p", "linkwork.rig.plugin")
"""How pytest finds the plug-in: by its entry point where linkwork is installed, else by its name."""
NAMED = ("-p", "linkwork.rig.plugin")


def rig_pytest(
    folder: Path, *words: str, plugins: tuple[str, ...] = NAMED
) -> subprocess.CompletedProcess[str]:
    """Pytest as a user runs it, in a folder of theirs."""
    fixed = [*plugins, "-p", "no:randomly", "-W", "error"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *fixed, "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PAGE.parents[1]), *sys.path[1:]])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Collected:
    """The page's example, and the tests above, on the SCARA in lockstep."""
    folder = tmp_path_factory.mktemp("rig")
    example = re.search(r"```python\n(# test_scara\.py\n.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    (folder / "pytest.ini").touch()
    (folder / "test_scara.py").write_text(example[1])
    (folder / "test_more.py").write_text(MORE)
    ran = rig_pytest(folder, "--rig", "scara", "--seed", "3", "--rig-out", "out")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return read_collected(folder / "out" / "collected.jsonl")


def test_the_installed_plugin_finds_its_way_by_itself(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(): pass")
    ran = rig_pytest(tmp_path, "--rig-seed", "3", plugins=FOUND)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def found(collected: Collected, name: str) -> TestFindings:
    return next(test for test in collected.tests if test.name == name)


def test_the_pages_example_runs_as_printed(collected: Collected) -> None:
    verdicts = [test.verdict for test in collected.tests if "test_scara" in test.node]
    assert verdicts == ["passed"] * 3
    follows = found(collected, "test_follows_the_path")
    assert follows.requirement.startswith("The tool follows its path to a tenth of a millimetre")
    numbers = {number.name: number for number in follows.numbers}
    assert numbers["tracking_error(tool.x).max"].limit == 1e-4
    assert numbers["tracking_error(tool.x).max"].unit == "m"
    assert numbers["effort(shoulder).max"].holds
    assert follows.spans[0].tracked == {"tool.x": 1e-4, "tool.y": None}


def test_a_fault_is_told_with_delay_reaction_and_stop(collected: Collected) -> None:
    (seen,) = found(collected, "test_a_dead_link_brakes").faults
    assert (seen.found, seen.reaction, seen.holds) == ("LINK_LOST", "fault", True)
    assert seen.delay_ticks == 19
    assert seen.injected["wire"] == "drop"
    assert seen.stopping_s is not None
    assert 0.0 < seen.stopping_s < 0.2
    assert set(seen.stopping_distance) == {"shoulder", "elbow", "wrist", "lift"}


def test_failed_comparisons_are_told_too(collected: Collected) -> None:
    told = found(collected, "test_what_happened_instead_is_told")
    assert told.verdict == "passed"
    assert Number in map(type, told.numbers)
    assert not all(number.holds for number in told.numbers)
    assert not told.faults[0].holds
    assert told.tolerated[0].because == "a number is taken once"


def test_what_a_rig_cannot_do_is_skipped_with_the_reason(collected: Collected) -> None:
    reasons = {test.name: test.reason for test in collected.tests if test.verdict == "skipped"}
    assert reasons == {
        "test_of_closed_machines": "scara has no closures: its joints form a tree",
        "test_of_real_time": "the rig runs at pace lockstep, the test needs device",
        "test_of_another": "the test is for delta",
    }


@pytest.mark.slow
def test_the_rig_is_told(collected: Collected) -> None:
    facts = collected.rigs["scara"]
    assert (facts["pace"], facts["seed"], facts["plant"]) == ("lockstep", 3, "own")


def test_machines_without_motors_start_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_any.py").write_text("def test_any(rig):\n    assert rig\n")
    ran = rig_pytest(tmp_path, "--rig", "double_pendulum", "--rig", "thin_disk", "-rs")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 skipped" in ran.stdout
    assert "double_pendulum has no motors" in ran.stdout
    without = rig_pytest(tmp_path, "-rs")
    assert "name one with --rig CONFIG" in without.stdout


def test_other_plug_ins_keep_their_names(tmp_path: Path) -> None:
    own = "def pytest_addoption(parser):\n    parser.addoption('--seed', type=str)\n"
    (tmp_path / "conftest.py").write_text(own)
    (tmp_path / "controller.py").write_text("raise SystemExit('imported')\n")
    test = "def test_own(pytestconfig):\n    assert pytestconfig.getoption('--seed') == 'x'\n"
    (tmp_path / "test_own.py").write_text(test)
    words = [*FOUND, "-p", "no:cacheprovider", "-q", "--seed", "x"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PAGE.parents[1]), *sys.path[1:]])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_without_a_rig_nothing_heavy_is_imported() -> None:
    asked = f"import sys, linkwork.rig.plugin; print(*set(sys.modules) & set({HEAVY!r}))"
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True,
                         cwd=PAGE.parents[1])  # fmt: skip
    assert ran.stdout.split() == []


def test_every_test_that_ships_states_its_requirement() -> None:
    requirements = []
    for path in sorted(SUITES.rglob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                requirements.append(ast.get_docstring(node))
    assert len(requirements) >= 30
    assert all(text and text.endswith(".") and "\n" not in text for text in requirements)
    assert len(set(requirements)) == len(requirements)


def test_comparing_notes_number_and_limit() -> None:
    findings = TestFindings("node", "name", "requirement")
    tracked: dict[str, float | None] = {"x": None}
    error = MeasuredValue(0.002, "tracking_error(x).max", "m", findings, (tracked, "x"))
    assert not error < 0.001
    assert error > 0.0
    assert findings.numbers == [
        Number("tracking_error(x).max", 0.002, "m", "<", 0.001, holds=False),
        Number("tracking_error(x).max", 0.002, "m", ">", 0.0, holds=True),
    ]
    assert tracked == {"x": 0.001}
    assert not MeasuredValue(float("nan"), "nothing", "") <= 1.0
    assert repr(error) == "tracking_error(x).max = 0.002 m"
