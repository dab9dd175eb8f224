"""Reactions and constraint efforts along an offline motion, found while it runs.

They are evaluated a piece of the motion at a time, by one compiled call, with the efforts and the constraints
that hold in that piece. At an instant at which these change there are two values: at the end of the step that
leads there, and at the beginning of the step that starts there.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.reactions.reaction_kernels import reactions_along
from linkwork.multibody.reactions.reactions import ReactionTable
from linkwork.multibody.workspace import Workspace
from linkwork.offline.outputs import ConstraintEfforts, ReactionHistory

PLACES: Final = {"begin": 0.0, "middle": 0.5, "end": 1.0}
"""Where in a step reactions are taken, as the part of the step before it."""


@dataclass(frozen=True)
class ReactionRequest:
    """The reactions to compute: of joints and constraints, the generalized constraint forces, and where.

    `at`: a name of PLACES; None: in the middle for `taylor`, else at the beginning.
    """

    reactions: bool = False
    constraint_efforts: bool = False
    at: str | None = None


def place_in_step(wanted: ReactionRequest, formulation: str) -> float:
    """The part of a step after which reactions are taken. Raises ValueError for what there is not."""
    if wanted.at is None:
        return PLACES["middle" if formulation == "taylor" else "begin"]
    if wanted.at not in PLACES:
        raise ValueError(f"reactions cannot be taken at {wanted.at!r}; there are {', '.join(PLACES)}")
    if formulation != "taylor" and wanted.at == "middle":
        raise ValueError("only taylor computes reactions in the middle of a step: choose begin or end")
    if formulation != "taylor" and not (wanted.reactions or wanted.constraint_efforts):
        raise ValueError("the place of reactions applies only with reactions, or to taylor")
    return PLACES[wanted.at]


class ReactionRecorder:
    """Record a motion piece by piece: `before` each, then `after` it, and `finish` at the end."""

    def __init__(self, mechanism: Mechanism, every: int, at_end: bool, reactions: bool) -> None:
        """Set memory aside. `every`: steps between samples. `reactions`: else constraint efforts alone."""
        self._mechanism, self._every, self._at_end = mechanism, every, at_end
        self._table = ReactionTable(mechanism)
        self._width = self._table.values.size if reactions else 0
        self._work = mechanism.workspace()
        self._results: list[Floats] = []
        self._forces: list[Floats] = []
        self._begin = np.empty((1, len(self._work.q) + len(self._work.v)))
        self._last = self._begin.copy()
        self._time_s = 0.0

    def before(self, work: Workspace) -> None:
        """Note the state and the conditions with which the next piece begins."""
        self._work.buffer[:] = work.buffer
        self._begin[0] = np.concatenate([work.q, work.v])
        self._time_s = float(work.clock[0])

    def after(self, done: int, count: int, step_s: float, states: Floats) -> None:
        """Record a piece of `count` steps after the first `done`; states (count rows × (nq + nv)) are after
        each.
        """
        if self._at_end and done == 0:
            self._evaluate(self._begin, np.array([self._time_s]))
        self._last[0] = states[-1]
        numbers = np.arange(done, done + count) + (1 if self._at_end else 0)
        places = np.flatnonzero(numbers % self._every == 0)
        if len(places) == 0:
            return
        if self._at_end:
            found: Floats = states[places]
        else:
            begins: Floats = np.concatenate([self._begin, states[:-1]])
            found = begins[places]
        since: Floats = step_s * (places + (1 if self._at_end else 0)).astype(np.float64)
        self._evaluate(found, self._time_s + since)

    def finish(self, work: Workspace, steps: int) -> None:
        """Take up the last sample, where `after` has not: it begins no step, or lies between samples."""
        if not self._at_end:
            self.before(work)
            self._evaluate(self._begin, np.array([self._time_s]))
        elif steps % self._every:
            self._evaluate(self._last, np.array([work.clock[0]]))

    def _evaluate(self, states: Floats, times_s: Floats) -> None:
        results = np.empty((len(states), self._width))
        forces = np.empty((len(states), len(self._work.v)))
        work, table = self._work, self._table
        reactions_along(
            *work.arguments,
            table.memory,
            np.ascontiguousarray(states),
            np.ascontiguousarray(times_s, dtype=np.float64),
            results,
            forces,
        )
        self._results.append(results)
        self._forces.append(forces)

    def reactions(self) -> ReactionHistory:
        """Return the reactions of all samples."""
        rows = np.concatenate(self._results).reshape(-1, len(self._table.names), 10)
        return ReactionHistory.from_rows(self._table, rows)

    def constraint_efforts(self) -> ConstraintEfforts:
        """Return the constraint efforts of all samples."""
        mechanism = self._mechanism
        units = tuple("N m" if angle else "N" for angle in mechanism.joint_is_angle)
        return ConstraintEfforts(mechanism.joint_names, units, np.concatenate(self._forces))
