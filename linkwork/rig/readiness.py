"""Make a rig ready for a test: no injected faults, no fault, enabled, outputs as found, at home."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from linkwork.client.goal import GoalFailed
from linkwork.machine import Machine
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.results import StateResult

if TYPE_CHECKING:
    from linkwork.rig.under_test import RigUnderTest

AT_HOME: Final = 1e-4
"""rad or m: so near a coordinate counts as at home."""
ELSEWHERE: Final = 0.05
"""rad or m: so far from its place at home a joint is in another assembly."""
SPAN_S: Final = 0.5
"""So long is waited before a fault that would not clear is tried again."""
_PATIENCE_S: Final = 30.0
_MOST_REFUSALS: Final = 20


@dataclass(frozen=True)
class HomePose:
    """The first pose of a machine: goal coordinates and joints (rad or m), and outputs, by name."""

    machine: Machine
    coordinates: Mapping[str, float]
    joints: Mapping[str, float]
    outputs: Mapping[str, bool | float]

    @classmethod
    def of(cls, machine: Machine, state: StateResult) -> Self:
        """Return the pose of a state: positions of goal coordinates (rad or m), and outputs."""
        positions = {**state["q"], **state["coordinates"]}
        coordinates = {name: positions[name] for name in machine.goal_coordinates}
        outputs = {each.name: state["signals"][each.name] for each in machine.outputs}
        return cls(machine, coordinates, dict(state["q"]), outputs)

    def changed_outputs(self, state: StateResult) -> dict[str, bool | float]:
        """Outputs that have another value in this state, with the values that they had."""
        now = state["signals"]
        return {name: value for name, value in self.outputs.items() if now[name] != value}

    def moved_joint(self, here: Mapping[str, float]) -> str:
        """The first joint that is at another position, "" where none is."""
        for joint in self.machine.joints:
            if joint.name not in here or joint.name not in self.joints:
                continue
            away = here[joint.name] - self.joints[joint.name]
            if joint.is_angle:
                away -= math.tau * round(away / math.tau)
            if abs(away) > ELSEWHERE:
                return joint.name
        return ""


def elsewhere(rig: RigUnderTest) -> str:
    """A joint that is not where it was at home, though the goal coordinates are: another assembly.

    As the controller knows it, or in truth: a machine that coasts unobserved may come to rest in another
    assembly in which its sensors say the same.
    """
    joint = rig.home_pose.moved_joint(rig.state["q"])
    if joint or not rig.machine.is_constrained:
        return joint
    return rig.home_pose.moved_joint(rig.recorder.true_positions())


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
        rig.renewals.append(str(error))
        rig.close()
    try:
        _bring(rig)
    except (RequestError, NobodyThere, GoalFailed) as error:
        raise NotReady(f"{rig.name}, restarted, cannot be made ready: {error}") from error


def _bring(rig: RigUnderTest) -> None:
    rig.daemons.start()
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
    if joint := elsewhere(rig):
        raise NotReady(f"it is at home in another assembly mode: {joint} differs")


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
    if outputs := rig.home_pose.changed_outputs(rig.state):
        rig.recorder.come_to_rest()
        rig.robot.set(outputs)
    if any(abs(here[name] - home[name]) > AT_HOME for name in home):
        rig.robot.move(home)
