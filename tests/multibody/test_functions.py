"""The plain functions: shapes, names, refusals."""

import numpy as np
import pytest

from linkwork.multibody import ModelError, functions
from tests.multibody.machines import G, pendulum, scara


def test_shapes():
    m, q, v = scara(), np.zeros(4), np.ones(4)
    assert functions.mass_matrix(m, q).shape == (4, 4)
    assert functions.bias(m, q, v).shape == functions.friction(m, q, v).shape == (4,)
    assert functions.forward_dynamics(m, q, v, np.zeros(4)).shape == (4,)
    assert functions.coordinate_values(m, q).shape == functions.coordinate_rate(m, q, v).shape == (8,)
    assert functions.coordinate_jacobian(m, q).shape == (8, 4)
    assert functions.point_jacobian(m, "tool", q).shape == (6, 4)
    assert functions.point_jacobian_rate(m, "tool", q, v).shape == (6,)


def test_energies_of_a_pendulum():
    m = pendulum(length=0.5, mass=2.0, armature=0.1)
    assert functions.potential_energy(m, [0.0]) == pytest.approx(-2.0 * G * 0.5)
    assert functions.potential_energy(m, [np.pi]) == pytest.approx(2.0 * G * 0.5)
    assert functions.kinetic_energy(m, [0.3], [2.0]) == pytest.approx(0.5 * (2.0 * 0.25 + 0.1) * 4.0)


def test_friction_is_part_of_forward_and_inverse_dynamics():
    m = pendulum(viscous=0.3)
    free = functions.forward_dynamics(pendulum(), [0.2], [1.5], [0.0])
    braked = functions.forward_dynamics(m, [0.2], [1.5], [0.0])
    assert (functions.mass_matrix(m, [0.2]) @ (free - braked))[0] == pytest.approx(0.3 * 1.5)
    assert functions.inverse_dynamics(m, [0.2], [1.5], free)[0] == pytest.approx(0.3 * 1.5)


def test_wrong_lengths_and_names_are_refused():
    m = scara()
    with pytest.raises(ValueError, match=r"q has shape \(3,\), but this mechanism needs \(4,\)"):
        functions.mass_matrix(m, [0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="v has shape"):
        functions.bias(m, np.zeros(4), 0.0)
    with pytest.raises(ModelError, match="known: tool"):
        functions.point_position(m, "elbow", np.zeros(4))
