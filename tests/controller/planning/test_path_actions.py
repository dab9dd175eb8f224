"""Events, followers, captures and conditions of trajectories at admission: what is refused, and why."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import Plan, judge, plan
from linkwork.machine import Machine, load, shipped_path
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import check_params
from linkwork.trajectories.trajectory_file import read_trajectory_file
from tests.signal_machine import signal_machine

DOCS = Path(__file__).parents[3] / "docs"
RADIUS_M, RATE_RAD_S, RAMP_S = 0.05, 2.0, 0.5


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return signal_machine(tmp_path_factory.mktemp("machine"))


def start(machine: Machine) -> Start:
    return Start.at_pose(machine, machine.initial_q, None, None)


def swing(**more: Any) -> dict[str, Any]:
    """One second of the shoulder, by two way-points."""
    first, last = 0.05 + 0.5235987755982988, 0.1 + 0.5235987755982988
    points = [
        {"time_from_start_s": 0.5, "positions": [first]},
        {"time_from_start_s": 1.0, "positions": [last]},
    ]
    return {"coordinates": ["shoulder"], "points": points, **more}


def send(machine: Machine, trajectory: dict[str, Any]) -> Plan:
    return plan("send", {"trajectory": trajectory}, machine, start(machine))


def one(at: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"events": [{"at": at, "set": {"gripper": "on"}, **more}]}


def two(first_s: float, second_s: float, lead_s: float = 0.0) -> dict[str, Any]:
    first = {"at": {"time_s": first_s}, "set": {"gripper": "on"}, "lead_s": lead_s}
    return {"events": [first, {"at": {"time_s": second_s}, "set": {"gripper": "off"}}]}


def follow(output: str = "flow", **how: Any) -> dict[str, Any]:
    return {"follow": {output: {"speed_of": "tool", "per_m_s": 1.0, **how}}}


REFUSED = [
    (one({"time_s": 1.2}), "events[0].at.time_s: 1.2 is not on the path; allowed: 0 to 1 s"),
    (one({"time_s": -0.1}), "allowed: 0 to 1 s"),
    (one({"path_m": 0.9, "of": "tool"}), "events[0].at.path_m: 0.9 is not on the path; allowed: 0 to 0.0"),
    (one({"point": 2}), "events[0].at.point: 2 is not on the path; allowed: 0 to 1"),
    (one({}), "events[0].at: give exactly one of time_s, path_m, point; found none"),
    (one({"time_s": 0.1, "point": 0}), "found time_s, point"),
    (one({"time_s": 0.1, "of": "tool"}), "events[0].at.of: a point belongs to path_m, not to time_s"),
    (one({"path_m": 0.01, "of": "tol"}), "events[0].at.of: there is no point 'tol', did you mean 'tool'?"),
    (one({"time_s": 0.05}, lead_s=0.06), "events[0].lead_s: the event at 0.05 s would have to fire before"),
    (one({"time_s": 0.05}, lead_s=2.0), "events[0].lead_s: "),
    ({"events": [{"at": {"time_s": 0.1}, "set": {"griper": "on"}}]}, "set.griper: there is no such signal"),
    ({"events": [{"at": {"time_s": 0.1}, "set": {"part_present": "on"}}]}, "an input is set by the device"),
    ({"events": [{"at": {"time_s": 0.1}, "set": {"flow": 3.0}}]}, "set.flow: 3.0 is no value of this signal"),
    ({"events": [{"at": {"time_s": 0.1}, "set": {"flow": "on"}}]}, "allowed: 0 to 2.5 l/min"),
    ({"events": [{"at": {"time_s": 0.1}, "set": {}}]}, "events[0].set"),
    (two(0.5, 0.5), "events[1]: contradicts events[0]"),
    (two(0.5, 0.5004), "different values must follow in the order of their places, 0.001 s apart at least"),
    (two(0.6, 0.58, lead_s=0.05), "events[0]: contradicts events[1]"),
    (follow("gripper"), "follow.gripper: a digital output cannot follow a speed"),
    (follow("pressure"), "follow.pressure: an input is set by the device"),
    (follow(per_m_s=100.0), "follow.flow.per_m_s: at 0."),
    (follow(offset=-0.1), "follow.flow.offset: at rest the output would be -0.1 l/min, allowed: 0 to 2.5"),
    (follow(max=9.0), "follow.flow.max: 9.0 is no value of this signal"),
    (follow(speed_of="tol"), "follow.flow.speed_of: there is no point 'tol'"),
    (
        follow() | {"events": [{"at": {"time_s": 0.1}, "set": {"flow": 1.0}}]},
        "set.flow: flow follows the speed",
    ),
    ({"capture": {"camera": "gripper"}}, "capture.camera: this signal is an output; digital inputs are"),
    ({"capture": {"camera": "pressure"}}, "capture.camera: an analog signal has no edges"),
    ({"capture": {"camera": {"input": "part"}}}, "capture.camera.input: there is no such signal"),
    ({"until": "part_presnt"}, "until: "),
    ({"until": "presure > 2"}, "until: there is no quantity 'presure', did you mean 'pressure'?"),
    (
        {"until": "pressure > 10 and part_present"},
        "can never hold: part_present is on or off, pressure is 0 to",
    ),
    ({"until": "time_s < 0"}, "'time_s < 0' can never hold"),
    ({"then": "pause"}, "then: it states what `until` does, and there is no `until`"),
]


@pytest.mark.parametrize(("actions", "message"), REFUSED)
def test_a_goal_is_refused_with_the_field_and_what_is_allowed(
    machine: Machine, actions: dict[str, Any], message: str
) -> None:
    with pytest.raises(RequestError) as refused:
        send(machine, swing(**actions))
    assert message in str(refused.value)
    assert refused.value.path[0] == "trajectory"
    assert refused.value.path[1] in actions
    with pytest.raises(RequestError):
        judge(check_params("check", {"trajectory": swing(**actions)}), machine, start(machine))


def test_a_machine_without_signals_names_the_reason() -> None:
    bare = load("scara")
    with pytest.raises(RequestError, match="this machine has no output signals; add them to `signals`"):
        send(bare, swing(**one({"time_s": 0.1})))


def test_a_place_by_length_lies_there_on_a_circle(machine: Machine) -> None:
    """At half the circle's speed u' = τ³ (10 − 15 τ + 6 τ²), the ramp covers half of its time."""
    here = start(machine)
    names = list(machine.mechanism.coordinate_names)
    x, y, z, angle = (float(here.theta[names.index(name)]) for name in ("x", "y", "z", "angle"))
    backwards = -RATE_RAD_S * 0.5 * RAMP_S
    circle = {
        "center_m": [x - RADIUS_M * np.sin(backwards), y - RADIUS_M * np.cos(backwards), z],
        "radius_m": RADIUS_M,
        "rate_rad_s": RATE_RAD_S,
        "duration_s": 2.0,
    }
    lengths = [0.0, 0.004, 0.1, 0.2]
    events = [
        {"at": {"path_m": length, "of": "tool"}, "set": {"flow": 0.25 * number}}
        for number, length in enumerate(lengths)
    ]
    trajectory = {"curve": {"circle": circle}, "hold": {"angle": angle}, "entry": {"ramp_s": RAMP_S}}
    made = send(machine, trajectory | {"events": events})
    speed = RADIUS_M * RATE_RAD_S
    block = GoalBlock(made.words)
    theta = np.zeros((3, len(block.coordinates)))
    own = [block.coordinates.tolist().index(names.index(name)) for name in ("x", "y")]
    for length, told in zip(lengths, made.report["events"], strict=True):
        s = told["time_s"]
        if length > 0.5 * RAMP_S * speed:
            assert s == pytest.approx(RAMP_S + (length - 0.5 * RAMP_S * speed) / speed, abs=1e-7)
        block.evaluate(s, *theta)
        turned = backwards + length / RADIUS_M
        place = np.array([np.sin(turned), np.cos(turned)]) * RADIUS_M + np.array(circle["center_m"][:2])
        assert np.linalg.norm(theta[0][own] - place) < 1e-7


def test_a_follower_is_refused_only_beyond_its_range(machine: Machine) -> None:
    made = send(machine, swing(**follow(per_m_s=2.0, offset=0.5)))
    part = GoalBlock(made.words).actions
    assert part is not None
    top = float(part.speeds.max())
    assert send(machine, swing(**follow(per_m_s=0.999 * 2.5 / top)))
    with pytest.raises(RequestError, match="per_m_s"):
        send(machine, swing(**follow(per_m_s=1.001 * 2.5 / top)))
    assert send(machine, swing(**follow(per_m_s=10.0 / top, max=2.5)))


def test_a_check_reports_the_events(machine: Machine) -> None:
    asked = swing(**two(0.2, 0.9, lead_s=0.012))
    found = judge(check_params("check", {"trajectory": asked}), machine, start(machine))
    assert [(told["time_s"], told["fires_s"], told["set"]) for told in found["report"]["events"]] == [
        (0.2, pytest.approx(0.188), {"gripper": True}),
        (0.9, 0.9, {"gripper": False}),
    ]


def test_the_example_is_accepted_and_is_on_the_page(tmp_path: Path) -> None:
    text = (DOCS / "examples" / "glue" / "line.yaml").read_text()
    section = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#   "))
    file = tmp_path / "glue.yaml"
    file.write_text(shipped_path("scara").read_text() + "\n" + dedent(section))
    machine = load(file)
    body = text[text.index("coordinates:") :]
    assert body in (DOCS / "trajectories.md").read_text()
    trajectory = read_trajectory_file(DOCS / "examples" / "glue" / "line.yaml").trajectory
    found = judge(
        check_params("check", {"trajectory": trajectory.model_dump(exclude_none=True)}),
        machine,
        start(machine),
    )
    assert found["feasible"], found["violations"]
    assert [told["set"] for told in found["report"]["events"]] == [
        {"glue": True},
        {"glue": False},
        {"lamp": True},
    ]
