"""A machine that streams some of its coordinates in one process, without sockets or clock."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the machine in process belongs to the tests

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import OrderOutcome, StartStream
from linkwork.controller.exchange.set_points import SetPoint
from linkwork.machine import Machine
from tests.controller.loop.in_process import InProcess, Sample

STREAMED = {
    "scara": ("shoulder", "elbow", "wrist", "lift"),
    "five_bar": ("x", "y"),
    "platform_3rrs": ("motor_1", "motor_2", "motor_3"),
}
"""Coordinates that are streamed, by machine."""


class StreamBench(InProcess):
    """Streams these coordinates; `start` is where they are at the stream's beginning (rad or m)."""

    def __init__(
        self, machine: Machine, coordinates: tuple[str, ...], interval_s: float, delay_s: float
    ) -> None:
        super().__init__(machine)
        self.enable()
        names = list(self.machine.mechanism.coordinate_names)
        self.index = [names.index(each) for each in coordinates]
        self._interval_s, self._delay_s = interval_s, delay_s
        self.goal = 0
        self.start: Floats = np.zeros(0)
        self.begin()

    def begin(self) -> None:
        """Begin another stream where the machine is."""
        self.goal, self.sent = self.goal + 1, 0
        count = len(self.index)
        order = StartStream(self.goal, tuple(self.index), count, 1, self._interval_s, self._delay_s)
        begun = self.order(order)
        assert begun["order_outcome"] == OrderOutcome.DONE, OrderOutcome(int(begun["order_outcome"]))
        self.start = np.array(begun["reference"][self.index])

    def put(self, stamp_s: float, positions: Floats) -> Sample:
        """One tick in which a set-point arrives."""
        self.sent += 1
        self.inputs.set_point = SetPoint(self.sent, self.goal, stamp_s, tuple(positions))
        sample = self.tick()
        self.inputs.set_point = None
        return sample
