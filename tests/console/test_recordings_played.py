"""Recordings in the console: the player, two recordings laid on each other, curves, and the page itself."""

import csv
import io
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from fastapi import FastAPI

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its deprecation of httpx is not this test's business
    from starlette.testclient import TestClient

from linkwork.console.machine_feed import HEADER
from linkwork.console.recorded_motion import RecordedMotion
from linkwork.console.recording_player import MotionPair, Player
from linkwork.console.recording_service import RecordingService
from linkwork.launch.daemons import Rig
from linkwork.recordings.recording import thinned
from tests.command import linkwork
from tests.console.accessibility import beyond_keyboard, faint_texts, nameless_controls
from tests.console.browsing import UNDRAWN, Watched, chromium, console, console_of, playwright, screenshot
from tests.console.swings import SCARA, swing_recording
from tests.system.running import patient_machine
from tests.waiting import wait_for


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("recordings")
    swing_recording(made / "first.mcap")
    swing_recording(made / "second.mcap", amplitude=0.3, wait_s=0.2)
    return made


@pytest.fixture(scope="module")
def first(folder: Path) -> RecordedMotion:
    return RecordedMotion(folder / "first.mcap")


@pytest.fixture(scope="module")
def second(folder: Path) -> RecordedMotion:
    return RecordedMotion(folder / "second.mcap")


def test_each_tick_can_be_reached_with_its_pose_and_values(first: RecordedMotion) -> None:
    player = Player(first)
    player.seek(0.7)
    numbers = np.frombuffer(player.picture()[1])
    bodies = int(numbers[3])
    row = first.row_at(0.7)
    q = first.run.records["q"][row]
    assert numbers[2] == pytest.approx(0.7)
    np.testing.assert_array_equal(numbers[HEADER : HEADER + 12 * bodies], first.frames.frames_at(q).ravel())
    values = dict(zip(first.channels, numbers[HEADER + 12 * bodies :], strict=True))
    assert values["q/shoulder"] == q[0]
    assert values["tick"] == first.run.records["tick"][row]
    player.step(1)
    assert player.row == row + 1
    player.step(-10_000)
    assert player.row == 0


def test_time_passes_at_the_chosen_speed_and_ends_with_the_recording(first: RecordedMotion) -> None:
    player = Player(first)
    player.advance(1.0)
    assert player.time_s == 0.0
    player.play(0.5)
    player.advance(0.4)
    assert (player.time_s, player.playing) == (pytest.approx(0.2), True)
    player.advance(100.0)
    assert (player.time_s, player.playing) == (first.duration_s, False)
    player.play(2.0)
    assert player.time_s == 0.0
    for wrong in (0.0, -1.0, float("nan"), 1e6):
        with pytest.raises(ValueError, match=r".*"):
            player.play(wrong)
    with pytest.raises(ValueError, match="nan"):
        player.seek(float("nan"))


def test_the_events_of_a_recording_are_those_of_its_ticks(first: RecordedMotion) -> None:
    texts = [each.text for each in first.run.happenings]
    assert any(text.startswith("goal 1 begins") for text in texts)
    assert any(text.startswith("goal 1 ends: SUCCESSFUL") for text in texts)
    begin = next(each for each in first.run.happenings if each.group == "goal")
    assert first.first_goal_s == pytest.approx(begin.time_s)


def test_a_recording_beside_itself_differs_in_nothing(first: RecordedMotion) -> None:
    assert {each.largest for each in MotionPair(first, first).differences()} == {0.0}


def test_two_recordings_are_aligned_at_their_goals_and_compared(
    first: RecordedMotion, second: RecordedMotion
) -> None:
    pair = MotionPair(first, second)
    assert pair.offset_s == pytest.approx(-0.1)
    at = first.first_goal_s
    assert at is not None
    row = pair.second_row(at + 0.5)
    assert row is not None
    assert second.time_s[row] == pytest.approx(at + 0.6)
    (shoulder,) = [each for each in pair.differences() if each.name == "shoulder"]
    apart = first.run.columns["q.shoulder"] - np.interp(
        first.time_s, second.time_s - 0.1, second.run.columns["q.shoulder"]
    )
    assert abs(shoulder.largest) == pytest.approx(np.abs(apart).max(), rel=1e-6)
    assert first.time_s[np.abs(apart).argmax()] == pytest.approx(shoulder.at_s)
    pair.align("begin")
    assert pair.offset_s == 0.0
    assert pair.second_row(first.duration_s + 10.0) is None


def test_thinned_curves_keep_their_peaks() -> None:
    time_s = np.linspace(0.0, 1.0, 10_001)
    spikes = np.where(np.arange(10_001) == 1234, 7.0, np.sin(time_s))
    spikes[4321], spikes[50] = -9.0, np.nan
    found = thinned(time_s, {"a": spikes}, 200)
    assert len(found["time_s"]) == 200
    assert (max(found["values"]["a"]), min(found["values"]["a"])) == (7.0, -9.0)
    assert found["time_s"] == sorted(found["time_s"])
    assert thinned(time_s[:3], {"a": np.array([1.0, np.nan, 2.0])}, 200)["values"]["a"] == [1.0, None, 2.0]


def test_csv_has_every_tick_that_is_shown_and_the_other_recording_beside(
    first: RecordedMotion, second: RecordedMotion
) -> None:
    service, app = RecordingService(first, second), FastAPI()
    service.add_routes(app)
    client = TestClient(app)
    query = {"page": "p", "name": ["q/shoulder", "nonsense"], "begin_s": 0.5, "end_s": 0.6}
    assert client.get("/console/curves.csv", params=query).status_code == 404
    service.player("p")
    rows = list(csv.reader(io.StringIO(client.get("/console/curves.csv", params=query).text)))
    assert rows[0] == ["time_s", "q/shoulder", "q/shoulder (second.mcap)"]
    assert len(rows) == 1 + 101
    at = first.row_at(0.5)
    other = second.row_at(0.6)
    assert [float(each) for each in rows[1]] == [
        first.time_s[at],
        first.column("q/shoulder")[at],
        second.column("q/shoulder")[other],
    ]
    curves = client.get("/console/curves", params={**query, "points": 20}).json()
    assert len(curves["time_s"]) == len(curves["beside"]["time_s"]) == 20


def test_mistakes_are_said_without_a_page(folder: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.mcap"
    words.write_text("words")
    for given, text in (
        (["nothing.mcap"], "cannot be read"),
        ([str(words)], "is not a recording"),
        ([str(folder / "first.mcap"), "--beside", str(words)], "is not a recording"),
        (["--beside", str(folder / "first.mcap")], "give the first one"),
    ):
        ran = linkwork("console", *given)
        assert (ran.returncode, text in ran.stderr) == (2, True), ran.stderr


@pytest.mark.timeout(300)
def test_a_page_plays_two_recordings_with_slider_keys_and_plots(folder: Path) -> None:
    words = (str(folder / "first.mcap"), "--beside", str(folder / "second.mcap"))
    with console(*words) as (_, address), playwright() as started, chromium(started, UNDRAWN) as browser:
        watched = Watched(browser, address, viewport={"width": 1440, "height": 1000})
        page = watched.page

        def tick() -> Any:
            return page.evaluate("window.linkwork.value('tick')")

        slider = page.get_by_role("slider", name="Time of the recording")
        assert page.get_by_role("button", name="STOP the machine").count() == 0
        page.get_by_role("button", name="goal 1 begins").first.click()
        wait_for(
            lambda: page.evaluate("window.linkwork.link.picture.timestamp") > 0.05, "the begin of the goal"
        )
        begin = tick()
        slider.focus()
        page.keyboard.press("ArrowRight")
        wait_for(lambda: tick() == begin + 1, "the next tick")
        page.keyboard.press("Shift+ArrowRight")
        wait_for(lambda: tick() == begin + 101, "the tick a hundred later")
        page.get_by_text("Difference", exact=True).wait_for()
        assert page.locator("table.values >> text=shoulder").count() == 2
        page.keyboard.press("Home")
        wait_for(lambda: page.evaluate("window.linkwork.link.picture.timestamp") == 0.0, "the begin")
        page.keyboard.press("Space")
        last = SCARA.period_s * 1000
        wait_for(lambda: page.evaluate("window.linkwork.link.picture.timestamp") > last, "one second")
        page.keyboard.press("Space")
        page.get_by_role("button", name="Play", exact=True).wait_for()
        with page.expect_download() as saved:
            page.get_by_role("button", name="CSV").first.click()
        head = Path(saved.value.path()).read_text().splitlines()[0]
        assert head.split(",")[0] == "time_s"
        assert "(second.mcap)" in head
        watched.close()
        assert (watched.errors, watched.foreign) == ([], [])


@pytest.mark.timeout(300)
def test_a_page_of_a_machine_opens_the_recordings_beside_its_log(tmp_path: Path) -> None:
    config = patient_machine(tmp_path)
    words = [str(config), "--realtime", "ignore"]
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        logs = Path(made) / "logs"
        logs.mkdir()
        swing_recording(logs / "swing.mcap")
        (logs / "cut.mcap").write_bytes(b"nothing")
        daemons = Rig("scara", words, [*words, "--log", str(logs)], Path(made))
        with daemons as rig, playwright() as started, chromium(started, UNDRAWN) as browser:
            rig.wait_ready(lambda _: None)
            with console_of(rig) as (_, address):
                watched = Watched(browser, address, viewport={"width": 1440, "height": 1000})
                page = watched.page
                page.get_by_text("logs on this computer").click()
                page.get_by_role("button", name="play cut.mcap").click()
                page.get_by_text("cut.mcap").nth(1).wait_for()
                page.get_by_role("button", name="play swing.mcap").click()
                with page.context.expect_page() as opened:
                    page.get_by_role("link", name="open the player").click()
                opened.value.get_by_role("slider", name="Time of the recording").wait_for()
                assert "swing.mcap" in opened.value.inner_text("h1")
                watched.close()
                assert watched.errors == []


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("colors", ["light", "dark"])
def test_the_page_of_recordings_is_accessible(colors: str, folder: Path, tmp_path: Path) -> None:
    words = (str(folder / "first.mcap"), "--beside", str(folder / "second.mcap"))
    with console(*words) as (_, address), playwright() as started, chromium(started) as browser:
        for name, size in {"recording": (1440, 1000), "recording-zoomed": (720, 500)}.items():
            viewport = {"width": size[0], "height": size[1]}
            watched = Watched(browser, address, viewport=viewport, color_scheme=colors)
            page = watched.page
            page.get_by_text("goal 1 begins").first.click()
            page.wait_for_timeout(500)
            screenshot(page, f"{name}-{colors}", tmp_path)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), name
            assert faint_texts(page) == []
            assert nameless_controls(page) == []
            assert beyond_keyboard(page) == []
            watched.close()
            assert (watched.errors, watched.foreign) == ([], [])
