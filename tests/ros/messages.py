"""Messages of ROS with the fields that the node reads, for tests without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace


def moment(seconds: float) -> SimpleNamespace:
    return SimpleNamespace(sec=int(seconds // 1), nanosec=round(seconds % 1 * 1e9))


def point(time_s: float, positions: Sequence[float], **rates: Sequence[float]) -> SimpleNamespace:
    fields = {"velocities": (), "accelerations": (), "effort": (), **rates}
    return SimpleNamespace(positions=positions, time_from_start=moment(time_s), **fields)


def trajectory(names: Sequence[str], *points: SimpleNamespace, stamp_s: float = 0.0) -> SimpleNamespace:
    header = SimpleNamespace(stamp=moment(stamp_s))
    return SimpleNamespace(header=header, joint_names=list(names), points=list(points))


def tolerance(name: str, position: float = 0.0, velocity: float = 0.0) -> SimpleNamespace:
    return SimpleNamespace(name=name, position=position, velocity=velocity, acceleration=0.0)


def action_goal(
    motion: SimpleNamespace,
    path: Sequence[SimpleNamespace] = (),
    goal: Sequence[SimpleNamespace] = (),
    goal_time_s: float = 0.0,
) -> SimpleNamespace:
    return SimpleNamespace(
        trajectory=motion,
        multi_dof_trajectory=SimpleNamespace(points=[]),
        path_tolerance=path,
        goal_tolerance=goal,
        goal_time_tolerance=moment(goal_time_s),
    )
