"""Rotations: ways there and back, degenerate poses, rates against differences."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linkwork.machine.sections.orientation import rotation_of
from linkwork.multibody.tree import orientations as o
from linkwork.multibody.tree import quaternions as quat
from tests.multibody.finite_differences import derivative

angle = st.floats(-math.pi, math.pi)
triple = st.tuples(angle, angle, angle).map(np.array)
part = st.floats(-1.0, 1.0)
quaternion = (
    st.tuples(part, part, part, part)
    .map(np.array)
    .filter(lambda q: np.linalg.norm(q) > 0.1)
    .map(quat.normalised)
)

FORMS = {
    "321": (lambda angles: rotation_of(*angles[::-1]), o.to_angles_321),
    "vector": (o.from_rotation_vector, o.to_rotation_vector),
}
forms = pytest.mark.parametrize("form", FORMS)


def _is_rotation(r) -> bool:
    return bool(np.abs(r.T @ r - np.eye(3)).max() < 1e-14 and abs(np.linalg.det(r) - 1.0) < 1e-14)


@given(quaternion)
def test_quaternions_to_matrices_and_back(q):
    back = quat.from_matrix(quat.to_matrix(q))
    assert back[0] >= 0.0
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 2e-15


@pytest.mark.parametrize("q", [np.zeros(4), [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]])
def test_a_quaternion_without_direction_is_refused(q):
    with pytest.raises(ValueError, match="needs a direction"):
        quat.to_matrix(q)


@forms
@given(data=st.data())
def test_every_rotation_is_reproduced_from_its_angles(form, data):
    make, read = FORMS[form]
    rotation = quat.to_matrix(data.draw(quaternion))
    assert make(read(rotation)) == pytest.approx(rotation, abs=1e-9)
    assert _is_rotation(make(data.draw(triple)))


@forms
@given(angles=triple)
def test_angles_away_from_lost_poses_come_back(form, angles):
    make, read = FORMS[form]
    if form == "321":
        angles = angles * [1.0, 0.5, 1.0]
        assume(math.cos(angles[1]) > 1e-3)
    else:
        assume(1e-9 < np.linalg.norm(angles) < math.pi - 1e-3)
    change = read(make(angles)) - angles
    assert np.abs((change + math.pi) % (2 * math.pi) - math.pi).max() < 1e-12


@given(angles=triple, rates=triple)
def test_rates_of_the_angles_give_the_angular_velocity(angles, rates):
    make, _ = FORMS["321"]
    turning = derivative(lambda t: make(angles + t * rates))
    assert turning == pytest.approx(o.hat(o.angles_321_rates(angles) @ rates) @ make(angles), abs=1e-8)


@given(triple)
def test_rates_are_lost_where_the_pitch_is_upright(angles):
    assert np.linalg.det(o.angles_321_rates(angles)) == pytest.approx(-math.cos(angles[1]), abs=1e-15)


@given(st.sampled_from([-1.0, 1.0]), angle, angle)
def test_degenerate_321_keeps_the_rotation(sign, yaw, roll):
    rotation = rotation_of(roll, sign * math.pi / 2.0, yaw)
    read = o.to_angles_321(rotation)
    assert read[0] == 0.0
    assert read[1] == pytest.approx(sign * math.pi / 2.0)
    assert rotation_of(*read[::-1]) == pytest.approx(rotation, abs=1e-14)


@pytest.mark.parametrize("size", [0.00999, 0.01001])
def test_series_and_closed_forms_of_small_rotations_agree(size):
    phi = size * np.array([0.6, 0.0, 0.8])
    series = sum(np.linalg.matrix_power(o.hat(phi), k) / math.factorial(k) for k in range(8))
    assert o.from_rotation_vector(phi) == pytest.approx(series, abs=1e-15)


def test_no_turn_and_half_turns():
    assert o.to_rotation_vector(np.eye(3)) == pytest.approx(np.zeros(3), abs=0)
    for axis in (*np.eye(3), np.array([0.6, 0.0, -0.8])):
        half = 2.0 * np.outer(axis, axis) - np.eye(3)
        assert np.linalg.norm(o.to_rotation_vector(half)) == pytest.approx(math.pi)
        assert o.from_rotation_vector(o.to_rotation_vector(half)) == pytest.approx(half, abs=1e-15)
