"""The walk along a path, whatever the machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.planning.open_chain_walk import tree_walk
from linkwork.controller.planning.path import Path
from linkwork.controller.planning.walk import Walk
from linkwork.machine import Machine


def walk(machine: Machine, path: Path, q: NDArray[np.float64]) -> Walk:
    """Walks along a path, from the joint positions q (nq; warm start of the inverse kinematics)."""
    if not machine.is_constrained:
        return tree_walk(machine, path, q)
    from linkwork.controller.planning.closed_chain_walk import closed_walk

    return closed_walk(machine, path, q)
