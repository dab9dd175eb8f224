"""Campaigns: throughput of workers and of a Dask cluster, kills at random moments, memory of the parent.

    python -m benchmarks.campaigns throughput [--runs 1000] [--rounds 3] [--json]
    python -m benchmarks.campaigns kills [--runs 200] [--times 10] [--seed 1] [--json]
    python -m benchmarks.campaigns memory [--runs 100000] [--json]

All run the command `linkwork campaign`. A run is a move of the five-bar of a quarter of a second, with noise
and a delayed device link. *throughput*: runs per second of the whole command with one worker, two workers,
and two worker processes of a Dask scheduler. *kills*: SIGKILL at random to a worker, to the command, to all
processes of the command, and to the command while a Dask cluster carries out its runs; after each the same
command continues. *memory*: resident memory of the command at a tenth of the runs and at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TEXT = """\
name: short_moves
machine: five_bar
seed: 5
sampling: {{method: latin_hypercube, samples: {runs}}}
parameters:
  mass: {{plant: right_forearm.mass_kg, uniform: [0.75, 0.85]}}
  delay: {{choice: [0, 1]}}
faults:
  - {{wire: delay, direction: states, by_ticks: $delay}}
  - {{sensor: noise, of: left, std_rad: 1.0e-6}}
trajectories:
  there: {{move: {{left: 2.12}}}}
requirements: {{error_max.left: 0.001}}
"""
LEAST_SPEED_UP, LEAST_DASK, MOST_GROWTH = 1.7, 0.9, 1.2
WAYS = ("worker", "command", "all", "client")


def campaign_file(folder: Path, runs: int) -> Path:
    """Write a campaign file with this number of runs."""
    path = folder / f"short_{runs}.yaml"
    path.write_text(TEXT.format(runs=runs))
    return path


def start(path: Path, out: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start the command in a new process group."""
    argv = [sys.executable, "-m", "linkwork", "campaign", str(path), "--out", str(out), *words]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)


def finish(path: Path, out: Path, *words: str) -> float:
    """Carry out the command to its end; return its seconds."""
    begun = time.monotonic()
    if (status := start(path, out, *words).wait()) != 0:
        raise RuntimeError(f"the command ended with {status}")
    return time.monotonic() - begun


@contextmanager
def dask(workers: int) -> Iterator[str]:
    """Start a Dask scheduler and its worker processes; yield the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, quiet = f"tcp://127.0.0.1:{port}", subprocess.DEVNULL
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = ["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    begun = []
    try:
        for what, *words in (scheduler, *[worker] * workers):
            argv = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words]
            begun.append(subprocess.Popen(argv, stdout=quiet, stderr=quiet, env={**os.environ, **one}))
            time.sleep(1.0)
        yield address
    finally:
        for process in reversed(begun):
            process.kill()
            process.wait()


def throughput(folder: Path, runs: int, rounds: int) -> dict[str, Any]:
    """Runs per second of each way, rounds interleaved; the first start of workers is part of it."""
    path = campaign_file(folder, runs)
    seconds: dict[str, list[float]] = {"one": [], "two": [], "dask": []}
    with dask(2) as address:
        finish(campaign_file(folder, 8), folder / "first", "--on", address)  # its workers load the kernels
        for number in range(rounds):
            seconds["one"].append(finish(path, folder / f"one{number}", "--workers", "1"))
            seconds["two"].append(finish(path, folder / f"two{number}", "--workers", "2"))
            seconds["dask"].append(finish(path, folder / f"dask{number}", "--on", address))
    rates = {name: runs / statistics.median(each) for name, each in seconds.items()}
    return {
        "runs": runs,
        **{f"{name}_runs_per_s": rate for name, rate in rates.items()},
        "two_over_one": rates["two"] / rates["one"],
        "dask_over_two": rates["dask"] / rates["two"],
        "holds": rates["two"] >= LEAST_SPEED_UP * rates["one"] and rates["dask"] >= LEAST_DASK * rates["two"],
    }


def kills(folder: Path, runs: int, times: int, seed: int) -> dict[str, Any]:
    """Kill at random moments, continue, and compare table and results with those of an undisturbed run."""
    path, draw, wrong = campaign_file(folder, runs), random.Random(seed), []
    lasts_s = finish(path, folder / "undisturbed", "--workers", "2")
    wanted = (folder / "undisturbed" / "results.parquet").read_bytes()
    with dask(2) as address:
        for number in range(times):
            for way in WAYS:
                out = folder / f"{way}{number}"
                words = ("--on", address) if way == "client" else ("--workers", "2")
                _disturb(path, out, words, way, draw.uniform(0.0, lasts_s), draw)
                before = _recorded(out)
                finish(path, out, *words)
                after = _recorded(out)
                same = (out / "results.parquet").read_bytes() == wanted
                once = sorted(after) == list(range(runs))
                kept = all(after.get(run) == line for run, line in before.items())
                if not (same and once and kept):
                    wrong.append({"way": way, "number": number, "same": same, "once": once, "kept": kept})
    return {"runs": runs, "kills": times * len(WAYS), "wrong": wrong, "holds": not wrong}


def _disturb(path: Path, out: Path, words: tuple[str, ...], way: str, after_s: float, draw: Any) -> None:
    """Start the command, and kill a part of it after so long; a killed worker leaves the command running."""
    command = start(path, out, *words)
    time.sleep(after_s)
    if way == "worker":
        workers = [pid for pid in children(command.pid) if b"spawn_main" in command_line(pid)]
        if workers:
            kill(draw.choice(workers))
        command.wait()
    elif way == "all":
        for pid in [*children(command.pid), command.pid]:
            kill(pid)
        command.wait()
    else:
        command.kill()
        command.wait()


def kill(pid: int) -> None:
    """End a process that this one has started."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def command_line(pid: int) -> bytes:
    """Return the command line of a process, empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _recorded(out: Path) -> dict[int, bytes]:
    """Return the recorded lines by run; a run with two counts as none."""
    try:
        lines = (out / "results.jsonl").read_bytes().split(b"\n")[1:-1]
    except OSError:
        return {}
    found: dict[int, bytes] = {}
    for line in lines:
        run = int(json.loads(line)["run"])
        found[run] = b"twice" if run in found else line
    return found


def memory(folder: Path, runs: int) -> dict[str, Any]:
    """Resident memory (MB) of the command at a tenth of its runs and at their end."""
    path, out = campaign_file(folder, runs), folder / "memory"
    command, sizes = start(path, out), {}
    while command.poll() is None:
        time.sleep(0.5)
        done = len(_lines(out / "results.jsonl")) - 1
        resident = _resident_mb(command.pid)
        if resident and done >= runs // 10:
            sizes.setdefault("at_a_tenth_mb", resident)
            sizes["at_the_end_mb"] = resident
    growth = sizes["at_the_end_mb"] / sizes["at_a_tenth_mb"]
    return {"runs": runs, **sizes, "growth": growth, "holds": growth <= MOST_GROWTH}


def _lines(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n") if path.exists() else []


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("throughput", "kills", "memory"))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.what == "throughput":
            found = throughput(folder, given.runs or 1000, given.rounds)
        elif given.what == "kills":
            found = kills(folder, given.runs or 200, given.times, given.seed)
        else:
            found = memory(folder, given.runs or 100_000)
    if given.json:
        print(json.dumps(found))
    else:
        for key, value in found.items():
            print(f"{key:20} {value:.4g}" if isinstance(value, float) else f"{key:20} {value}")
    sys.exit(0 if found["holds"] else 1)


if __name__ == "__main__":
    main()
