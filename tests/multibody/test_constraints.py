"""Every kind of constraint: Φ, A, b against differences through one helper, switches, refusals."""

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, ModelError, Workspace
from linkwork.multibody.assembly.assembly import AssemblyError, assemble
from linkwork.multibody.constraints import (
    Constraint,
    CoordinateConstraint,
    CouplingConstraint,
    CylindricalClosure,
    DistanceClosure,
    ExpressionConstraint,
    Frame,
    PinClosure,
    PointClosure,
    PrismaticClosure,
    RevoluteClosure,
    RollingConstraint,
    UniversalClosure,
    VelocityConstraint,
    WeldClosure,
)
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.tree.kinematics import kinematics
from tests.multibody.finite_differences import check_rows
from tests.multibody.machines import random_rotation, random_state, random_tree

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
    PinClosure,
]
TEXTS = {
    "polynomial": {"r": "tip_x**2 - 3*tip_y*tip_z**3 + tip_roll/(2 + tip_x**2) - 0.3"},
    "functions": {"r": "sin(tip_x)*exp(-tip_y) + cos(tip_yaw)**2 - tan(0.3*tip_pitch) + tanh(tip_z)"},
    "inverses": {"r": "asin(0.1*tip_x) + acos(tip_y/9) - atan(tip_z) + atan2(tip_x - 3, 2 + tip_y*tip_z)"},
    "roots": {"r": "sqrt(9 + tip_x) * log(9 + tip_y) - (9 + tip_z)**0.5 + (9 + tip_x)**(tip_y/5)"},
    "moving": {"r": "tip_x*cos(2*t) + tip_y*sin(2*t) - t**2/(1 + t)", "s": "tip_yaw*t - 3*tip_x + exp(-t)"},
    "turning": {"x": "tip_yaw - 2*t", "z": "tip_roll + pi*t*deg"},
}
SKATE = VelocityConstraint(
    "it", factors={"tip_x": "sin(tip_yaw) + t", "tip_y": "-cos(tip_yaw)*tip_z"}, value="0.3*tip_x*cos(t)"
)


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
        elif kind == "velocity":
            made = SKATE
        elif kind in TEXTS:
            made = ExpressionConstraint("it", expressions=TEXTS[kind])
        elif kind == "disc":
            on = _frame(rng, f"body{b}")
            made = RollingConstraint("it", a=_frame(rng, f"body{a}"), b=on, radius_m=0.3, disc=True)
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


def _rows(mechanism: Mechanism, q: Floats, v: Floats, time: float = 0.0) -> Workspace:
    w = mechanism.workspace()
    w.q[:], w.v[:], w.clock[0] = q, v, time
    if len(w.target):
        w.target[0] = 0.3, -0.4, 0.7, 1.1, -2.0, 0.5
    kinematics(*w.arguments)
    constraint_rows(*w.arguments)
    return w


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [*CLOSURES, "disc", "coupling", "tip_x", "tip_roll", "velocity", *TEXTS])
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
        (lambda: CouplingConstraint("it", factors={"joint1": 0.0}), ("factors", "joint1"), "has no effect"),
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


@pytest.mark.parametrize("turn", [(1.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
def test_a_weld_does_not_assemble_with_permuted_axes(turn: tuple[float, float, float]) -> None:
    """Where the axes of one frame are permuted or reversed, the rows of perpendicular axes vanish as well."""
    mechanism = Mechanism.build(
        [Body("plate", 1.0, (0.1, 0.0, 0.0), np.diag([0.1, 0.1, 0.1]))],
        [Joint("ball", "spherical", "world", "plate")],
        (0.0, 0.0, -9.81),
        constraints=[WeldClosure("hold", a=Frame("world"), b=Frame("plate"))],
    )
    axis = np.array(turn) / np.linalg.norm(turn)
    angle = 2.0 * np.pi / 3.0 if all(turn) else np.pi
    start = [*(np.sin(angle / 2.0) * axis), np.cos(angle / 2.0)]
    with pytest.raises(AssemblyError) as caught:
        assemble(mechanism, start)
    assert caught.value.residual == pytest.approx(angle)
    assert caught.value.rows[0].startswith("hold.")
    near = [*(np.sin(0.2) * axis), np.cos(0.2)]
    assert assemble(mechanism, near).q == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-9)
