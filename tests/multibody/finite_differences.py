"""The one place where this room's tests differentiate by differences: a five-point stencil, error ~ 1e-11."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_STEP = 1e-3


def wrapped(angle: Array) -> Array:
    """Angles brought into [-π, π)."""
    return (angle + np.pi) % (2.0 * np.pi) - np.pi


def derivative(f: Callable[[float], Array], wraps: Sequence[bool] | None = None) -> Array:
    """df/dt at t = 0. Entries that `wraps` marks are angles, which may jump by whole turns."""
    centre = np.asarray(f(0.0))

    def near(t: float) -> Array:
        change = np.asarray(f(t)) - centre
        return change if wraps is None else np.where(wraps, wrapped(change), change)

    h = _STEP
    stencil: Array = (8.0 * (near(h) - near(-h)) - (near(2 * h) - near(-2 * h))) / (12.0 * h)
    return stencil


def jacobian(f: Callable[[Array], Array], q: Array, wraps: Sequence[bool] | None = None) -> Array:
    """df/dq, one column for each entry of q."""
    columns = [derivative(lambda t, e=e: f(q + t * e), wraps) for e in np.eye(len(q))]
    return np.stack(columns, axis=-1)
