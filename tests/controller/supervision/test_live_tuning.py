"""Gains and payloads changed while the machine runs: nothing jumps, and the model is then the right one."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.controller.exchange.orders import OrderOutcome, SetGains, SetPayload
from linkwork.machine import Machine, load
from linkwork.machine.payloads import loaded
from linkwork.multibody.functions import mass_matrix
from linkwork.multibody.mechanism import Mechanism
from tests.controller.loop.in_process import InProcess

LOAD = (1.5, 0.02, -0.03, 0.04, 0.004, 0.0005, 0.0, 0.005, 0.0, 0.006)


def heavier(machine: Machine) -> Mechanism:
    """The SCARA's mechanism with the load built into its last body."""
    mass, com, xx, xy, xz, yy, yz, zz = LOAD[0], np.array(LOAD[1:4]), *LOAD[4:]
    bodies = []
    for body in machine.mechanism.bodies:
        if body.name == "lift_link":
            total = body.mass_kg + mass
            centre = (body.mass_kg * np.asarray(body.com_m) + mass * com) / total
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) + body.inertia_kg_m2
            for part, at in ((body.mass_kg, np.asarray(body.com_m)), (mass, com)):
                away = at - centre
                inertia = inertia + part * (away @ away * np.eye(3) - np.outer(away, away))
            body = type(body)(body.name, total, centre, inertia)
        bodies.append(body)
    m = machine.mechanism
    return Mechanism.build(bodies, m.joints, m.gravity_m_s2, points=m.points, coordinates=m.coordinates)


def test_a_load_makes_the_model_that_a_heavier_body_makes() -> None:
    machine = load("scara")
    q = np.array([0.3, -0.7, 0.4, 0.05])
    found = mass_matrix(loaded(machine, {"tool": LOAD}).mechanism, q)
    np.testing.assert_allclose(found, mass_matrix(heavier(machine), q), rtol=1e-12, atol=1e-12)
    empty = loaded(machine, {"tool": (0.0, *LOAD[1:])}).mechanism
    np.testing.assert_allclose(mass_matrix(empty, q), mass_matrix(machine.mechanism, q), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["scara", "five_bar"])
def test_a_payload_ramps_the_effort(name: str) -> None:
    rig = InProcess(load(name))
    rig.enable()
    rig.run(0.05)
    point = rig.machine.payloads[0].index
    taken = rig.order(SetPayload(point, 0.4))
    assert taken["order_outcome"] == OrderOutcome.DONE
    samples = rig.run(0.7)
    efforts = np.array([sample["law_effort"] for sample in samples])
    assert np.abs(np.diff(efforts, axis=0)).max() < 0.05
    if name == "scara":  # the lift's motor now holds 0.4 kg that the plant does not have, until feedback acts
        assert np.abs(efforts[:, 3] - efforts[0, 3]).max() > 0.1


def test_a_payload_that_is_told_is_carried_without_an_error() -> None:
    """The plant carries 1.5 kg from the start; the controller, told of it, holds where it stood."""
    machine = load("scara", ["lift_link.mass_kg=+300%"])
    sags = []
    for told in (False, True):
        rig = InProcess(machine)
        rig.tick()
        if told:
            point = machine.mechanism.point_index("tool")
            rig.order(SetPayload(point, 1.5))
            rig.run(0.6)
        before = rig.simulator.q[3]
        rig.enable()
        rig.run(0.4)
        sags.append(abs(rig.simulator.q[3] - before))
    assert sags[0] > 1e-3
    assert sags[1] < 1e-6


def test_gains_go_over_without_a_jump_and_stay_in_their_bounds() -> None:
    rig = InProcess(load("scara"))
    rig.enable()
    refused = rig.order(SetGains(200.0, 1.0))
    assert (refused["order_outcome"], refused["bandwidth"]) == (OrderOutcome.REFUSED_VALUE, 20.0)
    rig.simulator.q[0] += 1e-3
    rig.order(SetGains(50.0, 0.8))
    samples = rig.run(0.3)
    bandwidths = np.array([sample["bandwidth"] for sample in samples])
    assert bandwidths[-1] == 50.0
    assert samples[-1]["damping_ratio"] == 0.8
    assert np.diff(bandwidths).max() < 0.4
    assert np.all(np.diff(bandwidths) >= 0.0)


def test_what_the_file_does_not_allow_is_refused() -> None:
    rig = InProcess(load("four_bar"))
    rig.enable()
    assert rig.order(SetPayload(0, 1.0))["order_outcome"] == OrderOutcome.REFUSED_VALUE
    assert rig.order(SetGains(25.0, 1.0))["order_outcome"] == OrderOutcome.REFUSED_VALUE
