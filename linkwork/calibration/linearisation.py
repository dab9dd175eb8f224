"""Measurements near the numbers of a file: φ(q_a + o, q_p; p) = 0, A dq = -φ_p dp, J_k = h_p + h_q dq/dp.

The readings of as many joints as there are degrees of freedom are kept exactly. Where more joints are read,
readings with a standard deviation are measurements, and the independent coordinates of their pose are
unknown too. φ_p and h_p are central differences of mechanisms with changed numbers; A and h_q are exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.calibration.geometry import FRAME, GeometricParameter, Geometry, changes_of
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow, ReadPose
from linkwork.identification.consistent_samples import ClosedPoses, independent_joints
from linkwork.identification.measured_motion import RefusedData
from linkwork.machine import Machine
from linkwork.machine.sections.orientation import rotation_of
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.tree.kinematics import kinematics, point_jacobian
from linkwork.multibody.tree.orientations import (
    angles_321_rates,
    from_rotation_vector,
    hat,
    to_angles_321,
    to_rotation_vector,
)
from linkwork.multibody.tree.rotations import move_by
from linkwork.multibody.workspace import Workspace

_STEP = 1e-4
"""Step of central differences, of the typical length or a radian."""
_RANK = 1e-8
_ITERATIONS = 40
_OPEN = 1e-4
"""Largest scaled residual of a loop that counts as closed: numbers that fit to first order leave some."""
_FLAT = 1e-3
"""Heights over a plane, as a share of its size, from which on they determine its normal."""


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Whitened residuals (measured - predicted, rows) and their derivatives by the unknowns.

    by_parameters: rows × parameters; by_others: rows × (edges and poses). owner: index of the measured row of
    each, or -1 - pose for readings.
    """

    residual: Floats
    by_parameters: Floats
    by_others: Floats
    owner: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Sight:
    """Sight of one point in one pose: place (3), rotation (3 × 3), their derivatives (6 × np, 6 × ny)."""

    place: Floats
    rotation: Floats
    by_parameters: Floats
    by_pose: Floats


class LinearPoses:
    """The poses of measurements, closed on the mechanism with given values of the parameters."""

    def __init__(
        self,
        machine: Machine,
        measured: GeometryMeasurements,
        parameters: Sequence[GeometricParameter],
        geometry: Geometry,
    ) -> None:
        """Close each pose on the file's numbers. Raises RefusedData."""
        self.machine, self.measured, self.geometry = machine, measured, geometry
        self.parameters = tuple(parameters)
        mechanism = machine.mechanism
        self.joints = list(mechanism.joint_names)
        self.sigma = [_sigmas(machine, pose) for pose in measured.poses]
        self.independent = [
            _independent(machine, pose, own) for pose, own in zip(measured.poses, self.sigma, strict=True)
        ]
        self.free = [
            [name for name in own if sigma[name] > 0.0]
            for own, sigma in zip(self.independent, self.sigma, strict=True)
        ]
        self.scale = mechanism.model.column_scale
        self.length = float(self.scale.max(initial=1.0)) if not all(mechanism.joint_is_angle) else 0.0
        self.length = self.length or _typical_length(machine)
        self.q = _closed(machine, measured.poses, self.independent)
        self.mechanism, self._work = mechanism, mechanism.workspace()
        self.values = np.zeros(len(self.parameters))
        self.edges = _edges(measured)
        self.frame = np.eye(3), np.zeros(3)
        self._made: tuple[bytes, list[tuple[int, float, Workspace, Workspace]]] | None = None
        if any(key.startswith("frame.") for each in self.parameters for key, _ in each.terms):
            self.frame = self._nearest_frame()

    @property
    def others(self) -> int:
        """Number of unknowns beside the parameters: of edges, and of poses."""
        return sum(self.edges.values()) + sum(map(len, self.free))

    def places(self) -> Floats:
        """Return the measured points in all poses (rows × 3; m, world)."""
        rows = [row for row in self.measured.rows if row.kind != "stop"]
        return np.array([self._place(row) for row in rows]).reshape(-1, 3)

    def _place(self, row: MeasuredRow) -> Floats:
        """Return the measured point of a row in its first pose (3; m, world)."""
        self._work.q[:] = self.q[row.poses[0]]
        kinematics(*self._work.arguments)
        place: Floats = self._work.point_position[self.mechanism.point_index(row.point)].copy()
        return place

    def move_to(self, values: Floats, ways: Sequence[Floats] = ()) -> None:
        """Set the values (n; m or rad) of n parameters, move free coordinates, close all poses.

        ways: the change of each pose's free coordinates. Raises RefusedData where a pose cannot be closed.
        """
        self.values = values
        self.mechanism = self.geometry.mechanism(changes_of(self.parameters, values))
        work = self._work = self.mechanism.workspace()
        for k, pose in enumerate(self.measured.poses):
            work.q[:] = self.q[k]
            own = [self.joints.index(name) for name in self.independent[k]]
            for name, place in zip(self.independent[k], own, strict=True):
                if name not in self.free[k]:
                    work.q[place] = self._true(pose, name)
            if len(ways):
                for name, change in zip(self.free[k], ways[k].tolist(), strict=True):
                    work.q[self.joints.index(name)] += change
            if not close(work, own):
                raise RefusedData("pose", f"the loops cannot be closed in pose {pose.name}")
            self.q[k] = work.q.copy()

    def _true(self, pose: ReadPose, name: str) -> float:
        """Return a joint's coordinate by its reading, with its zero and play."""
        return pose.readings[name] + float(self._zero_row(pose, name) @ self.values)

    def _zero_row(self, pose: ReadPose, name: str) -> Floats:
        """Return the derivative of that by the parameters."""
        play = 0.5 * pose.side.get(name, 0.0)
        return np.array(
            [each.factor(f"zero.{name}") + play * each.factor(f"play.{name}") for each in self.parameters]
        )

    def _variants(self) -> list[tuple[int, float, Workspace, Workspace]]:
        """Return place, full step, and workspaces of mechanisms on both sides, of each number that acts."""
        if self._made is not None and self._made[0] == self.values.tobytes():
            return self._made[1]
        found = []
        for k, each in enumerate(self.parameters):
            if not each.of_file:
                continue
            size = _STEP * (self.length if each.unit == "m" else 1.0)
            sides = []
            for sign in (1.0, -1.0):
                values = self.values.copy()
                values[k] += sign * size
                sides.append(self.geometry.mechanism(changes_of(self.parameters, values)).workspace())
            found.append((k, 2.0 * size, sides[0], sides[1]))
        self._made = self.values.tobytes(), found
        return found

    def unclosed(self, at: Sequence[Floats] = ()) -> Floats:
        """Return rows C (· × parameters): loops stay closed, to first order, where C dp = 0.

        at: further poses (nq each). Redundant rows of closures admit some changes of numbers only together.
        """
        mechanism, variants = self.mechanism, self._variants()
        if not mechanism.model.n_rows:
            return np.zeros((0, len(self.parameters)))
        rows, work = [], self._work
        for q in [*self.q, *at]:
            work.q[:] = q
            _closure(work)
            scaled = mechanism.model.row_scale[:, None] * work.A * self.scale
            left, sizes, _ = np.linalg.svd(scaled)
            rest = left[:, int((sizes > _RANK * max(sizes[0], 1.0)).sum()) :]
            change = mechanism.model.row_scale[:, None] * self._phi_by(variants, q)
            rows.append(rest.T @ change)
        stacked = np.vstack(rows)
        return np.asarray(np.linalg.qr(stacked, mode="r"), dtype=np.float64)

    def _phi_by(self, variants: Sequence[tuple[int, float, Workspace, Workspace]], q: Floats) -> Floats:
        """Return φ_p (rows × parameters) at a pose."""
        found = np.zeros((self.mechanism.model.n_rows, len(self.parameters)))
        for k, size, above, below in variants:
            for work in (above, below):
                work.q[:] = q
                _closure(work)
            found[:, k] = (above.phi - below.phi) / size
        return found

    def linear(self, *, of_rows: bool = True) -> LinearRows:
        """Return all measurements, linear near the present numbers and poses."""
        variants, count = self._variants(), len(self.parameters)
        starts = np.cumsum([sum(self.edges.values()), *map(len, self.free)])
        rows: list[tuple[float, Floats, Floats, int]] = []
        seen: list[dict[str, _Sight]] = []
        moved: list[Floats] = []
        for k in range(len(self.q)):
            by_all = self._motion(k, variants)
            moved.append(by_all)
            names = {row.point for row in self.measured.rows if k in row.poses and row.kind != "stop"}
            seen.append(self._sights(k, variants, by_all, sorted(names)))
            rows += self._readings(k, by_all, int(starts[k]))
        for index, row in enumerate(self.measured.rows if of_rows else ()):
            for value, by_p, by_y, sigma in self._row(row, seen, moved, starts):
                rows.append((value / sigma, by_p / sigma, by_y / sigma, index))
        if not rows:
            return LinearRows(np.zeros(0), np.zeros((0, count)), np.zeros((0, self.others)), ())
        residual, by_parameters, by_others, owner = zip(*rows, strict=True)
        return LinearRows(np.array(residual), np.array(by_parameters), np.array(by_others), tuple(owner))

    def _motion(self, k: int, variants: Sequence[tuple[int, float, Workspace, Workspace]]) -> Floats:
        """Return dq/d(parameters, free coordinates) (nv × ·) of a pose, all loops closed."""
        mechanism, count = self.mechanism, len(self.parameters)
        work = self._work
        work.q[:] = self.q[k]
        _closure(work)
        pose, free = self.measured.poses[k], self.free[k]
        found = np.zeros((mechanism.nv, count + len(free)))
        own = [self.joints.index(name) for name in self.independent[k]]
        for name, place in zip(self.independent[k], own, strict=True):
            if name in free:
                found[place, count + free.index(name)] = 1.0
            else:
                found[place, :count] = self._zero_row(pose, name)
        rest = np.setdiff1d(np.arange(mechanism.nv), own)
        if len(rest) and mechanism.model.n_rows:
            phi_p = np.zeros((mechanism.model.n_rows, found.shape[1]))
            phi_p[:, :count] = self._phi_by(variants, self.q[k])
            scale = mechanism.model.row_scale[:, None]
            sides = -scale * (work.A[:, own] @ found[own] + phi_p)
            solved = np.linalg.lstsq(scale * work.A[:, rest] * self.scale[rest], sides, rcond=_RANK)[0]
            found[rest] = self.scale[rest][:, None] * solved
        return found

    def _sights(
        self,
        k: int,
        variants: Sequence[tuple[int, float, Workspace, Workspace]],
        by_all: Floats,
        names: Sequence[str],
    ) -> dict[str, _Sight]:
        """Return what each named point shows in a pose."""
        mechanism, count, found = self.mechanism, len(self.parameters), {}
        if not names:
            return {}
        work = self._work
        for each in (work, *(side for variant in variants for side in variant[2:])):
            each.q[:] = self.q[k]
            kinematics(*each.arguments)
        for name in names:
            point = mechanism.point_index(name)
            jacobian, rate = np.empty((6, mechanism.nv)), np.empty(6)
            point_jacobian(*work.arguments, point, jacobian, rate)
            total = np.vstack([jacobian[3:], jacobian[:3]]) @ by_all
            rotation = _rotation(work, point)
            for place, size, above, below in variants:
                shift = above.point_position[point] - below.point_position[point]
                turn = to_rotation_vector(_rotation(above, point) @ _rotation(below, point).T)
                total[:, place] += np.concatenate([shift, turn]) / size
            seen = work.point_position[point].copy(), rotation
            found[name] = self._in_frame(*seen, total[:, :count], total[:, count:])
        return found

    def _in_frame(self, place: Floats, rotation: Floats, by_p: Floats, by_y: Floats) -> _Sight:
        """Return a sight in the frame of the measuring device, and its derivatives by that frame too."""
        change = np.zeros(6)
        rows = np.array([[each.factor(f"frame.{axis}") for each in self.parameters] for axis in FRAME])
        change += rows @ self.values
        axes = from_rotation_vector(change[3:]) @ self.frame[0]
        origin = self.frame[1] + change[:3]
        both = np.kron(np.eye(2), axes)
        by_p, by_y = both @ by_p, both @ by_y
        away = axes @ place
        by_p[:3] += rows[:3] + hat(-away) @ rows[3:]
        by_p[3:] += rows[3:]
        return _Sight(away + origin, axes @ rotation, by_p, by_y)

    def _readings(self, k: int, by_all: Floats, start: int) -> list[tuple[float, Floats, Floats, int]]:
        """Return the rows of the readings of a pose that are measurements."""
        pose, count, found = self.measured.poses[k], len(self.parameters), []
        for name, sigma in self.sigma[k].items():
            if name in self.independent[k] and name not in self.free[k]:
                continue
            place = self.joints.index(name)
            by_y = np.zeros(self.others)
            by_y[start : start + len(self.free[k])] = by_all[place, count:]
            by_p = by_all[place, :count] - self._zero_row(pose, name)
            left = self._true(pose, name) - self.q[k][place]
            if self.mechanism.joint_is_angle[place]:
                left = math.remainder(left, math.tau)
            if sigma <= 0.0:
                raise RefusedData(
                    "exact readings",
                    f"in pose {pose.name} more joints are read exactly than there are degrees of freedom: "
                    f"give a column sigma_q/{name}_{'rad' if self.mechanism.joint_is_angle[place] else 'm'}",
                )
            found.append((left / sigma, by_p / sigma, by_y / sigma, -1 - k))
        return found

    def _row(
        self, row: MeasuredRow, seen: Sequence[dict[str, _Sight]], moved: Sequence[Floats], starts: Floats
    ) -> list[tuple[float, Floats, Floats, float]]:
        """Return measured - predicted, both derivatives and σ of each number of a row."""
        count, found = len(self.parameters), list[tuple[float, Floats, Floats, float]]()

        def spread(parts: Sequence[tuple[int, Floats]]) -> Floats:
            whole = np.zeros(self.others)
            for pose, own in parts:
                whole[int(starts[pose]) : int(starts[pose]) + len(own)] += own
            return whole

        first = row.poses[0]
        if row.kind == "stop":
            place = self.joints.index(row.point)
            left = row.value - self.q[first][place]
            own = moved[first][place]
            return [(left, own[:count], spread([(first, own[count:])]), row.sigma or row.sigma_angle)]
        here = seen[first][row.point]
        if row.kind == "distance":
            there = seen[row.poses[1]][row.point]
            way = here.place - there.place
            size = float(np.linalg.norm(way))
            if size < 1e-9:
                return []
            along = way / size
            by_p = along @ (here.by_parameters - there.by_parameters)[:3]
            parts = [(first, along @ here.by_pose[:3]), (row.poses[1], -along @ there.by_pose[:3])]
            return [(row.value - size, by_p, spread(parts), row.sigma)]
        if row.kind in ("line", "plane"):
            return self._edge(row, seen, spread)
        for k, value in enumerate(row.position):
            if value is not None:
                by_y = spread([(first, here.by_pose[k])])
                found.append((value - here.place[k], here.by_parameters[k], by_y, row.sigma))
        given = [k for k, value in enumerate(row.angles) if value is not None]
        if given:
            own_angles = to_angles_321(here.rotation)
            wanted = [own_angles[2 - k] if value is None else value for k, value in enumerate(row.angles)]
            turn = to_rotation_vector(rotation_of(*wanted) @ here.rotation.T)
            rates = np.linalg.pinv(angles_321_rates(own_angles))[::-1]
            chosen = np.eye(3) if len(given) == 3 else rates[given]
            for along in chosen:
                by_y = spread([(first, along @ here.by_pose[3:])])
                found.append((float(along @ turn), along @ here.by_parameters[3:], by_y, row.sigma_angle))
        return found

    def _edge(
        self, row: MeasuredRow, seen: Sequence[dict[str, _Sight]], spread: object
    ) -> list[tuple[float, Floats, Floats, float]]:
        """Return the deviations of a point from the best straight line or plane of its group."""
        group = [each for each in self.measured.rows if (each.kind, each.name) == (row.kind, row.name)]
        heights = [each.value for each in group]
        places = np.array([seen[each.poses[0]][each.point].place for each in group])
        middle = places.mean(axis=0)
        ways = np.linalg.svd(places - middle)[2]
        rise = np.array(heights) - np.mean(heights)
        if row.kind == "plane" and np.abs(rise).max() > _FLAT * np.abs(places - middle).max():
            normal = np.linalg.lstsq(places - middle, rise, rcond=1e-6)[0]
            ways = np.linalg.svd(normal[None])[2][[1, 2, 0]]
            ways[2] = normal / np.linalg.norm(normal)
        elif row.kind == "plane":  # above is where its largest component is positive
            ways[2] *= np.sign(ways[2][np.argmax(np.abs(ways[2]))])
        here = seen[row.poses[0]][row.point]
        normals, along = (ways[2:], ways[:2]) if row.kind == "plane" else (ways[1:], ways[:1])
        offset = 0
        for (kind, name), size in self.edges.items():
            if (kind, name) == (row.kind, row.name):
                break
            offset += size
        place = np.concatenate([[1.0], along @ (here.place - middle) / self.length])
        found = []
        for k, normal in enumerate(normals):
            by_others = spread([(row.poses[0], normal @ here.by_pose[:3])])  # type: ignore[operator]
            by_others[offset + k * len(place) : offset + (k + 1) * len(place)] = -place * self.length
            left = row.value - float(np.mean(heights)) - float(normal @ (here.place - middle))
            found.append((left, normal @ here.by_parameters[:3], by_others, row.sigma))
        return found

    def _nearest_frame(self) -> tuple[Floats, Floats]:
        """Return rotation and origin of the measuring frame by the positions that are whole."""
        whole = [
            row for row in self.measured.rows if row.kind in ("pose", "position") and None not in row.position
        ]
        if len(whole) < 3:
            return np.eye(3), np.zeros(3)
        model = np.array([self._place(row) for row in whole])
        real = np.array([row.position for row in whole], dtype=np.float64)
        left, _, right = np.linalg.svd((real - real.mean(0)).T @ (model - model.mean(0)))
        turn = left @ np.diag([1.0, 1.0, float(np.sign(np.linalg.det(left @ right)))]) @ right
        return turn, real.mean(0) - turn @ model.mean(0)


def close(work: Workspace, own: Sequence[int]) -> bool:
    """Close the loops of a workspace, these coordinates kept; whether that could be done."""
    m = work.model
    rest = np.setdiff1d(np.arange(m.nv), own)
    if not m.n_rows or not len(rest):
        return True
    shift = np.zeros(m.nv)
    for _ in range(_ITERATIONS):
        _closure(work)
        scaled = m.row_scale[:, None] * work.A[:, rest] * m.column_scale[rest]
        residual = m.row_scale * work.phi
        if not np.isfinite(scaled).all():
            return False
        step = np.linalg.lstsq(scaled, -residual, rcond=_RANK)[0]
        size = float(np.abs(step).max())
        if size < 1e-13:
            break
        step *= min(1.0, 0.3 / size)
        shift[rest] = m.column_scale[rest] * step
        move_by(m, work.q, shift, 1.0)
        if size < 1e-11:
            break
    _closure(work)
    return float(np.abs(m.row_scale * work.phi).max()) < _OPEN


def _closure(work: Workspace) -> None:
    kinematics(*work.arguments)
    if work.model.n_rows:
        constraint_rows(*work.arguments)


def _rotation(work: Workspace, point: int) -> Floats:
    """Return the axes (3 × 3, columns) of a point's body in the world."""
    axes = work.model.point_axes.reshape(-1, 3, 3)[point]
    link = int(work.model.point_link[point])
    found: Floats = (axes if link < 0 else axes @ work.axes.reshape(-1, 3, 3)[link]).T
    return found


def _typical_length(machine: Machine) -> float:
    origins = np.linalg.norm(machine.mechanism.model.fixed_origin.reshape(-1, 3), axis=1)
    frames = np.linalg.norm(machine.mechanism.model.frame_at.reshape(-1, 3), axis=1)
    sizes = np.concatenate([origins, frames])
    return float(sizes[sizes > 0.0].mean()) if (sizes > 0.0).any() else 1.0


def _sigmas(machine: Machine, pose: ReadPose) -> dict[str, float]:
    """Return the standard deviation of each reading; 0 where it is kept exactly."""
    sensors = {sensor.joint: sensor for sensor in machine.sensors}
    redundant = len(pose.readings) > machine.dof
    found = {}
    for name in pose.readings:
        own = 0.0
        if redundant and name in sensors:
            own = math.hypot(sensors[name].noise, sensors[name].resolution / math.sqrt(12.0))
        found[name] = pose.sigma.get(name, own)
    return found


def _independent(machine: Machine, pose: ReadPose, sigma: dict[str, float]) -> list[str]:
    """Return the joints read in a pose that determine it, those kept exactly first. Raises RefusedData."""
    exact = [name for name in pose.readings if sigma[name] <= 0.0]
    if len(exact) >= machine.dof:
        try:
            return independent_joints(machine, exact)
        except ValueError:
            pass
    ordered = [*exact, *(name for name in pose.readings if name not in exact)]
    try:
        return independent_joints(machine, ordered)
    except ValueError as error:
        raise RefusedData("readings", f"pose {pose.name}: {error}") from None


def _closed(
    machine: Machine, poses: Sequence[ReadPose], independent: Sequence[Sequence[str]]
) -> list[Floats]:
    """Return each pose (nq) on the file's numbers, from the nearest known one. Raises RefusedData."""
    mechanism, known = machine.mechanism, [np.array(machine.initial_q)]
    found = []
    for pose, joints in zip(poses, independent, strict=True):
        places = [mechanism.joint_index(name) for name in joints]
        y = np.array([pose.readings[name] for name in joints])
        nearest = sorted(known, key=lambda q: float(np.abs(q[places] - y).max()))
        for start in (nearest[0], known[0]):
            way = ClosedPoses(mechanism, start, joints)
            if way.go_to(y):
                break
        else:
            raise RefusedData(
                "pose",
                f"pose {pose.name}: the loops of {machine.name} cannot be closed on the way to it: check "
                "units, zeros and signs of the readings",
            )
        found.append(way.pose)
        known.append(way.pose)
    return found


def _edges(measured: GeometryMeasurements) -> dict[tuple[str, str], int]:
    """Return the number of unknowns of each straightedge (4) and plane (3)."""
    sizes = {"line": 4, "plane": 3}
    return {(row.kind, row.name): sizes[row.kind] for row in measured.rows if row.kind in sizes}
