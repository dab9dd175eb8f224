"""Choice of the walk along a path: open- or closed-chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.planning.path import Path
from linkwork.controller.planning.walk import Walk
from linkwork.machine import Machine
from linkwork.machine.chains import resolved


def walk(machine: Machine, path: Path, q: NDArray[np.float64]) -> Walk:
    """Walk along a path, from the joint positions q (nq; warm start of the inverse kinematics)."""
    walked: Walk = resolved(machine.chain.walk)(machine, path, q)
    return walked
