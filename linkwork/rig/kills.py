"""Deaths of daemons during a record: when each was, and what noticed it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.results import StateResult
from linkwork.recordings.log_file import Ticks
from linkwork.rig.collected import KILL
from linkwork.rig.rig_daemons import Role
from linkwork.rig.tap import TruthTap

if TYPE_CHECKING:
    from linkwork.rig.under_test import RigUnderTest

_LOOK_S: Final = 0.02


@dataclass(frozen=True)
class Kill:
    """A daemon that was killed. before: the state before; told: events of the plant until then.

    truth: the record of the plant that ran then.
    """

    role: Role
    before: StateResult
    told: int
    truth: TruthTap | None

    def wait_for_reaction(self, rig: RigUnderTest, seconds: float) -> None:
        """Wait until the other daemons have reacted and the machine rests, at most so long."""
        deadline = time.monotonic() + seconds
        while not self._reacted(rig) and time.monotonic() < deadline:
            time.sleep(_LOOK_S)

    def _reacted(self, rig: RigUnderTest) -> bool:
        if self.role == "plant":
            return rig.state["state"] != "active"
        trips = [event for event in rig.daemons.plant_events()[self.told :] if event["event"] == "watchdog"]
        rests = self.truth is not None and self.truth.rests_after(self.before["time_s"])
        if self.role == "gateway" or not (trips and rests):
            return rests and self.role == "gateway"
        try:
            return self.role == "controller" or rig.state["state"] != "active"
        except NobodyThere:
            return False

    def entry(self, period_s: float, ticks: Ticks, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The death, as an injected fault is reported. period_s, events: of the plant.

        from_tick: the first tick of the device without the killed daemon. braked_at_tick: where the plant's
        watchdog braked, None where it did not.
        """
        before = round(self.before["time_s"] / period_s)
        tick = before + 1
        trips = [event for event in events[self.told :] if event["event"] == "watchdog"]
        trip = trips[0] if trips and self.role in ("loop", "controller") else None
        if trip is not None:
            tick = int(trip["last_fresh_tick"]) + 1
        elif self.role == "plant":
            table = ticks.table
            lost = np.flatnonzero((table["fresh"] == 0) & (table["tick"] > self.before["tick"]))
            tick = before + int(table["tick"][lost[0]]) - self.before["tick"] if len(lost) else tick
        return {
            "name": f"{KILL} {self.role}",
            "kind": KILL,
            "of": self.role,
            "applied": True,
            "from_tick": self.before["device_tick"] + tick - before,
            "time_s": tick * period_s,
            "braked_after_ticks": None if trip is None else int(trip["tick"]) - tick,
        }
