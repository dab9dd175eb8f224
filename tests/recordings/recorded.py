"""Runs of tick and simulator in one process, written to a real log as the gateway writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkwork.controller.exchange.orders import Order, StartGoal
from linkwork.controller.gateway.records.log import Event, Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.gateway.records.logged_orders import arrival_events
from linkwork.machine import Machine
from tests.controller.loop.in_process import InProcess, Sample


class InProcessRecorder(InProcess):
    """Every tick goes to a log; orders that arrive go with it."""

    def __init__(self, machine: Machine, folder: Path, *, wall_clock: bool = False) -> None:
        super().__init__(machine)
        metadata = {"machine": machine.name, "law": machine.controller.law, "config": machine.config_hash}
        source = LogSource(self.layout, wall_clock, machine.source_text, metadata)
        self.log = Log(folder, machine.name, "20260101-120000", source, 2_000_000_000)
        self._before = 0.0

    @property
    def path(self) -> Path:
        return self.log.first

    def tick(self, order: Order | None = None) -> Sample:
        sample = super().tick(order)
        record = sample.record
        events: list[Event] = []
        if order is not None:
            words = self.slot_of(order.slot).copy() if isinstance(order, StartGoal) else None
            events = [(0, *event) for event in arrival_events(order, record, words)]
        words: Any = np.frombuffer(record.tobytes(), np.float64).reshape(1, -1)
        self.log.write(words, events)
        return sample

    def elapsed(self) -> float:
        """As the loop has it, by the device's stamps."""
        before, self._before = self._before, self.inputs.time_s
        return self.inputs.time_s - before

    def close(self) -> Path:
        self.log.close()
        return self.path
