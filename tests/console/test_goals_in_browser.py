"""Goals, points, settings and assembly modes of the console in a real browser, with controller and plant."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from linkwork import Robot
from linkwork.launch.daemons import Rig
from linkwork.trajectories.trajectory_file import read_trajectory_file
from tests.console.browsing import Watched, chromium, console_of, playwright, screenshot
from tests.system.running import patient_five_bar
from tests.waiting import wait_for

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]
GRIPPER = "\nsignals:\n  gripper: {type: digital, direction: output, about: closes the jaws}\n"
HASTY = """coordinates: [left, right]
points:
  - {time_from_start_s: 0.1, positions: [%.6f, %.6f]}
  - {time_from_start_s: 0.2, positions: [%.6f, %.6f]}
events:
  - {at: {point: 0}, set: {gripper: true}}
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """An upright five-bar with a gripper that may have been left in any assembly mode."""
    path = patient_five_bar(tmp_path_factory.mktemp("machine"))
    text = path.read_text().replace("assemblies: one", "assemblies: several")
    for narrow in ("position_deg: [-170, -5]", "position_deg: [5, 170]"):
        assert narrow in text
        text = text.replace(narrow, "position_deg: [-175, 175]")
    text = text.replace("gravity_m_s2: [0, 0, -9.81]", "gravity_m_s2: [0, -9.81, 0]")
    path.write_text(text + GRIPPER)
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        words = [str(path), "--realtime", "ignore"]
        with Rig("five_bar", words, [*words, "--no-log", "--twin"], Path(made)) as rig:
            rig.wait_ready(lambda _: None)
            yield rig


@pytest.fixture(scope="module")
def robot(rig: Rig) -> Iterator[Robot]:
    with Robot(endpoint=rig.requests, lease=False) as robot:
        yield robot


@pytest.fixture(scope="module")
def page(rig: Rig) -> Iterator[Any]:
    """A page that operates, with the machine drawn."""
    with (
        console_of(rig) as (_, address),
        playwright() as started,
        chromium(started) as browser,
    ):
        watched = Watched(browser, address, viewport={"width": 1440, "height": 1000}, accept_downloads=True)
        watched.page.get_by_role("button", name="Operate", exact=True).click()
        watched.page.wait_for_selector("text=Operating: leave")
        yield watched.page
        watched.close()
        assert watched.errors == []
        assert watched.foreign == []


def tab(page: Any, name: str) -> None:
    page.get_by_role("tab", name=name).click()


@pytest.fixture
def enabled(page: Any, robot: Robot) -> Any:
    if robot.state["state"] != "active":
        robot.confirm_branch()
        robot.enable()
    return page


def test_the_assembly_mode_is_confirmed_by_its_ghost(page: Any, robot: Robot, tmp_path: Path) -> None:
    tab(page, "Move")
    if robot.state["state"] == "active":  # another test came first and has confirmed it
        page.get_by_role("button", name="disable", exact=True).click()
        wait_for(lambda: robot.state["state"] == "inactive", "the brakes")
    else:
        page.get_by_role("button", name="enable", exact=True).click()
        page.wait_for_selector("text=confirm_branch")
    page.get_by_role("button", name="show the modes").click()
    labels = page.locator(".machine-label.mode")
    wait_for(lambda: labels.count() >= 2, "the ghosts")
    screenshot(page, "assembly", tmp_path)
    own = robot.state["q"]
    next(k for k in range(labels.count()) if choose(page, k, "begins in this mode"))
    page.wait_for_selector("text=initial_guess: {")
    page.get_by_role("button", name="confirm mode").click()
    wait_for(lambda: max(abs(robot.state["q"][name] - own[name]) for name in own) > 0.1, "another mode")
    for k in range(4):  # the page has the lease, so that it must find the way back
        page.get_by_role("button", name="show the modes").click()
        wait_for(lambda: labels.count() >= 2, "the ghosts")
        if choose(page, k, "begins in this mode"):
            page.get_by_role("button", name="confirm mode").click()
            wait_for(lambda: labels.count() == 0, "the mode is confirmed")
            if max(abs(robot.state["q"][name] - own[name]) for name in own) < 1e-3:
                break
    page.get_by_role("button", name="enable", exact=True).click()
    wait_for(lambda: robot.state["state"] == "active", "the machine is enabled")
    wait_for(lambda: labels.count() == 0, "the ghosts are gone")


def choose(page: Any, number: int, words: str) -> bool:
    """Clicks the ghost's label; whether the card then says this."""
    page.locator(".machine-label.mode").nth(number).click()
    card = page.locator("section[aria-label='Assembly mode']")
    wait_for(lambda: "ode" in card.inner_text(), "an answer")
    page.wait_for_timeout(300)
    return words in card.inner_text()


def test_a_refused_file_is_drawn_at_its_worst_sample_and_made_feasible(
    enabled: Any, robot: Robot, tmp_path: Path
) -> None:
    page, q = enabled, robot.state["q"]
    file = tmp_path / "hasty.yaml"
    file.write_text(HASTY % (q["left"] + 0.2, q["right"] - 0.2, q["left"] + 0.1, q["right"] + 0.1))
    tab(page, "Move")
    page.locator("section[aria-label='Trajectory file'] input[type=file]").set_input_files(file)
    page.wait_for_selector("text=hasty.yaml:")
    page.get_by_role("button", name="check").click()
    label = page.locator(".machine-label.refused")
    label.wait_for()
    assert "allowed" in label.inner_text()
    card = page.locator("section[aria-label='Preview']")
    assert "refused" in card.inner_text()
    assert card.get_by_role("button", name="send this goal").is_disabled()
    screenshot(page, "refused", tmp_path)
    card.get_by_role("button", name="quickest feasible").click()
    wait_for(lambda: "feasible: " in card.inner_text(), "the quickest feasible stretch")
    assert "gripper on" in card.inner_text()
    stretch = card.locator("[aria-label='Time stretch of the goal']")
    wait_for(
        lambda: f"{float(stretch.get_attribute('aria-valuenow')):.2f} ×" in card.inner_text(), "the slider"
    )
    card.get_by_label("Time of the ghost on the path").fill("0.3")
    screenshot(page, "preview", tmp_path)
    card.get_by_role("button", name="send this goal").click()
    wait_for(lambda: robot.state["signals"]["gripper"] is True, "the event of the goal")
    wait_for(lambda: robot.state["goal"] is None, "the end of the goal")
    assert robot.state["results"][-1]["name"] == "SUCCESSFUL"
    assert not card.is_visible()


def test_the_path_of_the_fastest_motion_is_colored_by_its_limits(
    enabled: Any, robot: Robot, tmp_path: Path
) -> None:
    page, q = enabled, robot.state["q"]
    file = tmp_path / "way.yaml"
    ways = [(0.3, -0.2), (0.1, 0.1), (0.0, 0.0)]
    points = "".join(f"  - {{positions: [{q['left'] + a:.6f}, {q['right'] + b:.6f}]}}\n" for a, b in ways)
    file.write_text(f"coordinates: [left, right]\ntiming: fastest\npoints:\n{points}")
    tab(page, "Move")
    page.locator("section[aria-label='Trajectory file'] input[type=file]").set_input_files(file)
    page.wait_for_selector("text=way.yaml:")
    page.get_by_role("button", name="check", exact=True).click()
    card = page.locator("section[aria-label='Preview']")
    rows = card.locator(".path-limits tbody tr")
    rows.first.wait_for()
    texts = [row.inner_text().split("\t") for row in rows.all()]
    assert sum(float(each[2].split()[0]) for each in texts) == pytest.approx(100.0, abs=0.05 * len(texts))
    assert "100.0 %" in card.locator(".path-limits tfoot").inner_text()
    assert " ms" in texts[0][3]
    legend = page.locator(".machine-legend li")
    assert legend.first.inner_text().startswith(texts[0][0])
    fastest = card.get_by_role("checkbox", name="as fast as the machine can")
    assert fastest.get_attribute("aria-checked") == "true"
    assert not card.locator("[aria-label='Time stretch of the goal']").is_visible()
    screenshot(page, "fastest", tmp_path)
    card.get_by_role("button", name="send this goal").click()
    page.wait_for_function("window.linkwork.link.path?.limits?.length > 0")
    assert legend.first.inner_text().startswith(texts[0][0])
    wait_for(lambda: robot.state["goal"] is None, "the end of the goal")
    page.wait_for_function("!document.querySelector('.machine-legend').children.length")


def test_a_file_that_is_too_large_is_refused_in_words(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "large.csv"
    file.write_bytes(b"0" * ((8 << 20) + 1))
    tab(page, "Move")
    page.locator("section[aria-label='Trajectory file'] input[type=file]").set_input_files(file)
    page.wait_for_selector("text=at most 8 MiB")


def test_a_move_is_previewed_and_its_path_to_come_is_known_to_all_pages(
    enabled: Any, robot: Robot, tmp_path: Path
) -> None:
    page, there = enabled, robot.state["coordinates"]["x"]
    tab(page, "Move")
    page.get_by_role("button", name="present values").click()
    field = page.get_by_label("x, mm")
    wait_for(lambda: field.input_value() != "", "the present values")
    field.fill(f"{1e3 * there + 40.0:.3f}")
    field.press("Tab")
    page.get_by_label("speed, %").first.fill("5")
    page.get_by_role("button", name="preview", exact=True).click()
    card = page.locator("section[aria-label='Preview']")
    wait_for(lambda: "feasible: " in card.inner_text(), "the verdict")
    assert robot.state["coordinates"]["x"] == pytest.approx(there, abs=1e-4)
    card.get_by_role("button", name="send this goal").click()
    page.wait_for_function("window.linkwork.link.path?.frames?.length > 0")
    screenshot(page, "under-way", tmp_path)
    wait_for(lambda: abs(robot.state["coordinates"]["x"] - there - 0.04) < 5e-4, "the target")
    page.wait_for_function("!window.linkwork.link.path.frames")


def test_points_are_taught_played_and_saved(enabled: Any, robot: Robot, tmp_path: Path) -> None:
    page = enabled
    tab(page, "Teach")
    for name, way in (("here", 0.0), ("there", 0.05)):
        if way:
            robot.move(left=robot.state["q"]["left"] + way, speed=0.5).wait()
        page.get_by_label("name of the point").fill(name)
        page.get_by_role("button", name="teach", exact=True).click()
        page.get_by_role("button", name=f"go to {name}").wait_for()
    there = robot.state["q"]["left"]
    page.get_by_role("button", name="move there up").click()
    page.wait_for_function("document.querySelector('.taught input').value === 'there'")
    field = page.get_by_label("name of point 2")
    field.fill("home")
    field.press("Tab")
    page.get_by_role("button", name="go to home").click()
    wait_for(lambda: abs(robot.state["q"]["left"] - there + 0.05) < 1e-3, "home")
    wait_for(lambda: robot.state["goal"] is None, "rest")
    with page.expect_download() as saved:
        page.get_by_role("button", name="save").click()
    file = tmp_path / "points.yaml"
    saved.value.save_as(file)
    read = read_trajectory_file(file).trajectory
    assert [point.name for point in read.points or ()] == ["there", "home"]
    page.get_by_role("button", name="preview and play").click()
    card = page.locator("section[aria-label='Preview']")
    wait_for(lambda: "feasible: " in card.inner_text(), "the verdict")
    screenshot(page, "teach", tmp_path)
    before = len(robot.state["results"])
    card.get_by_role("button", name="send this goal").click()
    wait_for(lambda: len(robot.state["results"]) > before, "the end of the goal")
    assert robot.state["results"][-1]["name"] == "SUCCESSFUL"
    page.get_by_role("button", name="delete there").click()
    wait_for(lambda: page.locator(".taught li").count() == 1, "one point less")
    page.locator("section[aria-label='Play'] input[type=file]").set_input_files(file)
    wait_for(lambda: page.locator(".taught li").count() == 2, "the points of the file")


def test_gains_and_payload_are_set_and_the_twin_is_a_ghost(
    enabled: Any, robot: Robot, tmp_path: Path
) -> None:
    page = enabled
    tab(page, "Tune")
    field = page.get_by_label("damping ratio")
    wait_for(lambda: field.input_value() != "", "the present gains")
    field.fill("1.2")
    field.press("Tab")
    page.get_by_role("button", name="set gains").click()
    page.wait_for_selector("text=damping ratio 1.2")
    page.get_by_label("mass, kg").fill("0.3")
    page.get_by_role("button", name="set payload").click()
    page.wait_for_selector("text=0.3 kg at tool")
    page.wait_for_function("window.linkwork.link.picture.twin.length > 0")
    page.wait_for_timeout(500)
    screenshot(page, "tune", tmp_path)
    page.get_by_label("mass, kg").fill("9")
    page.get_by_label("mass, kg").press("Tab")
    page.get_by_role("button", name="set payload").click()
    page.wait_for_selector("text=more than the 0.5 kg")
    page.get_by_role("button", name="no payload").click()
    page.wait_for_selector("text=0 kg at tool")
