"""Follow the assembly mode of a closed machine from tick to tick.

Let Λ be a basis of the velocities that the closures admit (k degrees of freedom) and B = S Λ its part on the
s sensed joints. Where B loses rank, two assemblies with the same measurements meet; beyond such a pose the
estimate may be in the other one. The k × k minors of B show it: on one assembly they turn continuously and
never vanish together. By Cauchy and Binet, det(B₀' B) is the scalar product of the minors at two poses, so
that

    det(Λ₀' Λ) det(B₀' B) < 0

means that they have passed through zero. With as many sensors as degrees of freedom this is the sign of the
one determinant det B. With redundant sensors one subset may become singular while another stays regular; the
test then does not respond. Λ₀ and B₀ are renewed in every tick in which B is well-conditioned.

The estimate also changes its assembly at a jump: between two ticks it leaves the tangent Λ₀ by far.
"""

import math

import numpy as np

from linkwork.arrays import Floats, Integers, Matrix
from linkwork.machine import Machine
from linkwork.machine.building.initial_assembly import admitted as admitted_in_units
from linkwork.machine.building.initial_assembly import independent
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.layout import RANK
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.linalg.linear import cholesky, products, reach
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.rotations import way_between
from linkwork.multibody.workspace import Model

CLEAR = 1e-3
"""Least pivot of B B' (its root) for an orthonormal Λ, from which B counts as well-conditioned."""
JUMP, BEYOND_MEASURED = 0.3, 5.0
"""Scaled way within one tick that is a jump: of a passive joint, also over that of the measured ones; or of
any joint away from the tangent of the last pose."""
ORIENTATION, NUMBER, KNOWN = range(3)
"""Of the memory: whether Λ is oriented as Λ₀ (±1; 0 before the first B₀), the assembly, whether a tick is
known. Then follow q of the last tick (nq), the way from there (nv), Λ' of the last tick with orthonormal
rows (k × nv), B₀' (k × s), and scratch.
"""
_HEAD = 3


@part
def memory_words(nq: int, nv: int, dof: int, sensed: int) -> int:
    """Return the numbers of memory that `follow_branch` needs."""
    return _HEAD + nq + nv + 2 * dof * nv + dof * sensed + dof * dof


@part
def determinant(a: Matrix) -> float:
    """Return the determinant of a square matrix (n × n), which is destroyed."""
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
def _orthonormal_basis(m: Model, w: Workspace, unit: Matrix) -> None:
    """Write Λ' in scaled units, orthonormalised (Gram and Schmidt) with its orientation, to unit (k × nv)."""
    k, nv = unit.shape
    basis = w.basis[:k]
    for i in range(k):
        for c in range(nv):
            unit[i, c] = basis[i, c] / m.column_scale[c]
        for j in range(i):
            first, end = reach(unit[i])
            _remove(unit[j], unit[i], first, end)
        size = 0.0
        for c in range(nv):
            size += squared(unit[i, c])
        for c in range(nv):
            unit[i, c] /= math.sqrt(size)


@part
def _remove(direction: Floats, x: Floats, first: int, end: int) -> None:
    """Subtract from x, which is zero outside first … end, its part along a unit vector."""
    along = 0.0
    for c in range(first, end):
        along += direction[c] * x[c]
    if along != 0.0:
        for c in range(len(x)):
            x[c] -= along * direction[c]


@part
def _overlap(a: Matrix, b: Matrix, square: Matrix) -> float:
    """Return det(a b') of two k × n matrices; square (k × k) is scratch."""
    _product(a, b, square)
    return determinant(square)


@part
def _product(a: Matrix, b: Matrix, square: Matrix) -> None:
    """square (k × k) := a b' for two k × n matrices."""
    for i in range(a.shape[0]):
        products(a[i], b, square[i])


@part
def _is_clear(a: Matrix, square: Matrix) -> bool:
    """Whether each row of a (k × n) has a part beyond `CLEAR` outside the others; square (k × k): scratch."""
    _product(a, a, square)
    if not cholesky(square, square) > 0.0:
        return False
    least = math.inf
    for i in range(a.shape[0]):
        least = min(least, square[i, i])
    return least > CLEAR


@part
def _passed_fold(m: Model, w: Workspace, measured: Integers, memory: Floats) -> bool:
    """Renew Λ₀ and B₀; return whether det(Λ₀' Λ) det(B₀' B) < 0 since they were well-conditioned.

    Where the closures have lost a row, both stay as they are.
    """
    nv, k, s = m.nv, m.nv - int(w.ranking[RANK]), len(measured)
    at = _HEAD + m.nq + nv
    if s == 0 or len(memory) != memory_words(m.nq, nv, k, s):
        return False
    kept, unit = block(memory, at, k, nv), block(memory, at + k * nv, k, nv)
    sensed = block(memory, at + k * nv, k, s)  # over unit, once that is kept
    at += 2 * k * nv
    reference, square = block(memory, at, k, s), block(memory, at + k * s, k, k)
    _orthonormal_basis(m, w, unit)
    if _overlap(kept, unit, square) < 0.0:
        memory[ORIENTATION] = -memory[ORIENTATION]
    copy(memory[at - k * nv : at], memory[at - 2 * k * nv : at - k * nv])
    for i in range(k):
        for c in range(s):
            sensed[i, c] = kept[i, measured[c]]
    if not _is_clear(sensed, square):
        return False
    overlap = _overlap(reference, sensed, square)
    passed: bool = memory[ORIENTATION] * overlap < 0.0
    memory[ORIENTATION] = 1.0
    for i in range(k):
        for c in range(s):
            reference[i, c] = sensed[i, c]
    return passed


@part
def _jumped(m: Model, w: Workspace, measured: Integers, sensed: Integers, memory: Floats) -> bool:
    """Renew q of the last tick; return whether the way from there is a jump (see `JUMP`)."""
    nq, nv = m.nq, m.nv
    at = _HEAD + nq + nv
    before, way = memory[_HEAD : _HEAD + nq], memory[at - nv : at]
    way_between(m, before, w.q, way)
    copy(w.q, before)
    far = least = off = 0.0
    for c in range(nv):
        way[c] /= m.column_scale[c]
        if sensed[c] != 0:
            least = max(least, abs(way[c]))
        else:
            far = max(far, abs(way[c]))
    k = nv - int(w.ranking[RANK])
    if len(measured) > 0 and len(memory) == memory_words(nq, nv, k, len(measured)):
        kept = block(memory, at, k, nv)
        for i in range(k):
            _remove(kept[i], way, 0, nv)
        for c in range(nv):
            off = max(off, abs(way[c]))
    return (far > JUMP and far > BEYOND_MEASURED * least) or off > JUMP


@kernel
def follow_branch(m: Model, w: Workspace, measured: Integers, sensed: Integers, memory: Floats) -> None:
    """Renew memory after an estimate with its basis; `NUMBER` of it is the assembly.

    measured (s, or none): the sensed joints; sensed (nv): which joints have sensors.
    """
    jumped = _jumped(m, w, measured, sensed, memory)
    passed = _passed_fold(m, w, measured, memory)
    if memory[KNOWN] != 0.0 and (passed or jumped):
        memory[NUMBER] = -memory[NUMBER]
    memory[KNOWN] = 1.0


class AssemblyModeMemory:
    """Memory and wiring of `follow_branch`.

    `memory[NUMBER]` is 1 in the assembly in which the machine was first seen, −1 in another.
    """

    def __init__(self, machine: Machine) -> None:
        mechanism = machine.mechanism
        nv, k = mechanism.nv, machine.dof
        joints = np.unique([sensor.index for sensor in machine.sensors]).astype(np.int64)
        self.sensed = np.zeros(nv, np.int64)
        self.sensed[joints] = 1
        names = [mechanism.joint_names[joint] for joint in joints]
        known = independent(mechanism, admitted_in_units(mechanism, machine.initial_q), names)
        follows = len(known) == k and not self.sensed.all()
        self.measured = joints if follows else np.zeros(0, np.int64)
        self.memory = np.zeros(memory_words(mechanism.nq, nv, k, len(self.measured)))
        self.forget()

    @property
    def number(self) -> int:
        """The assembly."""
        return int(self.memory[NUMBER])

    def follow(self, now: Workspace) -> None:
        """`follow_branch`, for callers in Python."""
        follow_branch(*now.arguments, self.measured, self.sensed, self.memory)

    def forget(self) -> None:
        """The assembly in which the machine is seen next counts as that of the initial pose."""
        self.memory[:_HEAD] = 0.0
        self.memory[NUMBER] = 1.0
