"""Signals of a recording over time: one panel for each that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from linkwork.arrays import Floats
from linkwork.machine.nearest_name import nearest
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.path_plot import ACCENT, HUES, INK, QUIET, dress
from linkwork.recordings.recording import signals

USUAL: Final = ("coordinate", "reference", "law_effort", "effort")
"""Signals drawn by default."""


def chosen(ticks: Ticks, names: Sequence[str]) -> list[tuple[str, dict[str, Floats]]]:
    """Return for each name a channel with all its numbers ("effort"), or one ("effort.shoulder"), over ticks.

    The arrays are (ticks). Raises ValueError for an unknown name, with the nearest.
    """
    there = signals(ticks)
    panels = []
    for name in names:
        found = {
            each: values for each, values in there.items() if each == name or each.startswith(f"{name}.")
        }
        if not found:
            channels = list(ticks.table.dtype.names or ())
            meant = nearest(name, [*channels, *there])
            raise ValueError(
                f"unknown signal {name!r}; available: {', '.join(channels)}, and of each its numbers as "
                "CHANNEL.NAME" + (f"; write {meant}" if meant else "")
            )
        panels.append((name, found))
    return panels


@dataclass(frozen=True, eq=False)
class Panel:
    """Signals drawn together. curves: (n,) each, by their labels; limits: values that are allowed at most."""

    title: str
    curves: Mapping[str, Floats]
    limits: tuple[float, ...] = ()


def draw_signals(ticks: Ticks, names: Sequence[str], path: Path, title: str) -> None:
    """Write a picture of these signals. Raises ValueError for unknown signals and formats, OSError."""
    usual = [name for name in USUAL if name in (ticks.table.dtype.names or ())]
    panels = [
        Panel(name, {each.removeprefix(f"{name}."): values for each, values in found.items()})
        for name, found in chosen(ticks, names or usual)
    ]
    draw_panels(ticks.table["time_s"], panels, path, title)


def draw_panels(
    time_s: Floats, panels: Sequence[Panel], path: Path, title: str, moment_s: float | None = None
) -> None:
    """Write a picture of panels over time (n,). moment_s: an instant that is marked.

    Limits are drawn where they do not shrink the curves. Raises ValueError for unknown formats, OSError.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 1.0 + 2.1 * len(panels)), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    made: Any = figure.subplots(len(panels), 1, sharex=True, squeeze=False)
    for axes, panel in zip(made[:, 0], panels, strict=True):
        for k, (label, values) in enumerate(panel.curves.items()):
            axes.plot(time_s, values, color=HUES[k % len(HUES)], linewidth=1.1, label=label)
        low, high = axes.get_ylim()
        for limit in panel.limits:
            if 2 * low - high <= limit <= 2 * high - low:
                axes.axhline(limit, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
        if moment_s is not None:
            axes.axvline(moment_s, color=ACCENT, linewidth=0.9)
        dress(axes, panel.title)
    made[-1, 0].set_xlabel("time / s", color=INK, fontsize=9)
    figure.suptitle(title, x=0.02, ha="left", fontsize=11, color=INK)
    figure.tight_layout()
    figure.savefig(path)
