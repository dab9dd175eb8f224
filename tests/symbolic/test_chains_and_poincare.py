"""Thin disk and arm of Kwatny & Blankenship 1995: printed expressions, and their misprints corrected."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from linkwork.machine import load
from linkwork.multibody import functions
from linkwork.symbolic import (
    chain_inertia,
    compound_joint_map,
    end_effector,
    gravity_potential,
    poincare_equations,
    velocity_map,
)
from tests.symbolic.columns import (
    ARM,
    COMPOUND_WRIST,
    S1,
    S2,
    SIMPLE_WRIST,
    T1,
    T2,
    T3,
    TURN_X,
    TURN_Y,
    TURN_Z,
    E,
    arm,
    disk,
)

W = sp.symbols("w1 w2 w3", real=True)
c, s = sp.cos, sp.sin
CROSSWISE, THIN = sp.Rational(931, 9600), sp.Rational(49, 9600)  # of the gripper about its hinge, kg m²


def zero(expression):
    return sp.simplify(sp.expand_trig(expression)) == 0


@pytest.fixture(scope="module")
def inertias():
    """Of the arm with the compound and with the simple wrist."""
    return tuple(chain_inertia(arm(wrist), lambda x: x) for wrist in (COMPOUND_WRIST, SIMPLE_WRIST))


@cache
def _disk_equations(simple):
    chain = disk([[TURN_X, TURN_Y, TURN_Z]] if simple else [[TURN_X], [TURN_Y], [TURN_Z]])
    return poincare_equations(chain_inertia(chain), velocity_map(chain), 0, (T1, T2, T3), W)


def test_disk_with_a_simple_joint_has_eulers_equations():
    """(54a), (54b), whose overall sign is a misprint: C p = ω × I ω = (5 ω2 ω3, -5 ω1 ω3, 0)."""
    equations = _disk_equations(simple=True)
    assert sp.diag(5, 5, 10) == equations.M
    forces = equations.C * sp.Matrix(W)
    expected = sp.Matrix(W).cross(equations.M * sp.Matrix(W))
    assert all(zero(x - y) for x, y in zip(forces, expected, strict=True))
    assert expected == sp.Matrix([5 * W[1] * W[2], -5 * W[0] * W[2], 0])


def test_disk_with_a_compound_joint():
    """(55a), which prints 5 sin t2 where its square belongs: M33 would be negative."""
    M = _disk_equations(simple=False).M
    printed = 10 * c(T1) ** 2 * c(T2) ** 2 + 5 * c(T2) ** 2 * s(T1) ** 2
    assert zero(M[2, 2] - printed - 5 * s(T2) ** 2)
    assert not zero(M[2, 2] - printed - 5 * s(T2))


@pytest.mark.slow
def test_a_free_body_keeps_its_energy_in_quasi_velocities():
    """A spinning disk by (53), with the corrected signs: 4 s, energy to the integrator's tolerance."""
    equations = _disk_equations(simple=True)
    q = (T1, T2, T3)
    rates = sp.Matrix.vstack(equations.V * sp.Matrix(W), -equations.M.inv() * equations.C * sp.Matrix(W))
    function = sp.lambdify([q, W], list(rates), "math", cse=True)
    start = np.array([0.1, -0.2, 0.3, 0.4, -0.3, 2.0])
    run = solve_ivp(lambda _, x: function(x[:3], x[3:]), (0.0, 4.0), start, rtol=1e-11, atol=1e-12)
    energy = 0.5 * (5 * run.y[3] ** 2 + 5 * run.y[4] ** 2 + 10 * run.y[5] ** 2)
    assert np.abs(energy - energy[0]).max() < 1e-9 * energy[0]
    # a disk without moments: the wobble turns at (10 - 5)/5 of its spin
    angle = 2.0 * run.t[-1]
    wobble = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ start[3:5]
    assert np.abs(run.y[3:5, -1] - wobble).max() < 1e-8


def test_lagrange_is_the_case_of_a_trivial_map():
    """V = 1: C by (53b) differs from Christoffel's only by what does no work, C p is the same."""
    q, p = sp.symbols("q1 q2"), sp.symbols("p1 p2")
    M = sp.Matrix([[3 + 2 * c(q[1]), 1 + c(q[1])], [1 + c(q[1]), 1]])
    U = 9.81 * (s(q[0] + q[1]) + 2 * s(q[0]))
    equations = poincare_equations(M, sp.eye(2), U, q, p)
    expected = sp.Matrix([-s(q[1]) * (p[1] ** 2 + 2 * p[0] * p[1]), s(q[1]) * p[0] ** 2])
    assert all(zero(x - y) for x, y in zip(equations.C * sp.Matrix(p), expected, strict=True))
    assert zero(equations.gravity[1] - U.diff(q[1]))


def test_end_effector_of_the_arm():
    """The printed pose: X = Rz(s2) Ry(s1) T(3) Ry(e) T(3) Rx(t3) Rz(t2) Ry(t1) T(0.7)."""

    def turn(axis, angle):
        k = "xyz".index(axis)
        small = sp.eye(4)
        i, j = (k + 1) % 3, (k + 2) % 3
        small[i, i] = small[j, j] = c(angle)
        small[i, j], small[j, i] = -s(angle), s(angle)
        return small

    def along(length):
        moved = sp.eye(4)
        moved[2, 3] = length
        return moved

    expected = turn("z", S2) * turn("y", S1) * along(3) * turn("y", E) * along(3)
    expected = expected * turn("x", T3) * turn("z", T2) * turn("y", T1) * along(sp.Rational(7, 10))
    gap = (end_effector(arm(COMPOUND_WRIST)) - expected).applyfunc(sp.expand)
    assert gap == sp.zeros(4)


def test_potential_of_the_arm():
    """The printed potential leaves out masses and links: g (6 cos s1 + 3 cos(e + s1) + 0.175 z3)."""
    g = sp.Symbol("g")
    z3 = -c(T2) * s(E + S1) * s(T1) + c(E + S1) * (c(T1) * c(T3) + s(T1) * s(T2) * s(T3))
    expected = g * (6 * c(S1) + 3 * c(E + S1) + sp.Rational(175, 1000) * z3)
    found = gravity_potential(arm(COMPOUND_WRIST), (0, 0, -g))
    assert sp.expand(sp.expand_trig(found - expected)) == 0


def test_last_row_of_the_arms_inertia(inertias):
    """The wrist's last row, which is right in print; I_g = 0.0969792, 0.00510417, 0.091875."""
    compound, simple = inertias
    assert float(CROSSWISE) == pytest.approx(0.0969792, abs=5e-8)
    assert zero(compound[5, 3] + CROSSWISE * s(T2))
    assert zero(compound[5, 4] + (CROSSWISE - THIN) * c(T1) * c(T2) * s(T1))
    last = CROSSWISE * (c(T1) ** 2 * c(T2) ** 2 + s(T2) ** 2) + THIN * c(T2) ** 2 * s(T1) ** 2
    assert zero(compound[5, 5] - last)
    # in the gripper's axes, in the order of the columns y, z, x
    assert simple[3:, 3:] == sp.diag(CROSSWISE, THIN, CROSSWISE)


def test_rows_of_the_arms_inertia_against_the_library(inertias):
    """Rows 1 to 3 are printed with the rotation of the joint before; here with that of the joint itself."""
    q = np.array([0.4, -0.6, 0.9, 0.5, -0.3, 0.7])
    found = np.array(inertias[0].subs(dict(zip(ARM, q, strict=True))), float)
    expected = functions.mass_matrix(load("arm_6dof").mechanism, q)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


def test_wrists_are_congruent(inertias):
    """Simple and compound wrist: M_compound = T' M_simple T with β = T ė, exactly, in symbols."""
    compound, simple = inertias
    across = sp.diag(sp.eye(3), compound_joint_map(COMPOUND_WRIST, (T1, T2, T3)).H[:3, :])
    across[3:, :] = across[[4, 5, 3], :]  # the simple wrist's velocities are about y, z, x
    gap = across.T * simple * across - compound
    values = dict(zip(ARM, (0.4, -0.6, 0.9, 0.5, -0.3, 0.7), strict=True))
    assert np.abs(np.array(gap.subs(values), float)).max() < 1e-12
    assert zero(gap[5, 5])
