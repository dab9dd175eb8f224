"""Whether a recording costs ticks: rounds of real time with `linkwork record` running, and without, in turns.

    python benchmarks/recording.py [--rounds 6] [--seconds 10] [--cpu N] [--json]

The SCARA moves forth and back at 1 kHz, the plant being the clock, in every block; each round has one block
with a recorder and one without, in changing order. Of each block: ticks without a state and periods that were
skipped, for every 10000 ticks, and the time from a state to its command; then the median over the blocks of a
kind with their range, and that of the rounds' own differences, which is what a recorder costs. The limits on
lost states are wide, so that a busy computer raises no fault. At the end a recorder is killed (kill -9), and
its file is read: how much of the time up to the kill it lacks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rig import BenchRig

from linkwork.machine import shipped_path
from linkwork.recordings.recording import read_recording
from linkwork.timing.realtime import BLAS_ENVIRONMENT
from linkwork.timing.scheduling import share_processors

KINDS = ("without", "recording")
FIGURES = ("without_a_state", "skipped", "latency_p50_us", "latency_p99_us")
_WIDE = "  loss_limit: 1000\n  loss_ratio_per_s: 1.0\n"


class TimedRecorder:
    """`linkwork record` as a process, from `with` to the block's end, when it is killed."""

    def __init__(self, path: Path, *, from_now: bool) -> None:
        self.path, self._options = path, ["--from-now"] if from_now else []

    def __enter__(self) -> TimedRecorder:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "linkwork", "record", str(self.path), *self._options],
            env={**os.environ, **BLAS_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60.0
        while not self.path.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def patient(folder: Path) -> str:
    """The SCARA with wide limits on what may be lost."""
    text = shipped_path("scara").read_text().replace("timeout_periods: 20", "timeout_periods: 1000")
    path = folder / "scara.yaml"
    path.write_text(text + _WIDE)
    return str(path)


def block(rig: BenchRig, seconds: float) -> NDArray[Any]:
    """The records of a motion of so many seconds."""
    goal = rig.robot.send(rig.forth_and_back(seconds))
    found, seen = [], rig.shared.head
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        rig.robot.request("state")
        records, seen = rig.records(seen)
        found.append(records)
    goal.wait()
    return np.concatenate(found)


def figures(records: NDArray[Any]) -> dict[str, float]:
    """Of one block."""
    fresh = records[records["fresh"] == 1]
    latency = (fresh["sent_ns"] - fresh["received_ns"]) * 1e-3
    share = 1e4 / len(records)
    return {
        "ticks": len(records),
        "without_a_state": share * (len(records) - len(fresh)),
        "skipped": share * float(records["missed"].sum()),
        "latency_p50_us": float(np.percentile(latency, 50)),
        "latency_p99_us": float(np.percentile(latency, 99)),
    }


def spread(values: list[float]) -> dict[str, float]:
    """Median and range."""
    return {"median": float(np.median(values)), "least": min(values), "most": max(values)}


def measure(rounds: int, seconds: float, cpu: int) -> dict[str, Any]:
    """Round of two blocks, then the file of a recorder that is killed."""
    blocks: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="linkwork-") as folder:
        config = patient(Path(folder))
        with BenchRig("device", config=config, cpu=cpu) as rig:
            rig.robot.enable()
            for number in range(rounds):
                for kind in KINDS if number % 2 == 0 else reversed(KINDS):
                    path = Path(folder, f"{number}.mcap")
                    with TimedRecorder(path, from_now=True) if kind == "recording" else nullcontext():
                        blocks[kind].append(figures(block(rig, seconds)))
            path = Path(folder, "killed.mcap")
            with TimedRecorder(path, from_now=True):
                time.sleep(3.0)
                records, _ = rig.records(rig.shared.head - 10)
                last = float(records["time_s"][-1])
            kept = read_recording(path).table
    return {
        "rounds": rounds,
        "seconds": seconds,
        **{
            kind: {name: spread([one[name] for one in found]) for name in FIGURES}
            for kind, found in blocks.items()
        },
        "cost": {
            name: spread(
                [b[name] - a[name] for a, b in zip(blocks["without"], blocks["recording"], strict=True)]
            )
            for name in FIGURES
        },
        "killed": {"ticks": len(kept), "first": int(kept["tick"][0]), "lacks_s": last - kept["time_s"][-1]},
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--cpu", type=int, default=min(share_processors()[0]))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.rounds, options.seconds, options.cpu)
    if options.json:
        print(json.dumps(result, indent=1, default=float))
        return
    print(f"{options.rounds} rounds of 2 x {options.seconds:g} s in motion; median (least to most)")
    for kind in (*KINDS, "cost"):
        told = [
            f"{one['median']:.3g} ({one['least']:.3g} to {one['most']:.3g})"
            for one in (result[kind][name] for name in FIGURES)
        ]
        print(
            f"{kind:<10} without a state {told[0]}, skipped {told[1]}, of 10000 ticks; "
            f"state to command p50 {told[2]} us, p99 {told[3]} us"
        )
    killed = result["killed"]
    print(f"killed     {killed['ticks']:>8} ticks from {killed['first']}; lacks {killed['lacks_s']:.2f} s")


if __name__ == "__main__":
    main()
