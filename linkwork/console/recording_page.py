"""The page that plays a recording: machine in 3-D, player, plots in step, state, events, comparison."""

from typing import Any, Final

from nicegui import ui

from linkwork.console.page_elements import BESIDE, LAYERS, LIVE_ONLY, HappeningList, RecordedPlot, Transport
from linkwork.console.page_parts import Rows, card, connect_page, connection_banner, html_table
from linkwork.console.recorded_motion import RecordedMotion
from linkwork.console.recording_player import ALIGNMENTS, SPEEDS, Difference
from linkwork.console.recording_service import RecordingService
from linkwork.console.scene_card import color_button, first_plots, plots_card, scene_card, units_button
from linkwork.console.state_view import ValuesTable
from linkwork.console.state_words import doing, goal_words, limited_by
from linkwork.display_units import shown

REFRESH_S: Final = 0.1


def build_recording_page(service: RecordingService) -> None:
    """Build one page; each browser tab has its own player."""
    RecordingPage(service)


class RecordingPage:
    """The elements of one page, refreshed from its player."""

    def __init__(self, service: RecordingService) -> None:
        self._service = service
        self._page = ui.context.client.id
        self._player = service.player(self._page)
        self._drawn: Any = None
        ui.context.client.on_delete(lambda: service.forget(self._page))
        connect_page(self._page, recorded=True)
        self._header()
        recorded = {name: layer for name, layer in LAYERS.items() if name not in LIVE_ONLY}
        with ui.element("main").classes("main"):
            with ui.element("div").classes("left"):
                scene_card(recorded | (BESIDE if service.second is not None else {}))
                Transport(SPEEDS)
                plots_card(RecordedPlot, lambda: _recorded(service.motion))
            with ui.element("div").classes("right"):
                with card("State at this time"):
                    self._goal = ui.label()
                    self._bar = ui.linear_progress(0.0, show_value=False)
                    self._bar.props('aria-label="Progress of the goal"')
                    self._values = ValuesTable()
                if self._player.pair is not None:
                    self._comparison()
                with card("Events", "happenings-card"):
                    HappeningList()
                with card("Recording"):
                    Rows().show(file_rows(service.motion, service.second))
        ui.timer(REFRESH_S, self._refresh)
        self._refresh()

    def _header(self) -> None:
        motion, second = self._service.motion, self._service.second
        beside = "" if second is None else f", beside {second.path.name}"
        with ui.element("header").classes("top"):
            with ui.element("div").classes("doing"):
                with ui.element("h1"):
                    ui.label(f"linkwork · {motion.run.machine.name} · {motion.path.name}{beside}")
                self._doing = ui.label()
                self._limited = ui.label().classes("limited")
            self._chip = ui.label().classes("chip")
            ui.label("recording").classes("chip")
            units_button()
            color_button()
        connection_banner(
            "The connection to the console is lost.",
            "The console was ended. “linkwork console FILE” opens the recording again.",
        )

    def _comparison(self) -> None:
        with card("Difference"):
            with ui.element("div").classes("bar"):
                ui.label("aligned at")
                choice = ui.select(list(ALIGNMENTS), value=ALIGNMENTS[0]).props(
                    'dense aria-label="Both recordings are aligned at"'
                )
                choice.on_value_change(lambda event: self._align(str(event.value)))
            self._offset = ui.label().classes("quiet")
            self._differences = ui.html("", sanitize=False).classes("table-wrap")
        self._show_differences()

    def _align(self, how: str) -> None:
        self._service.align(self._page, how)
        self._drawn = None
        self._show_differences()

    def _show_differences(self) -> None:
        pair = self._player.pair
        if pair is None:
            return
        name, way = pair.second.path.name, "later" if pair.offset_s >= 0.0 else "earlier"
        self._offset.set_text(f"{name} is shown {abs(pair.offset_s):.3f} s {way}; first minus second:")
        self._differences.set_content(difference_table(pair.differences()))

    def _refresh(self) -> None:
        player, motion = self._player, self._service.motion
        row, second = player.row, player.second_row
        if (row, second) == self._drawn:
            return
        self._drawn = (row, second)
        state = motion.run.state_at(row)
        described = motion.run.described
        self._doing.set_text(doing(state, ""))
        limited = limited_by(state, described)
        self._limited.set_text(f"limited: {limited}" if limited else "")
        self._chip.set_text(state["state"])
        self._chip.classes(replace=f"chip {state['state']}")
        goal = state["goal"]
        self._goal.set_text("no goal" if goal is None else goal_words(goal))
        self._bar.set_visibility(goal is not None)
        if goal is not None:
            self._bar.set_value(round(goal["fraction"], 3))
        other = None if second is None or player.pair is None else player.pair.second.run.state_at(second)
        self._values.show(described, state, other)


def _recorded(motion: RecordedMotion) -> list[list[str]]:
    """Return the first plots, of channels that were recorded."""
    return [
        [name for name in names if name in motion.channels] for names in first_plots(motion.run.described)
    ]


def file_rows(motion: RecordedMotion, second: RecordedMotion | None) -> dict[str, str]:
    """Return what the files say of themselves, as rows."""
    rows: dict[str, str] = {}
    for title, each in (("", motion), ("beside: ", second)):
        if each is None:
            continue
        head, paths = each.run.recording.metadata, each.run.recording.paths
        more = f" and {len(paths) - 1} further segments" if len(paths) > 1 else ""
        first, last = (int(each.run.records["tick"][k]) for k in (0, -1))
        rows |= {
            f"{title}file": f"{each.path}{more}",
            f"{title}ticks": f"{first} to {last}, {each.duration_s:.3f} s",
            f"{title}run": f"law {head.get('law', '?')}, pace {head.get('pace', '?')}, "
            f"linkwork {head.get('linkwork', '?')}",
        }
        if damage := each.run.recording.damage:
            rows[f"{title}damage"] = damage
    if second is not None:
        heads = [each.run.recording.metadata for each in (motion, second)]
        same = heads[0].get("config") == heads[1].get("config")
        rows["machine files"] = "the same" if same else "different"
    return rows


def difference_table(differences: list[Difference]) -> str:
    """Return the largest and the root mean square difference by coordinate."""
    if not differences:
        return "<p>Both have no time, or no coordinate, in common.</p>"
    rows = [
        (each.name, shown(each.largest, each.unit), f"{each.at_s:.3f} s", shown(each.rms, each.unit))
        for each in differences
    ]
    return html_table(("", "largest", "at", "rms"), rows)
