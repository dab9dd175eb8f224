"""Tick, plant and twin in one process: what the gateway would send, and what it would be answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.gateway.twin.twin import asked_of
from linkwork.controller.gateway.twin.twin_channels import TwinChannels
from linkwork.machine import Machine
from linkwork.plant.simulator.simulator import Simulator
from linkwork.plant.twin.twin_comparison import TwinComparison
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess, Sample


class Pushed(Simulator):
    """A plant on which something acts beside its motors: `push` (motors, N m or N), by tick."""

    def __init__(self, machine: Machine, push: Callable[[int], list[float]]) -> None:
        super().__init__(machine)
        self._push = push

    def latch(self, mode: int, effort: Floats) -> None:
        super().latch(mode, effort + np.array(self._push(self.tick)))


def moved(
    machine: Machine, target: dict[str, float], plant: Simulator | None = None, more_s: float = 0.2
) -> list[Sample]:
    """The ticks of a move, with the time before it in which the brakes are opened, and some more."""
    rig = InProcess(machine)
    if plant is not None:
        rig.simulator = plant
    samples: list[Sample] = []
    tick = rig.tick

    def kept(order: Any = None) -> Sample:
        samples.append(tick(order))
        return samples[-1]

    rig.tick = kept  # type: ignore[method-assign]
    rig.enable()
    planned = Planned(rig)
    made = planned.plan("move", target=target, speed=0.5)
    planned.order(made)
    rig.run(made.duration_s + more_s)
    return samples


def rows_of(machine: Machine, samples: list[Sample]) -> NDArray[Any]:
    """These ticks as the gateway sends them."""
    layout = InProcess(machine).layout
    words = np.frombuffer(b"".join(sample.record.tobytes() for sample in samples)).reshape(len(samples), -1)
    return asked_of(words, layout, TwinChannels(machine).words.asked, stamped=False)


def compared(machine: Machine, asked: NDArray[Any], into: TwinComparison | None = None) -> NDArray[Any]:
    """What the digital twin of a machine answers to these rows."""
    answered = np.zeros(len(asked), TwinChannels(machine).words.answered)
    (into or TwinComparison(machine)).compare(asked, answered)
    return answered
