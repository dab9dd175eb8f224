"""Channels of a recording over time: a panel for each that was asked for and each of its units.

Digital signals of the machine are bands, filled where they are on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from linkwork.arrays import Floats
from linkwork.controller.exchange.records import CHANNELS, field_names
from linkwork.display_units import UNITS, channel_unit, shown_in
from linkwork.machine.loading import drawable
from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import MachineError
from linkwork.machine.repeats import parse_machine
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.path_plot import ACCENT, HUES, INK, QUIET, dress
from linkwork.recordings.recording import signals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

USUAL: Final = ("coordinate", "reference", "law_effort", "effort")
"""Signals drawn by default, before those of the machine's section `signals`."""
_STYLES: Final = ("-", "--", ":")
_LEGEND: Final = 18
"""Curves that have a name in the legend."""
SIGNAL_CHANNELS: Final = ("input", "output")


def chosen(ticks: Ticks, names: Sequence[str]) -> list[tuple[str, dict[str, Floats]]]:
    """Return for each name a channel with all its numbers ("effort"), or one ("effort.shoulder"), over ticks.

    A name without a channel is that of an input or output ("gripper").
    The arrays are (ticks). Raises ValueError for an unknown name, with the nearest.
    """
    there = signals(ticks)
    panels = []
    for name in names:
        alone = {f"{channel}.{name}" for channel in SIGNAL_CHANNELS}
        found = {
            each: values
            for each, values in there.items()
            if each == name or each.startswith(f"{name}.") or each in alone
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
class SignalPanel:
    """Signals drawn together. curves: (n,) each, by their labels; limits: values that are allowed at most.

    title: `NAME / UNIT`, or a name alone. bands: the curves are 0 or 1, and are drawn as bands.
    """

    title: str
    curves: Mapping[str, Floats]
    limits: tuple[float, ...] = ()
    bands: bool = False

    def displayed(self) -> SignalPanel:
        """Return the panel in the units that people read: degrees and millimetres."""
        name, _, unit = self.title.partition(" / ")
        if unit not in UNITS["si"]:
            return self
        factor, shown = shown_in(unit)
        curves = {label: values * factor for label, values in self.curves.items()}
        limits = tuple(each * factor for each in self.limits)
        return replace(self, title=f"{name} / {shown}", curves=curves, limits=limits)


def panels_by_unit(curves: Iterable[tuple[str, str, str, Floats]]) -> list[SignalPanel]:
    """Return a panel for each title and unit among curves (title, label, unit, values (n,))."""
    found: dict[str, dict[str, Floats]] = {}
    for title, label, unit, values in curves:
        found.setdefault(f"{title} / {unit}" if unit else title, {})[label] = values
    return [SignalPanel(title, labelled) for title, labelled in found.items()]


def coordinate_units(machine_file: str) -> dict[str, str]:
    """Return rad or m by the names that coordinates have in logs; empty for an unreadable file."""
    try:
        made = drawable(machine_file).mechanism
    except MachineError:
        return {}
    names = field_names(made.coordinate_names)
    return {
        name: "rad" if angle else "m" for name, angle in zip(names, made.coordinate_is_angle, strict=True)
    }


def units_of(machine_file: str) -> dict[str, str | None]:
    """Return the units of a machine's signals, None of a digital one; empty for an unreadable file."""
    try:
        data = parse_machine(machine_file).data
    except MachineError:
        return {}
    told = data.get("signals") if isinstance(data, dict) else None
    return {
        str(name): None if spec.get("type") == "digital" else str(spec.get("unit", ""))
        for name, spec in (told or {}).items()
        if isinstance(spec, dict)
    }


def signal_panels(values: Mapping[str, Floats], units: Mapping[str, str | None]) -> list[SignalPanel]:
    """Return the panels of the channels `input.NAME` and `output.NAME` among these values (n,)."""
    parts = {name: name.partition(".") for name in values}
    signals = {part[2]: values[name] for name, part in parts.items() if part[0] in SIGNAL_CHANNELS}
    digital = {name: each for name, each in signals.items() if units.get(name, "") is None}
    panels = [SignalPanel("digital signals", digital, bands=True)] if digital else []
    analog = ((name, units.get(name) or "", each) for name, each in signals.items() if name not in digital)
    return panels + panels_by_unit(("analog signals", *each) for each in analog)


def recorded_panels(ticks: Ticks, names: Sequence[str], machine_file: str) -> list[SignalPanel]:
    """Return the panels of these signals, by default the usual ones. Raises ValueError for unknown ones."""
    present = ticks.table.dtype.names or ()
    usual = [name for name in (*USUAL, *SIGNAL_CHANNELS) if name in present]
    units = coordinate_units(machine_file)
    plain = {each.name: each.unit for each in CHANNELS if each.unit != "1" and " or " not in each.unit}
    curves: list[tuple[str, str, str, Floats]] = []
    of_machine: dict[str, Floats] = {}
    for name, found in chosen(ticks, names or usual):
        if all(each.partition(".")[0] in SIGNAL_CHANNELS for each in found):
            of_machine |= found
        else:
            for each, values in found.items():
                kind, _, part = each.partition(".")
                unit = plain.get(kind) or channel_unit(kind, part, units)
                curves.append((name, each.removeprefix(f"{name}."), unit, values))
    return panels_by_unit(curves) + signal_panels(of_machine, units_of(machine_file))


def panel_columns(time_s: Floats, panels: Sequence[SignalPanel]) -> dict[str, Floats]:
    """Return the curves of panels over time (n,) as columns of a file, by title, label and unit: ° and mm."""
    columns = {"time_s": time_s}
    for panel in (each.displayed() for each in panels):
        title, _, unit = panel.title.partition(" / ")
        suffix = f"_{unit}".replace("°", "deg").replace("/", "_").replace(" ", "_") if unit else ""
        for label, values in panel.curves.items():
            alone = label == title or title.endswith(" signals")
            columns[(label if alone else f"{title}.{label}") + suffix] = values
    return columns


def draw_panels(
    time_s: Floats, panels: Sequence[SignalPanel], path: Path, title: str, moment_s: float | None = None
) -> None:
    """Write a picture of panels over time (n,), in ° and mm. moment_s: an instant that is marked.

    Limits are drawn where they do not shrink the curves. Raises ValueError for unknown formats, OSError.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [0.7 + 0.3 * len(panel.curves) if panel.bands else 2.1 for panel in panels]
    figure = Figure(figsize=(10.0, 1.0 + sum(heights)), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    made: Any = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)
    for axes, panel in zip(made[:, 0], (each.displayed() for each in panels), strict=True):
        if panel.bands:
            _draw_bands(axes, time_s, panel, moment_s)
            continue
        for k, (label, values) in enumerate(panel.curves.items()):
            hue, style = HUES[k % len(HUES)], _STYLES[k // len(HUES) % len(_STYLES)]
            axes.plot(time_s, values, color=hue, linestyle=style, linewidth=1.1, label=label)
        low, high = axes.get_ylim()
        for limit in panel.limits:
            if 2 * low - high <= limit <= 2 * high - low:
                axes.axhline(limit, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
        if moment_s is not None:
            axes.axvline(moment_s, color=ACCENT, linewidth=0.9)
        name, _, unit = panel.title.partition(" / ")
        dress(axes, name, legend=False, y=unit)
        axes.ticklabel_format(axis="y", useOffset=False)
        if list(panel.curves) != [name]:
            rest = len(panel.curves) - _LEGEND
            axes.legend(
                handles=axes.lines[: min(_LEGEND, len(panel.curves))],
                loc="upper left",
                bbox_to_anchor=(1.0, 1.05),
                ncols=2 if rest > -_LEGEND // 2 else 1,
                title=f"and {rest} more" if rest > 0 else None,
                fontsize=8,
                frameon=False,
            )
    made[-1, 0].set_xlabel("time / s", color=INK, fontsize=9)
    figure.suptitle(title, x=0.02, ha="left", fontsize=11, color=INK)
    figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - 0.25 / figure.get_figheight()))
    figure.savefig(path)


def _draw_bands(axes: Axes, time_s: Floats, panel: SignalPanel, moment_s: float | None) -> None:
    """A row for each signal, the first at the top."""
    for k, values in enumerate(panel.curves.values()):
        axes.fill_between(
            time_s, -k - 0.3, -k + 0.3, where=(values > 0.5).tolist(), step="post",
            color=HUES[k % len(HUES)], linewidth=0.0,
        )  # fmt: skip
        axes.axhline(-k - 0.3, color=QUIET, linewidth=0.6)
    if moment_s is not None:
        axes.axvline(moment_s, color=ACCENT, linewidth=0.9)
    axes.set_ylim(0.6 - len(panel.curves), 0.6)
    dress(axes, panel.title, legend=False)
    axes.set_yticks([float(-k) for k in range(len(panel.curves))], list(panel.curves))
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.grid(visible=False, axis="y")
