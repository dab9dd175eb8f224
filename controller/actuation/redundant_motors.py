"""Redundant motors: build the program of `effort_program` from the scratch numbers that `drive` leaves."""

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.controller.actuation.effort_program import allocate, prices
from linkwork.multibody.mechanism import Mechanism

_LEAST = 1e-9
"""Singular value of the motors' map below which a direction is left out."""


class RedundantMotors:
    """Bounded efforts of one machine's motors; index, most, weight: per motor, joint, limit, W's diagonal."""

    def __init__(self, mechanism: Mechanism, index: Integers, most: Floats, weight: Floats) -> None:
        self._nv, self._index, self._most = mechanism.nv, index, most
        self._columns, self._weight = mechanism.model.column_scale[index], weight
        self._renew()
        self._share = np.zeros(len(index))

    def _renew(self) -> None:
        """Take the limits as they are now."""
        self._known = self._most.copy()
        self._unit = self._most * self._columns
        self._price = prices(self._most, self._weight)

    def __call__(self, scratch: Floats, free: int, preload: Floats, force: Floats) -> float:
        """Write force (nv) after `drive` reported `BEYOND`; return the share, see `allocate`.

        The rows are those of the admitted motions that the motors hold by s = 1 down to 0, each divided by
        its s.
        """
        nv, motors, k = self._nv, len(self._index), free
        if (self._known != self._most).any():
            self._renew()
        at = nv * (3 * nv + motors + 1)
        gram = scratch[: k * k].reshape(k, k)
        sizes = np.sqrt(np.maximum(np.diagonal(scratch[k * k : 2 * k * k].reshape(k, k)), 0.0))
        held = sizes > _LEAST
        turned = scratch[2 * k * k : 3 * k * k].reshape(k, k)[held] / sizes[held, None]
        driven = scratch[3 * k * k : 3 * k * k + motors * k].reshape(motors, k)
        both = np.linalg.solve(
            np.tril(gram), np.array([scratch[at : at + k], scratch[at + nv : at + nv + k]]).T
        )
        rows = turned @ (driven * self._unit[:, None]).T
        needed, coasting = (turned @ both).T
        share = allocate(rows, needed, coasting, preload / self._most, self._share, self._price)
        force[:] = 0.0
        force[self._index] = self._share * self._most
        return share
