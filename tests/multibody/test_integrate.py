"""Steps of time: order of convergence, conserved energy, work of efforts, friction, and no allocation."""

import numpy as np
import pytest

from linkwork.multibody import Mechanism, Workspace
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy, forward_dynamics
from linkwork.multibody.steps.integrate import rk4, semi_implicit
from linkwork.multibody.tree.coordinates import coordinates
from tests.multibody.machines import G, pendulum, random_state, random_tree, scara


def _run(mechanism: Mechanism, step, dt: float, steps: int, q, v) -> Workspace:
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    for _ in range(steps):
        step(*w.arguments, dt)
    dynamics(*w.arguments)
    energy(*w.arguments)
    return w


@pytest.mark.parametrize(("step", "order"), [(rk4, 4), (semi_implicit, 1)])
def test_order_of_convergence(step, order):
    mechanism, q, v = scara(), np.array([0.5, -1.0, 0.4, 0.0]), np.array([1.0, 2.0, -1.0, 0.1])
    exact = _run(mechanism, rk4, 1e-4, 4000, q, v)
    errors = []
    for steps in (40, 80):
        w = _run(mechanism, step, 0.4 / steps, steps, q, v)
        errors.append(np.abs(np.concatenate([w.q - exact.q, w.v - exact.v])).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)


def test_energy_of_a_free_tree_is_constant_to_the_order_of_the_integrator():
    rng = np.random.default_rng(5)
    mechanism = random_tree(rng, 4, ("revolute",))
    q, v = random_state(rng, mechanism)
    start = _run(mechanism, rk4, 0.0, 0, q, v).energy.sum()
    drifts = [
        abs(_run(mechanism, rk4, 0.2 / steps, steps, q, v).energy.sum() - start) for steps in (100, 200)
    ]
    assert drifts[0] / drifts[1] > 2**3.7
    assert drifts[1] < 1e-6 * abs(start)


def test_the_symplectic_step_keeps_the_energy_of_a_pendulum_bounded():
    mechanism = pendulum()
    w = mechanism.workspace()
    w.q[:] = 1.0
    totals = []
    for _ in range(20000):
        semi_implicit(*w.arguments, 5e-3)
        dynamics(*w.arguments)
        energy(*w.arguments)
        totals.append(w.energy.sum())
    first, last = np.array(totals[:2000]), np.array(totals[-2000:])
    assert np.ptp(last) < 1.05 * np.ptp(first)
    assert abs(last.mean() - first.mean()) < 0.02 * np.ptp(first)


def test_the_work_of_the_effort_becomes_energy():
    mechanism, dt, steps = scara(), 1e-3, 500
    w = mechanism.workspace()
    w.q[:], w.effort[:] = [0.5, -1.0, 0.4, 0.0], [3.0, -2.0, 0.5, 6.0]
    dynamics(*w.arguments)
    energy(*w.arguments)
    start_energy, start_q = w.energy.sum(), w.q.copy()
    for _ in range(steps):
        rk4(*w.arguments, dt)
    dynamics(*w.arguments)
    energy(*w.arguments)
    assert w.energy.sum() - start_energy == pytest.approx(w.effort @ (w.q - start_q), rel=1e-8)


def test_a_small_pendulum_swings_with_its_period():
    length = 0.7
    mechanism = pendulum(length)
    period = 2 * np.pi * np.sqrt(length / G)
    w = mechanism.workspace()
    w.q[:] = 1e-4
    for _ in range(1000):
        rk4(*w.arguments, period / 1000)
    assert w.q[0] == pytest.approx(1e-4, rel=1e-7)
    assert abs(w.v[0]) < 1e-10


def test_viscous_friction_decays_as_its_closed_form():
    mass, length, viscous = 1.3, 0.7, 0.4
    mechanism = pendulum(length, mass, viscous=viscous, armature=0.2)
    w = mechanism.workspace()
    w.q[:] = 1e-6
    inertia = mass * length**2 + 0.2
    damping, stiffness = viscous / inertia, mass * G * length / inertia
    frequency = np.sqrt(stiffness - 0.25 * damping**2)
    t = 2.0
    for _ in range(2000):
        rk4(*w.arguments, t / 2000)
    swing = np.cos(frequency * t) + 0.5 * damping / frequency * np.sin(frequency * t)
    assert w.q[0] == pytest.approx(1e-6 * np.exp(-0.5 * damping * t) * swing, rel=1e-8)


def test_friction_opposes_velocity_and_takes_power():
    mechanism = pendulum(viscous=0.5, coulomb=2.0, coulomb_speed=0.01)
    w = mechanism.workspace()
    for speed in (-3.0, -1e-3, 0.0, 1e-3, 3.0):
        w.v[:] = speed
        forward_dynamics(*w.arguments)
        expected = -0.5 * speed - 2.0 * np.tanh(speed / 0.01)
        assert w.friction[0] == pytest.approx(expected, rel=1e-15)
        assert w.friction[0] * speed <= 0.0


def test_kernels_allocate_nothing(allocations):
    mechanism = scara()
    w = mechanism.workspace()
    w.q[:], w.v[:] = [0.5, -1.0, 0.4, 0.0], [1.0, 2.0, -1.0, 0.1]
    for step in (rk4, semi_implicit):
        assert allocations(step, *w.arguments, 1e-3) == 0
    for kernel in (coordinates, energy):
        assert allocations(kernel, *w.arguments) == 0
