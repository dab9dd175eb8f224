"""Time of a tick with signals, events on the path, a goal in a moving frame and a stream, in one process.

    python benchmarks/feature_cost.py [--rounds 20] [--ticks 200] [--json]

Each row runs in turns with the others, in blocks of ticks around `Tick.step` alone; the machine moves all the
time. The figures are medians over the rounds, and the difference from the machine's first row.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from stream_bench import STREAMED, StreamBench

from linkwork.controller.exchange.set_points import SetPoint
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import load
from tests.belt_machine import write_belt_machine
from tests.controller.loop.goals_in_process import Planned
from tests.controller.loop.in_process import InProcess
from tests.controller.motion.test_frame_goals import belt, planned, points
from tests.signal_machine import write_signal_machine

UNDER_WAY = (GoalStatus.RUNNING, GoalStatus.SETTLING)


class TimedSteps:
    """A rig whose ticks are clocked; `before` is called ahead of each tick and keeps the machine moving."""

    def __init__(self, rig: InProcess, before: Callable[[], None]) -> None:
        self.rig, self._before = rig, before
        self._step = rig.controller.step
        rig.controller.step = self._clocked  # type: ignore[method-assign]
        self._times: list[float] = []

    def _clocked(self, *arguments: Any) -> None:
        began = time.perf_counter_ns()
        self._step(*arguments)
        self._times.append(1e-3 * (time.perf_counter_ns() - began))

    def run(self, ticks: int) -> float:
        """Return the median time of a step over `ticks` ticks, µs."""
        self._times.clear()
        while len(self._times) < ticks:
            self._before()
            self.rig.tick()
        return median(self._times)


def goals(path: Path, **more: Any) -> TimedSteps:
    """Goals back and forth in x and y, 20 mm; more: of each trajectory."""
    rig = InProcess(load(str(path)))
    rig.enable()
    names, plans = list(rig.machine.mechanism.coordinate_names), Planned(rig)
    index = [names.index("x"), names.index("y")]
    home = rig.tick()["coordinate"][index]
    turn = 0

    def before() -> None:
        nonlocal turn
        if rig.supervisor.executor.goal_state.status in UNDER_WAY:
            return
        turn += 1
        target = (home + 0.02 * (turn % 2)).tolist()
        trajectory = {"coordinates": ["x", "y"], "points": [{"time_from_start_s": 2.0, "positions": target}]}
        plans.order(plans.plan("send", trajectory={**trajectory, **more}))

    return TimedSteps(rig, before)


def frame_goals(path: Path) -> TimedSteps:
    """Goals that meet a part on a belt, move with it, and leave it."""
    rig = InProcess(load(str(path)))
    rig.enable()
    rig.run(0.3)
    number = 0

    def before() -> None:
        nonlocal number
        if rig.supervisor.executor.goal_state.status not in UNDER_WAY:
            number += 1
            rig.start_goal(planned(rig, points(-0.1 - belt(rig))).words, number)

    return TimedSteps(rig, before)


def stream() -> TimedSteps:
    """Set-points at 1 kHz of a slow wave."""
    rig = StreamBench(load("five_bar"), STREAMED["five_bar"], 0.001, 0.006)
    number = 0

    def before() -> None:
        nonlocal number
        number += 1
        at = rig.start + 0.02 * (1.0 - np.cos(0.006 * number)) * np.array([1.0, -1.0])
        rig.inputs.set_point = SetPoint(number, 1, 0.001 * number, tuple(at))

    return TimedSteps(rig, before)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--ticks", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    toggles = [{"at": {"time_s": 0.1 * n}, "set": {"gripper": n % 2 == 1}} for n in range(1, 19)]
    with tempfile.TemporaryDirectory() as folder:
        signals = write_signal_machine(Path(folder))
        belted = write_belt_machine(Path(folder))
        rows = {
            "scara": {
                "a goal": goals(Path("scara")),
                "with 5 signals": goals(signals),
                "with 5 signals, 18 events, until, follow": goals(
                    signals, events=toggles, until="part_present or pressure > 9",
                    follow={"flow": {"speed_of": "tool", "per_m_s": 1.0}},
                ),
            },
            "five_bar": {
                "a goal": goals(Path("five_bar")),
                "a goal in a moving frame": frame_goals(belted),
                "a stream at 1 kHz": stream(),
            },
        }  # fmt: skip
        every = [(machine, name, each) for machine, of in rows.items() for name, each in of.items()]
        for _, _, each in every:
            each.run(500)
        found: dict[tuple[str, str], list[float]] = {}
        for _ in range(options.rounds):
            for machine, name, each in every:
                found.setdefault((machine, name), []).append(each.run(options.ticks))
    table = [(machine, name, median(times)) for (machine, name), times in found.items()]
    if options.json:
        print(json.dumps([{"machine": m, "what": what, "tick_us": us} for m, what, us in table], indent=1))
        return
    first = {machine: us for machine, what, us in table if what == "a goal"}
    for machine, what, us in table:
        print(f"{machine:9} {what:42} {us:6.1f} µs  {us - first[machine]:+6.1f}")


if __name__ == "__main__":
    main()
