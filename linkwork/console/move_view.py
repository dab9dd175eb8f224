"""The view that moves the machine: enable, jog, move to numbers, trajectory files, speed, signals."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from nicegui import events, run, ui
from nicegui.elements.mixins.disableable_element import DisableableElement

from linkwork.console.goal_preview import GoalPreview, PlannedMotion
from linkwork.console.machine_feed import Known, jog_groups
from linkwork.console.page_elements import JogPad
from linkwork.console.page_parts import (
    PageActions,
    card,
    chosen_file,
    given_number,
    given_share,
    trajectory_in,
)
from linkwork.display_units import decimals, shown, shown_in


def _active(state: Mapping[str, Any]) -> bool:
    return bool(state["state"] == "active")


def _goal(state: Mapping[str, Any], *status: str) -> bool:
    goal = state["goal"]
    return goal is not None and (not status or goal["status"] in status)


_POSSIBLE: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = {
    "enable": lambda state: state["state"] == "inactive",
    "disable": lambda state: state["state"] in ("active", "stopping"),
    "pause": lambda state: _goal(state, "running"),
    "resume": lambda state: _goal(state, "paused"),
    "cancel": lambda state: _goal(state) or state["stream"] is not None,
    "set speed": _goal,
    "move": _active,
    "send": _active,
}
"""States in which the buttons with these texts can have an effect."""


class MoveView:
    """Controls of one page; all are inactive while the page only observes."""

    def __init__(self, actions: PageActions, preview: GoalPreview) -> None:
        self._actions, self._preview = actions, preview
        self._units: dict[str, str] = {}
        self._built: str | None = None
        self._fields: dict[str, tuple[ui.number, float]] = {}
        self._guarded: list[DisableableElement] = []
        with card("Drives"), ui.element("div").classes("bar"):
            for method in ("enable", "disable", "pause", "resume", "cancel"):
                self._button(method, partial(actions.effect, method))
            self._estop = ui.button("brake now (estop)", on_click=lambda: actions.effect("estop"))
            self._estop.props('no-caps outline color="negative"')
        with card("Jog"):
            self.jog = JogPad()
        with card("Speed of the goal"), ui.element("div").classes("bar"):
            self._speed = ui.slider(min=0, max=100, value=100, step=1).props(
                'label-always aria-label="Speed of the goal, percent" style="width: 14rem"'
            )
            self._guard(self._speed)
            self._button("set speed", self._set_speed)
        with card("Move to"):
            self._targets = ui.element("div").classes("bar")
            with ui.element("div").classes("bar"):
                self._share = ui.number("speed, %", value=20, min=1, max=100, step=5)
                self._button("present values", self._fill)
                self._button("preview", self._preview_move)
                self._button("move", self._move)
        with card("Trajectory file"):
            ui.label("YAML, or CSV of way-points, as for `linkwork send`.").classes("quiet")
            chosen_file("choose a file", self._read)
            self._file_text = ui.label().classes("quiet")
            with ui.element("div").classes("bar"):
                self._check_button = ui.button("check", on_click=self._check).props("no-caps outline")
                self._send_button = self._button("send", self._send)
            self._verdict = ui.label().classes("refused")
        self._trajectory: dict[str, Any] | None = None
        self._file = ""
        with card("Signals") as self._signal_card:
            self._signals = SignalRows(actions, self._guard)

    def _button(self, text: str, act: Callable[[], Any]) -> ui.button:
        made = ui.button(text, on_click=act).props("no-caps outline")
        self._guard(made)
        return made

    def _guard(self, element: DisableableElement) -> None:
        self._guarded.append(element)

    def refresh(self, known: Known, *, operates: bool) -> None:
        """Follow the machine; enable the controls where this page operates and the machine answers."""
        content, state = known.content, known.state
        if content is None:
            return
        if self._built != content.described["config"]:
            self._built = content.described["config"]
            self._build(content.described)
        mode = "" if state is None else str(state["state"])
        for element in self._guarded:
            possible = _POSSIBLE.get(getattr(element, "text", ""))
            able = state is not None and (possible is None or possible(state))
            element.set_enabled(operates and able)
        self._estop.set_enabled(mode not in ("", "estop"))
        self.jog.allow(mode, enabled=operates and mode in ("active", "stopping"))
        self._check_button.set_enabled(self._trajectory is not None and state is not None)
        if self._trajectory is None:
            self._send_button.disable()
        if state is not None:
            self._signals.refresh(state["signals"])

    def _build(self, described: Mapping[str, Any]) -> None:
        self._targets.clear()
        self._fields = {}
        self._units = {each["name"]: each["unit"] for each in described["coordinates"]}
        with self._targets:
            for group in jog_groups(described)[:1]:
                for each in group["coordinates"]:
                    factor, unit = shown_in(each["unit"])
                    field = ui.number(f"{each['name']}, {unit}", format=f"%.{decimals()}f").style(
                        "width: 9rem"
                    )
                    self._fields[each["name"]] = (field, factor)
        self._signal_card.set_visibility(bool(described["signals"]))
        self._signals.build(described["signals"])

    def _fill(self) -> None:
        state = self._actions.service.feed.known.state
        if state is not None:
            there = {**state["q"], **state["coordinates"]}
            for name, (field, factor) in self._fields.items():
                field.set_value(round(there[name] * factor, decimals()))

    def _target(self) -> dict[str, float]:
        return {
            name: float(field.value) / factor
            for name, (field, factor) in self._fields.items()
            if field.value is not None
        }

    def _planned_move(self) -> PlannedMotion | None:
        target = self._target()
        if not target:
            ui.notify("give at least one number", type="warning")
            return None
        speed = given_share(self._share)
        if speed is None:
            return None
        place = ", ".join(f"{name} {shown(value, self._units[name])}" for name, value in target.items())
        return PlannedMotion(f"move to {place}", None, target, speed)

    async def _preview_move(self) -> None:
        motion = self._planned_move()
        if motion is not None:
            await self._preview.show(motion)

    async def _move(self) -> None:
        motion = self._planned_move()
        if motion is None:
            return
        method, params = motion.request
        goal = await self._actions.ask(method, **params)
        if goal is not None:
            ui.notify(f"goal {goal['goal']} accepted, {goal['duration_s']:.2f} s", type="positive")

    async def _set_speed(self) -> None:
        await self._actions.effect("speed", fraction=float(self._speed.value) / 100.0)

    async def _read(self, event: events.UploadEventArguments) -> None:
        content = await event.file.read()
        self._verdict.set_text("")
        try:
            self._trajectory = await run.io_bound(trajectory_in, event.file.name, content)
        except ValueError as error:
            self._trajectory = None
            self._file_text.set_text("")
            self._verdict.set_text(str(error))
        else:
            self._file = event.file.name
            self._file_text.set_text(f"{event.file.name}: {len(content)} bytes, read")

    async def _check(self) -> None:
        assert self._trajectory is not None
        await self._preview.show(PlannedMotion(self._file, self._trajectory))

    async def _send(self) -> None:
        goal = await self._actions.ask("send", trajectory=self._trajectory)
        if goal is not None:
            ui.notify(f"goal {goal['goal']} accepted, {goal['duration_s']:.2f} s", type="positive")


class SignalRows:
    """Inputs as lamps and values, outputs as switches and numbers."""

    def __init__(self, actions: PageActions, guard: Callable[[DisableableElement], None]) -> None:
        self._actions, self._guard = actions, guard
        self._box = ui.element("div").classes("bar")
        self._lamps: dict[str, ui.label] = {}
        self._units: dict[str, str] = {}
        self._known: dict[str, Any] = {}

    def build(self, described: list[Mapping[str, Any]]) -> None:
        """Make a lamp for each signal, and a control for each output."""
        self._box.clear()
        self._lamps = {}
        self._units = {each["name"]: each["unit"] for each in described}
        with self._box:
            for each in described:
                with ui.element("div").classes("bar"):
                    self._lamps[each["name"]] = ui.label(each["name"]).classes("lamp")
                    if each["direction"] == "output":
                        self._control(each)

    def _control(self, signal: Mapping[str, Any]) -> None:
        name = signal["name"]
        if signal["type"] == "digital":
            for text, value in (("on", True), ("off", False)):
                button = ui.button(text, on_click=lambda value=value: self._set(name, value))
                button.props["aria-label"] = f"{name} {text}"
                self._guard(button.props("no-caps outline dense"))
            return
        low, high = signal["range"]
        field = ui.number(f"{name}, {signal['unit']}", min=low, max=high).props("dense")
        self._guard(field)
        button = ui.button("set", on_click=lambda: self._set(name, given_number(field)))
        self._guard(button.props("no-caps outline dense"))

    async def _set(self, name: str, value: bool | float | None) -> None:
        if value is not None:
            await self._actions.effect("set", signals={name: value})

    def refresh(self, values: Mapping[str, Any]) -> None:
        """Show the values that the device reports."""
        for name, lamp in self._lamps.items():
            value = values.get(name)
            if value == self._known.get(name, lamp):
                continue
            self._known[name] = value
            if isinstance(value, bool):
                lamp.set_text(f"{name} {'on' if value else 'off'}")
                lamp.classes(add="on" if value else "", remove="" if value else "on")
            elif value is not None:
                lamp.set_text(f"{name} {value:.4g} {self._units[name]}")
