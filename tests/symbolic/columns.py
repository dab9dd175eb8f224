"""Columns of elementary joints, and the arm and disk of Kwatny & Blankenship 1995, in symbols."""

import sympy as sp

from linkwork.symbolic import ChainBody

TURN_X, TURN_Y, TURN_Z, SLIDE_X, SLIDE_Y, SLIDE_Z = ([int(i == j) for i in range(6)] for j in range(6))
ALL_SIX = [TURN_X, TURN_Y, TURN_Z, SLIDE_X, SLIDE_Y, SLIDE_Z]
S1, S2, E, T1, T2, T3 = ARM = sp.symbols("s1 s2 e t1 t2 t3", real=True)
REACH, RADIUS, GRIPPER = sp.Rational(7, 10), sp.Rational(35, 100), sp.Rational(1, 2)


def disk(groups):
    """The thin disk: inertia diag(5, 5, 10), turning about its centre."""
    return [ChainBody(groups, (T1, T2, T3), 1, inertia_kg_m2=sp.diag(5, 5, 10))]


def arm(wrist):
    """The arm: shoulder about y, then z; elbow about y; wrist as given; links of 3, 3, 0.7 m."""
    bar = sp.diag(sp.Rational(3, 4), sp.Rational(3, 4), 0)
    across = GRIPPER * (REACH**2 + 3 * RADIUS**2) / 12
    grip = sp.diag(across, across, GRIPPER * RADIUS**2 / 12)
    half, whole = (0, 0, sp.Rational(3, 2)), (0, 0, 3)
    return [
        ChainBody([[TURN_Y], [TURN_Z]], (S1, S2), 1, half, bar, whole),
        ChainBody([[TURN_Y]], (E,), 1, half, bar, whole),
        ChainBody(wrist, (T1, T2, T3), GRIPPER, (0, 0, REACH / 2), grip, (0, 0, REACH)),
    ]


COMPOUND_WRIST = [[TURN_Y], [TURN_Z], [TURN_X]]
SIMPLE_WRIST = [[TURN_Y, TURN_Z, TURN_X]]
