"""The closed forms of Blajer, Schiehlen & Schirm 1992 for a planar four-bar, and motion in its minimal form.

Ground l0 from O1 to O4, links l1, l2, l3; a1 counts from -y, a2 and a3 from the link before:

    l0² + l1² - 2 l0 l1 sin a1 = l2² + l3² + 2 l2 l3 cos a3

Variant a takes a1 as independent and is lost at sin a3 = 0, variant b takes a3 and is lost at cos a1 = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Mechanism, Workspace
from linkwork.multibody.dynamics.tree_dynamics import dynamics

A, B = 0, 1
ORDER = ([0, 1, 2], [2, 0, 1])
"""Of each variant: places of the independent and the dependent angles among (a1, a2, a3)."""


@dataclass(frozen=True)
class Lengths:
    """Ground and links, m."""

    l0: float
    l1: float
    l2: float
    l3: float

    def closure(self, q: Floats) -> Floats:
        """Tip of the chain minus O4, 2, m."""
        b = np.cumsum(q) - np.array([0.5 * np.pi] * 3)
        links = np.array([self.l1, self.l2, self.l3])
        return np.array([links @ np.cos(b) - self.l0, links @ np.sin(b)])

    def closure_jacobian(self, q: Floats) -> Floats:
        """dΦ/dq, 2 × 3."""
        b = np.cumsum(q) - np.array([0.5 * np.pi] * 3)
        links = np.array([self.l1, self.l2, self.l3])
        reach = np.vstack([-links * np.sin(b), links * np.cos(b)])
        return np.asarray(np.cumsum(reach[:, ::-1], axis=1)[:, ::-1])

    def measure(self, q: Floats) -> tuple[float, float]:
        """How far the variants are from being lost, m²: l2 l3 |sin a3| and l0 l1 |cos a1|."""
        return self.l2 * self.l3 * abs(float(np.sin(q[2]))), self.l0 * self.l1 * abs(float(np.cos(q[0])))

    def positions(self, variant: int, independent: float, near: Floats) -> Floats:
        """All angles from the independent one; branch and whole turns by continuity from `near`."""
        l0, l1, l2, l3 = self.l0, self.l1, self.l2, self.l3
        squares = l0**2 + l1**2 - l2**2 - l3**2
        if variant == A:
            a1 = independent
            bend = np.arccos(np.clip((squares - 2 * l0 * l1 * np.sin(a1)) / (2 * l2 * l3), -1.0, 1.0))
            a3 = _nearest(near[2], bend, -bend)
        else:
            a3 = independent
            lean = np.arccos(np.clip((squares - 2 * l2 * l3 * np.cos(a3)) / (2 * l0 * l1), -1.0, 1.0))
            a1 = _nearest(near[0], 0.5 * np.pi + lean, 0.5 * np.pi - lean)
        s = l0 * l2 * np.cos(a1) + l0 * l3 * np.cos(a1 + a3) + l1 * l3 * np.sin(a3)
        k = l0 * l2 * np.sin(a1) + l0 * l3 * np.sin(a1 + a3) - l1 * l3 * np.cos(a3) - l1 * l2
        return np.array([a1, _nearest(near[1], float(np.arctan2(s, k))), a3])

    def slopes(self, variant: int, q: Floats) -> Floats:
        """A_x: rates of the dependent angles for the independent one, 2."""
        a1, a2, a3 = q
        if variant == A:
            third = self.l0 * self.l1 * np.cos(a1) / (self.l2 * self.l3 * np.sin(a3))
            return np.array([-self.l0 * np.cos(a1 + a2) / (self.l3 * np.sin(a3)) - third, third])
        first = self.l2 * self.l3 * np.sin(a3) / (self.l0 * self.l1 * np.cos(a1))
        return np.array([first, -self.l2 * np.cos(a1 + a2) / (self.l1 * np.cos(a1)) - 1.0])

    def shifts(self, variant: int, q: Floats, v: Floats) -> Floats:
        """ξ: accelerations of the dependent angles where that of the independent one is zero, 2."""
        l0, l1, l2, l3 = self.l0, self.l1, self.l2, self.l3
        (a1, a2, a3), (w1, w2, w3) = q, v
        s1, c1, s3, c3 = np.sin(a1), np.cos(a1), np.sin(a3), np.cos(a3)
        if variant == A:
            k1 = l0 * l1 * (w1 * s1 * s3 + w3 * c1 * c3)
            k2 = l0 * l2 * ((w1 + w2) * np.sin(a1 + a2) * s3 + w3 * np.cos(a1 + a2) * c3)
            return np.asarray(w1 * np.array([k1 + k2, -k1]) / (l2 * l3 * s3 * s3))
        k3 = l2 * l3 * (w3 * c3 * c1 + w1 * s3 * s1)
        k4 = l0 * l2 * (w1 * np.sin(a2) + w2 * np.sin(a1 + a2) * c1)
        return np.asarray(w3 * np.array([k3, k4]) / (l0 * l1 * c1 * c1))


def _nearest(near: float, *values: float) -> float:
    """The value, whole turns added, that lies nearest."""
    shifted = [value + 2.0 * np.pi * round((near - value) / (2.0 * np.pi)) for value in values]
    return float(min(shifted, key=lambda value: abs(value - near)))


@dataclass
class Minimal:
    """State of the linkage in the minimal form: angles and rates, the variant in use, the switches made."""

    lengths: Lengths
    workspace: Workspace
    q: Floats
    v: Floats
    variant: int = A
    switches: int = 0

    @staticmethod
    def of(mechanism: Mechanism, lengths: Lengths, q: Floats, v: Floats) -> Minimal:
        """Begin at a consistent state with the better variant."""
        better = int(np.argmax(lengths.measure(q)))
        return Minimal(lengths, mechanism.workspace(), q.copy(), v.copy(), better)

    def full(self, variant: int, independent: float, rate: float) -> tuple[Floats, Floats]:
        """All angles and rates from one."""
        q, order = self.lengths.positions(variant, independent, self.q), ORDER[variant]
        v = np.empty(3)
        v[order[0]], v[order[1:]] = rate, self.lengths.slopes(variant, q) * rate
        return q, v

    def acceleration(self, variant: int, q: Floats, v: Floats, cross_sign: float = 1.0) -> Floats:
        """q¨ from M_r q¨_I = h_r; `cross_sign` -1 is the minus that (13) prints."""
        order, w = ORDER[variant], self.workspace
        w.q[:], w.v[:] = q, v
        dynamics(*w.arguments)
        mass, r = w.M[np.ix_(order, order)], (w.friction - w.h)[order]
        slope, shift = self.lengths.slopes(variant, q), self.lengths.shifts(variant, q, v)
        cross = mass[0, 1:] @ slope
        reduced = mass[0, 0] + cross + cross_sign * cross + slope @ mass[1:, 1:] @ slope
        right = r[0] + slope @ r[1:] - (mass[0, 1:] + slope @ mass[1:, 1:]) @ shift
        result = np.empty(3)
        result[order[0]] = right / reduced
        result[order[1:]] = slope * result[order[0]] + shift
        return result

    def step(self, dt: float, hysteresis: float = 2.0) -> None:
        """Runge and Kutta's fourth order in one angle, of the other variant where that is so much better."""
        measures = self.lengths.measure(self.q)
        if measures[1 - self.variant] > hysteresis * measures[self.variant]:
            self.variant, self.switches = 1 - self.variant, self.switches + 1
        variant, place = self.variant, ORDER[self.variant][0]

        def rates(y: Floats) -> Floats:
            q, v = self.full(variant, y[0], y[1])
            return np.array([y[1], self.acceleration(variant, q, v)[place]])

        y = _rk4(rates, np.array([self.q[place], self.v[place]]), dt)
        self.q, self.v = self.full(variant, y[0], y[1])


def _rk4(rates: Callable[[Floats], Floats], y: Floats, dt: float) -> Floats:
    k1 = rates(y)
    k2 = rates(y + 0.5 * dt * k1)
    k3 = rates(y + 0.5 * dt * k2)
    k4 = rates(y + dt * k3)
    return np.asarray(y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
