"""Imported robots in motion: accelerations by Pinocchio, and moves by their motors in lockstep."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.motion.reference import GoalStatus
from linkwork.convert.robots.importing import import_robot
from linkwork.machine import load
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.protocol.codes import ResultCode
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.test_closed_chains import move
from tests.verification.in_pinocchio import InPinocchio

ROBOTS = Path(__file__).parent / "robots"
PARALLEL = ROBOTS / "example-parallel-robots"


@pytest.mark.parametrize(
    "name",
    [
        "5bar_linkage",
        pytest.param("talos_like", marks=pytest.mark.slow),
    ],
)
def test_accelerations_are_pinocchios(name: str) -> None:
    machine = import_robot(PARALLEL / name / "robot.urdf").machine
    mechanism, q = machine.mechanism, machine.initial_q
    other = InPinocchio(mechanism)
    rng = np.random.default_rng(4)
    ways = admitted_velocities(mechanism, q)
    for _ in range(3):
        v = ways @ rng.normal(size=ways.shape[1])
        effort = rng.normal(size=mechanism.nv)
        found = acceleration(mechanism, q, v, effort).vdot
        wanted = other.acceleration(q, v, effort)
        assert np.abs(found - wanted).max() < 1e-8 * max(1.0, np.abs(wanted).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["5bar_linkage_iso6d", "robot_delta", "digit_like"])
def test_imported_robots_follow_their_motors(name: str, tmp_path: Path) -> None:
    """A move of all motors by 0.05 rad, with exact sensors; motors strong enough to hold the machine."""
    found = import_robot(PARALLEL / name / "robot.urdf")
    path = tmp_path / "machine.yaml"
    lines = found.text.splitlines()
    start = lines.index("motors:")
    for at, line in enumerate(lines[start:], start):
        lines[at] = line.replace("max_torque_N_m: 1,", "max_torque_N_m: 100,").replace(
            "brake_torque_N_m: 1}", "brake_torque_N_m: 100}"
        )
    path.write_text("\n".join(lines))
    machine = load(path)
    rig = InProcess(machine)
    rig.enable()
    names = list(machine.controller.goal_coordinates)
    values = {each: rig.simulator.q[machine.mechanism.joint_index(each)] for each in names}
    move(rig, {each: float(value) + 0.05 for each, value in values.items()})
    worst, sample = 0.0, rig.tick()
    while sample["goal_status"] != GoalStatus.SUCCEEDED:
        errors = (sample["reference"] - sample["coordinate"])[np.isfinite(sample["reference"])]
        worst = max(worst, float(np.abs(errors).max(initial=0.0)))
        sample = rig.tick()
    assert sample["goal_code"] == ResultCode.SUCCESSFUL
    assert worst < 1e-5
