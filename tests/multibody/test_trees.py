"""Random trees against Pinocchio and MuJoCo, and invariances of the description itself."""

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, functions
from linkwork.multibody.dynamics.tree_dynamics import forward_dynamics, solve_mass
from tests.multibody.machines import random_rotation, random_state, random_tree, relative_error
from tests.multibody.oracles.mujoco_model import MujocoModel
from tests.multibody.oracles.pinocchio_model import PinocchioModel

TOLERANCE = 1e-12
KINDS = ("revolute", "prismatic", "fixed", "revolute")


@pytest.mark.parametrize("seed", range(40))
def test_trees_equal_pinocchio(seed):
    rng = np.random.default_rng(seed)
    kinds = KINDS if seed < 25 else (*KINDS, "spherical", "spherical")
    mechanism = random_tree(rng, int(rng.integers(1, 14)), kinds)
    oracle = PinocchioModel(mechanism)
    for _ in range(4):
        q, v = random_state(rng, mechanism)
        assert relative_error(functions.mass_matrix(mechanism, q), oracle.mass_matrix(q)) < TOLERANCE
        assert relative_error(functions.bias(mechanism, q, v), oracle.bias(q, v)) < TOLERANCE
        for name in mechanism.point_names:
            position, jacobian, rate = oracle.point(name, q, v)
            assert relative_error(functions.point_position(mechanism, name, q), position) < TOLERANCE
            found = functions.point_jacobian(mechanism, name, q)
            assert np.abs(found - jacobian).max() < TOLERANCE * max(1.0, np.abs(jacobian).max())
            found = functions.point_jacobian_rate(mechanism, name, q, v)
            assert np.abs(found - rate).max() < TOLERANCE * max(1.0, np.abs(rate).max())
            velocity = functions.point_velocity(mechanism, name, q, v)
            assert np.abs(velocity - (jacobian @ v)[3:]).max() < TOLERANCE * max(1.0, np.abs(velocity).max())


@pytest.mark.parametrize("seed", range(10))
def test_trees_equal_mujoco(seed):
    rng = np.random.default_rng(100 + seed)
    mechanism = random_tree(rng, int(rng.integers(1, 12)), KINDS)
    oracle = MujocoModel(mechanism)
    for _ in range(4):
        q, v = random_state(rng, mechanism)
        mass_matrix, bias = oracle.dynamics(q, v)
        assert relative_error(functions.mass_matrix(mechanism, q), mass_matrix) < 1e-11
        assert relative_error(functions.bias(mechanism, q, v), bias) < 1e-11


@pytest.mark.parametrize("seed", range(5))
def test_inverse_dynamics_undoes_forward_dynamics(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 9, ("revolute", "prismatic", "screw"))
    q, v = random_state(rng, mechanism)
    effort = rng.normal(size=mechanism.nv)
    vdot = functions.forward_dynamics(mechanism, q, v, effort)
    assert np.abs(functions.inverse_dynamics(mechanism, q, v, vdot) - effort).max() < 1e-10


def test_the_order_of_joints_is_the_order_of_coordinates():
    rng = np.random.default_rng(7)
    mechanism = random_tree(rng, 8)
    order = rng.permutation(8)
    shuffled = Mechanism.build(mechanism.bodies, [mechanism.joints[i] for i in order], mechanism.gravity_m_s2)
    q, v = random_state(rng, mechanism)
    assert shuffled.joint_names == tuple(mechanism.joint_names[i] for i in order)
    expected = functions.mass_matrix(mechanism, q)[np.ix_(order, order)]
    assert relative_error(functions.mass_matrix(shuffled, q[order]), expected) < TOLERANCE
    expected = functions.bias(mechanism, q, v)[order]
    assert relative_error(functions.bias(shuffled, q[order], v[order]), expected) < TOLERANCE


def test_a_machine_far_from_the_origin_keeps_its_accuracy():
    rng = np.random.default_rng(8)
    near = random_tree(rng, 4, serial=True, armature=False)
    first = near.joints[0]
    moved = Joint(
        first.name, first.kind, "world", first.child,
        at_m=np.add(first.at_m, (1e3, -2e3, 500.0)), rotation=first.rotation, axis=first.axis,
    )  # fmt: skip
    far = Mechanism.build(near.bodies, [moved, *near.joints[1:]], near.gravity_m_s2)
    q, v = random_state(rng, near)
    assert relative_error(functions.mass_matrix(far, q), functions.mass_matrix(near, q)) < 1e-11
    assert relative_error(functions.bias(far, q, v), functions.bias(near, q, v)) < 1e-11


def test_a_body_cut_in_two_and_welded_again_is_the_same_body():
    rng = np.random.default_rng(9)
    r, p = random_rotation(rng), rng.normal(size=3)
    offset: Floats = rng.normal(size=3)
    half = np.diag([0.3, 0.4, 0.5])

    def build(bodies: list[Body], welds: list[Joint]) -> Mechanism:
        hinge = Joint("hinge", "revolute", "world", "a", axis=(1.0, 2.0, 3.0))
        return Mechanism.build(bodies, [*welds, hinge], (1.0, -2.0, 3.0))

    welded = build(
        [Body("a", 1.0, (0.1, 0.0, 0.0), half), Body("b", 2.0, offset, half)],
        [Joint("weld", "fixed", "a", "b", at_m=p, rotation=r)],
    )
    centre = p + r @ offset
    com = (np.array([0.1, 0.0, 0.0]) + 2.0 * centre) / 3.0

    def about(inertia: Floats, mass: float, c: Floats) -> Floats:
        d = c - com
        return inertia + mass * ((d @ d) * np.eye(3) - np.outer(d, d))

    inertia = about(half, 1.0, np.array([0.1, 0.0, 0.0])) + about(r @ half @ r.T, 2.0, centre)
    whole = build([Body("a", 3.0, com, 0.5 * (inertia + inertia.T))], [])
    q, v = np.array([0.7]), np.array([1.3])
    assert welded.nv == 1
    assert relative_error(functions.mass_matrix(welded, q), functions.mass_matrix(whole, q)) < TOLERANCE
    assert relative_error(functions.bias(welded, q, v), functions.bias(whole, q, v)) < TOLERANCE
    assert functions.potential_energy(welded, q) == pytest.approx(functions.potential_energy(whole, q))


@pytest.mark.parametrize("seed", range(20))
def test_the_mass_matrix_is_solved_along_the_tree(seed):
    """Branches and quaternions; no entry appears between links that do not carry one another."""
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, int(rng.integers(1, 20)), (*KINDS, "spherical"))
    q, v = random_state(rng, mechanism)
    w = mechanism.workspace()
    w.q[:], w.v[:], w.effort[:] = q, v, rng.normal(size=mechanism.nv)
    forward_dynamics(*w.arguments)
    mass = functions.mass_matrix(mechanism, q)
    expected = np.linalg.solve(mass, w.effort + w.friction - w.h)
    assert relative_error(w.vdot, expected) < 1e-10
    x = rng.normal(size=mechanism.nv)
    found = x.copy()
    solve_mass(*w.arguments, found)
    assert relative_error(found, np.linalg.solve(mass, x)) < 1e-10
    root = w.factor
    assert not root[mass == 0.0].any()
    assert relative_error(root.T @ root, mass) < TOLERANCE


def test_a_singular_mass_matrix_gives_no_acceleration():
    machine = random_tree(np.random.default_rng(3), 4, ("revolute",))
    w = machine.workspace()
    m = machine.model
    nothing = m.changed({name: np.zeros_like(getattr(m, name)) for name in ("mass", "inertia", "armature")})
    forward_dynamics(nothing, w)
    assert np.isnan(w.vdot).all()
