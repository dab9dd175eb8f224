"""Named curves to a path: exact derivatives at knots so close that the pieces are the curve to 1e-12 m.

A curve p(u) runs at its own speed when u is time. With a lead-in u' rises from 0 to 1 by the smooth
polynomial

    u' = 10 τ³ - 15 τ⁴ + 6 τ⁵,   τ = s / ramp,   so that  u = ramp (2.5 τ⁴ - 3 τ⁵ + τ⁶)

which covers half the ramp's time in u; the path begins on the curve's extension at u = -ramp / 2. The
lead-out is the same backwards.
"""

import math
from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import QUINTIC, block_words
from linkwork.controller.limit_tolerance import exceeds
from linkwork.controller.planning.messages.planner_start import Present
from linkwork.controller.planning.paths.path import Path
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Circle, Curve, Helix, LineCurve

LARGEST_ERROR_M = 1e-15
"""Aim for the distance between curve and pieces; round-off of the coordinates comes on top."""


def shape_derivatives(shape: LineCurve | Circle | Helix, u: Floats) -> Floats:
    """p, dp/du and d²p/du² of a curve at u: n × 3 × 3, the second index counts derivatives."""
    out = np.zeros((len(u), 3, 3))
    if isinstance(shape, LineCurve):
        first, last = np.array(shape.from_m), np.array(shape.to_m)
        out[:, 1] = (last - first) / shape.duration_s
        out[:, 0] = first + u[:, None] * out[:, 1]
        return out
    angle, rate, radius = shape.rate_rad_s * u + shape.phase_rad, shape.rate_rad_s, shape.radius_m
    sine, cosine = radius * np.sin(angle), radius * np.cos(angle)
    out[:, 0] = shape.center_m
    out[:, :, 0] += np.stack([sine, rate * cosine, -(rate**2) * sine], axis=1)
    out[:, :, 1] += np.stack([cosine, -rate * sine, -(rate**2) * cosine], axis=1)
    if isinstance(shape, Helix):
        out[:, 0, 2] += shape.pitch_speed_m_s * u
        out[:, 1, 2] = shape.pitch_speed_m_s
    return out


def ramp(s: Floats, ramp_s: float) -> tuple[Floats, Floats, Floats]:
    """Return u, u' and u'' (n each) of the lead-in at s (n), 0 ≤ s ≤ ramp_s; u = 0 at its beginning, u' = 1
    at its end.
    """
    x = s / ramp_s
    return (
        ramp_s * x**4 * (2.5 - 3.0 * x + x**2),
        x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        30.0 * x**2 * (1.0 - x) ** 2 / ramp_s,
    )


class CurveProfile:
    """u(s): lead-in, the curve at its own speed, lead-out. ramp_s is 0 without leads."""

    def __init__(self, duration_s: float, ramp_s: float) -> None:
        self.duration_s, self.ramp_s = duration_s, ramp_s
        self.total_s = duration_s + 2.0 * ramp_s

    def __call__(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """u, u' and u'' at s."""
        lead, total = self.ramp_s, self.total_s
        u, u1, u2 = s - lead, np.ones_like(s), np.zeros_like(s)
        if lead:
            entering, leaving = s < lead, s > lead + self.duration_s
            du, u1[entering], u2[entering] = ramp(s[entering], lead)
            u[entering] = du - 0.5 * lead
            du, u1[leaving], back = ramp(total - s[leaving], lead)
            u[leaving] = self.duration_s + 0.5 * lead - du
            u2[leaving] = -back
        return u, u1, u2

    def along(self, shape: LineCurve | Circle | Helix, s: Floats) -> Floats:
        """Position and its two derivatives with respect to s: n × 3 × 3."""
        u, u1, u2 = self(s)
        p = shape_derivatives(shape, u)
        first, second = u1[:, None], u2[:, None]
        return np.stack([p[:, 0], p[:, 1] * first, p[:, 2] * first**2 + p[:, 1] * second], axis=1)


def path_along(
    curve: Curve, ramp_s: float, columns: Sequence[int], present: Present, held: Floats, capacity: int
) -> Path:
    """The path along a curve, with a lead-in and a lead-out of ramp_s each (0: none).

    columns: places in `present` of the curve's three axes, or of its first two. held: values of all
    coordinates (k); those of the columns are not used. capacity: most words a block may have. Raises
    RequestError (INVALID_GOAL): too long for that, not beginning where the machine is, or not at rest at its
    ends.
    """
    shape = curve.shape
    profile = CurveProfile(shape.duration_s, ramp_s)
    most = max(1, capacity // (1 + QUINTIC * len(held)) - 1)
    knots = [np.array([0.0])]
    if ramp_s:
        knots.append(_ramp_knots(shape, profile, most)[1:])
    pieces = _cruise_pieces(shape)
    if len(knots[-1]) * 2 + pieces + 2 > most:
        needed = block_words(len(held), QUINTIC, pieces, 0) * 8 / 2**20
        raise RequestError(
            ResultCode.INVALID_GOAL,
            f"the curve needs {pieces} pieces ({needed:.0f} MiB), at most {most} fit; shorten its duration",
            ("trajectory", "curve"),
            {"value": pieces, "limit": most},
        )
    knots.append(ramp_s + shape.duration_s * np.arange(1, pieces + 1) / pieces)
    if ramp_s:
        knots.append(profile.total_s - knots[1][-2::-1])
        knots.append(np.array([profile.total_s]))
    s = np.concatenate(knots)
    values = np.zeros((len(s), QUINTIC, len(held)))
    values[:, 0] = held
    values[:, :, list(columns)] = profile.along(shape, s)[:, :, : len(columns)]
    path = Path(present.coordinates, s, values, (ramp_s, ramp_s + shape.duration_s))
    _check_ends(path, present)
    if present.moving:
        values[0] = present.theta, present.rate, present.acceleration
    return path


def _check_ends(path: Path, present: Present) -> None:
    first = path.values[0]
    begin = {name: float(value) for name, value in zip(present.names, first[0], strict=True)}
    where = ("trajectory", "curve")
    for place, name in enumerate(present.names):
        limit = float(present.tolerance[place])
        value, here = float(first[0, place]), float(present.theta[place])
        if exceeds(abs(value - here), limit):
            wanted = ", ".join(f"{key} = {number:.6g}" for key, number in begin.items())
            raise RequestError(
                ResultCode.INVALID_GOAL,
                f"the curve begins at {name} = {value:.6g}, {abs(value - here):.3g} away from where the"
                f" machine is ({here:.6g}); at most {limit:.3g} is allowed. Move to {wanted} first"
                " (`linkwork send --approach` does)",
                where,
                {"coordinate": name, "value": value, "present": here, "limit": limit, "begin": begin},
            )
    for end, rates in (("begins", first[1] - present.rate), ("ends", path.values[-1, 1])):
        place = int(np.argmax(np.abs(rates) - present.tolerance))
        rate, limit = float(rates[place]), float(present.tolerance[place])
        if exceeds(abs(rate), limit):
            name = present.names[place]
            raise RequestError(
                ResultCode.INVALID_GOAL,
                f"the curve {end} in motion ({name} at {rate:.6g} per s); add: entry: {{ramp_s: 1}}",
                where,
                {"coordinate": name, "value": rate, "limit": limit, "begin": begin},
            )


def _cruise_pieces(shape: LineCurve | Circle | Helix) -> int:
    """Pieces at the curve's own speed: the quintic's error is r ω⁶ h⁶ / 46080."""
    if isinstance(shape, LineCurve) or shape.rate_rad_s == 0.0:
        return 1
    step = (46080.0 * LARGEST_ERROR_M / shape.radius_m) ** (1.0 / 6.0) / abs(shape.rate_rad_s)
    pieces: int = math.ceil(min(shape.duration_s / step, 1e9))
    return pieces


def _ramp_knots(shape: LineCurve | Circle | Helix, profile: CurveProfile, most: int) -> Floats:
    """Knots of the lead-in: twice as many until the pieces are the curve."""
    pieces = 16
    while True:
        knots = np.linspace(0.0, profile.ramp_s, pieces + 1)
        if pieces >= most or _ramp_error(shape, profile, knots) <= LARGEST_ERROR_M:
            return knots
        pieces *= 2


def _ramp_error(shape: LineCurve | Circle | Helix, profile: CurveProfile, knots: Floats) -> float:
    """Largest distance in the middle of a piece, beyond the round-off of the positions themselves."""
    ends = profile.along(shape, knots)
    h = knots[1] - knots[0]
    left, right = ends[:-1], ends[1:]
    middle = (
        (left[:, 0] + right[:, 0]) / 2.0
        + 5.0 * h * (left[:, 1] - right[:, 1]) / 32.0
        + h**2 * (left[:, 2] + right[:, 2]) / 64.0
    )
    exact = profile.along(shape, (knots[1:] + knots[:-1]) / 2.0)[:, 0]
    round_off = 4.0 * np.finfo(np.float64).eps * float(np.abs(exact).max())
    return float(np.abs(middle - exact).max()) - round_off
