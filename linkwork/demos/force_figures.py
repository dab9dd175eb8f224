"""Force figures from the log of a demo, and their panel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.demos.demo_figures import DemoRun
from linkwork.demos.demo_picture import shade_outside
from linkwork.recordings.path_plot import ACCENT, HUES, dress
from linkwork.recordings.tracking import rms
from linkwork.reports.quantities import amount

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


def bearing_figures(recording: DemoRun, row: str) -> dict[str, Any]:
    """Least and largest force of a constraint's row (N) while measured. With one sign, play has no effect."""
    tracking = recording.parts[0].tracking
    load = _load_of(recording, row)[tracking.measured]
    return {"bearing": {f"{row}_N": [float(load.min()), float(load.max())]}}


def _load_of(recording: DemoRun, row: str) -> Floats:
    load: Floats = recording.ticks.column("constraint_force", row)[recording.parts[0].tracking.rows]
    return load


def bearing(add: Callable[..., Any], recording: DemoRun, row: str) -> None:
    """Draw the force of a constraint's row over time, beside the zero that it keeps away from."""
    axes, tracking = add(), recording.parts[0].tracking
    axes.plot(tracking.time_s, _load_of(recording, row), color=HUES[0], linewidth=1.4, label=row)
    axes.axhline(0.0, color=ACCENT, linewidth=0.8)
    shade_outside(axes, tracking.time_s, tracking.measured)
    dress(axes, "force of the bearing / N")


def effort_figures(recording: DemoRun) -> dict[str, Any]:
    """Largest effort and number of measured ticks of a goal that moves no coordinate."""
    tracking = recording.parts[0].tracking
    return {
        **{key: {} for key in ("error_max", "error_rms", "units")},
        "peak_effort": tracking.peak_effort(),
        "measured_ticks": int(tracking.measured.sum()),
    }


def polish_caption(recording: DemoRun, contact: str) -> str:
    """Return the wanted force, the pace, and the error of the force."""
    found = force_figures(recording, contact)
    return (
        f"{found['force_wanted_N']:g} N wanted, {recording.options.pace_text}; while circling the force is"
        f" off by {amount(found['force_error_max_N'], 'N')} at most,"
        f" {100.0 * found['force_error_rms']:.2g} % rms"
    )


def press_caption(recording: DemoRun, contact: str) -> str:
    """Return the pace and the largest error of the force."""
    most = amount(force_figures(recording, contact)["force_error_max_N"], "N")
    return f"{recording.options.pace_text}; the force is off by {most} at most"


def force(add: Callable[..., Any], recording: DemoRun, contact: str) -> None:
    """Draw wanted and measured force of a contact over time, from touch to release.

    add: makes a panel of the picture.
    """
    axes, forces = add(), forces_of(recording, contact)
    axes.plot(forces.time_s, forces.sensed, color=HUES[0], linewidth=2.4, alpha=0.45, label="force")
    axes.plot(forces.time_s, forces.wanted, color=ACCENT, linewidth=1.1, label="wanted")
    shade_outside(axes, forces.time_s, forces.measured)
    wanted_N = float(forces.wanted[forces.measured].max())
    axes.set_ylim(-0.05 * wanted_N, 1.3 * wanted_N)
    dress(axes, "force on the contact / N", x="time since touch / s   (grey: not measured)")
