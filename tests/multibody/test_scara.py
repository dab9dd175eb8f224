"""The recursion against the SCARA's closed forms and against products of exponentials."""

import numpy as np
import pytest

from linkwork.multibody import functions
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.coordinates import coordinates
from tests.multibody.finite_differences import wrapped
from tests.multibody.machines import random_state, random_tree, relative_error, scara
from tests.multibody.oracles import scara_closed_form as closed
from tests.multibody.oracles.products_of_exponentials import ExponentialChain

TOLERANCE = 1e-12


def test_everything_equals_the_closed_forms_at_a_thousand_states():
    mechanism, rng = scara(), np.random.default_rng(1)
    w = mechanism.workspace()
    for _ in range(1000):
        w.q[:], w.v[:] = random_state(rng, mechanism)
        dynamics(*w.arguments)
        coordinates(*w.arguments)
        expected = closed.coriolis(w.q, w.v) @ w.v + closed.gravity()
        assert relative_error(w.M, closed.mass_matrix(w.q)) < TOLERANCE
        assert relative_error(w.h, expected) < TOLERANCE
        assert relative_error(w.theta[:4], w.q) == 0.0
        tool = closed.tool(w.q)
        assert relative_error(w.theta[4:7], tool[:3]) < TOLERANCE
        assert abs(wrapped(w.theta[7] - tool[3])) < TOLERANCE
        assert relative_error(w.J[:4], np.eye(4)) == 0.0
        assert relative_error(w.J[4:], closed.tool_jacobian(w.q)) < TOLERANCE
        assert relative_error(w.Jdv[4:], closed.tool_jacobian_rate(w.q, w.v)) < TOLERANCE
        assert relative_error(w.point_position[0], tool[:3]) < TOLERANCE
        assert relative_error(w.point_velocity[0], closed.tool_jacobian(w.q)[:3] @ w.v) < TOLERANCE


@pytest.mark.slow
def test_scara_equals_products_of_exponentials_at_a_thousand_states():
    mechanism, rng = scara(), np.random.default_rng(2)
    chain, w = ExponentialChain(mechanism), mechanism.workspace()
    for _ in range(1000):
        w.q[:], w.v[:] = random_state(rng, mechanism)
        dynamics(*w.arguments)
        assert relative_error(w.M, chain.mass_matrix(w.q)) < TOLERANCE
        assert relative_error(w.h, chain.bias(w.q, w.v)) < TOLERANCE
        assert relative_error(w.point_position[0], chain.pose(w.q, 3)[:3, 3]) < TOLERANCE


@pytest.mark.parametrize("seed", range(20))
def test_chains_of_all_joints_equal_products_of_exponentials(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, int(rng.integers(1, 6)), ("revolute", "prismatic", "screw"), serial=True)
    chain = ExponentialChain(mechanism)
    q, v = random_state(rng, mechanism)
    last = len(mechanism.bodies) - 1
    frame = chain.frames[last].copy()
    frame[:3, 3] += frame[:3, :3] @ np.asarray(mechanism.points[0].at_m)
    pose = chain._motion(q, 0, last) @ frame
    body_jacobian = chain.body_jacobian(q, last, frame)
    expected = np.vstack([pose[:3, :3] @ body_jacobian[3:], pose[:3, :3] @ body_jacobian[:3]])
    assert relative_error(functions.mass_matrix(mechanism, q), chain.mass_matrix(q)) < TOLERANCE
    assert relative_error(functions.bias(mechanism, q, v), chain.bias(q, v)) < 10 * TOLERANCE
    assert relative_error(functions.point_position(mechanism, "tip", q), pose[:3, 3]) < TOLERANCE
    assert relative_error(functions.point_jacobian(mechanism, "tip", q), expected) < TOLERANCE
