"""Requested outputs beside q and v: motions of points, reactions of joints; and all of it as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.reactions.reactions import Reaction, ReactionTable
from linkwork.multibody.tree.kinematics import kinematics


@dataclass(frozen=True, eq=False, repr=False)
class Tracks(Brief):
    """Tracks of named points: `position_m` and `velocity_m_s` in the world, samples × points × 3."""

    names: tuple[str, ...]
    position_m: Floats
    velocity_m_s: Floats

    def summary(self) -> dict[str, dict[str, list[float]]]:
        """Return the last position and velocity of each."""
        return {
            name: {
                "position_m": self.position_m[-1, k].tolist(),
                "velocity_m_s": self.velocity_m_s[-1, k].tolist(),
            }
            for k, name in enumerate(self.names)
        }


@dataclass(frozen=True, eq=False, repr=False)
class ReactionHistory(Brief):
    """Reactions of joints and constraints: bodies, place (world), force and moment about that place.

    Samples × names × 3, world axes, m, N and N m; reactions.py says what belongs to them. `effort` (samples ×
    names): of constraints on coordinates, the generalized force on the coordinate, in the unit that
    `effort_units` names ("N_m" or "N"; "" and 0 where there is none).
    """

    names: tuple[str, ...]
    on_bodies: tuple[str, ...]
    from_bodies: tuple[str, ...]
    effort_units: tuple[str, ...]
    at_m: Floats
    force_N: Floats
    moment_N_m: Floats
    effort: Floats

    @staticmethod
    def from_rows(table: ReactionTable, rows: Floats) -> ReactionHistory:
        """Return the reactions in rows (samples × names × 10) of a table's values."""
        return ReactionHistory(
            table.names,
            table.on_bodies,
            table.from_bodies,
            table.effort_units,
            rows[..., :3],
            rows[..., 3:6],
            rows[..., 6:9],
            rows[..., 9],
        )

    def summary(self) -> dict[str, dict[str, object]]:
        """Return the last values of each, and the largest magnitudes over all samples."""
        return {name: self._of(k) for k, name in enumerate(self.names)}

    def undetermined(self) -> ReactionHistory:
        """Return this history with NaN for all forces."""
        none = [np.full_like(each, np.nan) for each in (self.force_N, self.moment_N_m, self.effort)]
        return replace(self, force_N=none[0], moment_N_m=none[1], effort=none[2])

    def _of(self, k: int) -> dict[str, object]:
        found: dict[str, object] = {
            "on_body": self.on_bodies[k],
            "from_body": self.from_bodies[k],
            "at_m": self.at_m[-1, k].tolist(),
            "force_N": self.force_N[-1, k].tolist(),
            "moment_N_m": self.moment_N_m[-1, k].tolist(),
            "force_max_N": float(np.linalg.norm(self.force_N[:, k], axis=-1).max()),
            "moment_max_N_m": float(np.linalg.norm(self.moment_N_m[:, k], axis=-1).max()),
        }
        if self.effort_units[k]:
            unit = self.effort_units[k]
            found |= {
                f"effort_{unit}": float(self.effort[-1, k]),
                f"effort_max_{unit}": float(np.abs(self.effort[:, k]).max()),
            }
        return found


@dataclass(frozen=True, eq=False, repr=False)
class ConstraintEfforts(Brief):
    """Generalized force of all constraints, A'λ: `effort` (samples × names), in `units` ("N m", "N").

    It is what motors would have to give in place of the constraints, for the same motion.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    effort: Floats

    def undetermined(self) -> ConstraintEfforts:
        """Return these efforts with NaN for all values."""
        return replace(self, effort=np.full_like(self.effort, np.nan))

    def summary(self) -> dict[str, dict[str, object]]:
        """Return the last value of each, and the largest magnitude over all samples."""
        return {
            name: {
                "unit": self.units[k],
                "effort": float(self.effort[-1, k]),
                "effort_max": float(np.abs(self.effort[:, k]).max()),
            }
            for k, name in enumerate(self.names)
        }

    def columns(self) -> dict[str, Floats]:
        """Return each column (samples) by the name that files use."""
        return {
            f"{name}_constraint_{unit.replace(' ', '_')}": self.effort[:, k]
            for k, (name, unit) in enumerate(zip(self.names, self.units, strict=True))
        }


def known_points(mechanism: Mechanism, names: Sequence[str]) -> tuple[str, ...]:
    """The names without repetition. Raises ValueError with the points that there are."""
    for name in names:
        if name not in mechanism.point_names:
            there = (
                ", ".join(mechanism.point_names) or "none; the machine file's `points` section defines them"
            )
            raise ValueError(f"there is no point {name!r}; there are {there}")
    return tuple(dict.fromkeys(names))


def tracked(mechanism: Mechanism, names: Sequence[str], q: Floats, v: Floats) -> Tracks:
    """Return the points of a mechanism along a motion with states q (samples × nq), v (samples × nv)."""
    places = [mechanism.point_index(name) for name in names]
    work = mechanism.workspace()
    position, velocity = np.empty((len(q), len(places), 3)), np.empty((len(q), len(places), 3))
    for row in range(len(q)):
        work.q[:], work.v[:] = q[row], v[row]
        kinematics(*work.arguments)
        position[row], velocity[row] = work.point_position[places], work.point_velocity[places]
    return Tracks(tuple(names), position, velocity)


def reactions_of_steps(found: Sequence[tuple[Reaction, ...]]) -> ReactionHistory:
    """Reactions that a stepper has found itself, one entry for each sample."""
    first = found[0]
    rows = np.array(
        [[np.concatenate([each.at_m, each.force_N, each.moment_N_m]) for each in now] for now in found]
    ).reshape(len(found), len(first), 9)
    return ReactionHistory(
        tuple(each.joint for each in first),
        tuple(each.on_body for each in first),
        tuple(each.from_body for each in first),
        tuple("" for _ in first),
        rows[..., :3],
        rows[..., 3:6],
        rows[..., 6:],
        np.zeros(rows.shape[:2]),
    )


def columns_of(
    points: Tracks | None, reactions: ReactionHistory | None, efforts: ConstraintEfforts | None = None
) -> dict[str, Floats]:
    """Return the columns (samples) of a file by name."""
    columns: dict[str, Floats] = {} if efforts is None else efforts.columns()
    if points is not None:
        for k, name in enumerate(points.names):
            columns |= {f"{name}.{axis}_m": points.position_m[:, k, i] for i, axis in enumerate("xyz")}
            columns |= {f"{name}.v{axis}_m_s": points.velocity_m_s[:, k, i] for i, axis in enumerate("xyz")}
    if reactions is not None:
        for k, name in enumerate(reactions.names):
            columns |= {f"{name}.f{axis}_N": reactions.force_N[:, k, i] for i, axis in enumerate("xyz")}
            columns |= {f"{name}.m{axis}_N_m": reactions.moment_N_m[:, k, i] for i, axis in enumerate("xyz")}
            if reactions.effort_units[k]:
                columns[f"{name}.effort_{reactions.effort_units[k]}"] = reactions.effort[:, k]
    return columns
