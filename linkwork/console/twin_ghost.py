"""Pose of the digital twin's ghost: where the model alone would be now.

The twin publishes the motor efforts u by which the machine differs from its model. Had both been in one state
a time T ago, under the same commands and with this difference all along, the model would now be at

    q - ½ T² a,        Λ' M a = Λ' B u,  a = Λ ȧ,

with the mass matrix M, the motors' columns B, and a basis Λ of the velocities that the closures admit.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by

SPAN_S: Final = 0.5
"""T."""
NEAREST: Final = 0.01
"""rad or m: a ghost that coincides with the machine would only change its colors."""
_FARTHEST: Final = 0.7
"""Largest displacement of a joint, rad or m: beyond it the ghost keeps its direction."""
_NOTHING: Final = 1e-6
"""Share of the largest singular value of the constraints' rows below which a row does not count."""


class TwinGhost:
    """The ghost of one machine."""

    def __init__(self, mechanism: Mechanism, motors: Sequence[str]) -> None:
        self._work = mechanism.workspace()
        self._motors = [mechanism.joint_index(name) for name in motors]
        self._shift = np.zeros(mechanism.nv)

    def learn(self, q: Floats, motor_effort: Sequence[float]) -> None:
        """Take over a difference (N m or N, by motor) found at q (nq)."""
        work = self._work
        work.q[:], work.v[:] = q, 0.0
        kinematics(*work.arguments)
        dynamics(*work.arguments)
        constraint_rows(*work.arguments)
        force = np.zeros(len(work.v))
        force[self._motors] = motor_effort
        admitted = _null_space(work.A)
        mass = admitted.T @ work.M @ admitted
        acceleration = admitted @ np.linalg.lstsq(mass, admitted.T @ force, rcond=None)[0]
        shift = -0.5 * SPAN_S**2 * acceleration
        shift *= min(1.0, _FARTHEST / max(float(np.abs(shift).max(initial=0.0)), 1e-12))
        self._shift[:] = shift + self._closing(q, shift)

    def _closing(self, q: Floats, shift: Floats) -> Floats:
        """The shortest correction (nv) that closes the machine after a shift, to first order."""
        work = self._work
        work.q[:] = q
        move_by(work.model, work.q, shift, 1.0)
        kinematics(*work.arguments)
        constraint_rows(*work.arguments)
        if not len(work.phi):
            return np.zeros(len(shift))
        return np.asarray(np.linalg.lstsq(work.A, -work.phi, rcond=_NOTHING)[0], dtype=np.float64)

    @property
    def visible(self) -> bool:
        """Whether the ghost is away from the machine by more than `NEAREST` in any joint."""
        return bool(np.abs(self._shift).max(initial=0.0) > NEAREST)

    def pose(self, q: Floats) -> Floats:
        """Return the ghost's pose (nq) while the machine is at q (nq)."""
        moved = np.array(q)
        move_by(self._work.model, moved, self._shift, 1.0)
        return moved


def _null_space(rows: Floats) -> Floats:
    """Return an orthonormal basis of the vectors that all rows (m × n) map to zero, as columns."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, directions = np.linalg.svd(rows)
    rank = int(np.sum(sizes > _NOTHING * sizes[0])) if len(sizes) and sizes[0] > 0.0 else 0
    return directions[rank:].T
