"""Weigh a part on a running machine: a motion before gripping it and the same one after.

Each motion's ticks are taken from the controller's log, so this runs on the controller's computer.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from linkwork.client.robot import Robot
from linkwork.identification.excitation import excite
from linkwork.identification.log_motion import read_motion
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.identification.payload import WeighedPayload, weigh
from linkwork.machine import Machine
from linkwork.recordings.recorder import Recorded, record
from linkwork.recordings.recording import NoRecording

_REST_S = 0.5
"""Rest after a motion, in which the last of its ticks come to the log."""
_WRITTEN_S = 5.0
"""Wall time within which the log has the last ticks of a motion."""


def weigh_part(
    robot: Robot, machine: Machine, point: str, grip: Callable[[], object], *,
    trajectory: Mapping[str, Any] | None = None, seconds: float = 8.0, search_s: float = 5.0,
) -> WeighedPayload:  # fmt: skip
    """Move, call `grip`, make the same motion again; return the part's mass and mass centre.

    The machine is enabled and carries nothing yet. trajectory: the motion; default: one of `seconds`
    around the initial pose, which `excite` finds within `search_s`. The machine moves to its beginning first,
    also after `grip`.

    Raises KeyError for an unknown point, RefusedData where the motions do not show the mass or the log cannot
    be read here, and RequestError and GoalFailed as `send` and its goal do.
    """
    machine.mechanism.point_index(point)
    if trajectory is None:
        designed = excite(machine, seconds=seconds, purpose="payload", search_s=search_s)
        trajectory = designed.trajectory()
    with tempfile.TemporaryDirectory(prefix="linkwork-") as folder:
        before = _recorded(robot, machine, trajectory, Path(folder) / "before.mcap")
        grip()
        after = _recorded(robot, machine, trajectory, Path(folder) / "after.mcap")
    return weigh(machine, before, after, point)


def _recorded(robot: Robot, machine: Machine, trajectory: Mapping[str, Any], path: Path) -> MeasuredMotion:
    """Follow a trajectory; return what was measured from its first tick to its last. Raises RefusedData."""
    goal = robot.send(trajectory, approach=True)
    begun = robot.status
    if begun["log"] is None or not Path(begun["log"]).exists():
        raise RefusedData(
            "no log",
            f"the log of {begun['machine']} is not here ({begun['log'] or 'it writes none'}); run the "
            "controller on this computer, without --no-log",
        )
    goal.wait()
    first = begun["timing"]["ticks"]
    wanted = robot.status["timing"]["ticks"] - first
    robot.pass_time(_REST_S)
    deadline = time.monotonic() + _WRITTEN_S

    def go_on(so_far: Recorded) -> bool:
        return so_far.ticks < wanted and time.monotonic() < deadline

    try:
        record(Path(begun["log"]), path, go_on, ticks_from=first)
        return read_motion(path, machine)
    except (OSError, NoRecording) as error:
        raise RefusedData("no log", f"the log of {begun['machine']} cannot be read: {error}") from None
