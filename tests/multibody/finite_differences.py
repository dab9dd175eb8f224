"""The one place where this room's tests differentiate by differences: a five-point stencil, error ~ 1e-11."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody import Mechanism, Workspace
from linkwork.multibody.kernels import layout
from tests.multibody.machines import moved

OF_VELOCITY = (layout.NO_SLIP, layout.VELOCITY)
_STEP = 1e-3


def wrapped(angle: Floats) -> Floats:
    """Angles brought into [-π, π)."""
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def derivative(f: Callable[[float], Floats], wraps: Sequence[bool] | None = None) -> Floats:
    """df/dt at t = 0. Entries that `wraps` marks are angles, which may jump by whole turns."""
    centre = np.asarray(f(0.0))

    def near(t: float) -> Floats:
        change = np.asarray(f(t)) - centre
        return change if wraps is None else np.where(wraps, wrapped(change), change)

    h = _STEP
    stencil: Floats = (8.0 * (near(h) - near(-h)) - (near(2 * h) - near(-2 * h))) / (12.0 * h)
    return stencil


def jacobian(f: Callable[[Floats], Floats], q: Floats, wraps: Sequence[bool] | None = None) -> Floats:
    """df/dq, one column for each entry of q."""
    columns = [derivative(lambda t, e=e: f(q + t * e), wraps) for e in np.eye(len(q))]
    return np.stack(columns, axis=-1)


def check_rows(
    make: Callable[[Floats, Floats, float], Workspace], mechanism: Mechanism, q: Floats, v: Floats, a: Floats
) -> None:
    """Φ˙ = A v + Φ_t, A = dΦ˙/dv and Φ¨ = A v̇ - b along a motion with velocity v and acceleration a.

    `make` gives the rows for q, v and a time. Rows on the level of velocities have no Φ, but the rest.
    """

    def at(t: float) -> Workspace:
        return make(moved(mechanism, q, t * v + 0.5 * t * t * a), v + t * a, t)

    now = at(0.0)
    holonomic = _has_position(mechanism)
    scale = max(1.0, float(np.abs(now.b).max()))
    rate = derivative(lambda s: at(s).phi.copy())
    assert np.abs(now.phi_rate - rate)[holonomic].max(initial=0.0) < 1e-7 * scale
    explicit = derivative(lambda s: make(q, 0.0 * v, s).phi.copy())
    assert np.abs(now.explicit - explicit)[holonomic].max(initial=0.0) < 1e-7 * scale
    assert np.abs(now.A @ v + now.explicit - now.phi_rate).max() < 1e-12 * scale
    by_velocity = jacobian(lambda u: make(q, u, 0.0).phi_rate.copy(), v)
    assert np.abs(now.A - by_velocity).max() < 1e-9 * scale
    second = derivative(lambda s: at(s).phi_rate.copy())
    assert np.abs(now.A @ a - now.b - second).max() < 1e-6 * scale


def _has_position(mechanism: Mechanism) -> npt.NDArray[np.bool_]:
    m = mechanism.model
    of_velocity = np.isin(m.row_kind, OF_VELOCITY) | ((m.row_kind == layout.DISC) & (m.row_first != 2))
    return np.asarray(~of_velocity)
