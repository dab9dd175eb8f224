"""Choice of the walk along a path: open- or closed-chain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.planning.path import Path
from linkwork.controller.planning.walk import Walk
from linkwork.machine import Machine
from linkwork.machine.chains import resolved
from linkwork.multibody.tree.dynamics import dynamics


def walk(machine: Machine, path: Path, q: NDArray[np.float64], time_s: float = 0.0) -> Walk:
    """Walk along a path, from the joint positions q (nq; warm start of the inverse kinematics).

    The walk begins at the machine time `time_s`, for applied forces that depend on it.
    """
    walked: Walk = resolved(machine.chain.walk)(machine, path, q, time_s)
    return _with_drag(machine, walked, time_s) if machine.mechanism.elements else walked


def _with_drag(machine: Machine, walked: Walk, time_s: float) -> Walk:
    """Separate what dampers and applied forces ask, odd in the speed, from `motion`."""
    work = machine.workspace()
    drag = np.zeros_like(walked.motion)
    for n in range(walked.reached):
        work.q[:], work.v[:], work.clock[0] = walked.q[n], walked.q1[n], time_s + walked.s[n]
        dynamics(*work.arguments)
        drag[n] = work.h
        work.v[:] = -walked.q1[n]
        dynamics(*work.arguments)
        drag[n] = 0.5 * (drag[n] - work.h)
    return replace(walked, motion=walked.motion - drag, drag=drag)
