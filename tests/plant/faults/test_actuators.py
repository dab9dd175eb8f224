"""Faults of motors: a mass on a slide, pushed by a motor that does something else than it is told."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from linkwork.machine import Machine
from linkwork.protocol.codes import Mode
from tests.plant.faults.line import Line

MASS, STEP = 2.0, 1e-3


def speeds(machine: Machine, *faults: dict[str, Any], force: float = 10.0, ticks: int = 40) -> list[float]:
    """Speed at each tick under a constant command, which acts from tick 1 on."""
    line = Line(machine, *faults)
    line.effort[:] = force
    found = []
    for _ in range(ticks):
        line.run(1)
        found.append(float(line.link._state.v[0]))
    return found


def gained(found: list[float], start: int, ticks: int) -> float:
    """Force (N) that acted on average over these periods."""
    return MASS * (found[start + ticks] - found[start]) / (ticks * STEP)


@pytest.mark.parametrize(
    ("fault", "force"),
    [
        ({"actuator": "saturate", "at_N": 4}, 4.0),
        ({"actuator": "lose"}, 0.0),
        ({"actuator": "reverse"}, -10.0),
    ],
)
def test_what_acts_instead(slider: Callable[..., Machine], fault: dict[str, Any], force: float) -> None:
    found = speeds(slider(), {"at_tick": 10, "for_ticks": 10, "of": "slide", **fault})
    assert gained(found, 1, 9) == pytest.approx(10.0)
    assert gained(found, 10, 10) == pytest.approx(force, abs=1e-9)
    assert gained(found, 20, 10) == pytest.approx(10.0), "and then what is commanded again"


def test_the_effort_told_is_what_acts(slider: Callable[..., Machine]) -> None:
    line = Line(slider(), {"at_tick": 3, "actuator": "saturate", "of": "slide", "at_N": 4})
    line.effort[:] = 10.0
    assert [told.effort[0] for told in line.run(6)][1:] == [0.0, 10.0, 10.0, 4.0, 4.0]


def test_a_frozen_effort_stays_what_it_was(slider: Callable[..., Machine]) -> None:
    line = Line(slider(), {"at_tick": 3, "for_ticks": 3, "actuator": "freeze", "of": "slide"})
    forces = []
    for k in range(10):
        line.effort[:] = float(k)
        forces.append(line.run(1)[0].effort[0])
    assert forces == [0, 0, 0, 1, 1, 1, 1, 5, 6, 7], "a state tells of the period before it"


def test_a_lag_follows_its_command(slider: Callable[..., Machine]) -> None:
    line = Line(slider(), {"at_tick": 0, "actuator": "lag", "of": "slide", "time_constant_s": 0.005})
    line.effort[:] = 10.0
    found = [told.effort[0] for told in line.run(20)]
    share = math.exp(-0.2)
    assert found[2:] == pytest.approx([10.0 * (1.0 - share**k) for k in range(1, 19)])


def test_the_way_since_the_last_command_counts_on_under_faults(slider: Callable[..., Machine]) -> None:
    """The watchdog reports it, so that what a fault relatches must not begin the count anew."""
    machine = slider()
    line = Line(machine, {"actuator": "saturate", "of": "slide", "at_N": 50},
                {"at_tick": 20, "wire": "drop", "direction": "commands"})  # fmt: skip
    line.effort[:] = 40.0
    line.run(21)
    q = float(line.machinery.inner.measured.q[0])
    line.run(15)
    moved = float(line.machinery.inner.measured.q[0]) - q
    assert line.machinery.travel[0] > 0.9 * moved


def test_a_brake_that_sticks_holds_against_the_motor_until_it_is_cleared(
    slider: Callable[..., Machine],
) -> None:
    stick = {"at_tick": 10, "for_ticks": 60, "actuator": "stick", "of": "slide"}
    found = speeds(slider(), stick, ticks=90)
    assert gained(found, 1, 9) == pytest.approx(10.0)
    assert found[10] > 0.0
    assert found[-25] == 0.0, "a brake of 30 N stops what 10 N push, and holds it exactly"
    assert gained(found, 75, 10) == pytest.approx(10.0)
    slipping = speeds(slider(), {**stick, "with_N": 4}, ticks=90)
    assert gained(slipping, 20, 20) == pytest.approx(6.0)


def test_friction_acts_against_the_motion(slider: Callable[..., Machine]) -> None:
    dry = speeds(slider(), {"at_tick": 10, "actuator": "friction", "of": "slide", "coulomb_N": 3})
    assert gained(dry, 20, 10) == pytest.approx(7.0)
    wet = speeds(slider(), {"at_tick": 0, "actuator": "friction", "of": "slide", "viscous_N_s_m": 100})
    assert wet[21] == pytest.approx(0.1 * (1.0 - math.exp(-100 / MASS * 0.020)), rel=1e-6)
    both = [{"actuator": "friction", "of": "slide", "viscous_N_s_m": 50},
            {"at_tick": 5, "actuator": "friction", "of": "slide", "viscous_N_s_m": 50}]  # fmt: skip
    again = speeds(slider(), *both, {"at_tick": 20, "clear": "all"})
    assert gained(again, 21, 10) == pytest.approx(10.0), "what is cleared leaves nothing behind"


def test_braked_machines_stay_braked_whatever_their_motors_do(slider: Callable[..., Machine]) -> None:
    for fault in ({"actuator": "reverse"}, {"actuator": "stick"}, {"actuator": "friction", "coulomb_N": 1}):
        line = Line(slider(), {"of": "slide", **fault})
        line.mode = Mode.BRAKE
        line.effort[:] = 20.0
        line.run(10)
        assert line.link._state.v[0] == 0.0
        assert line.link._state.mode == Mode.BRAKE
