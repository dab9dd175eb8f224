"""Constraints switched on the way: impulse and energy of a plastic impact, refusals, what is off."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load
from linkwork.offline.constraint_switching import Switch, parse_switch
from linkwork.offline.reaction_samples import ReactionRequest
from linkwork.offline.run import simulate

CARTS = """
name: carts
gravity_m_s2: [0, 0, -9.81]
bodies:
  a: {mass_kg: 2, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
  b: {mass_kg: 3, inertia_kg_m2: {xx: 0, yy: 0, zz: 0}}
joints:
  x: {type: prismatic, parent: world, child: a, axis: [1, 0, 0]}
  y: {type: prismatic, parent: world, child: b, at_m: [1, 0, 0], axis: [1, 0, 0]}
points: {back: {body: a}, front: {body: b}}
constraints:
  hook: {type: distance, on: false, a: {body: a}, b: {body: b}, distance_m: 0.8}
initial: {x_m_s: 1}
"""
PENDULUMS = """
name: pendulums
gravity_m_s2: [0, 0, -9.81]
bodies:
  left: {mass_kg: 1.5, com_m: [0, 0, -0.7], inertia_kg_m2: {xx: 0.1, yy: 0.1, zz: 0}}
  right: {mass_kg: 0.8, com_m: [0, 0, -0.5], inertia_kg_m2: {xx: 0.05, yy: 0.05, zz: 0}}
joints:
  p: {type: revolute, parent: world, child: left, axis: [0, 1, 0]}
  r: {type: revolute, parent: world, child: right, at_m: [1, 0, 0], axis: [0, 1, 0]}
constraints:
  rod:
    type: distance
    on: false
    distance_m: 1
    a: {body: left, at_m: [0, 0, -0.7]}
    b: {body: right, at_m: [0, 0, -0.6]}
initial: {p_deg: 25, r_deg: -20, r_rad_s: 1.5}
"""


@pytest.fixture
def machine_of(tmp_path: Path) -> Callable[[str], Machine]:
    def read(text: str) -> Machine:
        path = tmp_path / "machine.yaml"
        path.write_text(text)
        return load(path)

    return read


def test_two_carts_that_are_hooked_move_on_with_their_common_momentum(machine_of) -> None:
    motion = simulate(machine_of(CARTS), 0.4, switches=[Switch("hook", "on", 0.2)])
    (event,) = motion.balance.switched
    assert (event.time_s, event.constraint, event.on) == (0.2, "hook", True)
    assert event.energy_loss_J == pytest.approx(0.5 * 2 * 3 / 5, rel=1e-12)
    assert event.impulse == pytest.approx(2 * 3 / 5, rel=1e-12)
    np.testing.assert_allclose(motion.v[-1], 0.4, rtol=1e-12)
    assert motion.balance.energy_balance_error_J < 1e-12
    assert motion.balance.lost_J == pytest.approx(0.6, rel=1e-12)


def test_hooked_and_let_go_again(machine_of) -> None:
    switches = [Switch("hook", "off", 0.3), Switch("hook", "on", 0.2)]
    motion = simulate(machine_of(CARTS), 0.4, switches=switches)
    assert [event.on for event in motion.balance.switched] == [True, False]
    assert motion.balance.rank_min == 0
    assert motion.balance.rank_max == 1
    np.testing.assert_allclose(motion.v[-1], 0.4, rtol=1e-12)


@pytest.mark.parametrize("formulation", ["projected", "udwadia_kalaba", "lagrange", "minimal"])
def test_pendulums_that_a_rod_couples(machine_of, formulation: str) -> None:
    """Impulse along the rod: ΔL = r × n Λ for each, and the loss is (Δv)' M (Δv) / 2."""
    machine, at = machine_of(PENDULUMS), 0.15
    motion = simulate(machine, 0.6, formulation=formulation, switches=[Switch("rod", "hold", at)])
    before = simulate(machine, at)
    (event,) = motion.balance.switched
    (p, r), v = before.q[-1], before.v[-1]
    inertia = np.array([0.1 + 1.5 * 0.49, 0.05 + 0.8 * 0.25])
    ends = np.array([[-0.7 * math.sin(p), -0.7 * math.cos(p)], [1 - 0.6 * math.sin(r), -0.6 * math.cos(r)]])
    arms = np.array([[-0.7 * math.cos(p), 0.7 * math.sin(p)], [-0.6 * math.cos(r), 0.6 * math.sin(r)]])
    line = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    row = np.array([-line @ arms[0], line @ arms[1]])
    impulse = -(row @ v) / (row @ (row / inertia))
    after = v + row / inertia * impulse
    assert event.impulse == pytest.approx(abs(impulse), rel=1e-9)
    assert event.energy_loss_J == pytest.approx(0.5 * (after - v) @ (inertia * (after - v)), rel=1e-9)
    assert event.energy_loss_J > 0.01
    np.testing.assert_allclose(row @ after, 0.0, atol=1e-12)
    assert motion.balance.energy_balance_error_J < 1e-8
    assert motion.balance.residual_position_max < 1e-12
    length = [
        math.hypot(1 - 0.6 * math.sin(b) + 0.7 * math.sin(a), -0.6 * math.cos(b) + 0.7 * math.cos(a))
        for a, b in motion.q[150:]
    ]
    np.testing.assert_allclose(length, np.linalg.norm(ends[1] - ends[0]), atol=1e-12)


def test_a_constraint_that_is_off_is_in_no_figure(machine_of) -> None:
    machine = machine_of(CARTS)
    balance = simulate(machine, 0.1).balance
    assert (balance.rank_max, balance.residual_position_max, balance.sigma_min) == (0, 0.0, None)
    assert (machine.assembly.dof, machine.assembly.rows) == (2, 0)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Switch("hook", "on", 0.1), "its gap is 0.1.*or hold it"),
        (Switch("hok", "on", 0.1), "write hook"),
        (Switch("hook", "on", 0.7), "lasts from 0"),
        (Switch("hook", "up", 0.1), "on, off, hold"),  # type: ignore[arg-type]
    ],
)
def test_refusals(machine_of, event: Switch, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        simulate(machine_of(CARTS), 0.4, switches=[event])


@pytest.mark.parametrize("every", [1, 3, 7])
def test_reactions_follow_the_switches_and_have_two_values_at_each(machine_of, every: int) -> None:
    switches = [Switch("hook", "hold", 0.021), Switch("hook", "off", 0.042)]
    pulled = CARTS.replace("bodies:", "motors: {y: {max_force_N: 10, max_speed_m_s: 9}}\nbodies:")
    found = {}
    for at in ("begin", "end"):
        wanted = ReactionRequest(reactions=True, constraint_efforts=True, at=at)
        motion = simulate(
            machine_of(pulled), 0.05, 0.001, effort=[5.0], switches=switches, reactions=wanted, every=every
        )
        assert motion.reactions is not None
        assert motion.constraint_efforts is not None
        place = motion.reactions.names.index("hook")
        force = motion.reactions.force_N[:, place, 0]
        on_b = motion.constraint_efforts.effort[:, motion.joint_names.index("y")]
        np.testing.assert_allclose(on_b, force, atol=1e-12)
        found[at] = motion.time_s, force
    for at, (time_s, force) in found.items():
        late = 1e-9 if at == "end" else -1e-9
        closed = (time_s > 0.021 + late) & (time_s < 0.042 + late)
        np.testing.assert_allclose(force, np.where(closed, -2.0, 0.0), atol=1e-12)
        assert len(force) == len(time_s)


@pytest.mark.parametrize(("options", "words"), [({"formulation": "taylor"}, "taylor")])
def test_what_cannot_be_asked_for_with_switches(machine_of, options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        simulate(machine_of(CARTS), 0.4, switches=[Switch("hook", "on", 0.2)], **options)  # type: ignore[arg-type]


def test_switches_are_read_from_text() -> None:
    assert parse_switch("hook = hold @ 0.5", {}) == Switch("hook", "hold", 0.5)
    for text in ("hook", "hook=on", "hook=on@", "hook=up@1", "=on@1", "hook=on@nan"):
        with pytest.raises(ValueError, match="NAME=on@SECONDS"):
            parse_switch(text, {})


def test_on_must_be_true_or_false(machine_of) -> None:
    with pytest.raises(MachineError) as caught:
        machine_of(CARTS.replace("on: false", "on: maybe"))
    (problem,) = caught.value.problems
    assert (problem.key, problem.allowed[:13]) == ("constraints.hook.on", "true or false")
    assert problem.line is not None
