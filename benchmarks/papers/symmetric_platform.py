"""Symmetric motion of the platform of Huang et al. 2000 in closed form: one degree of freedom, by quadrature.

Balls at radius b, knees at radius a, legs of length L. The platform turns by φ and stands at the height h,

    h² = L² - (a² + b² - 2 a b cos φ),

so h = H cos s and sin(φ/2) = k sin s with one parameter s that no pose makes singular. A knee lies on its
motor's axis u = (0, -c, e), hinge axis x at θ = 0. The hinge stays normal to the leg d = ball - knee:

    tan θ = b sin φ / (e (b cos φ - a) + c h).

The first relation is symmetric in a and b, the second is not. With T = G(s) ṡ²/2 and W(s), what motors and
gravity have done since the start at rest, the time is t = ∫ √(G / 2W) ds. Nothing of linkwork is used here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.integrate import quad

from linkwork.arrays import Floats

GRAVITY = 9.81


class Posture(NamedTuple):
    """Height of the platform (m), its turn φ and the motors' angle θ (rad), and G(s) (kg m²)."""

    height: float
    turn: float
    motor: float
    inertia: float


@dataclass(frozen=True)
class SymmetricPlatform:
    """Data of Fig. 10 (SI). Rotors and legs are slender: an inertia along and one across.

    `rotor_com`: centre of mass of a rotor from its knee, in the plane of leg 1 (y outward, z up).
    """

    knee_radius: float = 0.29
    ball_radius: float = 0.61
    height: float = 0.71
    axis: tuple[float, float] = (-0.97, 0.26)
    rotor_kg: float = 1.0
    rotor_along: float = 0.01
    rotor_com: tuple[float, float] = (0.047, -0.013)
    leg_kg: float = 5.0
    leg_along: float = 0.07
    leg_across: float = 0.7
    platform_kg: float = 10.0
    platform_about_z: float = 2.5
    torque: float = 10.0

    def at(self, s: float) -> Posture:
        """The posture at s, counted from the highest one."""
        a, b, high = self.knee_radius, self.ball_radius, self.height
        y, e = np.array(self.axis) / np.hypot(*self.axis)
        k = high / (2.0 * np.sqrt(a * b))
        h, dh = high * np.cos(s), -high * np.sin(s)
        turn = 2.0 * np.arcsin(k * np.sin(s))
        dturn = 2.0 * k * np.cos(s) / np.cos(0.5 * turn)
        leg = np.array([-b * np.sin(turn), b * np.cos(turn) - a, h])
        dleg = np.array([-b * np.cos(turn) * dturn, -b * np.sin(turn) * dturn, dh])
        up, aside = e * leg[1] - y * leg[2], -leg[0]
        dup, daside = e * dleg[1] - y * dleg[2], -dleg[0]
        motor = s + (np.arctan2(aside, up) - s + np.pi) % (2.0 * np.pi) - np.pi
        dmotor = (daside * up - aside * dup) / (aside**2 + up**2)
        speed2, length2 = float(dleg @ dleg), float(leg @ leg)
        spin = dmotor * (y * leg[1] + e * leg[2]) / np.sqrt(length2)
        legs = self.leg_kg * speed2 / 4.0 + self.leg_across * speed2 / length2 + self.leg_along * spin**2
        rotors = (self.rotor_along + self.rotor_kg * self._offset**2) * dmotor**2
        inertia = 3.0 * (legs + rotors) + self.platform_kg * dh**2 + self.platform_about_z * dturn**2
        return Posture(float(h), float(turn), float(motor), float(inertia))

    @property
    def _offset(self) -> float:
        """Distance of a rotor's centre of mass above the motor's axis, in the plane of the leg at θ = 0."""
        y, e = np.array(self.axis) / np.hypot(*self.axis)
        return float(self.rotor_com[0] * e - self.rotor_com[1] * y)

    def work(self, s: float) -> float:
        """What three motors and gravity have done since the start, J."""
        posture = self.at(s)
        fall = (self.platform_kg + 1.5 * self.leg_kg) * 2.0 * self.height * np.sin(0.5 * s) ** 2
        lean = -self.axis[0] / np.hypot(*self.axis)
        swing = 3.0 * self.rotor_kg * self._offset * lean * 2.0 * np.sin(0.5 * posture.motor) ** 2
        return float(3.0 * self.torque * posture.motor + GRAVITY * (fall + swing))

    def time_at(self, s: float) -> float:
        """When the motion from rest reaches s, s."""

        def integrand(x: float) -> float:
            at = x * x
            return float(2.0 * x * np.sqrt(self.at(at).inertia / (2.0 * self.work(at))))

        parts = np.sqrt(np.append(np.arange(0.0, s, 0.5 * np.pi), s))
        return float(
            sum(
                quad(integrand, begin, end, epsabs=1e-12, epsrel=1e-12, limit=200)[0]
                for begin, end in pairwise(parts)
                if end > begin
            )
        )

    def crossings(self, count: int = 3) -> Floats:
        """When the platform passes the knees' plane, z = 0, s."""
        return np.array([self.time_at((n + 0.5) * np.pi) for n in range(count)])


def crossings_of(time_s: Floats, height_m: Floats) -> Floats:
    """Times at which a sampled height passes 0, by straight lines between samples."""
    before = np.flatnonzero(np.sign(height_m[:-1]) * np.sign(height_m[1:]) < 0.0)
    share = height_m[before] / (height_m[before] - height_m[before + 1])
    return np.asarray(time_s[before] + share * (time_s[before + 1] - time_s[before]))
