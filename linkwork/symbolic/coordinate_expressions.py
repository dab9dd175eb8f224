"""Coordinates of interest in symbols: θ, their Jacobian J and J̇ v.

Places and angles of points are formulas of the frame's place and axes; J is the generalized force, in every
joint on the way to the world, of the wrench that the formula's gradient is:

    force = ∂θ/∂p,   moment = Σ a × ∂θ/∂a over the axes a (the rate of a is ω × a).
"""

from dataclasses import dataclass

import numpy as np
import sympy as sp

from linkwork.multibody.kernels import layout
from linkwork.multibody.tree.link_tree import BodyPlacement
from linkwork.symbolic.operation_tape import NOWHERE, ZERO, Expression, Triple, exact
from linkwork.symbolic.symbolic_tree import Rotation, SymbolicTree, WorldMotion
from linkwork.symbolic.sympy_formulas import B_AXES, PlacedFormula, gradient


@dataclass(frozen=True)
class SymbolicCoordinates:
    """θ (nc), J (nc × nv) and J̇ v (nc), in the order of `mechanism.coordinate_names`."""

    theta: list[Expression]
    J: list[list[Expression]]
    Jdv: list[Expression]


def angle_formulas() -> dict[int, Expression]:
    """Roll, pitch and yaw as formulas of the axes of a body, R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (xx, xy, xz), (_, _, yz), (_, _, zz) = B_AXES
    return {
        layout.ON_ROLL: sp.atan2(yz, zz),
        layout.ON_PITCH: sp.atan2(-xz, sp.sqrt(xx**2 + xy**2)),
        layout.ON_YAW: sp.atan2(xy, xx),
    }


def place_frame(placed: PlacedFormula, tree: SymbolicTree, axes: Rotation, motion: WorldMotion) -> None:
    """The axes of a frame as the placeholders `B_AXES`, with their rates."""
    for names, axis in zip(B_AXES, axes, strict=True):
        first, second = axis_rates(tree, axis, motion)
        placed.place(names, axis, first, second)


def axis_rates(tree: SymbolicTree, axis: Triple, motion: WorldMotion) -> tuple[Triple, Triple]:
    """Return the first and second time derivative of a body-fixed axis a: ω × a and ω̇ × a + ω × (ω × a).

    axis: a in world axes. motion: ω and ω̇ of the body, world axes.
    """
    tape = tree.tape
    first = tape.cross(motion.turning, axis)
    return first, tape.add(tape.cross(motion.turning_rate, axis), tape.cross(motion.turning, first))


def moment_of(placed: PlacedFormula, formula: Expression) -> Triple:
    """Σ b × ∂formula/∂b over the placeholders `B_AXES`."""
    total: list[Expression] = [ZERO, ZERO, ZERO]
    for names in B_AXES:
        gx, gy, gz = (gradient(formula, name) for name in names)
        x, y, z = names
        for k, part in enumerate((y * gz - z * gy, z * gx - x * gz, x * gy - y * gx)):
            total[k] += part
    x, y, z = (placed.named_value(part) for part in total)
    return x, y, z


def coordinates(tree: SymbolicTree) -> SymbolicCoordinates:
    """θ, J and J̇ v of all coordinates of interest. Angles have no gradient where the pitch is ±90°."""
    mechanism = tree.mechanism
    m = mechanism.model
    kinds = zip(m.coordinate_kind.tolist(), m.coordinate_of.tolist(), strict=True)
    found = SymbolicCoordinates([], [], [])
    for coordinate, (kind, index) in enumerate(kinds):
        row = [ZERO] * mechanism.nv
        if kind == layout.ON_JOINT:
            row[index] = sp.Integer(1)
            found.theta.append(tree.q[index])
            found.Jdv.append(ZERO)
        else:
            theta, rate = _of_point(tree, coordinate, kind, index, row)
            found.theta.append(theta)
            found.Jdv.append(rate)
        found.J.append(row)
    return found


def point_seat(tree: SymbolicTree, index: int) -> BodyPlacement:
    """Return the place of a named point, with the axes of its body."""
    point = tree.mechanism.points[index]
    on = tree.seats[point.body]
    return BodyPlacement(on.link, on.axes, on.origin + on.axes @ np.asarray(point.at_m))


def _direction(tree: SymbolicTree, coordinate: int) -> list[float]:
    """Direction and offset of a coordinate along a line; place and offset of a distance."""
    rows = tree.mechanism.model.directions
    found: list[float] = rows[coordinate].tolist()
    return found


def _of_point(
    tree: SymbolicTree, coordinate: int, kind: int, index: int, row: list[Expression]
) -> tuple[Expression, Expression]:
    seat = point_seat(tree, index)
    (axes, origin), motion = tree.frame(seat), tree.motion_of(seat)
    moment, force = NOWHERE, NOWHERE
    if kind <= layout.ON_Z:
        k = kind - layout.ON_X
        theta, rate = origin[k], motion.acceleration[k]
        force = tuple(sp.Integer(int(j == k)) for j in range(3))
    elif kind == layout.ON_ALONG:
        x, y, z, offset = (exact(value) for value in _direction(tree, coordinate))
        force = x, y, z
        theta = tree.tape.put(tree.tape.dot(force, origin) - offset)
        rate = tree.tape.dot(force, motion.acceleration)
    elif kind == layout.ON_DISTANCE:
        tape = tree.tape
        x, y, z, less = (exact(value) for value in _direction(tree, coordinate))
        way = tape.subtract(origin, (x, y, z))
        size = tape.put(sp.sqrt(tape.dot(way, way)))
        force = tape.times(tape.put(1 / size), way)
        off = tape.dot(force, motion.velocity)
        across = tape.dot(motion.velocity, motion.velocity) - off**2
        theta, rate = tape.put(size - less), tape.put(tape.dot(force, motion.acceleration) + across / size)
    else:
        placed = PlacedFormula(tree.tape)
        place_frame(placed, tree, axes, motion)
        formula = angle_formulas()[kind]
        theta, rate = placed.named_value(formula), placed.second_rate(formula)
        moment = moment_of(placed, formula)
    for i, _ in tree.path(-1, seat.link):
        row[tree.links[i].place] = tree.share(i, moment, force, origin)
    return theta, rate
