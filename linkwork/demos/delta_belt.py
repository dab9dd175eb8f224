"""`linkwork demo delta_belt`: a delta robot picks parts from a running conveyor belt and places them in a tray.

A light barrier sees each part; two edges and the belt's encoder give its place in the frame of the belt. One goal
meets the part there, grips it by an event on the path, lifts it, leaves the frame, and releases it over the tray
(docs/moving_frames.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.client.goal import Goal
from linkwork.client.passing_parts import PassedPart, PassingParts
from linkwork.demos.demo import Demo
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_steps import home, move
from linkwork.demos.stage import DemoStep, MeasuredPart, Stage

MACHINE = "delta_gripper"
COORDINATES = ("x", "y", "z")
EYE_M = -0.3
"""Place of the light barrier along the belt."""
PART_M, TRAY_M, ABOVE_M = -0.49, -0.48, 0.03
"""Heights of a part's centre on the belt and in the tray, and clearance on the way."""
DROP_M = 0.0005
"""Height over the tray at which a part is released."""
READY = {"x": -0.05, "y": -0.02, "z": TRAY_M + 0.04}
MEETS_M = -0.1
"""Where the tool is to meet a part, along the belt, or further down where it is late."""
MEETS_S = 0.29
"""Time of a pick at which the tool is on the part."""
SPEED_SHARE = (0.8, 1.2)
"""Speed of the belt for which a pick is admitted, relative to that before."""
BELT = {"in": "belt"}
COLUMNS, PITCH_M = 8, 0.025
CYCLE_S = 0.9
"""Mean time from a part to the next, as the feeder of the machine has it."""


def place(number: int) -> tuple[float, float]:
    """Where a part is to lie in the tray, x and y (m)."""
    row, column = divmod(number, COLUMNS)
    return (column - 0.5 * (COLUMNS - 1)) * PITCH_M, 0.02 + row * PITCH_M


def pick(part: PassedPart, there: tuple[float, float], speed_m_s: float) -> dict[str, Any]:
    """Return the goal: meet the part in the frame of the belt, grip, lift, carry, release, rise.

    speed_m_s: of the belt, now.
    """
    here = (part.centre_m, part.signals["part_across"])
    rest = {"velocities": [0.0] * 3, "accelerations": [0.0] * 3}

    def way(time_s: float, xy: tuple[float, float], z: float, **frame: str) -> dict[str, Any]:
        return {"time_from_start_s": time_s, "positions": [*xy, z], **rest, **frame}

    return {
        "coordinates": list(COORDINATES),
        "points": [
            way(0.21, here, PART_M + ABOVE_M, **BELT),
            way(MEETS_S, here, PART_M, **BELT),
            way(0.32, here, PART_M, **BELT),
            way(0.4, here, PART_M + ABOVE_M, **BELT),
            way(0.62, there, TRAY_M + ABOVE_M),
            way(0.7, there, TRAY_M + DROP_M),
            way(0.74, there, TRAY_M + DROP_M),
            way(0.82, there, TRAY_M + ABOVE_M),
        ],
        "events": [
            {"at": {"time_s": 0.305}, "set": {"gripper": True}},
            {"at": {"time_s": 0.725}, "set": {"gripper": False}},
        ],
        "frame": {"speed_m_s": [share * speed_m_s for share in SPEED_SHARE], "begin_within_s": 0.1},
    }


class BeltPicker:
    """Picks the parts of the belt one after the other."""

    def __init__(self) -> None:
        self._parts: PassingParts | None = None

    def begin(self, stage: Stage, number: int) -> Goal:
        """Wait for the next part, and for the place where it is met; then send the goal."""
        robot = stage.robot
        if self._parts is None:
            self._parts = PassingParts(robot, "part_seen", "belt_position", at_m=EYE_M)
        part = self._parts.next()
        while True:
            state = robot.state
            belt_m = state["signals"]["belt_position"]
            speed = part.speed_since(belt_m, state["time_s"])
            if part.centre_m + belt_m >= MEETS_M - MEETS_S * speed:
                return robot.send(pick(part, place(number), speed))
            robot.pass_time(0.005)
