"""Errors of an estimate that its residuals do not show: a parametric bootstrap in windows of the recordings.

Counts of encoders and smoothing make the matrix W wrong, not only the efforts. In windows of a recording the
smoothed positions are taken for the true motion, with the efforts that the estimate needs for them. Noise of
the encoders is added with both signs, so that its linear part cancels, and the equations are made again. The
mean score of these equations, times the inverse of the information, is the bias. The zeros of encoders are
tested in the same windows, by moving the measured positions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.base_estimate import BaseEstimate, effort_slopes, series_of
from linkwork.identification.consistent_samples import ClosedPoses
from linkwork.identification.filtered_equations import Equations, equations_of, filters_for, smoothed
from linkwork.identification.identified_model import IdentifiedModel
from linkwork.identification.measured_motion import RefusedData, UniformMotion

_SAMPLES, _WINDOWS = 1600, 4
"""Samples of a recording that are used, in at most as many windows."""
_LEAST_WINDOW = 6
"""Least length of a window, in lengths of the filters."""
_MOVED = 1e-3
"""Change of an encoder's zero, in scaled coordinates."""


@dataclass(frozen=True, eq=False)
class BootstrapRecording:
    """A recording on a grid, with its independent joints and the closed pose (nq) of its first row."""

    motion: UniformMotion
    joints: Sequence[str]
    start: Floats


def bias(
    model: IdentifiedModel,
    recordings: Sequence[BootstrapRecording],
    equations: Equations,
    found: BaseEstimate,
) -> Floats:
    """Return the bias of the base parameters and of the delays (columns + motors), with either sign."""
    rng, rows, columns = np.random.default_rng(0), 0, np.array(model.used)
    score = np.zeros(len(columns) + len(equations.motors))
    for recording in recordings:
        made = _true_motion(model, recording, equations.cutoff_hz, found.values)
        if made is None:
            continue
        true, noise = made
        disturbance = noise * rng.normal(size=true.positions.shape)
        for sign in (1.0, -1.0):
            seen = replace(true, positions=true.positions + sign * disturbance)
            try:
                own = equations_of(
                    model.machine, model.regressor, seen, recording.joints, columns, recording.start,
                    equations.cutoff_hz,
                )  # fmt: skip
            except RefusedData:
                continue
            at = np.zeros(len(own.motors))
            rest = own.efforts(at) - own.matrix @ found.values
            both = np.column_stack([own.matrix, -effort_slopes(own, at), rest])
            white = found.whitening.of_equations(own).of(both, series_of(own))
            score += white[:, :-1].T @ white[:, -1]
            rows += len(rest)
    return np.asarray(found.inverse @ score * (len(equations.row) / max(1, rows)))


def _true_motion(
    model: IdentifiedModel, recording: BootstrapRecording, cutoff_hz: float, values: Floats
) -> tuple[UniformMotion, Floats] | None:
    """Return a motion along the smoothed positions with the efforts for it, and the noise of each joint.

    None where all parts without gaps are too short.
    """
    motion = recording.motion
    filters = filters_for(motion.period_s, 0.0, cutoff_hz)
    half = filters.smoothing.shape[1] // 2
    machine, regressor, columns = model.machine, model.regressor, model.used
    poses = ClosedPoses(machine.mechanism, recording.start, recording.joints)
    motors = [motor.index for motor in machine.motors]
    times, positions, efforts, left, ends = [], list[Floats](), list[Floats](), list[Floats](), [0]
    for first, end in _windows(motion, _LEAST_WINDOW * 2 * (filters.half + half)):
        raw = motion.positions[first:end]
        y, rate, acceleration = (smoothed(raw, each) for each in filters.smoothing)
        states = poses.samples(y, rate, acceleration, motion.period_s)
        own = np.zeros((len(y), len(motors)))
        for k in np.flatnonzero(states.usable).tolist():
            q, v, gradient = states.q[k], states.v[k], states.gradient[k]
            force = regressor.projected(q, v, states.vdot[k], gradient)[:, columns] @ values
            force += gradient.T @ regressor.known(q, v)
            own[k] = np.linalg.lstsq(gradient[motors].T, force, rcond=None)[0]
        times.append(motion.time_s[first + half : end - half])
        positions.append(y)
        efforts.append(own)
        left.append(raw[half : len(raw) - half] - y)
        ends.append(ends[-1] + len(y))
    if not times:
        return None
    kept = -filters.smoothing[0]  # what smoothing leaves of white noise
    kept[half] += 1.0
    noise = np.vstack(left).std(axis=0) / np.sqrt(float(kept @ kept))
    true = UniformMotion(
        motion.period_s,
        np.concatenate(times),
        np.vstack(positions),
        np.vstack(efforts),
        0.0,
        tuple(pairwise(ends)),
    )
    return true, noise


def _windows(motion: UniformMotion, least: int) -> Iterator[tuple[int, int]]:
    """Yield windows (first, end) of the parts without gaps, evenly chosen where there are many.

    least: least length of a window of a divided part; windows that the filters fill are left out.
    """
    length = max(_SAMPLES // _WINDOWS, least)
    found = []
    for first, end in motion.segments:
        if end - first < 2 * least // _LEAST_WINDOW:
            continue
        count = max(1, (end - first) // length)
        edges = np.linspace(first, end, count + 1).astype(int).tolist()
        found += list(pairwise(edges))
    chosen = np.unique(np.linspace(0, len(found) - 1, min(_WINDOWS, len(found))).astype(int)).tolist()
    yield from (found[k] for k in chosen)


def zero_columns(
    model: IdentifiedModel,
    recordings: Sequence[BootstrapRecording],
    equations: Equations,
    found: BaseEstimate,
) -> tuple[Floats, Floats, Floats] | None:
    """Return whitened equations (rows × ·), residuals (rows), and their change by zeros (rows × joints).

    Zeros are in scaled coordinates. In windows of the first recording; None where they have no equations.
    """
    recording = recordings[0]
    motion, joints = recording.motion, recording.joints
    filters = filters_for(motion.period_s, 0.0, equations.cutoff_hz)
    least = _LEAST_WINDOW * 2 * (filters.half + filters.smoothing.shape[1] // 2)
    chosen = replace(motion, segments=tuple(_windows(motion, least)))
    mechanism, columns = model.machine.mechanism, np.array(model.used)
    scale = mechanism.model.column_scale
    moves = [_MOVED * scale[mechanism.joint_index(name)] for name in joints]
    try:
        own, *others = (
            equations_of(
                model.machine, model.regressor, replace(chosen, positions=motion.positions + shift), joints,
                columns, recording.start, equations.cutoff_hz,
            )
            for shift in (np.zeros(len(joints)), *np.diag(moves))
        )  # fmt: skip
    except RefusedData:
        return None
    if any(each.matrix.shape != own.matrix.shape for each in others):
        return None
    changes = [(each.matrix - own.matrix) @ found.values / _MOVED for each in others]
    rest = own.efforts(found.delays) - own.matrix @ found.values
    both = np.column_stack([own.matrix, -effort_slopes(own, found.delays), rest, *changes])
    white = found.whitening.of_equations(own).of(both, series_of(own))
    known = len(columns) + len(own.motors)
    return white[:, :known], white[:, known], white[:, known + 1 :]
