"""Time to check, load and run machines of 20 to 300 bodies, and to import a robot of 70 bodies.

    python -m benchmarks.large_machines [--json]

`ladder` is a chain of parallelogram four-bars with one motor, `branched` a robot whose legs of seven bodies
close two loops each and have three motors. `check` and `import` run as separate processes, with compiled
kernels in the cache. `load` and `100 ticks` (plant and controller are made, and tick until the
brakes are open) are steps of one process that has not run the machine before. `tick` is the median of the
controller's ticks in which the machine holds its pose. All times are wall-clock.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from linkwork.machine import load
from tests.controller.loop.in_process import InProcess, enabled

LADDERS, BRANCHED = (10, 35, 64, 150), (3, 10, 18)
"""Cells and legs: 21, 71, 129 and 301 bodies; 21, 70 and 126."""
TICKS = 200
Section = dict[str, dict[str, Any]]


def ladder(cells: int) -> dict[str, Any]:
    """A chain of parallelograms: each rocker is the crank of the next cell."""
    bodies: Section = {}
    joints: Section = {}
    constraints: Section = {}
    guess = {}
    for i in range(cells + 1):
        bar = f"bar_{i}"
        bodies[bar] = _rod(0.5, 0.3)
        joints[bar] = _hinge("world", bar, [0.4 * i, 0, 0])
        guess[f"{bar}_deg"] = 30
    for i in range(cells):
        rung, height = f"rung_{i}", -0.3 if i % 2 else -0.2
        bodies[rung] = {"mass_kg": 0.4, "com_m": [0.2, 0, 0], "inertia_kg_m2": [1e-4, 5e-3, 5e-3, 0, 0, 0]}
        joints[rung] = _hinge(f"bar_{i}", rung, [0, 0, height])
        ends = {"body": rung, "at_m": [0.4, 0, 0]}, {"body": f"bar_{i + 1}", "at_m": [0, 0, height]}
        constraints[f"close_{i}"] = {"type": "pin", "a": ends[0], "b": ends[1], "normal": [0, 1, 0]}
        guess[f"{rung}_deg"] = -30
    del guess["bar_0_deg"]
    driven = {"bar_0": _motor(400.0)}
    return _file(f"ladder_{cells}", bodies, joints, constraints, driven) | {
        "initial": {"bar_0_deg": 30},
        "initial_guess": guess,
    }


def branched(legs: int) -> dict[str, Any]:
    """A robot with legs: hip, thigh and crank have motors; coupler, shank, rod and foot follow."""
    bodies: Section = {}
    joints: Section = {}
    constraints: Section = {}
    motors: Section = {}
    for k in range(legs):
        hip, thigh, crank, coupler, shank, rod, foot = (
            f"leg_{k}_{part}" for part in ("hip", "thigh", "crank", "coupler", "shank", "rod", "foot")
        )
        turn = math.tau * k / legs
        for name, length in zip(
            (hip, thigh, crank, coupler, shank, rod, foot), (0.1, 0.4, 0.1, 0.4, 0.4, 0.35, 0.1), strict=True
        ):
            bodies[name] = _rod(length, length)
        joints[hip] = _hinge("world", hip, [math.cos(turn), math.sin(turn), 0]) | {
            "rpy_rad": [0, 0, turn],
            "axis": [1, 0, 0],
        }
        joints[thigh] = _hinge(hip, thigh, [0, 0, -0.1])
        joints[crank] = _hinge(thigh, crank, [0.05, 0, 0])
        joints[coupler] = _hinge(crank, coupler, [0, 0, -0.1])
        joints[shank] = _hinge(thigh, shank, [0, 0, -0.4])
        cardan = {"type": "universal", "axis": [1, 0, 0], "second_axis": [0, 1, 0]}
        joints[rod] = _hinge(shank, rod, [-0.05, 0, -0.05]) | cardan
        joints[foot] = _hinge(shank, foot, [0, 0, -0.4])
        ends = {"body": coupler, "at_m": [0, 0, -0.4]}, {"body": shank, "at_m": [0.05, 0, -0.1]}
        constraints[f"leg_{k}_knee"] = {"type": "pin", "a": ends[0], "b": ends[1], "normal": [0, 1, 0]}
        ends = {"body": rod, "at_m": [0, 0, -0.35]}, {"body": foot, "at_m": [-0.05, 0, 0]}
        constraints[f"leg_{k}_ankle"] = {"type": "point", "a": ends[0], "b": ends[1]}
        motors |= {name: _motor(100.0) for name in (hip, thigh, crank)}
    return _file(f"branched_{legs}", bodies, joints, constraints, motors)


def _file(name: str, *sections: Section) -> dict[str, Any]:
    bodies, joints, constraints, motors = sections
    sensors = {joint: {"velocity": True} for joint in motors}
    return {
        "name": name,
        "bodies": bodies,
        "joints": joints,
        "constraints": constraints,
        "motors": motors,
        "sensors": sensors,
    }


def _rod(mass: float, length: float) -> dict[str, Any]:
    across = mass * length**2 / 12
    return {
        "mass_kg": mass,
        "com_m": [0, 0, -length / 2],
        "inertia_kg_m2": [across, across, 0.1 * across, 0, 0, 0],
    }


def _hinge(parent: str, child: str, at_m: list[float]) -> dict[str, Any]:
    return {"type": "revolute", "parent": parent, "child": child, "at_m": at_m, "axis": [0, 1, 0]}


def _motor(effort: float) -> dict[str, float]:
    return {"max_torque_N_m": effort, "max_speed_rad_s": 10.0, "brake_torque_N_m": effort}


def _run(*words: str) -> float:
    """Seconds of a command."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "linkwork", *words], check=True, capture_output=True)
    return time.perf_counter() - began


def measure(machine: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Seconds of `check`, of loading, and until a machine is enabled."""
    path = folder / f"{machine['name']}.yaml"
    path.write_text(json.dumps(machine), encoding="utf-8")
    began = time.perf_counter()
    loaded = load(path)
    ready = time.perf_counter()
    rig = enabled(loaded)
    done = time.perf_counter()
    _run("check", str(path))  # fetches kernels that were never compiled
    return {
        "machine": machine["name"],
        "bodies": len(machine["bodies"]),
        "rows": loaded.assembly.rows,
        "motors": len(machine["motors"]),
        "check_s": _run("check", str(path)),
        "load_s": ready - began,
        "enabled_s": done - ready,
        "tick_us": 1e6 * _tick_s(rig),
    }


def _tick_s(rig: InProcess) -> float:
    """Median of the controller's ticks, its clock included."""
    step, times = rig.controller.step, []

    def clocked(*arguments: Any) -> None:
        began = time.perf_counter()
        step(*arguments)
        times.append(time.perf_counter() - began)

    rig.controller.step = clocked  # type: ignore[method-assign]
    for _ in range(TICKS):
        rig.tick()
    return median(times)


def imported(machine: dict[str, Any], folder: Path) -> float:
    """Seconds of the import of a machine from URDF."""
    path = folder / f"{machine['name']}.yaml"
    robot = path.with_suffix(".urdf")
    _run("convert", str(path), "--to", "urdf", "--lossy", "--out", str(robot))
    words = ("import", str(robot), "--overwrite", "--out", str(folder / "imported.yaml"))
    _run(*words)
    return _run(*words)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    machines = [*map(ladder, LADDERS), *map(branched, BRANCHED)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        enabled(load("five_bar"))  # imports, and kernels of all closed machines
        found = [measure(machine, folder) for machine in machines]
        import_s = imported(branched(10), folder)
    if options.json:
        print(json.dumps({"machines": found, "import_70_bodies_s": import_s}, indent=1))
        return
    titles = f"{'check':>8}{'load':>8}{'100 ticks':>12}{'tick':>9}"
    print(f"{'machine':<14}{'bodies':>7}{'rows':>6}{'motors':>7}{titles}")
    for each in found:
        numbers = f"{each['bodies']:>7}{each['rows']:>6}{each['motors']:>7}"
        times = f"{each['check_s']:>7.1f}s{each['load_s']:>7.1f}s{each['enabled_s']:>11.1f}s"
        times += f"{each['tick_us']:>6.0f} µs"
        print(f"{each['machine']:<14}{numbers}{times}")
    print(f"import of a robot with 70 bodies: {import_s:.1f} s")


if __name__ == "__main__":
    main()
