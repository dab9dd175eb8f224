"""Errors of coordinates that follow from those of others, on the manifold of the constraints."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine


def to_first_order(machine: Machine, q: Floats, errors: Floats, wanted: int) -> Floats:
    """The error of coordinate `wanted` (n,) that belongs to the known ones of `errors` (n, nc), NaN else.

    With J the Jacobian of the known coordinates and A that of the constraints, J δ = e and A δ = 0 give the
    displacement δ of the joints, and J_wanted δ the error; least squares where rows depend on each other.
    """
    from linkwork.multibody.constraints.rows import constraint_rows
    from linkwork.multibody.tree.coordinates import coordinates
    from linkwork.multibody.tree.kinematics import kinematics

    work = machine.workspace()
    found = np.full(len(q), np.nan)
    for row in np.flatnonzero(np.isfinite(errors).any(axis=1)):
        work.q[:] = q[row]
        kinematics(*work.arguments)
        coordinates(*work.arguments)
        known = np.isfinite(errors[row])
        rows, wished = work.J[known], errors[row, known]
        if machine.is_constrained:
            constraint_rows(*work.arguments)
            rows = np.vstack([rows, work.A])
            wished = np.concatenate([wished, np.zeros(len(work.A))])
        found[row] = work.J[wanted] @ np.linalg.lstsq(rows, wished, rcond=1e-9)[0]
    return found
