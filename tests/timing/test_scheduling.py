"""Who runs where, and how memory is counted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkwork.timing.memory import give_back, resident_bytes
from linkwork.timing.scheduling import share_processors


@pytest.mark.parametrize(
    ("available", "loop", "others"),
    [({0}, {0}, {0}), ({0, 1}, {1}, {0}), ({2, 3, 7}, {7}, {2, 3})],
)
def test_loop_and_plant_get_one_processor_and_the_others_the_rest(
    available: set[int], loop: set[int], others: set[int]
) -> None:
    assert share_processors(frozenset(available)) == (loop, others)


def test_the_processors_of_this_process_are_shared() -> None:
    loop, others = share_processors()
    assert loop | others == os.sched_getaffinity(0)


def test_freed_memory_between_what_is_in_use_goes_back_to_the_system() -> None:
    blocks = [bytearray(3000) for _ in range(20_000)]
    kept, full = blocks[::40], resident_bytes()
    del blocks
    give_back()
    assert full - resident_bytes() > 32 * 1024 * 1024
    assert len(kept) == 500


def test_resident_memory_grows_with_what_is_touched() -> None:
    before = resident_bytes()
    block = bytearray(64 * 1024 * 1024)
    assert resident_bytes(os.getpid()) - before > 32 * 1024 * 1024
    assert len(block) == 64 * 1024 * 1024


def test_a_process_that_is_gone() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with pytest.raises(ProcessLookupError, match=str(gone.pid)):
        resident_bytes(gone.pid)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this Linux has no groups of sessions")
def test_only_the_leader_of_a_session_gives_way_as_a_session() -> None:
    way = "from pathlib import Path; from linkwork.timing.scheduling import give_way; give_way()"
    show = "print(Path('/proc/self/autogroup').read_text().split()[-1])"
    member = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {f'{way}; {show}'!r}], check=True)"
    )
    nice = [
        subprocess.run(
            [sys.executable, "-c", code], start_new_session=True, capture_output=True, text=True, check=True
        ).stdout.strip()
        for code in (f"{way}; {show}", member)
    ]
    assert nice == ["10", "0"]
