"""Steps that most demos are made of: move there, follow this, go home."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.client.goal import Goal
from linkwork.demos.stage import DemoStep, MeasuredPart, Stage

GENTLY = 0.25
"""Share of the velocity limits on the way to a start and back: what follows begins undisturbed."""


def move(text: str, target: Mapping[str, float], share: float = 0.15, speed: float = GENTLY) -> DemoStep:
    """A jerk-limited move to rest at `target` (rad or m by coordinate)."""

    def begin(stage: Stage) -> Goal:
        return stage.robot.move(target, wait=False, speed=speed)

    command = " ".join(["linkwork move", *(f"{name}={value:.9g}" for name, value in target.items())])
    command += f" --speed {speed:g}" if speed < 1.0 else ""
    return DemoStep(text, share, begin, command=command)


def follow(
    text: str, trajectory: Mapping[str, Any], measured: MeasuredPart | None = None, share: float = 0.7
) -> DemoStep:
    """A trajectory in the form of a file for `linkwork send`. The machine must rest at its begin."""

    def begin(stage: Stage) -> Goal:
        return stage.robot.send(trajectory)

    return DemoStep(text, share, begin, measured, trajectory=trajectory)


def home(share: float = 0.15, speed: float = GENTLY) -> DemoStep:
    """Back to where the machine was at the beginning."""

    def begin(stage: Stage) -> Goal:
        return stage.robot.move(stage.home, wait=False, speed=speed)

    return DemoStep("back", share, begin)
