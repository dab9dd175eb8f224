"""M, h and constrained accelerations beside Pinocchio and MuJoCo: every machine that ships, random trees."""

import numpy as np
import pytest

from benchmarks.formulations import in_the_air
from linkwork.machine import load, shipped
from linkwork.multibody import functions
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.offline.run import simulate
from tests.multibody.machines import relative_error

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")
from tests.verification.elements import NotExpressible
from tests.verification.in_mujoco import InMujoco
from tests.verification.in_pinocchio import InPinocchio
from tests.verification.random_trees import compare_tree

TOLERANCE = 1e-9
MACHINES = sorted(shipped())
NOT_IN_MUJOCO = {"arm_6dof", "arm_6dof_simple", "slider_crank"}
"""Their bodies are a point, or a bar without thickness."""


def _states(name):
    """States along an unforced motion, on the manifold, touching nothing, with efforts."""
    machine = load(name)
    motion = simulate(machine, 0.6, every=50)
    rng = np.random.default_rng(7)
    states = [(q, v) for q, v in zip(motion.q[1:], motion.v[1:], strict=True) if in_the_air(machine, q)]
    assert states
    return [(q, v, rng.normal(size=len(v))) for q, v in states]


@pytest.mark.parametrize("name", MACHINES)
def test_machines_equal_pinocchio(name):
    mechanism = load(name).plant_mechanism
    other = InPinocchio(mechanism)
    for q, v, effort in _states(name):
        found = acceleration(mechanism, q, v, effort).vdot
        assert relative_error(found, other.acceleration(q, v, effort)) < TOLERANCE
        if name != "slider_crank":  # its mass is divided there
            assert relative_error(functions.mass_matrix(mechanism, q), other.mass_matrix(q)) < TOLERANCE
            h = np.append(functions.bias(mechanism, q, v), 1.0)
            assert relative_error(h, np.append(other.bias(q, v), 1.0)) < TOLERANCE


@pytest.mark.parametrize("name", sorted(set(MACHINES) - NOT_IN_MUJOCO))
def test_machines_equal_mujoco(name):
    mechanism = load(name).plant_mechanism
    other = InMujoco(mechanism)
    for q, v, _ in _states(name):
        mass, h = other.dynamics(q, v)
        assert relative_error(functions.mass_matrix(mechanism, q), mass) < TOLERANCE
        found = np.append(functions.bias(mechanism, q, v), 1.0)
        assert relative_error(found, np.append(h, 1.0)) < TOLERANCE


def test_the_others_are_not_expressible():
    for name in NOT_IN_MUJOCO:
        with pytest.raises(NotExpressible):
            InMujoco(load(name).plant_mechanism)


@pytest.mark.parametrize("seed", range(40))
def test_random_trees_equal_both(seed):
    assert compare_tree(seed) < TOLERANCE
