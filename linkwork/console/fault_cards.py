"""Cards of faults: cause, place, value, limit, what clears it, the button that does, and flight record.

`linkwork faults show` reads each flight record in a process: the console stays a client, and the analysis
delays neither pictures nor jogs.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element

from linkwork.console.machine_feed import Known
from linkwork.console.page_elements import RecordPlot
from linkwork.console.page_parts import PageActions, Rows, card
from linkwork.console.state_words import clearing, fault_lines
from linkwork.display_units import shown_in

_POINTS: Final = 600
_ENDS_WITHIN_S: Final = 60.0
_KEPT: Final = 20
_TRIES, _AGAIN_S = 4, 0.7
"""The controller names a record when it begins to write it."""
_EVENTS: Final = 12
"""Of a flight record, those next to the fault."""


class FaultCards:
    """The latched fault first, with its plot; earlier ones folded, whose plots are read on demand."""

    def __init__(self, actions: PageActions) -> None:
        self._actions = actions
        self._shown: Any = object()
        self._clear: ui.button | None = None
        self._box = ui.element("div").classes("right")

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Follow the machine; rebuilt only where a fault came, went, or got its flight record.

        operates: whether this page may clear the latched state.
        """
        state = known.state
        latched = None if state is None else state["fault"]
        way_out = clearing(state)
        key = (latched, way_out, [(fault["tick"], fault["record"]) for fault in known.faults])
        if key != self._shown:
            self._shown = key
            self._build(known, latched, way_out)
        if self._clear is not None:
            self._clear.set_enabled(operates)

    def _build(self, known: Known, latched: Mapping[str, Any] | None, way_out: str | None) -> None:
        self._clear = None
        self._box.clear()
        with self._box:
            if way_out is not None:
                self._latched(latched, way_out)
            earlier = [each for each in known.faults if latched is None or each["tick"] != latched["tick"]]
            if earlier:
                with card("Earlier faults"):
                    for fault in earlier:
                        self._earlier(fault)

    def _latched(self, fault: Mapping[str, Any] | None, way_out: str) -> None:
        title = "Emergency stop" if fault is None else f"Fault: {fault['name']}"
        with card(title, "fault-card") as made:
            made.props("role=alert")
            if fault is not None:
                Rows().show(dict(fault_lines(fault)))
            with ui.element("div").classes("bar"):
                self._clear = ui.button(way_out, on_click=lambda: self._actions.effect(way_out))
                self._clear.props("no-caps outline")
                ui.label("needs Operate").classes("quiet").bind_visibility_from(
                    self._clear, "enabled", backward=lambda on: not on
                )
            if fault is not None and fault["record"]:
                box = ui.element("div").classes("record")
                ui.timer(0.0, partial(_draw, box, str(fault["record"])), once=True)
            elif fault is not None:
                ui.label("The flight record is written within a second after the fault.").classes("quiet")

    def _earlier(self, fault: Mapping[str, Any]) -> None:
        title = f"{fault['name']} {fault['where'] or ''} at {fault['time_s']:.3f} s"
        with ui.expansion(title).props("dense") as opened:
            Rows().show(dict(fault_lines(fault)))
            if not fault["record"]:
                return
            box = ui.element("div").classes("record")
            opened.on_value_change(
                lambda event: _draw(box, str(fault["record"])) if event.value else None  # read when opened
            )


def shown_signals(signals: Mapping[str, Any]) -> dict[str, Any]:
    """Return the panels of a flight record, `NAME / UNIT`, in the units of the page."""
    found = {}
    for title, panel in signals.items():
        name, _, unit = title.partition(" / ")
        factor, shown_unit = shown_in(unit)
        values = {
            curve: [None if each is None else factor * each for each in series]
            for curve, series in panel["values"].items()
        }
        limits = [None if each is None else factor * each for each in panel["limits"]]
        found[f"{name}, {shown_unit}" if unit else name] = {**panel, "values": values, "limits": limits}
    return found


async def _draw(box: Element, path: str) -> None:
    """Fill a box with the plot of a flight record, once."""
    if box.default_slot.children:
        return
    with box:
        waiting = ui.label("reading the flight record …").classes("quiet")
        try:
            record = await _RECORDS.read(path)
        except UnreadableRecord as error:
            waiting.set_text(f"no plot of the flight record: {error}")
            return
        if box.is_deleted:
            return
        waiting.delete()
        RecordPlot({**record, "signals": shown_signals(record["signals"])})
        near = sorted(record["events"], key=lambda each: abs(each["time_s"]))[:_EVENTS]
        with ui.element("ol").classes("record-events").props('aria-label="Events around the fault"'):
            for each in sorted(near, key=lambda each: each["tick"]):
                with ui.element("li"):
                    ui.label(f"{each['time_s']:+.3f} s")
                    ui.label(each["text"])


class UnreadableRecord(Exception):
    """A flight record that cannot be shown; the text says why."""


class FlightRecords:
    """Read records, each once."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, Any]] = {}

    async def read(self, path: str) -> Mapping[str, Any]:
        """Return what `linkwork faults show --json --points` prints. Raises UnreadableRecord."""
        if path not in self._known:
            found = await _written(path)
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[path] = found
        return self._known[path]


_RECORDS: Final = FlightRecords()
"""Shared by all pages of a console."""


async def _written(path: str) -> Mapping[str, Any]:
    """Return a record that may still be under way to its file. Raises UnreadableRecord."""
    left = _TRIES
    while True:
        try:
            if not Path(path).is_file():
                raise UnreadableRecord(f"{path} is not on this computer")
            return await _shown(path)
        except UnreadableRecord:
            left -= 1
            if not left:
                raise
            await asyncio.sleep(_AGAIN_S)


async def _shown(path: str) -> Mapping[str, Any]:
    words = ("-m", "linkwork", "faults", "show", path, "--json", "--points", str(_POINTS))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complained = await asyncio.wait_for(process.communicate(), _ENDS_WITHIN_S)
    except TimeoutError:
        raise UnreadableRecord(f"{path} could not be read within {_ENDS_WITHIN_S:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode != 0:
        raise UnreadableRecord(complained.decode("utf-8", "replace").strip())
    found: Mapping[str, Any] = json.loads(said)
    return found
