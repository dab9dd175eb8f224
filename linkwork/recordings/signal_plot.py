"""Signals of a recording over time: one panel for each that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from linkwork.arrays import Floats
from linkwork.machine.nearest_name import nearest
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.path_plot import HUES, INK, dress
from linkwork.recordings.recording import signals

USUAL: Final = ("coordinate", "reference", "law_effort", "effort")
"""What is drawn where nothing is asked for."""


def chosen(ticks: Ticks, names: Sequence[str]) -> list[tuple[str, dict[str, Floats]]]:
    """For each name a channel with all its numbers ("effort"), or one number ("effort.shoulder").

    Raises ValueError for a name that there is not, with the nearest.
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


def draw_signals(ticks: Ticks, names: Sequence[str], path: Path, title: str) -> None:
    """Write a picture. Raises ValueError for unknown signals and formats, OSError."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = chosen(ticks, names or [name for name in USUAL if name in (ticks.table.dtype.names or ())])
    figure = Figure(figsize=(10.0, 1.0 + 2.1 * len(panels)), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    made: Any = figure.subplots(len(panels), 1, sharex=True, squeeze=False)
    for axes, (name, found) in zip(made[:, 0], panels, strict=True):
        for k, (each, values) in enumerate(found.items()):
            label = each.removeprefix(f"{name}.")
            axes.plot(ticks.table["time_s"], values, color=HUES[k % len(HUES)], linewidth=1.1, label=label)
        dress(axes, name)
    made[-1, 0].set_xlabel("time / s", color=INK, fontsize=9)
    figure.suptitle(title, x=0.02, ha="left", fontsize=11, color=INK)
    figure.tight_layout()
    figure.savefig(path)
