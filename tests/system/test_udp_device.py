"""The reference device in C, the plant daemon in front of it, and the real controller, in lockstep."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from linkwork import GoalFailed, Robot
from linkwork.launch.daemons import Rig
from tests.plant.udp_device import CONFIG, running


def way(*points: tuple[float, float]) -> dict[str, Any]:
    """The arm through these times (s) and angles (rad)."""
    rows = [{"time_from_start_s": time_s, "positions": [angle]} for time_s, angle in points]
    return {"coordinates": ["arm"], "points": rows}


@pytest.mark.slow
def test_the_controller_drives_the_device(folder: Path) -> None:
    runtime = folder / "udp"
    runtime.mkdir()
    with running("--lockstep") as (port, device):
        options = ["--driver", "udp", "--driver-set", f"port={port}", "--driver-set", "lockstep=true"]
        plant = [str(CONFIG), "--pace", "lockstep", "--realtime", "ignore", *options]
        controller = [str(CONFIG), "--pace", "lockstep", "--realtime", "ignore", "--no-log"]
        with Rig("udp_motor", plant, controller, runtime) as rig:
            rig.wait_ready(lambda _: None)
            with Robot(endpoint=rig.requests) as robot:
                robot.enable()
                robot.move(arm=math.pi / 2)
                state, status = robot.state, robot.status
                assert state["q"]["arm"] == pytest.approx(math.pi / 2, abs=0.01)
                seen = status["device"]
                told = [seen[key] for key in ("connected", "enabled", "homed", "sto", "brake")]
                assert told == [True, True, True, False, False]
                assert seen["temperature"]["arm"] > 22.0
                robot.send(way((0.5, 0.9), (1.0, 0.2), (1.5, 0.0))).wait()
                goal = robot.send(way((3.0, 2.0)))
                device.kill()
                with pytest.raises(GoalFailed):
                    goal.wait(60.0)
                assert robot.state["fault"]["name"] in ("DEVICE_FAULT", "LINK_LOST")
