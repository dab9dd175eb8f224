"""docs/symbolic.md: what it shows is so. Its Python blocks run, its commands are understood."""

import re
import shlex
from pathlib import Path

import control
import numpy as np
import pytest
import sympy as sp

from linkwork.__main__ import main
from linkwork.machine import load

PAGE = (Path(__file__).parents[2] / "docs" / "symbolic.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^    (?:\$ )?linkwork (.*)$", PAGE, re.MULTILINE)


def test_python_blocks_run_and_give_what_their_comments_say():
    """All but the one for python-control, in the order of the page."""
    names: dict[str, object] = {}
    for block in BLOCKS:
        if "import control" not in block:
            exec(compile(block, "docs/symbolic.md", "exec"), names)
    t1, t2, t3 = names["q"]
    w1, w2, w3 = names["w"]
    said = names["joint_kinematics"]([names["x"], names["y"], names["z"]], (t1, t2, t3)).gamma
    assert said[0, 1] == sp.sin(t1) * sp.tan(t2)
    assert not names["joint_kinematics"]([names["y"], names["z"]], (t1, t2)).holds
    forces = (names["equations"].C * sp.Matrix(names["w"])).applyfunc(sp.simplify)
    assert forces == sp.Matrix([5 * w2 * w3, -5 * w1 * w3, 0])
    assert names["M"].shape == (2, 2)
    assert names["M"][0, 0] == pytest.approx(2 * np.cos(-1.0) + 3)
    (entry,) = names["model"].tape.expanded([names["model"].M[0][0]])
    assert str(entry) == "2*cos(knee) + 3"


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["linkwork", *shlex.split(command)])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr()
    assert ended.value.code == (2 if "too long" in told.err else 0), told.err
    assert ("--show coriolis" in command and "platform" in command) == ("too long" in told.err)
    if "too long" in told.err:
        assert " ".join(told.err.split()) in " ".join(PAGE.split())


def test_the_block_for_python_control_reads_what_the_command_wrote(tmp_path, monkeypatch):
    from linkwork.convert.linearization import linear_model, write

    machine = load("platform_3rrs")
    write(machine, linear_model(machine, "initial"), tmp_path / "platform.npz")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    (block,) = (each for each in BLOCKS if "import control" in each)
    exec(compile(block, "docs/symbolic.md", "exec"), names)
    assert isinstance(names["system"], control.StateSpace)
    assert names["system"].input_labels == ["motor_1", "motor_2", "motor_3"]
