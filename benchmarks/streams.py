"""Streams in one process: random set-points within all limits, the circle with jitter, the cost of a tick.

    python benchmarks/streams.py [SET_POINTS]

Prints, per machine, the largest shares of the limits that the reference reached under SET_POINTS random,
jumping, late, doubled and missing set-points (default 20,000), the faults, the closures and the machine's
distance from the reference; then the error of a streamed circle; then the time of a tick without and with a
stream.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the rig belongs to the tests

from linkwork.arrays import Floats
from linkwork.controller.orders import StartStream
from linkwork.controller.set_points import SetPoint
from linkwork.machine import load
from tests.controller.loop.in_process import InProcess, Sample

STREAMED = {
    "scara": ("shoulder", "elbow", "wrist", "lift"),
    "five_bar": ("x", "y"),
    "platform_3rrs": ("motor_1", "motor_2", "motor_3"),
}
DELAY_S = 0.033


class StreamBench(InProcess):
    """A machine that streams these coordinates in one process."""

    def __init__(self, name: str, coordinates: tuple[str, ...], interval_s: float, delay_s: float) -> None:
        super().__init__(load(name))
        self.enable()
        names = list(self.machine.mechanism.coordinate_names)
        self.index = [names.index(each) for each in coordinates]
        begun = self.order(StartStream(1, tuple(self.index), len(self.index), 1, interval_s, delay_s))
        self.start: Floats = np.array(begun["reference"][self.index])
        self.sent = 0

    def put(self, stamp_s: float, positions: Floats) -> Sample:
        """One tick in which a set-point arrives."""
        self.sent += 1
        self.inputs.set_point = SetPoint(self.sent, 1, stamp_s, tuple(positions))
        sample = self.tick()
        self.inputs.set_point = None
        return sample


def random_set_points(name: str, count: int) -> str:
    """Set-points of every kind, one a tick, and what the reference made of them."""
    bench, rng = StreamBench(name, STREAMED[name], 0.001, 0.006), np.random.default_rng(1)
    period, at, mode = bench.period_s, bench.start.copy(), 0
    velocity, residual, apart, faults = [np.zeros(len(at))], 0.0, 0.0, 0
    bench.put(0.0, at)
    for n in range(1, count):
        if rng.random() < 0.01:
            mode = int(rng.integers(0, 6))
        stamp = n * period - (0.01 * rng.random() if mode == 4 else 0.0)
        if mode == 0:
            at = at + 0.001 * rng.normal(size=len(at))
        elif mode == 1:
            at = bench.start + 0.3 * rng.normal(size=len(at))
        elif mode == 2:
            at = at + 0.002 * np.sign(rng.normal(size=len(at)))
        elif mode == 3:
            at = bench.start + 0.3 * np.sin(10.0 * n * period + np.arange(len(at)))
        sent = np.where(rng.random(len(at)) < 0.002, np.nan, at)
        sample = bench.tick() if mode == 5 else bench.put(stamp, sent)
        velocity.append(sample["reference_velocity"][bench.index].copy())
        residual = max(residual, float(sample["closure_residual"]))
        off = sample["reference"][bench.index] - sample["coordinate"][bench.index]
        apart, faults = max(apart, float(np.abs(off).max())), faults + int(sample["fault"] != 0)
    rates = np.array(velocity)
    limits = [bench.machine.coordinates[index] for index in bench.index]
    shares = [
        np.abs(rates).max(0) / [each.velocity for each in limits],
        np.abs(np.diff(rates, axis=0)).max(0) / period / [each.acceleration for each in limits],
        np.abs(np.diff(rates, 2, axis=0)).max(0) / period**2 / [each.jerk for each in limits],
    ]
    reached = ", ".join(f"{share.max():.4f}" for share in shares)
    return (
        f"{name:14} shares of velocity, acceleration, jerk limits: {reached}; faults: {faults}; closures:"
        f" {residual:.1e}; machine from reference: {apart:.1e} rad or m"
    )


def circle(radius: float = 0.03, jitter_s: float = 0.005) -> str:
    """60 mm at 1 Hz, sent at 100 Hz, each set-point up to 5 ms late."""
    bench, rng = StreamBench("five_bar", STREAMED["five_bar"], 0.01, DELAY_S), np.random.default_rng(2)

    def there(time_s: float) -> Floats:
        turned = 2.0 * np.pi * max(time_s - 0.5 * (1.0 - np.exp(-2.0 * max(time_s, 0.0))), 0.0)
        return bench.start + radius * np.array([np.sin(turned), np.cos(turned) - 1.0])

    due = {round((n * 0.01 + jitter_s * rng.random()) / bench.period_s): n * 0.01 for n in range(1, 500)}
    due[0] = 0.0
    errors = []
    for tick in range(5000):
        sample = bench.put(due[tick], there(due[tick])) if tick in due else bench.tick()
        wanted = there(tick * bench.period_s - DELAY_S)
        errors.append(np.abs(sample["reference"][bench.index] - wanted).max())
    largest = 1e6 * max(errors[2000:])
    return f"circle with {1e3 * jitter_s:g} ms of jitter: largest error after 2 s {largest:.1f} µm"


def tick_cost(name: str) -> str:
    """Time of a tick that holds, and of one that streams."""
    hold = InProcess(load(name))
    hold.enable()
    bench = StreamBench(name, STREAMED[name], 0.001, 0.006)
    found = []
    for rig in (hold, bench):
        took = []
        for n in range(3000):
            if rig is bench:
                at = bench.start + 0.02 * np.sin(0.006 * n) * np.ones(len(bench.start))
                bench.inputs.set_point = SetPoint(n + 1, 1, 0.001 * n, tuple(at))
            began = time.perf_counter()
            rig.tick()
            took.append(1e6 * (time.perf_counter() - began))
        found.append(f"median {np.median(took[500:]):.0f} µs, p99 {np.percentile(took[500:], 99):.0f} µs")
    return f"{name:14} tick with the simulated plant: holding {found[0]}; streaming {found[1]}"


def main() -> None:
    """Print all figures."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for name in STREAMED:
        print(random_set_points(name, count))
    print(circle())
    for name in STREAMED:
        print(tick_cost(name))


if __name__ == "__main__":
    main()
