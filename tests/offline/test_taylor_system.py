"""The system for the reactions against differences of the closures, the saddle point and closed forms."""

import numpy as np
import pytest

from linkwork.multibody import Body, functions
from linkwork.offline.taylor import Connection, JointFrame, MaximalModel, Pose, TaylorStepper
from tests.multibody.finite_differences import derivative, jacobian
from tests.multibody.machines import random_tree
from tests.multibody.maximal import about_z, random_loop, slider_crank, spatial_pendulum
from tests.multibody.second_order import saddle_point_reactions, system_of


@pytest.mark.parametrize("reactions_at", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(8))
def test_the_system_is_the_derivative_of_the_second_order_closures(seed, reactions_at):
    stepper, dt = random_loop(seed, reactions_at), 0.05
    closures, bodies = system_of(stepper, dt, reactions_at)
    matrix, right = stepper.system(dt)
    nothing = np.zeros(stepper.model.unknowns)
    assert np.abs(right + closures(nothing)).max() < 1e-13
    scale = 0.5 * dt * dt
    expected = jacobian(lambda q: closures(q) / scale, nothing)
    assert np.abs(matrix / scale - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.abs(stepper.gap() - bodies.closures(np.zeros((3, 6)))).max() < 1e-13


@pytest.mark.parametrize("reactions_at", [0.0, 0.5])
@pytest.mark.parametrize("case", ["pendulum", "slider-crank"])
def test_reactions_converge_to_those_of_the_saddle_point(case, reactions_at):
    if case == "pendulum":
        mechanism = spatial_pendulum(armature=0.0, viscous=0.0)
        stepper = TaylorStepper(MaximalModel.from_mechanism(mechanism), reactions_at)
        stepper.stand_as(mechanism, [0.3, -0.7], [1.0, -2.0])
        stepper.effort[:] = 1.0, 0.5
    else:
        stepper = slider_crank(0.7, 2.0, reactions_at=reactions_at)
        stepper.effort[0] = 3.0
    expected = saddle_point_reactions(stepper, derivative)
    errors = []
    for dt in (1e-3, 5e-4):
        stepper.evaluate(dt)
        found = stepper.reactions()
        assert [r.joint for r in found] == list(expected)
        force = [np.abs(r.force_N - expected[r.joint][0]).max() for r in found]
        moment = [np.abs(r.moment_N_m - expected[r.joint][1]).max() for r in found]
        errors.append(max(*force, *moment))
    assert errors[0] < 0.3
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_a_closed_tree_reacts_as_the_saddle_point_of_its_tree(seed):
    """Four hinges in a row, the tip held by a ball: M v̇ + h = J'F, J v̇ = -J̇ v in joint coordinates."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 4, ("revolute",), serial=True)
    q = rng.uniform(-2.0, 2.0, 4)
    jacobian_of_tip = functions.point_jacobian(tree, "tip", q)[3:]
    v = np.linalg.svd(jacobian_of_tip)[2][3] * 2.0
    place = functions.point_position(tree, "tip", q)
    mass, h = functions.mass_matrix(tree, q), functions.bias(tree, q, v)
    bent = functions.point_jacobian_rate(tree, "tip", q, v)[3:]
    saddle = np.block([[mass, -jacobian_of_tip.T], [jacobian_of_tip, np.zeros((3, 3))]])
    force = np.linalg.solve(saddle, np.concatenate([-h, -bent]))[4:]

    tip = next(point for point in tree.points if point.name == "tip")
    ball = Connection("ball", "spherical", JointFrame("world", place), JointFrame(tip.body, tip.at_m))
    stepper = TaylorStepper(MaximalModel.from_mechanism(tree, [ball]))
    stepper.stand_as(tree, q, v)
    assert stepper.coordinate == pytest.approx(q[[tree.joint_index(n) for n in stepper.model.dof_names]])
    errors = []
    for dt in (2e-4, 1e-4):
        stepper.evaluate(dt)
        errors.append(np.abs(stepper.reactions()[-1].force_N - force).max())
    assert errors[1] < 1e-2 * np.abs(force).max()
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(("first", "second"), [(0.3, 1.2), (0.4, 0.4), (-2.0, 1.0), (0.0, np.pi)])
def test_double_pendulum_of_the_paper(first, second):
    """Huang et al. 2000, section 5: 14.59 kg, 1.36 kg m², half length 0.61 m; regular where both align."""
    mass, inertia, d, dt = 14.59, 1.36, 0.61, 1e-3
    links = [Body(name, mass, (0, 0, 0), np.diag([0.5, inertia, inertia])) for name in ("one", "two")]
    joints = [
        Connection("ground", "spherical", JointFrame(), JointFrame("one", (-d, 0.0, 0.0))),
        Connection("elbow", "spherical", JointFrame("two", (-d, 0.0, 0.0)), JointFrame("one", (d, 0.0, 0.0))),
    ]
    stepper = TaylorStepper(MaximalModel.build(links, joints, (0.0, 0.0, 0.0)))
    along = [about_z(first)[:, 0], about_z(second)[:, 0]]
    rest = np.zeros(3)
    stepper.place("one", Pose(d * along[0], about_z(first), rest, rest))
    stepper.place("two", Pose(2 * d * along[0] + d * along[1], about_z(second), rest, rest))
    planar = np.ix_([0, 1, 3, 4], [0, 1, 3, 4])
    found = stepper.system(dt)[0][planar]

    k, eye = mass * d**2 / inertia, np.eye(2)
    e1, e2 = (k * np.outer(n, n) for n in (about_z(th)[:2, 1] for th in (first, second)))
    scale = dt**2 / (2.0 * mass)
    expected = scale * np.block([[eye + e1, eye - e1], [eye - e1, (eye + e1) + (eye + e2)]])
    assert np.abs(found - expected).max() < 1e-14 * np.abs(expected).max() * 10
    determinant = scale**4 * (k**2 + 6 * k + 1 + 4 * k**2 * np.sin(first - second) ** 2)
    assert np.linalg.det(found) == pytest.approx(determinant, rel=1e-11)
    assert stepper.system(dt)[0][0, 1] == pytest.approx(-scale * k / 2 * np.sin(2 * first), abs=1e-20)


def test_reactions_of_a_link_at_rest_carry_its_weight():
    """A beam on a hinge, held up at its other end: statics by hand."""
    length, mass = 2.0, 3.0
    beam = Body("beam", mass, (0.5 * length, 0.0, 0.0), np.diag([0.1, 1.0, 1.0]))
    joints = [Connection("hinge", "spherical", JointFrame(), JointFrame("beam"))]
    stepper = TaylorStepper(MaximalModel.build([beam], joints, (0.0, 0.0, -9.81)))
    stepper.place("beam", Pose(np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)))
    stepper.apply("beam", (0.0, 0.0, 0.5 * mass * 9.81), (length, 0.0, 0.0))
    stepper.evaluate(1e-4)
    (hinge,) = stepper.reactions()
    assert (hinge.on_body, hinge.from_body) == ("beam", "world")
    assert hinge.force_N == pytest.approx([0.0, 0.0, 0.5 * mass * 9.81], abs=1e-5)
    assert hinge.at_m == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)
