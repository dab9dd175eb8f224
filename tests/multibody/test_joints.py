"""Joints of all kinds: configuration map, twist map and rates against map matrix and differences."""

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, ModelError, Point, functions
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.multibody.steps.integrate import rk4, semi_implicit
from linkwork.multibody.tree.joint_map import configuration, gamma, twist_map, unclosed_pair
from linkwork.multibody.tree.rotations import coordinate_rates
from tests.multibody.finite_differences import derivative
from tests.multibody.machines import (
    moved,
    quaternions,
    random_body,
    random_state,
    random_tree,
    relative_error,
)

ALL_KINDS = (
    "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free", "angles",
    "free_angles", "compound", "fixed",
)  # fmt: skip
SIX = np.eye(6)
AXES = {"x": 0, "y": 1, "z": 2}


def _columns(*names: str) -> Floats:
    """Columns such as "rx" (rotation about x) and "x" (translation along it)."""
    return np.array([SIX[AXES[name[-1]] + (0 if name[0] == "r" else 3)] for name in names])


def _single(**joint: object) -> Mechanism:
    rng = np.random.default_rng(1)
    body = random_body(rng, "body")
    corners = [Point(f"p{k}", "body", corner) for k, corner in enumerate(np.vstack([np.zeros(3), np.eye(3)]))]
    arguments = {"name": "j", "parent": "world", "child": "body", **joint}
    return Mechanism.build([body], [Joint(**arguments)], (0.3, 0.2, -9.0), corners)


def _pose(mechanism: Mechanism, q: Floats) -> tuple[Floats, Floats]:
    p = [functions.point_position(mechanism, f"p{k}", q) for k in range(4)]
    return np.column_stack([p[k] - p[0] for k in (1, 2, 3)]), p[0]


@pytest.mark.parametrize(
    ("columns", "joint"),
    [
        (_columns("rz"), {"kind": "revolute"}),
        (_columns("z"), {"kind": "prismatic"}),
        (_columns("rz") + 0.3 * _columns("z"), {"kind": "screw", "pitch_m_per_rad": 0.3}),
        (_columns("rz", "z"), {"kind": "cylindrical"}),
        (_columns("ry", "rz"), {"kind": "universal", "axis": (0, 1, 0), "second_axis": (0, 0, 1)}),
        (_columns("rx", "ry", "rz"), {"kind": "spherical", "coordinates": "angles"}),
        (_columns("rx", "ry", "rz"), {"kind": "compound", "columns": _columns("rx", "ry", "rz")}),
        (_columns("rz", "x"), {"kind": "compound", "columns": _columns("rz", "x")}),
    ],
)
def test_joints_are_what_their_columns_say(columns, joint):
    rng = np.random.default_rng(0)
    mechanism = _single(**joint)
    for _ in range(5):
        q = rng.uniform(-1.4, 1.4, size=len(columns))
        rotation, translation = configuration(columns, q)
        found = _pose(mechanism, q)
        assert np.abs(found[0] - rotation).max() < 1e-13
        assert np.abs(found[1] - translation).max() < 1e-13
        body_twist = np.kron(np.eye(2), rotation.T) @ functions.point_jacobian(mechanism, "p0", q)
        assert np.abs(body_twist - twist_map(columns, q)).max() < 1e-13


@pytest.mark.parametrize("seed", range(10))
def test_any_columns_make_a_compound_joint(seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(int(rng.integers(1, 7)), 6))
    mechanism = _single(kind="compound", columns=columns)
    q, _ = random_state(rng, mechanism)
    rotation, translation = configuration(columns, q)
    found = _pose(mechanism, q)
    assert np.abs(found[0] - rotation).max() < 1e-12
    assert np.abs(found[1] - translation).max() < 1e-12
    body_twist = np.kron(np.eye(2), rotation.T) @ functions.point_jacobian(mechanism, "p0", q)
    assert relative_error(body_twist, twist_map(columns, q)) < 1e-12


def test_a_planar_joint_slides_in_the_parent_and_turns_in_the_child():
    mechanism = _single(kind="planar")
    rotation, translation = _pose(mechanism, np.array([0.3, -0.2, 0.5]))
    assert np.allclose(translation, [0.3, -0.2, 0.0])
    assert np.allclose(rotation[:, 0], [np.cos(0.5), np.sin(0.5), 0.0])


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_quaternions_and_angles_describe_the_same_pose_and_motion(kind):
    rng = np.random.default_rng(3)
    ball, angles = _single(kind=kind), _single(kind=kind, coordinates="angles")
    e = rng.uniform(-1.0, 1.0, size=angles.nq)
    rate = rng.normal(size=angles.nv)
    rotation, _ = configuration(_columns("rx", "ry", "rz"), e[-3:])
    scalar = 0.5 * np.sqrt(1.0 + np.trace(rotation))
    vector = np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    q = np.concatenate([e[:-3], vector / (4.0 * scalar), [scalar]])
    for found, expected in zip(_pose(ball, q), _pose(angles, e), strict=True):
        assert np.abs(found - expected).max() < 1e-13
    v = np.concatenate([rate[:-3], twist_map(_columns("rx", "ry", "rz"), e[-3:])[:3] @ rate[-3:]])
    twists = [functions.point_jacobian(m, "p1", x) @ u for m, x, u in ((ball, q, v), (angles, e, rate))]
    assert np.abs(twists[0] - twists[1]).max() < 1e-13
    accelerations = [
        functions.point_jacobian(m, "p1", x) @ functions.forward_dynamics(m, x, u, np.zeros(m.nv))
        + functions.point_jacobian_rate(m, "p1", x, u)
        for m, x, u in ((ball, q, v), (angles, e, rate))
    ]
    assert np.abs(accelerations[0] - accelerations[1]).max() < 1e-11 * np.abs(accelerations[0]).max()


@pytest.mark.parametrize(
    "names",
    [
        ("rz",), ("z",), ("rz", "z"), ("ry", "rz"), ("rx", "ry", "rz"), ("x", "y", "rz"), ("rz", "x"),
        ("x", "y", "z", "rx", "ry", "rz"), ("rx", "y", "rz", "x"),
    ],
)  # fmt: skip
def test_joint_maps_against_differences(names):
    """(ω; u) = Bm(e) ė from X⁻¹ Ẋ, and Γ with H β = Bm Γ β where the columns are closed."""
    rng = np.random.default_rng(0)
    plain, e = _columns(*names), rng.uniform(0.2, 0.9, size=len(names))
    for columns in (plain, plain + 0.2 * rng.normal(size=plain.shape)):
        rate = rng.normal(size=len(e))
        rotation = configuration(columns, e)[0]

        def at(t: float, part: int, columns: Floats = columns, rate: Floats = rate) -> Floats:
            return configuration(columns, e + t * rate)[part]

        turning = rotation.T @ derivative(lambda t: at(t, 0))
        sliding = rotation.T @ derivative(lambda t: at(t, 1))
        twist = twist_map(columns, e) @ rate
        assert np.abs(turning + turning.T).max() < 1e-10
        assert np.abs([turning[2, 1], turning[0, 2], turning[1, 0]] - twist[:3]).max() < 1e-10
        assert np.abs(sliding - twist[3:]).max() < 1e-10
        if unclosed_pair(columns) is None:
            beta = rng.normal(size=len(e))
            rate = gamma(columns, e) @ beta
            assert np.abs(twist_map(columns, e) @ rate - columns.T @ beta).max() < 1e-10


SINGLE = {
    **{
        kind: {"kind": kind}
        for kind in ("revolute", "prismatic", "cylindrical", "planar", "free", "spherical")
    },
    "screw": {"kind": "screw", "pitch_m_per_rad": 0.3},
    "universal": {"kind": "universal", "second_axis": (0, 1, 0)},
    "spherical on angles": {"kind": "spherical", "coordinates": "angles"},
    "free on angles": {"kind": "free", "coordinates": "angles"},
    "compound": {"kind": "compound", "columns": _columns("rz", "x", "ry")},
    "simple ball": {"kind": "simple", "columns": _columns("rx", "ry", "rz")},
    "simple slider": {"kind": "simple", "columns": _columns("x", "y", "z")},
    "simple sleeve": {"kind": "simple", "columns": _columns("rx", "x")},
    "simple wrist": {"kind": "simple", "columns": _columns("ry", "rz", "rx")},
    "simple free": {"kind": "simple", "columns": _columns("rx", "ry", "rz", "x", "y", "z")},
}


@pytest.mark.parametrize("name", SINGLE)
def test_each_kind_of_joint_against_differences(name):
    """Configuration map, q̇(v), twist map and its rate of every kind, alone."""
    rng, mechanism = np.random.default_rng(4), _single(**SINGLE[name])
    q, v = random_state(rng, mechanism)
    a, rates = rng.normal(size=mechanism.nv), np.empty(mechanism.nq)
    coordinate_rates(mechanism.model, q, v, rates)
    assert np.abs(rates - derivative(lambda t: moved(mechanism, q, t * v))).max() < 1e-10
    for point in mechanism.point_names:
        change = derivative(
            lambda t, n=point: functions.point_position(mechanism, n, moved(mechanism, q, t * v))
        )
        jacobian = functions.point_jacobian(mechanism, point, q)
        assert np.abs(jacobian[3:] @ v - change).max() < 1e-9

        def twist(t: float, n: str = point) -> Floats:
            return functions.point_jacobian(mechanism, n, _after(mechanism, q, v, a, t)) @ (v + t * a)

        rate = jacobian @ a + functions.point_jacobian_rate(mechanism, point, q, v)
        assert np.abs(rate - derivative(twist)).max() < 1e-8


@pytest.mark.parametrize("seed", range(20))
def test_twists_and_their_rates_against_differences(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, int(rng.integers(2, 7)), ALL_KINDS)
    q, v = random_state(rng, mechanism)
    a = rng.normal(size=mechanism.nv)
    for name in mechanism.point_names:
        velocity = derivative(
            lambda t, n=name: functions.point_position(mechanism, n, moved(mechanism, q, t * v))
        )
        assert np.abs(functions.point_velocity(mechanism, name, q, v) - velocity).max() < 1e-8

        def twist(t: float, name: str = name) -> Floats:
            speed = v + t * a
            return functions.point_jacobian(mechanism, name, _after(mechanism, q, v, a, t)) @ speed

        rate = functions.point_jacobian(mechanism, name, q) @ a
        rate += functions.point_jacobian_rate(mechanism, name, q, v)
        assert np.abs(rate - derivative(twist)).max() < 1e-7 * max(1.0, np.abs(rate).max())


def _after(mechanism: Mechanism, q: Floats, v: Floats, a: Floats, t: float) -> Floats:
    """A path through q with velocity v and acceleration a at t = 0, to second order."""
    return moved(mechanism, q, t * v + 0.5 * t * t * a)


@pytest.mark.parametrize("seed", range(8))
def test_energy_is_conserved_with_joints_of_all_kinds(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_tree(rng, 3, (*ALL_KINDS[seed:], *ALL_KINDS[:seed]), serial=True, armature=False)
    w = mechanism.workspace()
    w.q[:], w.v[:] = random_state(rng, mechanism)
    w.v[:] *= 0.3
    total = []
    for _ in range(101):
        dynamics(*w.arguments)
        energy(*w.arguments)
        total.append(w.energy.sum())
        rk4(*w.arguments, 1e-4)
    assert np.ptp(total) < 1e-7 * max(1.0, np.abs(total).max())
    for k, scalar in quaternions(mechanism):
        assert np.linalg.norm(w.q[[k, k + 1, k + 2, scalar]]) == pytest.approx(1.0, abs=1e-15)


def test_a_free_body_obeys_euler():
    mechanism = _single(kind="free")
    w = mechanism.workspace()
    w.v[3:] = 1.0, 2.0, -0.5
    body = mechanism.bodies[0]
    c, inertia = np.asarray(body.com_m), np.asarray(body.inertia_kg_m2)
    vdot = functions.forward_dynamics(mechanism, w.q, w.v, np.zeros(6))
    assert np.abs(inertia @ vdot[3:] + np.cross(w.v[3:], inertia @ w.v[3:])).max() < 1e-12
    spin = w.v[3:]
    centre = vdot[:3] + np.cross(vdot[3:], c) + np.cross(spin, np.cross(spin, c))
    assert np.abs(centre - mechanism.gravity_m_s2).max() < 1e-12


def test_order_of_convergence_with_quaternions():
    rng = np.random.default_rng(2)
    mechanism = random_tree(rng, 2, ("spherical", "free"), serial=True, armature=False)
    q, v = random_state(rng, mechanism)

    def end(step: object, count: int) -> Floats:
        w = mechanism.workspace()
        w.q[:], w.v[:] = q, v
        for _ in range(count):
            step(*w.arguments, 0.2 / count)
        return np.concatenate([w.q, w.v])

    exact = end(rk4, 1600)
    for step, order in ((rk4, 4), (semi_implicit, 1)):
        errors = [np.abs(end(step, count) - exact).max() for count in (50, 100)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize(
    ("names", "closed"),
    [
        (("rz",), True), (("rz", "z"), True), (("rx", "ry", "rz"), True), (("x", "y", "rz"), True),
        (("x", "y", "z"), True), (("rx", "ry", "rz", "x", "y", "z"), True), (("ry", "rz"), False),
        (("rx", "y"), False),
    ],
)  # fmt: skip
def test_the_bracket_tells_which_columns_may_be_constant(names, closed):
    columns = _columns(*names)
    assert (unclosed_pair(columns) is None) == closed
    e = np.random.default_rng(0).uniform(0.3, 0.9, size=len(columns))
    exact = np.abs(twist_map(columns, e) @ gamma(columns, e) - columns.T).max() < 1e-12
    assert exact == closed


def test_gamma_of_the_spherical_joint_is_as_printed():
    a, b = 0.4, 0.7
    expected = [
        [1.0, np.sin(a) * np.tan(b), np.cos(a) * np.tan(b)],
        [0.0, np.cos(a), -np.sin(a)],
        [0.0, np.sin(a) / np.cos(b), np.cos(a) / np.cos(b)],
    ]
    assert np.allclose(gamma(_columns("rx", "ry", "rz"), np.array([a, b, 0.3])), expected)
    with pytest.raises(ValueError, match="singular"):
        gamma(_columns("rx", "ry", "rz"), np.array([a, np.pi / 2, 0.3]))


def test_a_universal_joint_with_constant_columns_is_refused_and_the_compound_form_named():
    with pytest.raises(ModelError, match="compound") as caught:
        _single(kind="simple", columns=_columns("ry", "rz"))
    assert "nonholonomic" in caught.value.text
    assert caught.value.where == ("joints", "j", "columns")


def test_simple_joints():
    cylinder = _single(kind="simple", columns=_columns("rz", "z"))
    assert cylinder.joint_names == ("j.1", "j.2")
    ball = _single(kind="simple", columns=_columns("rx", "ry", "rz"))
    assert (ball.nq, ball.nv) == (4, 3)


def _seen_from(columns: Floats, frame: tuple[Floats, Floats]) -> Floats:
    """Columns in the child's axes from those in a frame of the child: axes (3 × 3), origin (3)."""
    axes, origin = frame
    turned = columns[:, :3] @ axes.T
    return np.hstack([turned, columns[:, 3:] @ axes.T + np.cross(origin, turned)])


GROUPS = {
    "wrist": ("ry", "rz", "rx"), "planar": ("x", "y", "rz"), "scara": ("rz", "x", "y", "z"),
    "six": ("x", "y", "z", "rx", "ry", "rz"), "angular first": ("rz", "rx", "ry", "y", "z", "x"),
    "interleaved": ("rx", "x", "ry", "y", "rz", "z"),
}  # fmt: skip


def _on_single_joints(columns: Floats) -> Mechanism:
    """The same body on joints of one degree of freedom each: translations, then rotations, last to first."""
    rng, chain = np.random.default_rng(1), []
    order = sorted(range(len(columns)), key=lambda k: (columns[k, :3].any(), -k))
    empty = {"mass_kg": 0.0, "com_m": np.zeros(3), "inertia_kg_m2": np.zeros((3, 3))}
    bodies = [Body(f"b{n}", **empty) for n in range(len(columns) - 1)] + [random_body(rng, "body")]
    for n, k in enumerate(order):
        parent = bodies[n - 1].name if n else "world"
        chain.append(Joint(f"j{k}", "compound", parent, bodies[n].name, columns=columns[k : k + 1]))
    joints = sorted(chain, key=lambda joint: joint.name)
    return Mechanism.build(bodies, joints, (0.3, 0.2, -9.0), [Point("p0", "body")])


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("seed", range(3))
def test_a_group_moves_as_its_columns_one_after_the_other(name, seed):
    """Twists and accelerations in any frame of the child, at one pose, against joints of one motion each."""
    rng = np.random.default_rng(seed)
    rotation = configuration(_columns("rx", "ry", "rz"), rng.normal(size=3))[0]
    columns = _seen_from(_columns(*GROUPS[name]), (rotation, rng.normal(size=3)))
    simple, chain = _single(kind="simple", columns=columns), _on_single_joints(columns)
    q = np.zeros(simple.nq)
    q[simple.nv :] = 1.0
    e, rate, effort = np.zeros(chain.nq), rng.normal(size=simple.nv), rng.normal(size=simple.nv)
    if simple.nq == simple.nv:
        q[:] = e[:] = rng.uniform(-1.0, 1.0, size=simple.nv)
    inertial = [functions.point_jacobian(each, "p0", x) for each, x in ((simple, q), (chain, e))]
    assert np.abs(inertial[0] - inertial[1]).max() < 1e-12
    accelerations = []
    for each, x in ((simple, q), (chain, e)):
        vdot = functions.forward_dynamics(each, x, rate, effort)
        jacobian = functions.point_jacobian(each, "p0", x)
        accelerations.append(jacobian @ vdot + functions.point_jacobian_rate(each, "p0", x, rate))
    assert np.abs(accelerations[0] - accelerations[1]).max() < 1e-9 * np.abs(accelerations[1]).max()


@pytest.mark.parametrize("seed", range(5))
def test_a_wrist_turns_about_its_columns_as_a_ball_does(seed):
    """Euler's equations about the centre, in the axes of the columns, at any orientation."""
    rng = np.random.default_rng(seed)
    axes, centre = configuration(_columns("rx", "ry", "rz"), rng.normal(size=3))[0], rng.normal(size=3)
    mechanism = _single(kind="simple", columns=_seen_from(_columns("ry", "rz", "rx"), (axes, centre)))
    q, v = random_state(rng, mechanism)
    torque = rng.normal(size=3)
    columns = axes[:, [1, 2, 0]]
    R = functions.point_jacobian(mechanism, "p0", q)[:3] @ columns.T  # the child's axes in the world
    body = mechanism.bodies[0]
    arm = np.asarray(body.com_m) - centre
    inertia = np.asarray(body.inertia_kg_m2) + body.mass_kg * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    omega = columns @ v
    moment = columns @ torque + np.cross(arm, body.mass_kg * R.T @ mechanism.gravity_m_s2)
    expected = np.linalg.solve(inertia, moment - np.cross(omega, inertia @ omega))
    vdot = functions.forward_dynamics(mechanism, q, v, torque)
    assert np.abs(columns @ vdot - expected).max() < 1e-11 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("names", "outside"),
    [
        (("rx", "ry", "z"), "0, 0, 1, 0, 0, 0"),
        (("x", "rz"), "0, 0, 0, 0, -1, 0"),
        (("rx", "ry"), "0, 0, 1, 0, 0, 0"),
    ],
)
def test_the_bracket_that_leaves_the_span_is_named(names, outside):
    with pytest.raises(ModelError, match="columns 1 and 2") as caught:
        _single(kind="simple", columns=_columns(*names))
    assert f"[{outside}]" in caught.value.text


@pytest.mark.parametrize(
    ("values", "key", "text"),
    [
        ({"kind": "universal"}, "second_axis", "needs"),
        ({"kind": "universal", "second_axis": (0, 0, 2)}, "second_axis", "parallel"),
        ({"kind": "revolute", "second_axis": (1, 0, 0)}, "second_axis", "does not take"),
        ({"kind": "compound"}, "columns", "needs"),
        ({"kind": "compound", "columns": np.zeros((1, 6))}, "columns", "independent"),
        ({"kind": "compound", "columns": np.ones((2, 6))}, "columns", "independent"),
        ({"kind": "compound", "columns": np.ones((2, 5))}, "columns", "expected"),
        ({"kind": "compound", "columns": np.zeros((7, 6))}, "columns", "expected"),
        ({"kind": "planar", "columns": np.eye(6)[:1]}, "columns", "does not take"),
        ({"kind": "planar", "coordinates": "angles"}, "coordinates", "spherical and free"),
        ({"kind": "free", "coordinates": "euler"}, "coordinates", "quaternion or angles"),
    ],
)
def test_joints_that_cannot_be(values, key, text):
    with pytest.raises(ModelError, match=text) as caught:
        Joint("j", parent="world", child="body", **values)
    assert caught.value.where == ("joints", "j", key)


def test_names_and_places_of_degrees_of_freedom():
    rng = np.random.default_rng(0)
    bodies = [random_body(rng, name) for name in "abc"]
    joints = [
        Joint("root", "free", "world", "a"),
        Joint("hinge", "revolute", "a", "b"),
        Joint("ball", "spherical", "b", "c"),
    ]
    m = Mechanism.build(bodies, joints, (0, 0, 0))
    assert (m.nq, m.nv) == (12, 10)
    assert m.joint_names[5:] == ("root.rz", "hinge", "ball.rx", "ball.ry", "ball.rz")
    assert m.position_names[10:] == ("root.quaternion", "ball.quaternion")
    assert m.coordinate_names == ("root.x", "root.y", "root.z", "hinge")
    assert m.joint_index("hinge") == 6
    assert m.workspace().q.tolist() == [0.0] * 10 + [1.0, 1.0]
