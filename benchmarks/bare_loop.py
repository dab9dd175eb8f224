"""Missed ticks of the real-time loop beside those of a bare loop in C, in turns.

    python benchmarks/bare_loop.py [--machine scara] [--rates 1000] [--blocks 20] [--seconds 30] [--cpu N]
                                   [--plant-cpu M]

The C program (`bare_loop.c`, compiled by the system's `cc`) only sleeps until absolute deadlines, at the
loop's priority and on its processor. In its blocks no daemon runs; in those of the loop a new plant and
controller run (the host is the clock), and the machine swings where its file lets it. The simulated plant
runs on another processor, because a device does not load the controller's. For each rate: ticks missed in
each pair of blocks, the median of their differences, and whether all misses are at most 1.5 times those of
C, plus 20.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from rig import BenchRig

from linkwork.machine import shipped_path
from linkwork.protocol.errors import RequestError
from linkwork.timing.scheduling import share_processors

PRIORITY = 50
FACTOR, ALLOWANCE = 1.5, 20
SETTLE_S = 1.0


def compiled(folder: Path) -> Path:
    """The C program. Raises SystemExit where it cannot be compiled."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("there is no C compiler (cc) here: nothing to compare with")
    path = folder / "bare_loop"
    source = Path(__file__).with_suffix(".c")
    subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-Werror", "-o", path, source], check=True)
    return path


def bare(program: Path, rate_hz: int, seconds: float, cpu: int) -> dict[str, float]:
    """A block of the C program."""
    words = (round(1e9 / rate_hz), round(seconds), PRIORITY, cpu)
    ran = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"the C program was refused its priority or memory: {ran.stderr.strip()}")
    ticks, missed, latest_ns = map(int, ran.stdout.split())
    return {"ticks": ticks, "missed": missed, "latest_us": latest_ns / 1e3}


def machine_file(machine: str, rate_hz: int, folder: Path) -> Path:
    """The machine with the period of this rate."""
    text = shipped_path(machine).read_text()
    found, count = re.subn(r"period_s: [\d.e-]+", f"period_s: {1.0 / rate_hz:g}", text)
    if not count:
        found = re.sub(r"\ncontroller:\n", f"\nplant:\n  period_s: {1.0 / rate_hz:g}\n\ncontroller:\n", text)
    path = folder / f"{machine}.yaml"
    path.write_text(found)
    return path


def loop(config: Path, seconds: float, cpu: int, plant_cpu: int) -> dict[str, float]:
    """A block of the controller's loop, from after its first second."""
    with BenchRig("host", config=str(config), log=False, cpu=cpu, plant_cpu=plant_cpu) as rig:
        with suppress(RequestError):  # a busy computer may raise a fault; the loop ticks on
            rig.robot.enable()
            rig.robot.send(rig.forth_and_back(seconds))
        time.sleep(SETTLE_S)
        since, missed, ticks = rig.shared.head, 0, 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.25)
            records, since = rig.records(since)
            missed, ticks = missed + int(records["missed"].sum()), ticks + len(records)
        if "obtained all" not in rig.realtime:
            raise SystemExit(f"the loop did not obtain its real-time settings: {rig.realtime}")
    return {"ticks": ticks, "missed": missed}


def measure(
    machine: str, rate_hz: int, blocks: int, seconds: float, cpu: int, plant_cpu: int
) -> dict[str, Any]:
    """Blocks of both in turns, at one rate."""
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="linkwork-") as made:
        folder = Path(made)
        program, config = compiled(folder), machine_file(machine, rate_hz, folder)
        for _ in range(blocks):
            theirs.append(bare(program, rate_hz, seconds, cpu))
            ours.append(loop(config, seconds, cpu, plant_cpu))
            pair = f"loop missed {ours[-1]['missed']}, C {theirs[-1]['missed']}"
            print(f"{machine} at {rate_hz} Hz, block {len(ours)}: {pair}", file=sys.stderr, flush=True)
    differences = [our["missed"] - their["missed"] for our, their in zip(ours, theirs, strict=True)]
    total, bare_total = (int(sum(each["missed"] for each in rows)) for rows in (ours, theirs))
    return {
        "machine": machine,
        "rate_hz": rate_hz,
        "loop": ours,
        "bare": theirs,
        "missed": {"loop": total, "bare": bare_total},
        "median_difference": median(differences),
        "reached": total <= FACTOR * bare_total + ALLOWANCE,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", default="scara")
    parser.add_argument("--rates", default="1000", help="Hz, separated by commas")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    own, others = share_processors()
    parser.add_argument(
        "--cpu", type=int, default=min(own), help="processor of the loop and of the C program"
    )
    parser.add_argument("--plant-cpu", type=int, default=min(others), help="processor of the simulated plant")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    for rate in map(int, options.rates.split(",")):
        one = measure(options.machine, rate, options.blocks, options.seconds, options.cpu, options.plant_cpu)
        found.append(one)
        if not options.json:
            ticks = {name: int(sum(row["ticks"] for row in one[name])) for name in ("loop", "bare")}
            print(
                f"{options.machine} at {rate} Hz: loop missed {one['missed']['loop']} of {ticks['loop']}, "
                f"C {one['missed']['bare']} of {ticks['bare']}; median difference of a block "
                f"{one['median_difference']:+g}; {'reached' if one['reached'] else 'not reached'}",
                flush=True,
            )
    if options.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
