"""How an initial error dies away, beside the sampled closed form and beside the continuous one.

    python -m benchmarks.error_law [--machine NAME ...] [--bandwidth RAD_S ...] [--json]

The machine holds, or is on a way of 200 rad/s³ as of benchmarks/tracking.py, at a quarter of it, or at half,
where the slider-crank is just before its branch pose. Its reference jumps by ±2/ω² rad in all coordinates;
half the difference of both runs is the error, which is compared with three forms of it:

- *sampled*: the closed form of `controller.laws.feedback`, whose commands act a tick later, are held, see the
  state predicted to the middle of the hold, and allow for their own part of it; with what held efforts do to
  this machine along the reference, by the model alone (held_effort.py);
- *steady*: the same of a machine whose inertia does not change. A machine in quick motion is off it by about
  κ ω T² / 14, κ being the relative rate of its inertia;
- *continuous*: the error equation, one period late.

Positions are exact; the velocities are the observer's.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.held_effort import Alone, ZeroOrderHold, double_integrator, sampled
from benchmarks.tracking import MOVES, forth_and_back
from linkwork.arrays import Floats
from linkwork.controller.loop.tick import AHEAD
from linkwork.machine import Machine, load
from tests.controller.loop.in_process import enabled, with_controller, with_encoders

FORMS = ("sampled", "steady", "continuous")
BANDWIDTHS = [20.0, 50.0, 200.0, 500.0, 1000.0]
LIMIT = 1e-6
"""Largest distance from the sampled form, over the jump."""
JUMP_RAD_S2 = 2.0
"""The jump times ω²: the acceleration that it asks for at first, which no motor's limit cuts."""
JERK = 200.0
WHERE = {"at rest": None, "a quarter": 0.25, "half": 0.5}
"""How far along its way a machine is when its reference jumps."""
LASTS = 10.0
"""How long the error is watched, in units of 1/ω."""


def continuous(omega: float, period_s: float, ticks: int) -> Floats:
    """Error of each tick, from 1, by ë + 2 ω ė + ω² e = 0; at rest until the first command acts."""
    t = np.maximum(period_s * (np.arange(ticks) - 1.0), 0.0)
    return np.asarray((1.0 + omega * t) * np.exp(-omega * t))


def run(machine: Machine, name: str, where: float | None, jump: float, ticks: int) -> tuple[Floats, Floats]:
    """Errors (ticks × k) from the tick on in which the reference jumps, and where it is without the jump.

    That of all ticks (…, 2, 3, k): θ, θ̇, θ̈ as the hold of the tick's command begins, and in its middle.
    """
    rig, way = enabled(machine), MOVES[name]
    index, lead = coordinates_of(machine, name), 1
    if where is not None:
        begin = rig.record["reference"][index].copy()
        knots, values = forth_and_back(begin, np.array(list(way.values())), JERK)
        rig.send(index, knots, values, path=1.0, goal=0.1)
        lead = round(0.5 * where * knots[-1] / rig.period_s)
    motion: Any = rig.controller.supervisor.executor.motion
    at = motion.evaluate

    def shifted(ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        at(ahead_s, theta, velocity, acceleration)
        theta += jump

    error, reference = np.empty((ticks, len(index))), np.empty((lead + ticks, 2, 3, len(index)))
    for k in range(lead + ticks):
        if k == lead:
            motion.evaluate = shifted
        q = rig.simulator.q[index].copy()
        record = rig.tick()
        assert not record["fault"]
        assert not record["limited"]
        if k >= lead:
            error[k - lead] = record["reference"][index] - q
        for place, ahead in enumerate((1.0, AHEAD)):
            at(ahead * rig.period_s, *reference[k, place])
    executor = rig.controller.supervisor.executor
    assert executor.motion is motion
    assert np.array_equal(motion.index, index)
    return error, reference


def coordinates_of(machine: Machine, name: str) -> NDArray[np.int64]:
    """Those in which the machine of this name moves."""
    return np.array([machine.mechanism.joint_index(joint) for joint in MOVES[name]], np.int64)


def along(machine: Machine, name: str, reference: Floats, ticks: int) -> list[ZeroOrderHold]:
    """What held efforts do to the machine over the last so many periods but one of a reference."""
    alone, period_s = Alone(machine, coordinates_of(machine, name)), machine.period_s
    found = []
    for k, (begin, middle) in enumerate(reference[:-1]):
        alone.come(begin[0], begin[1], period_s)
        if k >= len(reference) - ticks:
            found.append(alone.held(begin, middle, period_s))
    return found


def compare(name: str, where: str, bandwidths: list[float]) -> list[dict[str, Any]]:
    """Largest distances from all three forms, over the jump, at each of the bandwidths (rad/s)."""
    base = with_encoders(load(name), 0)
    period_s, found = base.period_s, []
    periods: list[ZeroOrderHold] = []
    for omega in sorted(bandwidths):
        machine = with_controller(base, bandwidth_rad_s=omega, observer_bandwidth_rad_s=10.0 * omega)
        jump, ticks = JUMP_RAD_S2 / omega**2, round(LASTS / omega / period_s)
        runs = [run(machine, name, WHERE[where], sign * jump, ticks) for sign in (1.0, -1.0)]
        x = (runs[0][0] - runs[1][0]) / (2.0 * jump)
        periods = periods[: ticks - 1] or along(machine, name, runs[0][1], ticks)
        steady = sampled(omega, period_s, [double_integrator(period_s)] * (ticks - 1))
        forms = {
            "sampled": sampled(omega, period_s, periods),
            "steady": steady,
            "continuous": continuous(omega, period_s, ticks)[:, None],
        }
        found.append(
            {"machine": name, "where": where, "bandwidth_rad_s": omega}
            | {f"from_{form}": float(np.abs(x - values).max()) for form, values in forms.items()}
        )
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--machine", nargs="+", choices=list(MOVES), default=list(MOVES))
    parser.add_argument("--bandwidth", nargs="+", type=float, default=BANDWIDTHS, metavar="RAD_S")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = []
    if not given.json:
        print(f"{'machine':16}{'jump':>10}{'ω rad/s':>10}" + "".join(f"{form:>12}" for form in FORMS))
    for name in given.machine:
        for where in WHERE:
            rows = compare(name, where, given.bandwidth)
            found += rows
            for row in rows if not given.json else ():
                figures = "".join(f"{row[f'from_{form}']:12.1e}" for form in FORMS)
                print(f"{name:16}{where:>10}{row['bandwidth_rad_s']:10g}{figures}", flush=True)
    if given.json:
        print(json.dumps(found))
    sys.exit(0 if all(row["from_sampled"] <= LIMIT for row in found) else 1)


if __name__ == "__main__":
    main()
