"""The view that identifies a machine in a real browser, with controller and plant."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")
pytest.importorskip("playwright", reason="playwright is not installed")

from linkwork import Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import load
from tests.console.browsing import Watched, chromium, console_of, playwright, screenshot
from tests.system.running import patient_five_bar
from tests.waiting import wait_for

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]
PATIENCE_S = 400.0


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return patient_five_bar(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def rig(machine: Path) -> Iterator[Rig]:
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        words = [str(machine), "--realtime", "ignore"]
        with Rig("five_bar", words, words, Path(made)) as rig:
            rig.wait_ready(lambda _: None)
            yield rig


@pytest.fixture(scope="module")
def page(rig: Rig) -> Iterator[Any]:
    with console_of(rig) as (_, address), playwright() as started, chromium(started) as browser:
        watched = Watched(browser, address, viewport={"width": 1280, "height": 800})
        watched.page.get_by_role("tab", name="Identify").click()
        yield watched.page
        watched.close()
        assert watched.errors == []
        assert watched.foreign == []


def test_it_leads_from_the_motion_to_a_file_beside_the_present_one(
    page: Any, rig: Rig, machine: Path, tmp_path: Path
) -> None:
    def step(number: int, name: str) -> Any:
        page.get_by_role("button", name=name, exact=True).click()
        card = page.locator(f"section[aria-label^='{number} ']")
        said = card.locator(".study-said")
        wait_for(lambda: not busy.is_visible() and said.inner_text() not in ("", before), name, PATIENCE_S)
        screenshot(page, f"identify-{number}", tmp_path)
        return card

    busy, before = page.locator(".study-busy"), ""
    buttons = ("design the motions", "move and record", "identify", "compare", "write the new file")
    for name in buttons:
        assert page.get_by_role("button", name=name, exact=True).is_disabled()
    page.get_by_role("button", name="Operate", exact=True).click()
    page.get_by_role("tab", name="Identify").click()
    page.get_by_label("duration, s").fill("6")
    page.get_by_label("search, s").fill("3")
    page.get_by_label("search, s").press("Tab")
    assert "± to expect" in step(1, buttons[0]).inner_text()
    run = page.locator("section[aria-label='2 Run']")
    assert "Enable the machine first" in run.inner_text()
    with Robot(endpoint=rig.requests) as robot:
        robot.enable()
    page.wait_for_function("!document.querySelector('section[aria-label=\"2 Run\"] button').disabled")
    wait_for(lambda: "Enable" not in run.inner_text(), "the enabled machine")
    before = run.locator(".study-said").inner_text()
    assert "recorded run-1" in step(2, buttons[1]).inner_text()
    before = ""
    page.get_by_role("button", name="identify", exact=True).click()
    found = page.locator("section[aria-label='3 Identify']")
    wait_for(lambda: "delay of the efforts" in found.inner_text(), "the parameters", PATIENCE_S)
    assert "known alone" in found.inner_text()
    assert found.locator(".record-plot canvas").count() == 1
    page.get_by_role("button", name="compare", exact=True).click()
    compared = page.locator("section[aria-label='4 Compare']")
    wait_for(lambda: "present file" in compared.inner_text(), "the comparison", PATIENCE_S)
    screenshot(page, "identify-4", tmp_path)
    wait_for(lambda: not busy.is_visible(), "the end of the comparison")
    new = machine.with_name("five_bar.identified.yaml")
    offered = page.get_by_role("button", name="write the new file")
    if "not offered" in compared.inner_text():  # the plant is the model: both files may be as good
        assert offered.is_disabled()
        assert not new.exists()
    else:
        assert "linkwork up" in step(5, buttons[4]).inner_text()
        assert load(new).name == "five_bar"
