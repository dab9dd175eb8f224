"""Idle degrees of freedom, such as a rod's rotation about itself between two ball joints.

A motion n of the joints is idle where the closures admit it, A n = 0, and motors, sensors, task coordinates,
named points, springs, forces and all centres of mass stay at rest. The plant has these motions, lightly
damped. The controller's model holds each of them by one row across the joint that turns, so that estimator,
law, planner and checks need not know of them. In the plant's model the same rows are switched off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.dof_names import degrees_of_freedom, initial_keys
from linkwork.machine.building.initial_assembly import admitted, neighbours
from linkwork.machine.building.kept_values import Ball, HeldRows, balls
from linkwork.machine.description import IdleMotion
from linkwork.machine.problems import refuse
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml_document import Document
from linkwork.multibody.constraints import Constraint, CoordinateConstraint, Frame
from linkwork.multibody.constraints.constraint import perpendicular
from linkwork.multibody.functions import coordinate_jacobian, mass_matrix, point_jacobian
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, Joint, Point
from linkwork.multibody.tree.joint_dof import onto_z


def idle_motions(
    file: MachineFile, mechanism: Mechanism, document: Document, q: Floats, v: Floats
) -> tuple[IdleMotion, ...]:
    """Return the idle degrees of freedom near a machine's initial pose q (nq), with the rows that hold them.

    A joint with `idle: true` may have any motion that moves no motor, sensor or task coordinate; one with
    `idle: false` or a given speed v (nv) has none. Raises MachineError for `idle: true` without one.
    """
    declared = any(spec.idle for spec in file.joints.values())
    used = {*file.motors, *file.sensors}
    if not declared and (not file.motors or used.issuperset(degrees_of_freedom(file))):
        return ()

    return tuple(_search(file, mechanism, document, q, v))


def with_idle(mechanism: Mechanism, motions: Sequence[IdleMotion], *, held: bool) -> Mechanism:
    """Return the mechanism with damped idle degrees of freedom, and the rows that hold them, on or off."""
    if not motions:
        return mechanism
    return mechanism.changed(
        joints=[with_idle_damping(joint, motions) for joint in mechanism.joints],
        constraints=[*mechanism.constraints, *(replace(motion.row, on=held) for motion in motions)],
    )


def with_idle_damping(joint: Joint, motions: Sequence[IdleMotion]) -> Joint:
    """Return the joint with the damping of its idle degree of freedom, unless it has friction already."""
    own = [motion.damping for motion in motions if motion.joint == joint.name]
    return replace(joint, viscous=own[-1]) if own and not (joint.viscous or joint.coulomb) else joint


_AT_REST = 1e-6
"""Scaled speed, per unit of a motion, below which something is at rest."""
_BALANCED = 1e-4
"""The same for centres of mass and named points: a part that is slightly out of balance is idle too."""
_DECAY_S = 1.0
"""Time in which the damping of the plant reduces an idle speed to a third."""


def _search(
    file: MachineFile, mechanism: Mechanism, document: Document, q: Floats, v: Floats
) -> Iterator[IdleMotion]:
    """Yield the idle degrees of freedom near q (nq) and v (nv); one of this pose alone is none."""
    declared = [name for name, spec in file.joints.items() if spec.idle]
    driven = _rows_of(mechanism, [*file.motors, *file.sensors])
    if not declared and not _null(driven, _admitted(mechanism, q)).shape[1]:
        return
    poses = list(neighbours(mechanism, q)) if mechanism.constraints else [q]
    allowed = [_null(_used(file, mechanism, driven, pose), _admitted(mechanism, pose)) for pose in poses]
    found = list(_declared(mechanism, document, declared, allowed[0], q))
    yield from found
    if file.motors and min(ways.shape[1] for ways in allowed) > len(found):
        refused = [
            name
            for name, spec in file.joints.items()
            if spec.idle is False or spec.type == "free" or name in declared
        ]
        yield from _undeclared(mechanism, [*refused, *_moving_at_start(file, mechanism, v)], poses, allowed)


def _admitted(mechanism: Mechanism, q: Floats) -> Floats:
    return admitted(mechanism, q) if mechanism.constraints else np.eye(mechanism.nv)


def _columns(mechanism: Mechanism) -> Floats:
    return mechanism.model.column_scale


def _length(mechanism: Mechanism) -> float:
    """Return the mechanism's typical length (m), 1 where it has only angles."""
    lengths = _columns(mechanism)[~np.array(mechanism.joint_is_angle)]
    if len(lengths):
        return float(lengths[0])
    places = [each.at_m for each in mechanism.joints] + [each.at_m for each in mechanism.points]
    return float(np.linalg.norm(np.array(places, dtype=np.float64), axis=1).max()) or 1.0


def _null(rows: Floats, ways: Floats) -> Floats:
    """Return a basis (nv × k) of the motions in `ways` (nv × n, orthonormal) in which these rows rest."""
    if not len(rows) or not ways.shape[1]:
        return ways
    _, sizes, motions = np.linalg.svd(rows @ ways)
    return np.asarray(ways @ motions[int(np.count_nonzero(sizes > _AT_REST)) :].T)


def _rows_of(mechanism: Mechanism, names: Sequence[str]) -> Floats:
    """Return the unit rows (k × nv) of these degrees of freedom, once each."""
    places = sorted({mechanism.joint_index(name) for name in names})
    return np.eye(mechanism.nv)[places]


def _own(mechanism: Mechanism, joint: str) -> list[int]:
    """Return the places of a joint's degrees of freedom in v."""
    return [k for k, name in enumerate(mechanism.joint_names) if name.partition(".")[0] == joint]


def _used(file: MachineFile, mechanism: Mechanism, driven: Floats, q: Floats) -> Floats:
    """Return the scaled rows (k × nv) of motors, sensors and task coordinates at q."""

    if not file.task:
        return driven
    rates = coordinate_jacobian(mechanism, q)[[mechanism.coordinate_index(name) for name in file.task]]
    rates = rates[np.isfinite(rates).all(axis=1)] * _columns(mechanism)
    sizes = np.linalg.norm(rates, axis=1, keepdims=True)
    return np.vstack([driven, rates / np.maximum(sizes, _AT_REST)])


def _moved(mechanism: Mechanism, q: Floats) -> Floats:
    """Return the scaled velocities (k × nv) of centres of mass, named points, and joints under springs."""

    masses = [Point(f"mass {body.name}", body.name, body.com_m) for body in mechanism.bodies if body.mass_kg]
    points = [*(point for point in mechanism.points if point.body != WORLD), *masses]
    seen = mechanism.bare(points)
    scale = _columns(mechanism) / _length(mechanism) * (_AT_REST / _BALANCED)
    rows = [point_jacobian(seen, point.name, q)[3:] * scale for point in points]
    lines = (getattr(element.line, "dof", None) for element in mechanism.elements)
    return np.vstack([_rows_of(mechanism, [dof for dof in lines if dof]), *rows])


def _moving_at_start(file: MachineFile, mechanism: Mechanism, v: Floats) -> list[str]:
    """Return the joints to which `initial` gives a speed that is not zero."""
    known = initial_keys(file)
    speeds = [known[key].name for key in file.initial if known[key].is_speed]
    return [name.partition(".")[0] for name in speeds if v[mechanism.joint_index(name)] != 0.0]


def _declared(
    mechanism: Mechanism, document: Document, names: Sequence[str], ways: Floats, q: Floats
) -> Iterator[IdleMotion]:
    """Yield the idle degrees of freedom of the joints with `idle: true`."""
    problems = []
    for name in names:
        own = _own(mechanism, name)
        sizes = np.linalg.svd(ways[own], compute_uv=False) if ways.size and own else np.zeros(0)
        if sizes.max(initial=0.0) > _AT_REST:
            for row in _held(mechanism, name, ways, q):
                yield row[0]
                ways = _null(row[1][None], ways)
        else:
            problems.append(
                document.problem(
                    ("joints", name, "idle"),
                    "this joint has no idle degree of freedom: what it can move, a motor drives, a sensor "
                    "measures, a task coordinate names or a closure holds",
                    remedy="remove idle",
                )
            )
    refuse(problems)


def _undeclared(
    mechanism: Mechanism, refused: Sequence[str], poses: Sequence[Floats], allowed: Sequence[Floats]
) -> Iterator[IdleMotion]:
    """Yield the undeclared idle degrees of freedom: those that keep all centres of mass at rest."""
    still = _rows_of(mechanism, [mechanism.joint_names[k] for name in refused for k in _own(mechanism, name)])
    free = [
        _null(np.vstack([_moved(mechanism, pose), still]), ways)
        for pose, ways in zip(poses, allowed, strict=True)
    ]
    ways = free[0]
    if min(each.shape[1] for each in free) < ways.shape[1]:
        return
    while ways.shape[1]:
        names = list(dict.fromkeys(joint.name for joint in mechanism.joints if _own(mechanism, joint.name)))
        sizes = [round(float(np.linalg.norm(ways[_own(mechanism, name)], ord=2)), 6) for name in names]
        name = names[int(np.argmax(sizes))]
        for motion, row in _held(mechanism, name, ways, poses[0]):
            yield motion
            ways = _null(row[None], ways)


def _held(mechanism: Mechanism, name: str, ways: Floats, q: Floats) -> Iterator[tuple[IdleMotion, Floats]]:
    """Yield the idle degrees of freedom in `ways` (nv × k) that turn a joint, with gradients (nv) of rows."""

    own = _own(mechanism, name)
    turned, sizes, motions = np.linalg.svd(ways[own], full_matrices=False)
    ball = next((ball for ball in balls(mechanism) if ball.joint.name == name), None)
    columns = _columns(mechanism)
    mass = columns[:, None] * mass_matrix(mechanism, q) * columns
    taken: set[int] = set()
    for number, (size, motion) in enumerate(zip(sizes, motions, strict=True)):
        if size <= _AT_REST:
            break
        direction, whole = turned[:, number], ways @ motion / size
        row_name = _unused(f"idle_{name}" + (f"_{number + 1}" if number else ""), mechanism.constraint_names)
        gradient = np.zeros(mechanism.nv)
        spin = np.zeros(3) if ball is None else direction[ball.place - own[0] :][:3]
        if ball is not None and np.linalg.norm(spin) > 0.5:
            axis = spin / np.linalg.norm(spin)
            row: Constraint = _across(ball, row_name, axis, _least_tilt(mechanism, ball.place, axis, q), q)
            gradient[ball.place : ball.place + 3] = axis
        else:
            sizes_of = np.where([k in taken for k in range(len(own))], 0.0, np.abs(direction))
            place = own[int(np.argmax(sizes_of))]
            taken.add(own.index(place))
            row = CoordinateConstraint(row_name, of=mechanism.joint_names[place], value=float(q[place]))
            gradient[place] = 1.0
        damping = float(whole @ mass @ whole) / _DECAY_S / float(np.square(columns[own[0]]))
        if len(own) == 6:  # the body floats
            damping = 0.0
        yield IdleMotion(name, tuple(direction.tolist()), damping, row), gradient


def _unused(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "_"
    return name


def _least_tilt(mechanism: Mechanism, place: int, axis: Floats, q: Floats) -> Floats:
    """Return the direction (3, the ball's axes) across `axis` towards which the axis tilts least."""
    turning = _admitted(mechanism, q)[place : place + 3]
    tilts = np.cross(turning.T, axis) if turning.size else np.zeros((1, 3))
    across = np.linalg.svd(axis[None])[2][1:]
    _, vectors = np.linalg.eigh(across @ tilts.T @ tilts @ across.T)
    return np.asarray(vectors[:, 0] @ across)


def _across(ball: Ball, name: str, axis: Floats, parallel: Floats, q: Floats) -> HeldRows:
    """Return the row of a cardan joint: a direction of the parent stays perpendicular to one of the child."""
    fixed = np.asarray(ball.joint.rotation) @ ball.rotation(q) @ ball.axes
    return HeldRows(
        name,
        a=Frame(ball.joint.parent, rotation=onto_z(fixed @ parallel)),
        b=Frame(ball.joint.child, rotation=onto_z(ball.axes @ np.cross(axis, parallel))),
        demanded=(perpendicular(2, 2),),
    )
