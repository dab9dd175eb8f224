"""The simulated mechanism changes on the way: masses, lengths, payloads, a closure that opens."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.machine import MachineError, load
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.functions import mass_matrix, point_jacobian, point_position
from linkwork.multibody.model import Point
from linkwork.plant.faults.faulty_machinery import Simulated
from linkwork.plant.faults.mechanism_faults import about
from linkwork.plant.faults.pushes import pushable
from tests.plant.faults.line import Line

CRANK = load("slider_crank")


def simulated(line: Line) -> Simulated:
    assert line.machinery.simulated is not None
    return line.machinery.simulated


def residual(line: Line) -> float:
    work = simulated(line).work
    constraint_rows(*work.arguments)
    return float(np.max(np.abs(work.phi)))


def test_a_mass_changes_between_two_periods_and_back(slider) -> None:
    machine = slider()
    line = Line(
        machine, {"at_tick": 10, "for_ticks": 10, "mechanism": "change", "set": ["cart.mass_kg=+100%"]}
    )
    line.effort[:] = 8.0
    v = []
    for _ in range(31):
        line.run(1)
        v.append(float(line.link._state.v[0]))
    forces = [2.0 * (v[k + 8] - v[k]) / 8e-3 for k in (1, 11, 21)]
    assert forces == pytest.approx([8.0, 4.0, 8.0])


def test_a_longer_link_leaves_the_machine_closed() -> None:
    line = Line(CRANK, {"at_tick": 20, "mechanism": "change", "set": ["knee.at_m=[1.05, 0, 0]"]})
    line.effort[:] = 10.0
    line.run(20)
    before = line.machinery.inner.measured.q.copy()
    line.run(30)
    assert residual(line) < 1e-9
    assert "moved by" in line.said[-1]["text"]
    assert np.all(np.isfinite(line.link._state.q))
    assert not np.array_equal(before, line.machinery.inner.measured.q)


def test_a_change_that_cannot_be_closed_changes_nothing_and_says_so() -> None:
    machine = load("five_bar")
    line = Line(machine, {"at_tick": 5, "mechanism": "change", "set": ["left_elbow.at_m=[9, 0, 0]"]})
    plain = Line(machine)
    assert [told.q for told in line.run(15)] == [told.q for told in plain.run(15)]
    report = line.inject().faults[0]
    assert (report.applied, report.from_tick, report.state) == (False, None, "ended")
    assert "cannot be closed" in report.text


def test_a_payload_is_a_point_mass_on_its_body() -> None:
    machine = load("scara")
    body = machine.plant_mechanism.body_names[-1]
    line = Line(machine, {"mechanism": "payload", "of": body, "mass_kg": 3.0, "at_m": [0.1, 0.0, 0.0]})
    line.run(1)
    changed = machine.plant_mechanism
    q = np.array(machine.initial_q)
    before = mass_matrix(changed, q)
    work = simulated(line).work
    kept = work.q.copy()
    work.q[:] = q
    dynamics(*work.arguments)
    added = work.M - before
    work.q[:] = kept
    assert added[3, 3] == pytest.approx(3.0), "the lift carries it"
    assert np.linalg.eigvalsh(added).min() > -1e-12, "a mass adds energy to no motion less"
    assert added[0, 0] > 0.0


def test_the_inertia_of_a_point_mass() -> None:
    assert np.allclose(about(2.0, np.array([0.0, 0.0, 3.0])), np.diag([18.0, 18.0, 0.0]))


def test_a_closure_opens_and_closes_where_it_can() -> None:
    name = CRANK.plant_mechanism.constraint_names[0]
    line = Line(CRANK, {"name": "loose", "at_tick": 10, "mechanism": "open", "of": name})
    line.effort[:] = 5.0
    line.run(10)
    assert residual(line) < 1e-9
    line.run(100)
    assert abs(point_position(CRANK.plant_mechanism, "tip", simulated(line).work.q)[1]) > 1e-3
    line.inject({"clear": "loose"})
    line.run(2)
    assert "stays open" in line.said[-1]["text"]
    second = Line(CRANK, {"at_tick": 10, "for_ticks": 1, "mechanism": "open", "of": name})
    second.run(12)
    assert "closed again" in second.said[-1]["text"]
    second.run(20)
    assert residual(second) < 1e-9


def test_a_spring_breaks_for_a_while_and_the_cart_glides(slider) -> None:
    machine = slider(
        ("motors:", "springs:\n  coil: {joint: slide, stiffness_N_m: 50, rest_m: 0.1, preload_N: 1}\nmotors:")
    )
    fault = {"at_tick": 100, "for_ticks": 50, "mechanism": "spring", "of": "coil"}
    q, v = motion(Line(machine, fault), 200)
    glides = slice(102, 148)
    assert np.ptp(v[glides]) < 1e-12
    assert q[147] - q[102] == pytest.approx(v[120] * 45 * machine.plant.period_s, rel=1e-9)
    for swings in (slice(10, 98), slice(153, 200)):
        energy = v[swings] ** 2 + 0.5 * 50.0 * (q[swings] - 0.1) ** 2 + (q[swings] - 0.1)  # of 2 kg
        assert np.ptp(energy) < 1e-9
    weak, speed = motion(Line(machine, fault | {"factor": 0.5, "for_ticks": 100}), 198)
    half = speed**2 + 0.25 * 50.0 * (weak - 0.1) ** 2 + 0.5 * (weak - 0.1)
    assert np.ptp(half[110:190]) < 1e-9


def test_a_force_of_the_file_acts_for_a_while(slider) -> None:
    force = "forces:\n  push: {joint: slide, force_N: 0, plant_only: true}\nmotors:"
    machine = slider(("motors:", force))
    fault = {"at_tick": 50, "for_ticks": 20, "mechanism": "force", "of": "push", "force_N": 12.0}
    _, v = motion(Line(machine, fault), 100)
    assert v[48] == v[10] == 0.0
    assert v[90] == pytest.approx(12.0 / 2.0 * 20 * machine.plant.period_s, rel=1e-9)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"mechanism": "spring", "of": "coil"}, "no spring has this name"),
        ({"mechanism": "force", "of": "sway", "force_N": 1.0}, "an expression, which cannot change"),
        ({"mechanism": "force", "of": "push", "torque_N_m": 1.0}, "torque_N_m"),
        ({"mechanism": "force", "of": "push"}, "force_N or torque_N_m is missing"),
    ],
)
def test_a_fault_of_a_spring_or_force_that_is_none_is_refused(slider, fault, message) -> None:
    forces = "forces:\n  push: {joint: slide, force_N: 0}\n  sway: {joint: slide, force_N: 0*t}\nmotors:"
    with pytest.raises(MachineError, match=message):
        Line(slider(("motors:", forces)), fault)


def motion(line: Line, ticks: int) -> tuple[np.ndarray, np.ndarray]:
    """Position and speed of the cart after each tick."""
    found = []
    for _ in range(ticks):
        line.run(1)
        found.append([float(each[0]) for each in (simulated(line).work.q, simulated(line).work.v)])
    q, v = np.array(found).T
    return q, v


def test_a_push_moves_the_machine_as_the_force_through_its_jacobian(slider) -> None:
    machine = pushable(slider(axis="[1, 0, 1]"))
    fault = {"at_tick": 50, "for_ticks": 20, "mechanism": "push", "of": "cart", "force_N": [12.0, 5.0, 3.0]}
    _, v = motion(Line(machine, fault), 100)
    plain = motion(Line(slider(axis="[1, 0, 1]")), 100)[1]
    along = (12.0 + 3.0) / np.sqrt(2.0)
    assert np.array_equal(v[:49], plain[:49])
    assert v[90] - plain[90] == pytest.approx(along / 2.0 * 20 * machine.plant.period_s, rel=1e-9)


def test_pushes_of_a_closed_machine_do_the_work_of_their_wrench() -> None:
    machine = pushable(CRANK)
    name = machine.plant_mechanism.bodies[-1].name
    force, torque, place = [3.0, 0.0, -7.0], [0.0, 0.4, 0.1], [0.2, 0.1, 0.0]
    fault = {"mechanism": "push", "of": name, "force_N": force, "torque_N_m": torque, "at_m": place}
    line = Line(machine, fault)
    line.run(3)
    work = simulated(line).work
    dynamics(*work.arguments)
    bare = CRANK.plant_mechanism.workspace()
    bare.q[:], bare.v[:] = work.q, work.v
    dynamics(*bare.arguments)
    rows = point_jacobian(machine.plant_mechanism.bare([Point("pushed", name, place)]), "pushed", work.q)
    np.testing.assert_allclose(bare.h - work.h, rows[:3].T @ torque + rows[3:].T @ force, atol=1e-12)


def test_a_push_with_another_change_and_of_a_body_that_is_none(slider) -> None:
    machine = pushable(slider())
    heavier = {"mechanism": "change", "set": ["cart.mass_kg=+100%"]}
    push = {"at_tick": 50, "for_ticks": 20, "mechanism": "push", "of": "cart", "force_N": [12.0, 0.0, 0.0]}
    _, v = motion(Line(machine, heavier, push), 100)
    assert v[90] == pytest.approx(12.0 / 4.0 * 20 * machine.plant.period_s, rel=1e-9)
    with pytest.raises(MachineError, match="no moving body has this name"):
        Line(machine, push | {"of": "world"})
