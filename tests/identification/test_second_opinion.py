"""The nearest bodies that exist, beside the same convex problem solved by an interior-point method."""

import cvxpy as cp
import numpy as np
import pytest

from linkwork.identification.base_parameters import structural_base_parameters
from linkwork.identification.physical_bodies import (
    _FLOOR,
    FILE_UNCERTAINTY,
    body_size,
    physical_fit,
    pseudo_inertia,
    ten_parameters,
)
from linkwork.identification.regressor import PER_BODY
from linkwork.machine import load

UNITS = [pseudo_inertia(each) for each in np.eye(PER_BODY)]
"""Pseudo-inertia is linear in the ten parameters."""


@pytest.mark.parametrize(
    ("name", "shift"),
    [("five_bar", 0.2), ("scara", 0.2), pytest.param("five_bar", 1.5, marks=pytest.mark.slow)],
)
def test_an_interior_point_method_finds_the_same_bodies(name: str, shift: float):
    """shift: of the wanted base parameters, in shares of the file's; with 1.5 no bodies have them."""
    machine = load(name)
    base = structural_base_parameters(machine)
    file = np.array([each.value for each in base.parameters])
    rng = np.random.default_rng(5)
    own = base.matrix @ file
    usual = np.maximum(np.abs(own), 0.1 * np.abs(own).max())
    wanted = own + shift * usual * rng.uniform(-1.0, 1.0, len(own))
    information = np.diag(1.0 / (0.02 * usual))

    floored, bodies = [], []
    theta = cp.Variable(len(file))
    cost = cp.sum_squares(information @ (base.matrix @ theta - wanted))
    for k, body in enumerate(machine.mechanism.bodies):
        ten = slice(PER_BODY * k, PER_BODY * k + PER_BODY)
        pseudo = pseudo_inertia(file[ten])
        centre, radius = body_size(machine.mechanism, body.name)
        pseudo[:3, :3] += _FLOOR * body.mass_kg * radius**2 * np.eye(3)
        root = np.linalg.inv(np.linalg.cholesky(pseudo))
        relative = sum(theta[ten][j] * (root @ unit @ root.T) for j, unit in enumerate(UNITS))
        cost += 2.0 / FILE_UNCERTAINTY**2 * (cp.trace(relative) - cp.log_det(relative) - 4.0)
        floored.append(ten_parameters(pseudo[None])[0])
        bodies.append((ten, centre, radius))
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"

    found = physical_fit(
        machine.mechanism, base.parameters, base.matrix, wanted, information, np.ones(len(file))
    )
    for ten, centre, radius in bodies:  # the size limit, which is not part of the other problem, rests
        about = np.trace(pseudo_inertia(theta.value[ten])[:3, :3]) - 2.0 * centre @ theta.value[ten][1:4]
        mass = theta.value[ten][0]
        assert about + mass * centre @ centre < mass * radius**2
    sizes = np.concatenate([np.maximum(np.abs(each), 0.01 * np.abs(each).max()) for each in floored])
    theirs = theta.value
    theta.value = found.values
    assert cost.value <= problem.value * (1.0 + 1e-3) + 1e-3
    assert np.abs((found.values - theirs) / sizes).max() < 2e-2
