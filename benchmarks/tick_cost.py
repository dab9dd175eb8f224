"""What one tick of the controller computes, beside one call of Pinocchio's `constraintDynamics`.

    python benchmarks/tick_cost.py [--machine platform_3rrs] [--rounds 60] [--ticks 100] [--json]

Machine and plant run in lockstep in this process; the machine follows a move back and forth. A round is a
block of ticks, each clocked around `Tick.step` alone (estimate, supervise, law, limit), and a block of
their calls at the state that was reached. What counts is the ratio, median over the rounds. The parts run
by themselves, because each clock costs some tenths of a microsecond.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # rig and Pinocchio's models belong to the tests

from benchmarks.kernels import spread
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import load
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from tests.controller.loop.in_process import InProcess
from tests.controller.loop.test_closed_chains import MOVES, move
from tests.verification.in_pinocchio import InPinocchio

PARTS = {"estimate": "_estimate", "law": "_act", "limit": "_limit"}
UNDER_WAY = (GoalStatus.RUNNING, GoalStatus.SETTLING)


class TickTimes:
    """A machine in motion, tick after tick, with a clock around the step."""

    def __init__(self, name: str) -> None:
        self.rig = InProcess(load(name))
        self.rig.enable()
        names = list(self.rig.machine.mechanism.coordinate_names)
        start = self.rig.machine.workspace()
        kinematics(*start.arguments)
        coordinates(*start.arguments)
        home = {key: float(start.theta[names.index(key)]) for key in MOVES[name]}
        self._targets = [MOVES[name], home]
        self._step = self.rig.controller.step
        self.rig.controller.step = self._clocked  # type: ignore[method-assign]
        self.times: list[float] = []

    def _clocked(self, *arguments: Any) -> None:
        began = time.perf_counter_ns()
        self._step(*arguments)
        self.times.append((time.perf_counter_ns() - began) / 1e3)

    def run(self, ticks: int) -> list[float]:
        """So many ticks; the step's times in µs."""
        self.times.clear()
        while len(self.times) < ticks:
            sample = self.rig.tick()
            if int(sample["goal_status"]) not in UNDER_WAY:
                move(self.rig, self._targets[0])
                self._targets.reverse()
        return self.times[:ticks]


def measure(name: str, rounds: int, ticks: int) -> dict[str, Any]:
    """Medians in µs, their ratio, and the parts."""
    moving = TickTimes(name)
    other = InPinocchio(moving.rig.machine.plant_mechanism)
    moving.run(300)
    ours, theirs, ratios = [], [], []
    for _ in range(rounds):
        step = median(moving.run(ticks))
        call = _block(_theirs(other, moving), ticks)
        ours.append(step)
        theirs.append(call)
        ratios.append(step / call)
    return {
        "machine": name,
        "tick_us": spread(ours),
        "pinocchio_us": spread(theirs),
        "ratio": spread(ratios),
        "parts_us": parts(name, 10 * ticks),
    }


def _theirs(other: InPinocchio, moving: TickTimes) -> Callable[[], None]:
    work = moving.rig.simulator.work
    given = (other.model, other.data, *other.state(work.q, work.v, work.effort), other.models)
    arguments = (*given, other.datas, other.settings)
    accelerate = other.function
    return lambda: accelerate(*arguments)


def _block(call: Callable[[], None], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began) / calls * 1e6


def parts(name: str, ticks: int) -> dict[str, float]:
    """Median of each part of the tick, µs, its clock included."""
    moving = TickTimes(name)
    tick = moving.rig.controller
    times: dict[str, list[float]] = {}

    def clock(owner: Any, method: str, label: str) -> None:
        inner, kept = getattr(owner, method), times.setdefault(label, [])

        def clocked(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter_ns()
            result = inner(*arguments, **named)
            kept.append((time.perf_counter_ns() - began) / 1e3)
            return result

        setattr(owner, method, clocked)

    for label, method in PARTS.items():
        clock(tick, method, label)
    clock(tick.supervisor, "update", "supervise")
    moving.run(ticks)
    return {label: round(median(kept), 2) for label, kept in times.items()}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", default="platform_3rrs", choices=sorted(MOVES))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--ticks", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.machine, options.rounds, options.ticks)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    ratio = found["ratio"]
    print(f"{found['machine']}: one tick {found['tick_us']['median']:.1f} µs,", end=" ")
    print(f"one constraintDynamics from Python {found['pinocchio_us']['median']:.2f} µs:", end=" ")
    print(f"{ratio['median']:.2f} times ({ratio['low_quartile']:.2f} to {ratio['high_quartile']:.2f})")
    print("parts, with their clocks: " + ", ".join(f"{k} {v:.1f} µs" for k, v in found["parts_us"].items()))


if __name__ == "__main__":
    main()
