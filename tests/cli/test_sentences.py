"""Sentences that commands print."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from linkwork.cli.app import build
from linkwork.cli.status_commands import positions
from linkwork.demos import DEMOS
from linkwork.display_units import shown
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


def test_an_unknown_demo_is_answered_with_the_list() -> None:
    ran = linkwork("demo", "nosuch")
    assert ran.returncode == 2
    assert all(name in ran.stderr for name in DEMOS)


def test_placeholders_have_one_spelling_and_connections_a_panel() -> None:
    ran = linkwork("preload", "--help")
    assert "NAME=VALUE..." in ran.stdout
    assert "Connection" in ran.stdout
    assert len(build().registered_commands) > 20
