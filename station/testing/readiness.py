"""Making a rig ready for a test: nothing injected, no fault, enabled, at home."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from protocol.errors import NobodyThere, RequestError
from station.goal import GoalFailed

if TYPE_CHECKING:
    from station.testing.under_test import RigUnderTest

AT_HOME: Final = 1e-4
"""rad or m: so near a coordinate counts as at home."""
_PATIENCE_S: Final = 30.0


class NotReady(RuntimeError):
    """A rig cannot be made ready; the text says why."""


def make_ready(rig: RigUnderTest) -> None:
    """Brings the rig there. What was started by the tests is started anew where nothing else helps.

    Raises NotReady.
    """
    try:
        _bring(rig)
        return
    except (RequestError, NobodyThere, GoalFailed, NotReady, OSError) as error:
        if not rig.daemons.owns_plant:
            raise NotReady(f"{rig.name} cannot be made ready: {error}") from error
    rig.renew()
    try:
        _bring(rig)
    except (RequestError, NobodyThere, GoalFailed) as error:
        raise NotReady(f"{rig.name}, started anew, cannot be made ready: {error}") from error


def _bring(rig: RigUnderTest) -> None:
    rig.start()
    rig.clear()
    if rig.daemons.requests is None:
        return
    if not rig.daemons.alive:
        raise NotReady("a daemon has ended")
    _activate(rig)
    _go_home(rig)


def _activate(rig: RigUnderTest) -> None:
    """From whatever state to active."""
    robot = rig.robot
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        state = rig.state
        match state["state"]:
            case "active" if state["goal"] is None:
                return
            case "active":
                robot.stop()
            case "inactive":
                rig.recorder.come_to_rest()
                robot.confirm_branch()
                robot.enable()
            case "fault":
                rig.recorder.come_to_rest()
                robot.recover()
            case "estop":
                rig.recorder.come_to_rest()
                robot.reset()
            case _:
                time.sleep(0.01)
    raise NotReady(f"it is {rig.state['state']} after {_PATIENCE_S:g} s")


def _go_home(rig: RigUnderTest) -> None:
    """Back to where the goal coordinates were when the rig was found."""
    home, here = rig.home, rig.positions
    if any(abs(here[name] - home[name]) > AT_HOME for name in home):
        rig.robot.move(home)
