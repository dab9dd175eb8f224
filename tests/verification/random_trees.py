"""Random trees of all kinds of joints beside Pinocchio and MuJoCo."""

import numpy as np

from linkwork.multibody import functions
from tests.multibody.machines import random_state, random_tree, relative_error
from tests.verification.in_mujoco import InMujoco
from tests.verification.in_pinocchio import InPinocchio

KINDS = (
    "revolute", "prismatic", "fixed", "revolute", "cylindrical", "universal", "spherical", "angles", "free",
    "free_angles",
)  # fmt: skip


def compare_tree(seed: int) -> float:
    """Largest relative difference of M, h and v̇ of a random tree of all kinds of joints."""
    rng = np.random.default_rng(seed)
    kinds = (*KINDS, "screw") if seed % 2 else KINDS
    mechanism = random_tree(rng, int(rng.integers(1, 12)), kinds)
    q, v = random_state(rng, mechanism)
    effort = rng.normal(size=mechanism.nv)
    mass, h = functions.mass_matrix(mechanism, q), functions.bias(mechanism, q, v)
    theirs = InPinocchio(mechanism)
    worst = [relative_error(mass, theirs.mass_matrix(q)), relative_error(h, theirs.bias(q, v))]
    solved = functions.forward_dynamics(mechanism, q, v, effort)
    conditioned = np.linalg.cond(mass) < 1e5
    if conditioned:
        worst.append(relative_error(solved, theirs.acceleration(q, v, effort)))
    if not any(joint.kind == "screw" for joint in mechanism.joints):
        others = InMujoco(mechanism).dynamics(q, v)
        worst += [relative_error(mass, others[0]), relative_error(h, others[1])]
    return max(worst)
