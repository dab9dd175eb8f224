"""What a description may not be, and how the refusal names the culprit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.multibody import Body, Coordinate, Joint, Mechanism, ModelError, Point
from tests.multibody.machines import pendulum, scara

BALL = np.eye(3)
CRANK, ROD = Body("crank", 1.0, (0.1, 0.0, 0.0), BALL), Body("rod", 1.0, (0.1, 0.0, 0.0), BALL)
MAIN = Joint("main", "revolute", "world", "crank")
PIN = Joint("pin", "revolute", "crank", "rod")
GRAVITY = (0.0, 0.0, -9.81)


def _refusal(*arguments, **named) -> ModelError:
    with pytest.raises(ModelError) as caught:
        Mechanism.build(*arguments, **named)
    return caught.value


@pytest.mark.parametrize(
    ("values", "key", "text"),
    [
        ({"mass_kg": -1.0}, "mass_kg", "at least 0"),
        ({"mass_kg": np.nan}, "mass_kg", "finite"),
        ({"mass_kg": "heavy"}, "mass_kg", "number"),
        ({"mass_kg": 1.0, "com_m": (0.0, 0.0)}, "com_m", "expected 3 numbers"),
        ({"mass_kg": 1.0, "com_m": (0.0, 0.0, np.inf)}, "com_m", "finite"),
        ({"mass_kg": 1.0, "inertia_kg_m2": np.diag([1.0, 1.0, 2.5])}, "inertia_kg_m2", "exceeds the sum"),
        ({"mass_kg": 1.0, "inertia_kg_m2": np.diag([1.0, 1.0, -0.1])}, "inertia_kg_m2", "negative principal"),
        ({"mass_kg": 1.0, "inertia_kg_m2": BALL + np.eye(3, k=1)}, "inertia_kg_m2", "not symmetric"),
        ({"mass_kg": 1.0, "inertia_kg_m2": np.eye(2)}, "inertia_kg_m2", "expected 3 × 3 numbers"),
        ({"mass_kg": 0.0, "inertia_kg_m2": BALL}, "inertia_kg_m2", "armature"),
    ],
)
def test_bodies_that_cannot_be(values, key, text):
    with pytest.raises(ModelError, match=text) as caught:
        Body("crank", **values)
    assert caught.value.where == ("bodies", "crank", key)
    assert "bodies.crank." + key in str(caught.value)


@pytest.mark.parametrize(
    ("values", "key", "text"),
    [
        ({"kind": "hinge"}, "kind", "compound, simple or fixed"),
        ({"axis": (0.0, 0.0, 0.0)}, "axis", "zero vector"),
        ({"axis": (0.0, np.nan, 0.0)}, "axis", "finite"),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, "rotation", "right-handed"),
        ({"rotation": 1.1 * np.eye(3)}, "rotation", "orthogonal"),
        ({"pitch_m_per_rad": 0.1}, "pitch_m_per_rad", "only a screw"),
        ({"armature": -1.0}, "armature", "at least 0"),
        ({"viscous": -1.0}, "viscous", "at least 0"),
        ({"coulomb": np.inf}, "coulomb", "finite"),
        ({"coulomb_speed": 0.0}, "coulomb_speed", "more than 0"),
    ],
)
def test_joints_that_cannot_be(values, key, text):
    with pytest.raises(ModelError, match=text) as caught:
        Joint(**{"name": "main", "kind": "revolute", "parent": "world", "child": "crank", **values})
    assert caught.value.where == ("joints", "main", key)


def test_a_joint_names_bodies_that_exist():
    error = _refusal([CRANK], [Joint("main", "revolute", "floor", "crank")], GRAVITY)
    assert error.where == ("joints", "main", "parent")
    assert "crank, world" in error.text
    error = _refusal([CRANK], [MAIN, Joint("pin", "revolute", "crank", "rod")], GRAVITY)
    assert error.where == ("joints", "pin", "child")
    error = _refusal([CRANK], [Joint("main", "revolute", "world", "world")], GRAVITY)
    assert error.where == ("joints", "main", "child")


def test_a_body_hangs_on_exactly_one_joint():
    assert _refusal([CRANK, ROD], [MAIN], GRAVITY).where == ("bodies", "rod")
    error = _refusal([CRANK, ROD], [MAIN, PIN, Joint("guide", "prismatic", "world", "rod")], GRAVITY)
    assert error.where == ("joints", "guide", "child")
    assert "closure" in error.text


def test_bodies_that_hang_on_each_other_in_a_ring():
    ring = [Joint("a", "revolute", "rod", "crank"), Joint("b", "revolute", "crank", "rod")]
    error = _refusal([CRANK, ROD], ring, GRAVITY)
    assert "ring" in error.text
    assert error.where[0] == "joints"
    error = _refusal([CRANK], [Joint("a", "revolute", "crank", "crank")], GRAVITY)
    assert error.where == ("joints", "a", "parent")


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (([CRANK, CRANK], [MAIN], GRAVITY), ("bodies", "crank")),
        (([CRANK, ROD], [MAIN, MAIN], GRAVITY), ("joints", "main")),
        (([Body("world", 1.0)], [MAIN], GRAVITY), ("bodies", "world")),
        (([CRANK], [MAIN], GRAVITY, [Point("p", "crank")] * 2), ("points", "p")),
        (([CRANK], [MAIN], GRAVITY, [], [Coordinate("main", "joint", "main")]), ("coordinates", "main")),
        (([Body("", 1.0)], [MAIN], GRAVITY), ("bodies",)),
        (([CRANK], [MAIN], (0.0, 0.0)), ("gravity_m_s2",)),
    ],
)
def test_names_and_gravity(arguments, where):
    assert _refusal(*arguments).where == where


def test_points_and_coordinates_lie_on_what_exists():
    error = _refusal([CRANK], [MAIN], GRAVITY, [Point("p", "rod")])
    assert error.where == ("points", "p", "body")
    error = _refusal([CRANK], [MAIN], GRAVITY, [], [Coordinate("x", "x", "tool")])
    assert error.where == ("coordinates", "x", "of")
    error = _refusal([CRANK], [MAIN], GRAVITY, [], [Coordinate("angle", "joint", "pin")])
    assert error.where == ("coordinates", "angle", "of")
    assert "main" in error.text
    with pytest.raises(ModelError, match="roll, pitch, yaw") as caught:
        Coordinate("x", "elevation", "tool")
    assert caught.value.where == ("coordinates", "x", "kind")


def test_a_mechanism_moves():
    assert _refusal([CRANK], [Joint("main", "fixed", "world", "crank")], GRAVITY).where == ("joints",)


def test_no_joint_moves_nothing():
    error = _refusal([CRANK, Body("rod")], [MAIN, PIN], GRAVITY)
    assert error.where == ("joints", "pin")
    assert "armature" in str(error)
    # a point mass on the axis has no inertia about it
    bob = Body("crank", 1.0, (0.0, 0.0, 0.3))
    assert _refusal([bob], [MAIN], GRAVITY).where == ("joints", "main")
    # with armature the same joints are a mechanism
    Mechanism.build([bob], [Joint("main", "revolute", "world", "crank", armature=0.1)], GRAVITY)


def test_massless_bodies_between_joints_are_fine_unless_joints_coincide():
    joints = [MAIN, Joint("pin", "revolute", "crank", "rod", axis=(1.0, 0.0, 0.0))]
    assert Mechanism.build([Body("crank"), ROD], joints, GRAVITY).nv == 2
    error = _refusal([Body("crank"), ROD], [MAIN, PIN], GRAVITY)
    assert "main, pin" in error.text


def test_names_orders_and_units_of_the_model():
    m = scara()
    assert (m.nq, m.nv) == (4, 4)
    assert m.joint_names == ("shoulder", "elbow", "wrist", "lift")
    assert m.joint_is_angle == (True, True, True, False)
    assert m.coordinate_names == (*m.joint_names, "x", "y", "z", "angle")
    assert m.coordinate_is_angle == (True, True, True, False, False, False, False, True)
    assert m.coordinate_wraps == (False,) * 7 + (True,)
    assert (m.joint_index("wrist"), m.point_index("tool"), m.coordinate_index("z")) == (2, 0, 6)
    with pytest.raises(ModelError, match="shoulder, elbow, wrist, lift"):
        m.joint_index("knee")
    with pytest.raises(ModelError, match="known: tool"):
        m.point_index("tip")
    with pytest.raises(ModelError, match="angle"):
        m.coordinate_index("w")


def test_a_model_is_immutable_and_workspaces_are_separate():
    m = pendulum()
    for array in (m.model.mass, m.model.parent, m.bodies[0].com_m, m.joints[0].axis, m.gravity_m_s2):
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(array)[0] = 1.0
    a, b = m.workspace(), m.workspace()
    a.q[:] = 1.0
    assert b.q[0] == 0.0
    assert np.shares_memory(a.q, a.buffer)


@given(st.integers(0, 2**32 - 1))
def test_a_rotation_from_rounded_numbers_is_made_exact(seed):
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation[:, 0] *= np.linalg.det(rotation)
    made = Joint("main", "revolute", "world", "crank", rotation=np.round(rotation, 8)).rotation
    assert np.abs(np.asarray(made).T @ np.asarray(made) - np.eye(3)).max() < 1e-15 * 5
    assert np.abs(np.asarray(made) - rotation).max() < 2e-8
