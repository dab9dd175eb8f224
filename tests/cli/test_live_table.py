"""What `linkwork watch` shows of a closed machine."""

from __future__ import annotations

import io

from rich.console import Console

from linkwork.cli.live_table import view
from linkwork.machine import load
from tests.controller.loop.in_process import enabled


def shown(name: str) -> str:
    """The live table of a machine that holds, as text."""
    rig = enabled(load(name))
    rig.tick()
    sample = rig.controller.record.layout.as_map(rig.record) | {"timestamp": 0.0}
    page = io.StringIO()
    Console(width=200, file=page).print(view(sample))
    return page.getvalue()


def test_a_closed_machine_shows_its_closures() -> None:
    text = shown("five_bar")
    assert "rank 2; smallest singular values" in text
    assert "branch +1" in text
    assert "tip.x" in text


def test_a_twin_shows_the_difference_of_every_motor() -> None:
    rig = enabled(load("scara"))
    rig.tick()
    sample = rig.controller.record.layout.as_map(rig.record) | {"timestamp": 0.0}
    efforts = {"shoulder": 1.25, "elbow": 0.0, "wrist": 0.0, "lift": 0.0}
    sample["twin"] = {"compared": 1, "share": 0.21, "energy": 0.5, "motor_effort": efforts}
    page = io.StringIO()
    Console(width=200, file=page).print(view(sample))
    assert "difference from the model: 0.21 of the nearest threshold" in page.getvalue()
    assert "1.25" in page.getvalue()


def test_numbers_are_in_the_units_of_people_and_rounded() -> None:
    rig = enabled(load("scara"))
    rig.tick()
    sample = rig.controller.record.layout.as_map(rig.record) | {"timestamp": 0.0}
    sample["coordinate"] |= {"elbow": 0.5235987755982988, "lift": -0.02}
    sample["v"]["lift"], sample["effort"]["lift"] = 5.4e-28, 4.9049999999
    page = io.StringIO()
    units = {"elbow": "rad", "lift": "m", "gripper": None}
    Console(width=200, file=page).print(view(sample, units=units))
    (elbow,) = (line for line in page.getvalue().splitlines() if line.startswith("elbow"))
    (lift,) = (line for line in page.getvalue().splitlines() if line.startswith("lift"))
    assert "30.000 °" in elbow
    assert lift.split()[1:5] == ["-20.000", "mm", "0.000", "mm/s"]
    assert lift.endswith("4.905 N")


def test_nothing_is_shown_of_a_machine_whose_plant_is_gone() -> None:
    rig = enabled(load("five_bar"))
    rig.inputs.connected = rig.inputs.fresh = False
    rig.tick()
    sample = rig.controller.record.layout.as_map(rig.record) | {"timestamp": 0.0}
    page = io.StringIO()
    Console(width=200, file=page).print(view(sample))
    assert "plant gone" in page.getvalue()
    (left,) = (line for line in page.getvalue().splitlines() if line.startswith("left "))
    assert set(left.split()[1:]) == {"–"}
    assert "closure residual" not in page.getvalue()


def test_a_tree_shows_none() -> None:
    assert "closures" not in shown("scara")


def test_a_stream_shows_its_state_and_the_offset_of_the_clocks() -> None:
    rig = enabled(load("scara"))
    rig.tick()
    sample = rig.controller.record.layout.as_map(rig.record) | {"timestamp": 0.0}
    sample |= {"stream_state": 2, "stream_buffered_s": 0.031, "stream_offset_s": -12.25}
    page = io.StringIO()
    Console(width=200, file=page).print(view(sample))
    assert "stream running, set-points for 31 ms, device clock - sender's -12.2500 s" in page.getvalue()
