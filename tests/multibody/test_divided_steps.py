"""Steps that divide themselves: where motion is fast, and nowhere else."""

import numpy as np
import pytest

from linkwork.multibody import Body, Coordinate, Joint, Mechanism
from linkwork.multibody.constraints import CoordinateConstraint
from linkwork.multibody.kernels import layout
from linkwork.multibody.steps.divided_steps import MOST, divided_rk4
from linkwork.multibody.steps.integrate import rk4
from tests.multibody.machines import pendulum


def _swing(step, dt, seconds, speed):
    w = pendulum().workspace()
    w.q[:], w.v[:] = 1.0, speed
    for _ in range(round(seconds / dt)):
        step(*w.arguments, dt)
    return np.array([w.q[0], w.v[0]])


def test_slow_motion_is_that_of_the_plain_step_bit_for_bit():
    assert (_swing(divided_rk4, 1e-3, 1.0, 0.0) == _swing(rk4, 1e-3, 1.0, 0.0)).all()


def test_a_step_that_is_too_long_is_as_good_as_short_ones():
    exact = _swing(rk4, 1e-4, 2.0, 3.0)
    plain, divided = _swing(rk4, 0.1, 2.0, 3.0), _swing(divided_rk4, 0.1, 2.0, 3.0)
    assert np.abs(divided - exact).max() < 5e-7
    assert np.abs(plain - exact).max() > 1e3 * np.abs(divided - exact).max()


def test_parts_are_bounded_where_friction_is_stiff():
    """A thousand times too stiff for one part: it still ends, after at most twice `MOST` evaluations."""
    mechanism = pendulum(coulomb=50.0, coulomb_speed=1e-6)
    w = mechanism.workspace()
    w.v[:] = 1.0
    for _ in range(50):
        divided_rk4(*w.arguments, 1e-3)
    assert np.isfinite(w.v).all()
    assert MOST == 64


@pytest.mark.parametrize("speed", [1e100, 1e200, np.inf, np.nan])
def test_motion_beyond_all_numbers_ends(speed):
    w = pendulum(viscous=1e9).workspace()
    w.v[:] = speed
    for _ in range(10):
        divided_rk4(*w.arguments, 1e-3)
    assert not np.isfinite(w.v).all()


def test_time_and_counts_are_those_of_whole_steps():
    """A prescribed swing that is fast for the step: clock, work and rank are told once for each part kept."""
    mechanism = Mechanism.build(
        [
            Body("arm", 1.0, (0.5, 0.0, 0.0), np.diag([0.0, 0.1, 0.1])),
            Body("tip", 1.0, (0.3, 0.0, 0.0), np.eye(3) * 0.1),
        ],
        [
            Joint("driven", "revolute", "world", "arm"),
            Joint("loose", "revolute", "arm", "tip", at_m=(1.0, 0.0, 0.0)),
        ],
        (0.0, -9.81, 0.0),
        (),
        (Coordinate("angle", "joint", "driven"),),
        (CoordinateConstraint("drive", of="angle"),),
    )
    w = mechanism.workspace()
    w.choice[1] = 1.0
    w.target[0, :3] = 0.0, 20.0, 5.0
    w.v[:] = 20.0, 0.0
    steps, dt = 40, 0.01
    for _ in range(steps):
        divided_rk4(*w.arguments, dt)
    assert abs(w.clock[0] - steps * dt) < 1e-14
    assert abs(w.q[0] - (20.0 * w.clock[0] + 2.5 * w.clock[0] ** 2)) < 1e-12
    assert w.ranking[layout.RANK] == 1.0
