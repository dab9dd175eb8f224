"""Make a rig ready for a test: no injected faults, no fault, enabled, outputs as found, at home."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from linkwork.client.goal import GoalFailed
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import NobodyThere, RequestError

if TYPE_CHECKING:
    from linkwork.rig.under_test import RigUnderTest

AT_HOME: Final = 1e-4
"""rad or m: so near a coordinate counts as at home."""
SPAN_S: Final = 0.5
"""So long is waited before a fault that would not clear is tried again."""
_PATIENCE_S: Final = 30.0
_MOST_REFUSALS: Final = 20


class NotReady(RuntimeError):
    """A rig cannot be made ready; the text says why."""


def make_ready(rig: RigUnderTest) -> None:
    """Bring the rig to this state. Daemons started by the tests are restarted as a last resort.

    Raises NotReady.
    """
    try:
        _bring(rig)
        return
    except (RequestError, NobodyThere, GoalFailed, NotReady, OSError) as error:
        if not rig.daemons.owns_plant:
            raise NotReady(f"{rig.name} cannot be made ready: {error}") from error
        rig.renew(str(error))
    try:
        _bring(rig)
    except (RequestError, NobodyThere, GoalFailed) as error:
        raise NotReady(f"{rig.name}, restarted, cannot be made ready: {error}") from error


def _bring(rig: RigUnderTest) -> None:
    rig.start()
    if rig.daemons.requests is None:
        rig.clear()
        return
    if not rig.daemons.alive:
        raise NotReady("a daemon has ended")
    _clear(rig)
    _activate(rig)
    try:
        _go_home(rig)
    except GoalFailed:
        _brake(rig)  # activation begins where the machine really is
        _activate(rig)
        _go_home(rig)
    if rig.elsewhere:
        raise NotReady(f"it is at home in another assembly mode: {rig.elsewhere} differs")


def _clear(rig: RigUnderTest) -> None:
    """End injected faults with brakes engaged, so that the machine does not follow sudden sensor changes."""
    if rig.injected:
        _brake(rig)
        rig.recorder.come_to_rest()  # in lockstep faults end at the same tick in every run
    rig.clear()


def _brake(rig: RigUnderTest) -> None:
    rig.recorder.come_to_rest()
    with suppress(RequestError):  # in fault or emergency stop it is braked already
        rig.robot.disable()


def _activate(rig: RigUnderTest) -> None:
    """Change from any state to active."""
    deadline, refused = time.monotonic() + _PATIENCE_S, 0
    while time.monotonic() < deadline and refused < _MOST_REFUSALS:
        rig.recorder.come_to_rest()
        state = rig.state
        if state["state"] == "active" and state["goal"] is None:
            return
        try:
            _step(rig, state["state"])
        except RequestError as error:
            if error.code not in (RequestCode.NOT_CLEARED, RequestCode.WRONG_STATE):
                raise
            refused += 1
            rig.pass_time(SPAN_S)  # causes that are counted over a span of time pass with it
    state = rig.state
    why = f" ({state['fault']['name']}: {state['fault']['text']})" if state["fault"] is not None else ""
    raise NotReady(f"it remains {state['state']}{why}")


def _step(rig: RigUnderTest, state: str) -> None:
    """One step from a state towards active."""
    robot = rig.robot
    if state == "active":
        robot.stop()
        return
    if state not in ("inactive", "fault", "estop"):
        time.sleep(0.01)
        return
    if state == "inactive":
        rig.enable()
    elif state == "fault":
        robot.recover()
    else:
        robot.reset()


def _go_home(rig: RigUnderTest) -> None:
    """Back to the outputs, and to where the goal coordinates were, when the rig was found."""
    home, here = rig.home, rig.positions
    outputs = rig.changed_outputs
    if outputs:
        rig.recorder.come_to_rest()
        rig.robot.set(outputs)
    if any(abs(here[name] - home[name]) > AT_HOME for name in home):
        rig.robot.move(home)
