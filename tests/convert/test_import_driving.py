"""Imported robots in motion: accelerations by Pinocchio, and moves by their motors in lockstep."""

from pathlib import Path

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.convert.robots.importing import ImportOptions, import_robot
from linkwork.convert.robots.same_motion import motion_difference
from linkwork.machine import load
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.loading import mechanism_of
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.requests import SendParams
from linkwork.protocol.trajectory import read_trajectory
from tests.controller.loop.in_process import InProcess
from tests.convert.closed_robots import stewart
from tests.verification.in_pinocchio import InPinocchio

ROBOTS = Path(__file__).parent / "robots"
PARALLEL = ROBOTS / "example-parallel-robots"


EIGHT = [*sorted(PARALLEL.glob("*/robot.urdf")), *sorted(ROBOTS.glob("generalized_rbda/*.urdf"))]
QUICK = {"5bar_linkage", "generalized_rbda"}


def eight_robots() -> list[ParameterSet]:
    """The foreign robots; those with ball joints among the slow tests."""
    return [
        pytest.param(
            path,
            id=f"{path.parent.name}-{path.stem}",
            marks=() if path.parent.name in QUICK else pytest.mark.slow,
        )
        for path in EIGHT
    ]


@pytest.mark.parametrize("source", eight_robots())
def test_accelerations_are_pinocchios(source: Path) -> None:
    """The literal import, with redundant closures and gimbals, beside `constraintDynamics`."""
    found = import_robot(source, ImportOptions(literal=True))
    mechanism, q = mechanism_of(found.text), found.machine.initial_q
    other = InPinocchio(mechanism)
    rng = np.random.default_rng(4)
    ways = admitted_velocities(mechanism, q)
    for _ in range(3):
        v = ways @ rng.normal(size=ways.shape[1])
        effort = np.zeros(mechanism.nv)
        effort[[motor.index for motor in found.machine.motors]] = rng.normal(size=len(found.machine.motors))
        own = acceleration(mechanism, q, v, effort).vdot
        wanted = other.acceleration(q, v, effort)
        assert np.abs(own - wanted).max() < 1e-8 * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize("source", eight_robots())
def test_the_simplified_robot_accelerates_as_the_literal_one(source: Path) -> None:
    found = import_robot(source)
    assert motion_difference(found.source, found.robot, found.machine) < 1e-8


def test_a_simplification_that_changes_the_motion_is_noticed() -> None:
    found = import_robot(PARALLEL / "5bar_linkage" / "robot.urdf")
    found.source.links["end_rod"].mass *= 1.5
    assert motion_difference(found.source, found.robot, found.machine) > 1e-6


STRENGTH = {
    "5bar_linkage": 1e8,
    "5bar_linkage_iso6d": 1e3,
    "robot_delta": 1e3,
    "digit_like": 1e3,
    "stewart": 500.0,
}
"""Largest efforts (N m or N); most of the files give 1 N m, which holds none of the robots."""


@pytest.mark.slow
@pytest.mark.parametrize("name", STRENGTH)
def test_imported_robots_follow_a_path(name: str, tmp_path: Path) -> None:
    """All motors swing along sines with different phases, with exact sensors, from rest to rest."""
    source = PARALLEL / name / "robot.urdf"
    if name == "stewart":
        source = tmp_path / "stewart.xml"
        source.write_text(stewart())
    path = tmp_path / "machine.yaml"
    path.write_text(import_robot(source, ImportOptions(effort=STRENGTH[name])).text)
    machine = load(path)
    rig = InProcess(machine)
    rig.enable()
    names = list(machine.goal_coordinates)
    assert set(names) == {motor.joint for motor in machine.motors}
    begin = np.array([rig.simulator.q[machine.mechanism.joint_index(each)] for each in names])
    reach = np.where([motor.is_angle for motor in machine.motors], 0.05, 0.01)
    times = np.linspace(0.0, 2.0, 81)
    x = times / times[-1]
    swing = np.sin(2.0 * np.pi * np.outer(x, np.arange(1, len(names) + 1) % 2 + 1))
    positions = begin + reach * swing * (np.sin(np.pi * x) ** 4)[:, None]
    trajectory = {
        "coordinates": names,
        "points": [
            {"time_from_start_s": float(t), "positions": row.tolist()}
            for t, row in zip(times, positions, strict=True)
        ],
    }
    given = SendParams(trajectory=read_trajectory(trajectory))
    sample = rig.start_goal(plan("send", given, machine, Start.at_pose(machine, rig.simulator.q)).words)
    worst, moved = 0.0, 0.0
    while sample["goal_status"] not in (GoalStatus.SUCCEEDED, GoalStatus.ENDED):
        sample = rig.tick()
        errors = (sample["reference"] - sample["coordinate"])[np.isfinite(sample["reference"])]
        worst = max(worst, float(np.abs(errors).max(initial=0.0)))
        own = np.array([rig.simulator.q[machine.mechanism.joint_index(each)] for each in names])
        moved = max(moved, float((np.abs(own - begin) / reach).min()))
    assert sample["goal_code"] == ResultCode.SUCCESSFUL
    assert worst < 1e-5
    assert moved > 0.3
