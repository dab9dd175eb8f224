"""Descriptions of maximal models: what is refused and why, bodies fixed to each other, loads, energies."""

import numpy as np
import pytest

from linkwork.multibody import Body, Joint, Mechanism, ModelError
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy, forward_dynamics
from linkwork.offline.taylor import Connection, JointFrame, MaximalModel, Pose, StepTooLong, TaylorStepper
from tests.multibody.machines import G, random_rotation
from tests.multibody.maximal import bar, spatial_pendulum

LINK = bar("link", 1.0, 2.0)


def _build(bodies, *joints: Connection) -> MaximalModel:
    return MaximalModel.build(bodies, joints, (0, 0, -G))


def test_other_kinds_of_joints_are_refused_by_name():
    tree = Mechanism.build(
        [LINK], [Joint("spindle", "screw", "world", "link", pitch_m_per_rad=0.01)], (0, 0, -G)
    )
    with pytest.raises(ModelError, match="no screw joints, only spherical, revolute, cylindrical, pris") as e:
        MaximalModel.from_mechanism(tree)
    assert e.value.where == ("joints", "spindle", "kind")
    with pytest.raises(ModelError, match="no universal joints"):
        Connection("cross", "universal", JointFrame(), JointFrame("link"))


@pytest.mark.parametrize(
    ("make", "text", "where"),
    [
        (lambda: _build([LINK], Connection("j", "revolute", JointFrame(), JointFrame("lnk"))),
         "there is no body 'lnk'; known: world, link", ("joints", "j", "b")),
        (lambda: Connection("j", "spherical", JointFrame("link"), JointFrame("link")), "both frames",
         ("joints", "j")),
        (lambda: Connection("j", "spherical", JointFrame(), JointFrame("link"), viscous=1.0),
         "no axis", ("joints", "j", "viscous")),
        (lambda: Connection("j", "revolute", JointFrame(), JointFrame("link"), coulomb_speed=0.0),
         "more than 0", ("joints", "j", "coulomb_speed")),
        (lambda: JointFrame.along("link", (0, 0, 0), (0, 0, 0)), "zero vector", ("axis",)),
        (lambda: _build([LINK], Connection("j", "fixed", JointFrame(), JointFrame("link"))),
         "nothing can move", ("joints",)),
        (lambda: _build([LINK, Body("dot", 1.0)],
                        Connection("j", "revolute", JointFrame(), JointFrame("dot"))),
         "no inertia about some axis", ("bodies", "dot")),
        (lambda: _build([LINK, Body("air")]), "no mass", ("bodies", "air")),
        (lambda: _build([LINK, LINK]), "used twice", ("bodies", "link")),
        (lambda: _build([LINK, bar("two", 1, 1)],
                        Connection("a", "fixed", JointFrame("link"), JointFrame("two")),
                        Connection("b", "fixed", JointFrame("two"), JointFrame("link"))),
         "fixed to each other already", ("joints", "b")),
        (lambda: _build([LINK, bar("two", 1, 1)],
                        Connection("a", "fixed", JointFrame("link"), JointFrame("two")),
                        Connection("b", "revolute", JointFrame("two"), JointFrame("link"))),
         "cannot have a joint", ("joints", "b")),
    ],
)  # fmt: skip
def test_impossible_descriptions_are_refused(make, text, where):
    with pytest.raises(ModelError, match=text) as caught:
        make()
    assert caught.value.where == where


def test_unknown_names_list_the_known_ones():
    model = MaximalModel.from_mechanism(spatial_pendulum())
    for ask, known in (
        (model.joint_index, "first, second"),
        (model.dof_index, "first, second"),
        (model.seat, "world, one, two"),
    ):
        with pytest.raises(ModelError, match=f"known: {known}"):
            ask("elbow")


def test_bodies_fixed_to_each_other_move_as_their_sum():
    rng = np.random.default_rng(4)
    turned, place = random_rotation(rng), np.array([0.2, -0.1, 0.3])
    one, two = bar("one", 1.0, 2.0), Body("two", 0.7, (0.1, 0.2, 0.0), np.diag([0.02, 0.03, 0.04]))
    hinge = Joint("hinge", "revolute", "world", "one", axis=(0.1, 1.0, 0.2))
    tree = Mechanism.build(
        [two, one], [hinge, Joint("glue", "fixed", "one", "two", place, turned)], (0, 0, -G)
    )
    model = MaximalModel.from_mechanism(tree)
    assert len(model.rigids) == 1
    stepper = TaylorStepper(model)
    stepper.stand_as(tree, [0.4], [1.5])
    a, b = stepper.pose("one"), stepper.pose("two")
    assert b.origin == pytest.approx(a.origin + a.axes @ place, abs=1e-14)
    assert b.axes == pytest.approx(a.axes @ turned, abs=1e-14)
    assert b.velocity == pytest.approx(np.cross(a.angular_velocity, b.origin - a.origin), abs=1e-13)
    w = tree.workspace()
    w.q[:], w.v[:] = 0.4, 1.5
    dynamics(*w.arguments)
    energy(*w.arguments)
    assert stepper.energy() == pytest.approx(tuple(w.energy), rel=1e-13)
    forward_dynamics(*w.arguments)
    axis = a.axes @ np.asarray(hinge.axis)
    stepper.evaluate(1e-6)
    assert axis @ stepper.angular_acceleration[0] == pytest.approx(w.vdot[0], rel=1e-4)


def test_a_body_may_be_fixed_to_the_world_and_carry_joints():
    frame, link = bar("frame", 1.0, 1.0), bar("link", 1.0, 2.0)
    model = _build(
        [frame, link],
        Connection("bolt", "fixed", JointFrame("world", (0.0, 0.0, 1.0)), JointFrame("frame")),
        Connection("hinge", "revolute", JointFrame("frame", (1.0, 0.0, 0.0)), JointFrame("link")),
    )
    assert len(model.rigids) == 1
    stepper = TaylorStepper(model)
    assert stepper.pose("frame").origin == pytest.approx([0, 0, 1])
    with pytest.raises(ModelError, match="fixed to the world"):
        stepper.place("frame", Pose(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)))
    stepper.place("link", Pose(np.array([1.0, 0.0, 1.0]), np.eye(3), np.zeros(3), np.zeros(3)))
    assert np.abs(stepper.gap()).max() < 1e-15


def test_a_load_is_a_force_at_a_point_and_is_released():
    model = _build([LINK])
    stepper = TaylorStepper(model)
    stepper.place(
        "link", Pose(np.ones(3), random_rotation(np.random.default_rng(1)), np.zeros(3), np.zeros(3))
    )
    force, torque = np.array([1.0, 2.0, 3.0]), np.array([0.1, -0.2, 0.3])
    stepper.apply("link", force, (1.0, 0.0, 0.0), torque)
    stepper.apply("world", force)
    stepper.evaluate(1e-4)
    axes = stepper.pose("link").axes
    assert stepper.acceleration[0] == pytest.approx(force / 2.0 + [0, 0, -G])
    moment = np.cross(axes @ [0.5, 0, 0], force) + torque
    inertia = axes @ np.asarray(LINK.inertia_kg_m2) @ axes.T
    assert inertia @ stepper.angular_acceleration[0] == pytest.approx(moment)
    stepper.release()
    stepper.evaluate(1e-4)
    assert np.abs(stepper.angular_acceleration).max() == 0.0


def test_angles_are_counted_through_whole_turns():
    tree = Mechanism.build([LINK], [Joint("spin", "revolute", "world", "link")], (0, 0, 0))
    stepper = TaylorStepper(MaximalModel.from_mechanism(tree))
    stepper.stand_as(tree, [20.0], [30.0])
    assert stepper.coordinate[0] == pytest.approx(20.0, abs=1e-13)
    stepper.step(1e-3, 1000)
    assert stepper.coordinate[0] == pytest.approx(50.0, abs=1e-3)
    assert stepper.rate[0] == pytest.approx(30.0, abs=1e-2)


def test_a_step_in_which_a_load_turns_a_body_too_far_is_refused():
    stepper = TaylorStepper(_build([LINK], Connection("hinge", "revolute", JointFrame(), JointFrame("link"))))
    stepper.place("link", Pose(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)))
    stepper.effort[0] = 1e6
    with pytest.raises(StepTooLong, match="shorten the step") as caught:
        stepper.step(2e-3, 5)
    assert caught.value.steps == 0
    assert caught.value.turn_rad == pytest.approx(1e6 / (2.0 / 12.0) * 2e-6, rel=1e-12)


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf])
def test_steps_take_a_positive_time(dt):
    stepper = TaylorStepper(_build([LINK]))
    for call in (stepper.step, stepper.evaluate):
        with pytest.raises(ValueError, match="positive time"):
            call(dt)


@pytest.mark.parametrize("name", ["effort", "velocity", "force"])
def test_numbers_that_are_not_finite_are_refused(name):
    stepper = TaylorStepper(_build([LINK], Connection("hinge", "revolute", JointFrame(), JointFrame("link"))))
    getattr(stepper, name)[:] = np.nan
    with pytest.raises(ValueError, match=f"{name} is not finite"):
        stepper.step(1e-3)
