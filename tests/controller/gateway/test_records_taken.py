"""What is made of tick records beside the log: statistics, telemetry, flight records."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from numpy.typing import NDArray

from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.gateway.history import Memory
from linkwork.controller.gateway.records.broadcast import MOST_AT_ONCE, Broadcast
from linkwork.controller.gateway.records.flight_record import (
    AFTER_TICKS,
    KEPT,
    MOST_PENDING,
    Aftermath,
    FlightRecorder,
)
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.gateway.records.loop_statistics import LoopStatistics
from linkwork.protocol.sockets import Publisher, Subscriber
from linkwork.protocol.telemetry import read_telemetry

Records = Callable[..., NDArray[np.float64]]


def test_statistics_count_periods_latencies_and_losses(layout: RecordLayout, records: Records) -> None:
    words = records(1000)
    table = words.view(layout.dtype)[:, 0]
    table["lost_in_a_row"][990:995] = np.arange(1, 6)
    table["missed"][500] = 3
    table["received_ns"][600:] += 20_000_000
    statistics = LoopStatistics(layout)
    statistics.add(words[:333])
    statistics.add(words[333:])
    timing = statistics.timing()
    assert (timing["ticks"], timing["missed"], timing["lost"]) == (1000, 3, 5)
    assert timing["period_us"]["p50"] == pytest.approx(1000.0, rel=0.02)
    assert timing["period_us"]["max"] == pytest.approx(21_000.0)
    assert timing["latency_us"]["p99"] == pytest.approx(150.0, rel=0.02)
    assert statistics.success_rate() == pytest.approx(0.95)


def test_a_pause_of_lockstep_time_is_no_period(layout: RecordLayout, records: Records) -> None:
    words = records(10)
    table = words.view(layout.dtype)[:, 0]
    table["received_ns"][5:] += 60_000_000_000
    statistics = LoopStatistics(layout)
    statistics.add(words)
    assert statistics.timing()["period_us"]["max"] == pytest.approx(1000.0)


@pytest.fixture
def broadcast(tmp_path: Path, layout: RecordLayout) -> Iterator[Broadcast]:
    with Publisher(f"ipc://{tmp_path}/t") as publisher:
        yield Broadcast([publisher], layout, 10, None)


def listening(broadcast: Broadcast) -> Subscriber:
    subscriber = Subscriber(broadcast.endpoints[0], [b""])
    deadline = time.monotonic() + 20.0
    while subscriber.receive(10) is None:
        assert time.monotonic() < deadline
        broadcast.event("hello", 0.0, {})
    while subscriber.receive(50) is not None:
        continue
    return subscriber


def test_telemetry_is_every_tenth_record_wherever_the_batches_begin(
    broadcast: Broadcast, records: Records
) -> None:
    words = records(95)
    with listening(broadcast) as subscriber:
        for begin, end in ((0, 7), (7, 8), (8, 41), (41, 95)):
            broadcast.telemetry(begin, words[begin:end])
        found = [read_telemetry(subscriber.receive(10_000)[1])["tick"] for _ in range(10)]  # type: ignore[index]
        assert found == list(range(0, 95, 10))
        assert subscriber.receive(50) is None


def test_a_large_batch_gives_only_its_newest_telemetry(broadcast: Broadcast, records: Records) -> None:
    words = records(4000)
    with listening(broadcast) as subscriber:
        broadcast.telemetry(0, words)
        found = [read_telemetry(subscriber.receive(10_000)[1])["tick"] for _ in range(MOST_AT_ONCE)]  # type: ignore[index]
        assert found == [3990 - 10 * back for back in reversed(range(MOST_AT_ONCE))]
        assert subscriber.receive(50) is None


def test_a_flight_record_holds_the_ring_and_its_cause(
    tmp_path: Path, records: Records, real_time: LogSource
) -> None:
    recorder = FlightRecorder(tmp_path / "new" / "folder", "m", "20260101-120000", real_time)
    recorder.begin(1234, records(700, 1000), {"name": "VELOCITY_LIMIT"})
    steps = 0
    while recorder.busy:
        recorder.advance()
        steps += 1
    assert steps > 2
    with recorder.path_for(1234).open("rb") as stream:
        found = [(channel.topic, message) for _, channel, message in make_reader(stream).iter_messages()]
    ticks = [message.sequence for topic, message in found if topic == "tick"]
    assert ticks == list(range(1000, 1700))
    assert [message.data for topic, message in found if topic == "events"] == [
        b'{"event": "fault", "name": "VELOCITY_LIMIT"}'
    ]


def test_only_the_newest_flight_records_stay(tmp_path: Path, records: Records, real_time: LogSource) -> None:
    recorder = FlightRecorder(tmp_path, "m", "20260101-120000", real_time)
    foreign = tmp_path / "n-20260101-120000-flight-1.mcap"
    foreign.touch()
    for tick in range(KEPT + 3):
        recorder.begin(tick, records(2), {})
    recorder.finish()
    assert len(list(tmp_path.glob("m-*-flight-*.mcap"))) == KEPT
    assert recorder.path_for(KEPT + 2).exists()
    assert foreign.exists()


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, records: Records, real_time: LogSource
) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    recorder = FlightRecorder(blocked, "m", "20260101-120000", real_time)
    recorder.begin(1, records(2), {})
    recorder.finish()
    assert str(blocked) in recorder.problem


@pytest.mark.parametrize("faults", [1, 3, MOST_PENDING + 1])
def test_faults_that_follow_each_other_quickly_have_a_flight_record_each(
    faults: int, tmp_path: Path, layout: RecordLayout, records: Records, real_time: LogSource
) -> None:
    shared = Shared.create(tmp_path / "shared.bin", layout, "ab" * 32, lockstep=False)
    for words in records(900):
        shared.append(words)
    recorder = FlightRecorder(tmp_path, "m", "20260101-120000", real_time)
    aftermath = Aftermath(recorder, Memory())
    for tick in range(100, 100 + faults):
        aftermath.expect({"tick": tick}, 0)
    for tick in range(100, 100 + faults + AFTER_TICKS):
        aftermath.attend(tick, 0, shared)
    aftermath.close(shared)
    kept = range(100 + max(0, faults - MOST_PENDING), 100 + faults)
    assert sorted(tmp_path.glob("*-flight-*")) == sorted(recorder.path_for(tick) for tick in kept)
