"""Measure the console: time to a usable page, delay of the picture, jogs that are lost, load, memory.

    python -m benchmarks.console [page delay jog load memory] [--trials 100] [--blocks 8] [--minutes 60]

page: from the start of the command until the machine is drawn; requests to other hosts.
delay: from the time of the telemetry to the drawn frame; updates a second, page time of one, and what draws.
jog: a jog at full speed whose browser is stopped (SIGSTOP), killed, or cut off: how long the machine kept its
speed, and its travel until rest.
load: missed ticks of the loop in blocks with console and five browsers minus those without, in turns.
memory: resident memory of the console while one page gets every picture.
Needs Chromium and playwright.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from linkwork import Robot
from linkwork.launch.daemons import Rig
from tests.console.browsing import UNDRAWN, Watched, chromium, console_of, own_browser, playwright

PARTS = ("page", "delay", "jog", "load", "memory")
FIGURES = """(() => {
  const link = window.linkwork.link, half = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
  const gl = document.createElement("canvas").getContext("webgl2");
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  return {delay_ms: half(link.delays), update_ms: half(link.costs), updates: link.updates,
    draws: info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : "nothing"};
})()"""
FORGET = """(() => {
  const link = window.linkwork.link;
  link.updates = 0, link.delays = [], link.costs = [];
})()"""


@contextmanager
def running(machine: str) -> Iterator[Rig]:
    """Plant and controller, ready."""
    with Rig(machine, [machine], [machine, "--no-log"]) as rig:
        rig.wait_ready(lambda _: None)
        yield rig


def page_time(rig: Rig, times: int = 5) -> dict[str, Any]:
    """Seconds from starting the command until the machine is drawn, in a browser that runs already."""
    seconds, foreign = [], 0
    with playwright() as started, chromium(started) as browser:
        for _ in range(times):
            began = time.monotonic()
            with console_of(rig) as (_, address):
                watched = Watched(browser, address)
                seconds.append(time.monotonic() - began)
                foreign += len(watched.foreign)
                watched.close()
    return {"usable_s": seconds, "median_s": statistics.median(seconds), "requests_to_other_hosts": foreign}


def swing(robot: Robot, coordinate: str, seconds: float) -> None:
    """Moves to and fro for so long."""
    present = robot.state
    begin = {**present["q"], **present["coordinates"]}[coordinate]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        robot.move({coordinate: begin + 0.03}, speed=0.2)
        robot.move({coordinate: begin}, speed=0.2)


def delay(machine: str, seconds: float = 20.0) -> dict[str, Any]:
    """Figures of the scene while the machine moves."""
    with (
        running(machine) as rig,
        console_of(rig) as (_, address),
        playwright() as started,
        chromium(started) as browser,
    ):
        watched = Watched(browser, address, viewport={"width": 1280, "height": 800})
        with Robot(endpoint=rig.requests) as robot:
            robot.enable()
            coordinate = robot.describe()["goal_coordinates"][-1]
            watched.page.evaluate(FORGET)
            began = time.monotonic()
            swing(robot, coordinate, seconds)
            took = time.monotonic() - began
        found: dict[str, Any] = watched.page.evaluate(FIGURES)
        found["updates_per_s"] = found.pop("updates") / took
        return {"machine": machine, **found}


def lost_jog(rig: Rig, robot: Robot, how: str) -> dict[str, float]:
    """One jog at full jog speed that is lost in this way."""
    with console_of(rig) as (_, address), playwright() as started, chromium(started, UNDRAWN) as browser:
        watched = Watched(browser, address)
        page = watched.page
        page.get_by_role("button", name="Operate", exact=True).click()
        page.get_by_role("tab", name="Move").click()
        page.wait_for_selector("[data-jog='x+']:not([disabled])")
        page.get_by_label("Share of the largest jog speed").fill("100")
        sign = "-" if robot.state["coordinates"]["x"] > 0.0 else "+"
        box = page.locator(f"[data-jog='x{sign}']").bounding_box()
        page.mouse.move(box["x"] + 10, box["y"] + 10)
        pids = own_browser()
        page.mouse.down()
        steady = time.monotonic() + 0.4
        while time.monotonic() < steady:
            robot.request("state")
        before = robot.state
        if how == "cut":
            page.evaluate("window.linkwork.link.socket.close()")
        else:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP if how == "stopped" else signal.SIGKILL)
        found = followed(robot, before)
        if how == "stopped":
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
        return found


def followed(robot: Robot, before: Any) -> dict[str, float]:
    """Samples the machine until it rests: how long it kept its speed, and how far it went."""
    speed, place, samples = _speed(before), before["coordinates"]["x"], [before]
    while _speed(samples[-1]) > 1e-3 and len(samples) < 20_000:
        samples.append(robot.state)
    kept = max((each["time_s"] for each in samples if _speed(each) > 0.9 * speed), default=before["time_s"])
    return {
        "speed_m_s": speed,
        "kept_s": kept - before["time_s"],
        "until_rest_s": samples[-1]["time_s"] - before["time_s"],
        "travel_m": abs(samples[-1]["coordinates"]["x"] - place),
    }


def _speed(state: Any) -> float:
    return max(map(abs, state["v"].values()))


def jogs(trials: int) -> dict[str, Any]:
    """Jogs lost by a stopped, a killed and a cut-off browser, in turns; only those that moved count."""
    found: dict[str, list[dict[str, float]]] = {"stopped": [], "killed": [], "cut": []}
    with running("five_bar") as rig, Robot(endpoint=rig.requests, lease=False) as robot:
        robot.enable()
        while sum(map(len, found.values())) < trials:
            how = min(found, key=lambda each: len(found[each]))
            trial = None
            with suppress(OSError):
                trial = lost_jog(rig, robot, how)
            if trial is not None and trial["speed_m_s"] > 0.01:
                found[how].append(trial)
    every = [trial for trials_ in found.values() for trial in trials_]
    return {
        "trials": {how: len(each) for how, each in found.items()},
        "kept_s_median": statistics.median(each["kept_s"] for each in every),
        "kept_s_largest": max(each["kept_s"] for each in every),
        "travel_mm_largest": 1e3 * max(each["travel_m"] for each in every),
        "within_0.25_s": sum(each["kept_s"] <= 0.25 for each in every),
    }


def load(blocks: int = 8, seconds: float = 15.0) -> dict[str, Any]:
    """Missed ticks in blocks with console and five browsers minus those without."""
    differences = []
    with running("delta") as rig, Robot(endpoint=rig.requests) as robot:
        robot.enable()

        def block() -> int:
            before = robot.status["timing"]["missed"]
            swing(robot, "z", seconds)
            return int(robot.status["timing"]["missed"] - before)

        for _ in range(blocks):
            without = block()
            with ExitStack() as stack:
                _, address = stack.enter_context(console_of(rig))
                browser = stack.enter_context(chromium(stack.enter_context(playwright())))
                pages = [Watched(browser, address) for _ in range(5)]
                differences.append(block() - without)
                for page in pages:
                    page.close()
    return {"differences": differences, "median": statistics.median(differences)}


def memory(minutes: float) -> dict[str, Any]:
    """Resident memory (MiB) of the console at tenths of the time, while one page gets every picture."""
    found = []
    with (
        running("delta") as rig,
        console_of(rig) as (process, address),
        playwright() as started,
        chromium(started, UNDRAWN) as browser,
    ):
        watched = Watched(browser, address)
        for _ in range(11):
            status = Path(f"/proc/{process.pid}/status").read_text()
            found.append(int(status.partition("VmRSS:")[2].split()[0]) / 1024)
            time.sleep(6.0 * minutes)
        pictures = watched.page.evaluate("window.linkwork.link.picture.number")
    return {"minutes": minutes, "pictures": pictures, "MiB": found}


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--blocks", type=int, default=8, help="pairs of blocks of load")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()

    def page() -> Any:
        with running("delta") as rig:
            return page_time(rig)

    measures: dict[str, Callable[[], Any]] = {
        "page": page,
        "delay": lambda: [delay(machine) for machine in ("delta", "platform_3rrs")],
        "jog": lambda: jogs(given.trials),
        "load": lambda: load(given.blocks),
        "memory": lambda: memory(given.minutes),
    }
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    results = {}
    for part in given.parts or PARTS:
        results[part] = measures[part]()
        if not given.json:
            print(f"{part}: {json.dumps(results[part])}", flush=True)
    if given.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
