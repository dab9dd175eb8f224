"""Sentences that commands print."""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from linkwork.cli.app import build
from linkwork.cli.motion_commands import result_lines
from linkwork.cli.status_commands import positions
from linkwork.demos import DEMOS
from linkwork.display_units import in_display_units, shown
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.terminal.failures import explain, run
from tests.command import linkwork


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (5.4e-28, "rad", "0.000 °"),
        (-1e-9, "m", "0.000 mm"),
        (0.5235987755982988, "rad", "30.000 °"),
        (0.4, "m", "400.000 mm"),
        (4.90493, "N", "4.905 N"),
        (None, "N", "–"),
    ],
)
def test_measured_values_are_rounded_to_what_they_mean(value: float | None, unit: str, text: str) -> None:
    assert shown(value, unit) == text


@given(st.floats(-1e-7, 1e-7))
def test_nothing_has_no_sign(value: float) -> None:
    assert shown(value, "m") == "0.000 mm"


def test_state_shows_degrees_and_millimetres() -> None:
    found = {
        "q": {"elbow": 0.5, "lift": 0.1},
        "v": {"elbow": 1e-20},
        "effort": {"lift": 3.0},
        "coordinates": {},
    }
    out = io.StringIO()
    Console(width=100, file=out).print(positions(found, units={"elbow": "rad", "lift": "m"}))
    assert "28.648 °" in out.getvalue()
    assert "0.000 °/s" in out.getvalue()
    assert "100.000 mm" in out.getvalue()
    assert "3.000 N" in out.getvalue()


def test_state_shows_a_quaternion_as_it_is() -> None:
    found = {"q": {"ball.rx": 0.5}, "v": {"ball.rx": 1.0}, "effort": {}, "coordinates": {}}
    out = io.StringIO()
    Console(width=100, file=out).print(positions(found, units={"elbow": "rad"}))
    assert out.getvalue().splitlines()[-1].split() == ["ball.rx", "0.500", "57.296", "°/s"]


def test_a_result_names_the_largest_error_of_each_unit() -> None:
    errors = [("shoulder", 5.4e-28, "rad"), ("elbow", 2e-4, "rad"), ("lift", 1e-6, "m")]
    told = [{"coordinate": name, "value": value, "unit": unit} for name, value, unit in errors]
    assert list(result_lines({"largest_errors": told})) == [
        "  largest error 0.011 ° (elbow), 0.001 mm (lift)"
    ]  # type: ignore[typeddict-item]
    assert list(result_lines({})) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("elbow would need velocity 14.3 rad/s, 6 rad/s is allowed", "819.33 °/s, 343.775 °/s is allowed"),
        ("too fast: lift (0.6302, allowed 0.625 m/s)", "lift (630.2, allowed 625 mm/s)"),
        (
            "cannot reach left = 2.82428 rad, x = -0.02 m at 0.187 s",
            "left = 161.819 °, x = -20 mm at 0.187 s",
        ),
        ("from 0.1 to 0.2 m/s of the frame", "from 100 to 200 mm/s of the frame"),
        ("jerk 5e+03 rad/s³, 1e-3 m", "jerk 286479 °/s³, 1 mm"),
        ("4.9 N m, 3 ms, 2 kg m², 5 rad/Nm, shoulder2 m", "4.9 N m, 3 ms, 2 kg m², 5 rad/Nm, shoulder2 m"),
    ],
)
def test_sentences_are_in_degrees_and_millimetres(text: str, told: str) -> None:
    assert in_display_units(text).endswith(told)


@pytest.mark.parametrize(
    ("path", "told"), [(("target", "x"), "500 mm"), (("trajectory", "points", 1), "0.5 m")]
)
def test_refusals_of_a_file_keep_its_numbers(
    path: tuple[str | int, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> None:
        raise RequestError(ResultCode.INVALID_GOAL, "x: 0.5 m is too far", path)

    assert run(refuse, as_json=False) == 3
    assert capsys.readouterr().err == f"INVALID_GOAL: x: {told} is too far\n"


def test_a_refusal_does_not_repeat_its_name() -> None:
    refused = RequestError(RequestCode.NOT_CLEARED, "not cleared: the controller has no plant")
    assert explain(refused)[1]["message"] == "NOT_CLEARED: the controller has no plant"


def test_an_unknown_demo_is_answered_with_the_list() -> None:
    ran = linkwork("demo", "nosuch")
    assert ran.returncode == 2
    assert all(name in ran.stderr for name in DEMOS)


def test_arguments_have_placeholders_in_capitals_and_no_brackets() -> None:
    for words, command in _commands(build()):
        for argument in command.params:
            if argument.param_type_name == "argument":
                assert argument.metavar, (words, argument.name)
                assert not argument.metavar.startswith("["), (words, argument.name)


def test_placeholders_have_one_spelling_and_connections_a_panel() -> None:
    ran = linkwork("preload", "--help")
    assert "NAME=VALUE..." in ran.stdout
    assert "Connection" in ran.stdout
    assert len(build().list_commands(click.Context(build()))) > 20


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name in _names(command):
        yield from _commands(command.load(name), (*words, name))


def _names(command: Any) -> list[str]:
    return command.list_commands(None) if hasattr(command, "list_commands") else []


def test_each_help_ends_with_examples_that_are_valid() -> None:
    whole: Any = build()
    for words, command in _commands(whole):
        if not words:
            continue
        title, *examples = (command.epilog or "").split("\n\n")
        assert (title, bool(examples)) == ("Examples:", True), words
        for example in examples:
            program, *given = shlex.split(example.partition(" > ")[0])
            assert (program, tuple(given[: len(words)])) == ("linkwork", words)
            place: Any = whole
            while given and given[0] in _names(place):
                place = place.load(given.pop(0))
            place.make_context(example, given, resilient_parsing=False)


def test_examples_are_shown_in_the_help() -> None:
    ran = linkwork("move", "--help")
    assert "linkwork move shoulder_deg=30 elbow_deg=-60" in ran.stdout
