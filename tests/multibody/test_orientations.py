"""Rotations: group axioms, ways there and back, degenerate poses, rates against differences."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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
    "zyz": (o.from_zyz, o.to_zyz, o.zyz_rates),
    "321": (o.from_angles_321, o.to_angles_321, o.angles_321_rates),
    "vector": (o.from_rotation_vector, o.to_rotation_vector, o.rotation_vector_rates),
}
forms = pytest.mark.parametrize("form", FORMS)


def _is_rotation(r) -> bool:
    return bool(np.abs(r.T @ r - np.eye(3)).max() < 1e-14 and abs(np.linalg.det(r) - 1.0) < 1e-14)


@given(quaternion, quaternion, quaternion)
def test_quaternions_are_a_group_that_maps_onto_the_rotations(p, q, r):
    associated = quat.multiply(quat.multiply(p, q), r)
    assert associated == pytest.approx(quat.multiply(p, quat.multiply(q, r)), abs=1e-15)
    assert quat.multiply(p, quat.IDENTITY) == pytest.approx(p, abs=0)
    assert quat.multiply(quat.IDENTITY, p) == pytest.approx(p, abs=0)
    assert quat.multiply(p, quat.inverse(p)) == pytest.approx(quat.IDENTITY, abs=1e-15)
    assert quat.to_matrix(quat.multiply(p, q)) == pytest.approx(
        quat.to_matrix(p) @ quat.to_matrix(q), abs=1e-14
    )
    assert quat.to_matrix(quat.inverse(p)) == pytest.approx(quat.to_matrix(p).T, abs=1e-15)
    assert quat.to_matrix(-p) == pytest.approx(quat.to_matrix(p), abs=0)
    assert _is_rotation(quat.to_matrix(p))


@given(quaternion)
def test_quaternions_to_matrices_and_back(q):
    back = quat.from_matrix(quat.to_matrix(q))
    assert back[0] >= 0.0
    assert min(np.abs(back - q).max(), np.abs(back + q).max()) < 2e-15


@given(quaternion, triple)
def test_the_quaternion_s_rate_is_that_of_its_rotation(q, omega):
    assert quat.angular_velocity(q, quat.rate(q, omega)) == pytest.approx(omega, abs=1e-14)
    turning = derivative(lambda t: quat.to_matrix(q + t * quat.rate(q, omega)))
    assert turning == pytest.approx(o.hat(omega) @ quat.to_matrix(q), abs=1e-9)


@pytest.mark.parametrize("q", [np.zeros(4), [np.nan, 0, 0, 0], [np.inf, 0, 0, 0]])
def test_a_quaternion_without_direction_is_refused(q):
    with pytest.raises(ValueError, match="needs a direction"):
        quat.to_matrix(q)


@forms
@given(data=st.data())
def test_every_rotation_is_reproduced_from_its_angles(form, data):
    make, read, _ = FORMS[form]
    rotation = quat.to_matrix(data.draw(quaternion))
    assert make(read(rotation)) == pytest.approx(rotation, abs=1e-9)
    assert _is_rotation(make(data.draw(triple)))


@forms
@given(angles=triple)
def test_angles_away_from_lost_poses_come_back(form, angles):
    make, read, _ = FORMS[form]
    if form == "zyz":
        angles = np.array([angles[0], abs(angles[1]), angles[2]])
        assume(math.sin(angles[1]) > 1e-3)
    elif form == "321":
        angles = angles * [1.0, 0.5, 1.0]
        assume(math.cos(angles[1]) > 1e-3)
    else:
        assume(1e-9 < np.linalg.norm(angles) < math.pi - 1e-3)
    change = read(make(angles)) - angles
    assert np.abs((change + math.pi) % (2 * math.pi) - math.pi).max() < 1e-12


@forms
@given(angles=triple, rates=triple)
def test_rates_of_the_angles_give_the_angular_velocity(form, angles, rates):
    make, _, matrix = FORMS[form]
    turning = derivative(lambda t: make(angles + t * rates))
    assert turning == pytest.approx(o.hat(matrix(angles) @ rates) @ make(angles), abs=1e-8)


@given(triple)
def test_rates_are_lost_where_the_form_says(angles):
    assert np.linalg.det(o.zyz_rates(angles)) == pytest.approx(-math.sin(angles[1]), abs=1e-15)
    assert np.linalg.det(o.angles_321_rates(angles)) == pytest.approx(-math.cos(angles[1]), abs=1e-15)


@given(angle, angle)
def test_degenerate_zyz_keeps_the_sum_or_the_difference(alpha, gamma):
    """Xu & Liu 2017, (45) and (46): α = 0 by choice."""
    together, apart = o.to_zyz(o.from_zyz([alpha, 0.0, gamma])), o.to_zyz(o.from_zyz([alpha, math.pi, gamma]))
    assert tuple(together[:2]) == (0.0, 0.0)
    assert tuple(apart[:2]) == (0.0, math.pi)
    assert math.cos(together[2] - (alpha + gamma)) == pytest.approx(1.0, abs=1e-15)
    assert math.cos(apart[2] - (gamma - alpha)) == pytest.approx(1.0, abs=1e-15)


@given(st.sampled_from([-1.0, 1.0]), angle, angle)
def test_degenerate_321_keeps_the_rotation(sign, yaw, roll):
    rotation = o.from_angles_321([yaw, sign * math.pi / 2.0, roll])
    read = o.to_angles_321(rotation)
    assert read[0] == 0.0
    assert read[1] == pytest.approx(sign * math.pi / 2.0)
    assert o.from_angles_321(read) == pytest.approx(rotation, abs=1e-14)


def test_scara_s_tool_in_zyz_is_its_yaw():
    """Its tool only turns about z: β = 0, and γ is the sum of the three angles."""
    assert o.to_zyz(o.about_z(0.5) @ o.about_z(-1.0) @ o.about_z(0.4)) == pytest.approx([0, 0, -0.1])


@given(triple, st.floats(1e-12, 3.0))
def test_axis_and_angle(axis, turn):
    assume(np.linalg.norm(axis) > 1e-3)
    rotation = o.from_axis_angle(axis, turn)
    u, found = o.to_axis_angle(rotation)
    assert found == pytest.approx(turn, rel=1e-12, abs=1e-15)
    assert rotation @ u == pytest.approx(u, abs=1e-14)
    assert math.cos(turn) == pytest.approx((np.trace(rotation) - 1.0) / 2.0, abs=1e-14)
    assert u @ axis > 0.0
    assert o.from_axis_angle(-axis, turn) == pytest.approx(rotation.T, abs=1e-15)


def test_no_turn_and_half_turns():
    axis, turn = o.to_axis_angle(np.eye(3))
    assert (tuple(axis), turn) == ((0.0, 0.0, 1.0), 0.0)
    for axis in (*np.eye(3), np.array([0.6, 0.0, -0.8])):
        half = 2.0 * np.outer(axis, axis) - np.eye(3)
        assert np.linalg.norm(o.to_rotation_vector(half)) == pytest.approx(math.pi)
        assert o.from_rotation_vector(o.to_rotation_vector(half)) == pytest.approx(half, abs=1e-15)
    with pytest.raises(ValueError, match="needs a direction"):
        o.from_axis_angle([0.0, 0.0, 0.0], 1.0)


@pytest.mark.parametrize("size", [0.00999, 0.01001])
def test_series_and_closed_forms_of_small_rotations_agree(size):
    phi = size * np.array([0.6, 0.0, 0.8])
    series = sum(np.linalg.matrix_power(o.hat(phi), k) / math.factorial(k) for k in range(8))
    assert o.from_rotation_vector(phi) == pytest.approx(series, abs=1e-15)
    series = sum(np.linalg.matrix_power(o.hat(phi), k) / math.factorial(k + 1) for k in range(8))
    assert o.rotation_vector_rates(phi) == pytest.approx(series, abs=1e-13)
