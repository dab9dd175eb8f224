"""A goal that the controller has accepted, seen from the client."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.results import GoalAccepted, GoalProgress, GoalResult, StateResult, StatusResult

if TYPE_CHECKING:
    from linkwork.client.controller_client import ControllerClient

_SLICE_S = 0.1
_REST_S = 0.001
"""Between two slices, so that other threads come to their requests."""
_LOOK_S = 0.5
"""How often a waiting goal asks `state`, in case the event with its result got lost."""


class GoalFailed(Exception):
    """A goal did not end with SUCCESSFUL. `result` says why; `code` and `name` are the result's."""

    def __init__(self, result: GoalResult) -> None:
        super().__init__(f"goal {result['goal']} ended with {result['name']}: {result['text']}")
        self.result = result
        self.code = result["code"]
        self.name = result["name"]


@dataclass(repr=False)
class Goal:
    """One goal. `accepted` is the controller's answer: number, planned length, what admission found."""

    robot: ControllerClient
    accepted: GoalAccepted
    gateway_pid: int
    _progress: GoalProgress | None = None
    _result: GoalResult | None = None

    def __repr__(self) -> str:
        known: Mapping[str, Any] = self._result or self._progress or {}
        status = known.get("name") or known.get("status") or "running"
        return f"<Goal {self.number}: {status}, planned duration {self.duration_s:.3f} s>"

    @property
    def number(self) -> int:
        """The controller's number for it."""
        return self.accepted["goal"]

    @property
    def duration_s(self) -> float:
        """Planned length, lead-in and lead-out included."""
        return self.accepted["duration_s"]

    @property
    def progress(self) -> float:
        """Progress, 0 … 1, as far as it is known without waiting."""
        if self.result is not None and self._result_is_good():
            return 1.0
        return self._progress["fraction"] if self._progress is not None else 0.0

    @property
    def status(self) -> str:
        """`running`, `settling`, `paused`, `stopping`, or the name of its result."""
        result = self.result
        if result is not None:
            return result["name"]
        return self._progress["status"] if self._progress is not None else "running"

    @property
    def result(self) -> GoalResult | None:
        """Result, or None while the goal is active."""
        if self._result is None:
            self.robot.listen(0.0)
        return self._result

    def wait(
        self, timeout_s: float | None = None, on_progress: Callable[[float], None] | None = None
    ) -> GoalResult:
        """Wait for the end and return the result of a goal that succeeded.

        `on_progress` is called with 0 … 1 now and then. Raises GoalFailed for any other result; TimeoutError
        after `timeout_s` (the goal continues); NobodyThere when the controller is gone.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        look_at = time.monotonic() + _LOOK_S
        while self._result is None:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                raise TimeoutError(f"goal {self.number} is still {self.status} after {timeout_s:g} s")
            self.robot.listen(_SLICE_S if deadline is None else min(_SLICE_S, deadline - now))
            time.sleep(_REST_S)
            if self._result is None and time.monotonic() >= look_at:
                self._look()
                look_at = time.monotonic() + _LOOK_S
            if on_progress is not None:
                on_progress(self.progress)
        if not self._result_is_good():
            raise GoalFailed(self._result)
        return self._result

    def cancel(self) -> None:
        """End the goal by a stop on its path; `wait` then raises GoalFailed with CANCELLED."""
        self.robot.request("cancel", goal=self.number)

    def apply_event(self, event: str, params: Mapping[str, Any]) -> None:
        """Process an event of this goal. Called by the robot."""
        if event == "goal.result":
            self._result = cast(GoalResult, params)
        elif event == "goal.progress":
            self._progress = cast(GoalProgress, params)

    def _result_is_good(self) -> bool:
        return self._result is not None and self._result["code"] == ResultCode.SUCCESSFUL

    def _look(self) -> None:
        """Ask `state`: the events may have got lost."""
        state: StateResult = self.robot.request("state")
        for result in state["results"]:
            if result["goal"] == self.number:
                self._result = result
                return
        under_way = state["goal"]
        if under_way is not None and under_way["goal"] == self.number:
            self._progress = under_way
            return
        status: StatusResult = self.robot.request("status")
        if status["gateway_pid"] != self.gateway_pid:
            raise NobodyThere(
                f"the controller was restarted, and nothing is known of goal {self.number}; "
                "ask `state` where the machine is"
            )
