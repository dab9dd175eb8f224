"""The machines that ship: degrees of freedom, ranks, closed forms of their initial poses, energy."""

import math

import numpy as np
import pytest

from linkwork import machine
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody.functions import point_position
from linkwork.offline.run import simulate

SHAPES = {  # degrees of freedom, rows, rank
    "scara": (4, 0, 0),
    "double_pendulum": (2, 0, 0),
    "slider_crank": (1, 1, 1),
    "four_bar": (1, 3, 2),
    "five_bar": (2, 5, 2),
    "five_bar_redundant": (2, 5, 2),
    "platform_3rrs": (3, 6, 6),
    "platform_huang": (3, 6, 6),
    "delta": (3, 25, 13),
    "delta_gripper": (3, 25, 13),
    "arm_6dof": (6, 0, 0),
    "arm_6dof_simple": (6, 0, 0),
    "thin_disk": (3, 0, 0),
    "scara_polish": (4, 0, 0),
    "press": (1, 0, 0),
    "slot_arm": (2, 0, 0),
    "catch": (3, 0, 0),
    "scara_gripper": (4, 0, 0),
}


def test_these_are_all():
    assert set(SHAPES) == set(machine.shipped())


@pytest.mark.parametrize("name", SHAPES)
def test_degrees_of_freedom_and_ranks(name):
    loaded = machine.load(name)
    put = loaded.assembly
    assert (put.dof, put.rows, put.rank) == SHAPES[name]
    assert put.ordinary_rank == put.rank
    assert put.residual < 1e-12
    assert len(loaded.goal_coordinates) == put.dof


@pytest.mark.parametrize("name", SHAPES)
def test_a_second_of_free_motion_stays_on_the_manifold_and_keeps_its_energy(name):
    loaded = machine.load(name)
    balance = simulate(loaded, 1.0).balance
    assert balance.residual_position_max < 1e-12
    assert balance.residual_velocity_max < 1e-11
    assert balance.energy_balance_error_J < 1e-5


def test_the_slider_follows_its_crank():
    loaded = machine.load("slider_crank")
    assert np.degrees(loaded.initial_q) == pytest.approx([30, -60])
    assert point_position(loaded.mechanism, "tip", loaded.initial_q) == pytest.approx(
        [2 * math.cos(math.radians(30)), 0, 0]
    )


def test_a_swing_of_the_four_bar_passes_both_kinds_of_poses():
    motion = simulate(machine.load("four_bar"), 2.0)
    a1, _, a3 = motion.q.T
    assert np.ptp(np.sign(np.sin(a3))) == 2
    assert np.ptp(np.sign(np.cos(a1))) == 2
    closure = 1 + 0.64 - 1.6 * np.sin(a1) - (0.49 + 0.36 + 0.84 * np.cos(a3))
    assert np.abs(closure).max() < 1e-12


def test_the_five_bar_is_symmetric_and_the_delta_level():
    five = machine.load("five_bar")
    tool = point_position(five.mechanism, "tool", five.initial_q)
    rise = 0.2 * math.sin(math.pi / 3)
    assert tool == pytest.approx([0, rise + math.sqrt(0.25**2 - 0.2**2), 0], abs=1e-12)
    delta = machine.load("delta")
    x, y, z = point_position(delta.mechanism, "tool", delta.initial_q)
    reach = 0.2 + 0.25 * math.cos(math.radians(20)) - 0.06
    assert (x, y) == pytest.approx((0, 0), abs=1e-12)
    assert z == pytest.approx(-0.25 * math.sin(math.radians(20)) - math.sqrt(0.25 - reach**2))


def test_the_platform_is_as_high_as_its_legs_say():
    platform = machine.load("platform_3rrs")
    height = point_position(platform.mechanism, "centre", platform.initial_q)[2]
    assert height == pytest.approx(0.71 - 0.03 - 0.22 * math.tan(math.radians(15)), abs=5e-3)  # rounded data


def test_both_wrists_move_alike():
    """The energy of the compound and of the simple arm, in the same pose and as fast, is the same."""
    compound, simple = machine.load("arm_6dof"), machine.load("arm_6dof_simple")
    start = {"shoulder.1": 0.4, "shoulder.2": 0.1, "elbow": 0.9}
    no_wrist = {"wrist.1": 0.0, "wrist.2": 0.0, "wrist.3": 0.0}
    one = simulate(compound, 0.3, initial=start | no_wrist)
    turned = simple.initial_q.copy()
    turned[3:] = 0.0, 0.0, 0.0, 1.0
    object.__setattr__(simple, "initial_q", turned)
    two = simulate(simple, 0.3, initial=start)
    np.testing.assert_allclose(one.q[:, :3], two.q[:, :3], atol=1e-9)


def test_a_wrist_may_have_its_axes_in_any_order(tmp_path):
    """The shipped arm with the paper's order y, z, x has the same poses and motion under other names."""
    text = shipped_path("arm_6dof_simple").read_text()
    x, y, z = (f"[{', '.join('1' if k == axis else '0' for k in range(6))}]" for axis in range(3))
    assert f"[{x}, {y}, {z}]" in text
    (tmp_path / "arm.yaml").write_text(text.replace(f"[{x}, {y}, {z}]", f"[{y}, {z}, {x}]"))
    given, turned = machine.load("arm_6dof_simple"), machine.load(tmp_path / "arm.yaml")
    pose = [point_position(each.mechanism, "tool", each.initial_q) for each in (given, turned)]
    np.testing.assert_allclose(pose[0], pose[1], atol=1e-14)
    one = simulate(given, 0.3, effort={"wrist.2": 0.3, "wrist.3": 0.1})
    two = simulate(turned, 0.3, effort={"wrist.1": 0.3, "wrist.2": 0.1})
    np.testing.assert_allclose(one.v[:, :3], two.v[:, :3], atol=1e-9)
    np.testing.assert_allclose(one.v[:, 3:], two.v[:, [5, 3, 4]], atol=1e-9)


def test_the_disk_nutates_as_euler_says():
    """In the body's axes the equatorial velocity turns with (C - A)/A times the spin."""
    motion = simulate(machine.load("thin_disk"), 1.0)
    np.testing.assert_allclose(motion.v[:, 2], 10.0, atol=1e-10)
    np.testing.assert_allclose(motion.v[:, 0], 0.5 * np.cos(10.0 * motion.time_s), atol=1e-8)
