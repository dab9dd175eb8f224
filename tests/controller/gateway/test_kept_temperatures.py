"""Files of kept temperatures: read, cooled down, written whole; damaged ones are said to be damaged."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.records import Record, layout_for
from linkwork.controller.gateway.records.kept_temperatures import WRITE_EVERY_NS, KeptTemperatures
from tests.heat_machine import heat_machine

DAMAGED = [
    "{", "[]", "", "3", '{"unix_ns": 1, "motors": {}}', '{"unix_ns": 0, "motors": {"hinge": 3}}',
    '{"unix_ns": 0, "motors": {"hinge": {"winding_degC": NaN, "body_degC": 3}}}',
    '{"unix_ns": null, "motors": {"hinge": {"winding_degC": 30, "body_degC": 30}}}',
    '{"unix_ns": 0, "motors": {"hinge": {"winding_degC": "hot", "body_degC": 30}}}', "\udcff",
]  # fmt: skip


class Standing:
    """A clock that a test sets."""

    simulated = True

    def __init__(self) -> None:
        self.at_ns = 10**18

    def now_ns(self) -> int:
        return self.at_ns

    def unix_ns(self) -> int:
        return self.at_ns

    def sleep_until_ns(self, deadline_ns: int) -> None:
        self.at_ns = deadline_ns


def record_of(machine, winding: float, body: float) -> np.void:
    record = Record(layout_for(machine))
    record.view("winding_temperature")[:], record.view("body_temperature")[:] = winding, body
    return record.record()


def test_an_estimate_is_written_now_and_then_and_read_cooled_down(tmp_path: Path) -> None:
    machine, clock, path = heat_machine(tmp_path), Standing(), tmp_path / "new" / "kept.json"
    kept = KeptTemperatures(machine, path, clock)
    assert kept.begin() == (
        [],
        "no earlier estimate of the motors' temperatures: ambient temperature is assumed",
    )
    kept.note(record_of(machine, 85.0, 85.0))
    first = path.read_text()
    clock.at_ns += WRITE_EVERY_NS // 2
    kept.note(record_of(machine, 95.0, 95.0))
    assert path.read_text() == first
    clock.at_ns += WRITE_EVERY_NS
    kept.note(record_of(machine, 85.1, 85.1))
    assert path.read_text() == first  # not worth it
    kept.note(record_of(machine, 90.0, 90.0))
    assert json.loads(path.read_text())["motors"] == {"hinge": {"winding_degC": 90.0, "body_degC": 90.0}}
    assert [each.name for each in path.parent.iterdir()] == ["kept.json"]
    clock.at_ns += 60 * 10**9
    (order,), text = KeptTemperatures(machine, path, clock).begin()
    cooled = 25.0 + 65.0 * math.exp(-1.0)
    assert dict(order.pairs) == pytest.approx({0: cooled, 1: cooled})
    assert text == f"the motors' temperatures continue from an estimate 60 s ago: hinge {cooled:.1f} °C"


def test_a_loop_that_has_not_taken_the_estimate_over_does_not_replace_it(tmp_path: Path) -> None:
    machine, clock, path = heat_machine(tmp_path), Standing(), tmp_path / "kept.json"
    before = KeptTemperatures(machine, path, clock)
    before.keep(record_of(machine, 80.0, 80.0))
    kept = KeptTemperatures(machine, path, clock)
    assert len(kept.begin()[0]) == 1
    cold = record_of(machine, 25.0, 25.0)
    kept.note(cold)
    kept.keep(cold)
    assert json.loads(path.read_text())["motors"]["hinge"]["winding_degC"] == 80.0
    assert len(kept.begin()[0]) == 1
    kept.continued()
    kept.keep(record_of(machine, 79.0, 79.0))
    assert json.loads(path.read_text())["motors"]["hinge"]["winding_degC"] == 79.0


def test_a_clock_that_was_set_back_cools_nothing(tmp_path: Path) -> None:
    machine, clock, path = heat_machine(tmp_path), Standing(), tmp_path / "kept.json"
    KeptTemperatures(machine, path, clock).keep(record_of(machine, 80.0, 80.0))
    clock.at_ns -= 10**15
    (order,), _ = KeptTemperatures(machine, path, clock).begin()
    assert order.pairs == ((0, 80.0), (1, 80.0))


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_no_estimate(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    orders, said = KeptTemperatures(heat_machine(tmp_path), path, Standing()).begin()
    assert orders == []
    assert said.startswith(f"{path} is no estimate of this machine's temperatures")
    assert said.endswith(": ambient temperature is assumed")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    machine, clock = heat_machine(tmp_path), Standing()
    (tmp_path / "file").write_text("")
    kept = KeptTemperatures(machine, tmp_path / "file" / "kept.json", clock)
    kept.keep(record_of(machine, 80.0, 80.0))
    assert kept.problem.startswith("the motors' temperatures cannot be kept in ")
