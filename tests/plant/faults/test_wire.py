"""Faults of the link: which tick has a state, which command is in force, in lockstep and in real time."""

from __future__ import annotations

import pytest

from machine import load
from protocol.codes import Pace
from tests.plant.faults.line import Line

MACHINE = load("scara")
PACES = [Pace.LOCKSTEP, Pace.DEVICE]


def fresh(line: Line, ticks: int) -> list[bool]:
    return [told.fresh for told in line.run(ticks)]


@pytest.mark.parametrize("pace", PACES)
def test_lost_states_are_missing_and_no_command_answers_them(pace) -> None:
    line = Line(MACHINE, {"at_tick": 3, "for_ticks": 2, "wire": "drop", "direction": "states"}, pace=pace)
    told = line.run(8)
    assert [each.fresh for each in told] == [True] * 3 + [False] * 2 + [True] * 3
    assert [each.ack for each in told if each.fresh] == [-1, 0, 1, 2, 5, 6]
