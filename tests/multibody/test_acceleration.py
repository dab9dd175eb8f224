"""Constrained accelerations: formulations against each other, saddle point, Pinocchio and closed forms."""

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody import Joint, Mechanism
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.constraints import (
    CoordinateConstraint,
    CouplingConstraint,
    CylindricalClosure,
    DistanceClosure,
    Frame,
    PointClosure,
    RevoluteClosure,
    UniversalClosure,
    WeldClosure,
)
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.multibody.dynamics.other_formulations import lagrange, udwadia_kalaba
from linkwork.multibody.formulations.acceleration import Acceleration, RedundantRows, accelerate, acceleration
from linkwork.multibody.formulations.projector import ASSEMBLIES, projector, projector_rate, pseudo_inverse
from linkwork.multibody.kernels import layout
from tests.multibody.closed_machines import bead, four_bar, on_branch, slider_crank
from tests.multibody.finite_differences import derivative
from tests.multibody.machines import G, moved, random_body, random_rotation, random_state, random_tree
from tests.multibody.oracles.pinocchio_model import PinocchioModel

OTHERS = ("udwadia_kalaba", "lagrange", *ASSEMBLIES)


def _saddle(mechanism: Mechanism, q: Floats, v: Floats, effort: Floats) -> tuple[Floats, Floats]:
    w = mechanism.workspace()
    w.q[:], w.v[:], w.effort[:] = q, v, effort
    projected(*w.arguments)
    m = len(w.b)
    matrix = np.block([[w.M, -w.A.T], [w.A, np.zeros((m, m))]])
    solution = np.linalg.solve(matrix, np.concatenate([w.effort + w.friction - w.h, w.b]))
    return solution[: mechanism.nv], w.A.T @ solution[mechanism.nv :]


def _alike(found: Acceleration, vdot: Floats, force: Floats, tolerance: float = 1e-10) -> None:
    assert np.abs(found.vdot - vdot).max() < tolerance * max(1.0, np.abs(vdot).max())
    assert np.abs(found.constraint_force - force).max() < tolerance * max(1.0, np.abs(force).max())


def _closed_tree(rng: np.random.Generator) -> Mechanism:
    """A tree with several independent constraints."""

    def frame(body: str) -> Frame:
        return Frame(body, rng.normal(size=3) * 0.3, random_rotation(rng))

    kinds = [PointClosure, UniversalClosure, CylindricalClosure, DistanceClosure]
    first = kinds[int(rng.integers(4))]("first", a=frame("world"), b=frame("body4"))
    second = DistanceClosure("second", a=frame("body1"), b=frame("body3"), distance_m=0.8)
    gears = CouplingConstraint("gears", factors={"tip_x": 1.0, "tip_z": -0.4})
    return random_tree(
        rng, 5, ("revolute", "spherical", "prismatic", "universal"), serial=True,
        constraints=(first, second, gears),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_all_formulations_are_one(seed):
    rng = np.random.default_rng(seed)
    mechanism = _closed_tree(rng)
    while True:
        q, v = random_state(rng, mechanism)
        found = acceleration(mechanism, q, v, effort := rng.normal(size=mechanism.nv))
        if found.rank == len(mechanism.row_names) and found.smallest > 1e-2:
            break
    vdot, force = _saddle(mechanism, q, v, effort)
    _alike(found, vdot, force)
    assert found.residual_rows < 1e-9 * max(1.0, np.abs(vdot).max())
    assert found.residual_forces < 1e-9 * max(1.0, np.abs(force).max())
    for name in OTHERS:
        _alike(acceleration(mechanism, q, v, effort, name), vdot, force)


@pytest.mark.parametrize("closure", [PointClosure, RevoluteClosure])
@pytest.mark.parametrize("copies", [1, 2, 3])
def test_redundant_rows_change_nothing(closure, copies):
    once = four_bar()
    more = four_bar(closure=closure, copies=copies)
    state = assemble(once, [1.0, -0.5, -2.0], [1.0, 0.0, 0.0])
    expected = acceleration(once, state.q, state.v)
    for name in ("projected", "udwadia_kalaba", *ASSEMBLIES):
        found = acceleration(more, state.q, state.v, None, name)
        assert found.rank == expected.rank
        _alike(found, expected.vdot, expected.constraint_force, 1e-9)
    with pytest.raises(RedundantRows, match=r"pin0\.z") as caught:
        acceleration(more, state.q, state.v, None, "lagrange")
    assert caught.value.rank == expected.rank
    assert caught.value.active == len(more.row_names)
    assert len(caught.value.rows) == caught.value.active - caught.value.rank


def test_scaled_and_combined_rows_change_nothing():
    factors = {"joint0": 1.0, "joint1": -2.0, "joint2": 0.5}

    def build(*sizes: float) -> Mechanism:
        couplings = [
            CouplingConstraint(f"c{k}", factors={name: size * f for name, f in factors.items()})
            for k, size in enumerate(sizes)
        ]
        one = CoordinateConstraint("one", of="tip_x")
        mix = CouplingConstraint("mix", factors={"tip_x": 3.0, **factors})
        more = (one, mix) if len(sizes) > 1 else (one,)
        rng = np.random.default_rng(0)
        return random_tree(rng, 4, ("revolute",), serial=True, constraints=(*couplings, *more))

    once, more = build(1.0), build(1.0, 1e3, 1e-3)
    state = assemble(once, random_state(np.random.default_rng(1), once)[0], [1.0, 1.0, 0.5, 2.0])
    expected, found = acceleration(once, state.q, state.v), acceleration(more, state.q, state.v)
    assert found.rank == expected.rank == 2
    _alike(found, expected.vdot, expected.constraint_force, 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_slider_crank_is_its_one_degree_of_freedom_equation(seed):
    rng = np.random.default_rng(seed)
    mass, length = rng.uniform(0.5, 3.0), rng.uniform(0.3, 2.0)
    mechanism = slider_crank(length, mass)
    q1, speed, torque = rng.uniform(-np.pi, np.pi), rng.normal() * 5.0, rng.normal()
    if abs(np.cos(q1)) < 1e-3:
        return
    q, v = on_branch(q1, speed)
    s, c = np.sin(q1), np.cos(q1)
    inertia = mass * length**2
    expected = (torque - inertia * 4.0 * s * c * speed**2 - mass * G * length * c) / (
        inertia * (1.0 + 4.0 * s * s)
    )
    for name in ("projected", *OTHERS):
        vdot = acceleration(mechanism, q, v, [torque, 0.0], name).vdot
        assert np.abs(vdot - expected * np.array([1.0, -2.0])).max() < 1e-10 * max(1.0, abs(expected))


def test_a_bead_on_a_circle():
    radius, mass = 0.8, 1.7
    mechanism = bead(radius, mass)
    angle, speed = 0.6, 2.3
    normal, tangent = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    found = acceleration(mechanism, radius * normal, speed * tangent)
    expected = tangent * (-G * np.cos(angle)) - normal * speed**2 / radius
    weight = mass * G * np.sin(angle) - mass * speed**2 / radius  # what the wire must push outwards
    assert np.abs(found.vdot - expected).max() < 1e-12
    assert np.abs(found.constraint_force - weight * normal).max() < 1e-12
    assert found.multipliers[0] == pytest.approx(weight, abs=1e-12)


def test_the_reaction_of_a_hanging_weight():
    body, hold = random_body(np.random.default_rng(3), "body"), WeldClosure("hold", b=Frame("body"))
    pole = Mechanism.build(
        [body], [Joint("j", "free", "world", "body")], (1.0, -2.0, -9.0), constraints=[hold]
    )
    state = assemble(pole, pole.workspace().q)
    found = acceleration(pole, state.q, state.v)
    weight = body.mass_kg * np.asarray(pole.gravity_m_s2)
    assert np.abs(found.vdot).max() < 1e-12
    assert np.abs(found.multipliers[:3] + weight).max() < 1e-11
    moment = np.cross(np.asarray(body.com_m), weight)  # of the weight, about the frame's origin
    assert np.abs(-found.multipliers[[4, 5, 3]] + moment).max() < 1e-11


@pytest.mark.parametrize("ground", [1.0, 0.9])
def test_four_bar_equals_pinocchio(ground):
    import pinocchio as pin

    mechanism = four_bar(ground)
    oracle = PinocchioModel(mechanism)
    tip = pin.SE3(np.eye(3), np.array([0.7, 0.0, 0.0]))
    pivot = pin.SE3(np.eye(3), np.array([ground, 0.0, 0.0]))
    loop = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D,
        oracle.model,
        0,
        pivot,
        oracle.model.njoints - 1,
        tip,
        pin.ReferenceFrame.LOCAL,
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(loop)
    datas.append(loop.createData())
    pin.initConstraintDynamics(oracle.model, oracle.data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-10, 50)
    rng = np.random.default_rng(0)
    for _ in range(10):
        state = assemble(mechanism, rng.normal(size=3) * 0.3 + [1.0, -0.5, -2.0], rng.normal(size=3))
        effort = rng.normal(size=3)
        theirs = pin.constraintDynamics(
            oracle.model, oracle.data, state.q, state.v, effort, models, datas, settings
        )
        ours = acceleration(mechanism, state.q, state.v, effort).vdot
        assert np.abs(ours - theirs).max() < 1e-9 * max(1.0, np.abs(ours).max())


def test_a_prescribed_coordinate_needs_the_force_of_inverse_dynamics():
    drive = CoordinateConstraint("drive", of="joint1")
    mechanism = random_tree(np.random.default_rng(4), 3, ("revolute",), constraints=(drive,))
    q, v = random_state(np.random.default_rng(5), mechanism)
    k = mechanism.joint_index("joint1")
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    w.target[0, :3] = q[k], v[k], 3.7
    found = accelerate(mechanism, w)
    assert found.vdot[k] == pytest.approx(3.7, abs=1e-12)
    force = w.M @ found.vdot + w.h - w.friction
    assert found.multipliers[0] == pytest.approx(force[k], rel=1e-10)
    assert np.abs(np.delete(force, k)).max() < 1e-10


def test_the_rank_follows_what_is_switched_on():
    mechanism = four_bar(copies=2)
    state = assemble(mechanism, [1.0, -0.5, -2.0])
    w = mechanism.workspace()
    w.q[:] = state.q
    for on, rank in (((1, 1), 2), ((1, 0), 2), ((0, 0), 0)):
        w.on[:] = on
        w.ranking[:] = 0.0
        assert accelerate(mechanism, w).rank == rank
    free = np.linalg.solve(w.M, -w.h)
    assert np.abs(w.vdot - free).max() < 1e-12
    assert not w.constraint_force.any() or np.abs(w.constraint_force).max() < 1e-12


def test_projector_and_its_rate():
    mechanism = four_bar()
    state = assemble(mechanism, [1.0, -0.5, -2.0], [1.0, 0.0, 0.0])

    def rows(q: Floats) -> Floats:
        w = mechanism.workspace()
        w.q[:] = q
        projected(*w.arguments)
        return w.A.copy()

    a = rows(state.q)
    p = projector(a, 2)
    assert np.abs(p @ p - p).max() < 1e-14
    assert np.abs(p - (np.eye(3) - pseudo_inverse(a, 2) @ a)).max() < 1e-14
    assert np.abs(a @ p).max() < 1e-14
    a_rate = derivative(lambda t: rows(moved(mechanism, state.q, t * state.v)))
    rate = derivative(lambda t: projector(rows(moved(mechanism, state.q, t * state.v)), 2))
    assert np.abs(projector_rate(a, a_rate, 2) - rate).max() < 1e-8


def test_the_basis_spans_what_the_rows_admit():
    rng = np.random.default_rng(1)
    mechanism = _closed_tree(rng)
    w = mechanism.workspace()
    w.q[:], w.v[:] = random_state(rng, mechanism)
    projected(*w.arguments)
    free = mechanism.nv - int(w.ranking[layout.RANK])
    basis = w.basis[:free]
    assert np.abs(w.A @ basis.T).max() < 1e-12 * np.abs(basis).max() * np.abs(w.A).max()
    assert np.linalg.matrix_rank(basis) == free


def test_names_of_formulations():
    with pytest.raises(ValueError, match="udwadia_kalaba"):
        acceleration(bead(), [0.8, 0.0], [0.0, 0.0], None, "newton")
    with pytest.raises(ValueError, match="q has shape"):
        acceleration(bead(), [0.8], [0.0, 0.0])


def test_nothing_is_allocated(allocations):
    w = four_bar(closure=RevoluteClosure).workspace()
    w.q[:] = 1.0, -0.5, -2.0
    for kernel in (projected, udwadia_kalaba, lagrange):
        assert allocations(kernel, *w.arguments) == 0
