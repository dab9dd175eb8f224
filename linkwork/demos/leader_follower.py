"""`linkwork demo leader_follower`: a five-bar that a hand moves leads a SCARA in x and y, in real time.

The five-bar floats: its law compensates gravity, the hand is a force that only its plant has. The SCARA
follows by a stream. Both have their own plant and controller.
"""

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.client.goal import Goal
from linkwork.client.stream import follow_leader
from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, Stage, home, move
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_picture import DemoPicture
from linkwork.recordings.path_plot import ACCENT, HUES, dress
from linkwork.recordings.tracking import rms
from linkwork.reports.quantities import amount

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


@lru_cache(1)
def following(run: DemoRun) -> dict[str, Any]:
    """The delay and the distance of the follower's way from the leader's."""
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
    return {"following": found}


def _after_delay(run: DemoRun) -> tuple[float, Floats]:
    """Return the delay (s) and the leader's way (n × 2; m) at the follower's times, after it."""
    time_s, _, led_s, led = motions(run)
    delay_s = following(run)["following"]["delay_s"]
    return delay_s, np.transpose([np.interp(time_s - delay_s, led_s, way) for way in led.T])


def plane(add: Callable[..., Any], run: DemoRun) -> None:
    """Draw both ways in the plane."""
    axes = add()
    axes.plot(*(1e3 * motions(run)[1].T), color=HUES[0], linewidth=3.2, alpha=0.35, label="scara")
    axes.plot(*(1e3 * _after_delay(run)[1].T), color=ACCENT, linewidth=1.2, label="five_bar")
    axes.set_aspect("equal")
    dress(axes, "tools, from the begin / mm")


def over_time(add: Callable[..., Any], run: DemoRun) -> None:
    """Draw both ways over time."""
    axes = add()
    time_s, actual, led_s, led = motions(run)
    shown = (led_s >= 0.0) & (led_s <= time_s[-1])
    for column, (name, hue) in enumerate(zip(COORDINATES, HUES, strict=False)):
        axes.plot(led_s[shown], 1e3 * led[shown, column], "--", color=hue, linewidth=1.0)
        axes.plot(time_s, 1e3 * actual[:, column], color=hue, linewidth=1.4, label=f"{name}, follower")
    dress(axes, "leader (dashed) and follower / mm")


def distance(add: Callable[..., Any], run: DemoRun) -> None:
    """Draw the distance of both ways after the delay."""
    axes, (time_s, actual, _, _), (delay_s, then) = add(), motions(run), _after_delay(run)
    inside = run.parts[0].tracking.measured
    apart = 1e6 * np.linalg.norm(actual - then, axis=1)
    axes.plot(time_s[inside], apart[inside], color=ACCENT, linewidth=1.0, label="distance")
    dress(axes, f"distance after {1e3 * delay_s:.1f} ms / µm", x="time / s")


def caption(run: DemoRun) -> str:
    """Return the rate of the stream, the delay and the distance."""
    found = following(run)["following"]
    return (
        f"in real time at 1 kHz, set-points at {RATE_HZ:g} Hz; delay {1e3 * found['delay_s']:.1f} ms,"
        f" distance {amount(found['error_rms_m'], 'm')} rms, {amount(found['error_max_m'], 'm')} at most"
    )


DEMO = Demo(
    "scara", "A five-bar moved by hand leads a SCARA", 8.0, steps, (tracking_figures, following),
    DemoPicture(caption, plane, (over_time, distance)), leader="five_bar",
)  # fmt: skip
