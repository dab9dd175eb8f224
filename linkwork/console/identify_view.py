"""The view that identifies the machine's dynamics: excite, run, identify, compare, apply."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.disableable_element import DisableableElement

from linkwork.console.identification_study import IdentificationStudy
from linkwork.console.machine_feed import Known
from linkwork.console.page_elements import RecordPlot
from linkwork.console.page_parts import PageActions, card, given_number, html_table
from linkwork.console.state_view import recordings
from linkwork.display_units import shown
from linkwork.reports.quantities import digits

_KNOWN: Final = {"alone": "known alone", "sum": "only in this sum", "not excited": "not excited"}
_PURPOSES: Final = ["all", "friction", "inertia", "payload"]
_ABOUT: Final = {
    "excite": "Searches for two motions of all motors around the initial pose, within all limits: one to "
    "identify from, and a shorter one to compare with. Nothing moves.",
    "run": "Moves the machine: to the beginning of the motions, and along both. Every tick is recorded. Path "
    "tolerances are wide. The machine must carry no part and have its workspace free.",
    "identify": "Finds masses, mass centres, inertias and friction with their deviations (1 σ). Data that "
    "cannot answer are refused; a model that lacks something gets no deviations and no new file.",
    "compare": "Predicts the efforts of a recording that was not used, with the present and the new file.",
    "apply": "Writes the new machine file beside the present one, which stays. The controller keeps the "
    "present file until it is started again.",
}
"""By step: what it does."""


class IdentifyView:
    """Cards of the steps; the study behind them is that of all pages of the console."""

    def __init__(self, actions: PageActions) -> None:
        self._actions = actions
        self._shown: tuple[int, int] | None = None
        self._said: dict[str, ui.label] = {}
        self._buttons: dict[str, DisableableElement] = {}
        self._results: dict[str, Element] = {}
        with card("Under way", "study-busy") as self._under_way, ui.element("div").classes("bar"):
            self._busy = ui.label().props("role=status")
            self._progress = ui.linear_progress(show_value=False).style("width: 12rem")
            self._cancel = self._button("cancel", self._end)
        with self._step("excite", "1 Excite"):
            with ui.element("div").classes("bar"):
                self._seconds = ui.number("duration, s", value=30, min=2, max=600)
                self._search = ui.number("search, s", value=20, min=1, max=600)
                self._purpose = ui.select(_PURPOSES, value="all", label="what is to be known").classes("wide")
            self._buttons["excite"] = self._button("design the motions", self._design)
        with self._step("run", "2 Run"):
            self._buttons["run"] = self._button("move and record", self._follow)
        with self._step("identify", "3 Identify"):
            with ui.element("div").classes("bar"):
                self._recording = ui.select({}, label="recording").classes("recording")
                self._twin = ui.checkbox("set the digital twin's threshold, too").props("dense")
            self._buttons["identify"] = self._button("identify", self._identify)
        with self._step("compare", "4 Compare"):
            self._unseen = ui.select({}, label="recording that was not used").classes("recording")
            self._buttons["compare"] = self._button("compare", self._compare)
        with self._step("apply", "5 Apply"), ui.element("div").classes("bar"):
            self._buttons["apply"] = self._button("write the new file", self._apply)
            self._buttons["save"] = self._button("save a copy", self._save)
            self._buttons["report"] = self._button("report", self._report)

    def _step(self, step: str, title: str) -> Element:
        """Make the card of a step; return the part before its words and results."""
        with card(title):
            ui.label(_ABOUT[step]).classes("quiet")
            body = ui.element("div").classes("left")
            self._said[step] = ui.label().classes("study-said").props("role=status")
            self._results[step] = ui.element("div").classes("left")
        return body

    def _button(self, text: str, act: Callable[[], Any]) -> ui.button:
        return ui.button(text, on_click=act).props("no-caps outline").style("align-self: start")

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Follow study and machine; enable the steps that can begin."""
        study = self._study
        if study is None:
            return
        self._under_way.set_visibility(bool(study.busy))
        self._busy.set_text(f"{study.busy}: {100.0 * study.progress:.0f} %")
        self._progress.set_value(study.progress)
        if self._shown != (id(study), study.changes):
            self._shown = id(study), study.changes
            self._build(study, known)
        state = known.state
        active = state is not None and state["state"] == "active" and state["goal"] is None
        able = {
            "excite": True,
            "run": bool(study.durations_s) and active,
            "identify": bool(self._recording.value),
            "compare": study.new_file is not None and self._unseen.value not in (None, self._recording.value),
            "apply": study.better,
            "save": study.better,
            "report": study.identified is not None,
        }
        for name, button in self._buttons.items():
            button.set_enabled(operates and not study.busy and able[name])
        self._cancel.set_enabled(operates)
        for step, label in self._said.items():
            said = study.said.get(step, "")
            if step == "run" and not said:
                said = _before_running(study, active=active)
            label.set_text("" if study.busy == step else said)

    @property
    def _study(self) -> IdentificationStudy | None:
        return self._actions.service.study

    def _build(self, study: IdentificationStudy, known: Known) -> None:
        """Show the results of all steps."""
        log = None if known.status is None else known.status["log"]
        listed = {str(path): path.name for path in (*study.recorded, *recordings(log))}
        for select, place in ((self._recording, -2), (self._unseen, -1)):
            latest = str(study.recorded[place]) if study.recorded else None
            select.set_options(listed, value=select.value if select.value in listed else latest)
        if study.busy == "" and study.said.get("run", "").startswith("recorded"):
            self._recording.set_value(str(study.recorded[-2]))
            self._unseen.set_value(str(study.recorded[-1]))
        for box in self._results.values():
            box.clear()
        if study.designed is not None:
            with self._results["excite"]:
                _parameters(study.designed, "file ± to expect", certain=True)
        if study.identified is not None:
            found = study.identified
            with self._results["identify"]:
                _parameters(found, "value", certain=found["model_error"] is None)
                _facts(found)
                RecordPlot(_curves(found["efforts"], ("measured", "predicted")))
        if study.compared is not None:
            with self._results["compare"]:
                _comparison(*study.compared)

    async def _run(self, step: str, work: Awaitable[str]) -> None:
        study = self._study
        assert study is not None
        if study.busy or not self._actions.service.seat.held_by(self._actions.page):
            ui.notify("another step is under way, or this page only observes", type="warning")
            getattr(work, "close", lambda: None)()
            return
        await study.run(step, work)

    async def _design(self) -> None:
        study, given = self._study, [given_number(field) for field in (self._seconds, self._search)]
        if study is not None and None not in given:
            await self._run(
                "excite", study.design(float(given[0] or 0), self._purpose.value, float(given[1] or 0))
            )

    async def _follow(self) -> None:
        if (study := self._study) is not None:
            await self._run("run", study.follow(self._actions.page))

    async def _identify(self) -> None:
        if (study := self._study) is not None:
            recording, unseen = Path(self._recording.value), self._unseen.value
            other = None if unseen in (None, self._recording.value) else Path(unseen)
            await self._run("identify", study.identify(recording, other, twin=bool(self._twin.value)))

    async def _compare(self) -> None:
        if (study := self._study) is not None:
            await self._run("compare", study.compare(Path(self._unseen.value)))

    async def _apply(self) -> None:
        if (study := self._study) is not None:
            await self._run("apply", study.apply())

    async def _end(self) -> None:
        if (study := self._study) is not None:
            await study.cancel()

    def _save(self) -> None:
        if (study := self._study) is not None and study.new_file is not None:
            ui.download.file(study.new_file, f"{study.source.stem}.identified.yaml")

    def _report(self) -> None:
        if (study := self._study) is not None:
            ui.download.file(study.folder / "report.html", f"{study.source.stem}-identification.html")


def _before_running(study: IdentificationStudy, *, active: bool) -> str:
    if not study.durations_s:
        return "Design the motions first."
    durations = " and ".join(f"{each:.1f} s" for each in study.durations_s)
    return f"Will take {durations}." + ("" if active else " Enable the machine first (view Move).")


def _parameters(found: Mapping[str, Any], value: str, *, certain: bool) -> None:
    """Show the parameters, grouped by status. certain: whether the values have deviations."""
    with ui.element("div").classes("study-table"):
        for status, title in _KNOWN.items():
            rows = [
                (
                    each["text"] + (f"; {each['remark']}" if certain and each["remark"] else ""),
                    digits(each["value"]) + (f" ± {digits(each['sigma'])}" if certain else ""),
                    digits(each["file"]),
                    each["unit"],
                )
                for each in found["parameters"]
                if each["status"] == status
            ]
            if rows:
                head = (f"{title}: {len(rows)}", value, "file", "unit")
                ui.html(html_table(head, rows), sanitize=False).classes("table-wrap")
        if unseen := found["unseen"]:
            with ui.expansion(f"cannot be seen with these motors: {len(unseen)}").props("dense"):
                ui.label(", ".join(unseen)).classes("quiet")


def _facts(found: Mapping[str, Any]) -> None:
    """Show delays, the efforts that remain, and what the data cannot show."""
    delays = (
        f"{name} {1e3 * each['value']:.3g} ± {1e3 * each['sigma']:.2g} ms"
        for name, each in found["delays_s"].items()
    )
    lines = [f"delay of the efforts: {', '.join(delays)}"]
    lines += [
        f"{each['joint']}: {100.0 * each['residual_rms'] / max(each['effort_rms'], 1e-300):.2g} % of the "
        "effort (rms) are not explained"
        for each in found["fits"]
    ]
    lines += [f"not excluded, since these data cannot show it: {kind}" for kind in found["not_excluded"]]
    if found["twin_effort_share"] is not None:
        lines.append(f"twin.effort_share in the new file: {found['twin_effort_share']:g}")
    for line in lines:
        ui.label(line)


def _comparison(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Show what both files leave unexplained of a recording."""
    units = {each["joint"]: each["unit"] for each in old["efforts"]}
    rows = [
        (
            one["joint"],
            shown(one["effort_rms"], units[one["joint"]]),
            f"{100.0 * one['unexplained']:.3g} %",
            f"{100.0 * other['unexplained']:.3g} %",
        )
        for one, other in zip(old["fits"], new["fits"], strict=True)
    ]
    head = ("", "effort, rms", "not predicted: present file", "new file")
    with ui.element("div").classes("table-wrap"):
        ui.html(html_table(head, rows), sanitize=False)
    both = [
        {**one, "present file": one["predicted"], "new file": other["predicted"]}
        for one, other in zip(old["efforts"], new["efforts"], strict=True)
    ]
    RecordPlot(_curves(both, ("measured", "present file", "new file")))


def _curves(efforts: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> dict[str, Any]:
    """Return curves of efforts as a plot of panels, one for each joint."""
    panels = {
        f"{each['joint']}: effort, {each['unit']}": {
            "curves": list(names),
            "time_s": each["time_s"],
            "values": {name: each[name] for name in names},
            "limits": [],
        }
        for each in efforts
    }
    return {"signals": panels, "title": "Efforts over time"}
