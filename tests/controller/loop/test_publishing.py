"""Reactions published by the tick: against the momentum of the plant's motion, and where there are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import EmergencyStop, SetPayload
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.loop.tick import Tick
from linkwork.controller.supervision.live_tuning import LOAD_RAMP_S, smooth
from linkwork.machine import Machine, load, shipped_path
from linkwork.machine.payloads import carrying, loaded
from linkwork.multibody.functions import potential_energy
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.reactions.reactions import joint_reactions
from tests.controller.loop.in_process import InProcess, Sample, with_controller
from tests.controller.loop.pressing_rig import PressingRig, polisher
from tests.controller.loop.test_closed_chains import MOVES, move

PARTS = ("fx", "fy", "fz", "mx", "my", "mz")


def publishing(machine: Machine) -> Machine:
    return with_controller(machine, publish=("reactions",))


def entry(rig: InProcess, sample: Sample, name: str) -> Floats:
    """Force and moment of a joint or constraint, as published."""
    names = rig.layout.names["reaction"]
    return np.array([sample["reaction"][names.index(f"{name}.{part}")] for part in PARTS])


def first_moment(mechanism: Mechanism, q: Floats) -> Floats:
    """Σ m c (kg m) of all bodies, from the potential energy in three fields of 1 m/s²."""
    found = []
    for axis in range(3):
        model = mechanism.model.changed({"gravity": np.eye(3)[axis]})
        found.append(-potential_energy(replace(mechanism, model=model), q))
    return np.array(found)


def total_mass(mechanism: Mechanism) -> float:
    return sum(body.mass_kg for body in mechanism.bodies)


def test_what_the_ground_gives_is_the_change_of_momentum_and_the_weight() -> None:
    rig = InProcess(publishing(load("five_bar")))
    rig.enable()
    move(rig, MOVES["five_bar"])
    samples, places = [], []
    for _ in range(250):
        places.append(rig.simulator.q.copy())
        samples.append(rig.tick())
    mechanism = rig.machine.plant_mechanism
    moments = np.array([first_moment(mechanism, q) for q in places])
    rate = (moments[2:] - 2.0 * moments[1:-1] + moments[:-2]) / rig.period_s**2
    expected = rate - total_mass(mechanism) * np.asarray(mechanism.gravity_m_s2)
    given = np.array(
        [entry(rig, sample, "left")[:3] + entry(rig, sample, "right")[:3] for sample in samples[1:-1]]
    )
    assert np.linalg.norm(rate, axis=1).max() > 5.0, "it has to move for this"
    both = 0.5 * (given[1:] + given[:-1])  # efforts change in steps: a difference sees both sides of one
    np.testing.assert_allclose(both[20:], expected[1:][20:], atol=0.15)


@pytest.mark.parametrize("name", ["scara", "five_bar", "delta", "platform_3rrs"])
def test_they_are_those_of_the_plants_state_under_the_effort_that_acts(name: str) -> None:
    rig = InProcess(publishing(load(name)))
    rig.enable()
    rig.run(0.05)
    mechanism, simulator = rig.machine.plant_mechanism, rig.simulator
    q, v = simulator.q.copy(), simulator.v.copy()
    effort = np.zeros(mechanism.nv)
    sample = rig.tick()
    for motor, value in zip(rig.machine.motors, simulator.measured.effort, strict=True):
        effort[motor.index] += value
    rank = rig.machine.assembly.ordinary_rank
    for each in joint_reactions(mechanism, q, v, effort, ordinary_rank=rank):
        expected = np.concatenate([each.force_N, each.moment_N_m])
        np.testing.assert_allclose(entry(rig, sample, each.joint), expected, atol=2e-2)


def test_a_payload_is_carried_by_the_joints_below_it() -> None:
    machine = publishing(load("scara"))
    point = machine.payloads[0]
    carried = (2.0, 0.0, 0.1, 0.0, *(0.0,) * 6)
    rig = InProcess(machine)
    rig.enable()
    assert rig.order(SetPayload(point.index, carried[0], carried[1:4], carried[4:]))["order_outcome"] == 1
    for tick in range(1000):  # the plant takes it up as the model does
        part = (carried[0] * smooth(min(1.0, (tick + 1) * rig.period_s / LOAD_RAMP_S)), *carried[1:])
        heavier = loaded(rig.machine, {"tool": part}).mechanism.model
        rig.simulator._arguments = (heavier, *rig.simulator._arguments[1:])
        sample = rig.tick()
    weight = 9.81 * (total_mass(machine.mechanism) + carried[0])
    np.testing.assert_allclose(entry(rig, sample, "shoulder")[:3], [0.0, 0.0, weight], atol=0.05)


def test_payloads_are_taken_in_only_when_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = InProcess(publishing(load("scara")))
    rig.enable()
    counted = []

    def counting(*arguments: Any) -> tuple[float, Floats, Floats]:
        counted.append(arguments)
        return carrying(*arguments)

    monkeypatch.setattr("linkwork.controller.loop.loop.carrying", counting)
    rig.run(0.05)
    assert counted == []
    point = rig.machine.payloads[0]
    rig.order(SetPayload(point.index, 1.0))
    rig.run(LOAD_RAMP_S + 0.01)
    ramp = len(counted)
    assert ramp >= LOAD_RAMP_S / rig.period_s - 1
    rig.run(0.05)
    assert len(counted) == ramp


def test_a_contact_that_is_felt_bears_its_share(tmp_path: Path) -> None:
    rig = PressingRig(publishing(polisher(tmp_path)))
    rig.enable()
    rig.touch(20.0)
    rig.run(0.3)
    given, pressed = [], []
    for _ in range(200):
        given.append(entry(rig, rig.tick(), "shoulder")[:3])
        pressed.append(rig.pressed_N())
    assert np.mean(pressed) > 15.0
    normal = np.asarray(rig.machine.plant_mechanism.contacts[0].surface.normal)
    expected = np.array([0.0, 0.0, 9.81 * total_mass(rig.machine.mechanism)]) - np.mean(pressed) * normal
    np.testing.assert_allclose(np.mean(given, axis=0), expected, atol=0.05)


def test_while_a_brake_is_on_nobody_knows() -> None:
    rig = InProcess(publishing(load("five_bar")))
    assert np.isnan(rig.tick()["reaction"]).all()
    rig.enable()
    assert np.isfinite(rig.tick()["reaction"]).all()
    rig.order(EmergencyStop())
    assert np.isnan(rig.tick()["reaction"]).all()


def test_without_publish_record_and_tick_are_the_usual_ones(tmp_path: Path) -> None:
    machine = load("five_bar")
    assert type(InProcess(machine).controller) is Tick
    usual, more = layout_for(machine), layout_for(publishing(machine))
    assert usual.names["reaction"] == ()
    assert "reaction" not in usual.ros2msg(wall_clock=True)
    entries = len(machine.mechanism.joint_names) + len(machine.mechanism.constraints)
    assert more.bytes == usual.bytes + 8 * 6 * entries
    assert [more.offsets[name] for name in ("tick", "force_measured")] == [
        usual.offsets[name] for name in ("tick", "force_measured")
    ]
    path = tmp_path / "five_bar.yaml"
    path.write_text(
        shipped_path("five_bar").read_text().replace("controller:\n", "controller:\n  publish: [reactions]\n")
    )
    assert load(path).controller.publish == ("reactions",)
    assert layout_for(load(path)).bytes == more.bytes
