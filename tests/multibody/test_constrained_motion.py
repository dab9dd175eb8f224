"""Motion on the manifold: energy, residuals, branch poses, prescribed values, impulses, assembly."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, Workspace
from linkwork.multibody.assembly.assembly import AssemblyError, assemble, assemble_workspace, switch
from linkwork.multibody.closure.rank import factor
from linkwork.multibody.constraints import (
    CoordinateConstraint,
    DistanceClosure,
    Frame,
    RevoluteClosure,
    RollingConstraint,
)
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.multibody.kernels import layout
from linkwork.multibody.steps.integrate import rk4, semi_implicit
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.offline.passages import count_passages
from tests.multibody.closed_machines import bead, four_bar, on_branch, slider_crank
from tests.multibody.machines import G, random_tree


def _start(mechanism: Mechanism, q: Floats, v: Floats) -> Workspace:
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    assemble_workspace(mechanism, w)
    return w


def _energy(w: Workspace) -> float:
    dynamics(*w.arguments)
    energy(*w.arguments)
    return float(w.energy.sum())


def _residuals(w: Workspace) -> tuple[float, float]:
    kinematics(*w.arguments)
    constraint_rows(*w.arguments)
    return float(np.abs(w.phi).max()), float(np.abs(w.phi_rate).max())


@pytest.mark.parametrize("closure", [None, RevoluteClosure])
def test_a_four_bar_keeps_energy_and_closure(closure):
    mechanism = four_bar() if closure is None else four_bar(closure=closure, copies=2)
    w = _start(mechanism, [1.0, -0.5, -2.0], [3.0, 0.0, 0.0])
    before, kinetic = _energy(w), float(w.energy[0])
    worst = np.zeros(2)
    for _ in range(10):
        for _ in range(300):
            rk4(*w.arguments, 1e-3)
        worst = np.maximum(worst, _residuals(w))
    assert abs(_energy(w) - before) < 1e-7 * kinetic
    assert (worst < 1e-12).all()


@pytest.mark.parametrize(("step", "order"), [(rk4, 4), (semi_implicit, 1)])
def test_order_of_convergence(step, order):
    mechanism = four_bar()

    def end(count: int) -> Floats:
        w = _start(mechanism, [1.0, -0.5, -2.0], [2.0, 0.0, 0.0])
        for _ in range(count):
            step(*w.arguments, 0.3 / count)
        return np.concatenate([w.q, w.v])

    exact = _reference(mechanism, 0.3)
    errors = [np.abs(end(count) - exact).max() for count in (60, 120)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.5)


def _reference(mechanism: Mechanism, duration: float) -> Floats:
    w = _start(mechanism, [1.0, -0.5, -2.0], [2.0, 0.0, 0.0])
    for _ in range(3000):
        rk4(*w.arguments, duration / 3000)
    return np.concatenate([w.q, w.v])


@pytest.mark.parametrize("choice", [0, 1, 2])
def test_every_formulation_moves_alike(choice):
    mechanism = slider_crank()
    w = _start(mechanism, *on_branch(0.3, 2.0))
    w.choice[0] = choice
    for _ in range(200):
        rk4(*w.arguments, 1e-3)
    q1 = _one_dof(0.3, 2.0, 0.2)
    assert np.abs(w.q - on_branch(q1, 0.0)[0]).max() < 1e-9


def _one_dof(q1: float, speed: float, duration: float) -> float:
    """Crank angle of the slider-crank with equal links of 1 m and 1 kg."""

    def rate(_: float, y: Floats) -> list[float]:
        s, c = np.sin(y[0]), np.cos(y[0])
        return [y[1], -(4.0 * s * c * y[1] ** 2 + G * c) / (1.0 + 4.0 * s * s)]

    solution = solve_ivp(rate, (0.0, duration), [q1, speed], method="DOP853", rtol=1e-12, atol=1e-13)
    return float(solution.y[0, -1])


def _counted(w: Workspace, steps: int) -> None:
    """Steps of 1 ms, after each of which passages of branch poses are counted."""
    for _ in range(steps):
        rk4(*w.arguments, 1e-3)
        constraint_rows(*w.arguments)
        factor(*w.arguments)
        count_passages(*w.arguments)


def test_the_slider_crank_goes_through_its_branch_poses():
    mechanism, rng = slider_crank(), np.random.default_rng(1)
    passed = 0.0
    for phase in rng.uniform(0.0, 2.0 * np.pi, size=12):
        w = _start(mechanism, *on_branch(phase, 9.0))
        _counted(w, 1000)
        assert abs(w.q[0] - phase) > 2.0  # turned on
        expected = on_branch(_one_dof(phase, 9.0, 1.0), 0.0)[0]
        assert np.abs(w.q - expected).max() < 4e-6
        passed += w.ranking[layout.PASSAGES]
    assert passed > 0


def test_a_parallelogram_stays_one_through_its_flat_poses():
    mechanism, rng = four_bar(1.0, (0.4, 1.0, 0.4), gravity=0.0), np.random.default_rng(2)
    passed = 0.0
    for _ in range(15):
        phase, speed = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(2.0, 15.0)
        w = _start(mechanism, [phase, -phase, phase - np.pi], [speed, -speed, speed])
        before = _energy(w)
        _counted(w, 1000)
        assert abs(np.sin(w.q[0] + w.q[1])) < 1e-9
        assert abs(_energy(w) - before) < 1e-8 * before
        passed += w.ranking[layout.PASSAGES]
    assert passed > 0


def test_a_parallelogram_that_lies_flat_starts_on_the_branch_of_its_velocity():
    mechanism = four_bar(1.0, (0.4, 1.0, 0.4), gravity=0.0)
    w = mechanism.workspace()
    w.q[:], w.v[:] = (0.0, 0.0, -np.pi), (3.0, -3.0, 3.0)
    state = assemble_workspace(mechanism, w)
    assert (state.rank, state.ordinary_rank) == (1, 2)
    assert np.abs(w.v - [3.0, -3.0, 3.0]).max() < 1e-12
    before = _energy(w)
    for _ in range(300):
        rk4(*w.arguments, 1e-3)
    assert abs(np.sin(w.q[0] + w.q[1])) < 1e-9
    assert abs(_energy(w) - before) < 1e-8 * before


def test_a_prescribed_motion_is_followed():
    drive = CoordinateConstraint("drive", of="joint0")
    mechanism = random_tree(np.random.default_rng(4), 3, ("revolute",), serial=True, constraints=(drive,))
    w = mechanism.workspace()
    dt, omega = 1e-3, 5.0
    for k in range(500):
        t = k * dt
        w.clock[1] = t
        w.target[0] = [omega**n * np.sin(omega * t + 0.5 * n * np.pi) for n in range(6)]
        if k == 0:
            assemble_workspace(mechanism, w)
        rk4(*w.arguments, dt)
    assert w.clock[0] == pytest.approx(0.5)
    place = mechanism.joint_index("joint0")
    assert w.q[place] == pytest.approx(np.sin(2.5), abs=1e-13)
    assert w.v[place] == pytest.approx(5.0 * np.cos(2.5), abs=1e-12)


def test_baumgarte_brings_a_gap_to_nothing_as_its_oscillator():
    alpha, beta, gap = 8.0, 25.0, 1e-4
    mechanism = bead(0.8)
    w = mechanism.workspace()
    w.q[:], w.choice[1], w.baumgarte[:] = (0.8 + gap, 0.0), 0.0, (alpha, beta)
    for _ in range(500):
        rk4(*w.arguments, 1e-3)
    constraint_rows(*w.arguments)
    phi, _ = _residuals(w)
    fast, slow = np.roots([1.0, alpha, beta])
    closed = gap * (fast * np.exp(slow * 0.5) - slow * np.exp(fast * 0.5)) / (fast - slow)
    assert phi == pytest.approx(abs(closed.real), rel=1e-6)


def test_without_correction_residuals_only_grow_slowly():
    w = _start(four_bar(), [1.0, -0.5, -2.0], [3.0, 0.0, 0.0])
    w.choice[1] = 0.0
    for _ in range(500):
        rk4(*w.arguments, 1e-3)
    phi, _ = _residuals(w)
    assert 1e-14 < phi < 1e-7


def test_a_wheel_rolls_down_a_slope():
    """A solid cylinder on a plane: a = g sin(slope) / (1 + I / m r²)."""
    mass, radius, slope = 2.0, 0.3, 0.4
    moment = 0.5 * mass * radius**2
    wheel = Mechanism.build(
        [Body("frame"), Body("wheel", mass, (0, 0, 0), np.diag([0.6 * moment, moment, 0.6 * moment]))],
        [
            Joint("plane", "compound", "world", "frame", columns=np.eye(6)[[3, 5]]),
            Joint("axle", "revolute", "frame", "wheel", axis=(0, 1, 0)),
        ],
        (G * np.sin(slope), 0.0, -G * np.cos(slope)),
        constraints=[RollingConstraint("roll", b=Frame("wheel"), radius_m=radius)],
    )
    w = _start(wheel, [0.1, 0.2, 0.0], np.zeros(3))
    assert w.q[1] == pytest.approx(radius)
    for _ in range(1000):
        rk4(*w.arguments, 1e-3)
    travelled = 0.5 * G * np.sin(slope) / (1.0 + moment / (mass * radius**2))
    assert w.q == pytest.approx([0.1 + travelled, radius, travelled / radius], rel=1e-9)


def test_switching_a_wire_on_takes_the_energy_of_the_impulse():
    mechanism = bead(0.8, 1.7)
    w = mechanism.workspace()
    w.on[:] = 0.0
    w.q[:], w.v[:] = (0.8, 0.0), (1.5, 2.0)
    assert switch(mechanism, w, "wire", True) == pytest.approx(0.5 * 1.7 * 1.5**2)
    assert np.abs(w.v - [0.0, 2.0]).max() < 1e-14
    assert switch(mechanism, w, "wire", False) == pytest.approx(0.0)
    rk4(*w.arguments, 0.1)
    assert np.abs(w.q - [0.8, 0.2 - 0.5 * G * 0.01]).max() < 1e-12


def test_assembly():
    state = assemble(four_bar(), [1.2, -0.3, -1.8], [1.0, 0.5, 0.2])
    assert state.residual < 1e-13
    assert 1 <= state.iterations < 10
    assert (state.rank, state.ordinary_rank) == (2, 2)
    with pytest.raises(AssemblyError, match="pin0") as caught:
        assemble(four_bar(ground=5.0), [1.0, -0.5, -2.0])
    assert caught.value.residual > 0.1
    assert caught.value.rows


def test_assembly_with_balls():
    rng = np.random.default_rng(0)
    rods = (
        DistanceClosure(
            "rod", a=Frame("world", (1.0, 0.5, 0.0)), b=Frame("body2", (0.2, 0.1, 0.0)), distance_m=0.9
        ),
    )
    mechanism = random_tree(rng, 3, ("spherical",), serial=True, constraints=rods)
    w = mechanism.workspace()
    w.v[:] = rng.normal(size=mechanism.nv)
    assemble_workspace(mechanism, w)
    before = _energy(w)
    for _ in range(500):
        rk4(*w.arguments, 1e-3)
    assert abs(_energy(w) - before) < 1e-6 * max(1.0, abs(before))
    assert max(_residuals(w)) < 1e-12


def test_constraints_that_are_switched_by_hand_are_no_branch_pose():
    mechanism = four_bar(1.0, (0.4, 1.0, 0.4), gravity=0.0)
    w = _start(mechanism, [1.0, -1.0, 1.0 - np.pi], [3.0, -3.0, 3.0])
    w.on[:] = 0.0
    _counted(w, 10)
    assert w.ranking[layout.RANK] == 0.0
    assert w.ranking[layout.LOST] == w.ranking[layout.PASSAGES] == 0.0


def test_every_passage_of_a_branch_pose_is_counted():
    mechanism = four_bar(1.0, (0.4, 1.0, 0.4), gravity=0.0)
    w = _start(mechanism, [1.0, -1.0, 1.0 - np.pi], [10.0, -10.0, 10.0])
    _counted(w, 2000)
    assert w.ranking[layout.PASSAGES] == np.floor(w.q[0] / np.pi)


def test_steps_allocate_nothing(allocations):
    w = _start(four_bar(), [1.0, -0.5, -2.0], [3.0, 0.0, 0.0])
    for step in (rk4, semi_implicit):
        assert allocations(step, *w.arguments, 1e-3) == 0
