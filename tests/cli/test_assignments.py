"""NAME=VALUE as people write it."""

from math import pi
from typing import Any, cast

import pytest

from linkwork.cli.assignments import read_assignments, read_bounds, read_guard, read_rows
from linkwork.protocol.results import DescribeResult
from linkwork.terminal.failures import Misuse

DESCRIBED = cast(
    DescribeResult,
    {
        "machine": "arm",
        "coordinates": [{"name": "shoulder", "unit": "rad"}, {"name": "lift", "unit": "m"}],
        "aliases": {"arm/shoulder": "shoulder"},
    },
)


def test_with_and_without_units() -> None:
    found = read_assignments(["shoulder_deg=90", "lift=0.25"], DESCRIBED)
    assert found == {"shoulder": pytest.approx(pi / 2), "lift": 0.25}
    assert read_assignments(["arm/shoulder_deg=90"], DESCRIBED) == {"shoulder": pytest.approx(pi / 2)}


def test_speeds() -> None:
    found = read_assignments(["shoulder_deg_s=-180", "lift_m_s=1e-2"], DESCRIBED, speeds=True)
    assert found == {"shoulder": pytest.approx(-pi), "lift": 0.01}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("shoulder", "not an assignment"),
        ("elbow=1", "shoulder, lift"),
        ("lift_deg=1", "lift_m"),
        ("shoulder=abc", "finite number"),
        ("shoulder=inf", "finite number"),
        ("shoulder=", "finite number"),
        ("shoulder=1_0", "finite number"),
    ],
)
def test_mistakes_say_what_there_is(text: str, says: str) -> None:
    with pytest.raises(Misuse, match=says):
        read_assignments([text], DESCRIBED)


def test_one_coordinate_twice() -> None:
    with pytest.raises(Misuse, match="twice"):
        read_assignments(["shoulder=1", "shoulder_deg=1"], DESCRIBED)


def test_positions_are_no_speeds() -> None:
    given: Any = ["shoulder_deg=1"]
    with pytest.raises(Misuse):
        read_assignments(given, DESCRIBED, speeds=True)


TOUCHING = cast(
    DescribeResult,
    {
        "machine": "polisher",
        "forces": [
            {"name": "table", "kind": "contact", "unit": "N"},
            {"name": "guide", "kind": "constraint", "unit": "N"},
        ],
    },
)


def test_a_guard_names_its_contact_where_there_are_several() -> None:
    assert read_guard(None, TOUCHING) == {}
    assert read_guard("5", TOUCHING) == read_guard("table=5", TOUCHING) == {"table": 5.0}


@pytest.mark.parametrize("text", ["guide=5", "tabel=5", "table=", "five"])
def test_a_guard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Misuse):
        read_guard(text, TOUCHING)


def test_rows_are_coordinates_too() -> None:
    rows = read_rows(["sum: arm/shoulder=1, lift = -2e-1,unit=m", "twice:shoulder=2"], DESCRIBED)
    assert rows == {"sum": {"shoulder": 1.0, "lift": -0.2, "unit": "m"}, "twice": {"shoulder": 2.0}}
    assert read_assignments(["sum=1", "twice=3"], DESCRIBED, rows) == {"sum": 1.0, "twice": 3.0}


@pytest.mark.parametrize("text", ["sum: shoulder", ": shoulder=1", "sum: shoulder=much"])
def test_rows_that_are_none(text: str) -> None:
    with pytest.raises(Misuse):
        read_rows([text], DESCRIBED)


def test_bounds_are_pairs_or_one_sided():
    found = read_bounds(["arm/shoulder_deg=-90:90", "lift_m = 0.02:"], DESCRIBED)
    assert found["shoulder"] == pytest.approx([-pi / 2, pi / 2])
    assert found["lift"] == "> 0.02"
    assert read_bounds(["lift=:0.3"], DESCRIBED) == {"lift": "< 0.3"}
    for text in ("lift=1", "lift=:", "lift_mm=1:2", "lft=1:2", "lift=a:2"):
        with pytest.raises(Misuse):
            read_bounds([text], DESCRIBED)
    with pytest.raises(Misuse, match="twice"):
        read_bounds(["lift=0:1", "lift=0:2"], DESCRIBED)
