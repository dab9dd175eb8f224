"""Whether a recording costs ticks: blocks of real time with `linkwork record` running, and without, in turns.

    python benchmarks/recording.py [--blocks 6] [--seconds 10] [--cpu N] [--json]

The loop runs at 1 kHz with the brakes on, so that a busy computer raises no fault in between; a tick is as
long in the log as in motion. Of each block: ticks without a state, periods that were skipped, and the time
from a state to its command. At the end a recorder is killed (kill -9), and its file is read: how much of
the time up to the kill it lacks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rig import Rig

from station.recording import read_recording
from timing.realtime import BLAS_ENVIRONMENT
from timing.scheduling import share_processors


class Recorder:
    """`linkwork record` as a process, from `with` to the block's end, when it is killed."""

    def __init__(self, path: Path, *, from_now: bool) -> None:
        self.path, self._options = path, ["--from-now"] if from_now else []

    def __enter__(self) -> Recorder:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "station", "record", str(self.path), *self._options],
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


def block(rig: Rig, seconds: float) -> NDArray[Any]:
    """The records of so many seconds, taken as they come."""
    found, seen = [], rig.shared.head
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        records, seen = rig.records(seen)
        found.append(records)
    return np.concatenate(found)


def figures(records: list[NDArray[Any]]) -> dict[str, float]:
    """Of all blocks of a kind."""
    every = np.concatenate(records)
    fresh = every[every["fresh"] == 1]
    latency = (fresh["sent_ns"] - fresh["received_ns"]) * 1e-3
    return {
        "ticks": len(every),
        "without_a_state": len(every) - len(fresh),
        "skipped": int(every["missed"].sum()),
        "latency_p50_us": float(np.percentile(latency, 50)),
        "latency_p99_us": float(np.percentile(latency, 99)),
    }


def measure(blocks: int, seconds: float, cpu: int) -> dict[str, Any]:
    """Blocks with and without a recorder in turns, then the file of one that is killed."""
    kinds: dict[str, list[NDArray[Any]]] = {"without": [], "recording": []}
    with tempfile.TemporaryDirectory(prefix="linkwork-") as folder, Rig("device", cpu=cpu) as rig:
        for number in range(blocks):
            kinds["without"].append(block(rig, seconds))
            with Recorder(Path(folder, f"{number}.mcap"), from_now=True):
                kinds["recording"].append(block(rig, seconds))
        path = Path(folder, "killed.mcap")
        with Recorder(path, from_now=False):
            time.sleep(3.0)
            records, _ = rig.records(rig.shared.head - 10)
            last = float(records["time_s"][-1])
        kept = read_recording(path).table
    return {name: figures(found) for name, found in kinds.items()} | {
        "killed": {"ticks": len(kept), "first": int(kept["tick"][0]), "lacks_s": last - kept["time_s"][-1]}
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--cpu", type=int, default=min(share_processors()[0]))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.blocks, options.seconds, options.cpu)
    if options.json:
        print(json.dumps(result, indent=1, default=float))
        return
    for name in ("without", "recording"):
        one = result[name]
        print(
            f"{name:<10} {one['ticks']:>8} ticks, {one['without_a_state']} without a state, "
            f"{one['skipped']} skipped; state to command p50 {one['latency_p50_us']:.0f} us, "
            f"p99 {one['latency_p99_us']:.0f} us"
        )
    killed = result["killed"]
    print(f"killed     {killed['ticks']:>8} ticks from {killed['first']}; lacks {killed['lacks_s']:.2f} s")


if __name__ == "__main__":
    main()
