"""Poses worth measuring: a D-optimal exchange among the poses of a grid inside the workspace."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from linkwork.arrays import Floats
from linkwork.calibration.choice import chosen
from linkwork.calibration.geometry import GeometricParameter, Geometry
from linkwork.calibration.information import Information, admitted_changes, eliminated, information
from linkwork.calibration.linearisation import LinearPoses
from linkwork.calibration.measurements import GeometryMeasurements, MeasuredRow, ReadPose
from linkwork.calibration.prior import Prior
from linkwork.identification.consistent_samples import ClosedPoses, independent_joints
from linkwork.identification.measured_motion import RefusedData
from linkwork.machine import Machine
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.coordinate_scales import reach_m
from linkwork.multibody.tree.kinematics import kinematics

_GRID = 400
_EDGE = 0.05
"""Share of a joint's range that stays free at its limits."""
_PASSES = 10
_REGULAR = 0.05
"""Least singular value of the dependent columns of the scaled closures in a pose worth measuring."""
PlannedKind = Literal["position", "distance"]


@dataclass(frozen=True, eq=False)
class CalibrationPlan:
    """Measurements to make, without their values, and what they would make known."""

    machine: Machine
    measured: GeometryMeasurements
    parameters: tuple[GeometricParameter, ...]
    information: Information

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data, SI units."""
        sigma = self.information.sigma.tolist()
        return {
            "machine": self.machine.name,
            "poses": [{"pose": pose.name, "q": dict(pose.readings)} for pose in self.measured.poses],
            "rows": [
                {"kind": row.kind, "poses": [self.measured.poses[k].name for k in row.poses]}
                for row in self.measured.rows
            ],
            "rank": self.information.rank,
            "expected_sigma": {
                each.name: value if math.isfinite(value) else None
                for each, value in zip(self.parameters, sigma, strict=True)
            },
        }

    def csv(self) -> str:
        """Return the rows as a file of measurements whose values are to be filled in."""
        joints = list(self.measured.read)
        angles = dict(
            zip(self.machine.mechanism.joint_names, self.machine.mechanism.joint_is_angle, strict=True)
        )
        columns = [f"q/{name}_{'rad' if angles[name] else 'm'}" for name in joints]
        lines = [",".join(["kind,pose,pose_2,point", *columns, "x_m,y_m,z_m,value_m,sigma_m"])]
        seen: set[int] = set()
        for row in self.measured.rows:
            for k in (*row.poses[1:], *row.poses[:1]):  # the other pose's readings first
                pose = self.measured.poses[k]
                last = k == row.poses[0]
                if not last and k in seen:
                    continue
                other = self.measured.poses[row.poses[1]].name if last and len(row.poses) > 1 else ""
                readings = ["" if k in seen else f"{pose.readings[name]:.9f}" for name in joints]
                kind, point, sigma = (row.kind, row.point, f"{row.sigma:g}") if last else ("pose", "", "")
                lines.append(",".join([kind, pose.name, other, point, *readings, "", "", "", "", sigma]))
                seen.add(k)
        return "\n".join([*lines, ""])


def planned(
    machine: Machine,
    count: int,
    kind: PlannedKind = "position",
    sigma: float = 5e-5,
    parameters: Sequence[str] = (),
    prior: Prior | None = None,
    after: GeometryMeasurements | None = None,
) -> CalibrationPlan:
    """Choose `count` measurements of the tool: positions, or distances between two poses each.

    sigma: standard deviation of the instrument, m. after: measurements that exist, which the new ones
    complete. Raises RefusedData, UnknownParameter.
    """
    points = machine.mechanism.point_names
    if not points:
        raise RefusedData("points", f"{machine.name} has no section points: give it the point to measure")
    point = "tool" if "tool" in points else points[0]
    poses = grid_poses(machine)
    rows = tuple(
        MeasuredRow("position", (k,), point, (0.0, 0.0, 0.0), sigma=sigma) for k in range(len(poses))
    )
    everything = GeometryMeasurements("plan", tuple(poses), rows)
    geometry = Geometry(machine)
    seen = replace(everything, rows=tuple(replace(row, position=(None,) * 3) for row in rows))
    own = chosen(machine, seen if after is None else after, geometry, parameters)
    grid = LinearPoses(machine, everything, own, geometry)
    before = (prior or Prior()).of(own)
    admitted = admitted_changes(grid.unclosed(), before)
    scaled = (grid.linear().by_parameters * before).reshape(len(poses), 3, len(own))
    known = np.zeros((0, len(own)))
    if after is not None:
        known = eliminated(LinearPoses(machine, after, own, geometry).linear())[0]
    start = np.eye(len(own)) + (known * before).T @ (known * before)
    if kind == "position":
        names: list[tuple[int, ...]] = [(k,) for k in range(len(poses))]
        blocks = scaled
    else:
        pairs, blocks = _pairs(scaled, grid.places())
        names = [*pairs]
    best = exchange(blocks, count, start)
    picked = [names[k] for k in best]
    order = {k: place for place, k in enumerate(dict.fromkeys(itertools.chain.from_iterable(picked)))}
    kept = tuple(ReadPose(f"P{place + 1}", poses[k].readings) for k, place in order.items())
    chosen_rows = tuple(
        MeasuredRow(kind, tuple(order[k] for k in each), point, sigma=sigma) for each in picked
    )
    whole = np.vstack([known, *(blocks[k] / before for k in best)])
    info = information(whole, before, admitted)
    return CalibrationPlan(machine, GeometryMeasurements("plan", kept, chosen_rows), tuple(own), info)


def grid_poses(machine: Machine) -> list[ReadPose]:
    """Return the poses of a grid of independent joints that can be reached from the initial pose."""
    mechanism = machine.mechanism
    read = [sensor.joint for sensor in machine.sensors]
    joints = independent_joints(machine, list(dict.fromkeys([*read, *mechanism.joint_names])))
    levels = max(3, round(_GRID ** (1.0 / len(joints))))
    axes = [_levels(machine, name, levels) for name in joints]
    start = tuple(
        int(np.argmin(np.abs(axis - machine.initial_q[mechanism.joint_index(name)])))
        for name, axis in zip(joints, axes, strict=True)
    )
    waiting, tried = [(start, np.array(machine.initial_q))], {start}
    found = list[ReadPose]()
    while waiting and len(found) < 4 * _GRID:
        place, near = waiting.pop(0)
        y = np.array([axis[k] for axis, k in zip(axes, place, strict=True)])
        way = ClosedPoses(mechanism, near, joints)
        if not way.go_to(y) or not _usable(machine, way.pose, joints):
            continue
        found.append(ReadPose(f"G{len(found)}", dict(zip(joints, y.tolist(), strict=True))))
        for k, change in itertools.product(range(len(place)), (-1, 1)):
            new = (*place[:k], place[k] + change, *place[k + 1 :])
            if 0 <= new[k] < len(axes[k]) and new not in tried:
                tried.add(new)
                waiting.append((new, way.pose))
    if len(found) < 2:
        raise RefusedData("poses", f"no poses of {machine.name} can be reached from its initial one")
    return found


def exchange(blocks: Floats, count: int, start: Floats) -> list[int]:
    """Return candidates (blocks: candidates × rows × n) that make log det of the information largest.

    start: information (n × n) there is already. A candidate is chosen once.
    """
    count = min(count, len(blocks))
    kept: list[int] = []
    whole = start.copy()

    def gains() -> Floats:
        inverse = np.linalg.inv(whole)
        inner = np.einsum("cin,nm,cjm->cij", blocks, inverse, blocks, optimize=True)
        found: Floats = np.linalg.slogdet(np.eye(blocks.shape[1]) + inner)[1]
        found[kept] = -np.inf
        return found

    for _ in range(count):
        kept.append(int(np.argmax(gains())))
        whole += blocks[kept[-1]].T @ blocks[kept[-1]]
    for _ in range(_PASSES):
        changed = False
        for _ in range(count):
            old = kept.pop(0)
            whole -= blocks[old].T @ blocks[old]
            kept.append(int(np.argmax(gains())))
            whole += blocks[kept[-1]].T @ blocks[kept[-1]]
            changed |= kept[-1] != old
        if not changed:
            break
    return kept


def _pairs(scaled: Floats, places: Floats) -> tuple[list[tuple[int, int]], Floats]:
    """Return pairs of poses that are not at one place, and the rows of their distances."""
    one, other = np.triu_indices(len(places), 1)
    ways = places[one] - places[other]
    sizes = np.linalg.norm(ways, axis=1)
    far = sizes > 0.05 * float(sizes.max(initial=0.0))
    one, other, ways = one[far], other[far], ways[far] / sizes[far][:, None]
    rows = np.einsum("ck,ckn->cn", ways, scaled[one] - scaled[other])
    return list(zip(one.tolist(), other.tolist(), strict=True)), rows[:, None, :]


def _levels(machine: Machine, name: str, count: int) -> Floats:
    mechanism = machine.mechanism
    place = mechanism.joint_index(name)
    lowest, highest = machine.joints[place].position
    if not math.isfinite(highest - lowest):
        half = 1.0 if mechanism.joint_is_angle[place] else 0.25 * reach_m(mechanism)
        middle = float(machine.initial_q[place])
        lowest, highest = max(lowest, middle - half), min(highest, middle + half)
    margin = _EDGE * (highest - lowest)
    return np.linspace(lowest + margin, highest - margin, count)


def _usable(machine: Machine, q: Floats, joints: Sequence[str]) -> bool:
    """Return whether a pose is within the limits of all joints and not singular."""
    for limits, value in zip(machine.joints, q[: len(machine.joints)].tolist(), strict=True):
        if not limits.position[0] <= value <= limits.position[1]:
            return False
    return _straightness(machine, q, joints) > _REGULAR


def _straightness(machine: Machine, q: Floats, joints: Sequence[str]) -> float:
    """Return the least singular value of the dependent columns of the scaled closures in a pose."""
    mechanism = machine.mechanism
    model = mechanism.model
    rest = np.setdiff1d(np.arange(mechanism.nv), [mechanism.joint_index(name) for name in joints])
    if not model.n_rows or not len(rest):
        return 1.0
    work = mechanism.workspace(q)
    kinematics(*work.arguments)
    constraint_rows(*work.arguments)
    columns = model.row_scale[:, None] * work.A[:, rest] * model.column_scale[rest]
    return float(np.linalg.svd(columns, compute_uv=False)[-1])
