"""Steps of the maximal model against trees, their order in the time step, and passages of singular poses."""

import numpy as np
import pytest

from linkwork.multibody import Body, Joint, Mechanism
from linkwork.multibody.steps.integrate import rk4
from linkwork.offline.taylor import Connection, JointFrame, MaximalModel, Pose, SingularStep, TaylorStepper
from tests.multibody.machines import G, random_tree
from tests.multibody.maximal import about_z, bar, slider_crank, spatial_pendulum

DURATION = 0.4


def _tree_motion(mechanism: Mechanism, q, v, effort) -> np.ndarray:
    w = mechanism.workspace()
    w.q[:], w.v[:], w.effort[:] = q, v, effort
    for _ in range(800):
        rk4(*w.arguments, DURATION / 800)
    return np.concatenate([w.q, w.v])


def _taylor_motion(
    mechanism: Mechanism, q, v, effort, steps: int, reactions_at: float
) -> tuple[np.ndarray, float]:
    stepper = TaylorStepper(MaximalModel.from_mechanism(mechanism), reactions_at)
    stepper.stand_as(mechanism, q, v)
    order = [stepper.model.dof_index(name) for name in mechanism.joint_names]
    stepper.effort[order] = effort
    stepper.step(DURATION / steps, steps)
    return np.concatenate([stepper.coordinate[order], stepper.rate[order]]), np.abs(stepper.gap()).max()


def _pendulum() -> Mechanism:
    return Mechanism.build(
        [bar("link", 1.2, 2.0)], [Joint("hinge", "revolute", "world", "link", axis=(0, 1, 0))], (0, 0, -G)
    )


def _double_pendulum() -> Mechanism:
    return Mechanism.build(
        [bar("one", 1.0, 2.0), bar("two", 0.8, 1.0)],
        [
            Joint("hinge", "revolute", "world", "one", axis=(0, 1, 0), viscous=0.2),
            Joint("elbow", "revolute", "one", "two", (1.0, 0, 0), axis=(0, 1, 0), coulomb=0.3,
                  coulomb_speed=0.5),
        ],
        (0, 0, -G),
    )  # fmt: skip


def _cart() -> Mechanism:
    """A slider on an incline, with a rotor geared to it, that carries a pendulum."""
    return Mechanism.build(
        [Body("cart", 3.0, (0.1, 0, 0.05), 0.02 * np.eye(3)), bar("rod", 0.7, 1.0)],
        [
            Joint("slide", "prismatic", "world", "cart", axis=(1.0, 0.2, 0.3), armature=0.5, viscous=0.4),
            Joint("swing", "revolute", "cart", "rod", (0.1, 0, 0), axis=(0, 1, 0.2)),
        ],
        (0, 0, -G),
    )


TREES = {
    "pendulum": (_pendulum, [0.3], [1.0], [0.5]),
    "double pendulum": (_double_pendulum, [0.3, -0.5], [1.0, -2.0], [0.0, 0.4]),
    "spatial pendulum": (spatial_pendulum, [0.3, -0.7], [1.0, -2.0], [1.0, 0.5]),
    "cart": (_cart, [0.2, 0.4], [-0.5, 1.0], [2.0, 0.0]),
    "branching tree": (
        lambda: random_tree(np.random.default_rng(11), 4, ("revolute", "prismatic", "fixed")),
        None, None, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "branching tree" else pytest.mark.slow) for name in TREES]
)
def test_a_tree_moves_as_its_recursion_says(name):
    """State of first order, gap of third; two step sizes extrapolated meet Runge and Kutta's fourth order."""
    make, q, v, effort = TREES[name]
    mechanism = make()
    if q is None:
        rng = np.random.default_rng(2)
        q, v, effort = rng.uniform(-1, 1, (3, mechanism.nv))
    expected = _tree_motion(mechanism, q, v, effort)
    (coarse, coarse_gap), (fine, fine_gap) = (
        _taylor_motion(mechanism, q, v, effort, steps, 0.0) for steps in (800, 1600)
    )
    error = np.abs(coarse - expected).max()
    assert error < 0.2
    assert error / np.abs(fine - expected).max() == pytest.approx(2.0, abs=0.1)
    assert np.abs(2.0 * fine - coarse - expected).max() < 0.02 * error
    assert coarse_gap < 1e-7
    if len(mechanism.bodies) > 1:
        assert coarse_gap / fine_gap == pytest.approx(8.0, abs=1.0)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "branching tree" else pytest.mark.slow) for name in TREES]
)
def test_reactions_half_way_through_the_step_are_more_accurate(name):
    make, q, v, effort = TREES[name]
    mechanism = make()
    if q is None:
        rng = np.random.default_rng(2)
        q, v, effort = rng.uniform(-1, 1, (3, mechanism.nv))
    expected = _tree_motion(mechanism, q, v, effort)
    (paper, _), (coarse, gap), (fine, fine_gap) = (
        _taylor_motion(mechanism, q, v, effort, steps, at)
        for steps, at in ((800, 0.0), (800, 0.5), (1600, 0.5))
    )
    error = np.abs(coarse - expected).max()
    assert error < 0.25 * np.abs(paper - expected).max()
    assert gap < 1e-8
    if len(mechanism.bodies) > 1:
        assert gap / fine_gap == pytest.approx(8.0, abs=1.0)
    # without friction and gyroscopic moments, which are held during the step, of second order
    order = 4.0 if name == "pendulum" else 2.0
    assert error / np.abs(fine - expected).max() == pytest.approx(order, abs=0.1)


def test_a_cylindrical_joint_moves_as_a_turn_and_a_slide():
    axis, body = np.array([0.3, 0.2, 1.0]), Body("quill", 1.5, (0.2, 0.1, 0.0), np.diag([0.05, 0.04, 0.03]))
    tree = Mechanism.build(
        [Body("between"), body],
        [
            Joint("turn", "revolute", "world", "between", axis=axis),
            Joint("slide", "prismatic", "between", "quill", axis=axis, viscous=0.5),
        ],
        (1.0, 0, -G),
    )
    expected = _tree_motion(tree, [0.3, 0.1], [2.0, -0.5], [0.4, 5.0])
    joint = Connection(
        "quill",
        "cylindrical",
        JointFrame.along("world", (0, 0, 0), axis),
        JointFrame.along("quill", (0, 0, 0), axis),
    )
    model = MaximalModel.build([body], [joint], (1.0, 0, -G))
    assert model.dof_names == ("quill.turn", "quill.slide")
    ends = []
    for steps in (800, 1600):
        stepper = TaylorStepper(model)
        z = axis / np.linalg.norm(axis)
        c = JointFrame.along("world", (0, 0, 0), axis)
        start = c.rotation @ about_z(0.3) @ c.rotation.T
        stepper.place("quill", Pose(0.1 * z, start, -0.5 * z, 2.0 * z))
        assert np.concatenate([stepper.coordinate, stepper.rate]) == pytest.approx([0.3, 0.1, 2.0, -0.5])
        for _ in range(steps):
            stepper.effort[:] = 0.4, 5.0 - 0.5 * stepper.rate[1]
            stepper.step(DURATION / steps)
        ends.append(np.concatenate([stepper.coordinate, stepper.rate]))
    assert np.abs(ends[0] - expected).max() < 0.02
    assert np.abs(2 * ends[1] - ends[0] - expected).max() < 0.02 * np.abs(ends[0] - expected).max() + 1e-6


def test_a_ball_joint_moves_as_three_hinges():
    body = Body("top", 1.5, (0.1, 0.0, 0.4), np.diag([0.05, 0.04, 0.03]))
    tree = Mechanism.build(
        [Body("a"), Body("b"), body],
        [
            Joint("z", "revolute", "world", "a", axis=(0, 0, 1)),
            Joint("y", "revolute", "a", "b", axis=(0, 1, 0)),
            Joint("x", "revolute", "b", "top", axis=(1, 0, 0)),
        ],
        (0, 0, -G),
    )
    q, v = np.array([0.2, 0.5, -0.3]), np.array([2.0, -1.0, 3.0])
    w = tree.workspace()
    w.q[:], w.v[:] = q, v
    for _ in range(800):
        rk4(*w.arguments, DURATION / 800)
    ball = Connection("ball", "spherical", JointFrame(), JointFrame("top"))
    model = MaximalModel.build([body], [ball], (0, 0, -G))
    ends = []
    for steps in (800, 1600):
        stepper, other = TaylorStepper(model, 0.0), TaylorStepper(model)
        stepper.stand_as(tree, q, v)
        stepper.step(DURATION / steps, steps)
        other.stand_as(tree, w.q, w.v)
        ends.append(stepper.pose("top").axes - other.pose("top").axes)
    assert np.abs(ends[0]).max() < 0.02
    assert np.abs(2 * ends[1] - ends[0]).max() < 0.02 * np.abs(ends[0]).max()


def test_a_free_body_keeps_its_momentum_and_to_first_order_its_spin():
    body = Body("stone", 2.0, (0, 0, 0), np.diag([0.1, 0.2, 0.25]))
    model = MaximalModel.build([body], [], (0, 0, 0))
    start = np.array([1.0, 0.2, 3.0])
    errors = []
    for steps in (500, 1000):
        stepper = TaylorStepper(model)
        stepper.place("stone", Pose(np.zeros(3), np.eye(3), np.array([1.0, 0, 0]), start))
        stepper.step(1.0 / steps, steps)
        assert stepper.position[0] == pytest.approx([1.0, 0, 0])
        turning = stepper.pose("stone").axes @ (body.inertia_kg_m2 @ stepper.spin[0])
        errors.append(np.abs(turning - body.inertia_kg_m2 @ start).max())
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)


def _crank_energy(stepper: TaylorStepper) -> float:
    return sum(stepper.energy())


@pytest.mark.parametrize("speed", [1.5, pytest.param(4.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "phase",
    [pytest.param(1.2, marks=pytest.mark.slow), pytest.param(1.2345, marks=pytest.mark.slow), np.pi / 2],
)
def test_the_slider_crank_passes_its_branch_pose(speed, phase):
    """Equal links: the slider stands under the bearing at π/2; started there too. The branch is kept."""
    errors, angles = [], []
    for steps in (500, 1000, 2000):
        stepper = slider_crank(phase, speed)
        start = sum(stepper.energy())
        stepper.step(1.0 / speed / steps, steps)
        crank, coupler = stepper.pose("crank").axes, stepper.pose("coupler").axes
        assert np.abs(crank - coupler.T).max() < 1e-6  # mirror images: still on the branch it began on
        angles.append(stepper.coordinate[0])
        errors.append(abs(sum(stepper.energy()) - start) / start)
    assert errors[0] < 1e-4
    assert errors[1] / errors[2] == pytest.approx(4.0, abs=0.1)
    assert abs(angles[1] - angles[2]) < 0.4 * abs(angles[0] - angles[1])
    assert angles[-1] > np.pi / 2 + 0.05


def test_the_singular_pose_is_regular_in_motion_and_refused_at_rest():
    moving = slider_crank(np.pi / 2, 2.0, gravity=0.0)
    matrix, _ = moving.system(1e-3)
    assert np.linalg.matrix_rank(matrix / np.abs(matrix).max(), tol=1e-12) == len(matrix)
    with pytest.raises(SingularStep, match="singular at rest"):
        slider_crank(np.pi / 2, 0.0, gravity=0.0).step(1e-3)


def test_repeated_closures_are_refused_and_leave_the_state():
    """A planar parallelogram of four revolute joints: three of its twenty rows repeat the others."""
    bodies = [bar("crank", 0.4, 1.0), bar("coupler", 1.0, 2.0), bar("rocker", 0.4, 1.0)]
    joints = [
        Connection("A", "revolute", JointFrame(), JointFrame("crank")),
        Connection("B", "revolute", JointFrame("crank", (0.4, 0, 0)), JointFrame("coupler")),
        Connection("C", "revolute", JointFrame("coupler", (1.0, 0, 0)), JointFrame("rocker", (0.4, 0, 0))),
        Connection("D", "revolute", JointFrame("world", (1.0, 0, 0)), JointFrame("rocker")),
    ]
    stepper = TaylorStepper(MaximalModel.build(bodies, joints, (0, -G, 0)))
    rest, turned = np.zeros(3), about_z(1.0)
    stepper.place("crank", Pose(rest, turned, rest, rest))
    stepper.place("coupler", Pose(0.4 * turned[:, 0], np.eye(3), rest, rest))
    stepper.place("rocker", Pose(np.array([1.0, 0, 0]), turned, rest, rest))
    before = stepper.position.copy()
    with pytest.raises(SingularStep) as caught:
        stepper.step(1e-3)
    assert caught.value.pivot_ratio < 2e-15
    assert (stepper.position == before).all()
