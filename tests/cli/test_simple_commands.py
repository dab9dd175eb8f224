"""Commands of one request: what they load, and how their words are read."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.cli.app import _commands, build, plain_call, read_words
from tests.command import linkwork

HEAVY = (
    "pydantic", "numpy", "scipy", "matplotlib", "ruamel", "mcap", "ruckig", "asyncio",
    "linkwork.machine.description", "linkwork.machine.sections", "linkwork.multibody", "linkwork.plant",
    "linkwork.controller", "linkwork.protocol.requests", "linkwork.protocol.trajectory",
)  # fmt: skip
"""Modules that a request does not need."""
SIMPLE = (
    ["stop"],
    ["stop", "--at-tick", "1000"],
    ["estop", "--robot=scara"],
    ["enable", "--json"],
    ["disable", "--as", "me"],
    ["reset"],
    ["recover"],
    ["pause"],
    ["resume"],
    ["finish"],
    ["speed", "0.5"],
    ["speed", "1.5", "--limit"],
    ["switch", "grasp", "on"],
    ["set", "gripper=on", "valve=off"],
    ["wait", "lift < 0.1", "--timeout", "2"],
    ["edges", "part_present"],
    ["gain", "--bandwidth", "30"],
    ["advance", "10"],
    ["confirm-branch"],
    ["status"],
    ["state", "--all"],
    ["describe"],
)
CODE = """
import json, sys
from linkwork.__main__ import main
sys.argv = ["linkwork", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as ended:
    print(json.dumps([ended.code, sorted(sys.modules)]))
"""


@pytest.mark.parametrize("words", SIMPLE, ids=" ".join)
def test_a_request_is_read_as_typer_reads_it_and_loads_nothing_heavy(words: list[str]) -> None:
    call = plain_call(words)
    assert call is not None
    heard: list[dict[str, object]] = []
    app = build(words[0])
    (command,) = app.registered_commands
    signature = inspect.signature(command.callback)

    def hear(**given: object) -> None:
        heard.append(given)

    hear.__signature__ = signature  # type: ignore[attr-defined]
    command.callback = hear
    app(words, prog_name="linkwork", standalone_mode=False)
    typers = {name: list(each) if isinstance(each, tuple) else each for name, each in heard[0].items()}
    assert {
        name: list(each) if isinstance(each, tuple) else each for name, each in call.keywords.items()
    } == typers


@pytest.mark.parametrize(
    "words", [["stop"], ["set", "gripper=on"], ["stop", "--robot", "scara"]], ids=" ".join
)
def test_nothing_heavy_is_loaded_without_a_daemon(words: list[str], tmp_path) -> None:
    found = _modules_of(words, {"LINKWORK_RUNTIME_DIR": str(tmp_path)})
    assert found[0] == 4
    assert _heavy(found[1]) == []


def _modules_of(words: list[str], env: dict[str, str]) -> tuple[int, list[str]]:
    ran = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(words)], capture_output=True, text=True, env=env, timeout=120
    )
    status, modules = json.loads(ran.stdout.splitlines()[-1])
    return status, modules


def _heavy(modules: list[str]) -> list[str]:
    return [name for name in modules if any(name == each or name.startswith(f"{each}.") for each in HEAVY)]


@given(
    words=st.lists(
        st.sampled_from(
            ["--json", "--at-tick", "3", "-1", "x", "--help", "--nosuch", "--as", "=", "--at-tick=2"]
        ),
        max_size=5,
    )
)
def test_words_that_are_not_understood_are_left_to_typer(words: list[str]) -> None:
    stop = next(load() for _, name, load in _commands() if name == "stop")
    found = read_words(stop, words)
    if found is not None:
        assert "--help" not in words or words[words.index("--help") - 1] == "--as"
        assert "--nosuch" not in words or words[words.index("--nosuch") - 1] == "--as"
        assert found["at_tick"] in (None, 2, 3)


def test_mistakes_are_explained_as_before() -> None:
    for words, said in (
        (["stop", "--at-tick", "-3"], "--at-tick"),
        (["speed", "3"], r"less than or equal to 2|x<=2\.0"),  # of pydantic or click, by typer's version
        (["speed"], "Missing argument"),
        (["switch", "grasp", "half"], "half"),
        (["stop", "now"], "unexpected"),
        (["stop", "--nosuch"], "nosuch"),
    ):
        ran = linkwork(*words)
        assert ran.returncode == 2
        assert re.search(said, ran.stderr)
