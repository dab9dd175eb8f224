"""Dynamics and kinematics of a mechanism as plain functions of q and v; control loops call the kernels.

All quantities in SI units and radians, vectors in world axes; q (nq) and v (nv) in the order of
`mechanism.joint_names`. Every function raises ValueError where an argument has the wrong length.
"""

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.constraints import rows as _rows
from linkwork.multibody.dynamics import tree_dynamics as _dynamics
from linkwork.multibody.dynamics.projection import position_residual
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree import coordinates as _coordinates
from linkwork.multibody.tree import kinematics as _kinematics
from linkwork.multibody.workspace import Workspace


def workspace_at(
    mechanism: Mechanism,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    effort: npt.ArrayLike | None = None,
) -> Workspace:
    """Return a workspace with q (nq), v and effort (nv; None: 0). Raises ValueError for wrong lengths."""
    workspace = mechanism.workspace()
    for name, values in (("q", q), ("v", v), ("effort", effort)):
        if values is not None:
            set_array(name, getattr(workspace, name), values)
    return workspace


def set_array(name: str, place: Floats, values: npt.ArrayLike) -> None:
    """Copy `values` to `place` (n, an array of a workspace). Raises ValueError for another shape."""
    given = np.asarray(values, dtype=np.float64)
    if given.shape != place.shape:
        raise ValueError(f"{name} has shape {given.shape}, but this mechanism needs {place.shape}")
    place[:] = given


def _dynamics_at(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> Workspace:
    workspace = workspace_at(mechanism, q, v)
    _dynamics.dynamics(*workspace.arguments)
    return workspace


def mass_matrix(mechanism: Mechanism, q: npt.ArrayLike) -> Floats:
    """Return the joint-space mass matrix M(q) (nv × nv; kg m², kg m or kg by joints), armature included."""
    return _dynamics_at(mechanism, q).M


def bias(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """Return h(q, v) (nv; N m or N): Coriolis, centrifugal and gravity terms, without friction."""
    return _dynamics_at(mechanism, q, v).h


def friction(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """Return the generalized force of friction (nv; N m or N), which opposes v."""
    return _dynamics_at(mechanism, q, v).friction


def forward_dynamics(
    mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike, effort: npt.ArrayLike
) -> Floats:
    """Return v̇ (nv; rad/s² or m/s²) of M v̇ + h = effort + friction + compliant (stops and contacts)."""
    workspace = workspace_at(mechanism, q, v, effort)
    _dynamics.forward_dynamics(*workspace.arguments)
    return workspace.vdot


def inverse_dynamics(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike, vdot: npt.ArrayLike) -> Floats:
    """Return the effort (nv; N m or N) for the acceleration v̇: M v̇ + h - friction - compliant."""
    workspace = _dynamics_at(mechanism, q, v)
    set_array("vdot", workspace.vdot, vdot)
    applied = workspace.friction + workspace.compliant
    effort: Floats = workspace.M @ workspace.vdot + workspace.h - applied
    return effort


def point_position(mechanism: Mechanism, name: str, q: npt.ArrayLike) -> Floats:
    """Forward kinematics of a point: its position (3; m, world). Raises ModelError for an unknown name."""
    k = mechanism.point_index(name)
    workspace = workspace_at(mechanism, q)
    _kinematics.kinematics(*workspace.arguments)
    position: Floats = workspace.point_position[k]
    return position


def point_velocity(mechanism: Mechanism, name: str, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """Return the velocity of a point (3; m/s, world axes). Raises ModelError for an unknown name."""
    k = mechanism.point_index(name)
    workspace = workspace_at(mechanism, q, v)
    _kinematics.kinematics(*workspace.arguments)
    velocity: Floats = workspace.point_velocity[k]
    return velocity


def point_jacobian(mechanism: Mechanism, name: str, q: npt.ArrayLike) -> Floats:
    """Return the Jacobian (6 × nv) of a point: angular velocity of its body, then velocity of the point."""
    return _point_jacobian(mechanism, name, workspace_at(mechanism, q))[0]


def point_jacobian_rate(mechanism: Mechanism, name: str, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """Return J̇ v (6; rad/s², then m/s²) of that Jacobian: accelerations of body and point at v̇ = 0."""
    return _point_jacobian(mechanism, name, workspace_at(mechanism, q, v))[1]


def _point_jacobian(mechanism: Mechanism, name: str, workspace: Workspace) -> tuple[Floats, Floats]:
    jacobian, rate = np.empty((6, mechanism.nv)), np.empty(6)
    k = mechanism.point_index(name)
    _kinematics.kinematics(*workspace.arguments)
    _kinematics.point_jacobian(*workspace.arguments, k, jacobian, rate)
    return jacobian, rate


def _coordinates_at(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike | None = None) -> Workspace:
    workspace = workspace_at(mechanism, q, v)
    _kinematics.kinematics(*workspace.arguments)
    _coordinates.coordinates(*workspace.arguments)
    return workspace


def coordinate_values(mechanism: Mechanism, q: npt.ArrayLike) -> Floats:
    """Return θ(q) (nc; rad or m), one value for each of `mechanism.coordinate_names`."""
    return _coordinates_at(mechanism, q).theta


def coordinate_history(mechanism: Mechanism, q: Floats) -> Floats:
    """Return θ (n × nc; rad or m) at each q (n × nq)."""
    workspace, found = mechanism.workspace(), np.empty((len(q), len(mechanism.coordinate_names)))
    for row, place in zip(found, q, strict=True):
        workspace.q[:] = place
        _kinematics.kinematics(*workspace.arguments)
        _coordinates.coordinates(*workspace.arguments)
        row[:] = workspace.theta
    return found


def closure_residual_history(mechanism: Mechanism, q: Floats) -> Floats:
    """Return the residual of the closures (n; typical lengths, or rad) at each q (n × nq), 0 without any."""
    workspace, found = mechanism.workspace(), np.zeros(len(q))
    for index, place in enumerate(q if mechanism.constraints else ()):
        workspace.q[:] = place
        _kinematics.kinematics(*workspace.arguments)
        _rows.constraint_rows(*workspace.arguments)
        found[index] = position_residual(*workspace.arguments)
    return found


def coordinate_jacobian(mechanism: Mechanism, q: npt.ArrayLike) -> Floats:
    """Return the Jacobian J (nc × nv) with θ̇ = J v. Rows of roll, pitch and yaw are NaN where the pitch is
    ±90°."""
    return _coordinates_at(mechanism, q).J


def coordinate_rate(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
    """Return J̇ v (nc; rad/s² or m/s²), so that θ¨ = J v̇ + J̇ v."""
    return _coordinates_at(mechanism, q, v).Jdv


def kinetic_energy(mechanism: Mechanism, q: npt.ArrayLike, v: npt.ArrayLike) -> float:
    """Return the kinetic energy v' M v / 2 (J) at q (nq) and v (nv), armature included."""
    workspace = _dynamics_at(mechanism, q, v)
    _dynamics.energy(*workspace.arguments)
    return float(workspace.energy[0])


def potential_energy(mechanism: Mechanism, q: npt.ArrayLike) -> float:
    """Return -Σ m g'c plus the energy of springs in stops and contacts (J) at q (nq).

    A mass at the world's origin has none; bodies fixed to the world are left out.
    """
    workspace = _dynamics_at(mechanism, q)
    _dynamics.energy(*workspace.arguments)
    return float(workspace.energy[1])
