"""Brakes and damping motors under every integrator: order, stick and slip, standing still bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML
from scipy.integrate import solve_ivp

from linkwork.machine import Machine, load, shipped_path
from linkwork.machine.repeats import parse_machine
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.functions import kinetic_energy, potential_energy
from linkwork.plant.simulator.plant_state import BRAKE, ZERO
from linkwork.plant.simulator.simulator import Simulator

PENDULUM = """
name: braked_pendulum
gravity_m_s2: [0, -9.81, 0]
bodies:
  upper: {mass_kg: 2, com_m: [0.3, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.06, zz: 0.06}}
  lower: {mass_kg: 1, com_m: [0.2, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.02, zz: 0.02}}
joints:
  shoulder: {type: revolute, parent: world, child: upper, axis: [0, 0, 1]}
  elbow: {type: revolute, parent: upper, child: lower, at_m: [0.6, 0, 0], axis: [0, 0, 1]}
motors:
  shoulder: {max_torque_N_m: 30, max_speed_rad_s: 20, MOTOR}
sensors: {shoulder: {velocity: true}}
initial: {INITIAL}
plant: {period_s: PERIOD, integrator: INTEGRATOR}
"""
INTEGRATORS = ("rk4", "adaptive_rk4", "gauss", "semi_implicit")


def pendulum(
    folder: Path,
    motor: str,
    initial: str = "shoulder_deg: 10, elbow_deg: 80",
    period_s: float = 0.001,
    integrator: str = "rk4",
) -> Machine:
    text = PENDULUM.replace("MOTOR", motor).replace("INITIAL", initial)
    text = text.replace("PERIOD", repr(period_s)).replace("INTEGRATOR", integrator)
    path = folder / "pendulum.yaml"
    path.write_text(text.replace(", }", "}"))
    return load(path)


def energy(simulator: Simulator) -> float:
    mechanism = simulator.machine.plant_mechanism
    return kinetic_energy(mechanism, simulator.q, simulator.v) + potential_energy(mechanism, simulator.q)


def states(simulator: Simulator, mode: int, periods: int) -> bytes:
    simulator.latch(mode, np.zeros(len(simulator.machine.motors)))
    bits = b""
    for _ in range(periods):
        simulator.integrate()
        bits += simulator.q.tobytes() + simulator.v.tobytes()
    return bits


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_brake_without_brakes_is_zero_bit_for_bit(tmp_path: Path, integrator: str) -> None:
    machine = pendulum(tmp_path, "", integrator=integrator)
    assert states(Simulator(machine), BRAKE, 500) == states(Simulator(machine), ZERO, 500)


def shipped(folder: Path, name: str, brakes: Sequence[float] | None = None, **plant: object) -> Machine:
    """A machine that ships with other brakes and other settings of the plant."""
    yaml = YAML(typ="safe")
    document = parse_machine(shipped_path(name).read_bytes()).data
    document["plant"] = {**document.get("plant", {}), **plant}
    for motor, brake in zip(document["motors"].values(), brakes or (), strict=brakes is not None):
        motor["brake_torque_N_m"] = brake
    path = folder / f"{name}.yaml"
    with path.open("w") as file:
        yaml.dump(document, file)
    return load(path)


@pytest.mark.parametrize("name", ["five_bar", "platform_3rrs"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_closures_without_brakes_move_as_under_zero_bit_for_bit(
    tmp_path: Path, name: str, integrator: str
) -> None:
    machine = shipped(tmp_path, name, [0.0] * len(load(name).motors), integrator=integrator)
    speeds = consistent(machine, [1.0, -0.5, 0.7][: len(machine.motors)])

    def started() -> Simulator:
        simulator = Simulator(machine)
        simulator.v[:] = speeds
        return simulator

    assert states(started(), BRAKE, 100) == states(started(), ZERO, 100)


@pytest.mark.slow
def test_a_double_pendulum_without_brakes_keeps_its_energy() -> None:
    simulator = Simulator(load("double_pendulum"))
    simulator.v[:] = 6.0, -3.0
    assert simulator.mode == BRAKE
    before = energy(simulator)
    worst = 0.0
    for _ in range(5000):
        simulator.integrate()
        worst = max(worst, abs(energy(simulator) - before))
    assert np.abs(simulator.v).max() > 0.1
    assert worst < 1e-5


def test_a_spinning_disk_keeps_its_wobble() -> None:
    simulator = Simulator(load("thin_disk"))
    wobble = np.hypot(*simulator.v[:2])
    for _ in range(5000):
        simulator.integrate()
        assert np.hypot(*simulator.v[:2]) == pytest.approx(wobble, rel=1e-8)


def pendulum_terms(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M and h of the pendulum above, by hand."""
    (q1, q2), (v1, v2) = y[:2], y[2:]
    reach, far, g = 1 * 0.6 * 0.2, 1 * 0.2**2 + 0.02, 9.81
    coupling = far + reach * np.cos(q2)
    near = 0.06 + 2 * 0.3**2 + 1 * 0.6**2 + far + 2 * reach * np.cos(q2)
    mass = np.array([[near, coupling], [coupling, far]])
    swing = reach * np.sin(q2)
    lower = 0.2 * g * np.cos(q1 + q2)
    h = [-swing * (2 * v1 * v2 + v2**2) + (2 * 0.3 + 0.6) * g * np.cos(q1) + lower, swing * v1**2 + lower]
    return mass, np.array(h)


def braked(y: np.ndarray, brake: float, until: float) -> tuple[np.ndarray, list[str]]:
    """The pendulum with a brake on its shoulder by scipy, event by event, and what the brake did."""

    def slips(sign: float):
        def rates(_t, y):
            mass, h = pendulum_terms(y)
            return [*y[2:], *np.linalg.solve(mass, np.array([-sign * brake, 0.0]) - h)]

        return rates

    def held(y: np.ndarray) -> tuple[float, float]:
        mass, h = pendulum_terms(y)
        elbow = -h[1] / mass[1, 1]
        return elbow, mass[0, 1] * elbow + h[0]

    def stuck(_t, y):
        return [0.0, y[3], 0.0, held(y)[0]]

    def gives_way(_t, y):
        return abs(held(y)[1]) - brake

    def stops(_t, y):
        return y[2]

    gives_way.terminal = stops.terminal = True
    time, story, moves = 0.0, [], False
    while time < until:
        load_now = held(y)[1]
        if y[2] == 0.0 and abs(load_now) < brake and not moves:
            story.append("stuck")
            right, event = stuck, gives_way
        else:
            story.append("slips")
            right, event = slips(np.sign(y[2]) or -np.sign(load_now)), stops
            event.direction = -(np.sign(y[2]) or -np.sign(load_now))
        found = solve_ivp(right, (time, until), y, "DOP853", rtol=1e-12, atol=1e-13, events=event)
        time, y = found.t[-1], found.y[:, -1].copy()
        moves = found.status == 1 and event is gives_way
        if found.status == 1 and event is stops:
            y[2] = 0.0
    return y, story


@pytest.mark.parametrize("integrator", ["rk4", "adaptive_rk4", "gauss"])
def test_a_brake_that_sticks_and_slips_costs_no_order(tmp_path: Path, integrator: str) -> None:
    """Half the step divides the error against an independent solution by about 16."""
    brake, until = 6.0, 1.2
    exact, story = braked(np.array([*np.radians([10.0, 80.0]), 0.0, 0.0]), brake, until)
    assert story.count("stuck") >= 2
    assert story.count("slips") >= 2
    errors = []
    for period in (0.008, 0.004, 0.002):
        machine = pendulum(tmp_path, f"brake_torque_N_m: {brake}", period_s=period, integrator=integrator)
        simulator = Simulator(machine)
        simulator.integrate(round(until / period))
        errors.append(np.abs(np.concatenate([simulator.q, simulator.v]) - exact).max())
    assert errors[-1] < 1e-6
    if integrator != "adaptive_rk4":  # which has divided the longer steps already
        assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_a_stuck_joint_keeps_its_bits_while_another_swings(tmp_path: Path) -> None:
    simulator = Simulator(pendulum(tmp_path, "brake_torque_N_m: 60", "shoulder_deg: 10, elbow_deg: 20"))
    start, before, swings = simulator.q[0], energy(simulator), []
    for _ in range(3000):
        simulator.integrate()
        swings.append(simulator.q[1])
        assert simulator.q[0] == start
        assert simulator.v[0] == 0.0
    assert energy(simulator) == pytest.approx(before, abs=1e-7)
    assert max(swings) - min(swings) > 1.0


@pytest.mark.parametrize("integrator", ["rk4", "adaptive_rk4", "gauss"])
def test_a_stopping_distance_is_that_of_the_closed_form(slider, integrator: str) -> None:
    machine = slider(("plant: {", f"plant: {{integrator: {integrator}, "))
    simulator = Simulator(machine)
    simulator.v[0] = 0.7321
    simulator.integrate(60)
    assert simulator.resting
    assert simulator.q[0] - 0.25 == pytest.approx(0.7321**2 / (2 * 30 / 2), rel=1e-11)


def test_damping_follows_its_closed_form_through_the_motors_limit(slider) -> None:
    """Above 50 N / 8 N s/m the force is 50 N; below, the speed decays."""
    simulator = Simulator(slider())
    simulator.v[0] = 8.0
    simulator.act("damp")
    simulator.integrate(300)
    limit, mass = 50.0 / 8.0, 2.0
    begins = (8.0 - limit) * mass / 50.0
    assert simulator.v[0] == pytest.approx(limit * np.exp(-8.0 / mass * (0.3 - begins)), rel=1e-10)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_stiff_damper_is_stable_under_every_integrator(slider, integrator: str) -> None:
    """50 and 5,000 times stiffer than a step of 1 ms follows without parts."""
    for damping in (2e4, 2e8):
        machine = slider(
            ("damping_N_s_m: 8", f"damping_N_s_m: {damping:.0f}"),
            ("plant: {", f"plant: {{integrator: {integrator}, "),
        )
        simulator = Simulator(machine)
        simulator.v[0] = 1e-9
        simulator.act("damp")
        simulator.integrate()
        assert abs(simulator.v[0]) < 1e-9 * np.exp(-3.0)
        simulator.integrate(20)
        assert abs(simulator.v[0]) < 1e-15


def slips_then_stands(simulator: Simulator, brakes: list[float], most: int = 3000) -> None:
    """The energy lost is that of the motors' way against their brakes; then it stands bit for bit."""
    mechanism, before = simulator.machine.plant_mechanism, energy(simulator)
    at = [motor.index for motor in simulator.machine.motors]
    way = np.zeros(len(at))
    for _ in range(most):
        start = simulator.q[at]
        simulator.integrate()
        way += np.abs(simulator.q[at] - start)
        if simulator.resting:
            break
    assert simulator.resting
    lost = before - energy(simulator)
    assert lost > 0.0
    assert lost == pytest.approx(float(np.dot(way, brakes)), rel=1e-6), mechanism.joint_names
    bits = simulator.q.tobytes()
    simulator.integrate(500)
    assert simulator.q.tobytes() == bits
    assert not simulator.v.any()


@pytest.mark.parametrize(
    ("formulation", "integrator"),
    [*itertools.product(["projected", "minimal"], ["rk4", "adaptive_rk4"]), ("projected", "gauss")],
)
def test_a_five_bar_loses_what_its_brakes_take(tmp_path: Path, integrator: str, formulation: str) -> None:
    # Periods so short that a motor's way within the one in which it turns back does not count.
    machine = shipped(
        tmp_path, "five_bar", [1.0, 3.0], integrator=integrator, formulation=formulation, period_s=1e-4
    )
    simulator = Simulator(machine)
    simulator.v[:] = consistent(machine, [9.0, -4.0])
    slips_then_stands(simulator, [motor.brake_effort for motor in machine.motors], most=30_000)


def consistent(machine: Machine, motors: list[float]) -> np.ndarray:
    """Velocities with these speeds of the motors that keep the closures closed."""
    rows = constraint_evaluation(machine.plant_mechanism, machine.initial_q, machine.initial_v).A
    at = [motor.index for motor in machine.motors]
    unit = np.eye(rows.shape[1])[at]
    right = np.concatenate([np.zeros(len(rows)), motors])
    return np.linalg.lstsq(np.vstack([rows, unit]), right, rcond=None)[0]


@pytest.mark.parametrize("integrator", ["rk4", "gauss"])
def test_a_closed_machine_with_a_slipping_brake_costs_no_order(tmp_path: Path, integrator: str) -> None:
    """A five-bar with one brake, which slips and then sticks, while the rest swings."""
    ends = []
    for period in (0.008, 0.004, 0.002, 0.0005):
        machine = shipped(tmp_path, "five_bar", [0.5, 0.0], integrator=integrator, period_s=period)
        simulator = Simulator(machine)
        simulator.v[:] = consistent(machine, [3.0, -1.5])
        simulator.integrate(round(0.4 / period))
        ends.append(np.concatenate([simulator.q, simulator.v]))
    first, second, third = (np.abs(end - ends[-1]).max() for end in ends[:3])
    assert third < 1e-5
    assert first > 9 * second > 81 * third


@pytest.mark.parametrize("second", [0.0, 25.0])
def test_one_brake_of_two_motors_holds_a_machine_of_one_dof(tmp_path: Path, second: float) -> None:
    """Two brakes on one degree of freedom are redundant. The machine rests exactly, under gravity."""
    document = YAML(typ="safe").load(shipped_path("four_bar"))
    document["motors"]["a3"] = {**document["motors"]["a1"], "brake_torque_N_m": second}
    document["sensors"]["a3"] = document["sensors"]["a1"]
    path = tmp_path / "four_bar.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump(document, file)
    simulator = Simulator(load(path))
    bits = simulator.q.tobytes()
    simulator.integrate(300)
    assert simulator.q.tobytes() == bits
    assert simulator.resting
