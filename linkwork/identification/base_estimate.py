"""Least squares in base parameters, with the drives' delays and a covariance for coloured residuals.

Residuals of filtered efforts are correlated over many rows, so that the textbook covariance is several times
too small. An autoregressive model of each row's residuals whitens both sides of the equations; estimate and
covariance are those of the whitened equations. Where several efforts make the same motion, the rows share
the motors' noise: each instant is multiplied by the inverse root of G'B S B'G before (S: its power by motor).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_toeplitz
from scipy.optimize import nnls

from linkwork.arrays import Floats, Integers
from linkwork.identification.filtered_equations import Equations

_LONGEST_ORDER = 12
"""Largest order of the autoregressive models."""
_PASSES = 4
_LEAST_POWER = 1e-4
"""Least power of a motor's noise, as a share of the largest."""
_ROUNDING = 1e-13
"""Share of the largest singular value below which a direction of the equations is round-off."""
EARLIEST, LATEST = -3.0, 6.0
"""Delays searched, in periods."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """Autoregressive models (coefficients) of the residuals of each row; deviation: of their innovations.

    power (motors): of their noise, where rows share it. mixing (instants × independent × independent): what
    makes the rows of an instant independent then.
    """

    coefficients: tuple[Floats, ...]
    deviation: Floats
    power: Floats | None = None
    mixing: Floats | None = None

    def of_equations(self, equations: Equations) -> Whitening:
        """Return the same models for other equations."""
        if self.power is None:
            return self
        count = len(equations.joints)
        return replace(self, mixing=_mixing(equations.gains.reshape(-1, count, len(self.power)), self.power))

    def of(self, values: Floats, series: Sequence[Sequence[Integers]]) -> Floats:
        """Return whitened values (rows × k), without the first ones of each piece.

        series: for each row, the places of its equations in each piece without gaps.
        """
        found = []
        values = _mixed(values, self.mixing)
        for row, pieces in enumerate(series):
            own = self.coefficients[row]
            for places in pieces:
                if len(places) <= len(own):
                    continue
                at = values[places]
                white = at[len(own) :].copy()
                for lag, factor in enumerate(own.tolist(), 1):
                    white -= factor * at[len(own) - lag : len(at) - lag]
                found.append(white / self.deviation[row])
        return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class BaseEstimate:
    """β of W β = y, with its covariance; and the delay (s) of each motor, with its deviation.

    residual (r): of the filtered equations; matrix, side: whitened equations, with a column for each delay
    after those of β. information (columns × columns): R with R'R the inverse of the covariance, also where
    some directions are not excited. inverse (all columns of `matrix`, not scaled): of the whitened equations'
    normal matrix.
    """

    values: Floats
    covariance: Floats
    delays: Floats
    delay_deviations: Floats
    residual: Floats
    measured: Floats
    matrix: Floats
    side: Floats
    whitening: Whitening
    series: tuple[tuple[Integers, ...], ...]
    information: Floats
    inverse: Floats

    def widened(self, factor: float, bias: Floats) -> BaseEstimate:
        """Return the estimate with deviations times a factor, and a bias (columns + motors) beside them."""
        count = len(self.values)
        own = bias[:count]
        information = self.information / factor
        sight = information @ own
        size = float(sight @ sight)
        share = (1.0 - 1.0 / np.sqrt(1.0 + size)) / max(size, 1e-300)
        return replace(
            self,
            covariance=factor**2 * self.covariance + np.outer(own, own),
            delay_deviations=np.hypot(factor * self.delay_deviations, bias[count:]),
            information=information - share * np.outer(sight, sight @ information),
        )

    @property
    def deviations(self) -> Floats:
        """Standard deviations (columns) of `values`."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))


def series_of(equations: Equations) -> tuple[tuple[Integers, ...], ...]:
    """Return the places (equations) of each row in each piece without gaps, in order of time."""
    pieces = [np.unique(equations.block)] * len(equations.joints)
    return tuple(
        tuple(
            np.flatnonzero((equations.row == row) & (equations.block == block)) for block in blocks.tolist()
        )
        for row, blocks in enumerate(pieces)
    )


def estimate(equations: Equations, kept: Sequence[int]) -> BaseEstimate:
    """Solve the equations for the columns `kept`, by generalised least squares."""
    matrix = equations.matrix[:, list(kept)]
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0.0] = 1.0
    scaled, series = matrix / scale, series_of(equations)
    delays = _common_delay(equations, scaled)
    whitening = Whitening(tuple(np.zeros(0) for _ in series), np.ones(len(series)))
    redundant = len(equations.motors) > len(equations.joints) > 1
    for _ in range(_PASSES):
        side = equations.efforts(delays)
        slopes = -effort_slopes(equations, delays)
        slope_size = np.maximum(np.linalg.norm(slopes, axis=0), 1e-300)
        both = np.column_stack([scaled, slopes / slope_size])
        white, white_side = whitening.of(both, series), whitening.of(side[:, None], series)[:, 0]
        solution = np.linalg.lstsq(white, white_side, rcond=_ROUNDING)[0]
        moved = solution[len(scale) :] / slope_size
        residual = side - both @ solution
        delays = _moved(equations, delays, moved)
        power, mixing = _row_mixing(equations, residual) if redundant else (None, None)
        models, deviation = _noise_model(_mixed(residual[:, None], mixing)[:, 0], series)
        whitening = Whitening(models, deviation, power, mixing)
    white, white_side = whitening.of(both, series), whitening.of(side[:, None], series)[:, 0]
    solution = np.linalg.lstsq(white, white_side, rcond=_ROUNDING)[0]
    rest = white_side - white @ solution
    freedom = max(1, len(rest) - len(solution))
    variance = float(rest @ rest) / freedom
    _, values, right = np.linalg.svd(white, full_matrices=False)
    shape = right.T / np.maximum(values, _ROUNDING * values[0])
    unscale = 1.0 / np.concatenate([scale, slope_size])
    inverse = np.asarray(shape @ shape.T * unscale[:, None] * unscale, dtype=np.float64)
    covariance = variance * inverse
    count = len(scale)
    rolled = np.roll(white, len(delays), axis=1)  # the delays first
    triangle = np.linalg.qr(rolled)[1]
    information = triangle[-count:, -count:] * scale / np.sqrt(variance)
    return BaseEstimate(
        solution[:count] / scale, covariance[:count, :count], delays,
        np.asarray(np.sqrt(np.maximum(np.diag(covariance)[count:], 0.0))), side - both @ solution, side,
        white, white_side, whitening, series, information, inverse,
    )  # fmt: skip


def fitted_delays(equations: Equations, side: Floats) -> Floats:
    """Return the delay (s) of each motor with which its effort is nearest to a given right side (rows)."""
    delays = _common_delay(equations, side[:, None] / max(1e-300, float(np.linalg.norm(side))))
    for _ in range(_PASSES):
        left = side - equations.efforts(delays)
        moved = np.asarray(
            np.linalg.lstsq(effort_slopes(equations, delays), left, rcond=1e-9)[0], dtype=np.float64
        )
        delays = _moved(equations, delays, moved)
    return delays


def effort_slopes(equations: Equations, delays: Floats) -> Floats:
    """Return the derivatives (rows × motors) of the efforts by the delays."""
    step = 0.25 * equations.period_s
    return np.column_stack(
        [
            (equations.efforts(delays + move) - equations.efforts(delays - move)) / (2.0 * step)
            for move in step * np.eye(len(delays))
        ]
    )


def _moved(equations: Equations, delays: Floats, change: Floats) -> Floats:
    """Return delays after a change, of a period at most, within their bounds."""
    period = equations.period_s
    return np.clip(delays + np.clip(change, -period, period), EARLIEST * period, LATEST * period)


def _common_delay(equations: Equations, scaled: Floats) -> Floats:
    """Return the delay of all motors, of a grid, with which the least residual remains."""
    basis = np.linalg.qr(scaled)[0] if scaled.shape[1] else np.zeros((len(scaled), 0))
    best, least = 0.0, np.inf
    for periods in np.arange(EARLIEST, LATEST + 0.1, 0.5):
        side = equations.efforts(np.full(len(equations.motors), periods * equations.period_s))
        rest = side - basis @ (basis.T @ side)
        left = float(rest @ rest) / float(side @ side)
        if left < least:
            best, least = periods * equations.period_s, left
    return np.full(len(equations.motors), best)


def _mixed(values: Floats, mixing: Floats | None) -> Floats:
    """Return the rows (r × k) of each instant multiplied by its matrix."""
    if mixing is None:
        return values
    count = mixing.shape[1]
    return np.asarray((mixing @ values.reshape(-1, count, values.shape[1])).reshape(values.shape))


def _mixing(gains: Floats, power: Floats) -> Floats:
    """Return the inverse Cholesky factor of G'B S B'G at each instant; gains (instants × rows × motors)."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky((gains * power) @ np.transpose(gains, (0, 2, 1)))))


def _row_mixing(equations: Equations, residual: Floats) -> tuple[Floats, Floats]:
    """Return the power S of each motor's noise, and what makes the rows of each instant independent.

    S: the power of each motor's noise, by least squares from the products of the rows' residuals, weighted in
    later passes by those of the pass before.
    """
    count = len(equations.joints)
    gains = equations.gains.reshape(-1, count, len(equations.motors))
    rows = residual.reshape(-1, count, 1)
    one, other = np.triu_indices(count)
    mixing = np.broadcast_to(np.eye(count), (len(rows), count, count))
    for _ in range(_PASSES):
        own, mixed = (mixing @ rows)[:, :, 0], mixing @ gains
        shares = (mixed[:, one] * mixed[:, other]).reshape(-1, len(equations.motors))
        power = nnls(shares, (own[:, one] * own[:, other]).ravel())[0]
        power = np.maximum(power, _LEAST_POWER * max(1e-300, float(power.max())))
        mixing = _mixing(gains, power)
    return np.asarray(power), mixing


def _noise_model(residual: Floats, series: Sequence[Sequence[Integers]]) -> tuple[tuple[Floats, ...], Floats]:
    """Return autoregressive models of the residuals, their orders by Akaike's criterion; and innovations."""
    models, deviations = [], []
    for pieces in series:
        parts = [residual[places] for places in pieces if len(places) > 2 * _LONGEST_ORDER]
        count = sum(map(len, parts))
        if not parts:
            parts = [residual[places] for places in pieces]
            models.append(np.zeros(0))
            deviations.append(max(1e-300, float(np.concatenate(parts).std())))
            continue
        lags = np.array(
            [sum(float(x[: len(x) - k] @ x[k:]) for x in parts) / count for k in range(_LONGEST_ORDER + 1)]
        )
        best: tuple[float, Floats, float] | None = None
        for order in range(_LONGEST_ORDER + 1):
            own = solve_toeplitz(lags[:order], lags[1 : order + 1]) if order else np.zeros(0)
            power = max(1e-300, float(lags[0] - own @ lags[1 : order + 1]))
            criterion = count * np.log(power) + 2.0 * order
            if best is None or criterion < best[0]:
                best = criterion, own, np.sqrt(power)
        assert best is not None
        models.append(best[1])
        deviations.append(best[2])
    return tuple(models), np.array(deviations)
