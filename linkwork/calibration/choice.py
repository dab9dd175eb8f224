"""The numbers that a calibration frees."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linkwork.arrays import Flags, Floats
from linkwork.calibration.geometry import FRAME, GeometricParameter, Geometry
from linkwork.calibration.information import eliminated
from linkwork.calibration.linearisation import LinearPoses
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow, ReadPose
from linkwork.identification.admissible_states import NoStates, random_states
from linkwork.machine import Machine

_STATES = 24
_NEW = 1e-6
"""Share of a parameter's effect that is independent of earlier ones, above which it becomes a parameter."""


def chosen(
    machine: Machine, measured: GeometryMeasurements, geometry: Geometry, texts: Sequence[str] = ()
) -> list[GeometricParameter]:
    """Return the parameters that texts name: KEY, NAME=KEY+KEY, or a group. Without any, the default.

    Raises UnknownParameter.
    """
    found: list[GeometricParameter] = []
    for text in texts or ("default",):
        if text == "zeros":
            new = [geometry.parameter(f"zero.{name}") for name in measured.read]
        elif text == "frame":
            new = [geometry.parameter(f"frame.{axis}") for axis in _frame_axes(measured)]
        elif text == "play":
            new = [geometry.parameter(f"play.{name}") for name in _two_sided(measured)]
        elif text == "default":
            new = [*_default(machine, measured, geometry)]
            new += [geometry.parameter(f"play.{name}") for name in _two_sided(measured)]
        else:
            new = [geometry.parameter(text)]
        found += [each for each in new if each.name not in {other.name for other in found}]
    return found


def _two_sided(measured: GeometryMeasurements) -> list[str]:
    sides: dict[str, set[float]] = {}
    for pose in measured.poses:
        for name, side in pose.side.items():
            sides.setdefault(name, set()).add(math.copysign(1.0, side) if side else 0.0)
    return [name for name, found in sides.items() if {-1.0, 1.0} <= found]


def _default(
    machine: Machine, measured: GeometryMeasurements, geometry: Geometry
) -> list[GeometricParameter]:
    """Return the numbers whose effects on the measured points are independent, if all points are measured."""
    names = measured.points or tuple(name for name in machine.mechanism.point_names if name == "tool")
    candidates = geometry.points(names, measured.read)
    generic = _generic(machine, measured, names)
    poses = LinearPoses(machine, generic, candidates, geometry)
    ties = _ties(poses.unclosed(), len(candidates))
    linear = poses.linear()
    kept_rows = _of_axes(linear.owner, _axes(poses, measured))
    kept = replace(
        linear,
        by_parameters=linear.by_parameters[kept_rows],
        by_others=linear.by_others[kept_rows],
        residual=linear.residual[kept_rows],
    )
    effects = eliminated(kept)[0]
    return _independent(geometry, candidates, ties, effects)


def _generic(machine: Machine, measured: GeometryMeasurements, names: Sequence[str]) -> GeometryMeasurements:
    """Return measurements of all that the points show in random poses; their values do not matter."""
    places = [machine.mechanism.joint_names.index(name) for name in measured.read]
    try:
        states = [state.q for state in random_states(machine, machine.mechanism, _STATES)]
    except NoStates:
        states = []
    poses = [
        ReadPose(f"random {k}", {name: float(q[p]) for name, p in zip(measured.read, places, strict=True)}, {
            name: sigma for pose in measured.poses for name, sigma in pose.sigma.items()
        })
        for k, q in enumerate(states)
    ]  # fmt: skip
    poses += [pose for pose in measured.poses if len(pose.readings) == len(measured.read)][:_STATES]
    rows = [
        MeasuredRow("position", (k,), name, (0.0, 0.0, 0.0), sigma=1e-6)
        for k in range(len(poses))
        for name in names
    ]
    return GeometryMeasurements("", tuple(poses), tuple(rows))


def _axes(poses: LinearPoses, measured: GeometryMeasurements) -> set[int]:
    """Return the axes along which the machine moves points, or points are measured."""
    found = {axis for row in measured.rows for axis, value in enumerate(row.position) if value is not None}
    places = poses.places()
    if len(places):
        found |= set(np.flatnonzero(np.ptp(places, axis=0) > 1e-9).tolist())
    return found


def _of_axes(owner: Sequence[int], axes: set[int]) -> Flags:
    """Return whether each row is one of a reading, or of one of these axes."""
    found, seen = [], dict[int, int]()
    for each in owner:
        axis = seen.get(each, 0)
        seen[each] = axis + 1
        found.append(each < 0 or axis in axes)
    return np.array(found, dtype=np.bool_)


def _frame_axes(measured: GeometryMeasurements) -> list[str]:
    """Return the axes of a measuring frame that matter: of a planar machine two and one rotation."""
    used = {axis for row in measured.rows for axis, value in enumerate(row.position) if value is not None}
    turns = [FRAME[3 + axis] for axis in range(3) if len(used - {axis}) == 2]
    return [*(FRAME[axis] for axis in sorted(used)), *turns]


def _ties(unclosed: Floats, count: int) -> Floats:
    """Return a matrix T (candidates × candidates): what each moves together so that loops stay closed.

    Columns of candidates that others move, or that no loop admits, are zero.
    """
    rows = np.array(unclosed)
    ties, pivots = np.eye(count), list[int]()
    size = float(np.abs(rows).max(initial=0.0))
    top = 0
    for column in range(count - 1, -1, -1):
        if top >= len(rows):
            break
        best = top + int(np.argmax(np.abs(rows[top:, column])))
        if abs(rows[best, column]) < 1e-6 * max(size, 1.0):
            continue
        rows[[top, best]] = rows[[best, top]]
        rows[top] /= rows[top, column]
        for other in range(len(rows)):
            if other != top:
                rows[other] -= rows[other, column] * rows[top]
        pivots.append(column)
        top += 1
    for row, pivot in zip(rows, pivots, strict=False):
        ties[:, pivot] = 0.0
        for column in range(count):
            if column not in pivots:
                ties[pivot, column] = -row[column] if abs(row[column]) > 1e-6 else 0.0
    return ties


def _independent(
    geometry: Geometry, candidates: Sequence[GeometricParameter], ties: Floats, effects: Floats
) -> list[GeometricParameter]:
    """Return the candidates, tied, whose effect is not one of earlier ones."""
    basis: list[Floats] = []
    found = []
    whole = effects @ ties
    largest = float(np.linalg.norm(whole, axis=0).max(initial=0.0))
    for k, own in enumerate(candidates):
        column = whole[:, k].copy()
        size = float(np.linalg.norm(column))
        if size <= 1e-9 * largest or not ties[k, k]:
            continue
        for _ in range(2):
            for each in basis:
                column -= each * float(each @ column)
        if np.linalg.norm(column) < _NEW * size:
            continue
        basis.append(column / np.linalg.norm(column))
        terms: dict[str, float] = {}
        for other, factor in zip(candidates, ties[:, k].tolist(), strict=True):
            for key, part in other.terms if factor else ():
                terms[key] = terms.get(key, 0.0) + factor * part
        kept = sorted(terms.items(), key=lambda term: term[0] not in dict(own.terms))
        same = [(key, round(value, 9)) for key, value in kept if geometry.unit(key) == own.unit]
        found.append(geometry.tied(own.name, same) if len(same) == len(kept) else own)
    return found
