"""Options of a demo, and its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwork.client.goal import Goal
from linkwork.client.robot import Robot
from linkwork.protocol.laws import MOTION_LAW_NAMES


@dataclass(frozen=True)
class DemoOptions:
    """Options from the command line. seconds: measured length, s; None: the demo's.

    speed: share of the demo's speed. exact: sensors that tell positions exactly instead of the file's.
    """

    lockstep: bool = False
    law: str = MOTION_LAW_NAMES[0]
    seconds: float | None = None
    seed: int = 0
    out: Path = Path("linkwork-out")
    speed: float = 1.0
    exact: bool = False
    plant_set: tuple[str, ...] = ()
    """Settings in which the plant differs from the model: "upper_arm.mass_kg=+20%"."""
    force_sensor: bool = True
    """Whether forces are taken from force sensors, where the machine has some, or from the model."""
    console: bool = False
    """Whether `linkwork console` is served while the demo runs."""


@dataclass(frozen=True)
class Stage:
    """Context of steps: the robot, its goal coordinates at the beginning (rad or m), and the leader."""

    robot: Robot
    home: Mapping[str, float]
    leader: Robot | None = None


@dataclass(frozen=True)
class MeasuredPart:
    """The part of a goal's path that counts: path parameter from `begin_s` to `end_s`, these coordinates.

    The coordinates are the goal's independent ones, joints or task coordinates of the machine file.
    """

    coordinates: tuple[str, ...]
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class DemoStep:
    """One step of a demo. text: for the progress bar; share: of the bar, relative to the other steps.

    `begin` starts it: it returns the goal to wait for, or None when it is complete. It requests other
    preparations (a guarded approach, another law) from `stage.robot` before it returns. It may raise
    RequestError or GoalFailed, which end the demo with that result. `command` does the same from the command
    line; a step that follows a trajectory has that instead.
    """

    text: str
    share: float
    begin: Callable[[Stage], Goal | None]
    measured: MeasuredPart | None = None
    command: str = ""
    trajectory: Mapping[str, Any] | None = None
