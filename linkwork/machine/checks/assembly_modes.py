"""Other assembly modes of a closed machine: poses that its sensors cannot distinguish from the initial
one."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.initial_assembly import admitted, independent
from linkwork.machine.building.kept_values import balls, keeping, values_of
from linkwork.machine.checks.mode_places import ModePlaces, same_mode
from linkwork.machine.description import Machine
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import Problem
from linkwork.multibody.assembly.assembly import AssemblyError, assemble_workspace
from linkwork.multibody.constraints import CoordinateConstraint
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.kernels.layout import PERPENDICULAR
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by

SEEDS = 24
"""Places from which other assemblies are sought."""
_LARGE = 300
"""Degrees of freedom of the joints, from which on fewer places do."""
_ITERATIONS = 50
"""Newton's iterations from each of them."""
_SAME, _TOLERANCE = 1e-4, 1e-9
_FAR, _MOVES, _SEEN = 0.05, 1e-6, 1e-3
"""Displacement (rad, typical lengths) of which a continuum of poses allows at least half; a joint's share;
the sensors' share in each admitted motion, from which on they leave no continuum."""


@dataclass(frozen=True, eq=False)
class OtherAssemblyModes:
    """Poses that fit the sensors' joints of the initial pose: isolated `modes` (nq), without the initial one.

    `free`: the joints that move, with the sensors' joints at rest, where the poses are a continuum.
    """

    modes: tuple[Floats, ...] = ()
    free: tuple[str, ...] = ()


def fitting_poses(machine: Machine) -> OtherAssemblyModes:
    """Return the poses with the sensors' joints where the initial pose has them, within all joints' limits.

    Newton's method is begun in the initial pose with joints without sensors turned about at random, the same
    each time: in turn those of each part of the machine that moves independently of the others. So every pose
    found exists, but some may be missed.
    """
    mechanism = machine.mechanism
    if not (mechanism.constraints and machine.motors and machine.sensors):
        return OtherAssemblyModes()
    held = _Held(machine, machine.initial_q)
    measured = {sensor.index for sensor in machine.sensors}
    parts = _independent_parts(
        mechanism,
        machine.initial_q,
        [joint for joint in range(mechanism.nv) if joint not in measured],
        {motion.row.name for motion in machine.assembly.idle},
    )
    angles = np.array(mechanism.joint_is_angle)
    senses = hinge_senses(mechanism, machine.initial_q)
    places_of = ModePlaces(mechanism)
    known = [places_of.at(machine.initial_q)]
    rng, found = np.random.default_rng(0), list[Floats]()
    free_joints = dict.fromkeys(freely_moving(machine, machine.initial_q))
    for seed in range(SEEDS * _LARGE // max(_LARGE, mechanism.nv) if parts else 0):
        free = parts[seed % len(parts)]
        turn = np.zeros(mechanism.nv)
        turn[free] = rng.uniform(-math.pi, math.pi, len(free)) * np.where(angles[free], 1.0, 0.1)
        with suppress(AssemblyError):
            q = held.closed_near(machine.initial_q, turn)
            if _turned(machine, q, sorted(measured)) or not within_limits(machine, q):
                continue
            if np.any(hinge_senses(mechanism, q) != senses):
                continue
            own = places_of.at(q)
            if not any(same_mode(own, other) for other in known):
                known.append(own)
                if moving := freely_moving(machine, q):
                    free_joints |= dict.fromkeys(moving)
                else:
                    found.append(q)
    return OtherAssemblyModes(tuple(found), tuple(free_joints))


def freely_moving(machine: Machine, q: Floats) -> list[str]:
    """Return the joints that leave a pose q (nq) by a finite motion in which the sensors' joints rest."""
    mechanism, measured = machine.mechanism, {sensor.joint for sensor in machine.sensors}
    seen = admitted(mechanism, q, positions=True)[[sensor.index for sensor in machine.sensors]]
    if np.linalg.matrix_rank(seen, tol=_SEEN) == seen.shape[1]:
        return []
    named = measured & set(mechanism.coordinate_names)
    kept = [name for name in mechanism.joint_names if name in named]
    for ball in balls(mechanism):
        kept += ball.values() if mechanism.joint_names[ball.place] in measured else ()
    return continuum_of(keeping(mechanism, kept, values_of(mechanism, q)), q)


def continuum_of(mechanism: Mechanism, q: Floats) -> list[str]:
    """Return the joints that move where q (nq) is one of a continuum of poses that differ in their places.

    A small singular value alone does not make one: modes may just meet there. So each direction that the
    rows admit is followed, and the mechanism closed again.
    """
    ways, places = admitted(mechanism, q, positions=True), ModePlaces(mechanism)
    names, found = mechanism.joint_names, list[str]()
    columns = mechanism.model.column_scale
    for way in (*ways.T, *-ways.T):
        work = mechanism.workspace(q)
        move_by(mechanism.model, work.q, columns * way, _FAR)
        ahead = places.at(work.q)
        with suppress(AssemblyError):
            there = places.at(assemble_workspace(mechanism, work, _TOLERANCE, _ITERATIONS).q)
            wanted, came = np.abs(ahead - places.at(q)).max(), np.abs(there - places.at(q)).max()
            if came > 0.5 * wanted > _SAME:
                found += [name for name, part in zip(names, way, strict=True) if abs(part) > _MOVES]
    return list(dict.fromkeys(found))


def pose_near(
    machine: Machine, present: Floats, positions: Mapping[str, float], tolerance: float
) -> tuple[Floats | None, AssemblyError | None]:
    """Return a pose (nq; rad, m) that closes within `tolerance` (rad, m) of some of its positions.

    The sensors' joints stay as in the pose `present` (nq), and so do those that are not in `positions` (by
    `position_names`), if the machine closes so; else they are turned about at random, the same each time. Of
    poses outside the tolerance the nearest one is returned; (None, the reason) where none closes.
    """
    mechanism = machine.mechanism
    names = list(mechanism.position_names)
    places, values = [names.index(name) for name in positions], np.array(list(positions.values()))
    held, senses = _Held(machine, present), hinge_senses(mechanism, machine.initial_q)
    measured = {sensor.index for sensor in machine.sensors}
    free = [joint for joint in range(mechanism.nv) if joint not in measured and joint not in places]
    angles = np.array(mechanism.joint_is_angle)
    start, rng = present.copy(), np.random.default_rng(0)
    start[places] = values
    nearest, least, reason = None, math.inf, None
    for seed in range(1 + (SEEDS if free else 0)):
        turn = np.zeros(mechanism.nv)
        if seed:
            turn[free] = rng.uniform(-math.pi, math.pi, len(free)) * np.where(angles[free], 1.0, 0.1)
        try:
            q = held.closed_near(start, turn)
        except AssemblyError as error:
            reason = reason or error
            continue
        off = float(np.abs(q[places] - values).max(initial=0.0))
        if off < least and not np.any(hinge_senses(mechanism, q) != senses):
            nearest, least = q, off
        if least < tolerance:
            break
    return nearest, reason


class _Held:
    """A mechanism whose independent sensors' joints are held where a pose (nq) has them."""

    def __init__(self, machine: Machine, at: Floats) -> None:
        mechanism = machine.mechanism
        sensors = [sensor.joint for sensor in machine.sensors]
        names = independent(mechanism, admitted(mechanism, at), sensors)
        self._at = {name: float(at[mechanism.joint_index(name)]) for name in names}
        further = (CoordinateConstraint(f"held {name}", of=name) for name in names)
        self._mechanism = mechanism.changed(constraints=[*mechanism.constraints, *further])

    def closed_near(self, start: Floats, turn: Floats) -> Floats:
        """Return the pose (nq) that Newton's method finds from `start` (nq), moved by `turn` (nv; rad, m).

        Raises AssemblyError.
        """
        mechanism = self._mechanism
        work = mechanism.workspace(start)
        for name, value in self._at.items():
            work.q[mechanism.joint_index(name)] = value
            work.target[mechanism.target_index(f"held {name}"), 0] = value
        move_by(mechanism.model, work.q, turn, 1.0)
        return assemble_workspace(mechanism, work, _TOLERANCE, _ITERATIONS).q.copy()


def hinge_senses(mechanism: Mechanism, q: Floats) -> Floats:
    """Return ±1 for each closure that keeps two axes parallel: whether they point the same way at q (nq).

    The rows of such a hinge vanish also where one of its bodies is turned over, which is another machine.
    """
    work = mechanism.workspace(q)
    kinematics(*work.arguments)
    axes = work.axes.reshape(-1, 3, 3)
    frames = work.model.frame_axes.reshape(-1, 2, 3, 3)
    links = np.column_stack([work.model.link_a, work.model.link_b])
    senses = []
    for k, constraint in enumerate(mechanism.constraints):
        rows = [row for row in constraint.rows if row.kind == PERPENDICULAR]
        if len(rows) != 2 or rows[0].j != rows[1].j:
            continue
        a, b = (
            frame if link < 0 else frame @ axes[link] for frame, link in zip(frames[k], links[k], strict=True)
        )
        (axis,) = {0, 1, 2} - {row.i for row in rows}
        senses.append(math.copysign(1.0, float(a[axis] @ b[rows[0].j])))
    return np.array(senses)


def _independent_parts(
    mechanism: Mechanism, q: Floats, free: Sequence[int], idle: Collection[str]
) -> list[list[int]]:
    """Return the free joints (places in v) in groups, such that no constraint couples two groups.

    Joints that are in no constraint are in no group; the constraints that hold `idle` motions are left out.
    """
    if not free:
        return []
    from scipy.sparse.csgraph import connected_components

    work = mechanism.workspace(q)
    beside = np.random.default_rng(0).uniform(-0.1, 0.1, mechanism.nv)  # in the pose itself terms may vanish
    move_by(work.model, work.q, beside, 1.0)
    kinematics(*work.arguments)
    constraint_rows(*work.arguments)
    of_rows = [constraint.name for constraint in mechanism.constraints for _ in constraint.rows]
    coupled = work.A[~np.isin(of_rows, list(idle))][:, list(free)] != 0.0
    count, part_of = connected_components(coupled.T.astype(float) @ coupled, directed=False)
    held = coupled.any(axis=0)
    parts = (
        [joint for joint, part, on in zip(free, part_of, held, strict=True) if on and part == k]
        for k in range(count)
    )
    return [part for part in parts if part]


def assembly_warnings(machine: Machine) -> Iterator[Problem]:
    """Return warnings where the sensors fit a continuum of poses, or modes that the file leaves open."""
    document, others = machine.document, fitting_poses(machine)
    if others.free:
        yield document.problem(
            ("sensors",),
            "the sensors also fit a continuum of poses: a part of the machine moves while they rest",
            of_key=True,
            found=f"{listed(others.free)} may move",
            remedy="measure one of these joints, or limit them so that the machine cannot come there",
            severity="warning",
        )
    place, controller = ("controller", "estimator", "assemblies"), document.data.get("controller") or {}
    if "assemblies" in (controller.get("estimator") or {}):
        return
    if others.modes:
        yield document.problem(
            place,
            "the sensors also fit other assembly modes within the joint limits; `enable` assumes that of "
            "the initial pose",
            found=f"at least {len(others.modes)} others",
            remedy="set `assemblies: one` if the machine is always enabled in that of `initial`, or"
            " `several`: "
            "then confirm_branch is needed before enabling",
            severity="warning",
        )


def within_limits(machine: Machine, q: Floats) -> bool:
    """Return whether all joints of a pose q (nq) are, or can be a whole turn away, within their limits."""
    for index, joint in enumerate(machine.joints):
        low, high = joint.position
        turns = math.ceil((low - q[index] - 1e-9) / math.tau) if joint.is_angle and math.isfinite(low) else 0
        q[index] += turns * math.tau
        if not low - 1e-9 <= q[index] <= high + 1e-9:
            return False
    return True


def _turned(machine: Machine, q: Floats, joints: list[int]) -> bool:
    """Return whether these joints are turned from the initial pose at q (nq), but for whole turns."""
    way = q[joints] - machine.initial_q[joints]
    way = np.where(np.array(machine.mechanism.joint_is_angle)[joints], np.sin(0.5 * way), way)
    return bool(np.abs(way).max(initial=0.0) > _SAME)
