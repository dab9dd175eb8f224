"""Rows on the level of velocities: rolling and skating against closed forms; positions are left alone."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.arrays import Floats
from linkwork.multibody import Body, Coordinate, Joint, Mechanism, Point
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.constraints import CoordinateConstraint, Frame, RollingConstraint, VelocityConstraint
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.multibody.reactions.reactions import joint_reactions
from linkwork.multibody.steps.integrate import rk4
from tests.multibody.machines import G

R, M = 0.3, 2.0
TILTED = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def _round(moments: tuple[float, float, float], disc: bool, plane: Floats | None = None) -> Mechanism:
    ground = Frame(rotation=np.eye(3) if plane is None else plane)
    return Mechanism.build(
        [Body("it", M, (0, 0, 0), np.diag(moments))],
        [Joint("j", "free", "world", "it")],
        (0, 0, -G),
        constraints=[RollingConstraint("floor", a=ground, b=Frame("it"), radius_m=R, disc=disc)],
    )


def _run(mechanism: Mechanism, q: Floats, v: Floats, steps: int, dt: float = 1e-3) -> tuple[Floats, Floats]:
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    states, energies = [w.q.copy()], []
    for _ in range(steps):
        rk4(*w.arguments, dt)
        states.append(w.q.copy())
        dynamics(*w.arguments)
        energy(*w.arguments)
        energies.append(w.energy.sum())
    return np.array(states), np.array(energies)


def test_a_ball_on_a_slope_gains_five_sevenths_of_its_pull():
    angle, moment = 0.4, 0.4 * M * R**2
    c, s = np.cos(angle), np.sin(angle)
    slope = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])  # x points down the slope
    ball = _round((moment,) * 3, False, slope)
    q = np.array([*(R * slope[:, 2]), 0, 0, 0, 1.0])
    states, _ = _run(ball, q, np.zeros(6), 500)
    way = (states[-1, :3] - q[:3]) @ slope
    assert way == pytest.approx([0.5 * 5 / 7 * G * s * 0.25, 0, 0], abs=1e-9)


def _steady(tilt: float, rate: float) -> tuple[Floats, Floats, float]:
    """Disc whose axis keeps the angle `tilt` from the vertical, turning at `rate` about it; and its spin.

    rate ω3 sin(tilt) (C + m R²) - A rate² sin(tilt) cos(tilt) + m g R cos(tilt) = 0 (Routh, Rigid dynamics).
    """
    a, c, s = 0.25 * M * R**2, 0.5 * M * R**2, np.sin(tilt)
    spin = (a * rate**2 * s - M * G * R) * np.cos(tilt) / (rate * s * (c + M * R**2))
    q = np.array([0, 0, R * s, np.sin(0.5 * tilt), 0, 0, np.cos(0.5 * tilt)])  # turned about x
    v = np.array([-R * spin, 0, 0, 0, rate * s, spin])
    return q, v, spin


def test_a_thin_disc_rolls_in_a_circle_at_a_constant_tilt():
    tilt, rate = 1.0, 3.0
    disc = _round((0.25 * M * R**2, 0.25 * M * R**2, 0.5 * M * R**2), True)
    q, v, spin = _steady(tilt, rate)
    assembled = assemble(disc, q, v)
    assert np.abs(assembled.q - q).max() < 1e-12
    assert np.abs(assembled.v - v).max() < 1e-12
    states, energies = _run(disc, q, v, 1000)
    assert np.ptp(energies) < 1e-8
    vertical = 1.0 - 2.0 * (states[:, 3] ** 2 + states[:, 4] ** 2)
    assert np.abs(vertical - np.cos(tilt)).max() < 1e-7
    radius = R * abs(spin / rate)
    centre = np.array([0.0, np.sign(spin) * -radius])
    distances = np.linalg.norm(states[:, :2] - centre, axis=1)
    assert np.abs(distances - radius).max() < 1e-7


@pytest.mark.parametrize(("speed", "falls"), [(0.8, True), (1.2, False)])
def test_an_upright_disc_falls_below_its_critical_speed(speed, falls):
    disc = _round((0.25 * M * R**2, 0.25 * M * R**2, 0.5 * M * R**2), True)
    spin = speed * np.sqrt(G / (3.0 * R))  # stable above v² = g R / 3
    tilt = 0.5 * np.pi + 1e-4
    q = np.array([0, 0, R * np.sin(tilt), np.sin(0.5 * tilt), 0, 0, np.cos(0.5 * tilt)])
    states, _ = _run(disc, q, np.array([-R * spin, 0, 0, 0, 0, spin]), 1200, 2e-3)
    lean = np.abs(2.0 * (states[:, 3] ** 2 + states[:, 4] ** 2) - 1.0).max()
    assert (lean > 1e-2) == falls


def _sleigh(offset: float, *more: CoordinateConstraint) -> Mechanism:
    """Chaplygin's sleigh: a body on a plane on one skate, its centre of mass ahead of it."""
    skate = VelocityConstraint("skate", factors={"x": "sin(turn)", "y": "-cos(turn)"})
    return Mechanism.build(
        [Body("a"), Body("b"), Body("sleigh", M, (offset, 0, 0), np.diag([0.05, 0.05, 0.05]))],
        [
            Joint("x", "prismatic", "world", "a", axis=(1, 0, 0)),
            Joint("y", "prismatic", "a", "b", axis=(0, 1, 0)),
            Joint("turn", "revolute", "b", "sleigh"),
        ],
        (0, 0, 0),
        [Point("tip", "sleigh", (1.0, 0, 0))],
        [Coordinate("tip_y", "y", "tip")],
        constraints=(skate, *more),
    )


def test_chaplygins_sleigh():
    offset = 0.2
    sleigh, inertia = _sleigh(offset), 0.05 + M * offset**2

    def reduced(_: float, s: Floats) -> list[float]:
        speed, rate, angle = s[:3]
        along = [offset * rate**2, -M * offset * speed * rate / inertia, rate]
        return [*along, speed * np.cos(angle), speed * np.sin(angle)]

    q, v = np.array([0.0, 0.0, 0.3]), np.array([np.cos(0.3), np.sin(0.3), 2.0])
    exact = solve_ivp(reduced, (0.0, 2.0), [1.0, 2.0, 0.3, 0.0, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]
    states, energies = _run(sleigh, q, v, 2000)
    assert states[-1] == pytest.approx([exact[3], exact[4], exact[2]], abs=1e-9)
    assert np.ptp(energies) < 1e-10


def test_assembly_may_go_where_the_skate_cannot():
    """Sideways of the skate lies the only way to the guide."""
    sleigh = _sleigh(0.2, CoordinateConstraint("guide", of="y", value=0.7))
    found = assemble(sleigh, [0.1, 0.0, 0.0], [1.0, 1.0, 0.0])
    assert found.residual < 1e-12
    assert found.q[1] == pytest.approx(0.7, abs=1e-12)
    assert found.v[1] == pytest.approx(0.0, abs=1e-12)
    free = assemble(_sleigh(0.2), [5.0, -3.0, 0.4], [1.0, 1.0, 0.0])
    assert free.q.tolist() == [5.0, -3.0, 0.4]
    assert free.v[0] * np.sin(0.4) - free.v[1] * np.cos(0.4) == pytest.approx(0.0, abs=1e-12)
    assert free.rank == free.ordinary_rank == 1


def test_guide_and_skate_in_one_line_are_redundant_and_hold_together():
    """A skate that runs along a wall: its row depends on the wall's, of which the position is kept."""
    wall = [CoordinateConstraint("wall", of="y"), CoordinateConstraint("tip", of="tip_y")]
    sleigh = _sleigh(0.2, *wall)
    w = sleigh.workspace()
    w.v[0] = 3.0
    for _ in range(1000):
        rk4(*w.arguments, 1e-3)
    assert w.q == pytest.approx([3.0, 0.0, 0.0], abs=1e-12)


def test_an_upright_disc_is_held_as_a_ball_is():
    """Reactions and minimal coordinates know the rows of a disc."""
    found = []
    for disc in (False, True):
        mechanism = _round((0.02, 0.02, 0.03), disc)
        q, v, _ = _steady(0.5 * np.pi, 2.0)
        v[:] = -R * 3.0, 0, 0, 0, 0, 3.0
        found.append([[*each.force_N, *each.moment_N_m] for each in joint_reactions(mechanism, q, v)])
    assert np.abs(np.subtract(*found)).max() < 1e-10
    assert found[0][1][:3] == pytest.approx([0, 0, M * G])
