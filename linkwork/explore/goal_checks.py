"""Checks of the results of goals: each has one, and those that were stopped have a cause."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.explore.promises import Question
from linkwork.explore.simulated_links import FAR_NS
from linkwork.protocol.codes import ResultCode

STOPS_NS: Final = 500_000_000
"""Longest time from a request, or from the end of a lease, to the begin of the stop that it causes."""
CANCELS: Final = ("cancel", "stop", "disable", "estop", "switch")
"""Requests that cancel goals."""


class GoalChecks:
    """The goals of one world. `numbers`: of those that were accepted, newest last."""

    def __init__(self, fail: Callable[[str, str], None]) -> None:
        self._fail = fail
        self.numbers: list[int] = []
        self._accepted: set[int] = set()
        """Those whose result is still owed, or has come."""
        self._results: Counter[int] = Counter()
        self._cancels_ns: list[int] = []
        """Instants of requests that cancel goals."""
        self._stopping_ns: dict[int, int] = {}
        """Instants at which goals began to stop."""

    def asked(self, question: Question) -> None:
        """Note a request that may cancel goals."""
        if question.method in CANCELS:
            self._cancels_ns.append(FAR_NS if question.timed else question.at_ns)

    def accepted(self, number: int) -> None:
        """Note a goal that was accepted."""
        self._accepted.add(number)
        self.numbers.append(number)

    def recorded(self, whole: NDArray[Any], now_ns: int, period_s: float) -> None:
        """Note at which instants goals began to stop, in records the last of which was written just now."""
        begins = (whole["goal_status"][1:] == GoalStatus.STOPPING) & (np.diff(whole["goal_status"]) != 0)
        for row in np.flatnonzero(begins).tolist():
            ago_s = (len(whole) - 2 - row) * period_s
            self._stopping_ns[int(whole["goal_id"][row + 1])] = now_ns - round(1e9 * ago_s)

    def ended(self, number: int, code: int, now_ns: int, losses_ns: Sequence[int], excused_ns: int) -> None:
        """Check that a goal ends once, and was cancelled by a request, or lost its lease, just before it
        began to stop.

        losses_ns: instants at which leases changed; excused_ns: the latest instant at which it may have been
        stopped by something else.
        """
        self._results[number] += 1
        if code in (ResultCode.CANCELLED, ResultCode.LEASE_LOST):
            begun_ns = self._stopping_ns.pop(number, now_ns) - STOPS_NS
            cancelled = code == ResultCode.CANCELLED
            causes_ns = [*(self._cancels_ns if cancelled else losses_ns), excused_ns]
            if max(causes_ns) < begun_ns:
                why = "no client has stopped it" if cancelled else "its lease has not ended"
                self._fail("result", f"goal {number} ended with {ResultCode(code).name}, and {why}")
        if self._results[number] > 1:
            self._fail("result", f"goal {number} has {self._results[number]} results")

    def missing(self) -> list[int]:
        """Return the goals whose results are still to come."""
        return sorted(number for number in self._accepted if self._results[number] == 0)

    def forget(self) -> None:
        """Forget the results that a killed gateway owes."""
        self._accepted.clear()

    def restart(self) -> None:
        """Another loop counts its goals from 1 again."""
        self._results.clear()
