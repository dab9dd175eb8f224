"""How exactly machines stay on their constraints and keep their energy, unforced, at 1 kHz.

    python benchmarks/manifold.py [--machine NAME ...] [--seconds 60] [--energy-seconds 10] [--json]

Residuals are the largest over all steps, in m or rad and per second; those of velocity are allowed ten times
as much in runs that pass a branch pose. The error of the energy balance is the largest over the run, as a
share of the swing of the kinetic energy or of the kinetic energy at the start, whichever is larger. All
settings are the defaults. A machine that rests where it starts is pushed by its motors, with 2 % of their
largest effort, and their work is counted.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass

import numpy as np

from linkwork.machine import Machine, load, shipped
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.offline.run import Motion, simulate

STEP_S = 1e-3
PUSH = 0.02
AT_REST_J = 1e-6
"""Kinetic energy below which a machine is pushed: one that starts balanced moves by rounding only."""
POSITION, VELOCITY, VELOCITY_IN_PASSAGES, ENERGY = 1e-10, 1e-10, 1e-9, 1e-6


@dataclass(frozen=True)
class Exactness:
    """What one machine did: residuals over `seconds`, energy over `energy_seconds`."""

    machine: str
    seconds: float
    energy_seconds: float
    residual_position: float
    residual_velocity: float
    passages: int
    kinetic_energy_J: float
    energy_error: float
    steps_per_s: float

    @property
    def good(self) -> bool:
        """Whether the figures are within what is demanded."""
        velocity = VELOCITY_IN_PASSAGES if self.passages else VELOCITY
        return (
            self.residual_position <= POSITION
            and self.residual_velocity <= velocity
            and self.energy_error <= ENERGY
        )


def kinetic_energies(machine: Machine, motion: Motion) -> list[float]:
    """At every sample, in J."""
    w, found = machine.plant_mechanism.workspace(), []
    for q, v in zip(motion.q, motion.v, strict=True):
        w.q[:], w.v[:] = q, v
        dynamics(*w.arguments)
        energy(*w.arguments)
        found.append(float(w.energy[0]))
    return found


def measure(name: str, seconds: float, energy_seconds: float) -> Exactness:
    """One machine that ships, or one file."""
    machine = load(name)
    push: list[float] | None = None
    part = simulate(machine, energy_seconds, STEP_S)
    kinetic = kinetic_energies(machine, part)
    if max(kinetic) < AT_REST_J and machine.motors:
        push = [PUSH * motor.max_effort for motor in machine.motors]
        part = simulate(machine, energy_seconds, STEP_S, effort=push)
        kinetic = kinetic_energies(machine, part)
    whole = simulate(machine, seconds, STEP_S, every=100, effort=push)
    size = max(float(np.ptp(kinetic)), kinetic[0])
    error = part.balance.energy_balance_error_J
    return Exactness(
        name,
        seconds,
        energy_seconds,
        whole.balance.residual_position_max,
        whole.balance.residual_velocity_max,
        whole.balance.singular_passages,
        size,
        error / size if size > 0.0 else error,
        whole.steps_per_s,
    )


def main() -> int:
    """The command line; ends with 1 where a machine misses a figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", help="a machine or a file; repeatable; default: all")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--energy-seconds", type=float, default=10.0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    names = options.machine or sorted(shipped())
    found = [measure(name, options.seconds, options.energy_seconds) for name in names]
    if options.json:
        print(json.dumps([asdict(one) | {"good": one.good} for one in found], indent=1))
    else:
        print(f"{'machine':<18}{'|phi|':>9}{'|phi rate|':>12}{'passages':>10}{'kinetic J':>11}{'energy':>10}")
        for one in found:
            print(
                f"{one.machine:<18}{one.residual_position:>9.1e}{one.residual_velocity:>12.1e}"
                f"{one.passages:>10d}{one.kinetic_energy_J:>11.4g}{one.energy_error:>10.1e}"
                f"{'' if one.good else '  misses its figure'}"
            )
    return 0 if all(one.good for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
