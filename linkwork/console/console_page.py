"""The page: header with STOP, the machine in 3-D, and the views beside it."""

from typing import Final

from nicegui import ui

from linkwork.console.assembly_view import AssemblyView
from linkwork.console.console_service import ConsoleService
from linkwork.console.goal_preview import GoalPreview
from linkwork.console.identify_view import IdentifyView
from linkwork.console.move_view import MoveView
from linkwork.console.page_elements import LAYERS, LivePlot, StopSaid
from linkwork.console.page_parts import PageActions, connect_page, connection_banner
from linkwork.console.scene_card import color_button, first_plots, plots_card, scene_card, units_button
from linkwork.console.state_view import StateView
from linkwork.console.state_words import doing, fault_words, limited_by, next_step, result_words
from linkwork.console.teach_view import TeachView
from linkwork.console.tuning_view import TuningView

REFRESH_S: Final = 0.2
_STOP_LINE = "Space or Escape, too. No safety function: use the emergency stop of the machine."


def build_page(service: ConsoleService) -> None:
    """Build one page; each browser tab has its own."""
    ConsolePage(service)


class ConsolePage:
    """The elements of one page, refreshed from the service."""

    def __init__(self, service: ConsoleService) -> None:
        self._service = service
        self._page = ui.context.client.id
        actions = PageActions(service, self._page)
        connect_page(self._page)
        self._header()
        with ui.element("main").classes("main"):
            with ui.element("div").classes("left"):
                scene = scene_card(LAYERS)
                plots_card(LivePlot, self._first_plots)
            with ui.element("div").classes("right"):
                with ui.tabs().props("no-caps inline-label dense").classes("card tabs") as tabs:
                    state_tab, move_tab = ui.tab("State"), ui.tab("Move")
                    teach_tab, tuning_tab = ui.tab("Teach"), ui.tab("Tune")
                    identify_tab = ui.tab("Identify")
                self._tabs, self._state_tab, self._move_tab = tabs, state_tab, move_tab
                self._assembly = AssemblyView(actions)
                scene.on("mode", lambda event: self._assembly.choose(int(event.args)))
                self._preview = GoalPreview(actions)
                with ui.tab_panels(tabs, value=state_tab, animated=False, keep_alive=True):
                    with ui.tab_panel(state_tab).classes("right"):
                        self._state = StateView(actions)
                    with ui.tab_panel(move_tab).classes("right"):
                        self._move = MoveView(actions, self._preview)
                    with ui.tab_panel(teach_tab).classes("right"):
                        self._teach = TeachView(actions, self._preview)
                    with ui.tab_panel(tuning_tab).classes("right"):
                        self._tuning = TuningView(actions)
                    with ui.tab_panel(identify_tab).classes("right"):
                        self._identify = IdentifyView(actions)
        ui.timer(REFRESH_S, self._refresh)
        self._refresh()

    def _header(self) -> None:
        with ui.element("header").classes("top"):
            with ui.element("div").classes("doing"):
                with ui.element("h1"):
                    self._title = ui.label("linkwork console")
                self._doing = ui.label().props("role=status")
                self._limited = ui.label().classes("limited")
            self._chip = ui.label().classes("chip")
            self._operate = ui.button("Operate", on_click=self._change_seat).props("no-caps outline")
            units_button()
            color_button()
            with (
                ui.element("button")
                .classes("stop")
                .props('data-stop type="button" aria-label="STOP the machine"')
            ):
                ui.label("STOP")
            with ui.element("p").classes("stop-line"):
                ui.label(_STOP_LINE)
            StopSaid()
            with ui.element("div").classes("strip"):
                self._fault = ui.label().classes("fault-line").props("role=alert")
                self._step = ui.label().classes("next-step")
        connection_banner(
            "The connection to the console is lost. What you see is old. The jog has ended.",
            "The console was ended, with the command that started it. What you see is old. "
            "“linkwork console” starts it again and prints its new address.",
        )
        with ui.element("div").classes("banner when-old").props("role=alert"):
            ui.label("The controller sends no values. What you see is old.")

    def _first_plots(self) -> list[list[str]] | None:
        content = self._service.feed.known.content
        return None if content is None else first_plots(content.described)

    def _change_seat(self) -> None:
        service = self._service
        if service.seat.held_by(self._page):
            service.leave_seat(self._page)
        elif not service.seat.take(self._page):
            ui.notify("this console was started with --observe", type="warning")
        elif self._tabs.value in ("State", self._state_tab):
            self._tabs.set_value(self._move_tab)
        self._refresh()

    def _refresh(self) -> None:
        known, operates = self._service.feed.known, self._service.seat.held_by(self._page)
        state = known.state
        name = "lost" if state is None else str(state["state"])
        if known.content is not None:
            self._title.set_text(f"linkwork · {known.content.described['machine']}")
        silent_s = known.silent_s()
        old = f"; no values for {silent_s:.0f} s: what you see is old" if silent_s else ""
        result = result_words(state)
        self._doing.set_text(doing(state, known.problem) + (f" · {result}" if result else "") + old)
        self._fault.set_text(fault_words(state))
        self._step.set_text(next_step(state, has_plant=known.has_plant, operates=operates))
        limited = limited_by(state, None if known.content is None else known.content.described)
        self._limited.set_text(f"limited: {limited}" if limited else "")
        self._chip.set_text("no controller" if state is None else "no values" if old else name)
        self._chip.classes(replace=f"chip {'lost' if old else name}")
        self._operate.set_text("Operating: leave" if operates else "Operate")
        views = (self._state, self._move, self._teach, self._tuning, self._identify, self._assembly)
        for view in views:
            view.refresh(known, operates=operates)
        self._preview.refresh(operates=operates)
