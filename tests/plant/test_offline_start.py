"""Starts of offline simulations: speeds that are kept, states as given, and efforts that change in time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import load
from linkwork.offline.efforts import MotorEfforts
from linkwork.offline.run import begin, simulate
from linkwork.offline.start_state import StartState
from linkwork.plant.simulator.start_values import StartNotAssembled

BAR = load("four_bar")
PLATE = """
name: plate
bodies:
  plate: {mass_kg: 2, com_m: [0.1, 0, 0], inertia_kg_m2: {xx: 0.1, yy: 0.2, zz: 0.25}}
joints:
  ball: {type: spherical, parent: world, child: plate}
initial: {ball.roll_deg: 20, ball.ry_rad_s: 0.5}
"""


def test_a_given_speed_is_kept_and_the_others_follow() -> None:
    names = BAR.plant_mechanism.joint_names
    work = begin(BAR, StartState(speeds={"a3": 0.5}))
    assert work.v[names.index("a3")] == pytest.approx(0.5, rel=1e-12)
    motion = simulate(BAR, 0.001, initial=StartState(speeds={"a3": 0.5}))
    np.testing.assert_array_equal(motion.v[0], work.v)
    assert motion.balance.residual_velocity_max < 1e-12
    assert np.abs(motion.v[0]).min() > 1e-3


def test_speeds_that_the_constraints_do_not_admit_are_refused_with_what_they_leave() -> None:
    alone = begin(BAR, StartState(speeds={"a1": 1.0})).v[BAR.plant_mechanism.joint_index("a3")]
    with pytest.raises(StartNotAssembled, match=rf"speed 9 of a3: .* give {alone:g}"):
        begin(BAR, StartState(speeds={"a1": 1.0, "a3": 9.0}))
    both = begin(BAR, StartState(speeds={"a1": 1.0, "a3": float(alone)}))
    assert both.v[BAR.plant_mechanism.joint_index("a1")] == pytest.approx(1.0, rel=1e-9)


def test_speeds_of_a_quaternion_joint_are_its_velocities(tmp_path: Path) -> None:
    path = tmp_path / "plate.yaml"
    path.write_text(PLATE, encoding="utf-8")
    motion = simulate(load(path), 0.001, initial=StartState(speeds={"ball.rx": 1.0}))
    np.testing.assert_array_equal(motion.v[0], [1.0, 0.5, 0.0])
    with pytest.raises(ValueError, match=r"unknown joint 'ball.wx'; available: ball.rx"):
        begin(load(path), StartState(speeds={"ball.wx": 1.0}))
    with pytest.raises(ValueError, match=r"unknown joint 'ball.rx'"):
        begin(load(path), StartState(positions={"ball.rx": 1.0}))


def test_as_given_leaves_closures_open_and_assembled_closes_them() -> None:
    given = {"a1": 2.0, "a2": -0.6, "a3": -2.2}
    work = begin(BAR, StartState(given, {"a2": 3.0}, "as-given"))
    np.testing.assert_array_equal(work.q, [2.0, -0.6, -2.2])
    np.testing.assert_array_equal(work.v, [0.0, 3.0, 0.0])
    open_ = simulate(BAR, 0.01, initial=StartState(given, how="as-given"), stabilisation="none")
    assert open_.balance.residual_position_max > 0.01
    closed = simulate(BAR, 0.01, initial=StartState({"a1": 2.0}))
    assert closed.balance.residual_position_max < 1e-12
    with pytest.raises(ValueError, match="assembled, as-given"):
        begin(BAR, StartState(how="loose"))


def test_work_of_efforts_that_change_is_counted_piece_by_piece() -> None:
    for formulation in ("projected", "minimal"):
        motion = simulate(BAR, 0.2, 0.0005, effort={"a1": "8*sin(40*t)"}, formulation=formulation)
        assert motion.balance.energy_balance_error_J < 1e-7
        assert abs(motion.balance.motor_work_J) > 0.01


def test_efforts_by_name_are_those_in_order() -> None:
    machine = load("scara")
    by_name = MotorEfforts(machine, {"elbow": 2.0, "lift": "4 + t"})
    names = [motor.joint for motor in machine.motors]
    expected = np.zeros(len(names))
    expected[names.index("elbow")], expected[names.index("lift")] = 2.0, 4.5
    np.testing.assert_array_equal(by_name.values(0.5), expected)
    assert by_name.vary
    assert not MotorEfforts(machine, {"elbow": "2*pi"}).vary
    with pytest.raises(ValueError, match="4 finite numbers"):
        MotorEfforts(machine, [1.0])
