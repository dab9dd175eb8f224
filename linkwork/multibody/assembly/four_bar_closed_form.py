"""The planar four-bar in closed form: the inverse kinematics of Blajer et al. 1992.

An open chain a1, a2, a3 of three links O1 O2 O3 O4 in a plane, a1 counted from the -y axis; O1 = (0, 0), and
the closure holds O4 at (l0, 0):

    l0² + l1² - 2 l0 l1 sin a1 = l2² + l3² + 2 l2 l3 cos a3

Variant 0 takes a1 as independent and is singular at sin a3 = 0, variant 1 takes a3 and is singular at
cos a1 = 0; both at once only where l0 = ±l1 ±l2 ±l3. The paper's rate of a1 has a cosine in place of sin a3
(misprint).
"""

import math
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats


@dataclass(frozen=True)
class FourBar:
    """Closed forms (closed_form.py) of a four-bar: distance of the pivots `ground`, then the links, m.

    q = (a1, a2, a3), rad.
    """

    ground: float
    first: float
    second: float
    third: float

    def __post_init__(self) -> None:
        """Check the lengths."""
        lengths = (self.ground, self.first, self.second, self.third)
        if not all(0.0 < length < math.inf for length in lengths):
            raise ValueError(f"the lengths of a four-bar must be positive, found {lengths}")
        if 2.0 * max(lengths) > sum(lengths):
            raise ValueError(
                f"no four-bar closes with {lengths}: one length is longer than all others together"
            )

    @property
    def independent(self) -> tuple[tuple[int, ...], ...]:
        """Places of the independent angles: a1, or a3."""
        return (0,), (2,)

    def measure(self, variant: int, q: Floats) -> float:
        """Return |sin a3| (variant 0) or |cos a1| (variant 1) at q (3, rad)."""
        return abs(math.sin(q[2])) if variant == 0 else abs(math.cos(q[0]))

    def complete(self, variant: int, near: Floats) -> Floats:
        """Return q (3, rad) from the independent angle; sign and whole turns of the others as in `near` (3).

        An angle beyond the linkage's reach is set to the end of the reach.
        """
        l0, l1, l2, l3 = self.ground, self.first, self.second, self.third
        a1, a2, a3 = near
        squares = l0 * l0 + l1 * l1 - l2 * l2 - l3 * l3
        if variant == 0:
            ratio = (squares - 2.0 * l0 * l1 * math.sin(a1)) / (2.0 * l2 * l3)
            found = math.copysign(_arccos(ratio), math.sin(a3))
            a3 = _turned(found, a3)
        else:
            ratio = (squares - 2.0 * l2 * l3 * math.cos(a3)) / (2.0 * l0 * l1)
            found = 0.5 * math.pi + math.copysign(_arccos(ratio), -math.cos(a1))
            a1 = _turned(found, a1)
        sine = l0 * l2 * math.cos(a1) + l0 * l3 * math.cos(a1 + a3) + l1 * l3 * math.sin(a3)
        cosine = l0 * l2 * math.sin(a1) + l0 * l3 * math.sin(a1 + a3) - l1 * l3 * math.cos(a3) - l1 * l2
        return np.array([a1, _turned(math.atan2(sine, cosine), a2), a3])

    def ratios(self, variant: int, q: Floats) -> Floats:
        """Return A_x (2 × 1) at q (3): rates of (a2, a3) for that of a1, or of (a1, a2) for that of a3."""
        l0, l1, l2, l3 = self.ground, self.first, self.second, self.third
        a1, a2, a3 = q
        if variant == 0:
            third = l0 * l1 * math.cos(a1) / (l2 * l3 * math.sin(a3))
            second = -l0 * math.cos(a1 + a2) / (l3 * math.sin(a3)) - third
            return np.array([[second], [third]])
        first = l2 * l3 * math.sin(a3) / (l0 * l1 * math.cos(a1))
        second = -(l2 * math.cos(a1 + a2) / (l1 * math.cos(a1)) + 1.0)
        return np.array([[first], [second]])

    def bias(self, variant: int, q: Floats, v: Floats) -> Floats:
        """Return ξ (2; rad/s²) of (a2, a3), or of (a1, a2), at q (3, rad) and v (3, rad/s)."""
        l0, l1, l2, l3 = self.ground, self.first, self.second, self.third
        (a1, a2, a3), (v1, v2, v3) = q, v
        s1, c1, s3, c3, s12, c12 = (
            math.sin(a1), math.cos(a1), math.sin(a3), math.cos(a3), math.sin(a1 + a2), math.cos(a1 + a2)
        )  # fmt: skip
        if variant == 0:
            k1 = l0 * l1 * (v1 * s1 * s3 + v3 * c1 * c3)
            k2 = l0 * l2 * ((v1 + v2) * s12 * s3 + v3 * c12 * c3)
            scale = v1 / (l2 * l3 * s3 * s3)
            return np.array([scale * (k1 + k2), -scale * k1])
        k3 = l2 * l3 * (v3 * c3 * c1 + v1 * s3 * s1)
        k4 = l0 * l2 * (v1 * math.sin(a2) + v2 * s12 * c1)
        scale = v3 / (l0 * l1 * c1 * c1)
        return np.array([scale * k3, scale * k4])


def _arccos(ratio: float) -> float:
    return math.acos(max(-1.0, min(1.0, ratio)))


def _turned(angle: float, near: float) -> float:
    """The angle, plus the whole turns that bring it nearest to another."""
    return angle + 2.0 * math.pi * round((near - angle) / (2.0 * math.pi))
