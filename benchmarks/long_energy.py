"""What each integrator does to the energy of a free motion over a long time, offline; no daemons.

    python benchmarks/long_energy.py [--machine NAME ...] [--integrator NAME ...] [--duration 2000] [--json]

Machines move freely from their files' initial poses, so that their energy is constant. `adaptive_rk4` and
`gauss` take steps of 1 ms, `dop853` and `lsoda` their own with the tolerances of a reference.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from linkwork.machine import load
from linkwork.offline.methods import ADAPTIVE
from linkwork.offline.run import simulate

MACHINES = ("double_pendulum", "four_bar")
INTEGRATORS = ("adaptive_rk4", "gauss", "dop853", "lsoda")
_SAMPLE_S, _STEP_S = 10.0, 1e-3


def measure(name: str, integrator: str, duration_s: float) -> dict[str, Any]:
    """Largest and last error of the energy (J), and seconds of computing."""
    machine = load(name)
    dt, every = (_SAMPLE_S, 1) if integrator in ADAPTIVE else (_STEP_S, round(_SAMPLE_S / _STEP_S))
    began = time.perf_counter()
    motion = simulate(machine, duration_s, min(dt, duration_s), None, integrator, every=every)
    return {
        "machine": name,
        "integrator": integrator,
        "energy_error_max_J": motion.balance.energy_balance_error_J,
        "energy_error_end_J": motion.energy_end_J - motion.energy_start_J,
        "computing_s": round(time.perf_counter() - began, 1),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", help="repeatable; default: " + ", ".join(MACHINES))
    parser.add_argument("--integrator", action="append", help="default: " + ", ".join(INTEGRATORS))
    parser.add_argument("--duration", type=float, default=2000.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = []
    for name in options.machine or MACHINES:
        for integrator in options.integrator or INTEGRATORS:
            found.append(measure(name, integrator, options.duration))
            if not options.json:
                one = found[-1]
                errors = f"{one['energy_error_max_J']:>12.2g}{one['energy_error_end_J']:>12.2g}"
                print(f"{name:<18}{integrator:<14}{errors} J {one['computing_s']:>8.1f} s")
    if options.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
