"""The view of the state: faults, values, goal, timing, lease, link, log and recordings."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from nicegui import ui

from linkwork.console.fault_cards import FaultCards
from linkwork.console.machine_feed import Known
from linkwork.console.page_parts import PageActions, Rows, card, html_table
from linkwork.console.recording_players import RecordingPlayers, UnplayableRecording
from linkwork.console.state_words import overrun_words
from linkwork.display_units import shown

_UNKNOWN: Final = "not known: no plant is connected"
_MOST_LISTED: Final = 20


class StateView:
    """Cards that follow `Known`."""

    def __init__(self, actions: PageActions) -> None:
        self._faults = FaultCards(actions)
        with card("Values"):
            self._values = ValuesTable()
            self._heat = Rows()
        with card("Timing and connection"):
            self._timing = Rows()
        self._recordings = RecordingList(actions.service.players)

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Show the latest answers; `operates`: whether this page may clear a fault."""
        self._faults.refresh(known, operates=operates)
        state, status = known.state, known.status
        if state is not None and known.content is not None:
            self._values.show(known.content.described, state, measured=known.has_plant)
            self._heat.show(heat_rows(state))
        self._timing.show({} if status is None else timing_rows(status))
        if status is not None:
            self._recordings.refresh(status["log"])


class ValuesTable:
    """Positions, speeds and efforts; passive joints below, folded."""

    def __init__(self) -> None:
        self._main = ui.html("", sanitize=False).classes("table-wrap")
        with ui.expansion().props("dense") as self._fold:
            self._passive = ui.html("", sanitize=False).classes("table-wrap")

    def show(
        self,
        described: Mapping[str, Any],
        state: Mapping[str, Any],
        beside: Mapping[str, Any] | None = None,
        *,
        measured: bool = True,
    ) -> None:
        """Show a state, as `values_table`. measured: whether a plant is connected."""
        known = {motor["name"] for motor in described["motors"]}
        known |= {each["name"] for each in described["coordinates"] if each["kind"] == "task"}
        places = [*state["q"], *state["coordinates"]]
        passive = [name for name in places if name not in known] if known else []
        main = [name for name in places if name not in passive]
        self._main.set_content(values_table(described, state, main, beside, measured=measured))
        self._fold.set_visibility(bool(passive))
        self._fold.set_text(f"{len(passive)} passive joints")
        content = values_table(described, state, passive, beside, measured=measured)
        self._passive.set_content(content if self._fold.value else "")


def values_table(
    described: Mapping[str, Any],
    state: Mapping[str, Any],
    names: Sequence[str],
    beside: Mapping[str, Any] | None = None,
    *,
    measured: bool = True,
) -> str:
    """Return the table of these joints and task coordinates.

    beside: the state of a second recording; its positions, and the differences from them, stand in place of
    speeds and efforts. measured: without a plant, positions are the last ones, speeds and efforts unknown.
    """
    positions = {**state["q"], **state["coordinates"]}
    others = {} if beside is None else {**beside["q"], **beside["coordinates"]}
    units = {each["name"]: each["unit"] for each in described["coordinates"]}
    driven = {motor["name"]: motor["unit"] for motor in described["motors"]}
    rows = []
    for name in names:
        unit = units.get(name, "")
        cells = [name, shown(positions[name], unit)]
        if beside is None:
            velocity, effort = state["v"].get(name), state["effort"].get(name)
            cells += [
                "" if velocity is None else shown(velocity, f"{unit}/s") if measured else "not known",
                "" if effort is None else shown(effort, driven[name]) if measured else "not known",
            ]
        else:
            other = others.get(name)
            cells += ["", ""] if other is None else [shown(other, unit), shown(positions[name] - other, unit)]
        rows.append(cells)
    more = ("speed", "effort") if beside is None else ("beside", "difference")
    return html_table(("", "position" if measured else "last position", *more), rows)


def heat_rows(state: Mapping[str, Any]) -> dict[str, str]:
    """Return the temperature of each motor with a thermal model, and its largest effort at it, as rows."""
    return {
        f"{name}, winding": f"{heat['winding_degC']:.1f} of at most {heat['max_degC']:g} °C; largest effort "
        f"{shown(heat['effort_limit'], heat['unit'])} of {shown(heat['max_effort'], heat['unit'])}"
        for name, heat in state.get("heat", {}).items()
    }


def timing_rows(status: Mapping[str, Any]) -> dict[str, str]:
    """Return timing, connection, lease and log as rows."""
    timing, device, lease = status["timing"], status["device"], status["lease"]
    period, latency = timing["period_us"], timing["latency_us"]
    quantiles = "median {p50:.0f} µs, 99 % {p99:.0f} µs, largest {max:.0f} µs"
    return {
        "controller": f"{status['machine']}, pace {status['pace']}, linkwork {status['version']}",
        "period": quantiles.format(**period),
        "latency": quantiles.format(**latency),
        "ticks": f"{timing['ticks']}, missed {timing['missed']}, lost states {timing['lost']}",
        "overruns": overrun_words(timing["window"], timing["since_start"]),
        "plant": device["text"] + ("" if device["connected"] else " (not connected)"),
        "link": _UNKNOWN
        if not device["connected"]
        else f"{100.0 * device.get('success_rate', 0.0):.1f} % of the states arrive in time",
        "brake": _UNKNOWN if not device["connected"] else "on" if device["brake"] else "off",
        "homed": _UNKNOWN if not device["connected"] else "yes" if device["homed"] else "no: jogging only",
        "lease": "free" if lease["owner"] is None else f"{lease['owner']}, {lease['left_s']:.1f} s left",
        "law": status["law"],
        "log": status["log"] or status["log_problem"] or "none",
        "real time": status["real_time"],
        "faults": str(status["faults"]),
    }


class RecordingList:
    """The card with the recordings, the newest first."""

    def __init__(self, players: RecordingPlayers) -> None:
        self._players = players
        request = ui.context.client.request
        self._host = None if request is None else request.url.hostname
        self._sizes: dict[Path, ui.label] | None = None
        self._addresses: dict[Path, str] = {}
        """Where recordings are played."""
        with card("Recordings"), ui.expansion("logs on this computer").props("dense") as self._fold:
            self._rows = ui.element("dl").classes("rows")

    def refresh(self, log: str | None) -> None:
        """List what lies beside a log, while the card is open."""
        if not self._fold.value:
            return
        listed = recordings(log)
        if self._sizes is None or list(listed) != list(self._sizes):
            self._build(list(listed))
        for path, size in listed.items():
            assert self._sizes is not None
            self._sizes[path].set_text(size)

    def _build(self, paths: list[Path]) -> None:
        self._sizes = {}
        self._rows.clear()
        with self._rows:
            if not paths:
                ui.label("the controller writes no log on this computer")
            for path in paths:
                with ui.element("dt"):
                    ui.label(path.name)
                with ui.element("dd"), ui.element("div").classes("bar"):
                    self._sizes[path] = ui.label()
                    button = ui.button("play").props(f'no-caps outline dense aria-label="play {path.name}"')
                    button.on_click(partial(self._play, path, button))
                    if path in self._addresses:
                        ui.link("open the player", self._addresses[path], new_tab=True)

    async def _play(self, path: Path, button: ui.button) -> None:
        button.disable()
        button.set_text("reading …")
        try:
            address = urlsplit(await self._players.address(path))
        except UnplayableRecording as error:
            ui.notify(str(error), type="negative", multi_line=True)
        else:
            host = self._host or address.hostname or ""
            place = f"[{host}]:{address.port}" if ":" in host else f"{host}:{address.port}"
            self._addresses[path] = address._replace(netloc=place).geturl()
        self._sizes = None  # the next refresh shows it


def recordings(log: str | None) -> dict[Path, str]:
    """Return the latest logs and recordings beside this log with their sizes; none without a log here."""
    folder = Path(log).parent if log else None
    if folder is None or not folder.is_dir():
        return {}
    found = []
    for path in folder.glob("*.mcap"):
        with suppress(OSError):  # an old segment that the controller deletes
            known = path.stat()
            found.append((known.st_mtime, path, known.st_size))
    return {path: f"{size / 1e6:.1f} MB" for _, path, size in sorted(found, reverse=True)[:_MOST_LISTED]}
