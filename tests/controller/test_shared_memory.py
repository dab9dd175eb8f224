"""The memory that loop and gateway share."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.exchange.shared_memory import (
    GOAL_SLOTS,
    RING_RECORDS,
    SLOT_BYTES,
    Shared,
    SharedMismatch,
)

LAYOUT = RecordLayout(["a"], ["a"], ["a"], ["a"])


def record(number: int) -> np.ndarray:
    words = np.full(LAYOUT.words, float(number))
    words.view(np.int64)[0] = number
    return words


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared.create(tmp_path / "shared.bin", LAYOUT, "ab" * 32, lockstep=True)


def test_the_other_side_sees_what_was_written(shared: Shared) -> None:
    shared.text, shared.link_text = "real time: all", "waiting for a plant"
    shared.slot(2)[:3] = [1.0, 2.0, 3.0]
    shared.append(record(0))
    other = Shared.open(shared.path)
    assert (other.config_hash, other.lockstep, other.head) == ("ab" * 32, True, 1)
    assert (other.text, other.link_text) == ("real time: all", "waiting for a plant")
    assert other.slot(2)[:3].tolist() == [1.0, 2.0, 3.0]
    words, first, lost = other.read_records(0)
    assert (words.tolist(), first, lost) == ([record(0).tolist()], 0, 0)


def test_slots_do_not_overlap(shared: Shared) -> None:
    for index in range(GOAL_SLOTS):
        shared.slot(index)[[0, -1]] = index + 1.0
    assert [shared.slot(index)[[0, -1]].tolist() for index in range(GOAL_SLOTS)] == [
        [index + 1.0] * 2 for index in range(GOAL_SLOTS)
    ]


@settings(max_examples=40)
@given(
    steps=st.lists(st.tuples(st.integers(0, 3 * RING_RECORDS // 2), st.booleans()), min_size=1, max_size=6)
)
def test_a_reader_gets_every_record_or_hears_how_many_it_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("ring") / "shared.bin"
    shared, since, written = Shared.create(path, LAYOUT, "", lockstep=False), 0, 0
    for count, read in steps:
        for _ in range(count):
            shared.append(record(written))
            written += 1
        if read:
            words, first, lost = shared.read_records(since)
            assert first == since + lost
            assert words.view(np.int64)[:, 0].tolist() == list(range(first, written))
            assert lost == max(0, written - since - RING_RECORDS + 1) or lost == 0
            since = written
    shared.close()


def test_a_reader_takes_no_more_at_once_than_it_asks_for(shared: Shared) -> None:
    for number in range(100):
        shared.append(record(number))
    since, taken = 0, []
    while len(taken) < 100:
        words, first, lost = shared.read_records(since, 64)
        assert (first, lost) == (since, 0)
        assert 0 < len(words) <= 64
        taken += words.view(np.int64)[:, 0].tolist()
        since = first + len(words)
    assert taken == list(range(100))


def test_the_ring_is_full_until_the_tail_moves(shared: Shared) -> None:
    for number in range(RING_RECORDS - 1):
        assert not shared.full
        shared.append(record(number))
    assert shared.full
    shared.tail = 1
    assert not shared.full


def test_what_is_no_memory_of_ours_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"x" * 100_000):
        path = tmp_path / "other.bin"
        path.write_bytes(content)
        with pytest.raises(SharedMismatch):
            Shared.open(path)


def test_the_last_records_outlive_a_killed_writer(tmp_path: Path) -> None:
    path = tmp_path / "shared.bin"
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from tests.controller.test_shared_memory import LAYOUT, Shared, record\n"
        f"shared = Shared.create(Path({str(path)!r}), LAYOUT, 'cd' * 32, lockstep=False)\n"
        "for number in range(5000): shared.append(record(number))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", script], cwd=root, check=False, timeout=60)
    assert ended.returncode == -9
    words, first, lost = Shared.open(path).read_records(0)
    assert (first, lost, len(words)) == (5001 - RING_RECORDS, 5001 - RING_RECORDS, RING_RECORDS - 1)
    assert words[-1, 1] == 4999.0


def reserved_bytes(path: Path) -> int:
    return 512 * path.stat().st_blocks


def test_room_is_reserved_before_memory_is_written(shared: Shared) -> None:
    """A write to mapped memory for which the folder has no room would end the process."""
    at_first = reserved_bytes(shared.path)
    assert at_first >= RING_RECORDS * LAYOUT.bytes
    assert at_first < GOAL_SLOTS * SLOT_BYTES, "goal slots are reserved when a goal needs them"
    shared.reserve(1, 500_000)
    assert reserved_bytes(shared.path) >= at_first + 8 * 500_000


def test_a_folder_without_room_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "shared.bin"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
    try:
        with pytest.raises(OSError, match=r"shared\.bin"):
            Shared.create(path, LAYOUT, "", lockstep=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not path.exists()
