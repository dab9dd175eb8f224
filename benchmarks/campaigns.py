"""Campaigns: throughput of workers and of a Dask cluster, kills at random moments, memory of the parent.

    python -m benchmarks.campaigns throughput [--runs 1000] [--rounds 3] [--json]
    python -m benchmarks.campaigns kills [--runs 100] [--times 10] [--seed 1] [--json]
    python -m benchmarks.campaigns memory [--runs 100000] [--json]

All run the command `linkwork campaign`. A run is a move of the five-bar with noise and a delayed device link,
of half a second for *throughput* and a quarter of a second for *kills*; for *memory* it is a very short move
of one joint. *throughput*: runs per second of the whole command with one worker, two workers, and two worker
processes of a Dask scheduler. *kills*: signals at random moments (`WAYS`); after each the same command
continues; those between the first result and the last one count. *memory*: resident memory of the command at
shares of its runs, and the largest until its end, with table and report.

On two free processors *throughput* takes about eight minutes, *kills* and *memory* fifteen each.
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
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Self

from distributed import Client

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
  there: {{move: {{left: 2.12}}, speed: {speed}}}
requirements: {{error_max.left: 0.001}}
"""
SHORTEST = """\
name: shortest_moves
machine: flywheel.yaml
seed: 5
sampling: {{method: latin_hypercube, samples: {runs}}}
parameters:
  noise: {{loguniform: [1.0e-7, 1.0e-5]}}
faults:
  - {{sensor: noise, of: turn, std_rad: $noise}}
trajectories:
  there: {{move: {{turn: 0.002}}}}
requirements: {{error_max.turn: 0.001}}
"""
FLYWHEEL = """\
name: flywheel
bodies:
  wheel: {mass_kg: 2, com_m: [0, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.02}}
joints:
  turn:
    {type: revolute, parent: world, child: wheel, at_m: [0, 0, 0], axis: [0, 0, 1],
     limits: {position_deg: [-170, 170], velocity_rad_s: 6, acceleration_rad_s2: 600, jerk_rad_s3: 200000}}
motors: {turn: {max_torque_N_m: 10, max_speed_rad_s: 15, brake_torque_N_m: 6, brake_release_s: 0}}
sensors: {turn: {position: {counts_per_turn: 1048576}}}
controller: {bandwidth_rad_s: 80}
"""
LEAST_SPEED_UP, LEAST_DASK, MOST_GROWTH = 1.7, 0.9, 1.2
WAYS = {
    "worker": "SIGKILL to a worker",
    "command": "SIGKILL to the command",
    "group": "SIGKILL to the command and its workers",
    "client": "SIGKILL to the command, which runs on a Dask cluster",
    "cluster worker": "SIGKILL to a worker of the Dask cluster",
    "stopped worker": "SIGSTOP to a worker of the Dask cluster, SIGCONT after 5 s",
    "scheduler": "SIGKILL to the scheduler of the Dask cluster",
}
STOPPED_S = 5.0
MOST_LATER_S = 0.5
"""Most time from a random number of results to the signal."""


def campaign_file(folder: Path, runs: int, speed: float = 1.0) -> Path:
    """Write a campaign file with this number of runs. speed: fraction of the limits."""
    path = folder / f"short_{runs}.yaml"
    path.write_text(TEXT.format(runs=runs, speed=speed))
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


class DaskCluster:
    """A Dask scheduler and its worker processes. Use it as a context manager."""

    def __init__(self, workers: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        worker = ["worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        scheduler = ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        self._commands = [scheduler, *[worker] * workers]
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()

    def start(self) -> None:
        """Start what does not run, and wait until the scheduler knows all workers."""
        if self.processes and self.processes[0].poll() is not None:  # workers of an earlier scheduler end
            self.__exit__()
        self.processes = [
            process if process is not None and process.poll() is None else self._started(command)
            for process, command in zip_longest(self.processes, self._commands)
        ]
        with Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(len(self._commands) - 1, timeout=60)

    def _started(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        what, *words = command
        argv, quiet = [sys.executable, "-m", f"distributed.cli.dask_{what}", *words], subprocess.DEVNULL
        one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(argv, stdout=quiet, stderr=quiet, env={**os.environ, **one})


def throughput(folder: Path, runs: int, rounds: int) -> dict[str, Any]:
    """Runs per second of each way, rounds interleaved; the first start of workers is part of it."""
    path = campaign_file(folder, runs, 0.3)
    seconds: dict[str, list[float]] = {"one": [], "two": [], "dask": []}
    with DaskCluster(2) as cluster:
        address = cluster.address
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
    """Disturb campaigns after random numbers of results, continue, and compare with an undisturbed one."""
    path, draw, wrong = campaign_file(folder, runs), random.Random(seed), []
    finish(path, folder / "undisturbed", "--workers", "2")
    wanted = (folder / "undisturbed" / "results.parquet").read_bytes()
    recorded: dict[str, list[int]] = {way: [] for way in WAYS}
    effective = 0
    with DaskCluster(2) as cluster:
        for number in range(times):
            for way in WAYS:
                out = folder / f"{way}{number}"
                far = way in ("client", "cluster worker", "stopped worker", "scheduler")
                words = ("--on", cluster.address) if far else ("--workers", "2")
                command = start(path, out, *words)
                wanted_results = draw.randrange(runs)
                while command.poll() is None and len(_recorded(out)) < wanted_results:
                    time.sleep(0.02)
                time.sleep(draw.uniform(0.0, MOST_LATER_S))
                under_way = 0 < len(_recorded(out)) < runs
                effective += _disturb(command, way, draw, cluster) and under_way
                cluster.start()
                before = _recorded(out)
                recorded[way].append(len(before))
                finish(path, out, *words)
                after = _recorded(out)
                same = (out / "results.parquet").read_bytes() == wanted
                once = sorted(after) == list(range(runs))
                kept = all(after.get(run) == line for run, line in before.items())
                if not (same and once and kept):
                    wrong.append({"way": way, "number": number, "same": same, "once": once, "kept": kept})
    return {
        "runs": runs,
        **{f"recorded, {way}": counts for way, counts in recorded.items()},
        "kills": effective,
        "too early or too late": times * len(WAYS) - effective,
        "wrong": wrong,
        "holds": not wrong and effective > 0,
    }


def _disturb(command: subprocess.Popen[bytes], way: str, draw: random.Random, cluster: DaskCluster) -> bool:
    """Disturb the command, and wait until it ends. Returns whether the command ran, with a worker to kill."""
    scheduler, *far = cluster.processes
    met = command.poll() is None
    if way == "worker":
        workers = [pid for pid in children(command.pid) if b"spawn_main" in command_line(pid)]
        met = bool(workers) and send(draw.choice(workers), signal.SIGKILL) and met
    elif way == "stopped worker":
        stopped = draw.choice(far)
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        stopped.send_signal(signal.SIGCONT)
    elif way in ("cluster worker", "scheduler"):
        killed = scheduler if way == "scheduler" else draw.choice(far)
        killed.kill()
        killed.wait()
    elif way == "group":
        os.killpg(command.pid, signal.SIGKILL)
    else:
        command.kill()
    command.wait(300.0)
    return met


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process that this one has started. Returns whether there was one."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


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
    """Resident memory (MB) of the command at 10, 50 and 100 % of its runs, and the most until its end."""
    (folder / "flywheel.yaml").write_text(FLYWHEEL)
    path, out = folder / "shortest.yaml", folder / "memory"
    path.write_text(SHORTEST.format(runs=runs))
    begun = time.monotonic()
    command, sizes, done, ended_s = start(path, out), dict[str, float](), 0, 0.0
    with _Lines(out / "results.jsonl") as lines:
        while command.poll() is None:
            time.sleep(0.05)
            done = lines.count() - 1
            resident = _resident_mb(command.pid)
            for percent in (10, 50, 100):
                if resident and 100 * done >= percent * runs:
                    sizes.setdefault(f"at_{percent}_percent_mb", resident)
            if done == runs and not ended_s:
                ended_s = time.monotonic() - begun
            sizes["most_mb"] = max(sizes.get("most_mb", 0.0), resident)
    growth = sizes["at_100_percent_mb"] / sizes["at_10_percent_mb"]
    return {
        "runs": runs,
        "status": command.returncode,
        **sizes,
        "growth": growth,
        "runs_per_s": runs / ended_s,
        "table_and_report_s": time.monotonic() - begun - ended_s,
        "report_kB": (out / "report.html").stat().st_size / 1e3,
        "holds": growth <= MOST_GROWTH and command.returncode == 0,
    }


class _Lines:
    """Counts the lines of a growing file. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path, self._count = path, 0
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def count(self) -> int:
        """Return the number of whole lines; 0 while there is no file."""
        if self._file is None and self._path.exists():
            self._file = self._path.open("rb")
        if self._file is not None:
            while data := self._file.read(1 << 20):
                self._count += data.count(b"\n")
        return self._count


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
            found = kills(folder, given.runs or 100, given.times, given.seed)
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
