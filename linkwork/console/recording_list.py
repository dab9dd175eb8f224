"""The logs and recordings beside the present log, each with a button that plays it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from nicegui import ui

from linkwork.console.page_parts import card
from linkwork.console.recording_players import RecordingPlayers, UnplayableRecording

_MOST_LISTED: Final = 20


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
