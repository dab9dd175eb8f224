"""The polishing machine in closed loop: contact is made, pressed, followed, lost and broken."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import JogCoordinates, OrderOutcome, Stop
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.supervision.state_machine import State
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import LawKind
from tests.controller.loop.pressing_rig import HEAVIER, PressingRig, polisher


@pytest.fixture
def rig(tmp_path: Path) -> PressingRig:
    """Enabled, a few millimetres above the table."""
    made = PressingRig(polisher(tmp_path))
    made.enable()
    return made


def test_contact_is_made_without_a_bounce_and_held(rig: PressingRig) -> None:
    samples, forces = rig.touch(5.0)
    first = int(np.argmax(forces > 0.0))
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert forces[first:].min() > 0.0, "the tool left the table again"
    assert forces.max() < 1.25 * 5.0
    assert rig.law is LawKind.HYBRID
    rig.run(0.3)
    assert rig.pressed_N() == pytest.approx(5.0, abs=0.01)


@pytest.mark.parametrize(
    ("plant_set", "source", "largest", "rms"),
    [
        ((), "sensor", 0.01, 0.01),
        ((), "model", 0.01, 0.01),
        (HEAVIER, "sensor", 0.05, 0.02),
        (HEAVIER, "model", 0.2, 0.1),
    ],
    ids=["exact, sensor", "exact, model", "heavier, sensor", "heavier, model"],
)
def test_the_force_while_circling(
    tmp_path: Path, plant_set: list[str], source: str, largest: float, rms: float
) -> None:
    rig = PressingRig(polisher(tmp_path, *plant_set, source=source))
    rig.enable()
    rig.touch(20.0)
    assert rig.circle()["order_outcome"] == OrderOutcome.DONE
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    path_s, length_s = (np.array([each[name] for each in samples]) for name in ("path_s", "path_length_s"))
    measured = (path_s > 0.5) & (path_s < length_s - 0.5)
    error = forces[measured] / 20.0 - 1.0
    assert np.abs(error).max() < largest
    assert np.sqrt(np.mean(error**2)) < rms
    names = rig.machine.mechanism.coordinate_names
    places = [names.index(name) for name in ("s", "t")]
    speed = np.linalg.norm([each["reference_velocity"][places] for each in samples], axis=1)[measured]
    np.testing.assert_allclose(speed, 0.2, atol=1e-3)


def test_contact_is_broken_without_a_jump(rig: PressingRig) -> None:
    rig.touch(20.0)
    gap = rig.at("table.gap")[0]
    assert rig.ask("move", target={"n": 0.01})["order_outcome"] == OrderOutcome.DONE
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert rig.law is LawKind.HOLD
    assert np.all(np.diff(forces) < 0.05), "the force only falls"
    fastest = max(abs(float(each["v"][3])) for each in samples if each["coordinate"][-1] < gap + 5e-4)
    assert fastest < 0.02
    assert rig.at("n")[0] == pytest.approx(0.01, abs=1e-3)


def test_a_way_that_ends_without_contact_is_told(rig: PressingRig) -> None:
    rig.ask("move", target={"n": 0.002}, until_force={"table": 5.0})
    samples, _ = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.CONTACT_LOST
    assert samples[-1]["goal_status"] == GoalStatus.ENDED
    assert samples[-1]["goal_coordinate"] == 0


def test_contact_that_is_lost_stops_the_motion_on_its_path(rig: PressingRig) -> None:
    rig.touch(20.0)
    rig.circle(seconds=2.0)
    rig.run(0.6)
    normal = rig.machine.plant_mechanism.contacts[0].surface.normal
    rig.carry_away(-0.1 * np.asarray(normal))  # 100 mm further down
    samples, _ = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.CONTACT_LOST
    assert rig.supervisor.state is State.ACTIVE
    assert abs(rig.at("n")[0]) < 0.02
    assert max(abs(float(each["v"][3])) for each in samples) < 0.5
    rig.run(0.2)
    assert rig.law is LawKind.HOLD


def test_a_force_beyond_its_tolerance_stops_the_motion_and_stays_pressed(tmp_path: Path) -> None:
    rig = PressingRig(polisher(tmp_path, "contacts.table.friction=0.9"))
    rig.enable()
    rig.touch(20.0)
    rig.circle(tolerances={"table": {"path": 0.005}})
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.FORCE_TOLERANCE_VIOLATED
    assert samples[-1]["goal_limit"] == 0.005
    assert samples[-1]["goal_value"] > 0.005
    assert forces.min() > 10.0
    assert rig.law is LawKind.HYBRID


def test_a_force_over_time_is_followed(rig: PressingRig) -> None:
    rig.touch(10.0)
    s = rig.at("s")[0]
    points = [{"time_from_start_s": 1.0, "positions": [s + 0.02]}]
    profile = [{"time_from_start_s": 0.2, "force": 10.0}, {"time_from_start_s": 0.8, "force": 25.0}]
    rig.ask("send", trajectory={"coordinates": ["s"], "points": points, "force": {"table": profile}})
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    wanted = np.array([each["force_reference"][0] for each in samples])
    assert np.abs(forces - wanted).max() < 0.5
    assert forces[-1] == pytest.approx(25.0, abs=0.05)


def test_what_needs_contact_or_must_have_none_is_refused(rig: PressingRig) -> None:
    assert rig.circle()["order_outcome"] == OrderOutcome.REFUSED_CONTACT
    rig.touch(5.0)
    outcome = rig.ask("move", target={"n": -0.005}, until_force={"table": 5.0})["order_outcome"]
    assert outcome == OrderOutcome.REFUSED_CONTACT


def test_a_jog_lets_go_first(rig: PressingRig) -> None:
    rig.touch(5.0)
    index = rig.machine.mechanism.coordinate_index("n")
    for _ in range(40):
        assert rig.order(JogCoordinates(((index, 0.02),)))["order_outcome"] == 1
        rig.run(0.01)
    assert rig.pressed_N() == 0.0
    assert rig.at("n")[0] > 1e-3
    rig.run(0.5)
    assert rig.law is LawKind.HOLD


def test_stopping_in_contact_keeps_the_force(rig: PressingRig) -> None:
    rig.touch(20.0)
    rig.circle()
    rig.run(0.7)
    rig.order(Stop())
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.CANCELLED
    np.testing.assert_allclose(forces, 20.0, atol=0.2)
    assert rig.law is LawKind.HYBRID


@pytest.mark.parametrize(
    ("trajectory", "text"),
    [
        ({"force": {"tabel": 20.0}}, "did you mean 'table'"),
        ({"force": {"table": -1.0}}, "only pushes"),
        ({"force": {"table": 500.0}}, "effort"),
        ({"guard": {"table": 0.5}}, "counts as made"),
    ],
)
def test_refusals_say_why(rig: PressingRig, trajectory: dict[str, object], text: str) -> None:
    s, t, angle = rig.at("s", "t", "angle")
    named = ["s", "t", "angle"] + (["n"] if "guard" in trajectory else [])
    here = [s, t, angle] + (rig.at("n") if "guard" in trajectory else [])
    points = [{"time_from_start_s": 1.0, "positions": here}]
    with pytest.raises(RequestError, match=text):
        rig.ask("send", trajectory={"coordinates": named, "points": points, **trajectory})


@pytest.mark.slow
def test_a_wanted_force_of_a_guide_is_held_in_motion(tmp_path: Path) -> None:
    from linkwork.multibody.dynamics.constrained_dynamics import projected
    from tests.controller.laws.test_hybrid import two_motors

    rig = PressingRig(two_motors(tmp_path))
    rig.enable()
    points = [{"time_from_start_s": 1.0, "positions": [0.9]}]
    trajectory = {"coordinates": ["crank"], "points": points, "force": {"guide": 20.0}}
    assert rig.ask("send", trajectory=trajectory)["order_outcome"] == OrderOutcome.DONE
    truth = rig.machine.workspace()
    forces = []
    while True:
        sample = rig.tick()
        truth.q[:], truth.v[:] = rig.simulator.q, rig.simulator.v
        truth.effort[:] = rig.simulator.measured.effort
        projected(*truth.arguments)
        forces.append(float(truth.multipliers[0]))
        if sample["goal_status"] in (GoalStatus.SUCCEEDED, GoalStatus.ENDED):
            break
    assert sample["goal_code"] == ResultCode.SUCCESSFUL
    np.testing.assert_allclose(forces[300:], 20.0, atol=0.2)
