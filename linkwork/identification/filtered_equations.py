"""The filtered equations of a recorded motion: W β = Σ filtered G'B τ, decimated.

G'Y θ = G'B τ is linear: both sides pass the same zero-phase low-pass filter and are decimated to twice its
cut-off. Positions are smoothed before by local polynomials (Savitzky & Golay, with a window); velocities and
accelerations are derivatives of the smoothed positions. The efforts pass that smoothing, too, so that its
error cancels as far as the equations are linear in accelerations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import firwin
from scipy.special import comb

from linkwork.arrays import Floats, Integers
from linkwork.identification.consistent_samples import ClosedPoses, chunks
from linkwork.identification.measured_motion import RefusedData, UniformMotion
from linkwork.identification.regressor import Regressor
from linkwork.machine import Machine

_SHARPNESS = 6.0
"""Parameter of the Kaiser window of the polynomials through measured positions."""
_HALVED = 1.16
"""Half length of the smoothing (samples) × frequency that it halves ÷ rate, with that window."""
_FIRST = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0
_SECOND = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / 180.0
"""Central differences of order 6."""
_ABOVE_MOTION = 30.0
"""Cut-off of the filter in units of the highest frequency of the motion: friction at reversals is fast."""
_AT_LEAST = 5.0
"""Least cut-off in those units, where noise of the encoders asks for a low one."""
_NOISE = 0.01
"""Largest rms of the accelerations' noise below the cut-off, as a share of that of the accelerations."""
_DIFFERENCES = 8
"""Order of the differences of positions that contain noise and little motion."""
_POWER = 0.99
"""Share of the power of the velocities up to the highest frequency of the motion."""
_MOVING, _STEPS = 0.1, 10.0
"""Least motion of a joint in a part without gaps that says how fast the motion is: share of that in the part
in which it moves most, and number of usual changes between samples (noise alone: four).
"""
_CHUNK = 1000
_TAPS_PER_CUT = 3.0
"""Half length of the low-pass filter, in periods of its cut-off frequency."""


@dataclass(frozen=True, eq=False)
class Filters:
    """Weights: of positions, velocities, accelerations (3 × ·); of the low-pass, and of that of efforts."""

    cutoff_hz: float
    smoothing: Floats
    low_pass: Floats
    of_efforts: Floats
    step: int

    @property
    def half(self) -> int:
        """Samples on either side of a filtered equation that it depends on."""
        return len(self.of_efforts) // 2


@dataclass(frozen=True, eq=False)
class Equations:
    """r rows (equations × independent coordinates): the matrix W (r × columns) and the effort terms.

    efforts(delays): the right side (r) for a delay (s) of each motor; gains (r × motors): G'B; block (r):
    number of the piece without gaps; row (r): place among the independent coordinates; time_s (r). extra
    (r × k): columns of terms that the model lacks.
    """

    matrix: Floats
    efforts: Callable[[Floats], Floats]
    gains: Floats
    block: Integers
    row: Integers
    time_s: Floats
    joints: tuple[str, ...]
    motors: tuple[str, ...]
    period_s: float
    cutoff_hz: float
    excited_hz: float
    left_out: float
    extra: Floats
    remarks: tuple[str, ...]


def highest_frequency(positions: Floats, period_s: float) -> float:
    """Return the frequency (Hz) up to which lies almost all power of the velocities of positions (n × k)."""
    rates = np.diff(positions, axis=0)
    rates = rates - rates.mean(axis=0)
    window = np.hanning(len(rates))[:, None]
    power = np.abs(np.fft.rfft(rates * window, axis=0)) ** 2
    power = (power / np.maximum(power.sum(axis=0), 1e-300)).sum(axis=1)
    share = np.cumsum(power) / max(power.sum(), 1e-300)
    frequency = np.fft.rfftfreq(len(rates), period_s)
    return float(frequency[int(np.searchsorted(share, _POWER))])


def _quiet_frequency(positions: Floats, period_s: float) -> float:
    """Return the frequency (Hz) below which noise of positions (n × k) leaves accelerations known.

    White noise of variance s² has accelerations of the variance 2 s² T (2π)⁴ f⁵ / 5 below a frequency f.
    """
    if len(positions) <= 4 * _DIFFERENCES:
        return np.inf
    rough = np.abs(np.diff(positions, _DIFFERENCES, axis=0))
    usual = np.quantile(rough, 0.9, axis=0) / 1.645  # a quantised position at rest has no noise
    deviation = usual / np.sqrt(comb(2 * _DIFFERENCES, _DIFFERENCES))
    step = max(1, len(positions) // 200)  # below the noise
    slow = np.diff(positions[::step], 2, axis=0) / (step * period_s) ** 2
    allowed = _NOISE * np.sqrt(np.mean(slow**2, axis=0))
    power = 2.0 * deviation**2 * period_s * (2.0 * np.pi) ** 4 / 5.0
    return float(np.min((allowed**2 / np.maximum(power, 1e-300)) ** 0.2))


def _moving(motion: UniformMotion) -> list[Floats]:
    """Return the positions (n × k) of the parts without gaps, each of the joints that really move in it.

    At rest there is noise of encoders alone, whose frequencies are high.
    """
    parts = [motion.positions[first:end] for first, end in motion.segments if end - first > 20]
    if not parts:
        return []
    sizes = np.array([np.ptp(part, axis=0) for part in parts])
    steps = np.array([np.sqrt(np.mean(np.diff(part, axis=0) ** 2, axis=0)) for part in parts])
    moves = (sizes > _MOVING * sizes.max(axis=0)) & (sizes > _STEPS * steps)
    return [part[:, own] for part, own in zip(parts, moves, strict=True) if own.any()]


def filters_for(
    period_s: float, excited_hz: float, cutoff_hz: float | None, quiet_hz: float = np.inf
) -> Filters:
    """Return the filters for a motion up to a frequency.

    cutoff_hz: of the low-pass (None: by the motion, and by the frequency up to which noise is small).
    """
    rate = 1.0 / period_s
    by_motion = min(_ABOVE_MOTION * excited_hz, max(_AT_LEAST * excited_hz, quiet_hz))
    cutoff = cutoff_hz or min(max(by_motion, 5.0), rate / 8.0)
    half = max(4, round(_HALVED * rate / (2.0 * cutoff)))
    smooth = _local_polynomial(half)
    smoothing = np.array(
        [
            np.pad(smooth, len(_FIRST) // 2),
            np.convolve(smooth, _FIRST) / period_s,
            np.convolve(smooth, _SECOND) / period_s**2,
        ]
    )
    step = max(1, int(rate / (2.0 * cutoff)))
    taps = 2 * round(_TAPS_PER_CUT * rate / cutoff / 2.0) + 1
    low_pass = firwin(taps, cutoff, fs=rate, window=("kaiser", 5.0))
    return Filters(cutoff, smoothing, low_pass, np.convolve(low_pass, smooth), step)


def _local_polynomial(half: int) -> Floats:
    """Return weights (2 half + 1) that keep polynomials of order 5, with little outside of their band."""
    place = np.linspace(-1.0, 1.0, 2 * half + 1)
    window = np.kaiser(2 * half + 1, _SHARPNESS)
    powers = np.vander(place**2, 3, increasing=True)
    return np.asarray(window * (powers @ np.linalg.solve(powers.T * window @ powers, [1.0, 0.0, 0.0])))


def smoothed(values: Floats, weights: Floats) -> Floats:
    """Return the correlation of each column (n) with weights (2 h + 1): n - 2 h values each."""
    return np.column_stack([np.correlate(column, weights, mode="valid") for column in values.T])


ExtraTerms = Callable[[Floats, Floats], Floats]
"""From q (nq) and v (nv): further columns (nv × k) that the model lacks."""


def equations_of(
    machine: Machine,
    regressor: Regressor,
    motion: UniformMotion,
    joints: Sequence[str],
    columns: Integers,
    start: Floats,
    cutoff_hz: float | None = None,
    extra: ExtraTerms | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Equations:
    """Return the filtered equations of a motion for these columns of a regressor of the machine.

    joints: the independent coordinates, in the order of the columns of the positions. start: a closed
    pose (nq) in the machine's assembly mode. Raises RefusedData where nothing is left.
    """
    period = motion.period_s
    moving = _moving(motion)
    excited = max((highest_frequency(part, period) for part in moving), default=0.0)
    quiet = max((_quiet_frequency(part, period) for part in moving), default=np.inf)
    filters = filters_for(period, excited, cutoff_hz, quiet)
    poses = ClosedPoses(machine.mechanism, start, joints)
    motors = np.array([motor.index for motor in machine.motors])
    smoothing, reach = filters.smoothing.shape[1] // 2, filters.half
    parts: list[_Piece] = []
    total, done, lost, whole = len(motion.time_s), 0, 0, 0
    more = 0 if extra is None else extra(machine.initial_q, machine.initial_v).shape[1]
    for block, (first, end) in enumerate(motion.segments):
        if end - first < 2 * (smoothing + reach) + 2 * filters.step:
            continue
        y, rate, acceleration = (smoothed(motion.positions[first:end], each) for each in filters.smoothing)
        count = len(y)
        centres = np.arange(reach, count - reach, filters.step)
        ok = np.zeros(count, dtype=np.bool_)
        width = len(columns) + more
        matrix = np.zeros((len(centres), len(joints), width))
        gains = np.zeros((count, len(joints), len(motors)))
        known = np.zeros((len(centres), len(joints)))
        for part in chunks(count, _CHUNK):
            states = poses.samples(y[part], rate[part], acceleration[part], period)
            ok[part] = states.usable
            gains[part] = states.gradient[:, motors].transpose(0, 2, 1)
            rows = np.zeros((len(states.q), len(joints), width + 1))
            for k in np.flatnonzero(states.usable).tolist():
                q, v, gradient = states.q[k], states.v[k], states.gradient[k]
                rows[k, :, : len(columns)] = regressor.projected(q, v, states.vdot[k], gradient)[:, columns]
                if extra is not None:
                    rows[k, :, len(columns) : width] = gradient.T @ extra(q, v)
                rows[k, :, width] = gradient.T @ regressor.known(q, v)
            near = slice(*np.searchsorted(centres, [part.start - reach, part.stop + reach]).tolist())
            share = _weights(filters.low_pass, centres[near], part)
            filtered = np.tensordot(share, rows, axes=(1, 0))
            matrix[near] += filtered[:, :, :width]
            known[near] += filtered[:, :, width]
            done += len(states.q)
            progress(done / total)
        whole, lost = whole + count, lost + int((~ok).sum())
        good = np.array([bool(ok[c - reach : c + reach + 1].all()) for c in centres.tolist()], dtype=np.bool_)
        if good.any():
            times = motion.time_s[first + smoothing : first + smoothing + count]
            parts.append(_Piece(matrix[good], known[good], gains, times, centres[good], block))
    if not parts:
        raise RefusedData("nothing left", _nothing_left(motion, filters, lost, whole))
    return _whole(machine, motion, joints, filters, excited, parts, lost / max(1, whole), len(columns))


def _weights(low_pass: Floats, centres: Integers, part: slice) -> Floats:
    """Return the weights (centres × samples of the part) of the low-pass filter."""
    offset = np.arange(part.start, part.stop)[None, :] - centres[:, None] + len(low_pass) // 2
    inside = (offset >= 0) & (offset < len(low_pass))
    return np.where(inside, low_pass[np.clip(offset, 0, len(low_pass) - 1)], 0.0)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Equations of a part without gaps: matrix (n × k × columns), known (n × k), gains (samples × k × m).

    time_s (samples). centres (n): places of the equations among the samples.
    """

    matrix: Floats
    known: Floats
    gains: Floats
    time_s: Floats
    centres: Integers
    block: int

    def efforts(
        self, acting_at: Callable[[Floats, Floats], Floats], weights: Floats, delays: Floats
    ) -> Floats:
        """Return the filtered right side (n k) for a delay of each motor."""
        n, k = self.matrix.shape[:2]
        acting = np.einsum("nkm,nm->nk", self.gains, acting_at(self.time_s, delays))
        window = self.centres[:, None] + np.arange(len(weights)) - len(weights) // 2
        filtered = np.stack([acting[:, i][window] @ weights for i in range(k)], axis=1)
        return np.asarray((filtered - self.known).reshape(n * k))


def _nothing_left(motion: UniformMotion, filters: Filters, lost: int, whole: int) -> str:
    if lost and lost == whole:
        return (
            "at no sample can the loops be closed for the measured joints: check the zeros of the encoders, "
            "their signs and units, and the assembly mode"
        )
    least = 2 * (filters.half + filters.smoothing.shape[1] // 2) + 2 * filters.step
    return f"no part without gaps is longer than {least * motion.period_s:.3g} s, which the filters need"


def _whole(
    machine: Machine, motion: UniformMotion, joints: Sequence[str], filters: Filters, excited: float,
    pieces: Sequence[_Piece], left_out: float, width: int,
) -> Equations:  # fmt: skip
    """Put the pieces of a motion together; `width` columns are the model's, the others further terms."""
    matrix = np.vstack([each.matrix.reshape(-1, each.matrix.shape[2]) for each in pieces])
    count, acting = len(joints), _acting(motion)

    def efforts(delays: Floats) -> Floats:
        return np.concatenate([each.efforts(acting, filters.of_efforts, delays) for each in pieces])

    return Equations(
        matrix[:, :width], efforts,
        np.vstack([each.gains[each.centres].reshape(-1, each.gains.shape[2]) for each in pieces]),
        np.concatenate([np.full(count * len(each.centres), each.block) for each in pieces]),
        np.concatenate([np.tile(np.arange(count), len(each.centres)) for each in pieces]),
        np.concatenate([np.repeat(each.time_s[each.centres], count) for each in pieces]),
        tuple(joints), tuple(motor.joint for motor in machine.motors), motion.period_s, filters.cutoff_hz,
        excited, left_out, matrix[:, width:], motion.remarks,
    )  # fmt: skip


def _acting(motion: UniformMotion) -> Callable[[Floats, Floats], Floats]:
    """Return the efforts (n × motors) that act at times (n) for delays (motors).

    An effort that is held for a period acts as its mean over that period, here by Simpson's rule.
    """
    splines = [CubicSpline(motion.time_s, column) for column in motion.efforts.T]
    first, last = motion.time_s[[0, -1]].tolist()
    held = ((-0.5, 1.0), (0.0, 4.0), (0.5, 1.0)) if motion.hold_s else ((0.0, 6.0),)

    def acting(time_s: Floats, delays: Floats) -> Floats:
        found = np.zeros((len(time_s), len(splines)))
        for k, (spline, delay) in enumerate(zip(splines, delays.tolist(), strict=True)):
            for shift, weight in held:
                at = time_s - motion.hold_s - delay + shift * motion.period_s
                found[:, k] += weight / 6.0 * spline(np.clip(at, first, last))
        return found

    return acting


def joined(found: Sequence[Equations]) -> Equations:
    """Return the equations of several motions as those of one; their times follow each other."""
    if len(found) == 1:
        return found[0]
    if len({each.joints for each in found}) > 1:
        raise RefusedData("sensors", "the recordings measure different joints")
    times, blocks, end, number = [], [], 0.0, 0
    for each in found:
        times.append(each.time_s - each.time_s[0] + end)
        blocks.append(each.block + number)
        end, number = float(times[-1][-1]) + 1.0, int(blocks[-1].max()) + 1
    first = found[0]
    return replace(
        first,
        matrix=np.vstack([each.matrix for each in found]),
        efforts=lambda delays: np.concatenate([each.efforts(delays) for each in found]),
        gains=np.vstack([each.gains for each in found]),
        block=np.concatenate(blocks),
        row=np.concatenate([each.row for each in found]),
        time_s=np.concatenate(times),
        cutoff_hz=min(each.cutoff_hz for each in found),
        excited_hz=max(each.excited_hz for each in found),
        left_out=float(np.mean([each.left_out for each in found])),
        extra=np.vstack([each.extra for each in found]),
        remarks=tuple(remark for each in found for remark in each.remarks),
    )
