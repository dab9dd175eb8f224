"""How close paths of closed machines come to poses in which hold is lost, and the efforts they ask for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.moves import path_to
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.process.planner import plan
from linkwork.controller.planning.walk.walk import walk
from linkwork.machine import Machine, load
from linkwork.machine.building.initial_assembly import admitted, admitted_velocities
from linkwork.multibody.functions import mass_matrix
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import MoveParams


@pytest.fixture(scope="module")
def five_bar() -> Machine:
    return load("five_bar")


def planned(machine: Machine) -> Path:
    target = np.array([1.9, 1.2])
    start = Start.at_pose(machine, machine.initial_q)
    return path_to(machine, start.present(machine, [0, 1]), target)


def test_the_leverage_of_a_walk_is_the_smallest_singular_value_of_the_motors_rows(five_bar: Machine) -> None:
    walked = walk(five_bar, planned(five_bar), five_bar.initial_q)
    assert walked.leverage is not None
    assert walked.closures is not None
    motors = [motor.index for motor in five_bar.motors]
    for sample in (0, len(walked.s) // 2, len(walked.s) - 1):
        ways = admitted(five_bar.mechanism, walked.q[sample])
        expected = np.linalg.svd(ways[motors], compute_uv=False)[-1]
        assert walked.leverage[sample] == pytest.approx(expected, rel=1e-9)


def test_the_report_names_peaks_of_effort_and_the_closest_poses(five_bar: Machine) -> None:
    start = Start.at_pose(five_bar, five_bar.initial_q)
    params = MoveParams.model_validate({"target": {"left": 1.9, "right": 1.2}})
    report = plan("move", params, five_bar, start).report
    assert set(report["effort_peaks"]) == {"left", "right"}
    for name, peak in report["effort_peaks"].items():
        assert peak["limit"] == 10.0
        assert abs(peak["value"]) <= report["limits"]["effort"][name]["value"] * (1 + 1e-9)
        assert peak["unit"] == "N m"
    found = report["singularities"]
    assert found["goal"] == report["singularity"]
    assert 0.1 < found["motors"]["smallest"] < 1.0
    assert found["motors"]["limit"] == 0.01
    assert found["closures"]["smallest"] > 0.1


def test_open_machines_have_neither_closures_nor_a_map_of_motors() -> None:
    scara = load("scara")
    params = MoveParams.model_validate({"target": {"shoulder": 0.3}})
    report = plan("move", params, scara, Start.at_pose(scara, scara.initial_q)).report
    assert report["singularities"] == {"goal": None, "closures": None, "motors": None}


def test_a_path_on_which_the_motors_lose_their_leverage_is_refused(five_bar: Machine) -> None:
    start = Start.at_pose(five_bar, five_bar.initial_q)
    target = {"left": np.radians(139.0), "left_elbow": np.radians(-145.0)}
    with pytest.raises(RequestError, match="motors cannot control one motion") as caught:
        plan("move", MoveParams.model_validate({"target": target}), five_bar, start)
    data = caught.value.data
    assert data["quantity"] == "leverage"
    assert data["value"] < data["limit"] == 0.01
    assert data["min_time_stretch"] is None


@pytest.mark.parametrize("name", ["five_bar", "delta", "arm_6dof"])
def test_the_share_of_inertia_is_what_a_joint_keeps_while_the_others_yield(name: str) -> None:
    machine = load(name)
    chosen = [machine.mechanism.coordinate_names.index(each) for each in machine.goal_coordinates]
    present = Start.at_pose(machine, machine.initial_q).present(machine, chosen)
    walked = walk(machine, path_to(machine, present, present.theta + 0.01), machine.initial_q)
    for sample in (0, len(walked.s) - 1):
        mass = mass_matrix(machine.mechanism, walked.q[sample])
        ways = admitted_velocities(machine.mechanism, walked.q[sample])
        mobility = np.diag(ways @ np.linalg.solve(ways.T @ mass @ ways, ways.T))
        assert walked.shares[sample] == pytest.approx(1.0 / (mobility * np.diag(mass)).max(), rel=1e-6)


@pytest.fixture(scope="module")
def arm() -> Machine:
    return load("arm_6dof")


@settings(max_examples=10, deadline=None)
@given(
    way=st.floats(1.4, 2.5),
    others=st.lists(st.floats(-0.3, 0.3), min_size=5, max_size=5),
    speed=st.floats(0.02, 1.0),
)
def test_a_path_through_a_pose_without_inertia_is_refused_at_any_speed(
    arm: Machine, way: float, others: list[float], speed: float
) -> None:
    """The first and the third axis of the wrist are in line where the second one is at a right angle."""
    at = arm.initial_q + np.array([*others[:4], way, others[4]])
    names = arm.mechanism.joint_names
    params = MoveParams.model_validate({"target": dict(zip(names, at.tolist(), strict=True)), "speed": speed})
    with pytest.raises(RequestError, match="with hardly any inertia") as caught:
        plan("move", params, arm, Start.at_pose(arm, arm.initial_q))
    data = caught.value.data
    assert (data["quantity"], data["coordinate"]) == ("inertia", "wrist.1, wrist.3")
    assert data["position"]["wrist.2"] == pytest.approx(np.pi / 2, abs=0.1)
