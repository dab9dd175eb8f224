"""Commands of one request: what they load, and how their words are read."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from linkwork.cli.app import COMMANDS
from linkwork.command_line import imported
from tests.command import linkwork

HEAVY = (
    "pydantic", "numpy", "scipy", "matplotlib", "ruamel", "mcap", "ruckig", "asyncio",
    "linkwork.machine.description", "linkwork.machine.sections", "linkwork.multibody", "linkwork.plant",
    "linkwork.controller", "linkwork.protocol.requests", "linkwork.protocol.trajectory",
)  # fmt: skip
"""Modules that a request does not need."""
CODE = """
import json, sys
from linkwork.__main__ import main
sys.argv = ["linkwork", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as ended:
    print(json.dumps([ended.code, sorted(sys.modules)]))
"""


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["stop"], 4),
        (["set", "gripper=on"], 4),
        (["stop", "--robot", "scara"], 4),
        (["stop", "--help"], 0),
        (["--version"], 0),
    ],
)
def test_nothing_heavy_is_loaded_without_a_daemon(words: list[str], status: int, tmp_path) -> None:
    found = _modules_of(words, {"LINKWORK_RUNTIME_DIR": str(tmp_path)})
    assert found[0] == status
    assert _heavy(found[1]) == []


def _modules_of(words: list[str], env: dict[str, str]) -> tuple[int, list[str]]:
    ran = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(words)], capture_output=True, text=True, env=env, timeout=120
    )
    status, modules = json.loads(ran.stdout.splitlines()[-1])
    return status, modules


def _heavy(modules: list[str]) -> list[str]:
    return [name for name in modules if any(name == each or name.startswith(f"{each}.") for each in HEAVY)]


def test_mistakes_are_explained_as_before() -> None:
    for words, said in (
        (["stop", "--at-tick", "-3"], "--at-tick"),
        (["speed", "3"], "less than or equal to 2"),
        (["speed"], "Missing argument"),
        (["switch", "grasp", "half"], "half"),
        (["stop", "now"], "unexpected"),
        (["stop", "--nosuch"], "nosuch"),
    ):
        ran = linkwork(*words)
        assert ran.returncode == 2
        assert said in ran.stderr


def test_every_command_is_where_its_table_says() -> None:
    """Commands are imported when they are called, so that a function that is missing shows here only."""
    for options, function in COMMANDS.values():
        if function != "cli.ros_command:ros" or find_spec("rclpy"):  # of a ROS 2 workspace
            assert callable(imported(function)), function
        assert isinstance(imported(options), type), options
