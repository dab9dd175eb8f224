"""The view that teaches points and plays them."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import events, ui
from nicegui.elements.mixins.disableable_element import DisableableElement

from linkwork.console.goal_preview import GoalPreview, PlannedMotion
from linkwork.console.machine_feed import Known
from linkwork.console.page_parts import PageActions, card, chosen_file, given_share, trajectory_in
from linkwork.display_units import shown
from linkwork.trajectories.teach import TaughtPoints


class TeachView:
    """Card of the taught points; the points are those of all pages of the console."""

    def __init__(self, actions: PageActions, preview: GoalPreview) -> None:
        self._actions, self._preview = actions, preview
        self._shown: tuple[int, int] | None = None
        self._guarded: list[DisableableElement] = []
        self._row_buttons: list[DisableableElement] = []
        self._operates = False
        with card("Teach"):
            with ui.element("div").classes("bar"):
                self._name = ui.input("name of the point").props("dense").on("keydown.enter", self._teach)
                self._guarded.append(ui.button("teach", on_click=self._teach).props("no-caps outline"))
            ui.label(
                "The present coordinates become a point. Jog, or choose the law float and lead by hand."
            ).classes("quiet")
            self._list = ui.element("ol").classes("taught")
            self._empty = ui.label("no points yet").classes("quiet")
        with card("Play"):
            with ui.element("div").classes("bar"):
                self._at_rest = ui.radio(
                    {True: "rest in each point", False: "through the points"}, value=True
                ).props("inline dense")
                self._share = ui.number("speed, %", value=50, min=1, max=100, step=5)
            with ui.element("div").classes("bar"):
                self._play = ui.button("preview and play", on_click=self._preview_all).props(
                    "no-caps outline"
                )
                self._save = ui.button("save", on_click=self._download).props("no-caps outline")
            ui.label("The file is one for `linkwork send`.").classes("quiet")
            chosen_file("load points from a file", self._load)

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Follow the list, which other pages change too."""
        taught = self._actions.service.taught
        if taught is None:
            return
        key = (id(taught), taught.changes)
        if key != self._shown:
            self._shown = key
            self._build(known, taught)
        self._operates = operates and known.state is not None
        for element in (*self._guarded, *self._row_buttons):
            element.set_enabled(self._operates)
        for button in (self._play, self._save):
            button.set_enabled(bool(taught.points))

    def _build(self, known: Known, taught: TaughtPoints) -> None:
        assert known.content is not None
        units = {each["name"]: each["unit"] for each in known.content.described["coordinates"]}
        self._empty.set_visibility(not taught.points)
        self._list.clear()
        self._row_buttons = []
        with self._list:
            for index, point in enumerate(taught.points):
                with ui.element("li"), ui.element("div").classes("taught-row"):
                    field = ui.input(value=point.name).props(f'dense aria-label="name of point {index + 1}"')
                    field.on("change", lambda event, index=index: self._rename(index, event.sender.value))
                    self._row_buttons.append(field)
                    given = dict(zip(taught.coordinates, point.positions, strict=True))
                    texts = (
                        f"{name} {shown(each, units[name])}" for name, each in (point.task or given).items()
                    )
                    ui.label(", ".join(texts)).classes("quiet taught-place")
                    with ui.element("div").classes("bar"):
                        self._small("go to", f"go to {point.name}", partial(self._go, index))
                        self._small(
                            "↑", f"move {point.name} up", partial(self._change, taught.shift, index, -1)
                        )
                        self._small(
                            "↓", f"move {point.name} down", partial(self._change, taught.shift, index, 1)
                        )
                        self._small("✕", f"delete {point.name}", partial(self._change, taught.delete, index))

    def _small(self, text: str, name: str, act: Callable[[], Any]) -> None:
        button = ui.button(text, on_click=act).props("no-caps flat dense")
        button.props["aria-label"] = name
        self._row_buttons.append(button)

    def _change(self, change: Callable[..., None], *args: Any) -> None:
        """Change the list, unless another page has changed it meanwhile."""
        taught = self._actions.service.taught
        if not self._operates:
            return
        if taught is None or self._shown != (id(taught), taught.changes):
            ui.notify("another page has changed the points: look again", type="warning")
            return
        try:
            change(*args)
        except ValueError as error:
            ui.notify(str(error), type="warning")
            self._shown = None
        self._refresh_soon()

    def _refresh_soon(self) -> None:
        self.refresh(self._actions.service.feed.known, operates=self._operates)

    def _rename(self, index: int, name: str) -> None:
        taught = self._actions.service.taught
        if taught is not None:
            self._change(taught.rename, index, name)

    def _teach(self) -> None:
        taught, state = self._actions.service.taught, self._actions.service.feed.known.state
        if taught is None or state is None or not self._operates:
            return
        status = self._actions.service.feed.known.status
        if status is None or not status["device"]["connected"]:
            ui.notify(
                "not taught: no plant is connected, so the machine's position is not measured; "
                "start or reconnect the plant",
                type="warning",
            )
            return
        try:
            point = taught.teach(self._name.value or "", state)
        except ValueError as error:
            ui.notify(str(error), type="warning")
            return
        ui.notify(f"taught {point.name}", type="positive")
        self._name.set_value("")
        self._refresh_soon()

    async def _go(self, index: int) -> None:
        taught = self._actions.service.taught
        if taught is None:
            return
        point = taught.points[index]
        target = dict(zip(taught.coordinates, point.positions, strict=True))
        speed = given_share(self._share)
        if speed is None:
            return
        goal = await self._actions.ask("move", target=target, speed=speed)
        if goal is not None:
            ui.notify(f"goal {goal['goal']} to {point.name}, {goal['duration_s']:.2f} s", type="positive")

    async def _preview_all(self) -> None:
        taught, state = self._actions.service.taught, self._actions.service.feed.known.state
        if taught is None or state is None:
            return
        at_rest, speed = bool(self._at_rest.value), given_share(self._share)
        if speed is None:
            return
        made = taught.trajectory(taught.position(state), at_rest=at_rest, speed=speed)
        names = ", ".join(point.name for point in taught.points)
        await self._preview.show(PlannedMotion(f"taught points {names}", made))

    async def _download(self) -> None:
        service = self._actions.service
        content, taught = service.feed.known.content, service.taught
        if content is None or taught is None:
            return
        machine = content.described["machine"]
        text = taught.text(machine, at_rest=bool(self._at_rest.value))
        ui.download.content(text, f"{machine}-points.yaml")

    async def _load(self, event: events.UploadEventArguments) -> None:
        taught = self._actions.service.taught
        if taught is None or not self._operates:
            ui.notify("this page only observes: choose Operate first", type="warning")
            return
        try:
            trajectory = await asyncio.to_thread(trajectory_in, event.file.name, await event.file.read())
            taught.load(trajectory)
        except ValueError as error:
            ui.notify(str(error), type="negative", multi_line=True, timeout=8000)
            return
        ui.notify(f"{len(taught.points)} points from {event.file.name}", type="positive")
        self._refresh_soon()
