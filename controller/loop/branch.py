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
from multibody import Workspace
from multibody.compiling import BUFFER, INTEGERS, PARAMETERS, TOPOLOGY, VECTOR, kernel, part, void
from multibody.layout import BASIS, COLUMN_SCALE, NV, RANK, RANKING, Q
from multibody.views import block, vector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CLEAR = 1e-3
"""Determinant (of unit rows) from which a sign counts."""
JUMP, BEYOND_MEASURED = 0.3, 5.0
"""Way of a passive joint within one tick, scaled, and over that of the measured ones, that is a jump."""
ORIENTATION, SIGN, NUMBER, KNOWN = range(4)
"""Of the memory; then follow q of the last tick, its basis with unit rows (k × nv), and scratch."""
_HEAD = 4


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


@part
def _orient(p: Floats, t: Integers, w: Floats, measured: Integers, memory: Floats) -> None:
    """Renews `ORIENTATION` and `SIGN` (0 as long as unknown), but not where the closures have lost a row."""
    nv, k = t[NV], len(measured)
    if k == 0 or nv - int(vector(t, w, RANKING)[RANK]) != k:
        return
    basis, columns, at = block(w, t[BASIS], k, nv), vector(t, p, COLUMN_SCALE), _HEAD + nv
    kept, unit, square = (
        block(memory, at, k, nv),
        block(memory, at + k * nv, k, nv),
        block(memory, at + 2 * k * nv, k, k),
    )
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
    if memory[ORIENTATION] == 0.0:
        memory[ORIENTATION] = 1.0
    elif determinant(square) < 0.0:
        memory[ORIENTATION] = -memory[ORIENTATION]
    for i in range(k):
        for c in range(nv):
            kept[i, c] = unit[i, c]
        for j in range(k):
            square[i, j] = unit[i, measured[j]]
    hold = memory[ORIENTATION] * determinant(square)
    if abs(hold) > CLEAR:
        memory[SIGN] = 1.0 if hold > 0.0 else -1.0


@kernel(void(PARAMETERS, TOPOLOGY, BUFFER, INTEGERS, INTEGERS, VECTOR))
def follow_branch(
    p: Floats, t: Integers, w: Floats, measured: Integers, sensed: Integers, memory: Floats
) -> None:
    """After an estimate with its basis: renews memory, of which `NUMBER` is the assembly.

    measured (k, or none): the joints that tell the pose; sensed (nv): which joints have sensors.
    """
    nv, q, columns = t[NV], vector(t, w, Q), vector(t, p, COLUMN_SCALE)
    before, sign = block(memory, _HEAD, 1, nv)[0], memory[SIGN]
    _orient(p, t, w, measured, memory)
    far = least = 0.0
    for c in range(nv):
        way = abs(q[c] - before[c]) / columns[c]
        if sensed[c] != 0:
            least = max(least, way)
        else:
            far = max(far, way)
        before[c] = q[c]
    jumped = far > JUMP and far > BEYOND_MEASURED * least
    if memory[KNOWN] != 0.0 and (memory[SIGN] != sign or jumped):
        memory[NUMBER] = -memory[NUMBER]
    memory[KNOWN] = 1.0


class Branch:
    """What `follow_branch` is given: `memory[NUMBER]` is 1 in the assembly of the initial pose, or in which
    the machine was first seen; −1 in another.
    """

    def __init__(self, machine: Machine) -> None:
        mechanism = machine.mechanism
        nv, k = mechanism.nv, machine.freedoms
        sensors = [sensor.joint for sensor in machine.sensors]
        names = independent(mechanism, admitted_in_units(mechanism, machine.initial_q), sensors)
        self._measured = np.array([mechanism.joint_index(name) for name in names], np.int64)
        self._sensed = np.zeros(nv, np.int64)
        self._sensed[[sensor.index for sensor in machine.sensors]] = 1
        if len(names) != k or self._sensed.all():
            self._measured = np.zeros(0, np.int64)
        self.memory = np.zeros(_HEAD + nv + 2 * k * nv + k * k)
        self.arguments = (self._measured, self._sensed, self.memory)
        self.forget()

    @property
    def number(self) -> int:
        """The assembly."""
        return int(self.memory[NUMBER])

    def follow(self, now: Workspace) -> None:
        """`follow_branch`, for callers in Python."""
        follow_branch(*now.arguments, *self.arguments)

    def forget(self) -> None:
        """The assembly in which the machine is seen next counts as that of the initial pose."""
        self.memory[:_HEAD] = 0.0
        self.memory[NUMBER] = 1.0
