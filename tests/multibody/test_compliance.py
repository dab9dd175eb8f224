"""Stops and contacts: their forces, what they store and lose, and steps that find where touch begins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.multibody import Body, Joint, Mechanism, ModelError, Point
from linkwork.multibody.constraints import CouplingConstraint, DistanceClosure, Frame
from linkwork.multibody.contact.compliance import Contact, JointStop, Plane, Sphere
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy, forward_dynamics
from linkwork.multibody.kernels.layout import PARTS
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.steps.step import RK4, step
from linkwork.multibody.steps.touch_search import quickest
from linkwork.multibody.workspace import Workspace
from linkwork.offline.taylor.taylor_model import MaximalModel
from tests.multibody.machines import random_tree

G = 9.81


def ball(contact: Contact, mass: float = 1.0, gravity: float = G) -> Mechanism:
    """A point mass that slides along x, y and z."""
    return Mechanism.build(
        [Body("along"), Body("across"), Body("ball", mass)],
        [
            Joint("x", "prismatic", "world", "along", axis=(1, 0, 0)),
            Joint("y", "prismatic", "along", "across", axis=(0, 1, 0)),
            Joint("z", "prismatic", "across", "ball"),
        ],
        (0.0, 0.0, -gravity),
        [Point("centre", "ball")],
        contacts=[contact],
    )


def hinge(stop: JointStop, inertia: float = 0.5) -> Mechanism:
    bodies = [Body("bar", 1.0, (0, 0, 0), np.diag([inertia] * 3))]
    return Mechanism.build(bodies, [Joint("q", "revolute", "world", "bar")], (0, 0, 0), stops=[stop])


def total(w: Workspace) -> float:
    """Energy held and lost so far."""
    dynamics(*w.arguments)
    energy(*w.arguments)
    return float(w.energy.sum() + w.losses[2])


def go(w: Workspace, duration: float, dt: float = 1e-3, method: int = RK4) -> float:
    """Steps; returns the largest difference between energy and losses."""
    start, worst = total(w), 0.0
    for _ in range(round(duration / dt)):
        step(*w.arguments, method, dt)
        worst = max(worst, abs(total(w) - start))
    return worst


def test_a_bounce_takes_half_a_period_of_the_spring() -> None:
    """Without gravity: in touch for π √(m / k), out as fast as in, as deep as v √(m / k)."""
    w = ball(Contact("floor", "centre", Plane(), 4e4), 2.0, 0.0).workspace()
    half = math.pi * math.sqrt(2.0 / 4e4)
    w.q[2], w.v[2] = 0.00137, -0.8
    assert go(w, 0.04) < 1e-7
    flown = 0.04 - half - 0.00137 / 0.8
    assert w.v[2] == pytest.approx(0.8, rel=1e-7)
    assert w.q[2] == pytest.approx(0.8 * flown, rel=1e-6)


@pytest.mark.parametrize("surface", [Plane(), Sphere((0.0, 0.0, -1000.0), 1000.0)], ids=["plane", "sphere"])
def test_a_ball_that_is_thrown_along_the_floor_rolls_in_the_end(surface: Plane | Sphere) -> None:
    """Whatever the friction: with a moment of inertia of 2/5 m r² it keeps 5/7 of its speed."""
    r, mass, k = 0.1, 2.0, 1e5
    contact = Contact("floor", "centre", surface, k, 50.0, 0.3, 1e-3, r)
    bodies = [Body("along"), Body("up"), Body("ball", mass, (0, 0, 0), np.eye(3) * 0.4 * mass * r * r)]
    joints = [
        Joint("x", "prismatic", "world", "along", axis=(1, 0, 0)),
        Joint("z", "prismatic", "along", "up"),
        Joint("spin", "revolute", "up", "ball", axis=(0, 1, 0)),
    ]
    points = [Point("centre", "ball")]
    w = Mechanism.build(bodies, joints, (0, 0, -G), points, contacts=[contact]).workspace()
    w.q[1], w.v[0] = r - mass * G / k, 1.0
    assert go(w, 0.05) < 1e-5
    sliding = 1.0 - 0.3 * G * 0.05
    assert w.v[0] == pytest.approx(sliding, rel=1e-3)
    assert w.v[2] == pytest.approx(0.3 * G * 0.05 / (0.4 * r), rel=1e-3)
    go(w, 0.25)
    assert w.v[0] == pytest.approx(5.0 / 7.0, rel=1e-3)
    assert w.v[2] * r == pytest.approx(w.v[0], rel=1e-3)


def test_halving_the_step_divides_the_error_of_a_bounce_by_sixteen() -> None:
    ends = []
    for dt in (2e-3, 1e-3, 5e-4):
        w = ball(Contact("floor", "centre", Plane(), 100.0, 2.0), 1.0).workspace()
        w.q[2], w.v[2] = 0.0123, -1.0
        go(w, 0.5, dt)
        ends.append(w.q[2])
    exact = _bounce(0.0123, -1.0, 100.0, 2.0, 0.5)
    errors = np.abs(np.array(ends) - exact)
    assert errors[2] < 1e-9
    assert 10.0 < errors[0] / errors[1] < 40.0


def _bounce(z: float, v: float, stiffness: float, damping: float, duration: float) -> float:
    """The same by scipy's DOP853, part after part between the events."""

    def pressure(_t: float, y: np.ndarray) -> float:
        return float(-stiffness * y[0] + min(0.0, -damping * y[1]))

    pressure.terminal = True  # type: ignore[attr-defined]
    t, y, presses = 0.0, np.array([z, v]), False
    while t < duration:
        pressure.direction = -1.0 if presses else 1.0  # type: ignore[attr-defined]

        def rate(_t: float, y: np.ndarray, on: bool = presses) -> list[float]:
            return [y[1], -G + on * (-stiffness * y[0] - damping * y[1])]

        found = solve_ivp(rate, (t, duration), y, "DOP853", events=pressure, rtol=1e-12, atol=1e-14)
        t, y, presses = found.t[-1], found.y[:, -1], not presses
    return float(y[0])


@pytest.mark.parametrize("damping", [0.0, 20.0, 500.0])
def test_energy_is_held_or_lost_and_nothing_else(damping: float) -> None:
    w = ball(Contact("floor", "centre", Plane(), 1e4, damping, 0.4), 1.0, 10.0).workspace()
    w.q[2], w.v[:] = 0.0013, (0.7, -0.2, -1.0)
    assert go(w, 1.0) < 2e-6


def test_the_force_never_pulls_and_friction_stays_in_its_cone() -> None:
    w = ball(Contact("floor", "centre", Plane(normal=(0.3, 0, 1)), 1e3, 80.0, 0.5)).workspace()
    rng = np.random.default_rng(5)
    normal = np.array([0.3, 0, 1]) / math.hypot(0.3, 1)
    presses = 0
    for _ in range(300):
        w.q[:], w.v[:] = rng.normal(scale=0.05, size=3), rng.normal(size=3)
        forward_dynamics(*w.arguments)
        gap = normal @ w.q
        along = normal @ w.contact_force[0]
        assert w.contact_gap[0] == pytest.approx(gap, abs=1e-15)
        expected = max(0.0, -1e3 * gap - 80.0 * normal @ w.v) if gap < 0 else 0.0
        assert along == pytest.approx(expected, abs=1e-9)
        slip = w.contact_force[0] - along * normal
        assert np.linalg.norm(slip) <= 0.5 * along + 1e-12
        assert slip @ w.v <= 1e-12
        assert w.losses[0] >= -1e-12
        np.testing.assert_allclose(w.compliant, w.contact_force[0], atol=1e-12)
        presses += along > 0
    assert presses > 30


def test_what_lies_rests_under_its_weight() -> None:
    w = ball(Contact("floor", "centre", Plane(), 5e3, 100.0, 0.6), 2.0).workspace()
    w.q[2] = 0.01
    go(w, 2.0)
    assert w.q[2] == pytest.approx(-2.0 * G / 5e3, rel=1e-9)
    np.testing.assert_allclose(w.contact_force, [[0.0, 0.0, 2.0 * G]], atol=1e-9)
    assert abs(w.v).max() < 1e-10


@pytest.mark.parametrize("friction", [0.2, 0.5])
def test_a_slope_is_slid_down_with_the_rest_of_the_weight(friction: float) -> None:
    """Steeper than friction: a = g (sin - μ cos). Less steep: it creeps at slip_speed atanh(tan / μ)."""
    slope = math.radians(20.0)
    normal, down = (math.sin(slope), 0.0, math.cos(slope)), np.array([math.cos(slope), 0.0, -math.sin(slope)])
    speed = 1e-3
    w = ball(Contact("slope", "centre", Plane(normal=normal), 1e5, 600.0, friction, speed)).workspace()
    w.q[:] = -np.array(normal) * G * math.cos(slope) / 1e5
    worst = go(w, 0.5)
    if friction < math.tan(slope):
        expected = 0.5 * G * (math.sin(slope) - friction * math.cos(slope))
        assert w.v @ down == pytest.approx(expected, rel=2e-3)
    else:
        assert w.v @ down == pytest.approx(speed * math.atanh(math.tan(slope) / friction), rel=1e-6)
    assert worst < 1e-6


def test_a_ball_rolls_off_a_sphere_where_it_must() -> None:
    """Without friction a point leaves a sphere where cos(angle) = 2/3 of the start's height."""
    w = ball(Contact("dome", "centre", Sphere((0, 0, -1.0), 1.0), 1e6, 200.0)).workspace()
    start = 0.2
    w.q[:] = math.sin(start), 0.0, math.cos(start) - 1.0 - 1e-5
    worst = 0.0
    begin = total(w)
    for _ in range(5000):
        step(*w.arguments, RK4, 1e-3)
        worst = max(worst, abs(total(w) - begin))
        if not w.contact_force.any():
            break
    height = (w.q[2] + 1.0) / np.linalg.norm(w.q + np.array([0, 0, 1.0]))
    assert height == pytest.approx(2.0 / 3.0 * math.cos(start), abs=5e-3)
    assert worst < 1e-6


def test_stops_hold_both_ways_and_return_what_their_spring_took() -> None:
    w = hinge(JointStop("q", -0.3, 0.4, 2e3)).workspace()
    w.v[0] = 1.5
    assert go(w, 1.0) < 1e-7
    assert abs(w.v[0]) == pytest.approx(1.5, rel=1e-6) or w.compliant[0] != 0.0
    w = hinge(JointStop("q", -0.3, 0.4, 2e3, 5.0)).workspace()
    w.v[0] = -1.5
    assert go(w, 5.0) < 5e-7
    assert -0.3 - 1e-3 < w.q[0] < 0.4 + 1e-3
    assert w.losses[2] > 0.5


def test_a_stops_effort_is_that_of_its_degree_of_freedom() -> None:
    w = hinge(JointStop("q", -0.3, 0.4, 2e3, 5.0)).workspace()
    for q, v, expected in ((0.41, 0.2, -21.0), (-0.31, 1.0, 15.0), (0.401, -2.0, 0.0), (0.1, 9.0, 0.0)):
        w.q[0], w.v[0] = q, v
        forward_dynamics(*w.arguments)
        assert w.compliant[0] == pytest.approx(expected)
        assert w.vdot[0] == pytest.approx(expected / 0.5)


def test_a_contacts_force_acts_on_every_joint_that_carries_the_point() -> None:
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 6)
    body = tree.bodies[-1].name
    touching = Mechanism.build(
        tree.bodies,
        tree.joints,
        tree.gravity_m_s2,
        [Point("toe", body, (0.1, -0.2, 0.05))],
        contacts=[Contact("ground", "toe", Plane((0, 0, 50.0)), 30.0, 1.0, 0.7, 0.1)],
    )
    from linkwork.multibody.functions import point_jacobian

    w = touching.workspace()
    w.q[: w.v.size], w.v[:] = rng.normal(size=w.v.size), rng.normal(size=w.v.size)
    forward_dynamics(*w.arguments)
    assert w.contact_force[0, 2] > 1.0
    jacobian = point_jacobian(touching, "toe", w.q)[3:]
    np.testing.assert_allclose(w.compliant, jacobian.T @ w.contact_force[0], rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(w.M @ w.vdot + w.h, w.friction + w.compliant, rtol=1e-9, atol=1e-9)


def test_under_constraints_too() -> None:
    """A bead on a wire falls on the floor; its energy is held or lost."""
    bead = Mechanism.build(
        [Body("carriage"), Body("bead", 1.7)],
        [
            Joint("x", "prismatic", "world", "carriage", axis=(1, 0, 0)),
            Joint("z", "prismatic", "carriage", "bead"),
        ],
        (0.0, 0.0, -G),
        [Point("p", "bead")],
        constraints=[DistanceClosure("wire", b=Frame("bead"), distance_m=0.8)],
        contacts=[Contact("floor", "p", Plane((0, 0, -0.5)), 1e4, 20.0)],
    )
    w = bead.workspace()
    w.q[:] = 0.8, 0.0
    start, worst = total(w), 0.0
    for _ in range(1500):
        step(*w.arguments, RK4, 1e-3)
        worst = max(worst, abs(total(w) - start))
    assert worst < 1e-6
    assert w.losses[2] > 1.0
    assert np.linalg.norm(w.q) == pytest.approx(0.8, abs=1e-12)


def geared(helper: float, *, stop: bool = False) -> Workspace:
    """A light finger above a floor (or a stop), geared 2:1 to a sled of 3 kg: it moves as 0.75 kg would."""
    touch = {"stops": [JointStop("z", 0.0, 1.0, 4e4)]} if stop else {}
    floor = [] if stop else [Contact("floor", "tip", Plane(), 4e4)]
    w = Mechanism.build(
        [Body("sled", 3.0), Body("finger", helper)],
        [
            Joint("x", "prismatic", "world", "sled", axis=(1, 0, 0)),
            Joint("z", "prismatic", "world", "finger"),
        ],
        (0, 0, 0),
        [Point("tip", "finger")],
        constraints=[CouplingConstraint("gear", factors={"x": 2.0, "z": -1.0})],
        contacts=floor,
        **touch,
    ).workspace()
    w.v[:] = -0.5, -1.0
    return w


@pytest.mark.parametrize("helper", [1e-1, 1e-4, 1e-9])
@pytest.mark.parametrize("stop", [False, True])
def test_what_touches_is_as_heavy_as_what_it_is_geared_to(helper: float, stop: bool) -> None:
    inertia = 3.0 / 4.0 + helper
    w = geared(helper, stop=stop)
    w.q[:] = -1e-4, -2e-4
    dynamics(*w.arguments)
    assert quickest(*w.arguments) == pytest.approx(math.sqrt(4e4 / inertia) / 0.2, rel=1e-9)
    w = geared(helper, stop=stop)
    bounce, steps = math.pi * math.sqrt(inertia / 4e4), 5
    for _ in range(steps):
        step(*w.arguments, RK4, bounce / steps / 2)
        assert w.search[PARTS] <= 1 + math.ceil(math.pi / steps / 2 / 0.2)
    np.testing.assert_allclose(w.q[1], -math.sqrt(inertia / 4e4), rtol=1e-5)  # deepest after half the bounce
    assert abs(w.v[1]) < 1e-5


def test_what_constraints_hold_fast_needs_no_short_parts() -> None:
    held = Mechanism.build(
        [Body("finger", 1e-3)],
        [Joint("z", "prismatic", "world", "finger")],
        (0, 0, 0),
        [Point("tip", "finger")],
        constraints=[DistanceClosure("rod", a=Frame(at_m=(0, 0, 1)), b=Frame("finger"))],
        contacts=[Contact("floor", "tip", Plane((0, 0, 0.01)), 4e9)],
    )
    w = held.workspace()
    dynamics(*w.arguments)
    assert w.touching[0] == 1.0
    assert quickest(*w.arguments) == 0.0


def test_steep_friction_is_followed_where_a_plain_step_chatters() -> None:
    """μ m g / (m v_s) = 5 per step: beyond the 2.7 that the plain step bears."""
    ends = []
    for made in (lambda w: step(*w.arguments, RK4, 1e-3), lambda w: rk4(*w.arguments, 1e-3)):
        w = ball(Contact("floor", "centre", Plane(), 1e4, 200.0, 0.5, 9.81e-4)).workspace()
        w.q[2], w.v[0] = -G / 1e4, 0.5
        for _ in range(400):
            made(w)
        ends.append(abs(w.v[0]))
    assert ends[0] < 1e-12
    assert ends[1] > 1e-5


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: JointStop("q", 0.4, 0.3, 1.0), ("stops", "q", "low")),
        (lambda: JointStop("q", 0.1, 0.3, 0.0), ("stops", "q", "stiffness")),
        (lambda: Contact("c", "p", Plane(), 1e3, -1.0), ("contacts", "c", "damping_N_s_m")),
        (lambda: Contact("c", "p", Plane(), 1e3, 1.0, 0.3, 0.0), ("contacts", "c", "slip_speed_m_s")),
        (lambda: Sphere((0, 0, 0), -1.0), ("contacts", "radius_m")),
        (lambda: ball(Contact("c", "nose", Plane(), 1e3)), ("contacts", "c", "point")),
        (lambda: hinge(JointStop("knee", 0.1, 0.3, 1.0)), ("stops", "knee")),
    ],
)
def test_what_cannot_be_is_refused(make, where: tuple[str, ...]) -> None:
    with pytest.raises(ModelError) as caught:
        make()
    assert caught.value.where == where


def test_the_taylor_stepper_refuses_them() -> None:
    with pytest.raises(ModelError, match="has no stops and contacts"):
        MaximalModel.from_mechanism(hinge(JointStop("q", -0.3, 0.4, 2e3)))
