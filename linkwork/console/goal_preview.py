"""The preview of a goal: a ghost on the walked path, the verdict in words, and the slowest need of time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from nicegui import ui

from linkwork.console.page_elements import PreviewBar
from linkwork.console.page_parts import PageActions, card
from linkwork.console.path_limits import path_limits
from linkwork.display_units import shown
from linkwork.trajectories.teach import stretched

POSES: Final = 240
_SHORTEST_STRETCH: Final = 0.01
_LONGEST_STRETCH: Final = 5.0
_STRETCH_STEP: Final = 0.01
_MOST_CHECKS: Final = 12
"""In the search for the quickest feasible motion."""
_SETTLED_S: Final = 0.2
"""For so long the slider must rest before its motion is checked."""
_MOVED: Final = 2e-3
"""A joint (rad, m) that is further from where it was when the check began makes the preview invalid."""


@dataclass(frozen=True)
class PlannedMotion:
    """A goal that has not been sent: a trajectory (plain data), or the target and speed of a move."""

    title: str
    trajectory: Mapping[str, Any] | None = None
    target: Mapping[str, float] | None = None
    speed: float = 1.0

    @property
    def fastest(self) -> bool:
        """Whether the controller finds the times."""
        return self.trajectory is not None and self.trajectory.get("timing") == "fastest"

    def timed(self, *, fastest: bool) -> PlannedMotion:
        """Return the motion along the same path as fast as the machine can, or in its own times."""
        if self.trajectory is None or fastest == self.fastest:
            return self
        given = {key: value for key, value in self.trajectory.items() if key != "timing"}
        return replace(self, trajectory=given | ({"timing": "fastest"} if fastest else {}))

    def slower(self, factor: float) -> PlannedMotion:
        """Return the motion that takes `factor` times as long; one in the fastest time stays."""
        if self.fastest:
            return self
        if self.trajectory is None:
            return PlannedMotion(self.title, None, self.target, min(1.0, self.speed / factor))
        return PlannedMotion(self.title, stretched(self.trajectory, factor))

    @property
    def least_stretch(self) -> float:
        """The factor of `slower` below which nothing becomes quicker: that of a move at full speed."""
        return self.speed if self.trajectory is None else 0.0

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
    """The card below the machine; hidden while nothing is previewed.

    Only what was checked and is shown can be sent. Checks are numbered: late answers are ignored.
    """

    def __init__(self, actions: PageActions) -> None:
        self._actions = actions
        self._motion: PlannedMotion | None = None
        self._number = 0
        self._factor = 1.0
        self._given_s: float | None = None
        self._answer: Mapping[str, Any] | None = None
        self._checked: PlannedMotion | None = None
        self._start: Mapping[str, float] | None = None
        with card("Preview", "preview-card") as self._card:
            self._title = ui.label().classes("preview-title")
            self._verdict = ui.label().props("role=status")
            self._bar = PreviewBar()
            self._fastest = ui.checkbox("as fast as the machine can", on_change=self._choose_timing)
            self._fastest.props("dense")
            with ui.element("div").classes("bar") as self._times:
                ui.label("takes").classes("quiet")
                self._stretch = ui.slider(
                    min=_SHORTEST_STRETCH, max=_LONGEST_STRETCH, value=1.0, step=_STRETCH_STEP
                ).props('aria-label="Time stretch of the goal" style="width: 12rem"')
                self._share = ui.label()
                self._stretch.on_value_change(self._slide)
                self._quickest = ui.button("quickest feasible", on_click=self._choose_least).props(
                    "no-caps outline"
                )
            with ui.element("div").classes("bar"):
                self._send = ui.button("send this goal", on_click=self._send_goal).props("no-caps")
                self._again = ui.button("check again", on_click=self._check).props("no-caps outline")
                ui.button("discard", on_click=self.clear).props("no-caps outline")
        self._card.set_visibility(False)
        self._again.set_visibility(False)

    async def show(self, motion: PlannedMotion) -> None:
        """Preview a motion as it is."""
        self._motion, self._given_s = motion, None
        self._set_factor(1.0)
        self._fastest.set_visibility(motion.trajectory is not None)
        self._fastest.set_value(motion.fastest)
        self._times.set_visibility(not motion.fastest)
        self._title.set_text(motion.title)
        self._card.set_visibility(True)
        self._actions.tell({"type": "preview"})
        await self._check()

    def clear(self) -> None:
        """Show nothing."""
        self._forget()
        self._motion = None
        self._card.set_visibility(False)
        self._actions.tell({"type": "preview"})

    def refresh(self, *, operates: bool) -> None:
        """Enable *send* where this page may send the goal and the machine is where it was checked."""
        invalid = "" if self._answer is None else self._invalid()
        if self._answer is not None:
            self._verdict.set_text(invalid or verdict_text(self._answer))
            good = self._checked is not None and not invalid
            self._verdict.classes(replace="accepted" if good else "refused")
        self._again.set_visibility(bool(invalid))
        state = self._actions.service.feed.known.state
        able = operates and state is not None and state["state"] == "active"
        self._send.set_enabled(able and self._checked is not None and not invalid)

    def _forget(self) -> int:
        """Make the last answer invalid; return the number of the next check."""
        self._number += 1
        self._answer = self._checked = None
        self._send.set_enabled(False)
        self._again.set_visibility(False)
        self._quickest.set_enabled(False)
        self._verdict.set_text("being checked")
        self._verdict.classes(replace="quiet")
        self._share.set_text("")
        return self._number

    def _invalid(self) -> str:
        """Return why the path no longer begins where the machine is; empty where it does."""
        state = self._actions.service.feed.known.state
        if state is None:
            return "The controller does not answer: check again when it does."
        if state["goal"] is not None:
            return "Another goal is under way: check again when it has ended."
        start = self._start
        if start is None or any(abs(state["q"][name] - at) > _MOVED for name, at in start.items()):
            return "The machine has moved since this was checked: check again before sending."
        return ""

    def _set_factor(self, factor: float) -> None:
        self._factor = factor
        if factor > _LONGEST_STRETCH:
            self._stretch.props(f"max={math.ceil(2.0 * factor)}")
        self._stretch.set_value(factor)

    async def _slide(self) -> None:
        """Check what the slider asks for, once it rests."""
        factor = float(self._stretch.value)
        if factor == self._factor or self._motion is None:
            return
        self._factor, number = factor, self._forget()
        self._share.set_text(f"{factor:.2f} × asked for")
        await asyncio.sleep(_SETTLED_S)
        if number == self._number:
            await self._check()

    async def _choose_timing(self) -> None:
        fastest = bool(self._fastest.value)
        if self._motion is not None and self._motion.fastest != fastest:
            await self.show(self._motion.timed(fastest=fastest))

    async def _check(self) -> None:
        if self._motion is None:
            return
        number, motion = self._forget(), self._motion.slower(self._factor)
        state = self._actions.service.feed.known.state
        start = None if state is None else dict(state["q"])
        answer = await self._actions.ask("check", **motion.question)
        if number != self._number:
            return
        if answer is None:
            self.clear()
            return
        drawn = await self._drawn(answer)
        if number != self._number:
            return
        self._answer, self._start = answer, start
        self._checked = motion if answer["feasible"] else None
        if self._given_s is None:
            self._given_s = answer["duration_s"]
        share = answer["duration_s"] / self._given_s if self._given_s else 1.0
        self._share.set_text(f"{share:.2f} × its time")
        self._verdict.set_text(verdict_text(answer))
        self._verdict.classes(replace="accepted" if answer["feasible"] else "refused")
        self._quickest.set_enabled(answer["min_time_stretch"] is not None or answer["feasible"])
        if drawn is not None:
            self._actions.tell(drawn)

    async def _drawn(self, answer: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the message that shows the path of an answer."""
        content, poses = self._actions.service.feed.known.content, answer["poses"]
        if content is None:
            return None
        drawn = await asyncio.to_thread(self._actions.service.drawing.drawn, content, poses["q"])
        events = [
            {
                "time_s": event["fires_s"],
                "text": ", ".join(f"{name} {_value(on)}" for name, on in event["set"].items()),
            }
            for event in answer["report"].get("events", [])
        ]
        message = {"type": "preview", **drawn, "times": poses["time_s"], "events": events}
        if answer["feasible"]:
            message |= path_limits(answer["report"].get("timing"), poses["time_s"])
        else:
            worst = answer["violations"][0]
            message |= {
                "refused": poses["refused"],
                "joint": worst["coordinate"],
                "reason": violation_text(worst),
            }
        return message

    async def _choose_least(self) -> None:
        if self._motion is None:
            return
        number = self._forget()
        factor = await self._least(self._motion, self._factor)
        if number == self._number:
            self._set_factor(self._factor if factor is None else factor)
            await self._check()

    async def _least(self, motion: PlannedMotion, factor: float) -> float | None:
        """Return the least factor of `slower` that is feasible; None where none was found.

        A controller looks no further than twice the speed, and a move's speed is no exact measure of its
        time: so each answer says only where to look next.
        """
        factor, best, number = motion.least_stretch or factor, None, self._number
        for _ in range(_MOST_CHECKS):
            answer = await self._actions.ask("check", **motion.slower(factor).request[1])
            if answer is None or number != self._number:
                break
            if answer["feasible"]:
                best = factor
                factor = max(motion.least_stretch, factor / max(1.0, answer["largest_speed"]))
            elif answer["min_time_stretch"] is not None:
                factor *= answer["min_time_stretch"]
            else:
                break
            factor = _rounded_up(factor)
            if best is not None and factor >= best:
                break
        return best

    async def _send_goal(self) -> None:
        motion = self._checked
        if motion is None or self._invalid():
            return
        self._checked = None
        self._send.set_enabled(False)
        number = self._number
        method, params = motion.request
        goal = await self._actions.ask(method, **params)
        if goal is not None:
            ui.notify(f"goal {goal['goal']} accepted, {goal['duration_s']:.2f} s", type="positive")
        if number == self._number:
            if goal is None:
                self._checked = motion
            else:
                self.clear()


def _rounded_up(factor: float) -> float:
    """Return a stretch in steps of the slider; a very short one more finely."""
    step = _STRETCH_STEP if factor >= 10.0 * _STRETCH_STEP else 0.01 * _STRETCH_STEP
    return round(math.ceil(factor / step - 1e-6) * step, 4)


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
