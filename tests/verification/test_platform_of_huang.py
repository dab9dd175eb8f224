"""The platform of Huang et al. 2000 with the printed data: closed form, `simulate`, plant and expansion."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.papers.maximal import driven, platform, platform_of
from benchmarks.papers.symmetric_platform import SymmetricPlatform, crossings_of
from linkwork.machine import load
from linkwork.multibody.functions import point_position
from linkwork.offline.run import simulate
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Mode

CROSSINGS_S = [0.8642, 1.3503, 1.9050]
ROUNDED_S = [0.8698, 1.3615, 1.9260]
MOTORS = ("motor_1", "motor_2", "motor_3")


def _simulated(**how):
    motion = simulate(load("platform_huang"), 2.0, effort=[10.0] * 3, track=["centre"], **how)
    return motion, crossings_of(motion.time_s, motion.points.position_m[:, 0, 2])


def test_the_file_has_the_printed_data():
    machine = load("platform_huang")
    bodies = {body.name: body for body in machine.mechanism.bodies}
    assert [bodies[name].mass_kg for name in ("rotor_2", "leg_3", "platform")] == [1, 5, 10]
    assert np.linalg.eigvalsh(bodies["rotor_1"].inertia_kg_m2) == pytest.approx([0.01, 0.1, 0.1])
    assert np.linalg.eigvalsh(bodies["leg_2"].inertia_kg_m2) == pytest.approx([0.07, 0.7, 0.7])
    leg = bodies["leg_1"].inertia_kg_m2 @ [0, 0.32, 0.71]
    assert leg == pytest.approx(0.07 * np.array([0, 0.32, 0.71]))
    assert np.diag(bodies["platform"].inertia_kg_m2) == pytest.approx([2.5, 5, 2.5])
    assert point_position(machine.mechanism, "centre", machine.initial_q) == pytest.approx([0, 0, 0.71])


def test_the_closed_form_passes_zero_where_the_machine_does():
    form = SymmetricPlatform()
    np.testing.assert_allclose(form.crossings(), CROSSINGS_S, atol=5e-5)
    motion, found = _simulated()
    np.testing.assert_allclose(found, form.crossings(), atol=2e-6)  # straight lines between samples of 1 ms
    assert motion.balance.energy_balance_error_J < 1e-4


def test_the_closed_form_tells_the_two_radii_apart():
    """The relation of the heights is the same with balls and knees exchanged; the times are not."""
    form = SymmetricPlatform()
    exchanged = replace(form, knee_radius=form.ball_radius, ball_radius=form.knee_radius)
    assert exchanged.at(1.0).height == form.at(1.0).height
    assert exchanged.at(1.0).turn == pytest.approx(form.at(1.0).turn)
    assert np.all(np.abs(exchanged.crossings() - form.crossings()) > 0.04)


def test_the_motors_turn_as_the_unsymmetric_relation_says():
    motion, _ = _simulated()
    form, motor = SymmetricPlatform(), motion.joint_names.index("motor_2")
    for k in range(100, len(motion.time_s), 200):
        s = float(np.interp(motion.q[k, motor], *_angles(form)))
        assert motion.points.position_m[k, 0, 2] == pytest.approx(form.at(s).height, abs=1e-4)


def _angles(form):
    s = np.linspace(0.0, 9.0, 9001)
    return np.array([form.at(float(x)).motor for x in s]), s


@pytest.mark.slow
def test_the_rounded_table_is_a_little_slower():
    time, place, _ = driven(platform_of(), 2.0, 1e-3)
    np.testing.assert_allclose(crossings_of(time, place[:, 2]), ROUNDED_S, atol=1e-4)


def test_the_plant_passes_zero_at_the_same_times():
    machine = load("platform_huang")
    plant, heights = Simulator(machine), []
    plant.latch(int(Mode.EFFORT), np.full(3, 10.0))
    for _ in range(2001):
        heights.append(point_position(machine.plant_mechanism, "centre", plant.q)[2])
        plant.integrate()
    found = crossings_of(np.arange(2001) * machine.plant.period_s, np.array(heights))
    np.testing.assert_allclose(found, CROSSINGS_S, atol=1e-4)


@pytest.mark.slow
def test_the_expansion_passes_zero_within_a_millisecond():
    _, found = _simulated(dt_s=2.5e-4, formulation="taylor")
    np.testing.assert_allclose(found, CROSSINGS_S, atol=1e-3)


def test_legs_two_and_three_are_leg_one_turned():
    tree = platform()
    q = load("platform_huang").initial_q
    place = [np.asarray(joint.at_m) for joint in tree.joints if joint.name in MOTORS]
    for k, angle in ((1, -120.0), (2, 120.0)):
        c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        assert np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ place[0] == pytest.approx(place[k], abs=1e-15)
    assert np.abs(q[:6]).max() < 1e-14
