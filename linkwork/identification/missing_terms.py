"""Terms that the model of a machine lacks: friction of other shapes, springs, loads that change.

Each kind of missing term gives columns beside those of the model. Projected off the model's columns they show
whether the residuals contain that term (an F test), and how much of it the model's own columns would absorb.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import f as f_distribution

from linkwork.arrays import Flags, Floats
from linkwork.identification.base_estimate import BaseEstimate
from linkwork.identification.filtered_equations import Equations
from linkwork.machine import Machine

_SIGNIFICANCE = 1e-5
"""Probability, for all kinds together, with which noise alone gives a finding."""
_LENIENCE = 1.25
"""Factor of the F statistic that the noise model's own uncertainty may explain."""
_ABSORBED = 0.05
"""Share of a term beside the model's columns below which the data cannot show it."""
_NEAR_S = 0.06
"""Time on both sides of a reversal of the effort in which play acts."""
_RISE, _LARGE = 4.0, 0.02
"""Play: least power of the residual near reversals over that elsewhere, and least rms over the effort's."""
_REVERSALS, _SWING = 4, 0.1
"""Fewest reversals of an effort that show play, and its least size on both sides, over its rms."""
_ZERO, _LEAST_VISIBLE = 5e-3, 0.01
"""Least error of an encoder's zero, in scaled coordinates, and share of it that the model does not absorb."""
_PARTS, _LEAST_PART = 20, 20
"""Parts of a recording whose residuals are compared, and their least number of equations."""
_SLOW_S, _LARGE_CHANGE = 0.1, 0.005
"""A changed load: time over which efforts are averaged, and least rms of the change over the effort's.

Noise of encoders that the control loop feeds back to the efforts changes the fit too, at high frequencies.
"""
_BURST, _LARGE_BURST = 3.0, 0.05
"""A part with another load: least rms over the usual part's, and over the effort's."""
_USUAL = 0.7
"""Fast motion, as a share of the largest speed."""
_SHAPES = ("stribeck_slow", "stribeck_fast", "quadratic", "spring")
STRIBECK = "Stribeck friction (more friction at low speed)"
_KINDS = {
    STRIBECK: ("stribeck_slow", "stribeck_fast"),
    "friction that grows with the square of the speed": ("quadratic",),
    "a spring or another force that depends on the position": ("spring",),
}
PLAY = "play of a gear, coupling or joint"
ZERO = "an encoder's zero, or a length, that is not the file's (`linkwork calibrate` finds them)"
CHANGING_LOAD = "a load or friction that changed during the recording"


@dataclass(frozen=True)
class MissingTerm:
    """A kind of term: its F statistic over its limit, and the share that the model does not absorb.

    found: the residuals contain it. share: of the residuals' variance that it explains.
    """

    kind: str
    statistic: float
    share: float
    visible: float

    @property
    def found(self) -> bool:
        """Whether the residuals contain it."""
        return self.statistic > 1.0

    @property
    def excluded(self) -> bool:
        """Whether the data would show it."""
        return self.visible > _ABSORBED


def extra_columns(
    machine: Machine, joints: Sequence[str], speeds: Floats
) -> Callable[[Floats, Floats], Floats]:
    """Return the columns (nv × 4 joints) of terms at independent joints, as a function of q and v.

    speeds: largest speed of each joint.
    """
    speeds = _USUAL * speeds
    mechanism = machine.mechanism
    places = [mechanism.joint_index(name) for name in joints]
    sharp = mechanism.model.coulomb_speed[places]
    slow, fast = 0.03 * speeds, 0.15 * speeds
    middle = machine.initial_q[places]

    def columns(q: Floats, v: Floats) -> Floats:
        found = np.zeros((mechanism.nv, len(_SHAPES) * len(places)))
        rate = v[places]
        sign = np.tanh(rate / sharp)
        shapes = (
            sign * np.exp(-((rate / slow) ** 2)),
            sign * np.exp(-((rate / fast) ** 2)),
            rate * np.abs(rate),
            q[places] - middle,
        )
        for k, shape in enumerate(shapes):
            found[places, k * len(places) + np.arange(len(places))] = shape
        return found

    return columns


def missing_terms(
    equations: Equations,
    found: BaseEstimate,
    kept: Sequence[int],
    by_file: Floats,
    zeros: tuple[Floats, Floats, Floats] | None = None,
) -> list[MissingTerm]:
    """Return the kinds of missing terms, the most significant first.

    by_file (rows): efforts by the file. zeros: whitened equations in which encoders' zeros are tested, their
    residual, and its change by each zero.
    """
    count = len(equations.joints)
    groups: dict[str, Floats] = {}
    for kind, shapes in _KINDS.items():
        places = [_SHAPES.index(shape) * count + k for shape in shapes for k in range(count)]
        groups[kind] = found.whitening.of(equations.extra[:, places], found.series)
    later = _later(equations, kept)
    groups[CHANGING_LOAD] = found.whitening.of(later, found.series)
    basis = _range(found.matrix)
    rest = found.side - basis @ (basis.T @ found.side)
    left = len(rest) - basis.shape[1]
    terms = [_term(kind, columns, basis, rest, left, len(groups)) for kind, columns in groups.items()]
    changed = terms[-1]
    if (
        changed.found
        and _slow_change(equations, found, equations.matrix[:, list(kept)], later) < _LARGE_CHANGE
    ):
        terms[-1] = _not_found(changed)
    terms.append(_play(equations, found, by_file))
    if zeros is not None:
        terms.append(_zero(*zeros, len(groups)))
    burst = _burst(equations, found)
    terms = [max(each, burst, key=_strength) if each.kind == burst.kind else each for each in terms]
    return sorted(terms, key=_strength, reverse=True)


def _not_found(term: MissingTerm) -> MissingTerm:
    return replace(term, statistic=min(term.statistic, 1.0))


def _slow_change(equations: Equations, found: BaseEstimate, own: Floats, later: Floats) -> float:
    """Return the change of the efforts' slow part by further columns: the largest rms over the effort's."""
    columns = np.hstack([own, later])
    delays = found.matrix[:, own.shape[1] :]
    white = np.hstack([found.whitening.of(columns, found.series), delays])
    size = np.linalg.norm(white, axis=0)
    size[size == 0.0] = 1.0
    values = np.linalg.lstsq(white / size, found.side, rcond=1e-10)[0] / size
    change = columns @ values[: columns.shape[1]] - own @ found.values
    largest = 0.0
    for row, pieces in enumerate(found.series):
        step = float(np.median(np.diff(equations.time_s[equations.row == row])))
        width = max(1, round(_SLOW_S / step))
        slow = [np.convolve(change[places], np.full(width, 1.0 / width), mode="same") for places in pieces]
        effort = float(np.sqrt(np.mean(found.measured[equations.row == row] ** 2)))
        largest = max(largest, float(np.sqrt(np.mean(np.concatenate(slow) ** 2))) / max(effort, 1e-300))
    return largest


def _strength(term: MissingTerm) -> float:
    return term.statistic


def _burst(equations: Equations, found: BaseEstimate) -> MissingTerm:
    """Return whether the residuals of a part of the recording are many times those of its usual parts."""
    statistic = share = 0.0
    for row in range(len(equations.joints)):
        rest = found.residual[equations.row == row]
        size = float(np.sqrt(np.mean(found.measured[equations.row == row] ** 2)))
        count = min(_PARTS, len(rest) // _LEAST_PART)
        if count < 4:
            continue
        power = np.array([np.mean(part**2) for part in np.array_split(rest, count)])
        rise = float(np.sqrt(power.max() / max(float(np.median(power)), 1e-300))) / _BURST
        if np.sqrt(power.max()) > _LARGE_BURST * size and rise > statistic:
            statistic, share = rise, float(power.max() / power.sum())
    return MissingTerm(CHANGING_LOAD, statistic, share, 1.0)


def _zero(matrix: Floats, side: Floats, changes: Floats, tests: int) -> MissingTerm:
    """Return whether residuals show that encoders' zeros are wrong, by more than small errors."""
    basis = _range(matrix)
    rest = side - basis @ (basis.T @ side)
    found = _term(ZERO, changes, basis, rest, len(rest) - basis.shape[1], tests)
    beside = changes - basis @ (basis.T @ changes)
    size = float(np.abs(np.linalg.lstsq(beside, rest, rcond=1e-6)[0]).max(initial=0.0))
    return found if size > _ZERO and found.visible > _LEAST_VISIBLE else _not_found(found)


def _later(equations: Equations, kept: Sequence[int]) -> Floats:
    """Return the model's columns in all parts of the recording but the first (rows × 3 columns)."""
    part = np.searchsorted(np.quantile(equations.time_s, [0.25, 0.5, 0.75]), equations.time_s)
    own = equations.matrix[:, list(kept)]
    return np.hstack([own * (part == k)[:, None] for k in (1, 2, 3)])


def _play(equations: Equations, found: BaseEstimate, by_file: Floats) -> MissingTerm:
    """Return whether residuals are large just where efforts are reversed and play is crossed.

    Large play spoils the fit itself, which then suits the crossings: the file's residuals show it too.
    """
    statistic = share = visible = 0.0
    for row in range(len(equations.joints)):
        own = equations.row == row
        effort = found.measured[own]
        size = float(np.sqrt(np.mean(effort**2)))
        width = max(2, round(_NEAR_S / float(np.median(np.diff(equations.time_s[own])))))
        reversals = _reversals(effort, _SWING * size) & (np.diff(equations.block[own]) == 0)
        near = np.convolve(np.append(reversals, False), np.ones(2 * width + 1), mode="same") > 0.5
        if reversals.sum() < _REVERSALS or near.mean() > 0.5:
            continue
        visible = 1.0
        for rest in (found.residual[own], effort - by_file[own]):
            here, away = (float(np.mean(rest[places] ** 2)) for places in (near, ~near))
            rise = here / max(away, 1e-300) / _RISE
            if np.sqrt(here) > _LARGE * size and rise > statistic:
                statistic, share = rise, 1.0 - away * len(rest) / max(float(rest @ rest), 1e-300)
    return MissingTerm(PLAY, statistic, share, visible)


def _reversals(effort: Floats, least: float) -> Flags:
    """Return where (n - 1) an effort (n) changes its sign between values of at least a size: not in noise."""
    large = np.flatnonzero(np.abs(effort) >= least)
    last, following = large[:-1], large[1:]
    turned = np.sign(effort[last]) != np.sign(effort[following])
    found = np.zeros(len(effort) - 1, dtype=np.bool_)
    for first, end in zip(last[turned].tolist(), following[turned].tolist(), strict=True):
        between = np.diff(np.sign(effort[first : end + 1])) != 0
        found[first:end] = between
    return found


def _range(columns: Floats) -> Floats:
    """Return an orthonormal basis of the range of columns."""
    size = np.linalg.norm(columns, axis=0)
    left, values, _ = np.linalg.svd(columns[:, size > 0.0] / size[size > 0.0], full_matrices=False)
    return np.asarray(left[:, values > 1e-10 * values.max(initial=1e-300)])


def _term(kind: str, columns: Floats, basis: Floats, rest: Floats, left: int, tests: int) -> MissingTerm:
    size = np.linalg.norm(columns, axis=0)
    used = columns[:, size > 0.0] / size[size > 0.0]
    beside = used - basis @ (basis.T @ used)
    visible = float(np.linalg.norm(beside, axis=0).max(initial=0.0))
    beside = beside[:, np.linalg.norm(beside, axis=0) > 1e-6]
    if not beside.shape[1]:
        return MissingTerm(kind, 0.0, 0.0, 0.0)
    own = _range(beside)
    explained, whole = float(np.sum((own.T @ rest) ** 2)), float(rest @ rest)
    number = own.shape[1]
    rank = max(1, left - number)
    statistic = (explained / number) / max(1e-300, (whole - explained) / rank)
    limit = _LENIENCE * float(f_distribution.isf(_SIGNIFICANCE / tests, number, rank))
    return MissingTerm(kind, statistic / limit, explained / max(whole, 1e-300), visible)
