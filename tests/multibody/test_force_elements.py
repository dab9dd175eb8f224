"""Springs and applied forces: closed forms, independent integrators, MuJoCo, and agreement of all paths."""

import math

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, ModelError, Point
from linkwork.multibody.constraints import DistanceClosure, Frame
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy, forward_dynamics
from linkwork.multibody.forces import (
    AboutAxis,
    AlongDirection,
    AppliedForce,
    BetweenPoints,
    ForceElement,
    OnJoint,
    Spring,
)
from linkwork.multibody.functions import bias, kinetic_energy, potential_energy
from linkwork.multibody.reactions.reactions import ReactionTable
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.workspace import Workspace
from linkwork.symbolic.linear_model import linearize
from tests.multibody.machines import G, random_state, random_tree
from tests.symbolic.test_recursion import ROUND_OFF, worst_gap


def with_elements(m: Mechanism, *elements: ForceElement, points: tuple[Point, ...] = ()) -> Mechanism:
    return Mechanism.build(
        m.bodies,
        m.joints,
        m.gravity_m_s2,
        (*m.points, *points),
        m.coordinates,
        m.constraints,
        elements=elements,
    )


def total(work: Workspace) -> float:
    dynamics(*work.arguments)
    energy(*work.arguments)
    return float(work.energy.sum() + work.losses[2] - work.driven_work[0])


def slider(*elements: ForceElement, mass: float = 2.0) -> Mechanism:
    """A mass on a horizontal slide, with a point on it and one in the world a metre above its zero."""
    return Mechanism.build(
        [Body("mass", mass)],
        [Joint("slide", "prismatic", "world", "mass", axis=(1.0, 0.0, 0.0))],
        (0.0, 0.0, -G),
        [Point("eye", "mass"), Point("hook", "world", (0.0, 0.0, 1.0))],
        elements=elements,
    )


def moved(mechanism: Mechanism, q: list[float], seconds: float, dt: float = 5e-4) -> Workspace:
    work = mechanism.workspace()
    work.q[:] = q
    for _ in range(round(seconds / dt)):
        rk4(*work.arguments, dt)
    return work


def test_a_mass_on_a_damped_spring_follows_its_closed_form() -> None:
    k, c, m, rest, x0 = 50.0, 3.0, 2.0, 0.1, 0.4
    work = moved(slider(Spring("k", OnJoint("slide"), stiffness=k, damping=c, rest=rest)), [x0], 2.0)
    decay, swing = c / (2 * m), math.sqrt(k / m - (c / (2 * m)) ** 2)
    expected = rest + (x0 - rest) * math.exp(-2 * decay) * (
        math.cos(2 * swing) + decay / swing * math.sin(2 * swing)
    )
    assert work.q[0] == pytest.approx(expected, abs=1e-9)
    assert total(work) == pytest.approx(0.5 * k * (x0 - rest) ** 2, rel=1e-9)


def test_preload_progression_and_an_expression_as_an_independent_integrator_finds_them() -> None:
    mechanism = slider(
        Spring("bent", OnJoint("slide"), stiffness=8.0, rest=0.1, preload=0.5, progressive=30.0),
        Spring("stay", BetweenPoints("hook", "eye"), stiffness=40.0, damping=0.7, rest=0.8),
        AppliedForce("push", OnJoint("slide"), "0.3*sin(2*t) - 0.1*rate(slide)*slide**2"),
    )

    def slope(t: float, y: Floats) -> list[float]:
        x, v = y
        length = math.hypot(x, 1.0)
        stay = 40.0 * (length - 0.8) + 0.7 * x * v / length
        d = x - 0.1
        force = -(0.5 + 8.0 * d + 30.0 * d**3) - stay * x / length + 0.3 * math.sin(2 * t) - 0.1 * v * x * x
        return [v, force / 2.0]

    found = solve_ivp(slope, (0.0, 2.0), [0.4, 0.0], method="DOP853", rtol=1e-13, atol=1e-14)
    work = moved(mechanism, [0.4], 2.0)
    assert (work.q[0], work.v[0]) == pytest.approx(tuple(found.y[:, -1]), abs=1e-9)
    assert work.clock[0] == pytest.approx(2.0)


def test_a_spring_pendulum() -> None:
    """A point mass on a spring from the origin, in the vertical plane."""
    bodies = [Body("cart"), Body("bob", 0.8)]
    joints = [
        Joint("x", "prismatic", "world", "cart", axis=(1.0, 0.0, 0.0)),
        Joint("z", "prismatic", "cart", "bob"),
    ]
    points = [Point("bob", "bob"), Point("pivot", "world")]
    spring = Spring("rod", BetweenPoints("pivot", "bob"), stiffness=30.0, rest=0.5)
    mechanism = Mechanism.build(bodies, joints, (0.0, 0.0, -G), points, elements=[spring])

    def slope(_: float, y: Floats) -> list[float]:
        x, z, u, w = y
        length = math.hypot(x, z)
        pull = 30.0 * (length - 0.5) / (0.8 * length)
        return [u, w, -pull * x, -pull * z - G]

    start = [0.4, -0.3]
    found = solve_ivp(slope, (0.0, 1.5), [*start, 0.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-14)
    work = moved(mechanism, start, 1.5)
    assert (*work.q, *work.v) == pytest.approx(tuple(found.y[:, -1]), abs=1e-9)
    assert total(work) == pytest.approx(0.8 * G * -0.3, abs=1e-9)  # the spring is at rest where it begins


def test_a_spring_of_zero_free_length_balances_a_beam_in_every_pose() -> None:
    """k a b = m g r holds a beam: hook at height a above the hinge, eye at b along the beam."""
    a, b, m, r = 0.3, 0.25, 4.0, 0.4
    mechanism = Mechanism.build(
        [Body("beam", m, (r, 0.0, 0.0))],
        [Joint("hinge", "revolute", "world", "beam", axis=(0.0, -1.0, 0.0))],
        (0.0, 0.0, -G),
        [Point("eye", "beam", (b, 0.0, 0.0)), Point("hook", "world", (0.0, 0.0, a))],
        elements=[Spring("balance", BetweenPoints("hook", "eye"), stiffness=m * G * r / (a * b))],
    )
    for angle in (-1.2, 0.0, 0.5, 1.5):
        assert bias(mechanism, [angle], [0.0]) == pytest.approx([0.0], abs=1e-12)


def closed(*elements: ForceElement) -> Mechanism:
    """A slider-crank: crank of 0.2 m, rod of 0.5 m as a closure of constant distance to the slider."""
    return Mechanism.build(
        [Body("crank", 1.0, (0.1, 0.0, 0.0), np.diag([0.0, 0.02, 0.02])), Body("slider", 2.0)],
        [
            Joint("crank", "revolute", "world", "crank", axis=(0.0, -1.0, 0.0)),
            Joint("slide", "prismatic", "world", "slider", axis=(1.0, 0.0, 0.0)),
        ],
        (0.0, 0.0, -G),
        [
            Point("pin", "crank", (0.2, 0.0, 0.0)),
            Point("post", "world", (1.2, 0.0, 0.1)),
            Point("block", "slider"),
        ],
        constraints=[
            DistanceClosure("rod", Frame("crank", (0.2, 0.0, 0.0)), Frame("slider"), distance_m=0.5)
        ],
        elements=elements,
    )


def test_a_slider_crank_with_a_spring_damper_follows_its_one_equation() -> None:
    """I(φ) φ¨ + I'(φ) φ˙²/2 + V'(φ) + c s'(φ)² φ˙ = 0, with its own geometry."""
    k, c = 120.0, 4.0
    mechanism = closed(
        Spring("buffer", OnJoint("slide"), stiffness=k, damping=c, rest=0.6),
        AppliedForce("pull", AlongDirection("block", (1.0, 0.0, 0.0)), 2.5),
    )

    def slide(phi: float) -> float:
        return 0.2 * math.cos(phi) + math.sqrt(0.25 - (0.2 * math.sin(phi)) ** 2)

    def ratios(phi: float) -> tuple[float, float]:
        s, co = math.sin(phi), math.cos(phi)
        root = math.sqrt(0.25 - 0.04 * s * s)
        first = -0.2 * s - 0.04 * s * co / root
        second = -0.2 * co - 0.04 * (co * co - s * s) / root - 0.0016 * (s * co) ** 2 / root**3
        return first, second

    def slope(_: float, y: Floats) -> list[float]:
        phi, rate = y
        first, second = ratios(phi)
        inertia = 0.02 + 1.0 * 0.01 + 2.0 * first**2
        force = -1.0 * G * 0.1 * math.cos(phi) + first * (2.5 - k * (slide(phi) - 0.6) - c * first * rate)
        return [rate, (force - 2.0 * first * second * rate**2) / inertia]

    found = solve_ivp(slope, (0.0, 1.0), [0.7, 0.0], method="DOP853", rtol=1e-13, atol=1e-14)
    work = mechanism.workspace()
    work.q[:] = 0.7, slide(0.7)
    for _ in range(4000):
        rk4(*work.arguments, 2.5e-4)
    assert (work.q[0], work.v[0]) == pytest.approx(tuple(found.y[:, -1]), abs=1e-9)


def elements_of(mechanism: Mechanism) -> tuple[ForceElement, ...]:
    """One element of each kind on a random tree with the points tip, middle and hook."""
    joints = [name for name in mechanism.joint_names if name in mechanism.coordinate_names]
    tip = mechanism.points[0].body
    return (
        Spring("wound", OnJoint(joints[0]), 3.0, 0.4, 0.2, 0.7, 1.5),
        Spring("stretched", BetweenPoints("middle", "tip"), 20.0, 1.5, 0.3, 2.0, 4.0),
        Spring("hung", BetweenPoints("hook", "tip"), 11.0),
        AppliedForce(
            "pushed", AlongDirection("tip", (1.0, -2.0, 0.5)), "3*sin(t) - tip_x*rate(tip_distance)"
        ),
        AppliedForce("thrust", AlongDirection("tip", (0.3, 0.2, 1.0), "body"), 2.0),
        AppliedForce("twisted", AboutAxis(tip, (0.0, 1.0, 1.0)), 0.8),
        AppliedForce("spun", AboutAxis(tip, (1.0, 0.0, 2.0), "body"), f"0.4 + rate({joints[-1]})*t"),
        AppliedForce("driven", OnJoint(mechanism.joint_names[-1]), "0.6*cos(t)"),
    )


HOOK = (Point("hook", "world", (0.4, -0.7, 1.1)),)


@pytest.mark.parametrize("seed", range(3))
def test_symbolic_and_compiled_forces_are_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 4, ("revolute", "spherical", "prismatic"), serial=True)
    mechanism = with_elements(tree, *elements_of(tree), points=HOOK)
    gaps = worst_gap(mechanism, 5, seed)
    assert max(gaps.values()) < ROUND_OFF, gaps


@pytest.mark.parametrize("seed", range(3))
def test_power_of_each_element_is_its_force_times_its_rate(seed: int) -> None:
    """-(h with - h without)' v = Σ f ẋ, the rates by the velocities of points and bodies."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 4, ("revolute", "screw", "universal"))
    mechanism = with_elements(tree, *elements_of(tree), points=HOOK)
    q, v = random_state(rng, mechanism)
    work, bare = mechanism.workspace(), tree.workspace()
    for w in (work, bare):
        w.q[:], w.v[:], w.clock[0] = q, v, 0.7
        dynamics(*w.arguments)
        coordinates(*w.arguments)
    names = [element.name for element in mechanism.elements]
    force = dict(zip(names, work.element_force[:, 2], strict=True))
    rate = dict(zip(names, work.element_force[:, 1], strict=True))
    signed = sum(
        (-force[e.name] if isinstance(e.line, BetweenPoints) else force[e.name]) * rate[e.name]
        for e in mechanism.elements
    )
    assert float((bare.h - work.h) @ v) == pytest.approx(signed, rel=1e-10)
    speed = dict(zip(mechanism.point_names, work.point_velocity, strict=True))
    place = dict(zip(mechanism.point_names, work.point_position, strict=True))
    between = place["tip"] - place["middle"]
    assert rate["stretched"] == pytest.approx(
        between @ (speed["tip"] - speed["middle"]) / np.linalg.norm(between), rel=1e-10
    )
    assert rate["pushed"] == pytest.approx(np.array([1, -2, 0.5]) @ speed["tip"] / math.sqrt(5.25), rel=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_springs_without_dampers_are_the_gradient_of_their_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 4)
    first, second, third, *_ = elements_of(tree)
    assert isinstance(first, Spring)
    assert isinstance(second, Spring)
    springs = (
        Spring("wound", first.line, 3.0, 0.0, 0.2, 0.7, 1.5),
        Spring("stretched", second.line, 20.0, 0.0, 0.3, 2.0, 4.0),
        third,
    )
    mechanism = with_elements(tree, *springs, points=HOOK)
    q, _ = random_state(rng, mechanism)
    still = np.zeros(mechanism.nv)
    for k in range(mechanism.nv):
        step = np.eye(mechanism.nv)[k] * 1e-6
        slope = (potential_energy(mechanism, q + step) - potential_energy(mechanism, q - step)) / 2e-6
        assert bias(mechanism, q, still)[k] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_mujoco_has_the_same_passive_forces() -> None:
    """Joint springs with dampers and a tendon between two bodies, at random states."""
    xml = """
    <mujoco><option gravity="0 0 -9.81"/><worldbody><site name="hook" pos="0.1 0.2 0.9"/>
      <body name="upper">
        <joint name="a" type="hinge" axis="0 -1 0" stiffness="5" springref="11.459155902616466"
          damping="0.3"/>
        <inertial mass="2" pos="0.2 0 0" diaginertia="0.01 0.03 0.03"/>
        <body name="fore" pos="0.4 0 0">
          <joint name="b" type="hinge" axis="0 0 1" stiffness="2" damping="0.1"/>
          <inertial mass="1" pos="0.15 0 0" diaginertia="0.005 0.02 0.02"/><site name="eye" pos="0.3 0 0.05"/>
    </body></body></worldbody>
    <tendon><spatial stiffness="40" springlength="0.3" damping="2">
      <site site="hook"/><site site="eye"/></spatial></tendon>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    mechanism = Mechanism.build(
        [
            Body("upper", 2.0, (0.2, 0.0, 0.0), np.diag([0.01, 0.03, 0.03])),
            Body("fore", 1.0, (0.15, 0.0, 0.0), np.diag([0.005, 0.02, 0.02])),
        ],
        [
            Joint("a", "revolute", "world", "upper", axis=(0.0, -1.0, 0.0)),
            Joint("b", "revolute", "upper", "fore", at_m=(0.4, 0.0, 0.0)),
        ],
        (0.0, 0.0, -G),
        [Point("hook", "world", (0.1, 0.2, 0.9)), Point("eye", "fore", (0.3, 0.0, 0.05))],
        elements=[
            Spring("first", OnJoint("a"), stiffness=5.0, damping=0.3, rest=0.2),
            Spring("second", OnJoint("b"), stiffness=2.0, damping=0.1),
            Spring("band", BetweenPoints("hook", "eye"), stiffness=40.0, damping=2.0, rest=0.3),
        ],
    )
    rng = np.random.default_rng(4)
    for _ in range(20):
        data.qpos[:], data.qvel[:] = rng.uniform(-2.0, 2.0, 2), rng.normal(size=2)
        mujoco.mj_forward(model, data)
        ours = bias(mechanism, data.qpos, data.qvel)
        assert ours == pytest.approx(data.qfrc_bias - data.qfrc_passive, rel=1e-9, abs=1e-9)


def test_joints_bear_what_springs_do_not() -> None:
    """A beam at rest on a hinge, held by a spring: hinge and spring carry its weight together."""
    mechanism = Mechanism.build(
        [Body("beam", 3.0, (0.4, 0.0, 0.0), np.diag([0.0, 0.1, 0.1]))],
        [Joint("hinge", "revolute", "world", "beam", axis=(0.0, -1.0, 0.0))],
        (0.0, 0.0, -G),
        [Point("eye", "beam", (0.6, 0.0, 0.0)), Point("hook", "world", (0.2, 0.0, 0.5))],
        elements=[Spring("stay", BetweenPoints("hook", "eye"), stiffness=100.0, rest=0.3)],
    )
    work = mechanism.workspace()
    dynamics(*work.arguments)
    work.effort[:] = work.h
    forward_dynamics(*work.arguments)
    (hinge,) = ReactionTable(mechanism).reactions(work)
    length = math.hypot(0.4, 0.5)
    pull = 100.0 * (length - 0.3) * np.array([-0.4, 0.0, 0.5]) / length
    assert hinge.force_N == pytest.approx([0.0, 0.0, 3.0 * G] - pull, abs=1e-9)


def test_a_linear_model_has_springs_and_dampers() -> None:
    mechanism = slider(
        Spring("k", OnJoint("slide"), stiffness=50.0, damping=3.0),
        AppliedForce("drag", AlongDirection("eye", (1.0, 0.0, 0.0)), "-2*rate(slide)"),
    )
    found = linearize(mechanism, np.zeros(1), [0], ["slide"])
    assert np.allclose(found.A, [[0.0, 1.0], [-25.0, -2.5]], atol=1e-9)


def test_energy_lost_and_given_adds_up() -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 3)
    mechanism = with_elements(tree, *elements_of(tree), points=HOOK)
    work = mechanism.workspace()
    begin = total(work)
    for _ in range(4000):
        rk4(*work.arguments, 1e-4)
    assert kinetic_energy(mechanism, work.q, work.v) > 0.1
    assert total(work) == pytest.approx(begin, rel=1e-7)


@pytest.mark.parametrize(
    ("element", "said"),
    [
        (Spring("k", OnJoint("slid")), "no joint 'slid'; known: slide"),
        (Spring("k", BetweenPoints("eye", "hok")), "no point 'hok'; known: eye, hook"),
        (Spring("k", BetweenPoints("eye", "eye")), "both points move with the same body"),
        (AppliedForce("f", AlongDirection("hook", (0, 0, 1))), "does not move"),
        (AppliedForce("f", AlongDirection("eye", (0, 0, 0))), "an axis needs a direction"),
        (AppliedForce("f", AboutAxis("ground", (0, 0, 1))), "no body 'ground'"),
        (AppliedForce("f", OnJoint("slide"), "rate(t)"), "only a coordinate has a rate"),
        (AppliedForce("f", OnJoint("slide"), "slip"), "no coordinate has this name"),
        (AppliedForce("f", OnJoint("slide"), float("nan")), "finite"),
    ],
)
def test_what_does_not_exist_is_refused(element: ForceElement, said: str) -> None:
    with pytest.raises(ModelError, match=r".") as caught:
        slider(element)
    assert said in str(caught.value)
