"""The preview of a goal: what is sent is what was checked and is shown."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from linkwork.console import goal_preview
from linkwork.console.goal_preview import GoalPreview, PlannedMotion


class Element:
    """Stands for any element of the page."""

    def __init__(self, *_: Any, **options: Any) -> None:
        self.text, self.shown, self.enabled, self.value = "", True, True, options.get("value")

    def __enter__(self) -> "Element":
        return self

    def __exit__(self, *_: object) -> None: ...

    def classes(self, *_: Any, **__: Any) -> "Element":
        return self

    props = on_value_change = classes

    def set_text(self, text: str) -> None:
        self.text = text

    def set_value(self, value: float) -> None:
        self.value = value

    def set_visibility(self, shown: bool) -> None:
        self.shown = shown

    def set_enabled(self, enabled: bool) -> None:
        self.enabled = enabled


class AnsweringActions:
    """Answers checks by a function, at once or when `gates` are opened."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]], *, gated: bool = False) -> None:
        self.state: dict[str, Any] = {"q": {"x": 0.0}, "goal": None, "state": "active"}
        known = SimpleNamespace(content=None, state=self.state)
        self.service = SimpleNamespace(feed=SimpleNamespace(known=known))
        self.sent: list[dict[str, Any]] = []
        self.checks: list[dict[str, Any]] = []
        self.gates: list[asyncio.Event] = []
        self._answer, self._gated = answer, gated

    def tell(self, message: dict[str, Any]) -> None: ...

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        if method != "check":
            self.sent.append(params)
            return {"goal": 1, "duration_s": 1.0}
        self.checks.append(params)
        gate = asyncio.Event()
        self.gates.append(gate)
        if self._gated:
            await gate.wait()
        return self._answer(params)


def feasible(duration_s: float, largest_speed: float = 1.0) -> dict[str, Any]:
    answer = {"feasible": True, "duration_s": duration_s, "largest_speed": largest_speed, "violations": []}
    return answer | {"min_time_stretch": 1.0, "poses": {}, "report": {}}


def always(_: dict[str, Any]) -> dict[str, Any]:
    return feasible(1.0)


@pytest.fixture(autouse=True)
def elements(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("label", "element", "slider", "button", "checkbox")
    stand_in = SimpleNamespace(**dict.fromkeys(kinds, Element))
    stand_in.notify = lambda *_, **__: None
    monkeypatch.setattr(goal_preview, "ui", stand_in)
    monkeypatch.setattr(goal_preview, "card", Element)
    monkeypatch.setattr(goal_preview, "PreviewBar", Element)


def preview_of(actions: Any) -> Any:
    return GoalPreview(actions)


def move(x: float, speed: float = 1.0) -> PlannedMotion:
    return PlannedMotion(f"to {x}", None, {"x": x}, speed)


def test_nothing_is_sent_while_a_check_runs_and_late_answers_are_ignored() -> None:
    async def run() -> None:
        actions = AnsweringActions(always, gated=True)
        preview = preview_of(actions)
        first = asyncio.create_task(preview.show(move(1.0)))
        await asyncio.sleep(0)
        second = asyncio.create_task(preview.show(move(2.0)))
        await asyncio.sleep(0)
        actions.gates[0].set()
        await first
        preview.refresh(operates=True)
        assert not preview._send.enabled
        await preview._send_goal()
        assert actions.sent == []
        actions.gates[1].set()
        await second
        preview.refresh(operates=True)
        assert preview._send.enabled
        third = asyncio.create_task(preview.show(move(3.0)))
        await asyncio.sleep(0)
        preview.clear()
        actions.gates[2].set()
        await third
        assert not preview._card.shown

    asyncio.run(run())


def test_a_file_can_be_followed_as_fast_as_the_machine_can() -> None:
    async def run() -> None:
        actions = AnsweringActions(always)
        preview = preview_of(actions)
        await preview.show(PlannedMotion("file", {"coordinates": ["x"], "points": []}))
        preview._fastest.value = True
        await preview._choose_timing()
        assert not preview._times.shown
        await preview._send_goal()
        assert actions.sent == [{"trajectory": {"coordinates": ["x"], "points": [], "timing": "fastest"}}]
        preview._fastest.value = False
        await preview.show(PlannedMotion("file", actions.sent[0]["trajectory"]).timed(fastest=False))
        assert preview._times.shown
        assert "timing" not in actions.checks[-1]["trajectory"]

    asyncio.run(run())


def test_only_a_machine_that_is_enabled_gets_a_goal() -> None:
    async def run() -> None:
        actions = AnsweringActions(always)
        preview = preview_of(actions)
        await preview.show(move(1.0))
        actions.state["state"] = "fault"
        preview.refresh(operates=True)
        assert not preview._send.enabled

    asyncio.run(run())


def test_what_was_checked_is_sent() -> None:
    async def run() -> None:
        actions = AnsweringActions(always)
        preview = preview_of(actions)
        await preview.show(move(1.0))
        preview._stretch.value = 2.0  # moved, and not yet checked
        sliding = asyncio.create_task(preview._slide())
        await asyncio.sleep(0)
        await preview._send_goal()
        assert actions.sent == []
        await sliding
        await preview._send_goal()
        assert actions.sent == [{"target": {"x": 1.0}, "speed": 0.5}]
        assert actions.checks[-1]["speed"] == 0.5

    asyncio.run(run())


@pytest.mark.parametrize(
    ("change", "words"), [({"q": {"x": 0.01}}, "has moved"), ({"goal": {"goal": 7}}, "under way")]
)
def test_a_machine_that_is_no_longer_where_it_was_is_checked_again(
    change: dict[str, Any], words: str
) -> None:
    async def run() -> None:
        actions = AnsweringActions(always)
        preview = preview_of(actions)
        await preview.show(move(1.0))
        actions.state.update({"q": {"x": 0.001}})  # within the tolerance
        preview.refresh(operates=True)
        assert preview._send.enabled
        actions.state.update(change)
        preview.refresh(operates=True)
        assert words in preview._verdict.text
        assert not preview._send.enabled
        assert preview._again.shown
        await preview._send_goal()
        assert actions.sent == []
        actions.state["goal"] = None
        await preview._check()
        preview.refresh(operates=True)
        assert preview._send.enabled

    asyncio.run(run())


def test_the_quickest_feasible_move_is_at_full_speed() -> None:
    async def run() -> None:
        actions = AnsweringActions(lambda asked: feasible(0.102 / asked["speed"], 2.0))
        preview = preview_of(actions)
        await preview.show(move(1.0, 0.05))
        assert preview._share.text == "1.00 × its time"
        await preview._choose_least()
        assert actions.checks[-1]["speed"] == 1.0
        assert preview._share.text == "0.05 × its time"

    asyncio.run(run())


def test_the_quickest_feasible_trajectory_is_searched_beyond_twice_the_speed() -> None:
    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        duration_s = asked["trajectory"]["points"][0]["time_from_start_s"]
        return feasible(duration_s, min(2.0, duration_s / 0.1))

    async def run() -> None:
        actions = AnsweringActions(answer)
        preview = preview_of(actions)
        points = [{"time_from_start_s": 2.0, "positions": [0.1]}]
        await preview.show(PlannedMotion("a file", {"coordinates": ["x"], "points": points}))
        await preview._choose_least()
        assert preview._answer["duration_s"] == pytest.approx(0.1, rel=0.02)
        assert preview._share.text == "0.05 × its time"
        assert len(actions.checks) <= goal_preview._MOST_CHECKS + 2

    asyncio.run(run())
