"""Minimal coordinates where partitions differ: rolling (velocities, not positions), balls, moving targets."""

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, Workspace
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.constraints import CoordinateConstraint, Frame, PointClosure, RollingConstraint
from linkwork.multibody.dynamics.partition import COUNT, POSITIONS, PROJECTED_STEPS, VELOCITIES
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.steps.minimal import minimal_rk4
from tests.multibody.machines import random_tree


def _run(w: Workspace, dt: float, count: int) -> tuple[Floats, np.ndarray]:
    """q at the end by minimal coordinates, and the partition."""
    for _ in range(count):
        minimal_rk4(*w.arguments, dt)
    return w.q.copy(), w.partition


def _rolling() -> tuple[Mechanism, Floats, Floats]:
    ball = Body("ball", 2.0, (0.05, 0.0, 0.02), np.diag([0.03, 0.04, 0.05]))
    mechanism = Mechanism.build(
        [ball],
        [Joint("j", "free", "world", "ball")],
        (1.0, 0.5, -9.81),
        constraints=[RollingConstraint("floor", b=Frame("ball"), radius_m=0.3)],
    )
    start = mechanism.workspace()
    start.q[2] = 0.3
    state = assemble(mechanism, start.q, [0.5, 0.2, 0.0, 1.0, -2.0, 3.0])
    return mechanism, state.q, state.v


def _hanging() -> tuple[Mechanism, Floats, Floats]:
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 3, ("spherical",), serial=True, armature=False)
    start = tree.workspace()
    pin = PointClosure("pin", a=Frame("world", (0.3, 0.2, 0.1)), b=Frame("body2", (0.1, 0.0, 0.2)))
    probe = Mechanism.build(tree.bodies, tree.joints, (0.0, 0.0, -9.81), constraints=[pin])
    state = assemble(probe, start.q + 0.1 * rng.normal(size=tree.nq), rng.normal(size=tree.nv))
    return probe, state.q, state.v


@pytest.mark.parametrize("make", [_rolling, _hanging])
def test_it_is_of_fourth_order_and_ends_where_projection_ends(make):
    mechanism, q, v = make()

    def begin() -> Workspace:
        w = mechanism.workspace()
        w.q[:], w.v[:] = q, v
        return w

    exact = begin()
    for _ in range(1600):
        rk4(*exact.arguments, 0.3 / 1600)
    errors = []
    for count in (100, 200):
        w = begin()
        found, partition = _run(w, 0.3 / count, count)
        errors.append(np.abs(found - exact.q).max())
        assert partition[PROJECTED_STEPS] == 0
        assert np.abs(w.phi).max() < 1e-12
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] > 10


def test_rolling_takes_velocities_but_one_position_only():
    mechanism, q, v = _rolling()
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    _, partition = _run(w, 1e-3, 1)
    assert partition[COUNT + VELOCITIES] == 3
    assert partition[COUNT + POSITIONS] == 1


def test_a_target_that_moves_is_followed():
    rng = np.random.default_rng(4)
    drive = CoordinateConstraint("drive", of="joint1")
    mechanism = random_tree(rng, 3, ("revolute",), serial=True, constraints=(drive,))
    ends = []
    for minimal in (True, False):
        w = mechanism.workspace()
        w.q[:] = 0.3
        w.target[0, :3] = 0.3, 1.0, 2.0
        w.v[mechanism.joint_index("joint1")] = 1.0
        if minimal:
            _run(w, 1e-3, 200)
        else:
            for _ in range(200):
                rk4(*w.arguments, 1e-3)
        ends.append(w.q.copy())
    assert abs(ends[0][mechanism.joint_index("joint1")] - (0.3 + 0.2 + 0.04)) < 1e-12
    assert np.abs(ends[0] - ends[1]).max() < 1e-7
