"""`linkwork demo fastest`: a five-bar's star, pick and place by a delta; uniform timing and the fastest.

Both goals of a pair have one path. The first follows it in times as short as the limits admit when all are
stretched alike, the second with `timing: fastest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import cos, pi, sin
from typing import Any

import numpy as np

from linkwork.demos.demo import Demo, DemoStep, MeasuredPart, follow, home, move
from linkwork.demos.demo_figures import DemoRun, MeasuredStep, tracking_figures
from linkwork.demos.demo_motions import LIFT_M, PICK_M, PLACE_M
from linkwork.demos.demo_picture import DemoPicture
from linkwork.demos.waypoints import begin
from linkwork.recordings.path_plot import HUES, INK, dress

MACHINES = ("five_bar", "delta")
MIDDLE_M, RADIUS_M, TIPS = (0.0, 0.33), 0.065, 5
APART_S, WAY_S = 0.27, 0.521
"""Between two tips of the star, and of a way from pick to place: shorter ones are refused."""
CORNER_M = 0.03
AT = (0.0, 0.2006, 0.7994, 1.0)
"""Shares of a way's time at its way-points, so that all of its lines have the same speed."""


def star(seconds: float, speed: float) -> list[DemoStep]:
    """To the first tip, each star uniformly and fastest, back."""
    corners = [4.0 * pi * k / TIPS for k in range(TIPS + 1)]
    points = [
        {
            "time_from_start_s": APART_S / speed * k,
            "positions": [MIDDLE_M[0] + RADIUS_M * sin(turn), MIDDLE_M[1] + RADIUS_M * cos(turn)],
        }
        for k, turn in enumerate(corners)
    ]
    path = {"coordinates": ["x", "y"], "points": points}
    return [*_pairs("star", [path], seconds / (2.0 * APART_S * TIPS)), home()]


def ways(seconds: float, speed: float) -> list[DemoStep]:
    """To the pick, there and back uniformly and fastest, back."""
    there, back = (_way(*ends, WAY_S / speed) for ends in ((PICK_M, PLACE_M), (PLACE_M, PICK_M)))
    return [*_pairs("way", [there, back], seconds / (4.0 * WAY_S)), home()]


def _way(here: Mapping[str, float], there: Mapping[str, float], way_s: float) -> dict[str, Any]:
    """Return the trajectory up, over and down, with blended corners."""
    above = [{**place, "z": place["z"] + LIFT_M} for place in (here, there)]
    points = [
        {"time_from_start_s": way_s * share, "positions": list(place.values())}
        for share, place in zip(AT, (here, *above, there), strict=True)
    ]
    return {"coordinates": list(here), "corner": {"radius_m": CORNER_M}, "points": points}


def _pairs(name: str, paths: Sequence[Mapping[str, Any]], rounds: float) -> Iterator[DemoStep]:
    """Follow the paths as given, then fastest."""
    measured = MeasuredPart(tuple(paths[0]["coordinates"]))
    for _ in range(max(1, round(rounds))):
        for text, more in ((f"uniform {name}", {}), (name, {"timing": "fastest"})):
            for path, back in zip(paths, ("", " back"), strict=False):
                yield move("to the start", begin(path))
                yield follow(text + back, {**path, **more}, measured)


def _timed(recording: DemoRun | None) -> tuple[MeasuredStep, Mapping[str, Any]] | None:
    """Return the first fastest part and its timing, if the run got so far."""
    parts = () if recording is None else recording.parts
    return next(((part, part.report["timing"]) for part in parts if "timing" in part.report), None)


def _limits(timing: Mapping[str, Any]) -> dict[str, Any]:
    """Return the time for which each limit determines the motion (s), by the limit's name."""
    return {f"{each['quantity']} of {each['name']}": each["time_s"] for each in timing["limits"]}


def timing_figures(recording: DemoRun) -> dict[str, Any]:
    """Times of each machine's path, uniform and fastest, and for how long each limit determines it (s)."""
    found: dict[str, Any] = {}
    for machine, run in zip(MACHINES, (recording, recording.beside), strict=True):
        if (timed := _timed(run)) is not None:
            timing = timed[1]
            found |= {f"{machine}_uniform_s": timing["given_s"], f"{machine}_fastest_s": timing["duration_s"]}
            found[f"{machine}_limited_by_s"] = _limits(timing)
    return {"fastest": found}


def speed(add: Callable[..., Any], recording: DemoRun, machine: str) -> None:
    """Draw the tool's speed on one machine, uniform and fastest, coloured by what limits it."""
    axes, run = add(), recording if machine == MACHINES[0] else recording.beside
    if run is None or (timed := _timed(run)) is None:
        return
    (part, timing), names = timed, list(_limits(timed[1]))
    for each in timing["stretches"]:
        hue = HUES[names.index(f"{each['quantity']} of {each['name']}") % len(HUES)]
        axes.axvspan(each["from_s"], each["to_s"], color=hue, alpha=0.35, linewidth=0)
    for name, hue in zip(names[:4], HUES, strict=False):
        label = f"{name} {_limits(timing)[name] / timing['duration_s']:.0%}"
        axes.plot([], [], color=hue, linewidth=6.0, alpha=0.35, label=label)
    for tracking, style in ((run.parts[0].tracking, (0, (4, 3))), (part.tracking, "-")):
        fast = np.linalg.norm(tracking.velocity, axis=1)
        axes.plot(tracking.time_s, fast, color=INK, linestyle=style, linewidth=1.2)
    dress(axes, f"{machine}: {timing['given_s']:.3f} and {timing['duration_s']:.3f} s", x="time / s")


DEMO = Demo(
    MACHINES[0], "The fastest timing of a path, and what limits it", 2.7, star,
    (tracking_figures, timing_figures),
    DemoPicture(lambda _: "speed of the tool / m/s, uniform (dashed) and fastest; the colour is the limit",
                None, tuple(partial(speed, machine=name) for name in MACHINES), same_time=False),
    truth=True, beside=MACHINES[1], beside_steps=ways,
)  # fmt: skip
