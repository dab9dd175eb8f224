"""Mass matrix and bias force of a tree in symbols, by the recursions in the axes of the links.

Newton-Euler outwards, with the world accelerated by -g; wrenches inwards; composite inertias inwards:

    ω = R'ω_p + turn v z,   ω̇ = R'ω̇_p + (R'ω_b) × turn v z,   a = R'(a_p + ω̇_p × p + ω_p × (ω_p × p)) + …
    h_k = turn n_z + travel f_z,   M_jk = S_j' I_k S_k

These are the chain inertia and the quasi-velocity equations of Kwatny & Blankenship 1995 with p = v; a sum
over products of Jacobians comes to the same with many more operations.
"""

from dataclasses import dataclass

import numpy as np

from linkwork.multibody.tree.link_tree import FOLLOWS
from linkwork.symbolic.operation_tape import (
    NOWHERE,
    ZERO,
    Expression,
    Tape,
    Triple,
    exact,
    exact_triple,
)
from linkwork.symbolic.symbolic_tree import SymbolicTree

Moments = tuple[Expression, Expression, Expression, Expression, Expression, Expression]
"""Inertia about a point: xx, xy, xz, yy, yz, zz."""


@dataclass
class _Carried:
    """Mass, first moment and inertia about a link's origin, in its axes."""

    mass: Expression
    first: Triple
    second: Moments


def mass_matrix(tree: SymbolicTree) -> list[list[Expression]]:
    """M (nv × nv), armature included."""
    tape, links, n = tree.tape, tree.links, tree.mechanism.nv
    matrix = [[ZERO] * n for _ in range(n)]
    carried = [_own(tree, i) for i in range(len(links))]
    for i in reversed(range(len(links))):
        link, own = links[i], carried[i]
        turn, travel, k = exact(link.turn), exact(link.travel), link.place
        mx, my, _ = own.first
        # I S, with S = (turn z; travel z)
        force = tape.triple((-turn * my, turn * mx, travel * own.mass))
        xz, yz, zz = own.second[2], own.second[4], own.second[5]
        moment = tape.triple((turn * xz + travel * my, turn * yz - travel * mx, turn * zz))
        matrix[k][k] = tape.put(turn * moment[2] + travel * force[2] + exact(link.joint.armature))
        at = i
        while links[at].parent >= 0:
            force, moment = _inwards(tree, at, force, moment)
            at = links[at].parent
            j = links[at].place
            value = tape.put(exact(links[at].turn) * moment[2] + exact(links[at].travel) * force[2])
            matrix[j][k] = matrix[k][j] = value
        if link.parent >= 0:
            _join(tape, carried[link.parent], _outboard(tree, i, own))
    return matrix


def bias(tree: SymbolicTree, *, gravity: bool = True, motion: bool = True) -> list[Expression]:
    """h (nv): Coriolis, centrifugal and gravity terms; the last alone without `motion`."""
    tape, links = tree.tape, tree.links
    fall = exact_triple(-tree.mechanism.gravity_m_s2) if gravity else NOWHERE
    wrenches: list[tuple[Triple, Triple]] = []
    turning: list[Triple] = []
    turning_rate: list[Triple] = []
    falling: list[Triple] = []
    base: list[Triple] = []
    for i, link in enumerate(links):
        w = wd = NOWHERE
        a = fall
        if link.parent >= 0:
            w, wd, a = turning[link.parent], turning_rate[link.parent], falling[link.parent]
        turn, slide = tree.speeds(i) if motion else (ZERO, ZERO)
        arm = tree.origin_in_parent(i)
        whirl = tape.cross(w, tape.cross(w, arm))
        a = tree.to_child(
            i, tape.triple(x + y + z for x, y, z in zip(a, tape.cross(wd, arm), whirl, strict=True))
        )
        w, wd = tree.to_child(i, w), tree.to_child(i, wd)
        carrier = tree.to_child(i, base[link.parent]) if link.scalar == FOLLOWS else w
        base.append(carrier)
        wd = tape.triple((wd[0] + carrier[1] * turn, wd[1] - carrier[0] * turn, wd[2]))
        a = tape.triple((a[0] + 2 * w[1] * slide, a[1] - 2 * w[0] * slide, a[2]))
        w = (w[0], w[1], tape.put(w[2] + turn))
        turning.append(w)
        turning_rate.append(wd)
        falling.append(a)
        wrenches.append(_demand(tape, _own(tree, i), w, wd, a))
    h = [ZERO] * tree.mechanism.nv
    for i in reversed(range(len(links))):
        link, (force, moment) = links[i], wrenches[i]
        h[link.place] = tape.put(exact(link.turn) * moment[2] + exact(link.travel) * force[2])
        if link.parent >= 0:
            force, moment = _inwards(tree, i, force, moment)
            before = wrenches[link.parent]
            wrenches[link.parent] = tape.add(before[0], force), tape.add(before[1], moment)
    return h


def potential(tree: SymbolicTree) -> Expression:
    """U = -Σ m g'c (J), as a function of q."""
    tape, gravity, total = tree.tape, exact_triple(tree.mechanism.gravity_m_s2), ZERO
    for i, link in enumerate(tree.links):
        if link.mass > 0.0:
            axes, origin = tree.pose(i)
            centre = tape.add(
                tape.times(exact(link.mass), origin), tape.combine(*axes, exact_triple(link.first))
            )
            total -= tape.dot(gravity, centre)
    return tape.put(total)


def _own(tree: SymbolicTree, i: int) -> _Carried:
    link = tree.links[i]
    xx, xy, xz, yy, yz, zz = (exact(value) for value in link.second[np.triu_indices(3)])
    return _Carried(exact(link.mass), exact_triple(link.first), (xx, xy, xz, yy, yz, zz))


def _apply(tape: Tape, second: Moments, a: Triple) -> Triple:
    xx, xy, xz, yy, yz, zz = second
    rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return tape.triple(sum((m * x for m, x in zip(row, a, strict=True)), ZERO) for row in rows)


def _demand(tape: Tape, own: _Carried, w: Triple, wd: Triple, a: Triple) -> tuple[Triple, Triple]:
    """Force and moment (about the origin) that move one link so."""
    if own.mass == 0:
        return NOWHERE, NOWHERE
    accelerated = tape.triple(own.mass * x for x in a)
    whirl = tape.cross(w, tape.cross(w, own.first))
    turned = tape.cross(wd, own.first)
    force = tape.triple(x + y + z for x, y, z in zip(accelerated, turned, whirl, strict=True))
    spin = tape.cross(w, _apply(tape, own.second, w))
    terms = (_apply(tape, own.second, wd), spin, tape.cross(own.first, a))
    return force, tape.triple(x + y + z for x, y, z in zip(*terms, strict=True))


def _inwards(tree: SymbolicTree, i: int, force: Triple, moment: Triple) -> tuple[Triple, Triple]:
    """A wrench at the origin of link i as one at its parent's, in the parent's axes."""
    tape = tree.tape
    force, moment = tree.to_parent(i, force), tree.to_parent(i, moment)
    return force, tape.add(moment, tape.cross(tree.origin_in_parent(i), force))


def _join(tape: Tape, onto: _Carried, more: _Carried) -> None:
    onto.mass += more.mass
    onto.first = tape.add(onto.first, more.first)
    xx, xy, xz, yy, yz, zz = (tape.put(a + b) for a, b in zip(onto.second, more.second, strict=True))
    onto.second = xx, xy, xz, yy, yz, zz


def _outboard(tree: SymbolicTree, i: int, own: _Carried) -> _Carried:
    """Return the wrench of all that link i carries, about its parent's origin and in its axes."""
    tape, link = tree.tape, tree.links[i]
    first, second = own.first, own.second
    if link.scalar != FOLLOWS and link.scalar < 0:
        if link.turn != 0.0:
            rotation = tree.own_rotation(i)
            assert rotation is not None
            second = _about_z(tape, rotation[0][0], rotation[0][1], second)
    else:
        rotation = tree.own_rotation(i)
        if rotation is not None:
            second = _turned(tape, rotation, second)
    second = _turned(tape, tree.fixed[i], second)
    first = tree.to_parent(i, first)
    p, m = tree.origin_in_parent(i), own.mass
    # I - m̂c p̂ - p̂ m̂c - m p̂ p̂, with m̂c of the first moment after the turn; p̂ p̂ = p p' - p'p 1
    moved = tape.triple(2 * f + m * x for f, x in zip(first, p, strict=True))
    square = [tape.put(p[k] * moved[k]) for k in range(3)]

    def product(j: int, k: int) -> Expression:
        return tape.put(p[j] * first[k] + first[j] * p[k] + m * p[j] * p[k])

    xx, xy, xz, yy, yz, zz = second
    return _Carried(
        m,
        tape.triple(f + m * x for f, x in zip(first, p, strict=True)),
        (
            tape.put(xx + square[1] + square[2]),
            tape.put(xy - product(0, 1)),
            tape.put(xz - product(0, 2)),
            tape.put(yy + square[0] + square[2]),
            tape.put(yz - product(1, 2)),
            tape.put(zz + square[0] + square[1]),
        ),
    )


def _about_z(tape: Tape, c: Expression, s: Expression, second: Moments) -> Moments:
    """Rz I Rz' in ten products."""
    xx, xy, xz, yy, yz, zz = second
    a, b = tape.put(c * xx - s * xy), tape.put(c * xy - s * yy)
    turned = tape.put(c * a - s * b)
    return (
        turned,
        tape.put(s * a + c * b),
        tape.put(c * xz - s * yz),
        tape.put(xx + yy - turned),
        tape.put(s * xz + c * yz),
        zz,
    )


def _turned(tape: Tape, rotation: tuple[Triple, Triple, Triple], second: Moments) -> Moments:
    """R I R'; free of cost where R exchanges axes."""
    rows = list(zip(*rotation, strict=True))
    half = [_apply(tape, second, row) for row in rows]  # I R', by columns
    dot = tape.dot
    return (
        dot(rows[0], half[0]),
        dot(rows[0], half[1]),
        dot(rows[0], half[2]),
        dot(rows[1], half[1]),
        dot(rows[1], half[2]),
        dot(rows[2], half[2]),
    )
