"""What the log on disk holds: the same for the same run, readable after a crash, and under its cap."""

import itertools
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.records import Attachment, Message
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory
from numpy.typing import NDArray

from linkwork.controller.exchange.records import CHANNELS, RecordLayout
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.recordings.log_follower import segments_of

Records = Callable[..., NDArray[np.float64]]
STAMP = "20260101-120000"


def decoded(path: Path) -> list[tuple[str, int, Any]]:
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        return [
            (channel.topic, message.log_time, value if channel.topic == "tick" else message.data)
            for _, channel, message, value in reader.iter_decoded_messages(topics=["tick"])
        ]


def messages(path: Path) -> list[Message]:
    """What can be read from the front of a file, however it ends."""
    found = []
    with path.open("rb") as stream:
        try:
            for record in StreamReader(stream).records:
                if isinstance(record, Message):
                    found.append(record)
        except (EndOfFile, struct.error):
            return found
    return found


def test_every_number_of_a_tick_comes_back_through_an_independent_reader(
    tmp_path: Path, records: Records, real_time: LogSource, layout: RecordLayout
) -> None:
    words = records(200)
    log = Log(tmp_path, "m", STAMP, real_time, 10**9)
    log.write(words)
    log.close()
    table = words.view(layout.dtype)[:, 0]
    found = decoded(tmp_path / f"m-{STAMP}-0000.mcap")
    assert len(found) == 200
    for row, (_, time_ns, tick) in zip(table, found, strict=True):
        assert time_ns == row["real_time_ns"]
        for channel in CHANNELS:
            if layout.width(channel) == 0:
                assert not hasattr(tick, channel.name)
                continue
            value = getattr(tick, channel.name)
            if channel.per:
                value = [getattr(value, name) for name in value.__slots__]
            np.testing.assert_array_equal(value, row[channel.name])


def test_runs_that_begin_in_one_second_are_told_apart(
    tmp_path: Path, records: Records, lockstep: LogSource
) -> None:
    logs = [Log(tmp_path, "m", "20251231-235959", lockstep, 10**9) for _ in range(2)]
    for log in logs:
        log.write(records(10))
        log.close()
    assert [log.first.name for log in logs] == ["m-20251231-235959-0000.mcap", "m-20260101-000000-0000.mcap"]
    assert [len(segments_of(log.first)) for log in logs] == [1, 1]


def test_a_lockstep_log_holds_no_wall_clock(tmp_path: Path, records: Records, lockstep: LogSource) -> None:
    for folder, day in (("a", 0), ("b", 10**17)):
        log = Log(tmp_path / folder, "m", STAMP, lockstep, 10**9)
        log.write(records(500, real_time_ns=day, received_ns=day, sent_ns=day, missed=day))
        log.close()
    first, second = (next((tmp_path / folder).iterdir()) for folder in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    (_, time_ns, tick), *_ = decoded(first)
    assert time_ns == 0
    assert not {"real_time_ns", "received_ns", "sent_ns", "missed"} & set(tick.__slots__)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cuts=st.lists(st.integers(0, 700), max_size=6), events=st.lists(st.integers(0, 699), max_size=5))
def test_the_bytes_do_not_depend_on_how_the_records_arrived(
    tmp_path_factory: pytest.TempPathFactory,
    records: Records,
    lockstep: LogSource,
    cuts: list[int],
    events: list[int],
) -> None:
    words = records(700)
    rows = sorted(events)

    def run(folder: Path, bounds: list[int]) -> dict[str, bytes]:
        log = Log(folder, "m", STAMP, lockstep, 400_000)
        for begin, end in itertools.pairwise(bounds):
            log.write(
                words[begin:end],
                [(row - begin, "state", {"tick": row}) for row in rows if begin <= row < end],
            )
            log.flush(0)
        log.close()
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    whole = run(tmp_path_factory.mktemp("whole"), [0, 700])
    parts = run(tmp_path_factory.mktemp("parts"), [0, *sorted(cuts), 700])
    assert len(whole) > 1
    assert parts == whole


def test_the_machine_file_lies_in_every_segment(
    tmp_path: Path, records: Records, lockstep: LogSource
) -> None:
    log = Log(tmp_path, "m", STAMP, lockstep, 800_000)
    log.write(records(1500))
    log.close()
    segments = sorted(tmp_path.iterdir())
    assert len(segments) > 1
    for path in segments:
        with path.open("rb") as stream:
            attached = [record for record in StreamReader(stream).records if isinstance(record, Attachment)]
        assert [(one.name, one.data, one.create_time, one.log_time) for one in attached] == [
            ("machine.yaml", b"name: test\n", 0, 0)
        ]


def test_the_oldest_segments_go_when_the_cap_is_reached(
    tmp_path: Path, records: Records, lockstep: LogSource
) -> None:
    cap = 1_000_000
    foreign = tmp_path / "m-notes.mcap"
    foreign.write_bytes(b"x" * 2000)
    old = tmp_path / "m-20250101-000000-0003.mcap"
    old.write_bytes(b"x" * 200_000)
    log = Log(tmp_path, "m", STAMP, lockstep, cap)
    for first in range(0, 12_000, 500):
        log.write(records(500, first))
        own = [path for path in tmp_path.iterdir() if path != foreign]
        assert sum(path.stat().st_size for path in own) <= cap
    log.close()
    assert foreign.exists()
    assert not old.exists()
    assert not (tmp_path / f"m-{STAMP}-0000.mcap").exists()
    numbers = [
        message.sequence for path in sorted(tmp_path.glob(f"m-{STAMP}-*")) for message in messages(path)
    ]
    assert numbers == list(range(numbers[0], 12_000))


def test_two_logs_of_the_same_second_do_not_overwrite_each_other(
    tmp_path: Path, records: Records, lockstep: LogSource
) -> None:
    logs = [Log(tmp_path, "m", STAMP, lockstep, 10**9) for _ in range(2)]
    for log in logs:
        log.write(records(10))
        log.close()
    assert logs[0].first != logs[1].first
    assert [len(messages(log.first)) for log in logs] == [10, 10]


WRITER = """
import sys, time
sys.path.insert(0, {here!r})
from pathlib import Path
import conftest
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
source = LogSource(conftest.LAYOUT, {wall}, "name: test\\n", {{}})
log = Log(Path({folder!r}), "m", "20260101-120000", source, 10**9)
for first in range(0, 100_000, 20):
    log.write(conftest.make_records(20, first) if first < 400 else conftest.make_records(20))
    log.flush(first * 20_000_000)
    if first == 2000:
        print("written", flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize(("wall", "lost"), [(True, 300), (False, 300)])
def test_a_killed_writer_leaves_a_log_that_reads_up_to_its_last_chunk(
    tmp_path: Path, wall: bool, lost: int
) -> None:
    script = WRITER.format(here=str(Path(__file__).parent), wall=wall, folder=str(tmp_path))
    writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"written\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    found = messages(tmp_path / "m-20260101-120000-0000.mcap")
    assert 2020 - lost <= len(found) <= 2020
    assert [message.sequence for message in found[:400]] == list(range(400))


FULL = """
import resource, signal, sys
sys.path.insert(0, {here!r})
from pathlib import Path
import conftest
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 10**9))
log = Log(Path({folder!r}), "m", "20260101-120000", LogSource(conftest.LAYOUT, True, "", {{}}), 10**9)
for first in range(0, 1000, 100):
    log.write(conftest.make_records(100, first))
    log.flush(1_000_000_000)
    print(log.path, log.problem)
print(log.take_notices())
resource.setrlimit(resource.RLIMIT_FSIZE, (10**9, 10**9))
for tick, seconds in ((1000, 6), (1001, 7)):
    log.flush(seconds * 1_000_000_000)
    log.write(conftest.make_records(1, tick))
log.close()
print(log.lost, log.problem, log.take_notices())
"""


def test_a_full_disk_stops_the_log_until_there_is_room(tmp_path: Path) -> None:
    script = FULL.format(here=str(Path(__file__).parent), folder=str(tmp_path))
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *lines, stopped, continued = result.stdout.splitlines()
    problem = f"logging has stopped: {tmp_path}: File too large"
    assert lines[-1] == f"None {problem}"
    assert stopped == repr([f"{problem}; it continues as soon as a segment can be written"])
    lost, _, notices = continued.partition(" ")
    assert notices.strip().startswith(f"['logging continues in {tmp_path}/m-20260101-120000-0001.mcap; about")
    first, second = (messages(tmp_path / f"m-20260101-120000-{number:04d}.mcap") for number in (0, 1))
    assert 100 < len(first) <= 1000 - int(lost) + 100
    assert [message.sequence for message in second] == [1000, 1001]


def test_a_log_whose_folder_is_removed_continues_in_a_new_one(
    tmp_path: Path, records: Records, real_time: LogSource
) -> None:
    folder = tmp_path / "logs"
    log = Log(folder, "m", STAMP, real_time, 10**9)
    log.write(records(10))
    shutil.rmtree(folder)
    second_ns = 10**9
    log.flush(second_ns)
    assert "No such file" in log.problem
    log.write(records(5, 10))
    log.flush(second_ns + 1)  # tries again
    log.write(records(10, 15))
    log.close()
    assert (log.problem, log.lost) == ("", 5)
    assert [text.split(":")[0].split(" in ")[0] for text in log.take_notices()] == [
        "logging has stopped",
        "logging continues",
    ]
    (segment,) = folder.iterdir()
    assert [message.sequence for message in messages(segment)] == list(range(15, 25))


def test_the_page_explains_every_channel() -> None:
    page = (Path(__file__).parents[3] / "docs" / "log.md").read_text()
    assert [channel.name for channel in CHANNELS if f"`{channel.name}`" not in page] == []
