"""Force figures from the log of a demo, and their picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.demos.demo_figures import DemoRun, tracking_figures
from linkwork.demos.demo_picture import motion_panel, sheet
from linkwork.recordings.path_plot import ACCENT, GRID, HUES, INK, amount, dress, save_figure
from linkwork.recordings.tracking import rms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_FORCE_N = 1e-9


@dataclass(frozen=True)
class ForceSeries:
    """Ticks from the first touch to the last: time (s), sensor force (N, along the normal), wanted force, the
    controller's measured force, and which ticks are measured.
    """

    time_s: Floats
    sensed: Floats
    wanted: Floats
    felt: Floats
    measured: NDArray[np.bool_]


def forces_of(recording: DemoRun, contact: str) -> ForceSeries:
    """The forces of a contact while it lasted.

    The sensor's three components are taken along the direction of the total force at rest, where there is no
    friction: the contact's normal. Without a sensor `sensed` is the controller's estimate.
    """
    table, ticks = recording.ticks.table, recording.ticks
    felt = ticks.column("force", contact)
    wanted = ticks.column("force_reference", contact)
    part = recording.parts[0]
    mine = table["goal_id"] == part.goal
    first, last = part.tracking.time_s[part.tracking.measured][[0, -1]]
    since = table["time_s"] - (table["time_s"][mine][0] if mine.any() else 0.0)
    measured = mine & (since >= first) & (since <= last)
    sensed = _along(table["force_measured"], mine) if "force_measured" in ticks.names else felt
    touched = np.flatnonzero(np.abs(sensed) > NO_FORCE_N)
    span = slice(max(0, touched[0] - 200), touched[-1] + 200) if len(touched) else slice(0, 0)
    time = table["time_s"] - (table["time_s"][touched[0]] if len(touched) else 0.0)
    return ForceSeries(time[span], sensed[span], wanted[span], felt[span], measured[span])


def _along(components: Floats, mine: NDArray[np.bool_]) -> Floats:
    """The component along the contact's normal, found while the machine rests before the goal."""
    began = int(np.argmax(mine))
    normal = components[began] / max(float(np.linalg.norm(components[began])), 1e-300)
    along: Floats = components @ normal
    return along


def force_figures(recording: DemoRun, contact: str) -> dict[str, Any]:
    """Largest and rms error of the force while measured (N, and relative to the wanted force); touch,
    release.

    `touch_peak_N`: the largest force before the goal; `bounces`: how often the contact broke between its
    first touch and the end of the goal.
    """
    forces = forces_of(recording, contact)
    inside = forces.measured
    wanted = forces.wanted[inside]
    error = forces.sensed[inside] - wanted
    began, ended = np.flatnonzero(inside)[[0, -1]]
    pressed = forces.sensed > NO_FORCE_N
    touched = int(np.argmax(pressed))
    return {
        "contact": contact,
        "force_wanted_N": float(wanted.mean()),
        "force_error_max_N": float(np.abs(error).max()),
        "force_error_rms_N": rms(error),
        "force_error_max": float(np.abs(error / wanted).max()),
        "force_error_rms": rms(error / wanted),
        "touch_peak_N": float(forces.sensed[: began + 1].max()),
        "bounces": int(np.count_nonzero(np.diff(pressed[touched:ended].astype(np.int64)) < 0)),
    }


def figures_with_force(recording: DemoRun, contact: str) -> dict[str, Any]:
    """Tracking of the motion, and the force while circling and while contact was made and broken."""
    return {**tracking_figures(recording), **force_figures(recording, contact)}


def figures_of_force(recording: DemoRun, contact: str) -> dict[str, Any]:
    """Errors of the force during its profile, touch and bounces, and the largest effort."""
    tracking = recording.parts[0].tracking
    return {
        **{key: {} for key in ("error_max", "error_rms", "units")},
        "peak_effort": tracking.peak_effort(),
        "measured_ticks": int(tracking.measured.sum()),
        **force_figures(recording, contact),
    }


def draw_forces(recording: DemoRun, path: Path, title: str, contact: str) -> None:
    """Write a PNG: the path on the surface, the errors of motion, the force."""
    figure, grid = sheet()
    motion_panel(figure, grid[:, 0], grid[0, 1], recording)
    found = force_figures(recording, contact)
    _draw_force(figure.add_subplot(grid[1, 1]), forces_of(recording, contact), found["force_wanted_N"])
    most = amount(found["force_error_max_N"], "N")
    caption = (
        f"{found['force_wanted_N']:g} N wanted, {recording.options.pace_text}; while circling the force is "
        f"off by {most} at most, {100.0 * found['force_error_rms']:.2g} % rms"
    )
    save_figure(figure, path, title, caption)


def draw_force_alone(recording: DemoRun, path: Path, title: str, contact: str) -> None:
    """Write a PNG: the force from touch to release."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.4), dpi=130, facecolor="white")
    FigureCanvasAgg(figure)
    forces, found = forces_of(recording, contact), force_figures(recording, contact)
    axes = figure.add_axes((0.09, 0.13, 0.89, 0.7))
    _draw_force(axes, forces, float(forces.wanted[forces.measured].max()))
    most = amount(found["force_error_max_N"], "N")
    save_figure(figure, path, title, f"{recording.options.pace_text}; the force is off by {most} at most")


def _draw_force(axes: Axes, forces: ForceSeries, wanted_N: float) -> None:
    axes.plot(forces.time_s, forces.sensed, color=HUES[0], linewidth=2.4, alpha=0.45, label="force")
    axes.plot(forces.time_s, forces.wanted, color=ACCENT, linewidth=1.1, label="wanted")
    inside = forces.time_s[forces.measured]
    for before, after in ((forces.time_s[0], inside[0]), (inside[-1], forces.time_s[-1])):
        axes.axvspan(before, after, color=GRID, alpha=0.5, linewidth=0)
    axes.set_ylim(-0.05 * wanted_N, 1.3 * wanted_N)
    dress(axes, "force on the contact / N")
    axes.set_xlabel("time since touch / s   (grey: not measured)", color=INK, fontsize=9)
