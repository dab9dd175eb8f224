"""`linkwork demo arm_6dof` without daemons: two wrists, one motion, efforts that are congruent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkwork.demos import demo_named
from linkwork.demos.arm_6dof import DEMO, SIMPLE
from linkwork.demos.demo_figures import DemoRun
from linkwork.machine import load
from tests.client.in_process_robot import perform


@pytest.fixture(scope="module")
def recording() -> DemoRun:
    demo = demo_named("arm_6dof")
    first, second = (perform(demo, load(name), 1.0) for name in (demo.machine, demo.beside))
    return replace(first, beside=second)


@pytest.mark.slow
def test_both_wrists_make_the_motion_with_the_same_efforts(recording: DemoRun) -> None:
    found = DEMO.report(recording)
    assert found["tracking_error_max"] < 1e-4
    assert found["simple"]["tracking_error_max"] < 1e-4
    assert set(found["simple"]["peak_effort"]) == {motor.joint for motor in load(SIMPLE).motors}
    same = found["congruence"]
    assert same["ticks"] > 900
    assert same["effort_max_N_m"] > 10.0
    assert same["effort_difference_max_N_m"] < 1e-3 * same["effort_max_N_m"]
    assert same["place_difference_max_m"] < 1e-5
    assert same["angle_difference_max_rad"] < 1e-5


@pytest.mark.slow
def test_without_the_second_arm_the_first_is_reported(recording: DemoRun, tmp_path: Path) -> None:
    alone = replace(recording, beside=None)
    assert "congruence" not in DEMO.report(alone)
    for each in (alone, recording):
        DEMO.draw(each, tmp_path / "arm.png")
        assert (tmp_path / "arm.png").read_bytes().startswith(b"\x89PNG")
