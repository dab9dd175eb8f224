"""Guarded moves, force profiles and hybrid goals of machines with one to six degrees of freedom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine, load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from tests.controller.loop.pressing_rig import PressingRig

AXES = ("x", "y", "z")
STIFFNESS = 5.0e4


def gantry(folder: Path, dof: int, walls: int) -> Machine:
    """Three slides, then three hinges, as many as asked for; a wall 10 mm ahead in each of the first axes."""
    bodies, joints, motors, sensors, contacts = [], [], [], [], []
    parent = "world"
    for i in range(dof):
        name, axis = f"q{i}", [int(j == i % 3) for j in range(3)]
        slides = i < 3
        inertia = "{xx: 0.1, yy: 0.1, zz: 0.1}"
        bodies.append(f"  b{i}: {{mass_kg: 2, inertia_kg_m2: {inertia}}}")
        kind = "prismatic" if slides else "revolute"
        rates = "velocity_m_s: 0.2, acceleration_m_s2: 1" if slides else "velocity_rad_s: 1"
        joints.append(
            f"  {name}: {{type: {kind}, parent: {parent}, child: b{i}, axis: {axis}, limits: {{{rates}}}}}"
        )
        unit = "max_force_N: 200, max_speed_m_s: 1" if slides else "max_torque_N_m: 50, max_speed_rad_s: 5"
        motors.append(f"  {name}: {{{unit}}}")
        sensors.append(f"  {name}: {{velocity: true}}")
        parent = f"b{i}"
    for i in range(walls):
        normal = [-int(j == i) for j in range(3)]
        at = [0.01 * int(j == i) for j in range(3)]
        contacts.append(
            f"  {AXES[i]}: {{point: tool, plane: {{at_m: {at}, normal: {normal}}},"
            f" stiffness_N_m: {STIFFNESS}, damping_ratio: 0.3}}"
        )
    parts = {
        "bodies": bodies, "joints": joints, "points": [f"  tool: {{body: {parent}, at_m: [0, 0, 0]}}"],
        "contacts": contacts, "motors": motors, "sensors": sensors,
    }  # fmt: skip
    text = "name: gantry\ngravity_m_s2: [0, 0, 0]\n"
    text += "".join(f"{key}:\n" + "\n".join(lines) + "\n" for key, lines in parts.items())
    text += "controller: {force: {integral_per_s: 20, added_damping_ratio: 0.5, rate_N_s: 100, touch_N: 1}}\n"
    path = folder / "gantry.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def force_of(rig: PressingRig, contact: int) -> float:
    """How hard the plant's spring of a contact is pressed, at rest."""
    return -STIFFNESS * float(rig.simulator.work.contact_gap[contact])


def succeeds(rig: PressingRig, method: str, **params: Any) -> None:
    """The goal begins, and ends successfully."""
    rig.ask(method, **params)
    samples, _ = rig.to_the_end()
    last = samples[-1]
    assert (last["goal_status"], last["goal_code"]) == (GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL)


@pytest.mark.parametrize("dof", [1, 2, 3, 6])
def test_every_machine_touches_presses_and_lets_go(tmp_path: Path, dof: int) -> None:
    rig = PressingRig(gantry(tmp_path, dof, 1))
    rig.enable()
    succeeds(rig, "move", target={"q0": 0.02}, until_force={"x": 10.0})
    assert force_of(rig, 0) == pytest.approx(10.0, abs=0.5)
    profile = [{"time_from_start_s": 0.0, "force": 10.0}, {"time_from_start_s": 0.5, "force": 30.0}]
    succeeds(rig, "send", trajectory={"force": {"x": profile}})
    assert force_of(rig, 0) == pytest.approx(30.0, abs=0.5)
    succeeds(rig, "send", trajectory={"force": {"x": 5.0}})
    assert force_of(rig, 0) == pytest.approx(5.0, abs=0.5)
    if dof > 1:
        names = [f"q{i}" for i in range(1, dof)]
        points = [{"time_from_start_s": 1.0, "positions": [0.005] * len(names)}]
        succeeds(rig, "send", trajectory={"coordinates": names, "points": points, "force": {"x": 20.0}})
        assert force_of(rig, 0) == pytest.approx(20.0, abs=0.5)
        np.testing.assert_allclose(rig.at(*names), 0.005, atol=1e-3)
    succeeds(rig, "move", target={"q0": 0.0})
    assert force_of(rig, 0) < 0.0


@pytest.mark.parametrize("dof", [2, 3, 6])
def test_as_many_contacts_as_there_are_are_pressed_one_after_another(tmp_path: Path, dof: int) -> None:
    walls = min(dof, 3)
    rig = PressingRig(gantry(tmp_path, dof, walls))
    rig.enable()
    succeeds(rig, "move", target={"q0": 0.02}, until_force={"x": 10.0})
    for i in range(1, walls):
        pressed = dict.fromkeys(AXES[:i], 10.0)
        free = [f"q{k}" for k in range(i, dof)]
        target = [0.02] + [0.0] * (len(free) - 1)
        given = {"coordinates": free, "points": [{"time_from_start_s": 6.0, "positions": target}]}
        succeeds(rig, "send", trajectory={**given, "force": pressed, "guard": {AXES[i]: 10.0}})
    succeeds(rig, "send", trajectory={"force": {AXES[i]: 15.0 + i for i in range(walls)}})
    for i in range(walls):
        assert force_of(rig, i) == pytest.approx(15.0 + i, abs=0.5)


def test_a_force_alone_needs_contact_and_a_force_that_motion_leaves_over(tmp_path: Path) -> None:
    rig = PressingRig(gantry(tmp_path, 1, 1))
    rig.enable()
    refused = rig.ask("send", trajectory={"force": {"x": 10.0}})
    assert refused["goal_status"] == GoalStatus.NONE
    with pytest.raises(RequestError, match="give either `points` or a `curve`, or `force` alone"):
        rig.ask("send", trajectory={"coordinates": ["q0"], "force": {"x": 10.0}})
    points = [{"time_from_start_s": 1.0, "positions": [0.0]}]
    with pytest.raises(RequestError, match="motion has 0 of 1 degrees of freedom"):
        rig.ask("send", trajectory={"coordinates": ["q0"], "points": points, "force": {"x": 10.0}})
