"""Every kind of constraint: Φ, A, b against differences through one helper, switches, refusals."""

from collections.abc import Callable

import numpy as np
import pytest

from multibody import Mechanism, ModelError, Workspace, layout
from multibody.constraints import (
    Constraint,
    CoordinateConstraint,
    CouplingConstraint,
    CylindricalClosure,
    DistanceClosure,
    Frame,
    PointClosure,
    PrismaticClosure,
    RevoluteClosure,
    RollingConstraint,
    UniversalClosure,
    WeldClosure,
)
from multibody.kinematics import kinematics
from multibody.rows import constraint_rows
from tests.multibody.finite_differences import derivative
from tests.multibody.machines import Array, moved, random_rotation, random_state, random_tree

KINDS = (
    "revolute", "prismatic", "screw", "universal", "planar", "spherical", "free", "angles", "compound",
    "fixed",
)  # fmt: skip
CLOSURES = [
    PointClosure,
    RevoluteClosure,
    CylindricalClosure,
    PrismaticClosure,
    UniversalClosure,
    WeldClosure,
    DistanceClosure,
    RollingConstraint,
]


def _frame(rng: np.random.Generator, body: str) -> Frame:
    return Frame(body, rng.normal(size=3) * 0.3, random_rotation(rng))


def _closed_tree(rng: np.random.Generator, kind: type[Constraint] | str) -> Mechanism:
    """A random tree with one constraint, whose frames lie on two bodies or on a body and the world."""
    n = int(rng.integers(2, 6))
    a, b = rng.permutation(n)[:2]
    if isinstance(kind, str):
        if kind == "coupling":
            made: Constraint = CouplingConstraint(
                "it", factors={"tip_x": 0.4, "tip_yaw": -1.3, "tip_z": 2.0}, value=0.3
            )
        else:
            made = CoordinateConstraint("it", of=kind, value=0.3)
    else:
        ends = ["world", f"body{a}"] if rng.random() < 0.4 else [f"body{a}", f"body{b}"]
        special = {"distance_m": 0.7} if kind is DistanceClosure else {}
        special |= {"radius_m": 0.3} if kind is RollingConstraint else {}
        if rng.random() < 0.5:
            ends.reverse()
        made = kind("it", a=_frame(rng, ends[0]), b=_frame(rng, ends[1]), **special)
    while True:
        try:
            mechanism = random_tree(rng, n, KINDS, constraints=(made,))
        except ModelError:  # both bodies welded together
            continue
        if "tip_pitch" in mechanism.coordinate_names:
            return mechanism


def _rows(mechanism: Mechanism, q: Array, v: Array, time: float = 0.0) -> Workspace:
    w = mechanism.workspace()
    w.q[:], w.v[:], w.clock[0] = q, v, time
    if len(w.target):
        w.target[0] = 0.3, -0.4, 0.7, 1.1, -2.0, 0.5
    kinematics(*w.arguments)
    constraint_rows(*w.arguments)
    return w


def check_rows(
    make: Callable[[Array, Array, float], Workspace], mechanism: Mechanism, q: Array, v: Array, a: Array
) -> None:
    """The shared helper: Φ˙ = A v + Φ_t and Φ¨ = A v̇ - b along a motion with velocity v, acceleration a."""

    def at(t: float) -> Workspace:
        return make(moved(mechanism, q, t * v + 0.5 * t * t * a), v + t * a, t)

    now = at(0.0)
    t = mechanism.topology
    kinds = t[t[layout.ROWS] : t[layout.ROWS + 1]].reshape(-1, 4)[:, 0]
    holonomic = kinds != layout.NO_SLIP
    scale = max(1.0, float(np.abs(now.b).max()))
    rate = derivative(lambda s: at(s).phi.copy())
    assert np.abs(now.phi_rate - rate)[holonomic].max() < 1e-7 * scale
    explicit = derivative(lambda s: make(q, 0.0 * v, s).phi.copy())
    assert np.abs(now.A @ v + explicit - now.phi_rate).max() < 1e-7 * scale
    second = derivative(lambda s: at(s).phi_rate.copy())
    assert np.abs(now.A @ a - now.b - second).max() < 1e-6 * scale


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [*CLOSURES, "coupling", "tip_x", "tip_roll"])
def test_rows_against_differences(kind, seed):
    rng = np.random.default_rng(seed)
    while True:
        mechanism = _closed_tree(rng, kind)
        q, v = random_state(rng, mechanism)
        w = _rows(mechanism, q, v)
        if np.abs(w.b).max() < 50.0 and np.abs(w.A).max() < 20.0:  # away from singular angles
            break
    check_rows(lambda x, u, s: _rows(mechanism, x, u, s), mechanism, q, v, rng.normal(size=mechanism.nv))


def test_baumgarte_asks_for_a_damped_oscillator():
    rng = np.random.default_rng(0)
    mechanism = _closed_tree(rng, WeldClosure)
    q, v = random_state(rng, mechanism)
    plain = _rows(mechanism, q, v)
    w = mechanism.workspace()
    w.q[:], w.v[:], w.baumgarte[:] = q, v, (3.0, 40.0)
    kinematics(*w.arguments)
    constraint_rows(*w.arguments)
    assert np.abs(w.b - (plain.b - 3.0 * plain.phi_rate - 40.0 * plain.phi)).max() < 1e-12


def test_what_is_switched_off_demands_nothing():
    rng = np.random.default_rng(0)
    mechanism = _closed_tree(rng, RevoluteClosure)
    w = mechanism.workspace()
    w.q[:], w.v[:] = random_state(rng, mechanism)
    w.on[:] = 0.0
    kinematics(*w.arguments)
    constraint_rows(*w.arguments)
    for field in (w.A, w.b, w.phi, w.phi_rate):
        assert not field.any()


def test_rows_allocate_nothing(allocations):
    rng = np.random.default_rng(0)
    w = _closed_tree(rng, PrismaticClosure).workspace()
    assert allocations(constraint_rows, *w.arguments) == 0


def _build(*constraints: Constraint) -> Mechanism:
    return random_tree(np.random.default_rng(0), 3, ("revolute",), constraints=constraints)


@pytest.mark.parametrize(
    ("make", "where", "text"),
    [
        (lambda: PointClosure("it", a=Frame("floor"), b=Frame("body1")), ("a", "body"), "known: world"),
        (lambda: PointClosure("it", a=Frame("body1"), b=Frame("body1")), ("b",), "same body"),
        (lambda: CoordinateConstraint("it", of="w"), ("of",), "known: joint"),
        (lambda: CouplingConstraint("it", factors={"w": 1.0}), ("factors",), "known: joint"),
        (lambda: CouplingConstraint("it"), ("factors",), "at least one"),
        (lambda: CouplingConstraint("it", factors={"joint1": 0.0}), ("factors", "joint1"), "couples nothing"),
        (lambda: DistanceClosure("it", b=Frame("body1"), distance_m=0.0), ("distance_m",), "PointClosure"),
        (lambda: RollingConstraint("it", b=Frame("body1"), radius_m=-1.0), ("radius_m",), "more than 0"),
        (lambda: PointClosure("it", b=Frame("body1"), baumgarte=(-1.0, 0.0)), ("baumgarte",), "at least 0"),
    ],
)
def test_constraints_that_cannot_be(make, where, text):
    with pytest.raises(ModelError, match=text) as caught:
        _build(make())
    assert caught.value.where == ("constraints", "it", *where)


def test_names_of_rows_and_targets():
    m = _build(
        RevoluteClosure("pin", b=Frame("body2")),
        CoordinateConstraint("drive", of="joint0"),
        DistanceClosure("rod", b=Frame("body2")),
    )
    assert m.row_names == ("pin.x", "pin.y", "pin.z", "pin.x_z", "pin.y_z", "drive.value", "rod.distance")
    assert m.target_names == ("drive", "rod")
    assert (m.constraint_index("rod"), m.target_index("rod")) == (2, 1)
    assert m.workspace().target[:, 0].tolist() == [0.0, 1.0]
    with pytest.raises(ModelError, match="pin, drive, rod"):
        m.constraint_index("pine")
