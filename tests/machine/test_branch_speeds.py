"""Initial speeds where branches of the motion meet: of one branch, or refused with the choices."""

import itertools
import json

import numpy as np
import pytest

from linkwork.machine import MachineError, check, load
from linkwork.plant.offline.run import simulate

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
