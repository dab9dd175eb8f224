"""The simulated machine: brakes that stick, damping, saturation, sensors, and what each is in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork.machine import Machine, load
from linkwork.multibody.functions import kinetic_energy, potential_energy
from linkwork.plant.simulator.plant_state import BRAKE, EFFORTS, ZERO
from linkwork.plant.simulator.simulator import SimulationDiverged, Simulator

G = 9.81
DT = 0.001
M = 2.0
BRAKE_N = 30.0
MakeSlider = Callable[..., Machine]
SCARA = load("scara")


def moving(
    machine: Machine, v: list[float], mode: int = ZERO, effort: list[float] | None = None
) -> Simulator:
    simulator = Simulator(machine)
    simulator.v[:] = v
    simulator.latch(mode, np.zeros(len(machine.motors)) if effort is None else np.array(effort))
    return simulator


def stop(simulator: Simulator, most: int = 100_000) -> int:
    for periods in range(1, most):
        simulator.integrate()
        if simulator.resting:
            return periods
    raise AssertionError("it never stops")


def test_starts_braked_and_stays_where_it_is_bit_for_bit() -> None:
    simulator = Simulator(SCARA)
    before = simulator.q.tobytes()
    simulator.integrate(500)
    assert simulator.mode == BRAKE
    assert simulator.resting
    assert simulator.q.tobytes() == before
    assert simulator.v.tolist() == [0.0] * 4
    assert simulator.tick == 500


@pytest.mark.parametrize("speed", [0.0101, 0.5, -3.0])
def test_one_brake_stops_within_the_closed_form(slider: MakeSlider, speed: float) -> None:
    """v²/2a, however a period is cut."""
    simulator = moving(slider(), [speed])
    start = simulator.q[0]
    simulator.act("brake")
    simulator.travel[:] = 0.0
    periods = stop(simulator)
    deceleration = BRAKE_N / M
    assert periods == np.ceil(abs(speed) / (deceleration * DT))
    way = speed**2 / (2 * deceleration)
    assert abs(simulator.q[0] - start) == pytest.approx(way, rel=1e-10)
    assert simulator.travel[0] == pytest.approx(abs(simulator.q[0] - start), rel=1e-12)
    assert simulator.v[0] == 0.0
    held = simulator.q.tobytes()
    simulator.integrate(1000)
    assert simulator.q.tobytes() == held


def test_a_brake_holds_a_weight_below_its_friction_and_slides_above(slider: MakeSlider) -> None:
    strong = Simulator(slider(axis="[0, 0, 1]"))
    strong.integrate(1000)
    assert strong.q[0] == 0.25
    assert strong.resting
    weak = Simulator(slider(("brake_force_N: 30", "brake_force_N: 12"), axis="[0, 0, 1]"))
    weak.integrate(1000)
    a = G - 12.0 / M
    assert weak.v[0] == pytest.approx(-a, rel=1e-12)
    assert weak.q[0] == pytest.approx(0.25 - a / 2, abs=a * DT)


def test_effort_acts_under_a_set_brake(slider: MakeSlider) -> None:
    held = moving(slider(), [0.0], BRAKE, [29.9])
    held.integrate(200)
    assert held.resting
    assert held.measured.effort[0] == 29.9
    slips = moving(slider(), [0.0], BRAKE, [40.0])
    slips.integrate(200)
    assert slips.v[0] == pytest.approx((40.0 - BRAKE_N) / M * 0.2, rel=1e-9)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    v=st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3),
    q=st.lists(st.floats(-2.5, 2.5), min_size=3, max_size=3),
)
def test_braking_an_arm_never_adds_energy_and_ends_at_exactly_zero(v: list[float], q: list[float]) -> None:
    simulator = moving(SCARA, [*v, 0.3])
    simulator.q[:3] = q
    simulator.act("brake")
    mechanism = SCARA.plant_mechanism

    def energy() -> float:
        return kinetic_energy(mechanism, simulator.q, simulator.v) + potential_energy(mechanism, simulator.q)

    before = energy()
    for _ in range(2000):
        simulator.integrate()
        after = energy()
        assert after <= before + 1e-9
        before = after
        if simulator.resting:
            break
    assert simulator.v.tolist() == [0.0] * 4


def test_a_joint_without_a_brake_swings_on_beside_stuck_ones(scara: Callable[..., object]) -> None:
    machine = load(str(scara(("brake_torque_N_m: 8", "brake_torque_N_m: 0"))))
    simulator = moving(machine, [0.0, 0.0, 2.0, 0.0])
    simulator.act("brake")
    held = simulator.q[[0, 1, 3]].tobytes()
    simulator.integrate(500)
    assert simulator.v[[0, 1, 3]].tolist() == [0.0] * 3
    assert simulator.q[[0, 1, 3]].tobytes() == held
    assert simulator.v[2] == pytest.approx(2.0, rel=1e-9)
    assert not simulator.standing


def test_damping_decays_exponentially(slider: MakeSlider) -> None:
    simulator = moving(slider(), [2.0])
    simulator.act("damp")
    simulator.integrate(300)
    assert simulator.v[0] == pytest.approx(2.0 * np.exp(-8.0 * 300 * DT / M), rel=1e-9)
    assert simulator.measured.effort[0] == pytest.approx(-8.0 * simulator.v[0], rel=1e-9), (
        "what the motors give"
    )


def test_damping_gives_at_most_the_motors_effort(slider: MakeSlider) -> None:
    simulator = moving(slider(), [100.0])
    simulator.act("damp")
    simulator.integrate(100)
    assert simulator.v[0] == pytest.approx(100.0 - 50.0 / M * 0.1, rel=1e-9)


def test_zero_is_free(slider: MakeSlider) -> None:
    simulator = moving(slider(), [1.5], EFFORTS, [50.0])
    simulator.act("zero")
    simulator.integrate(100)
    assert simulator.v[0] == 1.5
    simulator.latch(ZERO, np.array([33.0]))
    assert simulator.measured.effort[0] == 0.0


@pytest.mark.parametrize("asked", [20.0, -50.0, 51.0, -1e6])
@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit"])
def test_motors_saturate(slider: MakeSlider, asked: float, integrator: str) -> None:
    machine = slider(("plant: {", f"plant: {{integrator: {integrator}, "))
    simulator = moving(machine, [0.0], EFFORTS, [asked])
    simulator.integrate(100)
    given_effort = np.clip(asked, -50.0, 50.0)
    assert simulator.measured.effort[0] == given_effort
    assert simulator.v[0] == pytest.approx(given_effort / M * 0.1, rel=1e-9)


def test_friction_and_rotor_act_in_the_plant(slider: MakeSlider) -> None:
    machine = slider(("brake_force_N: 30", "viscous_N_s_m: 4, gear_rad_m: 10, rotor_inertia_kg_m2: 0.01"))
    simulator = moving(machine, [3.0])
    simulator.integrate(1000)
    assert simulator.v[0] == pytest.approx(3.0 * np.exp(-4.0 / (M + 0.01 * 10**2)), rel=1e-9)


def test_the_plant_may_differ_from_its_model() -> None:
    heavy = load("scara", ["lift_link.mass_kg=+100%"])
    simulator = moving(heavy, [0.0] * 4, EFFORTS, [0.0, 0.0, 0.0, 0.5 * G])
    simulator.integrate(100)
    assert simulator.v[3] == pytest.approx(-G / 2 * 0.1, rel=1e-9)


def test_substeps_make_the_period_finer(slider: MakeSlider) -> None:
    """A first-order fall in n steps is ahead of the parabola by g T²/2n."""
    for n in (1, 4):
        machine = slider(
            ("plant: {", f"plant: {{integrator: semi_implicit, substeps: {n}, "), axis="[0, 0, 1]"
        )
        simulator = moving(machine, [0.0])
        simulator.integrate()
        assert 0.25 - simulator.q[0] == pytest.approx(G * DT**2 / 2 * (1 + 1 / n), rel=1e-9)


def test_ideal_sensors_give_the_state_itself() -> None:
    simulator = moving(SCARA, [0.1, 0.2, 0.3, 0.0])
    simulator.integrate(10)
    assert simulator.measured.q.tobytes() == simulator.q.tobytes()
    assert simulator.measured.v.tobytes() == simulator.v.tobytes()


def test_an_encoder_has_steps_and_no_velocity_unless_the_file_says_so(slider: MakeSlider) -> None:
    machine = slider(("slide: {velocity: true}", "slide: {position: {resolution_m: 0.01}}"))
    simulator = moving(machine, [0.7])
    for _ in range(50):
        simulator.integrate()
        assert simulator.measured.q[0] == pytest.approx(0.01 * np.floor(simulator.q[0] / 0.01 + 0.5))
        assert simulator.measured.v[0] == 0.0


def test_noise_has_its_standard_deviation_and_its_seed(slider: MakeSlider) -> None:
    noisy = "slide: {position: {noise_m: 0.001}, velocity: true, velocity_noise_m_s: 0.02}"
    machine = slider(("slide: {velocity: true}", noisy))

    def record(seed: int) -> np.ndarray:
        simulator = Simulator(machine, seed)
        samples = []
        for _ in range(4000):
            simulator.integrate()
            samples.append([simulator.measured.q[0] - simulator.q[0], simulator.measured.v[0]])
        return np.array(samples)

    first = record(1)
    assert first.tobytes() == record(1).tobytes()
    assert first.tobytes() != record(2).tobytes()
    np.testing.assert_allclose(first.std(axis=0), [0.001, 0.02], rtol=0.06)
    assert np.all(np.abs(first.mean(axis=0)) <= [1e-4, 2e-3])


def test_the_same_commands_give_the_same_bits() -> None:
    def run() -> bytes:
        random = np.random.default_rng(5)
        simulator, bits = Simulator(SCARA), b""
        for k in range(400):
            simulator.latch(k % 3, random.uniform(-60, 60, 4))
            simulator.integrate()
            bits += simulator.q.tobytes() + simulator.v.tobytes()
        return bits

    assert run() == run()


def test_divergence_names_the_joint_and_the_remedy(slider: MakeSlider) -> None:
    simulator = moving(slider(), [1e308], EFFORTS, [50.0])
    with pytest.raises(SimulationDiverged, match=r"state of slide .*plant\.period_s"):
        simulator.integrate(2000)
