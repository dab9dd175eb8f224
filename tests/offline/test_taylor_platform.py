"""The three-leg platform of Huang et al. 2000, whose table exchanges the positions of the motors J7 and J8.

Each leg: a motor hinge to the ground, its axis inward and 15° up; a short rotor along that axis; a hinge
across it; a leg; a ball at the platform. The hinges' centres lie on a circle of radius 0.29 m, the balls on
one of 0.61 m, 0.71 m above. If all move alike, the platform is at h, turned by φ, and a leg's length says

    h² = L² - (a² + b² - 2 a b cos φ),    a = 0.29, b = 0.61, L² = (b - a)² + 0.71²
"""

from itertools import pairwise

import numpy as np
import pytest

from linkwork.multibody import Body
from linkwork.offline.taylor import Connection, JointFrame, MaximalModel, Pose, TaylorStepper
from tests.multibody.machines import G
from tests.multibody.maximal import about_z, bar

A, B, HEIGHT, TORQUE = 0.29, 0.61, 0.71, 10.0
L = np.hypot(B - A, HEIGHT)


def _frame(x, y) -> np.ndarray:
    x, z = x / np.linalg.norm(x), np.cross(x, y)
    z /= np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


def platform(reactions_at: float) -> TaylorStepper:
    bodies, joints, poses = [], [], {}
    up, rest = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    motor = np.array([0.0, 0.39, -0.03])
    axis = np.array([0.0, -0.97, 0.26]) / np.hypot(0.97, 0.26)
    hinge = motor + (0.39 - A) / -axis[1] * axis
    bodies.append(Body("platform", 5.0, (0.0, 0.0, 0.0), np.diag([0.5, 0.5, 0.9])))
    poses["platform"] = Pose(np.array([0.0, 0.0, hinge[2] + HEIGHT]), np.eye(3), rest, rest)
    for i, angle in enumerate((0.0, -2.0 * np.pi / 3.0, 2.0 * np.pi / 3.0), start=1):
        turn = about_z(angle)
        base, knee, inward = turn @ motor, turn @ hinge, turn @ axis
        ball = turn @ np.array([0.0, B, hinge[2] + HEIGHT])
        across = np.cross(inward, up)
        rotor = Body(f"rotor {i}", 1.0, (0.5 * np.linalg.norm(knee - base), 0, 0), 0.02 * np.eye(3))
        bodies += [rotor, bar(f"leg {i}", L, 2.0)]
        poses[f"rotor {i}"] = Pose(base, _frame(inward, up), rest, rest)
        poses[f"leg {i}"] = Pose(knee, _frame(ball - knee, across), rest, rest)

        def along(body, place, direction, poses=poses):
            pose = poses[body]
            return JointFrame.along(body, pose.axes.T @ (place - pose.origin), pose.axes.T @ direction)

        joints += [
            Connection(f"motor {i}", "revolute", JointFrame.along("world", base, inward),
                       along(f"rotor {i}", base, inward)),
            Connection(f"knee {i}", "revolute", along(f"rotor {i}", knee, across),
                       along(f"leg {i}", knee, across)),
            Connection(f"ball {i}", "spherical", JointFrame(f"leg {i}", (L, 0, 0)),
                       JointFrame("platform", ball - poses["platform"].origin)),
        ]  # fmt: skip
    stepper = TaylorStepper(MaximalModel.build(bodies, joints, (0.0, 0.0, -G)), reactions_at)
    for body, pose in poses.items():
        stepper.place(body, pose)
    stepper.coordinate[:] = 0.0
    for i in (1, 2, 3):
        stepper.effort[stepper.model.dof_index(f"motor {i}")] = TORQUE
    return stepper


def test_seven_bodies_have_39_independent_rows():
    stepper = platform(0.5)
    assert len(stepper.model.rigids) == 7
    assert stepper.model.unknowns == 39
    assert np.abs(stepper.gap()).max() < 1e-15
    for moment in (0.0, 0.1):
        stepper.step(1e-3, round(moment * 1e3))
        matrix, _ = stepper.system(1e-3)
        assert np.linalg.matrix_rank(matrix) == 39


@pytest.mark.parametrize("reactions_at", [0.0, 0.5])
def test_the_symmetric_motion_stays_on_its_closed_form(reactions_at):
    deviations, balances, ends = [], [], []
    for dt in (2e-3, 1e-3, 5e-4):
        stepper = platform(reactions_at)
        start = sum(stepper.energy())
        rise = stepper.pose("platform").origin[2] - HEIGHT
        motors = [stepper.model.dof_index(f"motor {i}") for i in (1, 2, 3)]
        first = stepper.coordinate[motors].copy()
        worst = 0.0
        for _ in range(15):
            stepper.step(dt, round(0.02 / dt))
            pose = stepper.pose("platform")
            phi = np.arctan2(pose.axes[1, 0], pose.axes[0, 0])
            h = np.sqrt(L**2 - (A**2 + B**2 - 2 * A * B * np.cos(phi)))
            worst = max(worst, abs(pose.origin[2] - rise - h))
            assert np.abs(pose.origin[:2]).max() < 1e-9
            assert np.abs(pose.axes[2] - [0, 0, 1]).max() < 1e-9
        assert abs(phi) > 0.15
        work = TORQUE * (stepper.coordinate[motors] - first).sum()
        deviations.append(worst)
        balances.append(abs(sum(stepper.energy()) - start - work) / abs(work))
        ends.append(phi)
    assert deviations[1] < 5e-9
    for coarse, fine in pairwise(deviations):
        assert coarse / fine == pytest.approx(8.0, abs=0.3)
    if reactions_at == 0.0:
        assert balances[1] / balances[2] == pytest.approx(2.0, abs=0.05)
        assert (ends[0] - ends[1]) / (ends[1] - ends[2]) == pytest.approx(2.0, abs=0.05)
    assert balances[1] < (2e-4 if reactions_at == 0.0 else 1e-5)
