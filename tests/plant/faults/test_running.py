"""Faults while a plant runs: when they begin and end, what is told of them, what is refused."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from linkwork.machine import load
from linkwork.plant.drivers.driver import Setup
from linkwork.plant.drivers.hardware import Hardware
from linkwork.plant.faults.injection_requests import MOST_TURNS
from linkwork.protocol.codes import Pace
from linkwork.protocol.injection import (
    FaultReport,
    Inject,
    Injected,
    InjectRefusal,
    InjectRefused,
    read_answer,
    read_inject,
)
from tests.plant.faults.line import OTHER, Line
from tests.plant.test_hardware import CART
from tests.plant.toy_driver import Toy

MACHINE = load("scara")
BIAS = {"sensor": "bias", "of": "elbow", "by_rad": 10.0}


def biased(line: Line, ticks: int) -> list[int]:
    return [told.tick for told in line.run(ticks) if told.fresh and told.q[1] > 5.0]


def report(line: Line, name: str) -> FaultReport:
    answer = line.inject()
    assert isinstance(answer, Injected)
    return next(each for each in answer.faults if each.name == name)


@pytest.mark.parametrize(
    ("when", "ticks"),
    [
        ({}, range(30)),
        ({"at_tick": 5, "for_ticks": 3}, range(5, 8)),
        ({"at_s": 0.005, "for_s": 0.003}, range(5, 8)),
        ({"after_ticks": 4, "for_ticks": 1}, range(4, 5)),
        ({"after_s": 0.004, "for_s": 0.0001}, range(4, 5)),
        ({"when": "tick > 6", "for_ticks": 2}, range(8, 10)),
        ({"when": "tick > 6", "at_tick": 12, "for_ticks": 2}, range(13, 15)),
    ],
)  # fmt: skip
def test_when_a_fault_acts(when: dict[str, Any], ticks: range) -> None:
    line = Line(MACHINE, {"name": "off", **BIAS, **when})
    assert biased(line, 30) == list(ticks)
    found = report(line, "off")
    assert (found.from_tick, found.applied) == (ticks[0], True)
    assert found.to_tick == (ticks[-1] + 1 if "for_ticks" in when or "for_s" in when else None)
    said = [each["what"] for each in line.said if each["event"] == "fault"]
    assert said == (["begins", "ends"] if found.to_tick else ["begins"])


def test_a_condition_looks_at_what_is_measured_without_faults() -> None:
    line = Line(
        MACHINE, {"name": "late", "when": "elbow.position > 5", "wire": "drop"}, {"at_tick": 2, **BIAS}
    )
    line.run(10)
    assert report(line, "late").state == "waiting"
    assert report(line, "late").from_tick is None


def test_injected_faults_begin_with_the_next_tick_that_the_answer_names() -> None:
    line = Line(MACHINE)
    line.run(5)
    answer = line.inject({**BIAS, "for_ticks": 4})
    assert isinstance(answer, Injected)
    assert answer.names == ["bias1"]
    assert answer.tick == answer.faults[-1].from_tick == 6
    assert (answer.faults[-1].to_tick, answer.faults[-1].applied) == (10, False)
    assert biased(line, 10) == [6, 7, 8, 9]
    assert answer.kinds["mechanism.open"]
    assert report(line, "bias1").state == "ended"


def test_clearing_ends_what_acts_and_forgets_what_waits() -> None:
    line = Line(MACHINE, {"name": "now", **BIAS}, {"name": "later", **BIAS, "at_tick": 20})
    line.run(5)
    line.inject({"clear": "all"})
    assert biased(line, 30) == [5]
    states = {each.name: (each.state, each.from_tick, each.to_tick) for each in line.inject().faults}
    assert states == {"now": ("cleared", 0, 6), "later": ("cleared", None, None)}
    line.inject({"name": "now", **BIAS})
    assert len(biased(line, 3)) == 2, "a name that is free again may be used again"
    line.inject({"clear": "all"})
    assert isinstance(line.inject({"name": "now", **BIAS}), Injected), "though no tick has come meanwhile"
    assert isinstance(line.inject({"clear": "now"}, {"name": "now", **BIAS}), Injected)
    assert isinstance(line.inject({"name": "now", **BIAS}), InjectRefused)
    assert len(biased(line, 3)) == 3


def test_a_clear_of_a_time_line_leaves_what_stands_after_it() -> None:
    line = Line(
        MACHINE,
        {"name": "a", **BIAS},
        {"name": "b", "at_tick": 2, "sensor": "scale", "of": "lift", "factor": 2},
        {"at_tick": 4, "clear": "a"},
        {"at_tick": 6, "clear": "all"},
        {"name": "c", "at_tick": 8, "for_ticks": 2, **BIAS},
    )
    assert biased(line, 14) == [0, 1, 2, 3, 8, 9]
    assert [(each.name, each.to_tick) for each in line.inject().faults] == [("a", 4), ("b", 6), ("c", 10)]


def test_what_is_wrong_with_an_injected_fault_comes_back_and_nothing_is_taken() -> None:
    line = Line(MACHINE, {"name": "taken", **BIAS})
    line.run(1)
    answer = line.inject({**BIAS}, {"sensor": "bias", "of": "elbwo", "by_rad": 1}, {"name": "taken", **BIAS})
    assert isinstance(answer, InjectRefused)
    assert answer.code is InjectRefusal.INVALID
    assert [(each.key, each.remedy) for each in answer.problems] == [
        ("faults[1].of", "write elbow"), ("faults[2].name", "choose another"),
    ]  # fmt: skip
    assert len(line.inject().faults) == 1


def test_a_message_that_cannot_be_read_is_refused() -> None:
    line = Line(MACHINE)
    line.run(1)
    line.device.receive(OTHER, Inject(id=3).pack().replace(b"faults", b"seeds_"))
    assert isinstance(read_answer(line.queue.to_others.popleft()), Injected), "what is not known is ignored"
    bad = Inject(id=3, faults=[{"a": 1}]).pack().replace(b"\x91\x81\xa1a\x01", b"\x92\x01\x02")
    line.device.receive(OTHER, bad)
    answer = read_answer(line.queue.to_others.popleft())
    assert isinstance(answer, InjectRefused)
    assert answer.code is InjectRefusal.MALFORMED


def test_a_session_that_begins_later_counts_its_own_ticks() -> None:
    line = Line(MACHINE, {"name": "off", "at_tick": 12, "for_ticks": 2, **BIAS})
    line.run(10)
    line.link.lose("again")
    line.device.receive(b"controller", line.queue.to_plant.pop())
    line.queue.to_controller.clear()
    line.connect()
    line.run(14)
    found = report(line, "off")
    assert (found.from_tick, found.from_s) == (12, pytest.approx((11 + 12) * 1e-3))


def test_by_a_clock_the_machine_file_is_read_beside_the_ticks_and_others_wait_their_turn() -> None:
    line = Line(MACHINE, pace=Pace.DEVICE)
    line.run(3)
    heavy = {"name": "heavy", "mechanism": "payload", "of": "lift_link", "mass_kg": 1}
    for number, fault in enumerate((heavy, BIAS, {**heavy, "of": "nobody"})):
        line.device.receive(OTHER, Inject(id=number + 1, faults=[fault]).pack())
    deadline = time.monotonic() + 60.0
    while len(line.queue.to_others) < 3:
        assert time.monotonic() < deadline
        line.run(1)
    first, second, third = (read_answer(line.queue.to_others.popleft()) for _ in range(3))
    assert isinstance(first, Injected)
    assert isinstance(second, Injected)
    assert isinstance(third, InjectRefused)
    assert (first.id, second.id, third.id) == (1, 2, 3)
    assert first.names == ["heavy"]
    assert first.faults[0].from_tick == first.tick > 3
    line.run(1)
    assert report(line, "heavy").state == "acting"


WEAK = {"actuator": "saturate", "of": "wrist", "at_N_m": 5}
LONG = " and ".join(["sin(time_s)**2 > 2"] * 40)


@pytest.mark.parametrize("pace", [Pace.LOCKSTEP, Pace.DEVICE])
def test_what_waits_is_bounded_in_number_and_in_conditions(pace: Pace) -> None:
    line = Line(MACHINE, pace=pace)
    line.run(1)
    answer = line.inject(*[{**WEAK, "when": LONG}] * 3)
    assert isinstance(answer, InjectRefused)
    assert (answer.code, "3 faults would wait or act, with 600 op" in answer.text) == (
        InjectRefusal.BUSY,
        True,
    )
    for count, code in ((90, None), (20, InjectRefusal.BUSY), (10, None), (1, InjectRefusal.BUSY)):
        answer = line.inject(*[{**WEAK, "at_tick": 10**6}] * count)
        assert getattr(answer, "code", None) == code
    answer = line.inject({"clear": "all"}, *[{**WEAK, "when": LONG}] * 2)
    assert isinstance(answer, Injected)
    assert len(answer.names) == 3


def test_faults_that_are_due_at_one_tick_begin_some_at_a_time() -> None:
    line = Line(MACHINE, pace=Pace.DEVICE)
    line.run(1)
    line.inject(*[{**BIAS, "at_tick": 5}] * 50)
    line.run(20)
    begun = [each.from_tick for each in line.inject().faults]
    assert begun == sorted([*[5] * 20, *[6] * 20, *[7] * 10])


@pytest.mark.parametrize("change", [{"set": ["lift_link.mass_kg=15"] * 10_000}, {"note": "x" * 70_000}])
def test_a_message_that_is_too_long_is_refused_unread(change: dict[str, Any]) -> None:
    line = Line(MACHINE, pace=Pace.DEVICE)
    line.run(1)
    answer = line.inject({"mechanism": "change", **change})
    assert isinstance(answer, InjectRefused)
    assert (answer.code, "at most 65536 bytes" in answer.text) == (InjectRefusal.MALFORMED, True)


def test_messages_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    may_read = threading.Event()

    def read_when_allowed(message: dict[str, Any]) -> Inject:
        assert may_read.wait(60.0)
        return read_inject(message)

    monkeypatch.setattr("linkwork.plant.faults.injection_requests.read_inject", read_when_allowed)
    line = Line(MACHINE, pace=Pace.DEVICE)
    line.run(1)
    for number in range(40):
        line.device.receive(OTHER, Inject(id=number, faults=[BIAS]).pack())
    refused = [read_answer(message) for message in line.queue.to_others]
    line.queue.to_others.clear()
    assert [(each.id, getattr(each, "code", None)) for each in refused] == [
        (number, InjectRefusal.BUSY) for number in range(MOST_TURNS, 40)
    ]
    may_read.set()
    deadline = time.monotonic() + 60.0
    while len(line.queue.to_others) < MOST_TURNS:
        assert time.monotonic() < deadline
        line.run(1)
    assert [read_answer(message).id for message in line.queue.to_others] == list(range(MOST_TURNS))


def test_many_faults_are_remembered_up_to_a_bound(monkeypatch) -> None:
    monkeypatch.setattr("linkwork.plant.faults.injected_faults.REMEMBERED", 5)
    line = Line(MACHINE)
    for _ in range(9):
        line.inject({**BIAS, "for_ticks": 1})
        line.run(2)
    assert [each.name for each in line.inject().faults][-1] == "bias1"
    assert len(line.inject().faults) <= 6


def test_a_real_machine_takes_faults_of_sensors_motors_and_wire_alike(tmp_path) -> None:
    path = tmp_path / "cart.yaml"
    path.write_text(CART)
    machine = load(path)
    driver = Toy(Setup({}, 1, 1, machine.plant.period_s))
    hardware = Hardware(machine, driver, lambda event, text: None)
    hardware.start()
    line = Line(
        machine,
        {"at_tick": 4, "for_ticks": 2, "sensor": "bias", "of": "slide", "by_m": 1.0},
        {"at_tick": 6, "for_ticks": 3, "actuator": "reverse", "of": "slide"},
        {"at_tick": 10, "for_ticks": 2, "wire": "drop", "direction": "states"},
        {"at_tick": 14, "actuator": "friction", "of": "slide", "coulomb_N": 5},
        pace=Pace.DEVICE,
        machinery=hardware,
    )
    line.effort[:] = 20.0
    efforts, told = [], []
    for _ in range(20):
        told += line.run(1)
        efforts.append(driver.effort)
    assert [each.q[0] > 0.9 for each in told[:8]] == [False] * 4 + [True] * 2 + [False] * 2
    forward, back = efforts[4], efforts[6]
    assert forward == -back != 0.0
    assert [each.fresh for each in told[9:13]] == [True, False, False, True]
    assert 0.0 < efforts[-1] < forward, "the motor itself makes the friction"
    answer = line.inject({"mechanism": "change", "set": ["cart.mass_kg=1"]})
    assert isinstance(answer, InjectRefused)
    assert (answer.code, answer.problems[0].key) == (InjectRefusal.UNSUPPORTED, "faults[0]")
    assert "is hardware" in answer.text
