"""Random set-points to a streaming machine, in one process: what limits the reference and the machine reach.

    python benchmarks/random_set_points.py [--machine five_bar] [--count 20000] [--seed 1] [--json]

One set-point a tick: steps, jumps, far targets, waves, late, doubled and repeated stamps, NaN; in between
silences, until the machine rests, and stops, after which another stream begins. `five_bar_in_a_box` is the
five-bar with a section `workspace`. Without --machine all machines run, one after another. Exit status 1 if
a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from stream_bench import STREAMED, StreamBench

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import Stop
from linkwork.controller.motion.streams.streaming import StreamState
from linkwork.machine import Machine, load, shipped_path
from linkwork.multibody.tree.kinematics import kinematics
from tests.controller.loop.in_process import Sample

BOX = "workspace:\n  tool: {x_m: [-0.09, 0.09], y_m: [0.25, 0.36], speed_m_s: 0.6}\n"
MODES = ("walk", "jump", "shake", "wave", "late", "double", "far", "silence", "stop")
RATES = ("velocity", "acceleration", "jerk")
ROUNDING = 1e-9
"""By which the reference may exceed a limit."""
PASSIVE = 1e-3
"""rad or m by which a measured joint or point may exceed a limit of position; a share of one of velocity."""
MORE_WAY, LEAST_WAY = 1.1, 5e-4
"""By which a coordinate may go further than the straight stop of its target; rad or m."""
REST_TICKS, BLOCK = 3000, 2000


def machine_of(name: str) -> tuple[Machine, tuple[str, ...]]:
    """The machine and its streamed coordinates."""
    if name != "five_bar_in_a_box":
        return load(name), STREAMED[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "five_bar.yaml")
        path.write_text(shipped_path("five_bar").read_text() + BOX)
        return load(str(path)), STREAMED["five_bar"]


class RandomStream:
    """Sends random set-points and keeps the largest excess over each limit."""

    def __init__(self, name: str, seed: int) -> None:
        machine, coordinates = machine_of(name)
        self.bench = StreamBench(machine, coordinates, 0.001, 0.006)
        self.rng = np.random.default_rng(seed)
        limits = [machine.coordinates[index] for index in self.bench.index]
        self._rates = np.array([[each.velocity, each.acceleration, each.jerk] for each in limits])
        self._low, self._high = np.array([each.position for each in limits]).T
        self._middle = np.clip(self.bench.start, self._low + 0.1, self._high - 0.1)
        self._work = machine.workspace()
        self._joints = np.array([[*each.position, each.velocity] for each in machine.joints])
        self._following = np.array([machine.tolerances[i].following_limit for i in self.bench.index])
        self.most: dict[str, float] = {}
        self.counts = dict.fromkeys((*MODES, "nan", "set_points", "ticks", "streams", "faults"), 0)
        self.held_back: set[int] = set()
        self._at, self._stamp = self.bench.start.copy(), 0.0
        self._rows: list[Floats] = []
        self._take(self.bench.put(0.0, self._at))

    # Set-points

    def run(self, count: int) -> None:
        """Send `count` set-points; stop early after a fault."""
        mode = "walk"
        while self.counts["set_points"] < count and not self.counts["faults"]:
            if self.rng.random() < 0.01:
                mode = str(self.rng.choice(MODES))
                self.counts[mode] += 1
                if mode in ("silence", "stop"):
                    self._come_to_rest(by_order=mode == "stop")
                    mode = "walk"
                if mode == "far":
                    self._at = self._middle + self.rng.uniform(-2.0, 2.0, len(self._at))
            self._put(mode)
        self._judge(keep=0)

    def _put(self, mode: str) -> None:
        at, rng, k = self._at, self.rng, len(self._at)
        self._stamp += self.bench.period_s
        stamp = self._stamp
        match mode:
            case "walk":
                at = at + 0.001 * rng.normal(size=k)
            case "jump":
                at = self._middle + 0.3 * rng.normal(size=k)
            case "shake":
                at = at + 0.002 * np.sign(rng.normal(size=k))
            case "wave":
                at = self._middle + 0.3 * np.sin(10.0 * stamp + np.arange(k))
            case "late":
                stamp -= 0.01 * rng.random()
            case "double":
                stamp -= self.bench.period_s * rng.integers(0, 2)
        self._at = at
        nan = rng.random(k) < 0.002
        self.counts["nan"] += bool(nan.any())
        self.counts["set_points"] += 1
        self._take(self.bench.put(stamp, np.where(nan, np.nan, at)))

    def _come_to_rest(self, *, by_order: bool) -> None:
        """Send nothing more, or stop: measure the way to rest beside the stated one."""
        if by_order:
            self._take(self.bench.order(Stop()))
            sample = self._take(self.bench.tick())  # the stop begins at the state planned two periods ahead
        else:
            sample = self._take(self.bench.tick())
            while sample["stream_state"] == StreamState.RUNNING:
                sample = self._take(self.bench.tick())
        before = sample["reference_velocity"][self.bench.index]
        sample = self._take(self.bench.tick())
        first, velocity = (sample[name][self.bench.index] for name in ("reference", "reference_velocity"))
        acceleration = (velocity - before) / self.bench.period_s
        way, ticks = np.zeros(len(first)), 0
        while ticks < REST_TICKS and sample["stream_state"] != StreamState.NONE:
            sample = self._take(self.bench.tick())
            ticks += 1
            way = np.maximum(way, np.abs(sample["reference"][self.bench.index] - first))
            if not by_order and np.abs(sample["reference_velocity"][self.bench.index]).max() < 1e-6:
                break
        self._note("ticks to rest", ticks)
        self._note("way to rest, beyond the stated", (way - self._stated_way(velocity, acceleration)).max())
        if by_order and not self.counts["faults"]:
            self.bench.begin()
            self.counts["streams"] += 1
            self._at, ticks = self.bench.start.copy(), 0
            self._take(self.bench.put(self._stamp + self.bench.period_s, self._at))
        self._stamp += self.bench.period_s * (ticks + 5)

    def _stated_way(self, velocity: Floats, acceleration: Floats) -> Floats:
        """The way of each coordinate to rest, as docs/streams.md states it."""
        _, a, j = 0.98 * self._rates.T
        speed = np.abs(velocity) + acceleration**2 / (2.0 * j)
        seconds = max(float(np.max(2.5 * speed / a)), float(np.sqrt(np.max(10.0 * speed / j))))
        return MORE_WAY * speed * (0.5 * seconds + np.abs(acceleration) / j) + LEAST_WAY

    # What comes of it.

    def _take(self, sample: Sample) -> Sample:
        streaming = sample["stream_state"] != StreamState.NONE
        if streaming:
            self._rows.append(self.bench.controller.record.floats.copy())
        if not streaming or len(self._rows) >= BLOCK:
            self._judge(keep=2 if streaming else 0)
        self.counts["ticks"] += 1
        self.counts["faults"] += int(sample["fault"] != 0)
        return sample

    def _judge(self, keep: int) -> None:
        """Compare the collected ticks with the limits; keep the last ones for the rates of the next."""
        if len(self._rows) < 3:
            self._rows.clear()
            return
        bench, machine = self.bench, self.bench.machine
        table = np.array(self._rows).view(bench.layout.dtype)[:, 0]
        del self._rows[: len(self._rows) - keep]
        self.held_back |= set(table["stream_held_back"].tolist())
        reference, velocity = table["reference"][:, bench.index], table["reference_velocity"][:, bench.index]
        self._note("position", max((self._low - reference).max(), (reference - self._high).max()))
        for order, name in enumerate(RATES):
            change = np.abs(np.diff(velocity, order, axis=0)) / bench.period_s**order
            self._note(name, (change - self._rates[:, order]).max())
            self._note(f"share of {name}", (change / self._rates[:, order]).max())
        self._note("closures", table["closure_residual"].max())
        off = np.abs(reference - table["coordinate"][:, bench.index])
        self._note("following, share of tolerance", (off / self._following).max())
        q, v = table["q"], np.abs(table["v"])
        if machine.mechanism.nq == len(self._joints):
            low, high, speed = self._joints.T
            self._note("joint position", max((low - q).max(), (q - high).max()))
            self._note("share of joint velocity", (v / speed).max())
        if machine.regions:
            for row in table:
                self._note_points(row)

    def _note_points(self, row: np.void) -> None:
        """The measured points beside the section `workspace`."""
        machine, work = self.bench.machine, self._work
        work.q[:], work.v[:] = row["q"], row["v"]
        kinematics(*work.arguments)
        place, rate = work.point_position, work.point_velocity
        for region in machine.regions:
            at = place[region.index]
            self._note("workspace", max((region.low - at).max(), (at - region.high).max()))
            self._note("share of point speed", float(np.linalg.norm(rate[region.index])) / region.speed)

    def _note(self, name: str, value: float) -> None:
        self.most[name] = max(self.most.get(name, -np.inf), float(value))

    def exceeded(self) -> Iterable[str]:
        """Names of limits that were not kept."""
        allowed = {
            **dict.fromkeys(("position", *RATES, "closures"), ROUNDING),
            "following, share of tolerance": 1.0, "joint position": PASSIVE, "workspace": PASSIVE,
            "share of joint velocity": 1.0 + PASSIVE, "share of point speed": 1.0 + PASSIVE,
            "way to rest, beyond the stated": 0.0, "ticks to rest": REST_TICKS - 1,
        }  # fmt: skip
        yield from (name for name, most in allowed.items() if self.most.get(name, -np.inf) > most)
        if self.counts["faults"]:
            yield "faults"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [*STREAMED, "five_bar_in_a_box"]
    parser.add_argument("--machine", choices=names)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    wrong = 0
    for name in [options.machine] if options.machine else names:
        began = time.perf_counter()
        run = RandomStream(name, options.seed)
        run.run(options.count)
        exceeded = list(run.exceeded())
        wrong += len(exceeded)
        found: dict[str, Any] = {
            "machine": name, "seed": options.seed, "counts": run.counts, "held_back": sorted(run.held_back),
            "most": run.most, "exceeded": exceeded, "took_s": time.perf_counter() - began,
        }  # fmt: skip
        if options.json:
            print(json.dumps(found))
            continue
        counts = ", ".join(f"{kind} {count:,}" for kind, count in run.counts.items())
        print(f"{name}: {counts}; {found['took_s']:.0f} s")
        print("  " + "; ".join(f"{key} {value:.3g}" for key, value in run.most.items()))
        print(f"  exceeded: {', '.join(exceeded) or 'nothing'}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
