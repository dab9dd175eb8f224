"""A rig whose machine is at home by its goal coordinates, but in another assembly, is started anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkwork.machine import shipped_path
from linkwork.rig.readiness import elsewhere
from linkwork.rig.rig_options import RigOptions
from linkwork.rig.under_test import RigUnderTest
from tests.waiting import wait_for

BEGINS = "initial_guess: {a2_deg: -25, a3_deg: -135}"
ELSEWHERE = "initial_guess: {a2_deg: -139.5, a3_deg: 135}"
"""The same crank, the coupler and the rocker on the other side of the line between their ends."""
WEIGHTLESS = ("[0, -9.81, 0]", "[0, 0, 0]")
"""So that it holds in the other assembly, too, where its model is wrong."""


def starts(rig: RigUnderTest) -> int:
    """How many plants of this rig have read their file."""
    daemons = rig.daemons._rig
    assert daemons is not None
    return sum(event["event"] == "ready" for event in daemons.said("plant"))


@pytest.mark.slow
def test_another_assembly_is_found_out_and_left_by_a_new_start(tmp_path: Path) -> None:
    config = tmp_path / "four_bar.yaml"
    text = shipped_path("four_bar").read_text().replace(*WEIGHTLESS) + "plant: {peer_timeout_s: 1}\n"
    assert BEGINS in text
    config.write_text(text)
    rig = RigUnderTest(RigOptions(str(config)), lambda _: None)
    try:
        rig.ready()
        home = rig.home
        assert (elsewhere(rig), rig.renewals) == ("", [])
        config.write_text(text.replace(BEGINS, ELSEWHERE))
        rig.restart("plant")
        wait_for(lambda: starts(rig) == 2, "the plant")
        config.write_text(text)
        rig.ready()
        (why,) = rig.renewals
        assert "another assembly mode: a2 differs" in why
        assert elsewhere(rig) == ""
        assert rig.home == home
        rig.move({"a1": home["a1"] - 0.05})
    finally:
        rig.close()
