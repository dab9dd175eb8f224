"""How closely machines follow: lockstep at 1 kHz, only motors measured and driven, exact model.

    python -m benchmarks.tracking [--machine NAME ...] [--velocity observer|difference] [--json]
    python -m benchmarks.tracking --wrong-masses +20% [--disturbance-bandwidth 100]

Each machine goes forth and back in its goal coordinates, by polynomials of fifth degree whose jerk is 200,
then 5 rad/s³ (or m/s³). The error is the largest distance of a goal coordinate of the plant itself, not of
the estimate, from its reference, in rad or m: with encoders of 2^20 counts a turn, and with exact positions;
velocities are never measured.

With --wrong-masses all bodies of the plant have other masses than the model's; the errors (2^20 counts, jerk
50) are those without and with the disturbance observer.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine, load
from tests.controller.loop.in_process import COUNTS, enabled, with_controller, with_encoders

MOVES: dict[str, dict[str, float]] = {
    "five_bar": {"left": -0.25, "right": 0.2},
    "delta": {"motor_1": 0.3, "motor_2": -0.2, "motor_3": 0.25},
    "platform_3rrs": {"motor_1": 0.2, "motor_2": 0.15, "motor_3": 0.1},
    "slider_crank": {"crank": 2.0},
    "four_bar": {"a1": 0.3},
}
"""How far each goal coordinate goes, rad. The slider-crank's way leads through its branch pose."""
JERKS, JERK_OF_WRONG_MASSES = (200.0, 5.0), 50.0
SETTLE_S = 0.5
"""Time between enabling and the motion."""
LIMITS = {(COUNTS, 200.0): 1e-4, (COUNTS, 5.0): 1e-4, (0, 200.0): 2e-5, (0, 5.0): 1e-6}


def forth_and_back(begin: Floats, way: Floats, jerk: float) -> tuple[Floats, Floats]:
    """Knots and values (n, 3, k) of a way out and home again, whose largest jerk is this."""
    lasts_s = (60.0 * np.abs(way).max() / jerk) ** (1.0 / 3.0)
    x = np.linspace(0.0, 1.0, 41)
    shape = np.array([10 * x**3 - 15 * x**4 + 6 * x**5, 30 * x**2 - 60 * x**3 + 30 * x**4,
                      60 * x - 180 * x**2 + 120 * x**3])  # fmt: skip
    shape /= lasts_s ** np.arange(3)[:, None]
    home = -shape
    home[0] += 1.0
    both = np.concatenate([shape, home[:, 1:]], axis=1)
    values = both.T[:, :, None] * way
    values[:, 0] += begin
    return lasts_s * np.concatenate([x, 1.0 + x[1:]]), values


def tracking_error(machine: Machine, way: dict[str, float], jerk: float) -> float:
    """Largest error of the goal coordinates on such a way, rad or m."""
    rig = enabled(machine)
    index = np.array([machine.mechanism.joint_index(name) for name in way], np.int64)
    for _ in range(round(SETTLE_S / rig.period_s)):
        rig.tick()
    begin = rig.record["reference"][index].copy()
    knots, values = forth_and_back(begin, np.array(list(way.values())), jerk)
    rig.send(index, knots, values, path=1.0, goal=0.1)
    worst = 0.0
    for _ in range(round((knots[-1] + 2.0) / rig.period_s)):
        q = rig.simulator.q[index].copy()
        record = rig.tick()
        worst = max(worst, float(np.abs(record["reference"][index] - q).max()))
        if record["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED):
            break
    if record["goal_status"] != GoalStatus.SUCCEEDED or record["fault"]:
        return float("nan")
    return worst


def with_wrong_masses(name: str, by: str) -> Machine:
    """A machine whose plant's bodies have other masses than its model's, say "+20%"."""
    bodies = load(name).mechanism.body_names
    return load(name, [f"{body}.mass_kg={by}" for body in bodies])


def compare_disturbance(names: list[str], by: str, bandwidth_rad_s: float) -> list[dict[str, object]]:
    """Tracking errors at a jerk of 50 without and with the disturbance observer."""
    found: list[dict[str, object]] = []
    for name in names:
        machine = with_wrong_masses(name, by)
        errors = [
            tracking_error(
                with_controller(machine, disturbance_bandwidth_rad_s=bandwidth),
                MOVES[name],
                JERK_OF_WRONG_MASSES,
            )
            for bandwidth in (0.0, bandwidth_rad_s)
        ]
        found.append({"machine": name, "without": errors[0], "with": errors[1]})
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--machine", nargs="+", choices=list(MOVES), default=list(MOVES))
    parser.add_argument("--velocity", choices=["observer", "difference"], default="observer")
    parser.add_argument("--wrong-masses", metavar="PERCENT", default="")
    parser.add_argument("--disturbance-bandwidth", type=float, default=100.0, metavar="RAD_S")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.wrong_masses:
        rows = compare_disturbance(given.machine, given.wrong_masses, given.disturbance_bandwidth)
        if given.json:
            print(json.dumps(rows))
        else:
            print(f"{'machine':16}{'without':>12}{'with':>12}{'ratio':>8}")
            for row in rows:
                without, without_it = float(str(row["without"])), float(str(row["with"]))
                print(f"{row['machine']:16}{without:12.2e}{without_it:12.2e}{without / without_it:8.1f}")
        return
    found, good = [], True
    if not given.json:
        print(f"{'machine':16}{'encoder':>14}{'jerk':>8}{'error':>12}{'allowed':>10}")
    for name in given.machine:
        base = with_controller(load(name), velocity=given.velocity)
        for counts in (COUNTS, 0):
            for jerk in JERKS:
                error = tracking_error(with_encoders(base, counts), MOVES[name], jerk)
                allowed = LIMITS[counts, jerk]
                good = good and error <= allowed
                found.append({"machine": name, "counts": counts, "jerk": jerk, "error": error})
                if not given.json:
                    print(
                        f"{name:16}{counts or 'exact':>14}{jerk:8g}{error:12.2e}{allowed:10.0e}", flush=True
                    )
    if given.json:
        print(json.dumps(found))
    sys.exit(0 if good or given.velocity == "difference" else 1)


if __name__ == "__main__":
    main()
