"""Streams: error and effort of a streamed circle, the way of a set-point to the command, the cost of a tick.

    python benchmarks/streams.py [circle] [latency] [cost] [--draw FILE.png] [--seconds 20]

circle: the five-bar, in one process, follows a circle of 60 mm at 1 Hz that is sent at 100 Hz with up to 5 ms
of jitter; beside it, the same circle as a trajectory. latency: plant and controller in real time at 1 kHz,
from `put` to the tick whose reference reaches the set-point. cost: time of a tick with the simulated plant,
holding and streaming. Without a name all three run. `random_set_points.py` has the limits.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rig import BenchRig
from stream_bench import STREAMED, StreamBench

from linkwork.arrays import Floats
from linkwork.controller.exchange.set_points import SetPoint
from linkwork.machine import load
from linkwork.recordings.path_plot import ACCENT, HUES
from linkwork.timing.clock import Ticker, now_ns
from tests.controller.loop.in_process import InProcess, Sample

DELAY_S, RADIUS_M, JITTER_S, INTERVAL_S, LENGTH_S, FROM_S = 0.033, 0.03, 0.005, 0.01, 8.0, 3.0
RIPPLE_HZ = 10.0
"""Frequency above which effort counts as ripple."""


def circle_at(time_s: Floats) -> Floats:
    """The circle (n × 3 × 2) at times (n): x and y from its beginning, with two derivatives; m, s."""
    t = np.maximum(time_s, 0.0)
    fade = np.exp(-2.0 * t)
    angle = 2.0 * np.pi * (t - 0.5 * (1.0 - fade))
    rate, change = 2.0 * np.pi * (1.0 - fade), 4.0 * np.pi * fade
    change = np.where(time_s < 0.0, 0.0, change)
    sin, cos = np.sin(angle), np.cos(angle)
    x = np.stack([sin, rate * cos, change * cos - rate**2 * sin])
    y = np.stack([cos - 1.0, -rate * sin, -change * sin - rate**2 * cos])
    return RADIUS_M * np.stack([x, y], axis=-1).transpose(1, 0, 2)


@dataclass(frozen=True)
class CircleRun:
    """time_s: (n,); error: (n,) distance of machine and reference from the circle, m; effort: (n, motors)."""

    time_s: Floats
    error: Floats
    effort: Floats


def run_of(samples: list[Sample], index: list[int], start: Floats, delay_s: float) -> CircleRun:
    """The run of these samples, one a millisecond, from the moment in which the first set-point was sent."""
    time_s = 0.001 * np.arange(len(samples))
    wanted = start + circle_at(time_s - delay_s)[:, 0]
    machine = np.array([sample["coordinate"][index] for sample in samples])
    effort = np.array([sample["effort"] for sample in samples])
    return CircleRun(time_s, np.linalg.norm(machine - wanted, axis=1), effort)


def streamed_circle() -> CircleRun:
    """The circle by set-points, each up to 5 ms late."""
    bench, rng = (
        StreamBench(load("five_bar"), STREAMED["five_bar"], INTERVAL_S, DELAY_S),
        np.random.default_rng(2),
    )
    count = round(LENGTH_S / INTERVAL_S)
    due = {round(1000 * (n * INTERVAL_S + JITTER_S * rng.random())): n * INTERVAL_S for n in range(1, count)}
    due[0] = 0.0
    samples = []
    for tick in range(round(1000 * LENGTH_S)):
        there = bench.start + circle_at(np.array([due.get(tick, 0.0)]))[0, 0]
        samples.append(bench.put(due[tick], there) if tick in due else bench.tick())
    return run_of(samples, bench.index, bench.start, DELAY_S)


def planned_circle() -> CircleRun:
    """The circle as one goal."""
    rig = InProcess(load("five_bar"))
    rig.enable()
    names = list(rig.machine.mechanism.coordinate_names)
    index = [names.index(name) for name in STREAMED["five_bar"]]
    start = np.array(rig.tick()["coordinate"][index])
    knots = np.arange(0.0, LENGTH_S + 0.5, INTERVAL_S)
    values = circle_at(knots)
    values[:, 0] += start
    samples = [rig.send(np.array(index), knots, values), *rig.run(LENGTH_S - 0.001)]
    return run_of(samples, index, start, 0.0)


def spectrum(effort: Floats) -> tuple[Floats, Floats]:
    """Frequencies (m; Hz) and amplitudes (m; N m) of an effort (n) sampled at 1 kHz, with a Hann window."""
    window = np.hanning(len(effort))
    lines = np.abs(np.fft.rfft((effort - effort.mean()) * window)) * 2.0 / window.sum()
    return np.fft.rfftfreq(len(effort), 0.001), lines


def circle(draw: Path | None) -> None:
    """Print errors and ripple; draw the efforts and their spectra."""
    runs = {"streamed": streamed_circle(), "as a trajectory": planned_circle()}
    for name, run in runs.items():
        late = run.time_s >= FROM_S
        parts = []
        for motor, effort in zip(("left", "right"), run.effort[late].T, strict=True):
            hertz, lines = spectrum(effort)
            high = hertz >= RIPPLE_HZ
            at = int(np.argmax(np.where(high, lines, 0.0)))
            parts.append(
                f"{motor} {lines.max():.4f} N m, above {RIPPLE_HZ:g} Hz at most {1e3 * lines[at]:.3f} mN m"
                f" at {hertz[at]:.0f} Hz"
            )
        print(
            f"circle {name}: error after {FROM_S:g} s at most {1e6 * run.error[late].max():.1f} µm,"
            f" rms {1e6 * np.sqrt(np.mean(run.error[late] ** 2)):.1f} µm; largest line of the effort: "
            + "; ".join(parts)
        )
    if draw is not None:
        draw_circles(runs, draw)


def draw_circles(runs: dict[str, CircleRun], path: Path) -> None:
    """Write a picture: the left motor's effort in the last second, and its spectrum."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.4), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    over_time, lines = figure.subplots(1, 2)
    for hue, (name, run) in zip((HUES[0], ACCENT), runs.items(), strict=True):
        effort, style = run.effort[:, 0], "-" if name == "streamed" else (0, (4, 3))
        last = run.time_s >= LENGTH_S - 1.0
        turned = run.time_s[last] - (DELAY_S if name == "streamed" else 0.0) - (LENGTH_S - 1.0)
        over_time.plot(turned, effort[last], color=hue, linestyle=style, linewidth=1.2, label=name)
        hertz, amplitude = spectrum(effort[run.time_s >= FROM_S])
        lines.loglog(hertz[1:], amplitude[1:], color=hue, linestyle=style, linewidth=1.0, label=name)
    over_time.set(xlabel="time on the circle / s", ylabel="effort, left / N m")
    lines.set(xlabel="frequency / Hz", ylabel="amplitude / N m", ylim=(1e-8, None))
    for axes in (over_time, lines):
        axes.grid(True, color="#e4e4e4", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def latency(seconds: float) -> None:
    """Real time: from `put` to the tick whose reference reaches the set-point."""
    with BenchRig("device") as rig:
        robot, machine = rig.robot, rig.machine
        robot.enable()
        at = list(machine.mechanism.coordinate_names).index("shoulder")
        start = robot.state["q"]["shoulder"]
        sent, places, kept = [], [], []
        with robot.stream("shoulder", rate_hz=1000.0) as stream:
            delay_s, seen = stream.delay_s, rig.shared.head
            ticker = Ticker(1_000_000)
            begun = now_ns()
            ticker.start(begun)
            for number in range(round(1000 * seconds)):
                ticker.wait()
                now = now_ns()
                phase = 0.5 * np.pi * 1e-9 * (now - begun)
                sent.append(now)
                places.append(start + 0.2 * np.sin(phase) ** 2)
                stream.put(places[-1], time_s=1e-9 * now)
                if number % 500 == 0:
                    records, seen = rig.records(seen)
                    kept.append(records.copy())
        records, seen = rig.records(seen)
        kept.append(records.copy())
        robot.disable()
    ticks = np.concatenate(kept)
    arrived = ticks[ticks["set_point"] > 0]
    put_ns = np.array(sent)[arrived["set_point"].astype(int) - int(arrived["set_point"].min())]
    transport = 1e-6 * np.median(arrived["received_ns"] - put_ns)
    reference, out_ns = ticks["reference"][:, at], ticks["sent_ns"]
    took = []
    for n in range(1000, len(sent) - 100):
        low, high = np.searchsorted(out_ns, [sent[n], sent[n] + 100_000_000])
        ahead = reference[low:high] - places[n]
        speed = abs(places[n + 1] - places[n - 1])
        crossed = np.flatnonzero(ahead[1:] * ahead[:-1] <= 0.0)
        if len(crossed) and speed > 2e-4:
            took.append(1e-6 * (out_ns[low + crossed[0] + 1] - sent[n]))
    period_ms, median = 1e3 * machine.period_s, float(np.median(took))
    bound = transport + period_ms + 1e3 * delay_s
    print(
        f"set-point to command over {len(took)} set-points: median {median:.2f} ms,"
        f" p99 {np.percentile(took, 99):.2f} ms; transport {transport:.2f} ms (median)"
        f" + period {period_ms:g} ms + delay {1e3 * delay_s:g} ms = {bound:.2f} ms:"
        f" ratio {median / bound:.3f}"
    )


def tick_cost(name: str) -> str:
    """Time of a tick that holds, and of one that streams."""
    hold = InProcess(load(name))
    hold.enable()
    bench = StreamBench(load(name), STREAMED[name], 0.001, 0.006)
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
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="*", metavar="circle|latency|cost")
    parser.add_argument("--draw", type=Path, help="write a picture of the circle's efforts")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the stream for latency")
    options = parser.parse_args()
    what = options.what or ["circle", "latency", "cost"]
    if "circle" in what:
        circle(options.draw)
    if "latency" in what:
        latency(options.seconds)
    if "cost" in what:
        for name in STREAMED:
            print(tick_cost(name))


if __name__ == "__main__":
    main()
