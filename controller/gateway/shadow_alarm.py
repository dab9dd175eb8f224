"""Differences beyond their thresholds: when that is told, and when anything is done about it.

One event an excess: the next comes when all differences have been below `REARMED` of their thresholds in
between, or when the greatest has grown by `WORSE` since. So a machine that has been stopped against an
obstacle may be moved away from it, and is stopped again when it is pressed harder.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from machine import Machine
from machine.differences import differences

REARMED: Final = 0.8
WORSE: Final = 1.5

_DONE = {"tell": "", "stop": "; the machine is stopped on its path", "fault": "; the machine is braked"}


class Alarm:
    """Of one machine. `which`, `value` and `limit` in what it finds are those of the order DIFFERENCE."""

    def __init__(self, machine: Machine) -> None:
        self._differences = differences(machine)
        self._limits = machine.shadow.thresholds
        self._motors, self._action = len(machine.motors), machine.shadow.on_exceeded
        self._told = 0.0

    def look(self, rows: NDArray[Any]) -> list[tuple[int, dict[str, Any]]]:
        """The events of these rows, each with the row it belongs to."""
        shares = np.where((rows["judged"] != 0) & (rows["compared"] != 0), rows["share"], 0.0)
        found: list[tuple[int, dict[str, Any]]] = []
        if not self._told and not (shares >= 1.0).any():
            return found
        for at, share in enumerate(shares.tolist()):
            if share < REARMED:
                self._told = 0.0
            elif share >= max(1.0, WORSE * self._told):
                self._told = share
                found.append((at, self._event(rows[at])))
        return found

    def _event(self, row: np.void) -> dict[str, Any]:
        which = int(row["worst"])
        difference, limit = self._differences[which], self._limits[which]
        values = [*row["motor_effort"].tolist(), *row["effort"].tolist(), float(row["energy"])]
        value = values[which]
        text = (
            f"{difference} differs from the model's by {value:.4g} {difference.unit}, "
            f"more than {limit:.4g} {difference.unit}{_DONE[self._action]}"
        )
        return {
            "which": which,
            "kind": difference.kind,
            "name": difference.name,
            "value": value,
            "limit": limit,
            "unit": difference.unit,
            "tick": int(row["tick"]),
            "time_s": float(row["time_s"]),
            "action": self._action,
            "text": text,
        }
