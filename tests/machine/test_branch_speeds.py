"""Initial speeds where branches of the motion meet: of one branch, or refused with the choices."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linkwork.machine import MachineError, check, for_controller, load, shipped_path
from linkwork.multibody.assembly.branch_velocities import BranchTangents, branch_velocities
from linkwork.offline.run import simulate
from linkwork.plant.simulator.simulator import Simulator
from tests.command import linkwork

RODS = ("rod_a", "rod_b", "rod_c")


def flat(tmp_path, speeds: dict[str, float]):
    """Three vertical rods of 0.4 m, a metre apart, that two couplers join, all in line, without gravity."""

    def body(name: str, mass: float, com: float, inertia: float) -> str:
        tensor = f"{{xx: 0.001, yy: {inertia}, zz: {inertia}}}"
        return f"  {name}: {{mass_kg: {mass}, com_m: [{com}, 0, 0], inertia_kg_m2: {tensor}}}\n"

    def hinge(name: str, parent: str, at: float) -> str:
        where = f"parent: {parent}, child: {name}, at_m: [{at}, 0, 0], axis: [0, 0, 1]"
        return f"  {name}: {{type: revolute, {where}}}\n"

    bodies = "".join(body(rod, 2, 0.2, 0.03) for rod in RODS)
    joints = "".join(hinge(rod, "world", i) for i, rod in enumerate(RODS))
    constraints = ""
    for rod, other in itertools.pairwise(RODS):
        coupler = f"coupler_{other}"
        bodies += body(coupler, 1, 0.5, 0.08)
        joints += hinge(coupler, rod, 0.4)
        ends = ((coupler, 1), (other, 0.4))
        a, b = (f"{{body: {name}, at_m: [{at}, 0, 0], axis: [0, 0, 1]}}" for name, at in ends)
        constraints += f"  pin_{other}: {{type: revolute, a: {a}, b: {b}}}\n"
    initial = {"rod_a_deg": 0, "rod_b_deg": 0, "rod_c_deg": 0}
    initial |= {f"{name}_rad_s": value for name, value in speeds.items()}
    path = tmp_path / "flat.yaml"
    path.write_text(
        f"name: flat\ngravity_m_s2: [0, 0, 0]\nbodies:\n{bodies}joints:\n{joints}"
        f"constraints:\n{constraints}initial: {json.dumps(initial)}\n"
    )
    return path


CROSSED = -7.0 / 3.0
"""Ratio of the speeds of two rods of 0.4 m that cross the line between their feet, a metre apart."""


@pytest.mark.parametrize("speed", [4.0, 0.5, 1e-3, 1e-5])
@pytest.mark.parametrize("ratios", [(), (1.0,), (1.0, 1.0), (CROSSED, 1.0), (1.0, CROSSED)])
def test_one_branch_is_kept_with_its_energy(tmp_path, speed, ratios):
    """On a branch tan(next / 2) = ratio tan(rod / 2): 1 of a parallelogram, else that of a crossed one."""
    given = {rod: speed * np.prod(ratios[:i]) for i, rod in enumerate(RODS[: len(ratios) + 1])}
    machine = load(flat(tmp_path, given))
    assert machine.dof == 1
    rods = machine.initial_v[[machine.mechanism.joint_index(rod) for rod in RODS]]
    assert np.abs(rods[: len(given)] - list(given.values())).max() < 1e-9 * speed
    found = rods[1:] / rods[:-1]
    assert np.minimum(np.abs(found - 1.0), np.abs(found - CROSSED)).max() < 1e-9
    motion = simulate(machine, duration_s=0.7)
    for k, ratio in enumerate(found):
        expected = 2.0 * np.arctan(ratio * np.tan(0.5 * motion.q[:, k]))
        assert np.abs(np.sin(0.5 * (motion.q[:, k + 1] - expected))).max() < 1e-8 * max(1e-2, speed)
    assert motion.balance.energy_balance_error_J < 1e-9 * motion.energy_start_J


def test_speeds_of_no_branch_are_refused_with_the_choices(tmp_path):
    with pytest.raises(MachineError, match="belong to none") as caught:
        load(flat(tmp_path, {"rod_a": 2.0, "rod_b": 1.0}))
    (problem,) = caught.value.problems
    assert "rod_b -4.6667 rad/s" in problem.allowed
    assert "rod_b 2 rad/s" in problem.allowed


def test_several_branches_are_named(tmp_path):
    warnings = [p for p in check(flat(tmp_path, {"rod_a": 2.0})) if "several have the speeds" in p.message]
    assert len(warnings) == 1
    assert not [
        p
        for p in check(flat(tmp_path, {"rod_a": 3.0, "rod_b": 3.0, "rod_c": -7.0}))
        if "several have the speeds" in p.message
    ]


def test_a_flat_machine_at_rest_stays_there(tmp_path):
    machine = load(flat(tmp_path, {}))
    assert not machine.initial_v.any()
    motion = simulate(machine, duration_s=0.05)
    assert not motion.v[-1].any()


def rods(extra: str = "", initial: str = "") -> str:
    """Two parallel slides and a rod of just their distance, whose length changes to second order only."""
    inertia = "inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}"
    slide = "type: prismatic, parent: world, axis: [0, 0, 1]"
    return (
        "name: rods\ngravity_m_s2: [0, 0, -9.81]\n"
        f"bodies: {{a: {{mass_kg: 1, {inertia}}}, b: {{mass_kg: 1, {inertia}}}}}\n"
        f"joints: {{a: {{{slide}, child: a}}, b: {{{slide}, child: b, at_m: [1, 0, 0]}}}}\n"
        "constraints:\n  rod: {type: distance, a: {body: a}, b: {body: b}, distance_m: 1}\n"
        f"{extra}{initial}"
    )


DRIVE = '  drive: {type: coordinate, of: a, equals_m: "0.2*sin(3*t)"}\n'


@pytest.mark.parametrize(
    ("extra", "initial"),
    [(DRIVE, ""), ("", "initial: {a_m: 0.1, a_m_s: 0.4}\n"), ("", "initial: {a_m: 0, b_m: 1.0e-9}\n")],
)
@pytest.mark.filterwarnings("error")
def test_what_a_closure_of_second_order_leaves_open_is_declared(write, extra, initial):
    path = write(rods(extra, initial))
    machine = load(path)
    assert machine.initial_v[1] == pytest.approx(machine.initial_v[0], abs=1e-12)
    assert machine.assembly.branches == ()
    (warning,) = [each for each in check(path) if "second order" in each.message]
    assert (warning.key, warning.severity) == ("constraints.rod", "warning")
    motion = simulate(machine, 0.3, reactions=True)
    assert motion.undetermined == ("rod",)
    assert np.isnan(motion.balance.energy_balance_error_J)
    assert np.isnan(motion.balance.constraint_work_J)
    assert motion.reactions is not None
    assert np.isnan(motion.reactions.force_N).all()
    assert np.abs(motion.q[:, 1] - motion.q[:, 0]).max() < 1e-6
    ran = linkwork("simulate", str(path), "--duration", "0.1")
    assert "not determined" in ran.stdout
    assert "rod" in ran.stdout


DRIVEN = "".join(
    f"{section}: {{a: {words}, b: {words}}}\n"
    for section, words in (
        ("motors", "{max_force_N: 30, max_speed_m_s: 2, brake_force_N: 20}"),
        ("sensors", "{velocity: true}"),
    )
)
CELL = "force_sensors: {cell: {constraint: rod}}\n"


@pytest.mark.parametrize("initial", ["", "initial: {a_m: 0.1}\n", "initial: {a_m: 0, b_m: 1.0e-9}\n"])
def test_no_daemon_publishes_loads_that_a_closure_of_second_order_leaves_open(write, initial):
    machine = load(write(rods(DRIVEN, initial)))
    with pytest.raises(MachineError, match="rod holds to second order only in the initial pose"):
        for_controller(machine)
    assert Simulator(machine).measured.force.size == 0
    path = write(rods(DRIVEN + CELL, initial))
    with pytest.raises(MachineError, match="sensor measures a load that is not determined, as rod holds"):
        Simulator(load(path))
    errors = [each.key for each in check(path) if each.severity == "error"]
    assert errors == ["constraints.rod", "force_sensors.cell"]
    assert "valid for offline simulation alone" in linkwork("check", str(path)).stdout


@pytest.mark.parametrize("pose", ["{crank_deg: 30}", "{crank_deg: 90, knee_deg: 180}"])
def test_branches_and_ordinary_poses_leave_nothing_open(write, pose):
    text = shipped_path("slider_crank").read_text(encoding="utf-8")
    path = write(text.replace("{crank_deg: 30}", pose))
    assert not [each for each in check(path) if "second order" in each.message]
    assert simulate(load(path), 1.0).undetermined == ()


@given(
    st.integers(1, 3),
    st.lists(st.floats(-3, 3).map(lambda x: round(x, 1)), min_size=18, max_size=18),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
@settings(max_examples=15, deadline=None)
def test_every_branch_is_found_once(count, numbers, double):
    """Each equation is a product of two linear ones, so that all solutions are known."""
    first, second = np.array(numbers).reshape(2, 3, 3)[:, :count, :count] + 5.0 * np.eye(count)
    second = second - 10.0 * np.eye(count) * np.arange(1, count + 1)
    second[np.array(double[:count])] = first[np.array(double[:count])]
    pairs = itertools.product(*[(first[i], second[i]) for i in range(count)])
    matrices = [np.array(rows) for rows in pairs]
    assume(all(np.linalg.cond(each) < 30.0 for each in matrices))
    known = np.unique([np.round(np.linalg.solve(each, np.ones(count)), 6) for each in matrices], axis=0)
    apart = [np.abs(a - b).max() for a, b in itertools.combinations(known, 2)]
    assume(min(apart, default=1.0) > 1e-2)
    # velocities (1, z): the first speed is given, its branches are a cone
    curvature = np.array(
        [
            0.5 * (np.outer(one, two) + np.outer(two, one))
            for one, two in zip(
                *(np.column_stack([-np.ones(count), each]) for each in (first, second)), strict=True
            )
        ]
    )
    size = count + 1
    equations = BranchTangents(
        np.eye(size),
        np.zeros(size),
        curvature,
        np.zeros((count, size)),
        np.zeros(count),
        np.eye(size),
        np.eye(count),
    )
    for speed in (1.0, 1e-3):
        found = branch_velocities(equations, np.eye(size)[:1], [speed], np.zeros(size))
        assert len(found) == len(known)
        for each in known:
            assert min(np.abs(v[1:] / speed - each).max() for v in found) < 1e-5


def test_a_double_branch_does_not_hide_the_others() -> None:
    curvature = np.array([np.diag([0.0, 1.0, 0.0]), np.diag([-4.0, 0.0, 1.0])])  # z1² = 0 and z2² = 4 z0²
    equations = BranchTangents(
        np.eye(3), np.zeros(3), curvature, np.zeros((2, 3)), np.zeros(2), np.eye(3), np.eye(2)
    )
    found = np.array(branch_velocities(equations, np.eye(3)[:1], [0.6], np.array([0.6, 0, 0])))
    np.testing.assert_allclose(found[np.argsort(found[:, 2])], [[0.6, 0, -1.2], [0.6, 0, 1.2]], atol=1e-9)
