"""Real-time set-up. It changes the process it runs in, so every test looks at a process of its own."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

BEGIN = """
import gc, json, os, resource, sys, threading
from pathlib import Path
from linkwork.timing.realtime import RealTimeRefused, set_up, single_threaded_blas
early = single_threaded_blas()
"""
SHOW = """
print(json.dumps({"line": obtained.line, "complete": obtained.complete, "warnings": obtained.warnings,
    "steps": {step.name: [step.asked, step.obtained, step.remedy] for step in obtained.steps}} | more))
"""
WITHOUT_PRIVILEGES = """
if os.getuid() == 0:
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
"""


def run(script: str, more: str = "{}") -> dict[str, Any]:
    """Runs the script, which leaves `obtained`, and returns what `obtained` says, with the mapping `more`."""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", f"{BEGIN}{script}\nmore = {more}{SHOW}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_line_says_what_was_asked_and_obtained() -> None:
    cpu = min(os.sched_getaffinity(0))
    answer = run(
        f"obtained = set_up('warn', cpus=[{cpu}], fifo_priority=20)\nobtained.freeze_garbage()",
        "{'affinity': sorted(os.sched_getaffinity(0)), 'scheduler': os.sched_getscheduler(0),"
        " 'collects': gc.isenabled()}",
    )
    assert answer["line"].count("\n") == 0
    for words in (
        "cpus",
        "policy fifo 20",
        "memory locked",
        "timer slack 1 ns",
        "dma latency 0 us",
        "gc off",
    ):
        assert words in answer["line"]
    assert answer["affinity"] == [cpu]
    assert not answer["collects"]
    assert (answer["scheduler"] == os.SCHED_FIFO) == (answer["steps"]["policy"][1] == "fifo 20")
    assert answer["complete"] == (answer["warnings"] == [])


def test_locked_memory_is_locked() -> None:
    answer = run(
        "obtained = set_up('ignore')",
        "{'locked': [int(line.split()[1]) for line in Path('/proc/self/status').read_text().splitlines() "
        "if line.startswith('VmLck')][0]}",
    )
    assert (answer["locked"] > 0) == (answer["steps"]["memory"][1] == "locked")


def test_a_lock_takes_memory_for_what_is_used_and_for_code() -> None:
    answer = run(
        """
import mmap
from linkwork.timing.memory import resident_bytes
untouched, used = mmap.mmap(-1, 1 << 28), mmap.mmap(-1, 1 << 22)
obtained = set_up('ignore')
after = mmap.mmap(-1, 1 << 28)
used[:] = bytes(1 << 22)
kinds = {}
for line in Path('/proc/self/smaps').read_text().splitlines():
    words = line.split()
    if '-' in words[0]:
        kind = 'code' if words[1] == 'r-xp' and words[4] != '0' else ''
        here = kind and os.path.getsize(words[5]) < 1 << 24
    elif here and words[0] in ('Size:', 'Rss:'):
        kinds[words[0]] = kinds.get(words[0], 0) + int(words[1])
""",
        "{'resident': resident_bytes(), 'size': kinds['Size:'], 'read': kinds['Rss:']}",
    )
    assert answer["resident"] < 1 << 28
    if answer["steps"]["memory"][1] == "locked":
        assert answer["read"] == answer["size"] > 0


def test_freed_memory_of_a_locked_process_is_given_back() -> None:
    answer = run(
        """
from linkwork.timing.memory import resident_bytes
obtained = set_up('ignore')
blocks = [bytearray(3000) for _ in range(40_000)]
kept, full = blocks[::40], resident_bytes()
del blocks
obtained.give_back_memory()
given = full - resident_bytes()
again = bytearray(1 << 24)
""",
        "{'given': given, 'locked': [int(line.split()[1]) for line in "
        "Path('/proc/self/status').read_text().splitlines() if line.startswith('VmLck')][0]}",
    )
    assert answer["given"] > 64 << 20
    assert (answer["locked"] > 1 << 14) == (answer["steps"]["memory"][1] == "locked")


def test_without_privileges_the_warnings_name_the_remedies() -> None:
    answer = run(
        WITHOUT_PRIVILEGES + "obtained = set_up('warn', fifo_priority=50)\nblock = bytearray(50_000_000)",
    )
    assert not answer["complete"]
    warnings = "\n".join(answer["warnings"])
    for words in ("rtprio", "memlock", "run as root"):
        assert words in warnings
    assert answer["steps"]["policy"][:2] == ["fifo 50", "other"]
    assert answer["steps"]["memory"][1].startswith("not locked")
    assert "obtained" in answer["line"]


def test_ignore_tries_the_same_and_warns_of_nothing() -> None:
    answer = run(WITHOUT_PRIVILEGES + "obtained = set_up('ignore', fifo_priority=50)")
    assert not answer["complete"]
    assert answer["warnings"] == []


def test_enforce_refuses_with_every_shortfall() -> None:
    answer = run(
        WITHOUT_PRIVILEGES
        + """
try:
    set_up("enforce", fifo_priority=50)
    text = "accepted"
except RealTimeRefused as refusal:
    text = str(refusal)
obtained = set_up("ignore", lock_memory=False)
""",
        "{'text': text}",
    )
    assert "fifo 50" in answer["text"]
    assert "memlock" in answer["text"]
    assert "Traceback" not in answer["text"]


def test_enforce_is_content_with_what_it_got() -> None:
    answer = run("obtained = set_up('enforce', lock_memory=False, cpu_dma_latency_us=None)")
    assert answer["complete"]


def test_a_processor_that_is_not_there() -> None:
    answer = run("obtained = set_up('warn', cpus=[4095], lock_memory=False)")
    (warning,) = [line for line in answer["warnings"] if line.startswith("cpus")]
    assert "4095" in warning
    assert "Processors of this computer" in warning


def test_threads_inherit_affinity_policy_and_slack() -> None:
    cpu = min(os.sched_getaffinity(0))
    answer = run(
        f"""
obtained = set_up("ignore", cpus=[{cpu}], fifo_priority=10)
seen = []
look = lambda: seen.append([os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))])
thread = threading.Thread(target=look)
thread.start()
thread.join()
""",
        "{'thread': seen[0], 'main': [os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))]}",
    )
    assert answer["thread"] == answer["main"]


def test_an_inherited_priority_is_dropped_when_none_is_asked_for() -> None:
    answer = run(
        "set_up('ignore', fifo_priority=10, lock_memory=False)\nobtained = set_up('warn', lock_memory=False)",
        "{'scheduler': os.sched_getscheduler(0)}",
    )
    assert answer["scheduler"] == os.SCHED_OTHER


def test_linear_algebra_starts_no_threads() -> None:
    answer = run(
        "import numpy\nnumpy.ones((300, 300)) @ numpy.ones((300, 300))\nobtained = set_up('warn')",
        "{'threads': len(os.listdir('/proc/self/task')), 'early': early, 'late': single_threaded_blas()}",
    )
    assert answer["threads"] == 1
    assert answer["early"]
    assert not answer["late"]
    assert answer["steps"]["blas threads"][:2] == ["1", "1"]


def test_close_gives_back() -> None:
    answer = run(
        "obtained = set_up('ignore', fifo_priority=10, lock_memory=False)\n"
        "obtained.freeze_garbage()\nobtained.close()\nobtained.close()",
        "{'collects': gc.isenabled(), 'open': obtained.dma_latency_fd,"
        " 'scheduler': os.sched_getscheduler(0)}",
    )
    assert answer["collects"]
    assert answer["scheduler"] == os.SCHED_OTHER
    assert answer["open"] == -1


@pytest.mark.parametrize(
    ("call", "words"),
    [("set_up('maybe')", "enforce, warn, ignore"), ("set_up(fifo_priority=100)", "1 to 99")],
)
def test_what_cannot_be_asked_for(call: str, words: str) -> None:
    answer = run(
        f"""
try:
    {call}
    text = "accepted"
except ValueError as error:
    text = str(error)
obtained = set_up("ignore", lock_memory=False)
""",
        "{'text': text}",
    )
    assert words in answer["text"]
