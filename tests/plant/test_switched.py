"""Constraints switched by a command: at its tick, by an impulse in the mass metric, or refused and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, load
from linkwork.multibody.functions import mass_matrix
from linkwork.plant.simulator.plant_state import ZERO
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode, Pace

CARTS = """
name: carts
gravity_m_s2: [0, 0, -9.81]
bodies:
  a: {mass_kg: 2, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
  b: {mass_kg: 3, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
joints:
  x: {type: prismatic, parent: world, child: a, axis: [1, 0, 0]}
  y: {type: prismatic, parent: world, child: b, at_m: [1, 0, 0], axis: [1, 0, 0]}
constraints:
  hook: {type: distance, on: false, switchable: true, a: {body: a}, b: {body: b}, distance_m: 0.8}
  stay: {type: coordinate, on: false, switchable: true, of: y, equals_m: 0}
motors:
  x: {max_force_N: 50, max_speed_m_s: 5}
  y: {max_force_N: 50, max_speed_m_s: 5}
sensors:
  x: {velocity: true}
  y: {velocity: true}
initial: {x_m_s: 1}
plant: {peer_timeout_s: 60, FORMULATION}
"""
HOOK, STAY = 1, 2
MASS = np.diag([2.0, 3.0])


@pytest.fixture(params=["formulation: projected", "formulation: minimal, integrator: rk4"])
def carts(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "carts.yaml"
    path.write_text(CARTS.replace("FORMULATION", request.param))
    return path


def rolling(path: Path, periods: int) -> tuple[Machine, Simulator]:
    machine = load(path)
    plant = Simulator(machine)
    plant.latch(ZERO, np.zeros(2))
    plant.integrate(periods)
    return machine, plant


def test_two_carts_that_are_hooked_go_on_with_their_common_momentum(carts: Path) -> None:
    machine, plant = rolling(carts, 200)
    assert (machine.switchable, plant.closed) == (("hook", "stay"), 0)
    np.testing.assert_allclose(plant.v, [1.0, 0.0], rtol=1e-12)
    (report,) = plant.switch(HOOK)
    assert report["name"] == "hook"
    assert report["on"] is True
    assert report["energy_loss_J"] == pytest.approx(0.5 * 2 * 3 / 5, rel=1e-9)
    assert abs(report["impulse"][0]) == pytest.approx(2 * 3 / 5, rel=1e-9)
    assert plant.closed == HOOK
    np.testing.assert_allclose(plant.measured.v, 0.4, rtol=1e-9)
    plant.integrate(200)
    np.testing.assert_allclose(plant.v, 0.4, rtol=1e-9)
    assert plant.q[1] - plant.q[0] == pytest.approx(-0.2, abs=1e-9)
    assert plant.switch(0) == [
        {"name": "hook", "on": False, "energy_loss_J": 0.0, "impulse": [0.0], "residual": 0.0}
    ]
    np.testing.assert_allclose(plant.v, 0.4, rtol=1e-9)


def test_the_impulse_is_the_least_change_of_velocity_in_the_mass_metric(carts: Path) -> None:
    """Gauss: among all velocities that the rows admit, the one next to that before."""
    machine, plant = rolling(carts, 200)
    before = plant.v.copy()
    plant.switch(HOOK)
    change = plant.v - before
    mass = mass_matrix(machine.plant_mechanism, plant.q)
    np.testing.assert_allclose(mass, MASS)
    admitted = np.array([1.0, 1.0])
    assert abs(admitted @ mass @ change) < 1e-12


def test_what_is_open_by_too_much_stays_open_and_says_by_how_much(carts: Path) -> None:
    _, plant = rolling(carts, 100)
    before = plant.q.tobytes(), plant.v.tobytes()
    (report,) = plant.switch(HOOK)
    assert report["on"] is False
    assert "its gap is" in report["refused"]
    assert report["residual"] > 1e-3
    assert (plant.q.tobytes(), plant.v.tobytes(), plant.closed) == (*before, 0)


def test_what_opens_does_so_before_another_closes(carts: Path) -> None:
    _, plant = rolling(carts, 200)
    plant.switch(STAY)
    reports = plant.switch(HOOK)
    assert [(one["name"], one["on"]) for one in reports] == [("stay", False), ("hook", True)]
    np.testing.assert_allclose(plant.v, 0.4, rtol=1e-9)


def test_a_command_switches_at_its_tick_in_lockstep(carts: Path, start_plant, controller) -> None:
    """It begins at rest under its brakes, a hair's breadth before the hook catches."""
    text = carts.read_text().replace("x_m_s: 1", "x_m: 0.2")
    carts.write_text(text.replace("max_speed_m_s: 5", "max_speed_m_s: 5, brake_force_N: 30"))
    plant = start_plant(carts, "--pace", "lockstep")
    me = controller(plant)
    state = me.connect(Pace.LOCKSTEP)
    assert me.welcome.layout["switchable"] == ["hook", "stay"]
    assert (state.closed, state.switched) == (0, None)
    twin = Simulator(plant.machine)
    twin.integrate()
    told = {}
    for k in range(70):
        closed = {6: HOOK, 20: 0, 60: HOOK}.get(k, -1)
        before = twin.v.copy()
        state = me.exchange(k, Mode.EFFORT, [20.0, 0.0], closed=closed)
        twin.latch(Mode.EFFORT, np.array([20.0, 0.0]))
        reports = twin.switch(closed) if closed >= 0 else []
        assert state.closed == twin.closed
        assert state.switched == (reports or None)
        assert state.v.tobytes() == twin.measured.v.tobytes()
        assert state.q.tobytes() == twin.measured.q.tobytes()
        if reports:
            told[k] = reports[0]
        if k == 6:
            assert before[0] > 0.04
            np.testing.assert_allclose(state.v, 0.4 * before[0], rtol=1e-9)
        twin.integrate()
    assert [told[k].get("on") for k in (6, 20, 60)] == [True, False, False]
    assert "refused" in told[60]
    assert plant.wait_for("switch_refused")["tick"] == 61
    first, second = plant.wait_for("switched"), plant.wait_for("switched", 2)
    assert [(one["tick"], one["name"], one["on"]) for one in (first, second)] == [
        (7, "hook", True),
        (21, "hook", False),
    ]
