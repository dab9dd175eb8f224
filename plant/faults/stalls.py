"""Processes that stall: the controller as the plant sees it, or the plant itself."""

from __future__ import annotations

import time

import numpy as np

from linkwork.plant.faults.effects import FaultEffect, Site, ticks_of
from linkwork.plant.faults.wire_effects import Stalled
from linkwork.plant.faults.wire_entries import Stall


def stall(entry: Stall, site: Site, random: np.random.Generator) -> FaultEffect:
    """The effect of a stall."""
    return Stalled(entry, site, random) if entry.of == "controller" else PlantStall(entry, site)


class PlantStall:
    """The daemon sleeps through its deadlines; in lockstep time stops, without any other effect."""

    def __init__(self, entry: Stall, site: Site) -> None:
        ticks = ticks_of(entry, site.period_s)
        assert ticks is not None
        self._seconds = entry.for_s if entry.for_s is not None else ticks * site.period_s
        self._wire = site.wire

    def begin(self, tick: int) -> str:  # noqa: ARG002
        """Sleep for the stall."""
        if self._wire.lockstep:
            return "lockstep time does not advance meanwhile, so nothing changes"
        time.sleep(self._seconds)
        return f"slept for {self._seconds:g} s; see plant.on_overrun for the effect"

    def tick(self, tick: int) -> None:
        """Without effect; the stall is over."""

    def end(self) -> str:
        """Without effect; the stall is over."""
        return ""
