"""The regressor against inverse dynamics of every machine and of random trees, and against Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from linkwork.identification.regressor import Regressor
from linkwork.machine import load, shipped
from linkwork.multibody import Body, Mechanism, Point
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.forces import AppliedForce, BetweenPoints, OnJoint, Spring
from linkwork.multibody.functions import inverse_dynamics
from linkwork.multibody.tree.rotations import move_by
from tests.multibody.machines import pendulum, random_body, random_state, random_tree, relative_error
from tests.multibody.oracles.pinocchio_model import PinocchioModel

KINDS = ("revolute", "prismatic", "screw", "fixed", "universal", "spherical", "compound", "free_angles")


@pytest.mark.parametrize("name", shipped())
def test_it_gives_the_inverse_dynamics_of_every_machine_at_admissible_states(name: str) -> None:
    machine, rng = load(name), np.random.default_rng(1)
    mechanism = machine.mechanism
    found = Regressor(mechanism)
    for _ in range(20):
        q = machine.initial_q.copy()
        move_by(mechanism.model, q, rng.normal(size=mechanism.nv), 0.1)
        state = assemble(mechanism, q, rng.normal(size=mechanism.nv))
        vdot = rng.normal(size=mechanism.nv)
        effort = found.rows(state.q, state.v, vdot) @ found.values + found.known(state.q, state.v)
        assert relative_error(effort, inverse_dynamics(mechanism, state.q, state.v, vdot)) < 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_it_gives_the_inverse_dynamics_of_trees_of_any_joints(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, int(rng.integers(1, 9)), KINDS)
    friction = dict.fromkeys(("viscous", "coulomb"), 0.3)
    joints = [
        each if each.kind == "fixed" else type(each)(**{**vars(each), **friction})
        for each in mechanism.joints
    ]
    mechanism = mechanism.changed(joints=joints)
    found = Regressor(mechanism)
    q, v = random_state(rng, mechanism)
    vdot = rng.normal(size=mechanism.nv)
    assert (
        relative_error(found.rows(q, v, vdot) @ found.values, inverse_dynamics(mechanism, q, v, vdot)) < 1e-11
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_columns_of_bodies_are_those_of_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 6, ("revolute", "prismatic", "spherical"), serial=True, armature=False)
    oracle, (q, v) = PinocchioModel(mechanism), random_state(rng, mechanism)
    vdot = rng.normal(size=mechanism.nv)
    theirs = pin.computeJointTorqueRegressor(
        oracle.model, oracle.data, oracle._positions(q), oracle._theirs(v), oracle._theirs(vdot)
    )[oracle.order]
    ours = Regressor(mechanism).rows(q, v, vdot)
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # their inertia is xx, xy, yy, xz, yz, zz
    for place, body in enumerate(mechanism.bodies):
        number = oracle._places[body.name][0] - 1
        block = theirs[:, 10 * number : 10 * number + 10]
        assert (
            np.abs(ours[:, 10 * place : 10 * place + 10][:, order] - block).max()
            < 1e-11 * np.abs(theirs).max()
        )


def test_springs_are_linear_and_forces_are_known() -> None:
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 4, ("revolute", "prismatic"))
    numbers = {"stiffness": 40.0, "damping": 2.0, "preload": 1.5, "progressive": 7.0}
    mechanism = tree.changed(
        points=[*tree.points, Point("ground", "world", (0.3, 0.1, 0.2))],
        elements=[
            Spring("coil", OnJoint("joint1"), rest=0.2, **numbers),
            AppliedForce("push", OnJoint("joint2"), "3 + 2 * joint0"),
            Spring("wire", BetweenPoints("ground", "tip"), rest=0.4, **numbers),
        ],
    )
    found, (q, v) = Regressor(mechanism), random_state(rng, mechanism)
    vdot = rng.normal(size=mechanism.nv)
    effort = found.rows(q, v, vdot) @ found.values + found.known(q, v)
    assert relative_error(effort, inverse_dynamics(mechanism, q, v, vdot)) < 1e-12
    assert [each.name for each in found.parameters[-4:]] == [
        "wire.stiffness", "wire.damping", "wire.preload", "wire.progressive",
    ]  # fmt: skip
    assert np.abs(found.known(q, v)).max() > 1.0


def test_a_body_that_is_fixed_to_the_world_has_no_part_in_it() -> None:
    mechanism = pendulum()
    rng = np.random.default_rng(0)
    frame = type(mechanism.joints[0])("foot", "fixed", "world", "frame")
    both = Mechanism.build(
        [random_body(rng, "frame"), *mechanism.bodies], [frame, *mechanism.joints], (0.0, 0.0, -9.81)
    )
    rows = Regressor(both).rows([0.3], [1.0], [2.0])
    assert np.all(rows[:, :10] == 0.0)
    assert rows[0, 10:20] == pytest.approx(Regressor(mechanism).rows([0.3], [1.0], [2.0])[0, :10])


def test_parameters_of_a_body_are_about_its_origin() -> None:
    body = Body("bob", 2.0, (0.0, 0.0, -0.5), np.diag([0.1, 0.1, 0.05]))
    mechanism = pendulum().changed(bodies=[body])
    named = {each.name: each.value for each in Regressor(mechanism).parameters}
    assert named["bob.mass"] == 2.0
    assert named["bob.first_moment_z"] == -1.0
    assert named["bob.inertia_xx"] == pytest.approx(0.6)
    assert named["bob.inertia_zz"] == pytest.approx(0.05)
