"""A move replaces the active one at any time: the planner's own reference is within its own limits."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linkwork.controller.exchange.orders import Splice
from linkwork.controller.planning.goals.goal_in_motion import GoalInMotion
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import Plan, plan
from linkwork.machine import Machine, load
from linkwork.protocol.errors import RequestError
from tests.controller.planning.conftest import limited
from tests.controller.planning.test_fastest import FIVE_BAR, request_of, without_jerk

SPINDLE = """\
name: spindle
bodies: {wheel: {mass_kg: 2, inertia_kg_m2: {xx: 0.02, yy: 0.02, zz: 0.04}}}
joints:
  wheel: {type: revolute, parent: world, child: wheel, axis: [0, 0, 1], limits: LIMITS}
motors: {wheel: {max_torque_N_m: 10, max_speed_rad_s: 20, brake_torque_N_m: 5}}
sensors: {wheel: {velocity: true}}
"""


def after(machine: Machine, active: Plan, s: float) -> GoalInMotion:
    """The goal when its path parameter is s, as the gateway describes it."""
    path = Path.of_block(active.words)
    running = GoalInMotion(1, active.words, path, active.q, 0.0, 0.0, 1.0, 1.0)
    return GoalInMotion(1, active.words, path, running.start(machine, s).q, s, s, 1.0, 1.0)


def planned(machine: Machine, target: dict[str, float], running: GoalInMotion | None = None) -> Plan:
    """The move to this target, from the file's pose or from a goal in motion."""
    start = running.start(machine) if running else Start.at_pose(machine, machine.initial_q)
    return plan("move", {"target": target}, machine, start, running)


@settings(max_examples=2)
@example(30, 1.0, 1.0, 1.0)
@example(21, 1.0559661616258509, 2.0, 12.0)
@example(35, 1.1941360559906624, 5.0, 19.88671875)
@given(st.integers(1, 60), st.floats(0.1, 3.0), st.floats(0.1, 10.0), st.floats(0.1, 30.0))
def test_a_move_in_motion_is_replaced_at_its_limits(
    tmp_path_factory: pytest.TempPathFactory, ticks: int, velocity: float, acceleration: float, jerk: float
) -> None:
    file = tmp_path_factory.mktemp("spindle") / "spindle.yaml"
    limits = f"{{velocity_rad_s: {velocity}, acceleration_rad_s2: {acceleration}, jerk_rad_s3: {jerk}}}"
    file.write_text(SPINDLE.replace("LIMITS", limits))
    machine, target = load(file), {"wheel": 20.0 * velocity}
    active = planned(machine, target)
    for _ in range(40):
        if 1e-3 * ticks < active.duration_s:
            active = planned(machine, target, after(machine, active, 1e-3 * ticks))


@pytest.mark.parametrize("limit", [0.3, 0.7])
def test_a_move_of_the_tool_is_replaced_by_one_of_the_joints(scara: Machine, limit: float) -> None:
    slow = limited(scara, "shoulder", velocity=limit)
    tool = planned(slow, {"x": 0.3, "y": 0.1})
    for share in range(1, 30):
        planned(slow, {"shoulder": -1.2}, after(slow, tool, share / 30 * tool.duration_s))


@pytest.mark.parametrize("jerk", [True, False], ids=["third order", "second order"])
@pytest.mark.parametrize("method", ["send", pytest.param("move", marks=pytest.mark.slow)])
def test_the_fastest_timing_continues_the_motion_of_the_goal_before(method: str, jerk: bool) -> None:
    machine = load("five_bar") if jerk else without_jerk(load("five_bar"))
    way, start = request_of(machine, *FIVE_BAR, timing="given")
    active = plan("send", way, machine, start)
    running = after(machine, active, 0.5 * active.duration_s)
    here = running.start(machine)
    x, y = (float(here.theta[machine.coordinate_index(name)]) for name in ("x", "y"))
    points = [
        {"time_from_start_s": 1.0, "positions": [x - 0.03, y + 0.01]},
        {"time_from_start_s": 2.0, "positions": [x - 0.06, y + 0.03]},
    ]
    asked = {
        "send": {"trajectory": {"timing": "fastest", "coordinates": ["x", "y"], "points": points}},
        "move": {"target": {"x": x - 0.05, "y": y + 0.03}, "timing": "fastest"},
    }
    made = plan(method, asked[method], machine, here, running)
    timing = made.report["timing"]
    assert isinstance(made.begin, Splice)
    assert timing["duration_s"] == made.duration_s < 0.9 * timing["given_s"]
    _, rate, change = Path.of_block(made.words).evaluate(0.0)
    assert rate == pytest.approx(here.reference_rate, abs=1e-12)
    if jerk:
        most = [machine.period_s * machine.coordinates[index].jerk for index in active_coordinates(made)]
        assert np.all(np.abs(change - here.reference_acceleration) <= most)


def active_coordinates(made: Plan) -> tuple[int, ...]:
    return Path.of_block(made.words).coordinates


@pytest.mark.parametrize(
    "jerk", [pytest.param(True, marks=pytest.mark.slow), False], ids=["third order", "second order"]
)
def test_a_motion_that_no_timing_can_continue_is_refused_at_its_field(jerk: bool) -> None:
    machine = load("five_bar") if jerk else without_jerk(load("five_bar"))
    way, start = request_of(machine, *FIVE_BAR)
    active = plan("send", way, machine, start)
    running = after(machine, active, 0.5 * active.duration_s)
    here = running.start(machine)
    index = [machine.coordinate_index(name) for name in ("x", "y")]
    there = here.theta[index] + 0.05 * here.rate[index]
    points = [{"time_from_start_s": 0.1, "positions": there.tolist()}]
    trajectory = {"timing": "fastest", "margin": 0.05, "coordinates": ["x", "y"], "points": points}
    with pytest.raises(RequestError) as caught:
        plan("send", {"trajectory": trajectory}, machine, here, running)
    assert tuple(caught.value.path) == ("trajectory", "timing"), caught.value
    assert "begins in motion" in caught.value.message
