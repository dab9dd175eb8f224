"""Differences beyond their thresholds: when they are reported, and when the controller reacts.

An excess, be it a collision or a load that the model does not know, is reported twice: when a difference is
beyond its threshold, and when all have been below `REARMED` of theirs for `OVER_AFTER_S`; further excesses
meanwhile belong to it. The reaction is repeated when all have been below `REARMED`, or when the greatest has
grown by `WORSE` since: a machine that has been stopped against an obstacle may be moved away from it, and is
stopped again when it is pressed harder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.machine import Machine
from linkwork.machine.twin_differences import differences

REARMED: Final = 0.8
WORSE: Final = 1.5
OVER_AFTER_S: Final = 0.25
EXCEEDED: Final = "twin.exceeded"
OVER: Final = "twin.over"

_DONE = {"tell": "", "stop": "; the machine is stopped on its path", "fault": "; the machine is braked"}


@dataclass(frozen=True)
class Alarmed:
    """Event and reaction that follow from a row.

    `event`: EXCEEDED, OVER, or "" without an event; `acts`: whether the reaction set in the file is due.
    `which`, `value` and `limit` of the content are those of the order DIFFERENCE.
    """

    row: int
    event: str
    content: dict[str, Any]
    acts: bool


class Alarm:
    """Monitor of one machine's differences from its twin."""

    def __init__(self, machine: Machine) -> None:
        self._differences = differences(machine)
        self._limits = machine.twin.thresholds
        self._motors, self._action = len(machine.motors), machine.twin.on_exceeded
        self._acted = 0.0
        """The share at which something was done last; 0: armed."""
        self._worst: tuple[float, dict[str, Any]] | None = None
        """The greatest share of the excess reported, and its event; None without an excess."""
        self._since = self._calm_s = 0.0
        """When the excess began, and since when all differences have been small."""

    def check(self, rows: NDArray[Any]) -> list[Alarmed]:
        """Return the alarms of these rows."""
        shares = np.where((rows["judged"] != 0) & (rows["compared"] != 0), rows["share"], 0.0)
        found: list[Alarmed] = []
        if self._worst is None and not (shares >= 1.0).any():
            return found
        for at, share in enumerate(shares.tolist()):
            found += self._exceeds(at, rows[at], share) if share >= REARMED else self._calms(at, rows[at])
        return found

    def _exceeds(self, at: int, row: np.void, share: float) -> list[Alarmed]:
        self._calm_s = math.inf
        begins = self._worst is None and share >= 1.0
        acts = share >= max(1.0, WORSE * self._acted)
        if not begins and self._worst is None:
            return []
        content = self._event(row)
        if begins:
            self._since = content["time_s"]
        if self._worst is None or share > self._worst[0]:
            self._worst = share, content
        if acts:
            self._acted = share
        return [Alarmed(at, EXCEEDED if begins else "", content, acts)] if begins or acts else []

    def _calms(self, at: int, row: np.void) -> list[Alarmed]:
        self._acted = 0.0
        if self._worst is None:
            return []
        now_s = float(row["time_s"])
        self._calm_s = min(self._calm_s, now_s)
        if now_s - self._calm_s < OVER_AFTER_S:
            return []
        (_, content), self._worst = self._worst, None
        text = (
            f"machine and model agree again; {self._differences[content['which']]} differed by "
            f"{content['value']:.4g} {content['unit']}"
        )
        over = content | {"tick": int(row["tick"]), "time_s": now_s, "since_s": self._since, "text": text}
        return [Alarmed(at, OVER, over, acts=False)]

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
