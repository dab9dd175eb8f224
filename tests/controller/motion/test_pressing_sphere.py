"""The polishing machine over a dome: made, pressed, followed where the normal turns, lost and broken."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import OrderOutcome
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine, load
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody.contact.compliance import Sphere
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.laws import LawKind
from tests.controller.loop.pressing_rig import PressingRig

CENTRE, RADIUS = [0.0, 0.31, -0.188], 0.2
TASK = f"""\
task:
  x: {{coordinate: tool.x, limits: {{velocity_m_s: 0.4, acceleration_m_s2: 1.5, jerk_m_s3: 15}}}}
  y: {{coordinate: tool.y, limits: {{velocity_m_s: 0.4, acceleration_m_s2: 1.5, jerk_m_s3: 15}}}}
  off:
    coordinate: tool.distance
    from_m: {CENTRE}
    radius_m: {RADIUS}
    limits: {{velocity_m_s: 0.1, acceleration_m_s2: 1, jerk_m_s3: 10}}
  angle: {{coordinate: tool.yaw, limits: {{velocity_rad_s: 4, acceleration_rad_s2: 20, jerk_rad_s3: 200}}}}

motors:"""


def over_a_dome(folder: Path, source: str = "sensor", ball_m: float = 0.0) -> Machine:
    """The polishing machine with a sphere in place of the table, some 10 mm below the tool, or its ball."""
    text = shipped_path("scara_polish").read_text(encoding="utf-8")
    text = re.sub(r"task:.*?\nmotors:", TASK, text, flags=re.DOTALL)
    sphere = f"    sphere: {{centre_m: {CENTRE}, radius_m: {RADIUS - ball_m}}}\n    ball_radius_m: {ball_m}"
    text = re.sub(r"    plane: .*", sphere, text)
    text = text.replace("table", "dome").replace("lift_m: 0.05}", "lift_m: 0.018}")
    path = folder / "dome.yaml"
    path.write_text(text, encoding="utf-8")
    machine = load(path)
    force = machine.controller.force.with_values(source=source)
    return replace(machine, controller=machine.controller.with_values(force=force))


class OnTheDome(PressingRig):
    """The dome in place of the table."""

    def touch(self, force: float = 5.0):
        """A guarded move towards the centre of the dome."""
        self.ask("move", target={"off": -0.004}, until_force={"dome": force})
        return self.to_the_end()

    def circle(self, force: object = 20.0, seconds: float = 1.2, speed: float = 0.16, **more):
        """A circle of 50 mm, seen from above, which begins where the tool is."""
        x, y, angle = self.at("x", "y", "angle")
        rate, phase = speed / 0.05, -0.25 * speed / 0.05
        centre = [x - 0.05 * np.sin(phase), y - 0.05 * np.cos(phase), 0.0]
        shape = {"center_m": centre, "radius_m": 0.05, "rate_rad_s": rate, "duration_s": seconds}
        trajectory = {
            "curve": {"circle": shape, "of": ["x", "y"]},
            "hold": {"angle": angle},
            "entry": {"ramp_s": 0.5},
            "force": {"dome": force},
        }
        return self.ask("send", trajectory={**trajectory, **more})


@pytest.fixture
def rig(tmp_path: Path) -> OnTheDome:
    """Enabled, above the dome."""
    made = OnTheDome(over_a_dome(tmp_path))
    made.enable()
    return made


@pytest.mark.parametrize(("source", "ball_m"), [("sensor", 0.0), ("model", 0.0), ("model", 0.05)])
def test_a_dome_is_touched_followed_and_let_go(tmp_path: Path, source: str, ball_m: float) -> None:
    machine = over_a_dome(tmp_path, source, ball_m)
    assert isinstance(machine.mechanism.contacts[0].surface, Sphere)
    rig = OnTheDome(machine)
    rig.enable()
    assert rig.at("dome.gap")[0] == pytest.approx(rig.at("off")[0]) == pytest.approx(0.009, abs=0.003)

    samples, forces = rig.touch(20.0)
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    first = int(np.argmax(forces > 0.0))
    assert forces[first:].min() > 0.0, "the tool left the dome again"
    assert forces.max() < 1.25 * 20.0
    assert rig.law is LawKind.HYBRID

    assert rig.circle()["order_outcome"] == OrderOutcome.DONE
    samples, forces = rig.to_the_end()
    heights = [each["coordinate"][machine.mechanism.coordinate_index("lift")] for each in samples]
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    path_s, length_s = (np.array([each[name] for each in samples]) for name in ("path_s", "path_length_s"))
    error = (forces / 20.0 - 1.0)[(path_s > 0.5) & (path_s < length_s - 0.5)]
    assert np.abs(error).max() < 0.01
    assert np.ptp(heights) > 0.01, "the dome is not flat"
    assert max(abs(each["coordinate"][machine.mechanism.coordinate_index("off")]) for each in samples) < 6e-4

    assert rig.ask("move", target={"off": 0.01})["order_outcome"] == OrderOutcome.DONE
    samples, forces = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.SUCCESSFUL
    assert np.all(np.diff(forces) < 0.05), "the force only falls"
    assert rig.at("off")[0] == pytest.approx(0.01, abs=1e-3)


def test_a_dome_that_goes_away_is_told_and_stops_the_motion(rig: OnTheDome) -> None:
    rig.touch(20.0)
    rig.circle(seconds=2.0)
    rig.run(0.6)
    rig.carry_away(np.array([0.0, 0.0, -0.1]))
    samples, _ = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.CONTACT_LOST
    assert rig.supervisor.state is State.ACTIVE
    assert abs(rig.at("off")[0]) < 0.02


def test_the_gap_itself_may_be_named_and_a_way_without_contact_is_told(rig: OnTheDome) -> None:
    here = dict(zip(("x", "y", "angle"), rig.at("x", "y", "angle"), strict=True))
    rig.ask("move", target={**here, "dome.gap": 0.004}, until_force={"dome": 5.0})
    samples, _ = rig.to_the_end()
    assert samples[-1]["goal_code"] == ResultCode.CONTACT_LOST
    assert rig.at("dome.gap")[0] == pytest.approx(0.004, abs=1e-4)
