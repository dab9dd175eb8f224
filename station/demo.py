"""`linkwork demo scara`: plant and controller from one command, a helix followed, and what came of it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from protocol.codes import ResultCode
from protocol.errors import RequestError
from station.client import Robot
from station.goal import Goal, GoalFailed
from station.log_file import read_ticks
from station.rig import Rig
from station.tracking import Tracking, follow, rms

MACHINE = "scara"
COORDINATES = ("x", "y", "z", "angle")
RAMP_S = 1.0
RATE_RAD_S = 0.4 * pi
"""One turn in five seconds."""
_SHARES = (0.15, 0.7, 0.15)
"""Parts of the bar for the way there, the helix, and the way back."""


@dataclass(frozen=True)
class DemoOptions:
    """What the command line says. seconds: measured length of the helix, s."""

    lockstep: bool = False
    law: str = "pidc"
    seconds: float = 5.0
    seed: int = 0
    out: Path = Path("linkwork-out")


def helix(seconds: float) -> dict[str, Any]:
    """Xu & Liu's curve (2017): x = 0.05 sin 0.4πt, y = 0.35 + 0.05 cos 0.4πt, z = 0.02 t m, angle 0.

    It is entered and left by a ramp of the path parameter along the curve's extension.
    """
    shape = {
        "center_m": [0.0, 0.35, 0.0],
        "radius_m": 0.05,
        "rate_rad_s": RATE_RAD_S,
        "pitch_speed_m_s": 0.02,
        "duration_s": float(seconds),
    }
    return {"curve": {"helix": shape}, "hold": {"angle": 0.0}, "entry": {"ramp_s": RAMP_S}}


def helix_start() -> dict[str, float]:
    """Where the extended helix begins: the ramp covers half its length before the curve's own start."""
    t = -RAMP_S / 2.0
    return {
        "x": 0.05 * sin(RATE_RAD_S * t),
        "y": 0.35 + 0.05 * cos(RATE_RAD_S * t),
        "z": 0.02 * t,
        "angle": 0.0,
    }


def run_demo(options: DemoOptions, console: Console) -> dict[str, Any]:
    """Runs the demo; returns its summary, plain data.

    Ctrl-C ends it early: the machine is stopped and braked, everything ends, the result is CANCELLED. Raises
    RigFailed when a daemon does not start, NobodyThere when one ends under way.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    pace = ["--pace", "lockstep"] if options.lockstep else []
    realtime = ["--realtime", "ignore"] if options.lockstep else []
    plant = [MACHINE, *pace, *realtime, "--seed", str(options.seed)]
    controller = [MACHINE, *pace, *realtime, "--law", options.law, "--log", str(options.out.absolute())]
    summary: dict[str, Any] = {"result": "CANCELLED", "text": "interrupted", "law": options.law}
    summary["mode"] = "lockstep" if options.lockstep else "real time"
    with _interruptible(), suppress(KeyboardInterrupt):
        goal = 0
        with Rig(MACHINE, plant, controller) as rig:
            _wait(rig, console)
            with Robot(endpoint=rig.requests) as robot, _bar(console) as show:
                summary["log"] = robot.status["log"]
                try:
                    goal = _dance(robot, options, show)
                    summary |= {"result": ResultCode.SUCCESSFUL.name, "text": ""}
                except GoalFailed as failed:
                    summary |= {"result": failed.name, "text": failed.result["text"]}
                    goal = failed.result["goal"]
                except RequestError as refused:
                    summary |= {"result": refused.name, "text": refused.message}
                summary |= _timing(robot)
                _leave(robot)
        summary |= _measured(options, summary, goal)
    return summary


def _wait(rig: Rig, console: Console) -> None:
    """Until both daemons are ready; what the plant says about compiling is shown."""
    with console.status("starting plant and controller") as status:

        def show(text: str) -> None:
            if "kernels" in text:
                status.update(text)
                if not console.is_terminal:
                    console.print(text)

        rig.wait_ready(show)


def _dance(robot: Robot, options: DemoOptions, show: Callable[[int, float], None]) -> int:
    """Enable, to the start, along the helix, back. Returns the helix's number. Raises GoalFailed."""
    home = robot.state["q"]
    robot.enable()
    robot.move(helix_start(), wait=False).wait(on_progress=lambda part: show(0, part))
    goal: Goal = robot.send(helix(options.seconds))
    goal.wait(on_progress=lambda part: show(1, part))
    robot.move(home, wait=False).wait(on_progress=lambda part: show(2, part))
    return goal.number


def _leave(robot: Robot) -> None:
    with suppress(RequestError):  # a machine in fault is braked already
        robot.disable()


def _timing(robot: Robot) -> dict[str, Any]:
    timing = robot.status["timing"]
    return {
        "ticks": timing["ticks"],
        "missed_ticks": timing["missed"],
        "period_us": timing["period_us"],
        "latency_us": timing["latency_us"],
    }


def _measured(options: DemoOptions, summary: dict[str, Any], goal: int) -> dict[str, Any]:
    """What the log says about the helix: errors, efforts, and the picture."""
    log = Path(summary["log"])
    try:
        tracking = follow(read_ticks(log), goal, COORDINATES, RAMP_S, RAMP_S + options.seconds)
    except ValueError as error:
        return {"text": summary["text"] or str(error), "plot": None}
    plot = log.with_suffix(".png")
    _draw(tracking, plot, options)
    return {**errors(tracking), "plot": str(plot)}


def errors(tracking: Tracking) -> dict[str, Any]:
    """Largest and rms errors of a goal followed in x, y, z and angle, and peak efforts by joint."""
    tool, angle = tracking.distance(COORDINATES[:3]), tracking.error(COORDINATES[3])
    each = {name: tracking.error(name) for name in COORDINATES}
    return {
        "tool_error_max_m": float(tool.max()),
        "tool_error_rms_m": rms(tool),
        "angle_error_max_rad": float(abs(angle).max()),
        "angle_error_rms_rad": rms(angle),
        "error_max": {name: float(abs(values).max()) for name, values in each.items()},
        "error_rms": {name: rms(values) for name, values in each.items()},
        "peak_effort": tracking.peak_effort(),
        "measured_ticks": int(tracking.measured.sum()),
    }


def _draw(tracking: Tracking, plot: Path, options: DemoOptions) -> None:
    from station.plot import amount, draw_tracking

    largest = float(tracking.distance(COORDINATES[:3]).max())
    pace = "in lockstep" if options.lockstep else "in real time at 1 kHz"
    how = f"law {options.law}, {pace}; {options.seconds:g} s measured"
    caption = f"{how}; largest tool error {amount(largest, 'm')}"
    draw_tracking(tracking, plot, title="A SCARA follows a helix", caption=caption)


@contextmanager
def _bar(console: Console) -> Iterator[Callable[[int, float], None]]:
    """One bar over the three motions: call it with the motion's index and 0 … 1."""
    columns = (TextColumn("{task.description:<12}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("enabling", total=1.0)
        names = ("to the start", "helix", "back")

        def show(motion: int, part: float) -> None:
            done = sum(_SHARES[:motion]) + _SHARES[motion] * part
            bar.update(task, description=names[motion], completed=done)

        yield show


@contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM is an interrupt too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
