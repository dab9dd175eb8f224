"""Ticks of a braked machine are packed in the log, and every reader has all of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from mcap.reader import make_reader
from numpy.typing import NDArray

from linkwork.controller.gateway.records.idle_ticks import MOST, idle_count, pack_idle, unpack_idle
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import load
from linkwork.recordings.log_file import read_ticks
from linkwork.recordings.recorder import record
from linkwork.recordings.recording import read_recording
from linkwork.recordings.replay import replay
from tests.controller.gateway.conftest import LAYOUT, make_records
from tests.recordings.recorded import InProcessRecorder

SCARA = load("scara")
TICKS = 3 * MOST


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """Idle, enabled and moved, idle again: the log and every record of the run."""
    made = InProcessRecorder(SCARA, tmp_path_factory.mktemp("log"))
    size = made.layout.deterministic_bytes
    samples = made.run(TICKS * 1e-3)
    samples += made.enable() or []
    made.send(*made.swing(seconds=0.1))
    made.run(0.2)
    return made.close(), b"".join(sample.record.tobytes()[:size] for sample in samples)


def messages(path: Path, topic: str) -> int:
    with path.open("rb") as stream:
        return sum(1 for _ in make_reader(stream).iter_messages(topics=[topic]))


def test_an_idle_machine_takes_little_room_and_replays_to_the_bit(run: tuple[Path, bytes]) -> None:
    path, records = run
    recording = read_recording(path)
    np.testing.assert_array_equal(recording.table["tick"], np.arange(len(recording.table)))
    assert recording.table.tobytes().startswith(records)
    assert len(records) >= TICKS * recording.table.itemsize
    assert read_ticks(path).table.tobytes() == recording.table.tobytes()
    assert 3 <= messages(path, "idle") <= 6
    assert messages(path, "tick") < len(recording.table) - TICKS + 10
    found = replay(recording, SCARA)
    assert (found.ticks, found.difference, found.ended) == (len(recording.table), None, "")


@pytest.mark.parametrize("first", [0, MOST + 7])
def test_it_can_be_recorded_from_any_tick(run: tuple[Path, bytes], tmp_path: Path, first: int) -> None:
    whole = read_recording(run[0]).table
    kept = record(run[0], tmp_path / "kept.mcap", lambda _: True, ticks_from=first)
    assert (kept.ticks, kept.first_tick) == (len(whole) - first, first)
    assert read_recording(tmp_path / "kept.mcap").table.tobytes() == whole[first:].tobytes()


@given(arrays.arrays(np.int64, st.tuples(st.integers(1, 9), st.integers(1, 5))))
def test_whatever_is_packed_comes_back(rows: NDArray[np.int64]) -> None:
    data = pack_idle(rows)
    assert idle_count(data) == len(rows)
    assert b"".join(each[4:] for each in unpack_idle(data)) == rows.tobytes()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    cuts=st.lists(st.integers(0, 1500), max_size=6),
    events=st.lists(st.integers(0, 1499), max_size=5),
    spans=st.lists(st.integers(0, 1500), max_size=6),
)
def test_the_bytes_do_not_depend_on_how_the_records_arrived(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], events: list[int], spans: list[int]
) -> None:
    words = make_records(1500, state=int(State.INACTIVE), phase=int(Phase.BRAKED))
    table = words.view(LAYOUT.dtype)[:, 0]
    for begin, end in itertools.pairwise(sorted(spans)):
        table["phase"][begin:end] = int(Phase.RELEASED)
    rows = sorted(events)
    source = LogSource(LAYOUT, False, "name: test\n", {"machine": "test"})

    def written(folder: Path, bounds: list[int]) -> dict[str, bytes]:
        log = Log(folder, "m", "20260101-120000", source, 400_000)
        for begin, end in itertools.pairwise(bounds):
            told: list[Any] = [(row - begin, "state", {"tick": row}) for row in rows if begin <= row < end]
            log.write(words[begin:end], told)
            log.flush(0)
        log.close()
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    whole = written(tmp_path_factory.mktemp("whole"), [0, 1500])
    assert written(tmp_path_factory.mktemp("parts"), [0, *sorted(cuts), 1500]) == whole


def test_in_real_time_only_the_times_per_phase_are_left_out(tmp_path: Path) -> None:
    words = make_records(700, state=int(State.INACTIVE), phase=int(Phase.BRAKED))
    source = LogSource(LAYOUT, True, "name: test\n", {"machine": "test"})
    log = Log(tmp_path, "m", "20260101-120000", source, 10**9)
    log.write(words)
    log.close()
    found, true = read_recording(log.first).table, words.view(LAYOUT.dtype)[:, 0]
    for name in found.dtype.names or ():
        if name != "phase_ns":
            np.testing.assert_array_equal(found[name], true[name], err_msg=name)
    left_out = np.isnan(found["phase_ns"]).all(axis=1)
    np.testing.assert_array_equal(found["phase_ns"][~left_out], true["phase_ns"][~left_out])
    assert (~left_out).sum() == -(-700 // (MOST + 1))
