"""Measure the digital twin: noise floor, delay until it detects a push, and cost of a tick.

    python benchmarks/digital_twin.py [MACHINE …] [--counts 1048576] [--json]

Controller, plant and twin in one process, in lockstep: the first goal coordinate swings forth and back for
two seconds, sampled by encoders of so many counts a turn without speeds (--counts 0: the file's own sensors).
Floor: the largest difference as a share of the motors' largest efforts, and in energy. Then a fifth of the
first motor's largest effort is added to what it gives, unknown to the controller: ticks until half of that is
seen; without measured speeds the controller's observer comes before the twin. Cost: processor time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the loop in this process belongs to the tests

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.gateway.twin.twin import asked_of
from linkwork.controller.gateway.twin.twin_channels import TwinChannels
from linkwork.machine import Machine, load
from linkwork.plant.twin.twin_comparison import TwinComparison
from tests.controller.loop.in_process import enabled, with_encoders

MACHINES = ("scara", "five_bar", "delta", "platform_3rrs", "four_bar", "slider_crank")
SECONDS, SWING, PUSH, PUSHED_AT_S = 2.0, 0.05, 0.2, 1.5


def rows_of(machine: Machine, share: float) -> tuple[NDArray[Any], int]:
    """The ticks of a swing as the gateway sends them, and the tick from which a push acts."""
    rig = enabled(machine)
    plant, period = rig.simulator, rig.period_s
    names = machine.goal_coordinates
    index = np.array([machine.coordinate_index(name) for name in names], np.int64)
    knots = np.linspace(0.0, SECONDS, 101)
    phase = 2.0 * np.pi * knots / SECONDS
    values = np.zeros((len(knots), 3, len(index)))
    values[:, 0, :] = rig.record["coordinate"][index]
    rate = 2.0 * np.pi / SECONDS
    values[:, 0, 0] += SWING * (1.0 - np.cos(phase))
    values[:, 1, 0] = SWING * rate * np.sin(phase)
    values[:, 2, 0] = SWING * rate**2 * np.cos(phase)
    values[0, 2, :] = values[-1, 2, :] = 0.0
    begin = plant.tick + round(PUSHED_AT_S / period)
    push = np.zeros(len(machine.motors))
    push[0] = share * machine.motors[0].max_effort
    latch = plant.latch

    def pushed(mode: int, effort: NDArray[np.float64]) -> None:
        latch(mode, effort + push if plant.tick >= begin else effort)

    plant.latch = pushed  # type: ignore[method-assign]
    records = [rig.send(index, knots, values, path=1.0, goal=0.1).record.tobytes()]
    records += [rig.tick().record.tobytes() for _ in range(round(SECONDS / period))]
    words = np.frombuffer(b"".join(records)).reshape(len(records), -1)
    layout = rig.controller.record.layout
    return asked_of(words, layout, TwinChannels(machine).words.asked, stamped=False), begin


def compare(machine: Machine, asked: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """What the digital twin says, and the microseconds of the processor that a tick took."""
    answered = np.zeros(len(asked), TwinChannels(machine).words.answered)
    comparison = TwinComparison(machine)
    comparison.compare(asked[:10], answered[:10])
    began = time.process_time()
    comparison.compare(asked[10:], answered[10:])
    return answered, 1e6 * (time.process_time() - began) / (len(asked) - 10)


def measure(name: str, counts: int) -> dict[str, Any]:
    """One machine."""
    machine = load(name)
    if counts:
        machine = with_encoders(machine, counts)
    most = np.array([motor.max_effort for motor in machine.motors])
    said, cost = compare(machine, rows_of(machine, 0.0)[0])
    asked, begin = rows_of(machine, PUSH)
    seen = compare(machine, asked)[0]
    half = (seen["motor_effort"][:, 0] > 0.5 * PUSH * most[0]) & (seen["tick"] > begin)
    found = seen["tick"][half] - begin
    return {
        "machine": name,
        "floor_share": float(np.max(np.abs(said["motor_effort"]) / most)),
        "floor_J": float(np.max(np.abs(said["energy"]))),
        "half_of_a_push_after_ticks": int(found[0]) if len(found) else None,
        "push_seen": float(seen["motor_effort"][-1, 0] / (PUSH * most[0])),
        "us_a_tick": cost,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("machines", nargs="*", default=MACHINES)
    parser.add_argument("--counts", type=int, default=2**20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [measure(name, options.counts) for name in options.machines]
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print("machine             floor         J  half of a push  seen in the end  us a tick")
    for one in found:
        ticks = one["half_of_a_push_after_ticks"]
        when = "never" if ticks is None else f"{ticks} ticks"
        floor, seen = one["floor_share"], one["push_seen"]
        print(f"{one['machine']:<14} {floor:>10.1e} {one['floor_J']:>9.1e} {when:>15} {seen:>16.3f}", end=" ")
        print(f"{one['us_a_tick']:>10.0f}")


if __name__ == "__main__":
    main()
