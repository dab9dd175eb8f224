"""`linkwork demo leader_follower`: a five-bar that a hand moves leads a SCARA in x and y, in real time.

The five-bar floats: its law compensates gravity, the hand is a force that only its plant has. The SCARA
follows by a stream. Both have their own plant and controller.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.client.goal import Goal
from linkwork.client.leader import follow_leader
from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, Stage, home, move
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.recordings.tracking import rms

COORDINATES = ("x", "y")
START = {"x": 0.0, "y": 0.33}
"""Where the SCARA begins (m)."""
GRASP_S = 2.0
"""From the begin of the stream until it counts: the hand takes hold of the five-bar, wherever it is then."""
SPARE_S = 0.5
"""The stream lasts so much longer than it counts."""
RATE_HZ, DELAY_S = 100.0, 0.033
LARGEST_DELAY_S = 0.2
"""Delays up to this are tried when the follower is compared with the leader."""


def lead(seconds: float) -> DemoStep:
    """The leader floats, and the follower follows it: for these seconds, and GRASP_S before."""

    def begin(stage: Stage) -> Goal:
        leader, pairs = stage.leader, dict(zip(COORDINATES, COORDINATES, strict=True))
        assert leader is not None, "the demo has a leader"
        end = time.monotonic() + GRASP_S + seconds + SPARE_S

        def going() -> bool:
            if leader.state["state"] == "inactive":  # braked until the stream has begun: both know where from
                leader.enable()
                leader.law("float")
            return time.monotonic() < end

        return follow_leader(stage.robot, leader, pairs, rate_hz=RATE_HZ, delay_s=DELAY_S, going=going)

    measured = MeasuredPart(COORDINATES, GRASP_S, GRASP_S + seconds)
    return DemoStep("follow", 0.7, begin, measured)


def steps(seconds: float, speed: float) -> list[DemoStep]:  # noqa: ARG001 - the hand has its own speed
    """To the start, behind the leader, back."""
    return [move("to the start", START, speed=1.0), lead(seconds), home(speed=1.0)]


def motions(run: DemoRun) -> tuple[Floats, Floats, Floats, Floats]:
    """Return times (n; s) and way (n × 2; m) of the follower, then those of the leader, from the begin on.

    Times are those of the computer's clock at which the states arrived, from the first of the follower.
    """
    assert run.leader is not None, "the demo has a leader"
    tracking = run.parts[0].tracking
    table, led = run.ticks.table, run.leader.table
    led = led[led["fresh"] > 0]
    time_s = 1e-9 * (table["received_ns"][tracking.rows] - table["received_ns"][tracking.rows[0]])
    led_s = 1e-9 * (led["received_ns"] - table["received_ns"][tracking.rows[0]])
    columns = [run.leader.names["coordinate"].index(name) for name in COORDINATES]
    there = led["coordinate"][:, columns]
    begun = there[np.searchsorted(led_s, 0.0)]
    return time_s, tracking.actual - tracking.actual[0], led_s, there - begun


def figures(run: DemoRun) -> dict[str, Any]:
    """The figures of any demo, and the delay and the distance of the follower's way from the leader's."""
    time_s, actual, led_s, led = motions(run)
    inside = run.parts[0].tracking.measured

    def off(delay_s: float) -> Floats:
        then = [np.interp(time_s[inside] - delay_s, led_s, way) for way in led.T]
        distance: Floats = np.linalg.norm(actual[inside] - np.transpose(then), axis=1)
        return distance

    delays = np.arange(0.0, LARGEST_DELAY_S, 0.0005)
    delay_s = float(min(delays, key=lambda each: rms(off(each))))
    found = {"delay_s": delay_s, "playback_delay_s": DELAY_S}
    for name, distance in (("error", off(delay_s)), ("error_at_once", off(0.0))):
        found |= {f"{name}_max_m": float(distance.max()), f"{name}_rms_m": rms(distance)}
    return {**tracking_figures(run), "following": found}


def draw(run: DemoRun, path: Path, title: str) -> None:
    """Both ways in the plane, both over time, and their distance after the delay."""
    from linkwork.demos.demo_picture import sheet
    from linkwork.recordings.path_plot import ACCENT, HUES, INK, amount, dress, save_figure

    found = figures(run)["following"]
    time_s, actual, led_s, led = motions(run)
    then = np.transpose([np.interp(time_s - found["delay_s"], led_s, way) for way in led.T])
    figure, grid = sheet()
    plane = figure.add_subplot(grid[:, 0])
    plane.plot(*(1e3 * actual.T), color=HUES[0], linewidth=3.2, alpha=0.35, label="scara")
    plane.plot(*(1e3 * then.T), color=ACCENT, linewidth=1.2, label="five_bar")
    plane.set_aspect("equal")
    dress(plane, "tools, from the begin / mm")
    over = figure.add_subplot(grid[0, 1])
    shown = (led_s >= 0.0) & (led_s <= time_s[-1])
    for column, (name, hue) in enumerate(zip(COORDINATES, HUES, strict=False)):
        over.plot(led_s[shown], 1e3 * led[shown, column], color=hue, linewidth=1.0, linestyle=(0, (4, 3)))
        over.plot(time_s, 1e3 * actual[:, column], color=hue, linewidth=1.4, label=f"{name}, follower")
    dress(over, "leader (dashed) and follower / mm")
    apart = figure.add_subplot(grid[1, 1], sharex=over)
    inside = run.parts[0].tracking.measured
    distance = 1e6 * np.linalg.norm(actual - then, axis=1)
    apart.plot(time_s[inside], distance[inside], color=ACCENT, linewidth=1.0, label="distance")
    dress(apart, f"distance after {1e3 * found['delay_s']:.1f} ms / µm")
    apart.set_xlabel("time / s", color=INK, fontsize=9)
    caption = (
        f"in real time at 1 kHz, set-points at {RATE_HZ:g} Hz; delay {1e3 * found['delay_s']:.1f} ms,"
        f" distance {amount(found['error_rms_m'], 'm')} rms, {amount(found['error_max_m'], 'm')} at most"
    )
    save_figure(figure, path, title, caption)


DEMO = Demo(
    "scara", "A five-bar moved by hand leads a SCARA", 8.0, steps, figures, draw, leader="five_bar"
)  # fmt: skip
