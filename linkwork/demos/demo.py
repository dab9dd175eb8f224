"""Definition of a demo: a machine, its steps, figures and picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from linkwork.client.goal import Goal
from linkwork.client.robot import Robot
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_picture import MOTION_ERRORS_EFFORTS, DemoPicture

Figures = Callable[[DemoRun], dict[str, Any]]
GENTLY = 0.25
"""Share of the velocity limits on the way to a start and back: what follows begins undisturbed."""


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
    begin_s: float = 0.0
    end_s: float = 1e3


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


def move(
    text: str, target: Mapping[str, float], share: float = 0.15, speed: float = GENTLY, until: str = "",
    force_N: float = 0.0,
) -> DemoStep:  # fmt: skip
    """Return a step with a jerk-limited move to rest at `target` (rad or m by coordinate).

    text: what the step does. share: of the progress bar, relative to other steps. speed: fraction of the
    limits. until, force_N: a contact, and the force at which the move ends.
    """
    command = " ".join(["linkwork move", *(f"{name}={value:.9g}" for name, value in target.items())])
    command += f" --speed {speed:g}" if speed < 1.0 else ""
    more: dict[str, Any] = {"speed": speed}
    if until:
        command, more = f"{command} --until-force {force_N:g}", {**more, "until_force": {until: force_N}}
    return DemoStep(text, share, lambda at: at.robot.move(target, wait=False, **more), command=command)


def follow(
    text: str, trajectory: Mapping[str, Any], measured: MeasuredPart | None = None, share: float = 0.7
) -> DemoStep:
    """Return a step that follows a trajectory in the form of a file for `linkwork send`.

    text: what the step does. measured: the part that figures and picture are about. share: of the progress
    bar, relative to other steps. The machine must rest at its begin.
    """
    return DemoStep(text, share, lambda at: at.robot.send(trajectory), measured, trajectory=trajectory)


def home(share: float = 0.15, speed: float = GENTLY) -> DemoStep:
    """Back to where the machine was at the beginning."""
    return DemoStep("back", share, lambda at: at.robot.move(at.home, wait=False, speed=speed))


def request(text: str, name: str, *args: Any, command: str, **values: Any) -> DemoStep:
    """A request to the robot that is complete at once; `command` does it from the command line."""

    def begin(stage: Stage) -> None:
        getattr(stage.robot, name)(*args, **values)

    return DemoStep(text, 0.0, begin, command=f"linkwork {command}")


Steps = Callable[[float, float], Sequence[DemoStep]]


@dataclass(frozen=True)
class Demo:
    """machine: an included name, or a file's path. seconds: measured length unless the user says otherwise.

    steps: the steps between enable and disable, for a measured time (s) and a share of the demo's speed.
    beside: a second machine, which then goes through the same steps, or through `beside_steps`;
    `DemoRun.beside` is its recording.
    patch: what the demo changes in the machine's file.
    leader: a machine whose tool is moved by hand meanwhile; steps have it as `Stage.leader`, figures its log
    as `DemoRun.leader`. Such a demo runs in real time only.
    truth: whether the plant records its exact motion, for figures and picture in place of the controller's
    estimate. figures: of the summary, one after the other.
    """

    machine: str
    title: str
    seconds: float
    steps: Steps
    figures: tuple[Figures, ...] = (tracking_figures,)
    picture: DemoPicture = MOTION_ERRORS_EFFORTS
    truth: bool = False
    beside: str = ""
    beside_steps: Steps | None = None
    leader: str = ""
    patch: Mapping[str, Any] = field(default_factory=dict)

    @property
    def second(self) -> Self:
        """The demo as its second machine does it."""
        return replace(self, machine=self.beside, steps=self.beside_steps or self.steps, beside_steps=None)

    def report(self, recording: DemoRun) -> dict[str, Any]:
        """Return all figures of a run."""
        return {name: value for each in self.figures for name, value in each(recording).items()}

    def draw(self, recording: DemoRun, path: Path) -> None:
        """Write the picture of a run, as PNG."""
        self.picture.write(recording, path, self.title)
