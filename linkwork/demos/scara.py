"""`linkwork demo scara`: the helix of Xu & Liu (2017), by a SCARA's tool."""

from __future__ import annotations

from math import cos, pi, sin
from pathlib import Path
from typing import Any

from linkwork.demos.demo import Demo
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_steps import follow, home, move
from linkwork.demos.stage import DemoStep, MeasuredPart
from linkwork.recordings.tracking import Tracking, rms

COORDINATES = ("x", "y", "z", "angle")
RAMP_S = 1.0
RATE_RAD_S = 0.4 * pi
"""One turn in five seconds."""


def helix(seconds: float, speed: float = 1.0) -> dict[str, Any]:
    """Xu & Liu's curve (2017): x = 0.05 sin 0.4πt, y = 0.35 + 0.05 cos 0.4πt, z = 0.02 t m, angle 0.

    It is entered and left by a ramp of the path parameter along the curve's extension. speed: 1 is theirs.
    """
    shape = {
        "center_m": [0.0, 0.35, 0.0],
        "radius_m": 0.05,
        "rate_rad_s": RATE_RAD_S * speed,
        "pitch_speed_m_s": 0.02 * speed,
        "duration_s": float(seconds),
    }
    return {"curve": {"helix": shape}, "hold": {"angle": 0.0}, "entry": {"ramp_s": RAMP_S}}


def helix_start(speed: float = 1.0) -> dict[str, float]:
    """Return the start of the extended helix, half the ramp's length before the curve's own start."""
    t = -RAMP_S / 2.0 * speed
    return {
        "x": 0.05 * sin(RATE_RAD_S * t),
        "y": 0.35 + 0.05 * cos(RATE_RAD_S * t),
        "z": 0.02 * t,
        "angle": 0.0,
    }


def steps(seconds: float, speed: float) -> list[DemoStep]:
    """To the start, along the helix, back."""
    measured = MeasuredPart(COORDINATES, RAMP_S, RAMP_S + seconds)
    return [
        move("to the start", helix_start(speed), speed=1.0),
        follow("helix", helix(seconds, speed), measured),
        home(speed=1.0),
    ]


def tool_figures(recording: DemoRun) -> dict[str, Any]:
    """The figures of any demo, and largest and rms errors of the tool's place and of its angle."""
    return {**errors(recording.parts[0].tracking), **tracking_figures(recording)}


def errors(tracking: Tracking) -> dict[str, Any]:
    """Largest and rms errors of a tool that was to follow x, y, z (m) and angle (rad)."""
    tool, angle = tracking.distance(COORDINATES[:3]), tracking.error(COORDINATES[3])
    return {
        "tool_error_max_m": float(tool.max()),
        "tool_error_rms_m": rms(tool),
        "angle_error_max_rad": float(abs(angle).max()),
        "angle_error_rms_rad": rms(angle),
    }


def draw(recording: DemoRun, path: Path, title: str) -> None:
    """The tool's path in space, errors and efforts."""
    from linkwork.recordings.path_plot import amount, draw_tracking

    options, tracking = recording.options, recording.parts[0].tracking
    largest = float(tracking.distance(COORDINATES[:3]).max())
    pace = "in lockstep" if options.lockstep else "in real time at 1 kHz"
    how = f"law {options.law}, {pace}; {recording.seconds:g} s measured"
    caption = f"{how}; largest tool error {amount(largest, 'm')}"
    draw_tracking(tracking, path, title=title, caption=caption)


DEMO = Demo("scara", "A SCARA follows a helix", 5.0, steps, tool_figures, draw)
