"""How an initial error dies away, beside the sampled closed form and beside the continuous one.

    python -m benchmarks.error_law [--machine NAME ...] [--bandwidth RAD_S ...] [--json]

The machine holds, or moves steadily (the slider-crank through its branch pose), once with and once without a
jump of its reference by 0.4/ω² rad. The difference of both errors is compared with the law's error equation:
the continuous one, and the sampled one of `controller.laws.feedback`, whose commands act a tick later, are
held, see the state predicted to the middle of the hold, and allow for their own part of it. Positions are
exact; the velocities are the observer's. What is left comes from efforts being held, not accelerations: about
ω T² / 12 times the rate at which the inertia changes, which a machine in quick motion shows at high gains.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.in_process import InProcess, with_controller, with_encoders
from controller.laws.feedback import lag
from machine import Machine, load

Floats = NDArray[np.float64]
JUMP_RAD_S2 = 0.4
"""The jump times ω²: the acceleration that it asks for at first, which no motor's limit cuts."""
WAYS: dict[str, dict[str, float]] = {"five_bar": {}, "delta": {}, "slider_crank": {"crank": 0.2}}
"""How far each moves meanwhile, rad; nothing: it holds. The slider-crank begins 0.1 rad short of its branch
pose."""
LASTS_S, AT_S = 2.0, 0.95
"""Length of the motion, and when the reference jumps: just before the slider-crank stands upright."""


def sampled(omega: float, period_s: float, ticks: int) -> Floats:
    """Error of each tick, from 1 at rest; damping ratio 1."""
    x, v, a, w, t = 1.0, 0.0, 0.0, omega, period_s
    own = lag(omega, 1.0, period_s)
    found = np.empty(ticks)
    for k in range(ticks):
        found[k] = x
        asked = -2 * w * (v + 1.5 * t * a) - w * w * (x + 1.5 * t * v + 1.125 * t * t * a)
        x, v, a = x + t * v + 0.5 * t * t * a, v + t * a, (asked + own * a) / (1.0 + own)
    return found


def continuous(omega: float, period_s: float, ticks: int) -> Floats:
    """The same of ë + 2 ω ė + ω² e = 0, as it is when the first command begins to act, one period late."""
    t = np.maximum(period_s * (np.arange(ticks) - 1.0), 0.0)
    return np.asarray((1.0 + omega * t) * np.exp(-omega * t))


def errors(machine: Machine, way: dict[str, float], jump: float, ticks: int) -> Floats:
    """reference - coordinate (ticks × k) of the plant, from the tick on in which the reference jumps."""
    rig = InProcess(machine)
    names = list(way) or list(machine.controller.goal_coordinates)
    index = np.array([machine.mechanism.joint_index(name) for name in names], np.int64)
    if way:
        x = np.linspace(0.0, 1.0, 81)
        shape = np.array([10 * x**3 - 15 * x**4 + 6 * x**5, 30 * x**2 - 60 * x**3 + 30 * x**4,
                          60 * x - 180 * x**2 + 120 * x**3]) / LASTS_S ** np.arange(3)[:, None]  # fmt: skip
        values = shape.T[:, :, None] * np.array(list(way.values()))
        values[:, 0] += rig.record["reference"][index]
        rig.send(index, LASTS_S * x, values)
    for _ in range(round(AT_S / rig.period_s)):
        rig.tick()
    motion: Any = rig.controller.supervisor.course.motion
    at = motion.at

    def shifted(ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        at(ahead_s, theta, velocity, acceleration)
        theta += jump

    motion.at = shifted
    found = np.empty((ticks, len(index)))
    for k in range(ticks):
        record = rig.tick()
        found[k] = record["reference"][index] - rig.q[index]
    assert not record["fault"]
    return found


def before_the_branch(name: str) -> Machine:
    """The machine with exact positions; the slider-crank short of its branch pose."""
    machine = with_encoders(load(name), 0)
    if name != "slider_crank":
        return machine
    crank = 0.5 * np.pi - 0.1
    return replace(machine, initial_q=np.array([crank, -2.0 * crank]))


def compare(name: str, omega: float) -> dict[str, Any]:
    """Largest distances from both forms, over the jump."""
    machine = with_controller(before_the_branch(name), bandwidth_rad_s=omega)
    machine = with_controller(machine, observer_bandwidth_rad_s=10.0 * omega)
    jump = JUMP_RAD_S2 / omega**2
    ticks = round(12.0 / omega / machine.controller.period_s)
    jumped = errors(machine, WAYS[name], jump, ticks) - errors(machine, WAYS[name], 0.0, ticks)
    x = jumped / jump
    period_s = machine.controller.period_s
    return {
        "machine": name,
        "bandwidth_rad_s": omega,
        "from_sampled": float(np.abs(x - sampled(omega, period_s, ticks)[:, None]).max()),
        "from_continuous": float(np.abs(x - continuous(omega, period_s, ticks)[:, None]).max()),
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--machine", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument(
        "--bandwidth", nargs="+", type=float, default=[20.0, 50.0, 200.0, 500.0], metavar="RAD_S"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = [compare(name, omega) for name in given.machine for omega in given.bandwidth]
    if given.json:
        print(json.dumps(found))
        return
    print(f"{'machine':16}{'ω rad/s':>10}{'from sampled':>14}{'from continuous':>17}")
    for row in found:
        figures = f"{row['from_sampled']:14.1e}{row['from_continuous']:17.2e}"
        print(f"{row['machine']:16}{row['bandwidth_rad_s']:10g}{figures}")


if __name__ == "__main__":
    main()
