"""The preview of a goal: a ghost on the walked path, the verdict in words, and the slowest need of time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nicegui import ui

from linkwork.console.page_elements import PreviewBar
from linkwork.console.page_parts import PageActions, card
from linkwork.console.state_words import shown
from linkwork.trajectories.time_stretch import stretched

POSES: Final = 240
_SHORTEST_STRETCH: Final = 0.25
_LONGEST_STRETCH: Final = 5.0
_STRETCH_STEP: Final = 0.01


@dataclass(frozen=True)
class PlannedMotion:
    """A goal that has not been sent: a trajectory (plain data), or the target and speed of a move."""

    title: str
    trajectory: Mapping[str, Any] | None = None
    target: Mapping[str, float] | None = None
    speed: float = 1.0

    def slower(self, factor: float) -> PlannedMotion:
        """Return the motion that takes `factor` times as long."""
        if self.trajectory is None:
            return PlannedMotion(self.title, None, self.target, min(1.0, self.speed / factor))
        return PlannedMotion(self.title, stretched(self.trajectory, factor))

    @property
    def request(self) -> tuple[str, dict[str, Any]]:
        """Method and parameters that send it."""
        if self.trajectory is None:
            return "move", {"target": self.target, "speed": self.speed}
        return "send", {"trajectory": self.trajectory}

    @property
    def question(self) -> dict[str, Any]:
        """Parameters of `check`."""
        return {**self.request[1], "poses": POSES}


class GoalPreview:
    """The card below the machine; hidden while nothing is previewed."""

    def __init__(self, actions: PageActions) -> None:
        self._actions = actions
        self._motion: PlannedMotion | None = None
        self._least: float | None = None
        self._sendable = False
        with card("Preview", "preview-card") as self._card:
            self._title = ui.label().classes("preview-title")
            self._verdict = ui.label().props("role=status")
            self._bar = PreviewBar()
            with ui.element("div").classes("bar"):
                ui.label("takes").classes("quiet")
                self._stretch = (
                    ui.slider(min=_SHORTEST_STRETCH, max=_LONGEST_STRETCH, value=1.0, step=_STRETCH_STEP)
                    .props('aria-label="Time stretch of the goal" style="width: 12rem"')
                    .on("change", self._check)
                )
                self._factor = ui.label()
                self._stretch.on_value_change(self._say_factor)
                self._quickest = ui.button("quickest feasible", on_click=self._choose_least).props(
                    "no-caps outline"
                )
            with ui.element("div").classes("bar"):
                self._send = ui.button("send this goal", on_click=self._send_goal).props("no-caps")
                ui.button("discard", on_click=self.clear).props("no-caps outline")
        self._card.set_visibility(False)

    async def show(self, motion: PlannedMotion) -> None:
        """Preview a motion as it is."""
        self._motion, self._least = motion, None
        self._stretch.set_value(1.0)
        self._title.set_text(motion.title)
        await self._check()

    def clear(self) -> None:
        """Show nothing."""
        self._motion, self._sendable = None, False
        self._card.set_visibility(False)
        self._actions.tell({"type": "preview"})

    def refresh(self, *, operates: bool) -> None:
        """Enable *send* where this page may send the goal."""
        self._send.set_enabled(operates and self._sendable)

    @property
    def _slower(self) -> PlannedMotion:
        assert self._motion is not None
        return self._motion.slower(float(self._stretch.value))

    def _say_factor(self) -> None:
        self._factor.set_text(f"{float(self._stretch.value):.2f} × its time")

    async def _check(self) -> None:
        self._say_factor()
        if self._motion is None:
            return
        answer = await self._actions.ask("check", **self._slower.question)
        if answer is None:
            self.clear()
            return
        await self._show_answer(answer)

    async def _show_answer(self, answer: Mapping[str, Any]) -> None:
        self._sendable = bool(answer["feasible"])
        worst = None if self._sendable else answer["violations"][0]
        self._verdict.set_text(verdict_text(answer))
        self._verdict.classes(replace="accepted" if self._sendable else "refused")
        least = 1.0 / max(1.0, answer["largest_speed"]) if self._sendable else answer["min_time_stretch"]
        self._least = None if least is None else float(self._stretch.value) * least
        self._quickest.set_enabled(self._least is not None)
        if self._least is not None and self._least > _LONGEST_STRETCH:
            self._stretch.props(f"max={math.ceil(2.0 * self._least)}")
        self._card.set_visibility(True)
        content, poses = self._actions.service.feed.known.content, answer["poses"]
        if content is None:
            return
        drawn = await asyncio.to_thread(self._actions.service.drawing.drawn, content, poses["q"])
        events = [
            {
                "time_s": event["fires_s"],
                "text": ", ".join(f"{name} {_value(on)}" for name, on in event["set"].items()),
            }
            for event in answer["report"].get("events", [])
        ]
        message = {"type": "preview", **drawn, "times": poses["time_s"], "events": events}
        if worst is not None:
            message |= {
                "refused": poses["refused"],
                "joint": worst["coordinate"],
                "reason": violation_text(worst),
            }
        self._actions.tell(message)

    async def _choose_least(self) -> None:
        if self._least is not None:
            steps = math.ceil(self._least / _STRETCH_STEP)
            self._stretch.set_value(max(_SHORTEST_STRETCH, round(steps * _STRETCH_STEP, 2)))
            await self._check()

    async def _send_goal(self) -> None:
        if self._motion is None:
            return
        method, params = self._slower.request
        goal = await self._actions.ask(method, **params)
        if goal is not None:
            ui.notify(f"goal {goal['goal']} accepted, {goal['duration_s']:.2f} s", type="positive")
            self.clear()


def _value(value: Any) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else f"{value:g}"


def violation_text(violation: Mapping[str, Any]) -> str:
    """Return coordinate, quantity, value and limit of a violation, in the units of people."""
    what = f"{violation['coordinate']}: {violation['quantity']}"
    if "value" not in violation:
        return what
    unit = violation.get("unit", "")
    return f"{what} {shown(violation['value'], unit)}, allowed {shown(violation['limit'], unit)}"


def verdict_text(answer: Mapping[str, Any]) -> str:
    """Return the answer of `check` in one or two sentences."""
    if answer["feasible"]:
        return f"feasible: {answer['duration_s']:.2f} s"
    worst = answer["violations"][0]
    others = len(answer["violations"]) - 1
    more = f" {others} more {'limit is' if others == 1 else 'limits are'} exceeded." if others else ""
    stretch = answer["min_time_stretch"]
    way_out = f" Feasible in {stretch:.3g} times that time." if stretch else " A slower motion does not help."
    return f"refused: {worst['text']}.{more}{way_out}"
