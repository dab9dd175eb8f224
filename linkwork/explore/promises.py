"""Answers compared with the records: ticks of orders, states, and targets of moves that have succeeded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from linkwork.controller.supervision.state_machine import State
from linkwork.explore.record_checks import RecordChecks
from linkwork.machine import Machine

ARRIVAL_SLACK: Final = 2e-3
"""Distance from a target (rad or m) beyond twice the goal tolerance at which a move has not arrived."""


class Promises:
    """Promises of the answers of a session. `targets`: of moves under way, by the goals' numbers.

    jogged_ns: instant of the latest request to jog. fail: called with the rule and what was seen.
    record_of: gives the record of a tick, if it is recent.
    """

    def __init__(
        self,
        machine: Machine,
        checks: RecordChecks,
        fail: Callable[[str, str], None],
        record_of: Callable[[int], np.void | None],
    ) -> None:
        self._machine, self._checks, self._fail, self._record_of = machine, checks, fail, record_of
        self.targets: dict[int, Mapping[str, Any]] = {}
        self.jogged_ns = 0

    def note(self, method: str, params: Mapping[str, Any], result: Any) -> None:
        """Note what an answer promises, or compare what it says with the records."""
        if not isinstance(result, dict):
            return
        if "order" in result and isinstance(params.get("at_tick"), int):
            self._checks.due[result["order"]] = params["at_tick"]
        plain = not {"until_force", "conflict", "at_tick"} & set(params)
        if method == "move" and plain and isinstance(result.get("goal"), int):
            self.targets[result["goal"]] = params["target"]
        if method == "state" and isinstance(result.get("tick"), int):
            record = self._record_of(result["tick"])
            if record is not None and State(int(record["state"])).name.lower() != result["state"]:
                self._fail("told", f"`state` answered {result['state']} for tick {result['tick']}")

    def check_arrival(self, content: Mapping[str, Any]) -> None:
        """Check that a goal that has succeeded is at its target. content: of the event `goal.result`."""
        target, record = self.targets.pop(content["goal"], None), self._record_of(content["tick"])
        if target is None or record is None or content["code"] != 0:
            return
        machine = self._machine
        names = machine.mechanism.coordinate_names
        for name, wanted in target.items():
            if name not in names:
                continue  # an alias
            at = names.index(name)
            off = abs(float(record["coordinate"][at]) - wanted)
            if machine.coordinates[at].is_angle:
                off = abs(math.remainder(off, 2.0 * math.pi))
            if off > 2.0 * machine.tolerances[at].goal + ARRIVAL_SLACK:
                self._fail("arrival", f"goal {content['goal']} ended {off:.3g} from the target of {name}")
