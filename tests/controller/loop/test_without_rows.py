"""A machine whose constraints do not hold moves as the same machine without them: one law, one model."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.exchange.orders import ChooseLaw
from linkwork.controller.laws import Law, LawReport, Reference, laws_of
from linkwork.controller.laws.law_motors import Motors
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.motion_basis import evaluate_motion
from linkwork.protocol.laws import LawKind
from linkwork.protocol.requests import MoveParams
from tests.controller.loop.in_process import InProcess

Laws = tuple[Machine, LawReport, dict[LawKind, Law]]
ANGLES = st.lists(st.floats(-1.2, 1.2), min_size=2, max_size=2)
SPEEDS = st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=2)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Machine, Machine]:
    """The arm whose two constraints are off, and the arm without any."""
    text = shipped_path("slot_arm").read_text("utf-8")
    path = tmp_path_factory.mktemp("machine") / "slot_arm.yaml"
    path.write_text(re.sub(r"(?m)^constraints:\n( .*\n)+", "", text), encoding="utf-8")
    closed, tree = replace(load("slot_arm"), switchable=()), load(path)
    assert (closed.is_constrained, tree.is_constrained) == (True, False)
    assert closed.dof == tree.dof == 2
    return closed, tree


@pytest.fixture(scope="module")
def made(both: tuple[Machine, Machine]) -> list[Laws]:
    reports = LawReport(), LawReport()
    return [
        (one, report, laws_of(one, Motors(one, report))) for one, report in zip(both, reports, strict=True)
    ]


def at(machine: Machine, q: list[float], v: list[float]) -> Workspace:
    work = machine.workspace()
    work.q[:], work.v[:] = q, v
    evaluate_motion(*work.arguments)
    return work


@given(q=ANGLES, v=SPEEDS, wanted=SPEEDS, harder=st.sampled_from([1.0, 1e3]))
def test_all_laws_give_the_same_efforts_within_the_motors_limits_and_beyond(
    made: list[Laws], q: list[float], v: list[float], wanted: list[float], harder: float
) -> None:
    reference = Reference(np.arange(2), np.array(q), np.array(v), harder * np.array(wanted))
    found = []
    for machine, report, laws in made:
        force = np.zeros(2)
        for kind in (LawKind.HOLD, LawKind.PIDC, LawKind.FLOAT, LawKind.DAMP):
            ratio = laws[kind](at(machine, q, v), reference, force)
            found.append([*force, ratio, report.share, report.leverage])
    np.testing.assert_allclose(found[:4], found[4:], rtol=1e-9, atol=1e-9)


def test_a_move_floating_and_damping_pass_through_the_same_states(both: tuple[Machine, Machine]) -> None:
    ways = []
    for machine in both:
        rig = InProcess(machine)
        rig.enable()
        target = {"shoulder": 1.0, "elbow": -1.0}
        start = Start.at_pose(machine, rig.controller._now.q)
        made = plan("move", MoveParams.model_validate({"target": target}), machine, start)
        samples = [rig.start_goal(made.words), *rig.run(0.8)]
        for law in (LawKind.FLOAT, LawKind.DAMP):
            samples += [rig.order(ChooseLaw(law)), *rig.run(0.1)]
        ways.append(np.array([np.append(sample["q"], sample["v"]) for sample in samples]))
    assert np.ptp(ways[0][:, 0]) > 0.2
    np.testing.assert_allclose(ways[0], ways[1], rtol=0, atol=1e-7)
