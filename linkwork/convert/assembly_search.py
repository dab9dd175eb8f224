"""Search for all assembly modes of a closed machine whose independent joints stand at given values.

Newton's method starts from random poses. The modes that are known are deflated: with the distance η_i to
each, the closures times m = Π (1 + 1/η_i²) have the same other zeros and no longer these. The deflated step
is parallel to Newton's step δ, δ / (1 - δ'∇log m) (Farrell, Birkisson & Funke 2015, doi:10.1137/140984798),
so that each start finds another mode or none.

Poses are compared by places (mode_places.py), so that flips of a universal joint count once.
"""

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.initial_assembly import admitted, independent_values
from linkwork.machine.building.kept_values import Ball, balls, keeping, values_of
from linkwork.machine.checks.assembly_modes import hinge_senses, within_limits
from linkwork.machine.checks.mode_places import ModePlaces, same_mode
from linkwork.machine.description import Machine
from linkwork.multibody.assembly.assembly import LONGEST, AssemblyError, assemble_workspace, decide_rank
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by

FRUITLESS = 100
"""Starts in succession without a new mode, after which the search ends."""
_ITERATIONS = 60
_CLOSED, _EXACT = 1e-7, 1e-12
"""Scaled residuals at which an iteration ends, and the one that the mode then has."""
_SHORT, _SHORTEST = 1e-4, 1e-7
"""Singular values of the scaled rows below which Newton's step leaves a direction out, first and last: beside
the manifold dependent rows look independent, and in some modes independent ones are short."""
_STALLED, _FINER = 0.5, 0.1
"""Share of a residual that a step leaves where more directions are needed, and the factor of their limit."""
_PROBE = 1e-6
_NORMAL_95 = 1.96
_FARTHEST = 2.0
"""Random positions of slides: up to this many typical lengths from 0, where no limits are given."""


class ValuesDepend(ValueError):
    """Given joints that depend on each other; `names` are those that are too many."""

    def __init__(self, names: tuple[str, ...], dof: int) -> None:
        """Make the message."""
        self.names = names
        text = (
            f"{', '.join(names)} cannot be given beside the others: the machine has {dof} degrees of freedom"
        )
        super().__init__(text)


@dataclass(frozen=True, eq=False)
class AssemblyMode:
    """One mode: its pose q (nq; rad, m), and whether that is the initial one and within all joints' limits.

    `conditioning` is the smallest singular value of the scaled rows with the given joints held: 1 in ordinary
    poses, 0 where modes meet.
    """

    q: Floats
    conditioning: float
    within: bool
    initial: bool


@dataclass(frozen=True, eq=False)
class FoundModes:
    """Modes, that of the initial pose first, then by conditioning; the joints held; and the starts.

    `cut_short`: whether the search ended before enough starts in succession had found no other mode.
    `missing`: estimate of the number of modes that were not found (`unseen`), from how often plain Newton
    steps from the random starts found each; `missing_range`: its 95 % interval.
    """

    held: dict[str, float]
    modes: tuple[AssemblyMode, ...]
    starts: int
    cut_short: bool
    missing: int
    missing_range: tuple[int, int]


def assembly_modes(
    machine: Machine,
    given: Mapping[str, float],
    fruitless: int = FRUITLESS,
    most: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
    *,
    estimate: bool = False,
) -> FoundModes:
    """Return every mode that the search finds with these joints at these values (rad, m).

    It ends after `fruitless` starts in succession without a new mode, after `most` starts, or after so many
    `seconds` of wall time and at least one start. `estimate`: whether the missing modes are estimated, which
    takes twice the steps.

    Without given values the motors' joints, then other independent ones, keep the values of the initial pose.
    Raises ValuesDepend where joints are given that depend on each other.
    """
    search = _Search(machine, given, np.random.default_rng(seed))
    starts = idle = 0
    end_s = math.inf if seconds is None else time.monotonic() + seconds
    search.start_from(machine.initial_q)
    while idle < fruitless and (most is None or starts < most) and (not starts or time.monotonic() < end_s):
        found, start = len(search.poses), search.random_pose()
        if estimate:
            search.count_from(start)
        search.start_from(start)
        starts += 1
        idle = 0 if len(search.poses) > found else idle + 1
    modes = tuple(sorted(search.modes(), key=lambda mode: (not mode.initial, -mode.conditioning)))
    missing, least, most_missing = search.missing()
    return FoundModes(search.held, modes, starts, idle < fruitless, missing, (least, most_missing))


def unseen(once: int, twice: int) -> tuple[float, float, float]:
    """Return how many modes were never found, and the 95 % interval, of those found `once` and `twice`.

    The bias-corrected estimate of Chao (1984, doi:10.2307/4615964) with the log-normal interval of Chao
    (1987, doi:10.2307/2531532). The estimate is from below: modes differ in how easily they are found.
    """
    n, pairs = twice + 1.0, once * (once - 1.0)
    number = pairs / (2.0 * n)
    variance = number + once * ((2.0 * once - 1.0) / (2.0 * n)) ** 2 + twice * (pairs / (2.0 * n**2)) ** 2
    if number == 0.0:
        return 0.0, 0.0, _NORMAL_95 * math.sqrt(variance)
    ratio = math.exp(_NORMAL_95 * math.sqrt(math.log1p(variance / number**2)))
    return number, number / ratio, number * ratio


def initial_values(
    machine: Machine, mode: AssemblyMode, held: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Return the sections `initial` and `initial_guess` of a machine file that select a mode (deg, m)."""
    mechanism = machine.mechanism
    sections: dict[str, dict[str, float]] = {"initial": {}, "initial_guess": {}}
    for name, value in values_of(mechanism, mode.q).items():
        known = name in mechanism.joint_names
        is_angle = not known or mechanism.joint_is_angle[mechanism.joint_index(name)]
        shown = math.degrees(math.remainder(value, math.tau)) if is_angle else value
        section = "initial" if name in held else "initial_guess"
        exact = math.degrees(value) if is_angle else value
        sections[section][f"{name}_{'deg' if is_angle else 'm'}"] = round(exact if name in held else shown, 7)
    return sections


class _Search:
    """The machine with its independent joints held, and the poses found so far."""

    def __init__(self, machine: Machine, given: Mapping[str, float], rng: np.random.Generator) -> None:
        mechanism = machine.mechanism
        self.machine, self._rng = machine, rng
        first = [*given, *(motor.joint for motor in machine.motors), *machine.assembly.kept]
        ways = admitted(mechanism, machine.initial_q)
        values = values_of(mechanism, machine.initial_q)
        names = independent_values(mechanism, ways, machine.initial_q, [*first, *values])
        excess = tuple(name for name in given if name not in names)
        if excess:
            raise ValuesDepend(excess, machine.dof)
        values |= given
        self.held = {name: values[name] for name in names}
        self.mechanism = keeping(mechanism, names, self.held)
        self._work = self.mechanism.workspace()
        self._columns = self._work.model.column_scale
        self._rows = self._work.model.row_scale
        self._places = ModePlaces(mechanism)
        self._balls: list[Ball] = balls(mechanism)
        self._senses = hinge_senses(mechanism, machine.initial_q)
        self.poses: list[Floats] = []
        self._known: list[Floats] = []
        self._times: list[int] = []
        self._deflated = True

    def random_pose(self) -> Floats:
        """Return a random pose (nq) with the held joints at their values."""
        mechanism = self.machine.mechanism
        q = np.zeros(mechanism.nq)
        for k, limits in enumerate(self.machine.joints):
            reach = math.pi if limits.is_angle else _FARTHEST * self._places.length
            low, high = limits.position if not limits.is_angle else (-math.inf, math.inf)
            begin, end = (edge if math.isfinite(edge) else s * reach for edge, s in ((low, -1), (high, 1)))
            q[k] = self._rng.uniform(begin, end)
        for ball in self._balls:
            turned = self._rng.normal(size=4)
            own = [ball.scalar, ball.place, ball.place + 1, ball.place + 2]
            is_held = self.held.keys() >= set(ball.values())
            q[own] = self.machine.initial_q[own] if is_held else turned / np.linalg.norm(turned)
        for name in self.held.keys() & set(mechanism.joint_names):
            q[mechanism.joint_index(name)] = self.held[name]
        return q

    def count_from(self, q: Floats) -> None:
        """Search from a pose (nq) without deflation, and count the mode that is found."""
        self._deflated = False
        self.start_from(q)
        self._deflated = True

    def missing(self) -> tuple[int, int, int]:
        """Return how many more modes exist, and least and most of them, by how often plain steps found each.

        Those that deflation alone found are among the unseen ones of the plain steps.
        """
        number, least, most = unseen(self._times.count(1), self._times.count(2))
        others = self._times.count(0)
        return (
            max(0, round(number) - others),
            max(0, math.floor(least) - others),
            max(0, math.ceil(most - 1e-9) - others),
        )

    def start_from(self, q: Floats) -> None:
        """Search from a pose (nq), and note the pose that is found if it is new."""
        work = self._work
        work.q[:] = q
        work.level[0] = 1.0
        residual, limit = math.inf, _SHORT
        for _ in range(_ITERATIONS):
            before, residual = residual, self._step(limit)
            if residual < _CLOSED:
                break
            if residual > _STALLED * before:
                limit = max(_SHORTEST, _FINER * limit)
        work.level[0] = 0.0
        if residual >= _CLOSED:
            return
        work.v[:] = 0.0
        with suppress(AssemblyError):
            found = assemble_workspace(self.mechanism, work, _EXACT).q
            self._note(found)

    def _note(self, q: Floats) -> None:
        places = self._places.at(q)
        at = next((k for k, other in enumerate(self._known) if same_mode(places, other)), len(self._known))
        if at == len(self._known):
            self._known.append(places)
            self.poses.append(q.copy())
            self._times.append(0)
        self._times[at] += not self._deflated

    def _step(self, limit: float) -> float:
        """Make a deflated step without directions below `limit`; return the largest scaled |Φ| before it."""
        work = self._work
        kinematics(*work.arguments)
        constraint_rows(*work.arguments)
        phi = self._rows * work.phi
        residual = float(np.abs(phi).max(initial=0.0))
        if residual < _CLOSED or not np.isfinite(work.A).all():
            return residual if math.isfinite(residual) else math.inf
        scaled = self._rows[:, None] * work.A * self._columns
        step = self._columns * np.linalg.lstsq(scaled, -phi, rcond=limit)[0]
        step *= self._deflation(work.q, step)
        size = float(np.abs(step / self._columns).max())
        move_by(work.model, work.q, step, min(1.0, LONGEST / max(size, 1e-300)))
        return residual

    def _deflation(self, q: Floats, step: Floats) -> float:
        """Return the factor 1 / (1 - δ'∇log m) of a step δ (nv), between -10 and 10."""
        if not (self._known and self._deflated):
            return 1.0
        probe = q.copy()
        move_by(self.mechanism.model, probe, step, _PROBE)
        slope = (self._log_deflation(probe) - self._log_deflation(q)) / _PROBE
        factor = 1.0 / (1.0 - slope) if abs(1.0 - slope) > 0.1 else math.copysign(10.0, 1.0 - slope)
        return max(-10.0, min(10.0, factor))

    def _log_deflation(self, q: Floats) -> float:
        places = self._places.at(q)
        ways = [np.sum(np.square(places - known)) for known in self._known]
        return float(np.log1p(1.0 / np.maximum(ways, 1e-30)).sum())

    def modes(self) -> list[AssemblyMode]:
        """Return the modes of the poses found, without those in which a hinge is turned over."""
        own = self._places.at(self.machine.initial_q)
        found = []
        for q in self.poses:
            if np.any(hinge_senses(self.machine.mechanism, q) != self._senses):
                continue
            decision = decide_rank(self.mechanism, q, positions=True)
            initial = same_mode(self._places.at(q), own)
            found.append(AssemblyMode(q, decision.smallest, within_limits(self.machine, q.copy()), initial))
        return found
