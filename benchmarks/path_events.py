"""Place error of events on the path: random paths, random places, with and without leads, exact sensors.

    python benchmarks/path_events.py [--goals 200] [--seed 1] [--json]

A SCARA and its controller in one process follow random way-points, half of the goals slowed down under way.
Events switch an output at random places of the path, with leads of 0, 12 and 80 ms. The error of an event is
the distance of the reference from the event's place, in the sample from which the output is in force (with a
lead: that much later). Its bound is the speed times half a period. The tool's distance has the tracking error
in it too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.exchange.orders import SetSpeed
from tests.controller.loop.in_process import with_encoders
from tests.controller.loop.test_events_on_the_path import (
    GRIPPER,
    PERIOD_S,
    enabled,
    feasible,
    goal_coordinates,
    nearest,
    switched,
    toggles,
    wave,
)
from tests.signal_machine import signal_machine

LEADS_S = (0.0, 0.012, 0.08)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--goals", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        machine = with_encoders(signal_machine(Path(folder)), 0)
    rows: dict[float, list[tuple[float, float, float, bool]]] = {lead: [] for lead in LEADS_S}
    for number in range(options.goals):
        lead_s = LEADS_S[number % len(LEADS_S)]
        rows[lead_s] += goal_errors(machine, random, lead_s)
    found = [
        {
            "lead_s": lead_s,
            "events": len(errors),
            "in_the_right_tick": sum(each[3] for each in errors),
            "largest_share": max(each[0] / each[2] for each in errors),
            "largest_error_um": 1e6 * max(each[1] for each in errors),
        }
        for lead_s, errors in rows.items()
        if errors
    ]
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for row in found:
        print(
            f"lead {1e3 * row['lead_s']:3.0f} ms: {row['events']} events, {row['in_the_right_tick']} in the"
            f" right tick; reference within {row['largest_share']:.3f} of speed × half a period, tool within"
            f" {row['largest_error_um']:.1f} µm"
        )


def goal_errors(
    machine: Any, random: np.random.Generator, lead_s: float
) -> list[tuple[float, float, float, bool]]:
    """Return of each event of a random goal: errors of reference and tool, bound (m), right tick or not."""
    planned = enabled(machine)
    run = planned.rig
    steps = [tuple(step) for step in random.uniform(-40.0, 40.0, (int(random.integers(1, 4)), 2))]
    duration_s = feasible(planned, steps, float(random.uniform(0.4, 0.8)))
    least = 0.1 * duration_s + lead_s
    times = np.sort(random.uniform(least, 0.99 * max(duration_s, 1.2 * least), 6))
    times = times[(times < 0.99 * duration_s) & (np.diff(times, prepend=0.0) > 3.0 * PERIOD_S)]
    trajectory = wave(run, steps, duration_s) | {
        "events": toggles([{"time_s": float(s)} for s in times], lead_s)
    }
    made = planned.plan("send", trajectory=trajectory)
    fraction = float(random.choice([1.0, random.uniform(0.3, 1.0)]))
    samples = [planned.order(made), run.order(SetSpeed(fraction))]
    samples += [*run.until(lambda sample: sample["goal_status"] >= 5), run.tick()]
    changes = switched(samples, GRIPPER)
    assert len(changes) == len(times), "every event is set"
    path, axes = GoalBlock(made.words), goal_coordinates(machine)
    own = path.coordinates.tolist()
    place_of = [own.index(axis) for axis in axes]
    found = []
    for change, s in zip(changes, times, strict=True):
        at = change + round(lead_s / PERIOD_S)
        theta = np.zeros((3, len(own)))
        path.evaluate(s, *theta)
        track = np.array([sample["reference"][axes] for sample in samples[at - 1 : at + 2]])
        tool = samples[at]["coordinate"][axes]
        speed = float(max(np.linalg.norm(np.diff(track, axis=0), axis=1))) / PERIOD_S
        right = nearest(samples, change, float(s), lead_s)
        place, bound = theta[0][place_of], 0.5 * PERIOD_S * speed
        error, of_tool = float(np.linalg.norm(track[1] - place)), float(np.linalg.norm(tool - place))
        found.append((error, of_tool, bound, right))
    return found


if __name__ == "__main__":
    main()
