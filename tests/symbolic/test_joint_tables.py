"""Tables of Kwatny & Blankenship 1995: Γ, joint maps, configurations; as printed, or corrected."""

import numpy as np
import pytest
import sympy as sp

from linkwork.multibody.tree import joint_map
from linkwork.symbolic import compound_joint_map, joint_configuration, joint_kinematics
from tests.symbolic.columns import ALL_SIX, SLIDE_X, SLIDE_Y, SLIDE_Z, TURN_X, TURN_Y, TURN_Z

Y1, Y2, Y3, X, Y, Z, PITCH = sp.symbols("y1 y2 y3 x y z s", real=True)
C1, S1, C2, S2 = sp.cos(Y1), sp.sin(Y1), sp.cos(Y2), sp.sin(Y2)
SPHERICAL = sp.Matrix([[1, S1 * sp.tan(Y2), C1 * sp.tan(Y2)], [0, C1, -S1], [0, S1 / C2, C1 / C2]])


def rz(a):
    return sp.Matrix([[sp.cos(a), -sp.sin(a), 0], [sp.sin(a), sp.cos(a), 0], [0, 0, 1]])


def ry(a):
    return sp.Matrix([[sp.cos(a), 0, sp.sin(a)], [0, 1, 0], [-sp.sin(a), 0, sp.cos(a)]])


def rx(a):
    return sp.Matrix([[1, 0, 0], [0, sp.cos(a), -sp.sin(a)], [0, sp.sin(a), sp.cos(a)]])


def same(found, expected):
    return (sp.Matrix(found) - sp.Matrix(expected)).applyfunc(sp.simplify) == sp.zeros(
        *sp.Matrix(found).shape
    )


@pytest.mark.parametrize("column", [TURN_Z, SLIDE_Z, [0, 0, 1, 0, 0, PITCH]])
def test_gamma_of_joints_with_one_degree_of_freedom(column):
    """Table of simple joints: revolute, prismatic, screw; H is the column and Γ = 1."""
    joint = joint_kinematics([column], [Y1])
    assert joint.holds
    assert same(joint.gamma, [[1]])
    assert same(joint.H, sp.Matrix(column))


def test_gamma_of_the_cylindrical_joint():
    """Table of simple joints: cylindrical, Γ = 1."""
    joint = joint_kinematics([TURN_Z, SLIDE_Z], [Y1, X])
    assert joint.holds
    assert same(joint.gamma, sp.eye(2))


@pytest.mark.parametrize("columns", [[TURN_Y, TURN_Z], [TURN_Z, [1, 0, 0, PITCH, 0, 0]]])
def test_gamma_of_the_simple_universal_joints_is_a_projection_only(columns):
    """Table of simple joints: universal and universal-screw, Γ = diag(1, cos z1), printed as if exact."""
    joint = joint_kinematics(columns, [Y1, Y2])
    assert same(joint.gamma, sp.diag(1, C1))
    assert not joint.holds
    assert not same(joint.twists * joint.gamma, joint.H)


def test_defect_of_the_simple_universal_joint():
    """What the printed Γ misses: B Γ β - H β has the length |sin z1| |β2|."""
    joint = joint_kinematics([TURN_Y, TURN_Z], [Y1, Y2])
    missed = (joint.twists * joint.gamma - joint.H) * sp.Matrix([X, Y])
    assert sp.simplify(missed.dot(missed) - (S1 * Y) ** 2) == 0


def test_gamma_of_the_spherical_joint():
    """Table of simple joints: spherical, columns x, y, z."""
    joint = joint_kinematics([TURN_X, TURN_Y, TURN_Z], [Y1, Y2, Y3])
    assert joint.holds
    assert same(joint.gamma, SPHERICAL)
    assert same(joint.H, sp.Matrix.vstack(sp.eye(3), sp.zeros(3)))


@pytest.mark.slow
def test_gamma_of_the_joint_with_six_degrees_of_freedom():
    """Table of simple joints: H = 1, Γ = diag(spherical Γ, R), d = (x, y, z)."""
    rotation = rz(Y3) * ry(Y2) * rx(Y1)
    joint = joint_kinematics(ALL_SIX, [Y1, Y2, Y3, X, Y, Z])
    assert joint.holds
    assert same(joint.gamma, sp.diag(SPHERICAL, rotation))
    pose = joint_configuration(ALL_SIX, [Y1, Y2, Y3, X, Y, Z])
    assert same(pose[:3, :3], rotation)
    assert same(pose[:3, 3], sp.Matrix([X, Y, Z]))


def test_planar_joint_and_translations_are_simple():
    assert joint_kinematics([SLIDE_X, SLIDE_Y, TURN_Z], [X, Y, Y3]).holds
    assert same(joint_kinematics([SLIDE_X, SLIDE_Y, SLIDE_Z], [X, Y, Z]).gamma, sp.eye(3))


def test_compound_universal_joint_with_three_degrees_of_freedom():
    """Table of compound joints, r = (1, 1, 1) about x, y, z: Γ = 1, the upper half of H, and R."""
    joint = compound_joint_map([[TURN_X], [TURN_Y], [TURN_Z]], [Y1, Y2, Y3])
    assert same(joint.gamma, sp.eye(3))
    assert same(joint.H[:3, :], [[1, 0, -S2], [0, C1, C2 * S1], [0, -S1, C1 * C2]])
    assert same(joint.H[3:, :], sp.zeros(3))
    pose = joint_configuration([TURN_X, TURN_Y, TURN_Z], [Y1, Y2, Y3])
    assert same(pose[:3, :3], rz(Y3) * ry(Y2) * rx(Y1))


def test_compound_universal_joint_with_two_degrees_of_freedom():
    """Table of compound joints, r = (1, 1), printed as {1, 1, 1}: the form that a universal joint needs."""
    joint = compound_joint_map([[TURN_Y], [TURN_Z]], [Y1, Y2])
    assert same(joint.gamma, sp.eye(2))
    assert same(joint.H[:3, :], [[0, -S1], [1, 0], [0, C1]])


def test_configuration_is_the_product_of_elementary_poses():
    """(17a) prints a sum, (17b) another first value: rotations are multiplied, beginning with 1."""
    columns = np.array([TURN_Z, [1.0, 0, 0, 0.3, 0, 0], [0, 1.5, 0.5, 0.2, 0, 0.1]])
    e = np.array([0.4, -0.7, 1.1])
    rotation, place = joint_map.configuration(columns, e)
    pose = np.array(joint_configuration(columns.tolist(), e.tolist()), float)
    assert np.abs(pose[:3, :3] - rotation).max() < 1e-14
    assert np.abs(pose[:3, 3] - place).max() < 1e-14


@pytest.mark.parametrize(
    "groups",
    [
        [[TURN_X, TURN_Y, TURN_Z], [SLIDE_X]],
        [[TURN_Z, SLIDE_Z], [TURN_X]],
        [[[1, 0, 0, 0.3, 0.2, 0.1]], [TURN_Z], [SLIDE_Y]],
    ],
)
def test_compound_maps_against_the_twist_of_the_pose(groups):
    """(ω; u) = H β and ė = Γ β: H β is X⁻¹ Ẋ of the pose for the rates Γ β."""
    columns = [column for group in groups for column in group]
    e = sp.symbols(f"e1:{len(columns) + 1}", real=True)
    joint = compound_joint_map(groups, e)
    values = dict(zip(e, (0.3, -0.8, 0.5, 0.9), strict=False))
    beta = sp.Matrix([0.7, -0.4, 1.2, 0.6][: len(columns)])
    rates = (joint.gamma * beta).subs(values)
    pose = joint_configuration(columns, e)
    moving = sum((pose.diff(x).subs(values) * rate for x, rate in zip(e, rates, strict=True)), sp.zeros(4))
    twist = pose.subs(values).inv() * moving
    expected = np.array([twist[2, 1], twist[0, 2], twist[1, 0], *twist[:3, 3]], float)
    assert np.abs(np.array((joint.H * beta).subs(values), float).ravel() - expected).max() < 1e-12


def test_numbers_agree_with_the_library_and_singular_parameters_are_told():
    columns = [TURN_X, TURN_Y, TURN_Z]
    found = joint_kinematics(columns, [0.3, -0.4, 0.2]).gamma
    expected = joint_map.gamma(np.array(columns, float), np.array([0.3, -0.4, 0.2]))
    assert np.abs(np.array(found, float) - expected).max() < 1e-12
    with pytest.raises(ValueError, match="singular"):
        joint_kinematics(columns, [0.3, np.pi / 2, 0.2])


@pytest.mark.parametrize(
    ("columns", "e"), [([TURN_X], []), ([[1, 0, 0]], [0.1]), ([[PITCH, 0, 0, 0, 0, 0]], [0.1])]
)
def test_what_is_no_joint_is_refused(columns, e):
    with pytest.raises(ValueError, match=r"expected|entries|length"):
        joint_configuration(columns, e)
