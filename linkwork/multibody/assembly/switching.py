"""Switching constraints while a machine moves: a gripper closes a loop, a foot lands.

Switching off has no immediate effect. Switching on checks the position first: a gap within the tolerance is
closed by the shortest correction in the mass metric, a wider one is refused. Then an impulse A'Λ stops the
velocities that the constraint forbids (Aghili 2005, in the mass metric):
    v⁺ = v⁻ - M⁻¹ A' (A M⁻¹ A')⁺ (A v⁻ + Φ_t),    M (v⁺ - v⁻) = A'Λ
which loses (v⁻ - v⁺)' M (v⁻ - v⁺) / 2 where no prescribed value moves: a plastic impact.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.constrained_dynamics import multipliers_of
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.multibody.dynamics.projection import (
    TOLERANCE,
    correct_position,
    correct_velocity,
    position_residual,
)
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.workspace import Workspace

SWITCH_TOLERANCE = 1e-3
"""How far open (typical lengths or rad) a constraint may be when it is switched on."""
_CLOSED = 1e-9
_FIXED = 1e-9
"""Rate of a coordinate, of what its joints could contribute, below which it does not move."""


class SwitchRefused(ValueError):
    """A constraint cannot be switched on here: `name`, by how much it is open and what was allowed.

    `residual` and `tolerance` in scaled rows: typical lengths or rad.
    """

    def __init__(self, name: str, residual: float, tolerance: float, text: str) -> None:
        """Keep the evidence."""
        super().__init__(text)
        self.name, self.residual, self.tolerance = name, residual, tolerance


@dataclass(frozen=True, eq=False)
class Switched:
    """Result of a switch.

    `energy_loss_J`: kinetic energy that the impulse took (negative where a prescribed value that moves gave
    some); `shift_J`: energy gained by closing the position. `impulse`: of each of the constraint's own rows,
    N s or N m s; `residual`: how far open it was (typical lengths or rad).
    """

    constraint: str
    on: bool
    energy_loss_J: float
    shift_J: float
    impulse: Floats
    residual: float


def switch(
    mechanism: Mechanism,
    work: Workspace,
    name: str,
    on: bool,
    tolerance: float = SWITCH_TOLERANCE,
    hold: bool = False,
) -> Switched:
    """Switch a constraint on or off at the state in a workspace, whose q and v are then consistent.

    hold: close it where it is now, by moving the value that it prescribes (a distance, a coordinate or a
    coupling has one). Raises ModelError for an unknown name; SwitchRefused, with the workspace's state as it
    was, where the constraint is open by more than the tolerance, cannot be closed together with the others,
    or has no value to hold.
    """
    k = mechanism.constraint_index(name)
    first, count = int(work.model.first_row[k]), int(work.model.row_count[k])
    if not on or work.on[k]:
        work.on[k] = float(on)
        return Switched(name, on, 0.0, 0.0, np.zeros(count), 0.0)
    before = work.buffer.copy()
    try:
        return _closed(mechanism, work, k, slice(first, first + count), tolerance, hold)
    except SwitchRefused:
        work.buffer[:] = before
        raise


def _closed(
    mechanism: Mechanism, work: Workspace, k: int, own: slice, tolerance: float, hold: bool
) -> Switched:
    name = mechanism.constraint_names[k]
    work.on[k] = 1.0
    start = total_energy(work)
    constraint_rows(*work.arguments)
    if hold:
        _hold(work, name, own)
        constraint_rows(*work.arguments)
    scale = work.model.row_scale
    residual = float(np.abs(scale * work.phi)[own].max())
    if not residual <= tolerance:
        raise SwitchRefused(
            name,
            residual,
            tolerance,
            f"{name} cannot be switched on here: its gap is {residual:.3g} (typical lengths or rad), "
            f"allowed are {tolerance:.3g}; " + _remedy(work, own),
        )
    correct_position(*work.arguments, TOLERANCE, 20)
    left = position_residual(*work.arguments)
    if not left <= _CLOSED:
        text = f"{name} cannot be closed together with the other constraints: {left:.3g} remain"
        raise SwitchRefused(name, residual, tolerance, text)
    shifted = total_energy(work)
    v = work.v.copy()
    correct_velocity(*work.arguments)
    work.constraint_force[:] = work.M @ (work.v - v)
    multipliers_of(*work.arguments)
    impulse = work.multipliers[own].copy()
    return Switched(name, True, shifted - total_energy(work), shifted - start, impulse, residual)


def fixed_coordinates(work: Workspace) -> NDArray[np.bool_]:
    """Evaluate the motion; return for each coordinate (nc) whether no admitted motion changes it."""
    evaluate_motion(*work.arguments)
    basis = work.basis[: len(work.v) - int(work.ranking[RANK])]
    sizes = np.abs(work.J) @ np.abs(basis).T
    return np.asarray(np.all(np.abs(work.J @ basis.T) <= _FIXED * sizes, axis=1))


def _hold(work: Workspace, name: str, own: slice) -> None:
    """Move the prescribed values so that the rows are met."""
    targets = _targets(work, own)
    if (targets < 0).any():
        text = f"{name} prescribes no value that it could hold: switch it on where it is closed"
        raise SwitchRefused(name, 0.0, 0.0, text)
    work.target[targets, 0] += work.phi[own]


def _targets(work: Workspace, own: slice) -> Integers:
    return work.model.row_target[own]


def _remedy(work: Workspace, own: slice) -> str:
    if (_targets(work, own) < 0).any():
        return "switch it on where it is closed"
    return "switch it on where it is closed, or hold it as it is"


def total_energy(work: Workspace) -> float:
    """Return kinetic and potential energy of the state of a workspace, J."""
    dynamics(*work.arguments)
    energy(*work.arguments)
    return float(work.energy.sum())
