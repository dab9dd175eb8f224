"""The plant's periods in minimal coordinates: all modes, against projection and against the offline steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load, shipped_path
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.partition import PROJECTED_STEPS, SWITCHES
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.offline.run import simulate
from linkwork.plant.simulator.plant_state import BRAKE, EFFORTS, ZERO
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode, Pace

CLOSED = ("slider_crank", "four_bar", "five_bar", "platform_3rrs", "delta")


def made(
    name: str, formulation: str = "minimal", integrator: str = "rk4", period_s: float = 0.001
) -> Machine:
    machine = load(name)
    settings = machine.plant.with_values(
        formulation=formulation, integrator=integrator, period_s=period_s, substeps=1
    )
    return replace(machine, plant=settings)


def counters(plant: Simulator) -> tuple[int, int]:
    """Switches of the independent set, and steps made by projection."""
    partition = plant.work.partition
    return int(partition[SWITCHES]), int(partition[PROJECTED_STEPS])


def residuals(plant: Simulator) -> tuple[float, float]:
    work = plant.work
    dynamics(*work.arguments)
    constraint_rows(*work.arguments)
    return float(np.abs(work.phi).max()), float(np.abs(work.phi_rate).max())


def joules(plant: Simulator) -> float:
    dynamics(*plant.work.arguments)
    energy(*plant.work.arguments)
    return float(plant.work.energy.sum())


@pytest.mark.parametrize("name", CLOSED)
def test_under_effort_it_is_bit_for_bit_what_the_offline_steps_are(name: str) -> None:
    machine = made(name)
    effort = np.array([0.05 * motor.max_effort for motor in machine.motors])
    plant = Simulator(machine)
    plant.latch(EFFORTS, effort)
    plant.integrate(200)
    machine = replace(machine, closed_form=None)
    alone = simulate(machine, 0.2, effort=effort, formulation="minimal", integrator="rk4")
    assert plant.q.tobytes() == alone.q[-1].tobytes()
    assert plant.v.tobytes() == alone.v[-1].tobytes()
    assert counters(plant)[1] == 0


def test_the_independent_set_is_switched_through_both_singularities_of_the_four_bar() -> None:
    ways = {}
    for formulation in ("minimal", "projected"):
        plant = Simulator(made("four_bar", formulation))
        plant.latch(ZERO, np.zeros(1))
        plant.integrate(1000)
        ways[formulation] = plant
    assert counters(ways["minimal"])[0] >= 2
    np.testing.assert_allclose(ways["minimal"].q, ways["projected"].q, atol=1e-7)
    assert max(residuals(ways["minimal"])) < 1e-12


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("action", ["brake", "damp"])
def test_brakes_and_damping_take_energy_away_and_keep_the_closures(name: str, action: str) -> None:
    plant = Simulator(made(name))
    plant.latch(ZERO, np.zeros(len(plant.machine.motors)))
    plant.integrate(150)
    plant.act(action)
    before = joules(plant)
    for _ in range(40):
        plant.integrate(5)
        now = joules(plant)
        assert now <= before + 1e-9
        before = now
        position, velocity = residuals(plant)
        assert position < 1e-10
        assert velocity < 1e-9
    if action == "brake":
        assert plant.resting


@pytest.mark.parametrize("name", CLOSED)
def test_a_braked_machine_keeps_its_position_bit_for_bit(name: str) -> None:
    plant = Simulator(made(name))
    plant.integrate(3)
    begin = plant.q.tobytes()
    plant.integrate(300)
    assert plant.resting
    assert plant.q.tobytes() == begin


@pytest.mark.parametrize("action", ["brake", "damp"])
def test_braking_approaches_that_of_projection_with_the_step(action: str) -> None:
    """Both steps are of first order: their difference halves with the period."""
    gaps = []
    for period_s in (0.001, 0.0005):
        ends = []
        for formulation in ("minimal", "projected"):
            plant = Simulator(made("five_bar", formulation, period_s=period_s))
            plant.latch(ZERO, np.zeros(len(plant.machine.motors)))
            plant.integrate(round(0.1 / period_s))
            plant.act(action)
            plant.integrate(round(0.02 / period_s))
            ends.append(plant.q.copy())
        gaps.append(float(np.abs(ends[0] - ends[1]).max()))
    assert gaps[1] < 1e-4
    assert gaps[1] <= 0.6 * gaps[0] + 1e-9


def test_efforts_act_under_set_brakes_only_beyond_the_brakes() -> None:
    plant = Simulator(made("five_bar"))
    plant.integrate(2)
    begin = plant.q.copy()
    motors = plant.machine.motors
    plant.latch(BRAKE, np.array([0.1 * motor.brake_effort for motor in motors]))
    plant.integrate(20)
    assert plant.resting
    np.testing.assert_array_equal(plant.q, begin)


def test_a_branch_pose_is_passed_by_projection_and_counted() -> None:
    plant = Simulator(made("slider_crank"))
    plant.latch(ZERO, np.zeros(1))
    plant.integrate(2000)
    assert counters(plant)[1] > 0
    np.testing.assert_allclose(plant.q[1], -2.0 * plant.q[0], atol=1e-9)


MINIMAL = "plant: {formulation: minimal, integrator: rk4}\n"


def test_stops_are_met_as_offline_and_under_brakes(tmp_path: Path) -> None:
    text = shipped_path("four_bar").read_text()
    swing = "limits: {position_deg: [60, 140]}, stop: {}"
    text = text.replace(
        "rpy_deg: [0, 0, -90], axis: [0, 0, 1]}", f"rpy_deg: [0, 0, -90], axis: [0, 0, 1], {swing}}}"
    )
    path = tmp_path / "four_bar.yaml"
    path.write_text(text.replace("closed_form: four_bar", "") + MINIMAL)
    machine = load(path)
    assert machine.plant_mechanism.stops
    plant = Simulator(machine)
    plant.latch(ZERO, np.zeros(1))
    plant.integrate(600)
    alone = simulate(machine, 0.6, formulation="minimal")
    assert alone.q[:, 0].min() < np.radians(60) or alone.q[:, 0].max() > np.radians(140)
    assert plant.q.tobytes() == alone.q[-1].tobytes()
    plant.act("brake")
    plant.integrate(400)
    assert plant.resting
    assert max(residuals(plant)) < 1e-9


def test_the_file_chooses_and_gauss_is_refused(tmp_path: Path) -> None:
    text = shipped_path("slider_crank").read_text()
    path = tmp_path / "crank.yaml"
    path.write_text(text.replace("\nplant:\n", "\nplant:\n  formulation: minimal\n"))
    with pytest.raises(MachineError) as refused:
        load(path)
    (problem,) = refused.value.problems
    assert problem.key == "plant.formulation"
    assert "gauss" in problem.found
    assert problem.line is not None
    path.write_text(
        text.replace("\nplant:\n", "\nplant:\n  formulation: minimal\n").replace(
            "integrator: gauss", "integrator: rk4"
        )
    )
    machine = load(path)
    assert Simulator(machine).simulation == {"formulation": "minimal", "integrator": "rk4"}
    assert machine.interface_hash == load("slider_crank").interface_hash
    assert machine.config_hash != load("slider_crank").config_hash


def test_a_daemon_in_lockstep_runs_it_and_says_so(
    tmp_path: Path, start_plant: Callable[..., object], controller: Callable[..., object]
) -> None:
    path = tmp_path / "five_bar.yaml"
    path.write_text(shipped_path("five_bar").read_text() + MINIMAL)
    plant = start_plant(path, "--pace", "lockstep")  # type: ignore[operator]
    assert plant.wait_for("ready")["formulation"] == "minimal"
    twin = Simulator(plant.machine)  # compiles its kernels before the plant waits for commands
    twin.integrate()
    me = controller(plant)  # type: ignore[operator]
    me.connect(Pace.LOCKSTEP)
    motors = len(plant.machine.motors)
    modes = [Mode.EFFORT] * 60 + [Mode.ZERO] * 30 + [Mode.BRAKE] * 30
    random = np.random.default_rng(3)
    for k, mode in enumerate(modes):
        effort = random.uniform(-2, 2, motors)
        state = me.exchange(k, mode, effort.tolist())
        assert state.q.tobytes() == twin.measured.q.tobytes()
        assert state.v.tobytes() == twin.measured.v.tobytes()
        twin.latch(mode, effort)
        twin.integrate()
