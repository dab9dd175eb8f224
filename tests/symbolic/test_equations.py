"""C(q, p) of whole machines: C p + g = h, Christoffel's choice is skew, both wrists of the arm move alike."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from linkwork.machine import load
from linkwork.multibody import Body, Joint, Mechanism
from linkwork.symbolic import NamedResult, SymbolicModel, numeric
from linkwork.symbolic.equations import coriolis_matrix, in_coordinates, velocity_map
from linkwork.symbolic.writing import shown

N = 6


def flat(rows):
    return [entry for row in rows for entry in row]


@pytest.mark.parametrize("name", ["scara", "four_bar", "arm_6dof_simple"])
def test_both_choices_of_c_give_the_bias(name):
    mechanism = load(name).mechanism
    n, rng = mechanism.nv, np.random.default_rng(3)
    model = SymbolicModel(mechanism, angles=True)
    choices = [
        NamedResult("C", (n, n), flat(coriolis_matrix(model, christoffel=choice))) for choice in (True, False)
    ]
    parts = [*choices, NamedResult("h", (n,), model.h), NamedResult("g", (n,), model.gravity)]
    function = numeric(model, parts)
    for _ in range(3):
        q, p = rng.uniform(-1.0, 1.0, (2, n))
        one, other, h, g = function(q, p)
        assert one @ p + g == pytest.approx(h, rel=1e-11, abs=1e-11)
        assert other @ p + g == pytest.approx(h, rel=1e-11, abs=1e-11)


def test_christoffels_choice_is_skew():
    mechanism = in_coordinates(load("thin_disk").mechanism)
    model = SymbolicModel(mechanism, angles=True)
    parts = [NamedResult("C", (3, 3), flat(coriolis_matrix(model))), NamedResult("M", (3, 3), flat(model.M))]
    function = numeric(model, parts)
    q, v, step = np.array([0.3, -0.5, 0.8]), np.array([0.7, 1.1, -0.4]), 1e-6
    rate = (function(q + step * v, v)[1] - function(q - step * v, v)[1]) / (2.0 * step)
    skew = rate - 2.0 * function(q, v)[0]
    assert np.abs(skew + skew.T).max() < 1e-8


def test_quaternions_have_no_such_matrix():
    with pytest.raises(ValueError, match="angles=True"):
        coriolis_matrix(SymbolicModel(load("thin_disk").mechanism))


def test_wrists_move_alike():
    """The arm falls alike with the compound and the simple wrist, by the equations in quasi-velocities."""
    ends = []
    for name in ("arm_6dof", "arm_6dof_simple"):
        model = SymbolicModel(load(name).mechanism, angles=True)
        axes, tool = model.point("tool")
        parts = [
            NamedResult("M", (N, N), flat(model.M)),
            NamedResult("h", (N,), model.h),
            NamedResult("V", (N, N), flat(velocity_map(model))),
            NamedResult("axes", (3, 3), flat(axes)),
            NamedResult("tool", (3,), list(tool)),
            NamedResult("J", (N, N), flat(model.interest.J[-N:])),
        ]
        function = numeric(model, parts)

        def rates(_, x, function=function):
            mass, h, gamma, *_ = function(x[:N], x[N:])
            return np.concatenate([gamma @ x[N:], -np.linalg.solve(mass, h)])

        angles = np.array([0.3, 0.2, 0.1]) if name == "arm_6dof" else _same_pose(ends[0][2])
        q = np.array([0.5, 0.2, 1.0, *angles])
        *_, turned, _, J = function(q, np.zeros(N))
        # equal rates of the tool's place and angles in the world
        v = np.array([0.3, -0.2, 0.4, 1.0, -0.5, 0.8]) if not ends else np.linalg.solve(J, ends[0][3])
        run = solve_ivp(rates, (0.0, 0.2), [*q, *v], rtol=1e-10, atol=1e-11)
        last = function(run.y[:N, -1], np.zeros(N))
        ends.append((last[4], last[3], turned, J @ v))
    assert np.abs(ends[0][0] - ends[1][0]).max() < 1e-8
    assert np.abs(ends[0][1] - ends[1][1]).max() < 1e-8


def _same_pose(turned):
    """Angles x, y, z of the simple wrist that turn the gripper as the compound one does."""
    model = SymbolicModel(load("arm_6dof_simple").mechanism, angles=True)
    function = numeric(model, [NamedResult("axes", (3, 3), flat(model.point("tool")[0]))])
    (before,) = function([0.5, 0.2, 1.0, 0.0, 0.0, 0.0], np.zeros(N))
    wrist = before @ turned.T  # rows are axes: R of the wrist alone
    return np.arctan2(wrist[2, 1], wrist[2, 2]), -np.arcsin(wrist[2, 0]), np.arctan2(wrist[1, 0], wrist[0, 0])


def test_names_of_parts_do_not_meet_names_of_joints():
    """Joints called x1, x2, …: what is named on the way is something else, in numbers and in print."""
    rng = np.random.default_rng(0)
    bodies = [Body(f"b{k}", 1.0, rng.normal(size=3), np.eye(3)) for k in range(5)]
    before = ["world", *(body.name for body in bodies)]
    joints = [
        Joint(f"x{k}", "revolute", before[k], f"b{k}", at_m=rng.normal(size=3), axis=rng.normal(size=3))
        for k in range(5)
    ]
    mechanism = Mechanism.build(bodies, joints, (0, 0, -9.81))
    model = SymbolicModel(mechanism)
    renamed = [
        Joint(f"j{k}", j.kind, j.parent, j.child, at_m=j.at_m, axis=j.axis) for k, j in enumerate(joints)
    ]
    other = SymbolicModel(Mechanism.build(bodies, renamed, (0, 0, -9.81)))
    q = rng.uniform(-1.0, 1.0, 5)
    found = [numeric(each, [NamedResult("M", (5, 5), flat(each.M))])(q, q)[0] for each in (model, other)]
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    names = {str(each.symbol) for each in shown(model, flat(model.M)).definitions}
    assert names
    assert not any(name.startswith("x") for name in names)
