"""The rows of constraints in symbols: Φ, A and Ȧ v, with A v̇ = -Ȧ v - dΦ_t/dt.

Φ of a closure is a formula of the axes of its frames and of d = p_b - p_a (multibody/constraints). It does
not change when everything moves rigidly, so that it acts on b with the wrench (∂Φ/∂d; Σ b × ∂Φ/∂b) at p_b and
with the opposite on a; its row of A is this wrench against the joints between the two. Formulas of the
machine file are differentiated as they are. Prescribed values count as the constants with which they begin,
and stabilisation is left out.
"""

from dataclasses import dataclass

import numpy as np
import sympy as sp

from linkwork.multibody.constraints import (
    Closure,
    Constraint,
    CoordinateConstraint,
    CouplingConstraint,
    DistanceClosure,
    ExpressionConstraint,
    Frame,
    Row,
    VelocityConstraint,
)
from linkwork.multibody.constraints.expression_fields import subtracted_from
from linkwork.multibody.expressions import names_in, parse
from linkwork.multibody.kernels import layout
from linkwork.multibody.tree.link_tree import BodyPlacement
from linkwork.symbolic.coordinate_expressions import (
    SymbolicCoordinates,
    axis_rates,
    moment_of,
    place_frame,
)
from linkwork.symbolic.operation_tape import ONE, ZERO, Expression, Triple, exact
from linkwork.symbolic.symbolic_tree import SymbolicTree
from linkwork.symbolic.sympy_formulas import (
    A_AXES,
    B_AXES,
    SEPARATION,
    TIME,
    PlacedFormula,
    dot,
    formula_of,
    gradient,
)

_TURNS_A = sp.symbols("wax way waz")
_TURNS_B = sp.symbols("wbx wby wbz")
_SPEED = sp.symbols("ddx ddy ddz")


@dataclass(frozen=True)
class SymbolicConstraints:
    """Φ (nr; 0 for rows of velocities), A (nr × nv), Ȧ v with what moves with time (nr), Φ_t (nr)."""

    phi: list[Expression]
    A: list[list[Expression]]
    Adv: list[Expression]
    drift: list[Expression]


def rows(tree: SymbolicTree, interest: SymbolicCoordinates) -> SymbolicConstraints:
    """The rows of all constraints, in the order of `mechanism.row_names`, whether switched on or not."""
    found = SymbolicConstraints([], [], [], [])
    for constraint in tree.mechanism.constraints:
        if isinstance(constraint, Closure):
            _closure(tree, constraint, found)
        else:
            for row in constraint.rows:
                _on_coordinates(tree, interest, constraint, row, found)
    return found


def _append(
    found: SymbolicConstraints,
    phi: Expression,
    row: list[Expression],
    bias: Expression,
    drift: Expression = ZERO,
) -> None:
    found.phi.append(phi)
    found.A.append(row)
    found.Adv.append(bias)
    found.drift.append(drift)


def _seat(tree: SymbolicTree, frame: Frame) -> BodyPlacement:
    on = tree.seats[frame.body]
    return BodyPlacement(
        on.link, on.axes @ np.asarray(frame.rotation), on.origin + on.axes @ np.asarray(frame.at_m)
    )


def _closure(tree: SymbolicTree, constraint: Closure, found: SymbolicConstraints) -> None:
    tape, placed = tree.tape, PlacedFormula(tree.tape)
    a, b = _seat(tree, constraint.a), _seat(tree, constraint.b)
    (axes_a, _), (axes_b, at_b) = tree.frame(a), tree.frame(b)
    of_a, of_b = tree.motion_of(a), tree.motion_of(b)
    for names, axis in zip(A_AXES, axes_a, strict=True):
        placed.place(names, axis, *axis_rates(tree, axis, of_a))
    place_frame(placed, tree, axes_b, of_b)
    speed = tape.subtract(of_b.velocity, of_a.velocity)
    acceleration = tape.subtract(of_b.acceleration, of_a.acceleration)
    placed.place(SEPARATION, tape.subtract(of_b.origin, of_a.origin), speed, acceleration)
    placed.place(_SPEED, speed, acceleration, (ZERO, ZERO, ZERO))
    for names, motion in ((_TURNS_A, of_a), (_TURNS_B, of_b)):
        placed.place(names, motion.turning, motion.turning_rate, (ZERO, ZERO, ZERO))
    between = tree.path(a.link, b.link)
    for row in constraint.rows:
        entries = [ZERO] * tree.mechanism.nv
        moment, force, phi, bias = _relative(placed, constraint, row)
        for i, sign in between:
            entries[tree.links[i].place] = sign * tree.share(i, moment, force, at_b)
        _append(found, phi, entries, bias)


def _relative(
    placed: PlacedFormula, constraint: Closure, row: Row
) -> tuple[Triple, Triple, Expression, Expression]:
    """Moment and force at p_b, Φ, and its second derivative for v̇ = 0."""
    upright = _upright()
    if row.kind == layout.NO_SLIP or (row.kind == layout.DISC and row.i != 2):
        nearest = A_AXES[2] if row.kind == layout.NO_SLIP else upright[0]
        return _no_slip(placed, row, nearest)
    if row.kind == layout.DISC:
        formula = dot(A_AXES[2], SEPARATION) - exact(row.offset) * upright[1]
    elif row.kind == layout.ALONG:
        formula = dot(A_AXES[row.i], SEPARATION) - exact(row.offset)
    elif row.kind == layout.PERPENDICULAR:
        formula = dot(A_AXES[row.i], B_AXES[row.j])
    else:
        assert isinstance(constraint, DistanceClosure)
        formula = sp.sqrt(dot(SEPARATION, SEPARATION)) - exact(constraint.distance_m)
    x, y, z = (placed.named_value(gradient(formula, name)) for name in SEPARATION)
    return moment_of(placed, formula), (x, y, z), placed.named_value(formula), placed.second_rate(formula)


def _upright() -> tuple[list[Expression], Expression]:
    """In a disc normal to b_3: the direction nearest to a_3, and its cosine with a_3."""
    n, b = A_AXES[2], B_AXES[2]
    c = dot(n, b)
    leaning = [x - c * y for x, y in zip(n, b, strict=True)]
    size = sp.sqrt(dot(leaning, leaning))
    return [x / size for x in leaning], size


def _crossed(a: list[Expression], b: list[Expression]) -> list[Expression]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _no_slip(
    placed: PlacedFormula, row: Row, nearest: list[Expression]
) -> tuple[Triple, Triple, Expression, Expression]:
    """A row of velocities: a'((ḋ - ω_a × d) - radius (ω_b - ω_a) × e)."""
    a, radius = list(A_AXES[row.i]), exact(row.offset)
    relative = [x - y for x, y in zip(_TURNS_B, _TURNS_A, strict=True)]
    carried = _crossed(list(_TURNS_A), list(SEPARATION))
    rolled = _crossed(relative, list(nearest))
    slip = [x - y - radius * z for x, y, z in zip(_SPEED, carried, rolled, strict=True)]
    x, y, z = (placed.named_value(-radius * each) for each in _crossed(list(nearest), a))
    fx, fy, fz = (placed.named_value(each) for each in a)
    return (x, y, z), (fx, fy, fz), ZERO, placed.rate(dot(a, slip))


def _on_coordinates(
    tree: SymbolicTree,
    interest: SymbolicCoordinates,
    constraint: Constraint,
    row: Row,
    found: SymbolicConstraints,
) -> None:
    """A row that is a formula of coordinates of interest and of time."""
    tape, v = tree.tape, tree.v
    names = tree.mechanism.coordinate_names
    holders = {name: sp.Symbol(f"θ{k}") for k, name in enumerate(names)}
    placed = PlacedFormula(tape)
    used = _named(constraint, row)
    for name in used:
        k = names.index(name)
        speed = tape.put(dot(interest.J[k], v))
        placed.place([holders[name]], [interest.theta[k]], [speed], [interest.Jdv[k]])
    placed.place([TIME], [TIME], [ONE], [ZERO])
    entries: list[Expression] = [ZERO] * len(v)
    if isinstance(constraint, VelocityConstraint):
        bias, drift = ZERO, placed.named_value(-formula_of(parse(constraint.value), holders))
        bias += placed.rate(-formula_of(parse(constraint.value), holders))
        for name, text in constraint.factors.items():
            k, factor = names.index(name), formula_of(parse(text), holders)
            size = placed.named_value(factor)
            entries = [x + size * y for x, y in zip(entries, interest.J[k], strict=True)]
            bias += placed.rate(factor) * placed.first[holders[name]] + size * interest.Jdv[k]
        _append(found, ZERO, [tape.put(x) for x in entries], tape.put(bias), drift)
        return
    formula, turn = _formula(constraint, row, holders)
    for name in used:
        size = placed.named_value(gradient(formula, holders[name]))
        share = interest.J[names.index(name)]
        entries = [x + size * y for x, y in zip(entries, share, strict=True)]
    phi = placed.named_value(formula)
    wraps = {each.name for each in tree.mechanism.coordinates if each.kind in ("roll", "pitch", "yaw")}
    if turn is not None and (isinstance(turn, str) and turn in wraps):
        scale = abs(formula.diff(holders[turn])) if not isinstance(constraint, ExpressionConstraint) else ONE
        whole = 2 * sp.pi * scale
        phi = phi - tape.put(whole) * sp.floor(tape.put(phi / whole + sp.Rational(1, 2)))
        phi = tape.put(phi)
    _append(
        found,
        phi,
        [tape.put(x) for x in entries],
        placed.second_rate(formula),
        placed.named_value(formula.diff(TIME)),
    )


def _named(constraint: Constraint, row: Row) -> list[str]:
    """The coordinates of interest that a row of formulas names."""
    if isinstance(constraint, CoordinateConstraint):
        return [constraint.of]
    if isinstance(constraint, CouplingConstraint):
        return list(constraint.factors)
    texts: list[str] = []
    extra: list[str] = []
    if isinstance(constraint, ExpressionConstraint):
        texts = [constraint.expressions[row.name]]
    elif isinstance(constraint, VelocityConstraint):
        texts, extra = [constraint.value, *constraint.factors.values()], list(constraint.factors)
    return list(dict.fromkeys([*extra, *(name for text in texts for name in names_in(parse(text)))]))


def _formula(
    constraint: Constraint, row: Row, holders: dict[str, Expression]
) -> tuple[Expression, str | None]:
    """Φ, and the coordinate up to whole turns of which it is meant."""
    if isinstance(constraint, ExpressionConstraint):
        text = constraint.expressions[row.name]
        return formula_of(parse(text), holders), subtracted_from(text)
    factors = {constraint.of: 1.0} if isinstance(constraint, CoordinateConstraint) else {}
    if isinstance(constraint, CouplingConstraint):
        factors = dict(constraint.factors)
    value = constraint.value if isinstance(constraint, (CoordinateConstraint, CouplingConstraint)) else 0.0
    total = sum((exact(factor) * holders[name] for name, factor in factors.items()), -exact(float(value)))
    return total, next(iter(factors)) if len(factors) == 1 else None
