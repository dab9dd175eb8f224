"""Goals with `cycle`: paths that are repeated without a pause, within the motors' continuous efforts."""

import math

import numpy as np

from linkwork.controller.planning.messages.planner_start import Present
from linkwork.controller.planning.paths.path import Path
from linkwork.machine import Machine
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError

_FIELD = ("trajectory", "cycle")


def check_cycle(machine: Machine, path: Path, present: Present) -> None:
    """Raise RequestError (INVALID_GOAL) where the heat of a cycle is not known, or the path is none."""
    unknown = [motor for motor in machine.motors if math.isinf(motor.continuous_effort)]
    if unknown:
        keys = {"continuous_torque_N_m" if motor.is_angle else "continuous_force_N" for motor in unknown}
        names = ", ".join(motor.joint for motor in unknown)
        text = (
            f"`cycle` keeps motors cool without end, and {names} {'have' if unknown[1:] else 'has'} no"
            f" {' or '.join(sorted(keys))} in the machine file: add it, or leave `cycle` out"
        )
        raise RequestError(ResultCode.INVALID_GOAL, text, _FIELD, {"missing": [m.joint for m in unknown]})
    first, last = path.values[0, 0], path.values[-1, 0]
    off = last - first
    off = off - np.where(present.wraps, 2.0 * np.pi * np.round(off / (2.0 * np.pi)), 0.0)
    place = int(np.argmax(np.abs(off) / present.tolerance))
    if present.moving or abs(off[place]) > present.tolerance[place]:
        why = "this goal begins in motion" if present.moving else (
            f"{present.names[place]} ends {abs(off[place]):.4g}"
            f" {machine.coordinates[path.coordinates[place]].unit} away"
        )  # fmt: skip
        text = f"a cycle begins at rest and ends where it begins, and {why}: leave `cycle` out"
        raise RequestError(ResultCode.INVALID_GOAL, text, _FIELD)
