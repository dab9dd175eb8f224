"""The page's own elements: scene, jog and plot. Each is a Vue component beside this file, in `page`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import nicegui.elements.echart
import nicegui.elements.scene  # noqa: F401 - both offer their libraries, three.js and ECharts, to the page
from nicegui.element import Element

_PAGE: Final = Path(__file__).parent / "page"
LAYERS: Final = {
    "trail": ("path walked", True),
    "ahead": ("path to come", True),
    "twin": ("digital twin", True),
    "efforts": ("motor efforts", True),
    "forces": ("closure forces", False),
    "axes": ("joint axes", False),
    "frames": ("frames", False),
    "names": ("names", False),
    "regions": ("workspace limits", True),
    "conditioning": ("conditioning", False),
    "grid": ("grid", True),
}
"""What can be switched on and off in the scene, with its label, and whether it is on at first."""
LIVE_ONLY: Final = ("ahead", "twin")
BESIDE: Final = {"beside": ("second recording", True)}
"""Layer of a page that compares two recordings."""


class MachineView(Element, component=_PAGE / "machine_view.js", esm={"linkwork-console": str(_PAGE / "lib")}):
    """The machine in 3-D, moved by the pictures of the page's connection."""

    def __init__(self, layers: Mapping[str, tuple[str, bool]]) -> None:
        super().__init__()
        self._props["layers"] = {name: on for name, (_, on) in layers.items()}

    def switch(self, layer: str, *, on: bool) -> None:
        """Show or hide a layer."""
        self._props["layers"] = {**self._props["layers"], layer: on}
        self.update()


class PreviewBar(Element, component=_PAGE / "preview_bar.js"):
    """Slider that moves the ghost of a previewed goal along its path, and its events."""


class JogPad(Element, component=_PAGE / "jog_pad.js"):
    """Held buttons, keys and a pad that jog the machine."""

    def __init__(self) -> None:
        super().__init__()
        self._props["enabled"], self._props["mode"] = False, ""

    def allow(self, mode: str, *, enabled: bool) -> None:
        """Say whether the page may jog, and in which state the machine is; a change ends the jog."""
        if (self._props["enabled"], self._props["mode"]) != (enabled, mode):
            self._props["enabled"], self._props["mode"] = enabled, mode
            self.update()


class StopSaid(Element, component=_PAGE / "stop_said.js"):
    """Answer to STOP, or that there is none."""


class LivePlot(Element, component=_PAGE / "live_plot.js"):
    """Values of telemetry channels over time; emits `close`."""

    def __init__(self, channels: Sequence[str] = ()) -> None:
        super().__init__()
        self._props["channels"] = list(channels)


class RecordedPlot(Element, component=_PAGE / "recorded_plot.js"):
    """Curves of a recording, with a cursor at the time that is shown; emits `close`."""

    def __init__(self, channels: Sequence[str] = ()) -> None:
        super().__init__()
        self._props["channels"] = list(channels)


class RecordPlot(Element, component=_PAGE / "record_plot.js"):
    """Panels of curves: a flight record around its fault, from `linkwork faults show --json --points`; with
    `title`, any others.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__()
        self._props["record"] = dict(record)


class Transport(Element, component=_PAGE / "transport.js"):
    """Time line, buttons and keys that play a recording."""

    def __init__(self, speeds: Sequence[float]) -> None:
        super().__init__()
        self._props["speeds"] = list(speeds)


class HappeningList(Element, component=_PAGE / "happenings.js"):
    """Events of a recording; choosing one goes there."""
