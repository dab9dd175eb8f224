"""The tick record: one table, many forms, the same bytes."""

import numpy as np
import pytest
from mcap_ros2._dynamic import generate_dynamic

from linkwork.controller.exchange.records import CHANNELS, Record, RecordLayout, field_name, layout_for
from linkwork.machine import load


@pytest.fixture(scope="module")
def layout() -> RecordLayout:
    return layout_for(load("scara"))


def filled(layout: RecordLayout) -> Record:
    record = Record(layout)
    record.floats[:] = np.arange(layout.words) + 0.5
    for channel in CHANNELS:
        if channel.kind == "int":
            record.integers[layout.offsets[channel.name]] = layout.offsets[channel.name]
    return record


def test_every_field_has_eight_bytes_and_its_place(layout: RecordLayout) -> None:
    assert layout.dtype.itemsize == layout.bytes == 8 * layout.words
    for channel in CHANNELS:
        assert layout.dtype.fields is not None
        assert layout.dtype.fields[channel.name][1] == 8 * layout.offsets[channel.name]


def test_the_wall_clock_stands_last(layout: RecordLayout) -> None:
    tail = [
        channel.name
        for channel in CHANNELS
        if layout.width(channel) and 8 * layout.offsets[channel.name] >= layout.deterministic_bytes
    ]
    assert tail == [channel.name for channel in CHANNELS if channel.wall_clock]


@pytest.mark.parametrize("machine", ["scara", "five_bar"])
@pytest.mark.parametrize("wall_clock", [True, False])
def test_a_ros_2_reader_reads_the_bytes_as_they_are(machine: str, wall_clock: bool) -> None:
    layout = layout_for(load(machine))
    record = filled(layout)
    size = layout.bytes if wall_clock else layout.deterministic_bytes
    schema = layout.ros2msg(wall_clock=wall_clock)
    read = generate_dynamic("linkwork_msgs/Tick", schema)["linkwork_msgs/Tick"](
        b"\x00\x01\x00\x00" + record.floats.tobytes()[:size]
    )
    expected = layout.as_map(record.record())
    for channel in CHANNELS:
        if (channel.wall_clock and not wall_clock) or not layout.width(channel):
            assert not hasattr(read, channel.name)
            continue
        value = getattr(read, channel.name)
        if channel.per:
            value = {name: getattr(value, field_name(name)) for name in expected[channel.name]}
        assert value == expected[channel.name]


def test_views_write_into_the_record(layout: RecordLayout) -> None:
    record = Record(layout)
    record.view("effort")[:] = [1.0, 2.0, 3.0, 4.0]
    assert record.record()["effort"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_there_is_one_column_a_word(layout: RecordLayout) -> None:
    assert len(layout.columns()) == layout.words
    assert layout.columns()[layout.offsets["effort"]] == "effort.shoulder"


@pytest.mark.parametrize(
    ("name", "field"), [("Joint 1", "joint_1"), ("é", "x"), ("__a--b__", "a_b"), ("7th", "x7th")]
)
def test_any_name_becomes_a_field_name(name: str, field: str) -> None:
    assert field_name(name) == field


def test_names_that_become_the_same_stay_apart() -> None:
    layout = RecordLayout(["A b", "a-b", "a_b_2"], ["q"], [], ["s"])
    assert "float64 a_b\nfloat64 a_b_2\nfloat64 a_b_2_2" in layout.ros2msg(wall_clock=False)
