"""The console in a real browser, with a real controller and plant: buttons, STOP, and jogs that end.

Screenshots go to the folder in LINKWORK_SCREENSHOTS, else to the test's own.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from linkwork import Robot
from linkwork.launch.daemons import Rig
from tests.console.accessibility import beyond_keyboard, faint_texts, nameless_controls
from tests.console.browsing import UNDRAWN, Watched, chromium, console_of, own_browser, playwright, screenshot
from tests.system.running import patient_five_bar
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        path = str(patient_five_bar(tmp_path_factory.mktemp("machine")))
        words = [path, "--realtime", "ignore"]
        with Rig("five_bar", words, [*words, "--no-log"], Path(made)) as rig:
            rig.wait_ready(lambda _: None)
            yield rig


@pytest.fixture(scope="module")
def robot(rig: Rig) -> Iterator[Robot]:
    with Robot(endpoint=rig.requests, lease=False) as robot:
        yield robot


@pytest.fixture(scope="module")
def served(rig: Rig) -> Iterator[str]:
    with console_of(rig) as (_, address):
        yield address


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    with playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(started: Any) -> Iterator[Any]:
    with chromium(started, UNDRAWN) as browser:
        yield browser


@pytest.fixture
def drawing(started: Any) -> Iterator[Any]:
    with chromium(started) as browser:
        yield browser


@pytest.fixture
def watched(browser: Any, served: str) -> Iterator[Watched]:
    page = Watched(browser, served, viewport={"width": 1440, "height": 900})
    yield page
    page.close()
    assert page.errors == []
    assert page.foreign == []


@pytest.fixture
def operating(watched: Watched, robot: Robot) -> Any:
    """A page that operates an enabled machine, with the jog in view."""
    robot.enable()
    page = watched.page
    page.get_by_role("button", name="Operate", exact=True).click()
    page.get_by_role("tab", name="Move").click()
    page.wait_for_selector("[data-jog='x+']:not([disabled])")
    page.get_by_label("Share of the largest jog speed").fill("40")
    return page


def jogging(robot: Robot) -> bool:
    return max(map(abs, robot.state["v"].values())) > 1e-3


def at_rest(robot: Robot) -> bool:
    return not jogging(robot)


def press(page: Any, robot: Robot) -> None:
    """Holds the button x+ until the machine moves."""
    button = page.locator("[data-jog='x+']")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    hold(page, robot, page.mouse.down, page.mouse.up)


def hold(
    page: Any,
    robot: Robot,
    begin: Callable[[], Any],
    end: Callable[[], Any],
    meanwhile: Callable[[], Any] = lambda: None,
) -> None:
    """Holds a control until the machine moves; a busy computer interrupts jogs, so it may begin again."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        begin()
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            if jogging(robot):
                return
            meanwhile()
        end()
    raise AssertionError(page.locator(".jog-note").inner_text())


def ended(robot: Robot, lost: Callable[[], Any]) -> dict[str, float]:
    """Loses the jog in some way; the travel (m) and time (s) until rest, by the machine's own clock."""
    before = robot.state
    lost()
    after = wait_for(lambda: at_rest(robot) and robot.state, "rest")
    still = wait_for(lambda: (now := robot.state)["time_s"] >= after["time_s"] + 0.3 and now, "0.3 s")
    assert still["coordinates"]["x"] == pytest.approx(after["coordinates"]["x"], abs=1e-4)
    return {
        "travel_m": abs(after["coordinates"]["x"] - before["coordinates"]["x"]),
        "time_s": after["time_s"] - before["time_s"],
    }


LOSSES: dict[str, Callable[[Any], Any]] = {
    "the button is released": lambda page: page.mouse.up(),
    "the window loses focus (linuxcnc 1511)": lambda page: page.evaluate(
        "window.dispatchEvent(new Event('blur'))"
    ),
    "the tab is hidden": lambda page: page.evaluate(
        "Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    ),
    "the pointer is lost": lambda page: page.evaluate(
        "window.dispatchEvent(new PointerEvent('pointercancel', {pointerId: 1}))"
    ),
    "a second pointer comes down": lambda page: page.evaluate(
        "window.dispatchEvent(new PointerEvent('pointerdown', {pointerId: 7}))"
    ),
    "a second button of the mouse": lambda page: page.mouse.down(button="right"),
    "another key is pressed": lambda page: page.keyboard.press("a"),
    "STOP by the space bar": lambda page: page.keyboard.press("Space"),
    "the step is changed (linuxcnc 691)": lambda page: page.evaluate(
        "document.querySelector('input[name=jog-fine][value=true]').click()"
    ),
    "the socket stalls (joystick_drivers 92)": lambda page: page.evaluate(
        "window.linkwork.link.send = () => true"
    ),
    "the socket is cut": lambda page: page.evaluate("window.linkwork.link.socket.close()"),
    "the page stands still": lambda page: page.evaluate(
        "(() => { const end = performance.now() + 1500; while (performance.now() < end); })()"
    ),
    "the window is closed": lambda page: page.close(),
}


@pytest.mark.parametrize("how", LOSSES)
def test_a_jog_ends_when(how: str, operating: Any, robot: Robot, record_property: Any) -> None:
    press(operating, robot)
    found = ended(robot, lambda: LOSSES[how](operating))
    record_property("travel_mm", 1e3 * found["travel_m"])
    print(f"{how}: {1e3 * found['travel_m']:.1f} mm in {found['time_s']:.3f} s")


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_jog_ends_when_the_browser_is_stopped_or_killed(
    number: signal.Signals, started: Any, served: str, robot: Robot
) -> None:
    robot.enable()
    before = set(own_browser())
    with chromium(started, UNDRAWN) as browser:
        watched = Watched(browser, served)
        page = watched.page
        page.get_by_role("button", name="Operate", exact=True).click()
        page.get_by_role("tab", name="Move").click()
        page.wait_for_selector("[data-jog='x+']:not([disabled])")
        others = set(own_browser()) - before
        press(page, robot)
        try:
            found = ended(robot, lambda: [os.kill(pid, number) for pid in others])
        finally:
            for pid in others:
                if number == signal.SIGSTOP:
                    os.kill(pid, signal.SIGCONT)
        print(f"{number.name}: {1e3 * found['travel_m']:.1f} mm in {found['time_s']:.3f} s")
        resumed_s = robot.state["time_s"]
        wait_for(lambda: robot.state["time_s"] >= resumed_s + 0.5, "what the frozen page had to say")
        assert at_rest(robot)


def test_a_jog_ends_when_the_console_is_killed_and_nothing_else_does(
    browser: Any, rig: Rig, robot: Robot
) -> None:
    robot.enable()
    with console_of(rig) as (process, address):
        watched = Watched(browser, address)
        page = watched.page
        page.get_by_role("button", name="Operate", exact=True).click()
        page.get_by_role("tab", name="Move").click()
        page.wait_for_selector("[data-jog='x+']:not([disabled])")
        press(page, robot)
        found = ended(robot, process.kill)
        assert robot.state["state"] == "active"
        page.wait_for_selector(".banner:visible")
        watched.context.close()
    print(f"console killed: {1e3 * found['travel_m']:.1f} mm in {found['time_s']:.3f} s")


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGTERM, "The console was ended"), (signal.SIGKILL, "is lost")]
)
def test_the_page_says_whether_the_console_was_ended_or_is_lost(
    number: signal.Signals, said: str, rig: Rig, browser: Any
) -> None:
    with console_of(rig) as (process, address):
        watched = Watched(browser, address)
        process.send_signal(number)
        process.wait(PATIENCE_S)
        shown = watched.page.locator(".banner:visible")
        shown.wait_for()
        assert said in shown.inner_text()
        watched.context.close()


def test_a_held_key_repeats_nothing_that_its_release_does_not_stop(operating: Any, robot: Robot) -> None:
    """Repeated keys that queue motions: cncjs 167, bCNC 1458."""
    operating.get_by_role("button", name="1 x").focus()

    def repeat() -> None:
        operating.wait_for_timeout(30)
        operating.keyboard.down("ArrowRight")  # of a key that is down already: a repetition

    hold(
        operating,
        robot,
        lambda: operating.keyboard.down("ArrowRight"),
        lambda: operating.keyboard.up("ArrowRight"),
        repeat,
    )
    found = ended(robot, lambda: operating.keyboard.up("ArrowRight"))
    print(f"a held key is released: {1e3 * found['travel_m']:.1f} mm in {found['time_s']:.3f} s")


def test_the_pad_moves_the_machine_and_springs_back(operating: Any, robot: Robot) -> None:
    pad = operating.locator(".jog-pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()

    def deflect() -> None:
        operating.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        operating.mouse.down()
        operating.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2, steps=3)

    hold(operating, robot, deflect, operating.mouse.up)
    found = ended(robot, operating.mouse.up)
    assert pad.locator(".jog-knob").get_attribute("style") in (None, "")
    print(f"the pad is released: {1e3 * found['travel_m']:.1f} mm in {found['time_s']:.3f} s")


def test_units_are_chosen_for_a_browser_and_remembered(browser: Any, served: str) -> None:
    one, other = Watched(browser, served), Watched(browser, served)
    table = "[...document.querySelectorAll('table')].map(each => each.innerText).join()"

    def shows(page: Any, angle: str, length: str) -> None:
        """Whether table, fields and plots have these units, and no others."""
        page.wait_for_function(f"/\\d {angle}\\s/.test({table}) && /\\d {length}\\s/.test({table})")
        page.get_by_role("tab", name="Move").click()
        page.get_by_label(f"x, {length}").wait_for()
        units = page.evaluate("window.linkwork.link.machine.units.map(([factor, unit]) => unit)")
        assert {angle, length, f"{angle}/s"} <= set(units)
        assert not {"rad", "m", "°", "mm"} - {angle, length} & set(units)

    shows(one.page, "°", "mm")
    one.page.get_by_role("button", name="show rad, m").click()
    one.page.get_by_role("button", name="show °, mm").wait_for()
    shows(one.page, "rad", "m")
    one.page.reload()
    shows(one.page, "rad", "m")
    shows(other.page, "°", "mm")
    for each in (one, other):
        each.close()


def test_a_page_that_observes_moves_nothing_and_stops_everything(
    watched: Watched, operating: Any, browser: Any, served: str, robot: Robot
) -> None:
    second = Watched(browser, served)
    second.page.wait_for_selector(".plot-chart canvas")  # while it loads, jogs of a busy computer end

    def refused_beside_a_jog() -> bool:
        """Whether the jog of the other page goes on; a busy computer may interrupt one, but not each."""
        press(operating, robot)
        refused = second.page.evaluate(
            "new Promise(done => { window.linkwork.link.addEventListener('jog', e => done(e.detail.text));"
            "window.linkwork.link.send({type: 'held', press: 1, picture: window.linkwork.link.picture.number,"
            "velocity: {x: 1}}) })"
        )
        assert "observes" in refused
        if jogging(robot):
            return True
        operating.mouse.up()
        return False

    wait_for(refused_beside_a_jog, "a jog that the refused one leaves alone")
    second.page.get_by_role("button", name="STOP the machine").click()
    wait_for(lambda: at_rest(robot), "rest")
    operating.mouse.up()
    second.close()


def test_stop_goes_past_a_stalled_socket_and_says_what_the_controller_answered(
    operating: Any, robot: Robot
) -> None:
    press(operating, robot)
    operating.evaluate("window.linkwork.link.socket.send = () => {}")
    operating.keyboard.press("Space")
    wait_for(lambda: at_rest(robot), "rest")
    said = operating.locator(".stop-said")
    wait_for(lambda: said.inner_text().startswith("stop:"), "the answer")
    operating.mouse.up()


def test_a_stop_that_nobody_confirms_is_said(rig: Rig, watched: Watched, robot: Robot) -> None:
    said = watched.page.locator(".stop-said.unconfirmed")
    gateway = int(robot.status["gateway_pid"])
    os.kill(gateway, signal.SIGSTOP)
    try:
        watched.page.get_by_role("button", name="STOP the machine").click()
        said.wait_for()
        wait_for(lambda: "STOP was not confirmed" in said.inner_text(), "the reason")
    finally:
        os.kill(gateway, signal.SIGCONT)


def test_values_of_a_silent_loop_are_called_old(rig: Rig, watched: Watched, robot: Robot) -> None:
    page = watched.page
    loop = int(robot.status["loop_pid"] or 0)
    assert loop
    os.kill(loop, signal.SIGSTOP)
    try:
        page.locator(".banner.when-old").wait_for(state="visible")
        wait_for(lambda: "what you see is old" in page.locator(".doing").inner_text(), "the words")
    finally:
        os.kill(loop, signal.SIGCONT)
    page.locator(".banner.when-old").wait_for(state="hidden")
    wait_for(lambda: robot.state["state"] in ("fault", "inactive", "active"), "the loop")
    if robot.state["state"] == "fault":
        robot.recover()


@pytest.mark.parametrize("key", ["Space", "Escape"])
def test_in_a_list_to_choose_from_both_keys_stop(key: str, operating: Any) -> None:
    operating.evaluate(
        "window.stops = 0; window.linkwork.link.addEventListener('stop', () => window.stops++)"
    )
    operating.get_by_role("tab", name="Tune").click()
    law = operating.get_by_label("law", exact=True).first
    law.focus()
    operating.keyboard.press(key)
    assert operating.evaluate("window.stops") == 1


def test_space_in_a_text_field_is_a_space(operating: Any) -> None:
    operating.evaluate(
        "window.stops = 0; window.linkwork.link.addEventListener('stop', () => window.stops++)"
    )
    field = operating.locator(".plot input").first
    field.click()
    field.press("Space")
    field.press("Escape")
    assert operating.evaluate("window.stops") == 0
    operating.get_by_role("tab", name="State").focus()
    operating.keyboard.press("Space")
    operating.keyboard.press("Escape")
    assert operating.evaluate("window.stops") == 2


def test_move_to_numbers_reaches_them(operating: Any, robot: Robot) -> None:
    there = robot.state["coordinates"]["x"]
    operating.get_by_role("button", name="present values").click()
    field = operating.get_by_label("x, mm")
    wait_for(lambda: field.input_value() not in ("",), "the present values")
    field.fill(f"{1e3 * there + 5.0:.3f}")
    field.press("Tab")
    operating.get_by_role("button", name="move", exact=True).click()
    wait_for(lambda: abs(robot.state["coordinates"]["x"] - there - 5e-3) < 5e-4, "the target")


def test_a_fault_shows_its_cause_and_a_button_that_clears_it(
    operating: Any, robot: Robot, tmp_path: Path
) -> None:
    robot.estop()
    operating.get_by_role("tab", name="State").click()
    operating.get_by_role("button", name="reset").click()
    wait_for(lambda: robot.state["state"] == "inactive", "the reset")
    screenshot(operating, "state", tmp_path)


VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "zoomed": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2},
    "tablet": {"viewport": {"width": 820, "height": 1180}, "has_touch": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_is_accessible(name: str, drawing: Any, served: str, tmp_path: Path) -> None:
    watched = Watched(drawing, served, **VIEWS[name])
    page = watched.page
    for tab in page.get_by_role("tab").all_inner_texts():
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(500)
        screenshot(page, f"{name}-{tab.lower()}", tmp_path)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), tab
        assert page.get_by_role("button", name="STOP the machine").is_visible()
        assert faint_texts(page) == [], tab
        assert nameless_controls(page) == [], tab
        if name == "light":
            assert beyond_keyboard(page) == [], tab
    assert (watched.errors, watched.foreign) == ([], [])
    watched.close()
