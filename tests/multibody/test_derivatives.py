"""Every Jacobian and every rate against finite differences."""

import numpy as np
import pytest

from linkwork.multibody import Body, Coordinate, Joint, Mechanism, Point, functions
from tests.multibody.finite_differences import derivative, jacobian
from tests.multibody.machines import random_state, random_tree, relative_error

TOLERANCE = 1e-8
KINDS = ("revolute", "prismatic", "screw", "fixed")


def _tame(rng: np.random.Generator) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """A tree and a state at which the pitch of the tip is well away from ±90°."""
    while True:
        mechanism = random_tree(rng, int(rng.integers(2, 10)), KINDS)
        q, v = random_state(rng, mechanism)
        pitch = functions.coordinate_values(mechanism, q)[mechanism.coordinate_index("tip_pitch")]
        if abs(pitch) < 1.2:
            return mechanism, q, v


@pytest.mark.parametrize("seed", range(15))
def test_coordinates(seed):
    mechanism, q, v = _tame(np.random.default_rng(seed))
    wraps = mechanism.coordinate_wraps
    a = np.random.default_rng(seed + 1000).normal(size=mechanism.nv)

    def theta(x: np.ndarray) -> np.ndarray:
        return functions.coordinate_values(mechanism, x)

    def rate(t: float) -> np.ndarray:
        return functions.coordinate_jacobian(mechanism, q + t * v + 0.5 * t * t * a) @ (v + t * a)

    j = functions.coordinate_jacobian(mechanism, q)
    acceleration = j @ a + functions.coordinate_rate(mechanism, q, v)
    assert relative_error(j, jacobian(theta, q, wraps)) < TOLERANCE
    assert relative_error(acceleration, derivative(rate)) < TOLERANCE


@pytest.mark.parametrize("seed", range(15))
def test_points(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, int(rng.integers(2, 10)), KINDS)
    q, v = random_state(rng, mechanism)
    for name in mechanism.point_names:
        j = functions.point_jacobian(mechanism, name, q)
        expected = jacobian(lambda x, name=name: functions.point_position(mechanism, name, x), q)
        assert np.abs(j[3:] - expected).max() < TOLERANCE * max(1.0, np.abs(expected).max())
        rate = derivative(lambda t, name=name: functions.point_jacobian(mechanism, name, q + t * v) @ v)
        found = functions.point_jacobian_rate(mechanism, name, q, v)
        assert np.abs(found - rate).max() < TOLERANCE * max(1.0, np.abs(rate).max())


@pytest.mark.parametrize("seed", range(10))
def test_gravity_is_the_gradient_of_potential_energy(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 7, KINDS)
    q, _ = random_state(rng, mechanism)
    gradient = jacobian(lambda x: np.array(functions.potential_energy(mechanism, x)), q)
    assert relative_error(functions.bias(mechanism, q, np.zeros(mechanism.nv)), gradient) < TOLERANCE


@pytest.mark.parametrize("seed", range(10))
def test_coriolis_terms_follow_from_the_mass_matrix_by_lagrange(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 6, KINDS)
    q, v = random_state(rng, mechanism)
    # d/dt (M v) - dT/dq + dU/dq at v̇ = 0
    mdot_v = derivative(lambda t: functions.mass_matrix(mechanism, q + t * v)) @ v
    energy_gradient = jacobian(lambda x: np.array(functions.kinetic_energy(mechanism, x, v)), q)
    gravity = functions.bias(mechanism, q, np.zeros(mechanism.nv))
    expected = mdot_v - energy_gradient + gravity
    assert relative_error(functions.bias(mechanism, q, v), expected) < TOLERANCE


def _gimbal(point_body: str = "c") -> Mechanism:
    """Yaw, pitch and roll joints in that order, so that the coordinates are the joints'."""
    ball = Body("c", 1.0, (0.0, 0.0, 0.0), np.eye(3))
    return Mechanism.build(
        [Body("a"), Body("b"), ball],
        [
            Joint("yaw_joint", "revolute", "world", "a", axis=(0, 0, 1)),
            Joint("pitch_joint", "revolute", "a", "b", axis=(0, 1, 0)),
            Joint("roll_joint", "revolute", "b", "c", axis=(1, 0, 0)),
        ],
        (0, 0, 0),
        [Point("p", point_body, (0.1, 0.2, 0.3))],
        [Coordinate(kind, kind, "p") for kind in ("yaw", "pitch", "roll", "x")],
    )


def test_angles_are_three_two_one():
    mechanism, rng = _gimbal(), np.random.default_rng(3)
    for _ in range(50):
        q = rng.uniform([-3.1, -1.5, -3.1], [3.1, 1.5, 3.1])
        theta = functions.coordinate_values(mechanism, q)
        assert np.abs(theta[3:6] - q).max() < 1e-12
        assert np.abs(functions.coordinate_jacobian(mechanism, q)[3:6] - np.eye(3)).max() < 1e-12 / np.cos(
            q[1]
        )
        rate = functions.coordinate_rate(mechanism, q, rng.normal(size=3))[3:6]
        assert np.abs(rate).max() < 1e-10 / np.cos(q[1]) ** 2


def test_angles_without_a_gradient_are_reported_as_not_a_number():
    mechanism = _gimbal()
    q = np.array([0.3, np.pi / 2, 0.1])
    j = functions.coordinate_jacobian(mechanism, q)
    assert np.isnan(j[3:6]).all()
    assert np.isfinite(j[[0, 1, 2, 6]]).all()
    assert np.isfinite(functions.coordinate_values(mechanism, q)).all()
    assert functions.coordinate_values(mechanism, q)[4] == pytest.approx(np.pi / 2, abs=1e-7)


def test_a_point_of_the_world_stands_still():
    mechanism = _gimbal("world")
    q, v = np.array([0.3, 0.2, 0.1]), np.ones(3)
    theta = functions.coordinate_values(mechanism, q)
    assert theta[3:].tolist() == [0.0, 0.0, 0.0, 0.1]
    assert not functions.coordinate_jacobian(mechanism, q)[3:].any()
    assert not functions.coordinate_rate(mechanism, q, v)[3:].any()
    assert functions.point_position(mechanism, "p", q).tolist() == [0.1, 0.2, 0.3]
    assert not functions.point_velocity(mechanism, "p", q, v).any()
    assert not functions.point_jacobian(mechanism, "p", q).any()
