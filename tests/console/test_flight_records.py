"""Flight records of the cards of faults come from a process of `linkwork faults show`."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the console's extra is not installed")

from linkwork.console.fault_cards import FlightRecords, UnreadableRecord
from tests.console.swings import swing_recording


def test_a_record_is_read_with_its_events_and_curves(tmp_path: Path) -> None:
    path = swing_recording(tmp_path / "fault.mcap", faulty=True)
    found = asyncio.run(FlightRecords().read(str(path)))
    assert found["fault"]["name"] == "VELOCITY_LIMIT"
    panel = found["signals"]["velocity of shoulder / rad/s"]
    assert max(map(abs, panel["values"]["velocity"])) > max(panel["limits"])
    assert any(each["group"] == "fault" for each in found["events"])


def test_a_record_that_is_not_there_says_so() -> None:
    with pytest.raises(UnreadableRecord, match="not on this computer"):
        asyncio.run(FlightRecords().read("/nowhere/fault.mcap"))
