"""Names that people give reach the page unharmed, and requests that cannot be meant are refused."""

import asyncio
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from fastapi import FastAPI
from nicegui import Client, json, ui
from nicegui.page import page

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its deprecation of httpx is not this test's business
    from starlette.testclient import TestClient

from linkwork.console import page_parts, recording_service, teach_view
from linkwork.console.page_parts import given_share
from linkwork.console.recorded_motion import RecordedMotion
from linkwork.console.recording_service import RecordingService
from linkwork.console.teach_view import TeachView
from linkwork.recordings.recorded_run import Happening
from tests.console.swings import swing_recording


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(page_parts.ui, "notify", lambda text, **_: said.append(text))
    return said


async def within_a_page(build: Any) -> Any:
    with Client(page("/"), request=None):
        return build()


@pytest.mark.parametrize("name", ["pick 😀", 'a "quoted" name', "back\\slash"])
def test_any_name_of_a_point_is_a_name_on_the_page(name: str) -> None:
    def build() -> None:
        view: Any = SimpleNamespace(_row_buttons=[])
        TeachView._small(view, "go to", f"go to {name}", lambda: None)
        (button,) = view._row_buttons
        assert button.props["aria-label"] == f"go to {name}"
        json.dumps(dict(button.props))

    asyncio.run(within_a_page(build))


def test_without_a_plant_nothing_is_taught(notes: list[str]) -> None:
    known = SimpleNamespace(state={"q": {}}, status={"device": {"connected": False}})
    service = SimpleNamespace(feed=SimpleNamespace(known=known), taught=SimpleNamespace())
    view: Any = SimpleNamespace(_actions=SimpleNamespace(service=service), _operates=True)
    teach_view.TeachView._teach(view)
    assert "no plant is connected" in notes[0]


def test_an_empty_number_is_refused(notes: list[str]) -> None:
    def build() -> None:
        assert given_share(ui.number("speed, %", value=20)) == 0.2
        assert given_share(ui.number("speed, %")) is None

    asyncio.run(within_a_page(build))
    assert notes == ["“speed, %” is empty: give a number"]


def test_a_final_fault_is_told_of_however_much_happened() -> None:
    many = [Happening(k, 0.001 * k, k, "limited", "") for k in range(2999)]
    many.insert(5, Happening(5, 0.005, 5, "state", "early"))
    many.append(Happening(2999, 2.999, 2999, "fault", "BROKEN"))
    motion: Any = SimpleNamespace(run=SimpleNamespace(happenings=many))
    found = recording_service._happenings(motion, 0.0)
    assert {"early", "BROKEN"} <= {each[3] for each in found}
    assert found[-1][3].startswith("1001 of 3001 events are left out")
    assert [each[0] for each in found] == sorted(each[0] for each in found)


def test_curves_of_a_recording_with_any_name_can_be_saved(tmp_path: Path) -> None:
    path = swing_recording(tmp_path / "recording.mcap").rename(tmp_path / '記録 "1".mcap')
    service, app = RecordingService(RecordedMotion(path)), FastAPI()
    service.add_routes(app)
    service.player("p")
    query = {"page": "p", "name": "q/shoulder", "begin_s": 0.5, "end_s": 0.6}
    answer = TestClient(app).get("/console/curves.csv", params=query)
    name = answer.headers["content-disposition"].partition("filename*=UTF-8''")[2]
    assert unquote(name) == '記録 "1"-q-shoulder.csv'
