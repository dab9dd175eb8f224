"""Picks from a running belt: parts placed, place error and cycle time of `linkwork demo delta_belt`.

    python benchmarks/belt.py                  10 seeds of 50 parts, belt at 0.2 to 0.6 m/s
    python benchmarks/belt.py --seeds 2 --parts 10

Real daemons in lockstep. The mean speed of the belt rises from seed to seed; in a run it changes by ± 20 %.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

from linkwork.demos import demo_named
from linkwork.demos.delta_belt import CYCLE_S, FASTEST_M_S
from linkwork.demos.demo_options import DemoOptions
from linkwork.demos.demo_run import run_demo

SPEEDS_M_S = (0.2, 0.6)


def main() -> int:
    """Run the seeds; print a row for each, and all together."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--parts", type=int, default=50)
    options = parser.parse_args()
    print("seed   belt / m/s     placed  misses  passed by  place error / mm rms, max  cycle / s")
    errors, cycles, placed = [], [], 0
    for seed, belt in enumerate(np.linspace(*SPEEDS_M_S, options.seeds)):
        found = one_run(seed, float(belt), options.parts)
        low, high = found["belt_speed_m_s"]
        rms, most = 1e3 * found["place_error_rms_m"], 1e3 * found["place_error_max_m"]
        print(
            f"{seed:4}   {low:.2f} to {high:.2f} {found['placed']:7} of {options.parts} {found['misses']:5}"
            f" {found['passed_by']:10} {rms:16.3f} {most:9.3f} {found['cycle_s']:11.3f}",
            flush=True,
        )
        errors.append(rms)
        cycles.append(found["cycle_s"])
        placed += found["placed"]
    wanted = options.seeds * options.parts
    print(
        f"placed {placed} of {wanted}; place error {np.sqrt(np.mean(np.square(errors))):.3f} mm rms;"
        f" cycle {np.mean(cycles):.3f} s on average, {max(cycles):.3f} s at most"
    )
    return 0 if placed == wanted else 1


def one_run(seed: int, belt_m_s: float, parts: int) -> dict:
    """Run the demo once; return its figures of the belt (`demos.delta_belt.belt_figures`)."""
    with tempfile.TemporaryDirectory() as folder:
        options = DemoOptions(
            lockstep=True,
            seconds=parts * CYCLE_S - 1e-6,
            seed=seed,
            out=Path(folder),
            speed=belt_m_s / FASTEST_M_S,
        )
        summary = run_demo(demo_named("delta_belt"), options, Console(file=sys.stderr, quiet=True))
    if summary["result"] != "SUCCESSFUL":
        raise SystemExit(f"seed {seed}: {summary['result']}: {summary['text']}")
    return summary["belt"]


if __name__ == "__main__":
    raise SystemExit(main())
