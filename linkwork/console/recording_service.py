"""The service behind pages that play a recording, alone or with a second one beside it."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Query
from fastapi.responses import PlainTextResponse, Response
from starlette.websockets import WebSocket

from linkwork.console.recorded_motion import RecordedMotion
from linkwork.console.recording_player import Player, PlayerLink
from linkwork.console.scene_content import mesh_file
from linkwork.console.state_words import channel_units
from linkwork.display_units import CHOICE, UNITS
from linkwork.recordings.recording import thinned

_MOST_HAPPENINGS: Final = 2000
"""Of one recording, on the time line and in the list."""
_WEIGHTY: Final = ("fault", "state")
"""Groups of which happenings are left out last."""
_MOST_POINTS: Final = 5000


class RecordingService:
    """One or two recordings, any number of pages."""

    def __init__(self, motion: RecordedMotion, second: RecordedMotion | None = None) -> None:
        self.motion, self.second = motion, second
        self._players: dict[str, Player] = {}
        self._links: set[PlayerLink] = set()

    def start(self) -> None:
        """Nothing runs without a page."""

    def close(self) -> None:
        """Nothing is left."""

    def player(self, page: str) -> Player:
        """Return the player of a page."""
        if page not in self._players:
            self._players[page] = Player(self.motion, self.second)
        return self._players[page]

    def _known(self, page: str) -> Player:
        if page not in self._players:
            raise HTTPException(404, "no such page")
        return self._players[page]

    def forget(self, page: str) -> None:
        """Drop the player of a page that is gone."""
        self._players.pop(page, None)

    async def serve_link(self, socket: WebSocket) -> None:
        """Serve the connection of a page."""
        await socket.accept()
        page = socket.query_params.get("page", "")
        link = PlayerLink(socket, page, self.player(page))
        self._links.add(link)
        link.tell(self.message(page))
        try:
            await link.run()
        finally:
            self._links.discard(link)

    def align(self, page: str, how: str) -> None:
        """Lay the second recording on the first in another way."""
        player = self.player(page)
        if player.pair is not None:
            player.pair.align(how)
        for link in self._links:
            if link.page == page:
                link.tell(self.message(page))
                link.redraw()

    def message(self, page: str) -> dict[str, Any]:
        """Return the content as the page gets it."""
        motion, pair = self.motion, self.player(page).pair
        described = motion.run.described
        return {
            "type": "machine",
            "version": 1,
            **{key: described[key] for key in ("machine", "coordinates", "goal_coordinates")},
            "jog": [],
            "scene": motion.scene,
            "channels": motion.channels,
            "units": channel_units(motion.channels, described),
            "shown": UNITS,
            "choice": CHOICE,
            "recording": {
                "file": motion.path.name,
                "duration_s": motion.duration_s,
                "period_s": motion.run.machine.period_s,
                "happenings": _happenings(motion, 0.0),
            },
            "beside": None
            if pair is None
            else {
                "file": pair.second.path.name,
                "scene": _without_meshes(pair.second.scene),
                "offset_s": pair.offset_s,
                "happenings": _happenings(pair.second, pair.offset_s),
            },
        }

    def mesh(self, name: str) -> Path | None:
        """Return the file of a mesh of the recorded machine, `NUMBER.suffix`; None where there is none.

        It is looked for where the machine file was, else beside the recording.
        """
        recording, shapes = self.motion.run.recording, self.motion.drawn.visuals
        hashes = json.loads(recording.metadata.get("meshes", "{}"))
        places = recording.metadata.get("file", ""), str(self.motion.path)
        found = (mesh_file(name, shapes, place, hashes) for place in places if place)
        return next((path for path in found if path is not None), None)

    def add_routes(self, app: FastAPI) -> None:
        """Serve the curves of channels, for plots and as CSV."""
        app.get("/console/curves")(self._curves)
        app.get("/console/curves.csv")(self._curves_as_csv)

    def _curves(
        self,
        page: str,
        name: list[str] = Query(),  # noqa: B008 - FastAPI reads the default
        begin_s: float = 0.0,
        end_s: float = float("inf"),
        points: int = 2000,
    ) -> dict[str, Any]:
        player, points = self._known(page), min(max(points, 2), _MOST_POINTS)
        time_s, found = self.motion.curves(name, begin_s, end_s)
        answer = thinned(time_s, found, points)
        if player.pair is not None:
            offset_s = player.pair.offset_s
            time_s, found = player.pair.second.curves(name, begin_s - offset_s, end_s - offset_s)
            answer["beside"] = thinned(time_s + offset_s, found, points)
        return answer

    def _curves_as_csv(
        self,
        page: str,
        name: list[str] = Query(),  # noqa: B008 - FastAPI reads the default
        begin_s: float = 0.0,
        end_s: float = float("inf"),
    ) -> Response:
        """Every tick of the time shown, with all digits; the second recording has a column beside each."""
        motion, pair = self.motion, self._known(page).pair
        time_s, found = motion.curves(name, begin_s, end_s)
        columns: list[Sequence[Any]] = [time_s.tolist(), *(each.tolist() for each in found.values())]
        titles = ["time_s", *found]
        if pair is not None:
            rows = [pair.second_row(at) for at in time_s.tolist()]
            for title in found:
                if title in pair.second.channels:
                    column = pair.second.column(title)
                    titles.append(f"{title} ({pair.second.path.name})")
                    columns.append(["" if row is None else float(column[row]) for row in rows])
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(titles)
        writer.writerows(zip(*columns, strict=True))
        file = f"{motion.path.stem}-{(list(found) or ['nothing'])[0].replace('/', '-')}.csv"
        disposition = {"content-disposition": f"attachment; filename*=UTF-8''{quote(file, safe='')}"}
        return PlainTextResponse(text.getvalue(), media_type="text/csv", headers=disposition)


def _happenings(motion: RecordedMotion, offset_s: float) -> list[Any]:
    """Return time (s), tick, group and text of what happened.

    Of too many, faults and changes of the state are kept before all others, and later ones before earlier
    ones; an entry at the end says how many are left out.
    """
    found = motion.run.happenings
    if len(found) > _MOST_HAPPENINGS:
        by_weight = sorted(range(len(found)), key=lambda k: (found[k].group in _WEIGHTY, k))
        left_out = len(found) - _MOST_HAPPENINGS
        text = f"{left_out} of {len(found)} events are left out: early ones, faults and states last"
        note = replace(found[-1], group="note", text=text)
        found = [*(found[k] for k in sorted(by_weight[left_out:])), note]
    return [[each.time_s + offset_s, each.tick, each.group, each.text] for each in found]


def _without_meshes(scene: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scene whose meshes are left out: a ghost shows such bodies as rods."""
    return {**scene, "shapes": [shape for shape in scene["shapes"] if shape["kind"] != "mesh"]}
