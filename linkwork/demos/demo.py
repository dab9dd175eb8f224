"""Definition of a demo: a machine, its steps, and the measured figures and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.stage import DemoStep

Report = Callable[[DemoRun], dict[str, Any]]
Draw = Callable[[DemoRun, Path, str], None]


def _draw(recording: DemoRun, path: Path, title: str) -> None:
    from linkwork.demos.demo_picture import draw_recording

    draw_recording(recording, path, title)


@dataclass(frozen=True)
class Demo:
    """machine: an included name, or a file's path. seconds: measured length unless the user says otherwise.

    steps: the steps between enable and disable, for a measured time (s) and a share of the demo's speed.
    beside: a second machine, which then goes through the same steps; `DemoRun.beside` is its recording.
    leader: a machine whose tool is moved by hand meanwhile; steps have it as `Stage.leader`, figures its log
    as `DemoRun.leader`. Such a demo runs in real time only.
    truth: whether the plant records its exact motion, for figures and picture in place of the controller's
    estimate. report: the summary's figures. draw: writes the picture, given the title. plant, controller:
    further arguments of the daemons.
    """

    machine: str
    title: str
    seconds: float
    steps: Callable[[float, float], Sequence[DemoStep]]
    report: Report = tracking_figures
    draw: Draw = _draw
    truth: bool = False
    beside: str = ""
    leader: str = ""
    plant: tuple[str, ...] = ()
    controller: tuple[str, ...] = ()
