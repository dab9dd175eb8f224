"""Constrained forward dynamics of ladders of N loops, beside Pinocchio and MuJoCo in the same run.

    python benchmarks/ladders.py [--loops 5,10,20,40,80,100,200] [--rounds 15] [--json]

A ladder has N + 1 rods hinged to the ground, N couplers and N loops of two rows each, hence 2 N + 1
coordinates and one degree of freedom. All start from the same state in memory and are called from Python;
a round times a block of calls of each in turns, and the ratios are medians over the rounds. Pinocchio
(`constraintDynamics`) solves with all rows in one piece, its `lcaba` recursively in proximal iterations,
MuJoCo (`mj_forward`) with sparse rows and soft closures, which is not the same work: `off` is the largest
|A v̇ - b| of each, over the largest |v̇|.
`second_s` is the time that one simulated second takes, in fourth-order steps of 1 ms; `open_m`: its largest
closure residual at the end.
Pinocchio has no closure of two rows: its loops have three, one of them dependent, as points in space.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from timeit import timeit
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the model for Pinocchio belongs to the tests

import mujoco
import numpy as np
import pinocchio as pin

from linkwork.arrays import Floats
from linkwork.multibody.constraints import Frame, PinClosure, PointClosure
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.formulations.evaluation import constraint_evaluation
from linkwork.multibody.kernels.layout import IN_FRONTS
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Joint
from linkwork.multibody.steps.step import METHODS
from linkwork.multibody.workspace import Workspace
from linkwork.offline.run_kernels import sampled_steps
from tests.verification.in_pinocchio import InPinocchio

HEIGHT_M, SPACING_M, ANGLE_RAD, RATE_RAD_S = 0.5, 0.4, 0.3, 1.0
ROD = (0.5, [0.0, 0.0, 0.25], [0.0105, 0.0105, 1e-4])
COUPLER = (0.4, [0.2, 0.0, 0.0], [1e-4, 0.0054, 0.0054])
"""Mass (kg), centre of mass (m) and principal moments of inertia (kg m²)."""
NORMAL = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Axes of a frame whose z axis is normal to the ladder."""
BLOCK_S, LONG_ROUNDS = 0.01, 3


def ladder(loops: int, kind: type[PinClosure] | type[PointClosure] = PinClosure) -> Mechanism:
    """The ladder; coordinates are the rods' angles, then the couplers' angles relative to their rods."""
    bodies, joints, closures = [], [], []
    for i in range(loops + 1):
        bodies.append(Body(f"rod_{i}", ROD[0], ROD[1], np.diag(ROD[2])))
        place = (SPACING_M * i, 0.0, 0.0)
        joints.append(Joint(f"rod_{i}", "revolute", "world", f"rod_{i}", axis=(0, 1, 0), at_m=place))
    for i in range(loops):
        bodies.append(Body(f"bar_{i}", COUPLER[0], COUPLER[1], np.diag(COUPLER[2])))
        place = (0.0, 0.0, HEIGHT_M)
        joints.append(Joint(f"bar_{i}", "revolute", f"rod_{i}", f"bar_{i}", axis=(0, 1, 0), at_m=place))
        ends = Frame(f"bar_{i}", (SPACING_M, 0.0, 0.0), NORMAL), Frame(f"rod_{i + 1}", place)
        closures.append(kind(f"loop_{i}", a=ends[0], b=ends[1]))
    return Mechanism.build(bodies, joints, (0.0, 0.0, -9.81), constraints=closures)


def in_mujoco(loops: int) -> mujoco.MjModel:
    """The same ladder with `connect` equalities."""

    def body(name: str, place: str, values: tuple[float, list[float], list[float]], inside: str) -> str:
        mass, centre, moments = values
        return (
            f'<body name="{name}" pos="{place}"><joint name="{name}" axis="0 1 0"/>'
            f'<inertial mass="{mass}" pos="{_words(centre)}" diaginertia="{_words(moments)}"/>{inside}</body>'
        )

    rods = []
    for i in range(loops + 1):
        coupler = body(f"bar_{i}", f"0 0 {HEIGHT_M}", COUPLER, "") if i < loops else ""
        rods.append(body(f"rod_{i}", f"{SPACING_M * i} 0 0", ROD, coupler))
    closures = [
        f'<connect body1="bar_{i}" body2="rod_{i + 1}" anchor="{SPACING_M} 0 0"/>' for i in range(loops)
    ]
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 0 -9.81" jacobian="sparse"><flag contact="disable"/></option>'
        f"<worldbody>{''.join(rods)}</worldbody><equality>{''.join(closures)}</equality></mujoco>"
    )


def _words(values: list[float]) -> str:
    return " ".join(str(value) for value in values)


def posed(mechanism: Mechanism) -> Workspace:
    """All rods lean by the same angle and turn at the same rate."""
    w = mechanism.workspace()
    for k, name in enumerate(mechanism.joint_names):
        sign = 1.0 if name.startswith("rod") else -1.0
        w.q[k], w.v[k] = sign * ANGLE_RAD, sign * RATE_RAD_S
    return w


def measure(loops: int, rounds: int) -> dict[str, Any]:
    """Microseconds a call of each, ratios, and how far each is off the closures."""
    mechanism = ladder(loops)
    work = posed(mechanism)
    constrained_forward_dynamics(*work.arguments)  # decides on the rank
    pinocchio = InPinocchio(ladder(loops, PointClosure))
    state = pinocchio.state(work.q, work.v, work.effort)
    given = (pinocchio.model, pinocchio.data, *state, pinocchio.models, pinocchio.datas, pinocchio.settings)
    recursive = InPinocchio(ladder(loops, PointClosure))
    recursively = recursive.lcaba(work.q, work.v, work.effort)
    model = in_mujoco(loops)
    data = mujoco.MjData(model)
    order = [model.joint(name).dofadr[0] for name in mechanism.joint_names]
    data.qpos[order], data.qvel[order] = work.q, work.v
    arguments = work.arguments
    calls: dict[str, Callable[[], Any]] = {
        "linkwork": lambda: constrained_forward_dynamics(*arguments),
        "pinocchio": lambda: pinocchio.function(*given),
        "lcaba": lambda: pin.lcaba(*recursively),
        "mujoco": lambda: mujoco.mj_forward(model, data),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    counts = {name: max(1, math.ceil(2.0 * BLOCK_S / timeit(call, number=2))) for name, call in calls.items()}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timeit(call, number=counts[name]) / counts[name])
    found = {
        "linkwork": work.vdot,
        "pinocchio": pinocchio.data.ddq[pinocchio.order],
        "lcaba": recursive.data.ddq[recursive.order],
        "mujoco": data.qacc[order],
    }

    def ratio(other: str) -> list[float]:
        return [a / b for a, b in zip(times["linkwork"], times[other], strict=True)]

    seconds, open_m = simulated_second(mechanism, min(rounds, LONG_ROUNDS))
    return {
        "loops": loops,
        "second_s": seconds,
        "open_m": open_m,
        "fronts": bool(work.ranking[IN_FRONTS]),
        "us": {name: 1e6 * median(values) for name, values in times.items()},
        "ratio": {name: quantiles(ratio(name), n=4) for name in ("pinocchio", "lcaba", "mujoco")},
        "off": {name: _off(work, vdot) for name, vdot in found.items()},
    }


def simulated_second(mechanism: Mechanism, rounds: int) -> tuple[float, float]:
    """Return the time (s) of one simulated second, median of the rounds, and the closure residual (m)."""
    work, times = posed(mechanism), []
    start, found = work.buffer.copy(), np.zeros((1, mechanism.nq + mechanism.nv))
    for _ in range(rounds):
        work.buffer[:] = start
        began = time.perf_counter()
        sampled_steps(*work.arguments, METHODS["rk4"], 1e-3, 1000, found)
        times.append(time.perf_counter() - began)
    return median(times), float(np.abs(constraint_evaluation(mechanism, work.q, work.v).phi).max())


def _off(work: Workspace, vdot: Floats) -> float:
    return float(np.abs(work.A @ vdot - work.b).max() / np.abs(work.vdot).max())


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--loops", default="5,10,20,40,80,100,200")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(int(loops), options.rounds) for loops in options.loops.split(",")]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print("loops  linkwork  Pinocchio    lcaba   MuJoCo µs  ÷ Pinocchio  ÷ lcaba  ÷ MuJoCo (quartiles)  off")
    for row in rows:
        us, off = row["us"], row["off"]
        ratios = [f"{q[1]:.3f} ({q[0]:.3f}-{q[2]:.3f})" for q in row["ratio"].values()]
        print(
            f"{row['loops']:>5} {us['linkwork']:>9.1f} {us['pinocchio']:>10.1f} {us['lcaba']:>8.1f}"
            f" {us['mujoco']:>8.1f}     {'  '.join(ratios)}  "
            + " ".join(f"{value:.0e}" for value in off.values())
        )
    for row in rows:
        print(
            f"one simulated second of {row['loops']} loops: {row['second_s']:.3f} s, "
            f"closures open by {row['open_m']:.0e} m"
        )
    times = {row["loops"]: row["us"]["linkwork"] for row in rows}
    if {20, 80} <= times.keys():
        print(f"80 loops ÷ 20 loops: {times[80] / times[20]:.2f} (4 is linear)")


if __name__ == "__main__":
    main()
