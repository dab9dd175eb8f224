"""Which assembly a closed machine is in, followed from tick to tick.

The velocities that the closures admit turn continuously as the machine moves, also through poses where
branches of the closures meet. So a basis Λ keeps an orientation: from one tick to the next the sign of
det(Λ₀' Λ). With it the sign of det(S Λ), S selecting as many measured joints as there are freedoms, means
something: it changes where the measured joints lose their hold on the others, and there two assemblies with
the same measurements meet. Beyond such a pose the machine is in the other one. It may also get there at a
jump, when Newton's method finds another assembly than the one it began in.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from machine import Machine
from machine.assembly import admitted as admitted_in_units
from machine.assembly import independent
from multibody import Workspace, layout
from multibody.compiling import BUFFER, INTEGERS, MATRIX, PARAMETERS, TOPOLOGY, VECTOR, kernel, part, void
from multibody.layout import BASIS, COLUMN_SCALE, NV, RANK, RANKING
from multibody.views import block, vector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CLEAR = 1e-3
"""Determinant (of unit rows) from which a sign counts."""
JUMP, BEYOND_MEASURED = 0.3, 5.0
"""Way of a passive joint within one tick, scaled, and over that of the measured ones, that is a jump."""
ORIENTATION, SIGN = range(2)


@part
def determinant(a: Floats) -> float:
    """Of a square matrix, which is destroyed."""
    n, found = a.shape[0], 1.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if a[best, k] == 0.0:
            return 0.0
        if best != k:
            found = -found
            for j in range(n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
        found *= a[k, k]
        for i in range(k + 1, n):
            share = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= share * a[k, j]
    return found


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, MATRIX, VECTOR, VECTOR))
def follow_branch(
    p: Floats, t: Integers, w: Floats, measured: Integers, kept: Floats, scratch: Floats, told: Floats
) -> None:
    """After `admitted`: renews told, the orientation of the basis and the sign (0 as long as unknown).

    measured (k): the joints that tell the pose; kept (k × nv): the basis before, with unit rows; scratch:
    k·nv + k² numbers. Where the closures have lost a row nothing is renewed.
    """
    nv, k = t[NV], len(measured)
    if nv - int(vector(t, w, RANKING)[RANK]) != k:
        return
    basis, columns = block(w, t[BASIS], k, nv), vector(t, p, COLUMN_SCALE)
    unit, square = block(scratch, 0, k, nv), block(scratch, k * nv, k, k)
    for i in range(k):
        size = 0.0
        for c in range(nv):
            unit[i, c] = basis[i, c] / columns[c]
            size += unit[i, c] ** 2
        for c in range(nv):
            unit[i, c] /= math.sqrt(size)
    for i in range(k):
        for j in range(k):
            square[i, j] = 0.0
            for c in range(nv):
                square[i, j] += kept[i, c] * unit[j, c]
    if told[ORIENTATION] == 0.0:
        told[ORIENTATION] = 1.0
    elif determinant(square) < 0.0:
        told[ORIENTATION] = -told[ORIENTATION]
    for i in range(k):
        for c in range(nv):
            kept[i, c] = unit[i, c]
        for j in range(k):
            square[i, j] = unit[i, measured[j]]
    hold = told[ORIENTATION] * determinant(square)
    if abs(hold) > CLEAR:
        told[SIGN] = 1.0 if hold > 0.0 else -1.0


class Branch:
    """`number`: 1 the assembly of the initial pose, or in which the machine was first seen; −1 another."""

    def __init__(self, machine: Machine) -> None:
        mechanism = machine.mechanism
        nv, k = mechanism.nv, machine.freedoms
        sensors = [sensor.joint for sensor in machine.sensors]
        names = independent(mechanism, admitted_in_units(mechanism, machine.initial_q), sensors)
        self._measured = np.array([mechanism.joint_index(name) for name in names], np.int64)
        every = [sensor.index for sensor in machine.sensors]
        self._sensed = np.array(every, np.int64)
        self._passive = np.array([joint for joint in range(nv) if joint not in every], np.int64)
        t = mechanism.topology
        self._columns = mechanism.parameters[t[layout.COLUMN_SCALE] : t[layout.COLUMN_SCALE + 1]]
        self._kept, self._scratch = np.zeros((k, nv)), np.zeros(k * nv + k * k)
        self._told, self._before = np.zeros(2), np.zeros(nv)
        self._first = 0.0
        self.number = 1

    def forget(self) -> None:
        """The assembly in which the machine is seen next counts as that of the initial pose."""
        self._told.fill(0.0)
        self._first, self.number = 0.0, 1

    def follow(self, now: Workspace) -> None:
        """After an estimate: renews `number`."""
        if not len(self._passive):
            return
        told, known = self._told, self._first != 0.0
        before = told[SIGN]
        if len(self._measured) == len(self._kept):
            follow_branch(*now.arguments, self._measured, self._kept, self._scratch, told)
        if known and (told[SIGN] != before or self._jumped(now.q)):
            self.number = -self.number
        self._first = 1.0
        self._before[:] = now.q[: len(self._before)]

    def _jumped(self, q: Floats) -> bool:
        way = np.abs(q[: len(self._before)] - self._before) / self._columns
        far = float(way[self._passive].max())
        return far > JUMP and far > BEYOND_MEASURED * float(way[self._sensed].max())
