"""Reactions of joints and closures: pendulum, balance of power, maximal coordinates, Pinocchio."""

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody import Joint, Mechanism
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.constraints import (
    CoordinateConstraint,
    CouplingConstraint,
    DistanceClosure,
    Frame,
    PointClosure,
    RollingConstraint,
    UniversalClosure,
    WeldClosure,
)
from linkwork.multibody.formulations.acceleration import accelerate
from linkwork.multibody.reactions.reactions import ReactionTable, joint_reactions
from linkwork.offline.taylor import TaylorStepper
from linkwork.offline.taylor.conversion import TreeConversion, maximal_model_of
from tests.multibody.closed_machines import four_bar
from tests.multibody.machines import G, pendulum, random_body, random_rotation, random_state, random_tree
from tests.multibody.oracles.pinocchio_model import PinocchioModel


def test_a_pendulum_in_closed_form():
    length, mass, angle, speed = 0.7, 1.3, 0.8, 2.0
    (hinge,) = joint_reactions(pendulum(length, mass, viscous=0.2), [angle], [speed], [0.5])
    outward = np.array([-np.sin(angle), 0.0, -np.cos(angle)])
    across = np.array([-np.cos(angle), 0.0, np.sin(angle)])
    weight = np.array([0.0, 0.0, -mass * G])
    torque = 0.5 - 0.2 * speed + length * weight @ across
    expected = mass * (torque / (mass * length**2) * length * across - speed**2 * length * outward) - weight
    assert np.abs(hinge.force_N - expected).max() < 1e-12
    assert np.abs(hinge.moment_N_m).max() < 1e-12
    assert (hinge.joint, hinge.on_body, hinge.from_body) == ("hinge", "bob", "world")


def test_a_fixed_joint_carries_what_is_behind_it():
    rng = np.random.default_rng(0)
    body, post = random_body(rng, "arm"), random_body(rng, "post")
    mechanism = Mechanism.build(
        [post, body, random_body(rng, "wheel")],
        [
            Joint("floor", "fixed", "world", "post", (0.1, 0.2, 0.3), random_rotation(rng)),
            Joint("bracket", "fixed", "post", "arm", (0.4, 0.0, 0.1)),
            Joint("axle", "revolute", "arm", "wheel", (0.2, 0.3, 0.0), axis=(1, 2, 3)),
        ],
        (0.0, 0.0, -G),
    )
    floor, bracket, axle = joint_reactions(mechanism, [0.3], [4.0])
    assert np.abs(floor.force_N - bracket.force_N - [0, 0, G * post.mass_kg]).max() < 1e-10
    assert np.abs(bracket.force_N - axle.force_N - [0, 0, G * body.mass_kg]).max() < 1e-10
    arm = axle.at_m - bracket.at_m
    own = bracket.moment_N_m - axle.moment_N_m - np.cross(arm, axle.force_N)
    assert abs(own @ [0, 0, 1]) < 1e-9  # a weight has no moment about the vertical


def _closed_tree(rng: np.random.Generator) -> Mechanism:
    def frame(body: str) -> Frame:
        return Frame(body, rng.normal(size=3) * 0.3, random_rotation(rng))

    closures = (
        PointClosure("pin", a=frame("world"), b=frame("body4")),
        UniversalClosure("cross", a=frame("body1"), b=frame("body3")),
        DistanceClosure("rod", a=frame("body1"), b=frame("body5"), distance_m=0.8),
        RollingConstraint("wheel", a=frame("world"), b=frame("body2"), radius_m=0.3),
        CoordinateConstraint("guide", of="tip_z"),
        CoordinateConstraint("ball", of="tip_distance", value=0.4),
        CouplingConstraint("heading", factors={"tip_yaw": 2.0, "tip_roll": 0.5, "tip_pitch": -1.0}),
    )
    kinds = ("revolute", "spherical", "prismatic", "universal", "cylindrical", "screw", "planar", "free")
    return random_tree(rng, 6, kinds, serial=True, constraints=closures)


@pytest.mark.parametrize("seed", range(20))
def test_what_joints_transmit_is_motors_friction_and_rotors(seed):
    """Wrenches of inertia, joints and closures are in balance; the remainder along joints is known."""
    rng = np.random.default_rng(seed)
    mechanism = _closed_tree(rng)
    w = mechanism.workspace()
    w.q[:], w.v[:] = random_state(rng, mechanism)
    w.effort[:] = rng.normal(size=mechanism.nv)
    accelerate(mechanism, w)
    table = ReactionTable(mechanism)
    transmitted, found = table.transmitted(w), {each.joint: each for each in table.reactions(w)}
    size = max(1.0, np.abs(transmitted).max())
    turns, slides, reference = w.screw_angular, w.screw_linear, w.reference[0]
    armature = mechanism.model.armature
    expected = w.effort + w.friction - armature * w.vdot
    for i, k in enumerate(w.model.in_v):
        name = mechanism.joint_names[k].split(".")[0]
        j = [joint.name for joint in mechanism.joints].index(name)
        for row, power in ((transmitted[j], expected[k]), (None, 0.0)):
            at, force, moment = (
                (row[:3], row[3:6], row[6:])
                if row is not None
                else (found[name].at_m, found[name].force_N, found[name].moment_N_m)
            )
            there = turns[i] @ (moment + np.cross(at - reference, force)) + slides[i] @ force
            assert abs(there - power) < 1e-9 * size


@pytest.mark.parametrize("seed", range(10))
def test_reactions_of_trees_are_those_of_pinocchio(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 5, ("revolute", "prismatic"), serial=bool(seed % 2))
    q, v = random_state(rng, mechanism)
    effort = rng.normal(size=mechanism.nv)
    wrenches = PinocchioModel(mechanism).joint_wrenches(q, v, effort)
    for joint, each in zip(mechanism.joints, joint_reactions(mechanism, q, v, effort), strict=True):
        at, axes, force, moment = wrenches[joint.name]
        axis, size = axes @ np.asarray(joint.axis), max(1.0, np.abs(force).max(), np.abs(moment).max())
        along = force if joint.kind == "prismatic" else moment
        along -= (along @ axis) * axis
        assert np.abs(each.at_m - at).max() < 1e-12
        assert np.abs(each.force_N - force).max() < 1e-9 * size
        assert np.abs(each.moment_N_m - moment).max() < 1e-9 * size


def _at_rest_or_moving(
    mechanism: Mechanism, q: Floats, v: Floats, dt: float
) -> dict[str, tuple[Floats, Floats]]:
    stepper = TaylorStepper(maximal_model_of(mechanism), reactions_at=0.0)
    stepper.stand_as(mechanism, q, v)
    stepper.evaluate(dt)
    return {each.joint: (each.force_N, each.moment_N_m) for each in stepper.reactions()}


def test_closed_loops_react_as_in_maximal_coordinates():
    machine = load("platform_3rrs")
    mechanism, rng = machine.mechanism, np.random.default_rng(1)
    state = assemble(mechanism, machine.initial_q, rng.normal(size=mechanism.nv) * 0.3)
    found = joint_reactions(mechanism, state.q, state.v)
    errors = []
    for dt in (2e-4, 1e-4):
        theirs = _at_rest_or_moving(mechanism, state.q, state.v, dt)
        errors.append(
            max(
                max(np.abs(each.force_N - theirs[each.joint][0]).max(),
                    np.abs(each.moment_N_m - theirs[each.joint][1]).max())
                for each in found
            )
        )  # fmt: skip
    size = max(np.abs(each.force_N).max() for each in found)
    assert errors[1] < 1e-2 * size
    assert 1.7 < errors[0] / errors[1] < 2.3  # they meet at dt = 0


def test_redundant_closures_share_and_a_weld_holds_the_weight():
    once, twice = four_bar(), four_bar(copies=2)
    state = assemble(once, [1.0, -0.5, -2.0], [1.0, 0.0, 0.0])
    single = {each.joint: each for each in joint_reactions(once, state.q, state.v)}
    shared = {each.joint: each for each in joint_reactions(twice, state.q, state.v)}
    assert np.abs(shared["pin0"].force_N - 0.5 * single["pin0"].force_N).max() < 1e-9
    assert np.abs(shared["q1"].force_N - single["q1"].force_N).max() < 1e-9
    body = random_body(np.random.default_rng(3), "body")
    pole = Mechanism.build(
        [body], [Joint("j", "free", "world", "body")], (1.0, -2.0, -9.0),
        constraints=[WeldClosure("hold", b=Frame("body"))],
    )  # fmt: skip
    free, hold = joint_reactions(pole, assemble(pole, pole.workspace().q).q, np.zeros(6))
    weight = body.mass_kg * np.array([1.0, -2.0, -9.0])
    assert np.abs(hold.force_N + weight).max() < 1e-10
    assert np.abs(hold.moment_N_m + np.cross(np.asarray(body.com_m), weight)).max() < 1e-10
    assert max(np.abs(free.force_N).max(), np.abs(free.moment_N_m).max()) < 1e-9


def test_tree_coordinates_are_read_from_bodies():
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 4, ("revolute", "spherical", "cylindrical", "prismatic"), serial=True)
    q, v = random_state(rng, tree)
    stepper = TaylorStepper(maximal_model_of(tree))
    stepper.stand_as(tree, q, v)
    found_q, found_v = TreeConversion(tree, stepper, q).read()
    assert np.abs(found_q - q).max() < 1e-9
    assert np.abs(found_v - v).max() < 1e-9


def test_a_ball_with_angles_is_read_too():
    rng = np.random.default_rng(6)
    joint = Joint("ball", "spherical", "world", "body", rotation=random_rotation(rng), coordinates="angles")
    tree = Mechanism.build([random_body(rng, "body")], [joint], (0, 0, -G))
    q, v = np.array([0.4, -0.7, 9.0]), np.array([0.3, 1.1, -0.8])
    stepper = TaylorStepper(maximal_model_of(tree))
    stepper.stand_as(tree, q, v)
    found_q, found_v = TreeConversion(tree, stepper, q).read()
    assert np.abs(found_q - q).max() < 1e-12
    assert np.abs(found_v - v).max() < 1e-12
