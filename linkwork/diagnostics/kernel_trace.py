"""Kernel activity during late wake-ups of a thread, from the kernel's trace: `linkwork latency --blame`.

The trace uses a separate instance of tracefs, which is removed at the end, so that no other tracing
is disturbed. Its clock is CLOCK_MONOTONIC, like ours. See Documentation/trace/ftrace.rst of the kernel.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

EVENTS: Final = (
    "sched/sched_switch",
    "irq/irq_handler_entry",
    "irq/irq_handler_exit",
    "irq/softirq_entry",
    "irq/softirq_exit",
    "irq_vectors/local_timer_entry",
)
BUFFER_KB: Final = 16384
"""For each processor: seconds of these events."""
BEFORE_S: Final = 0.05
"""Events before the deadline that say what ran at the deadline."""
_LINE = re.compile(r"\s*.*-\d+\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d{6}): (\w+): (.*)")
_SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) .* ==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)")
_IRQ = re.compile(r"irq=(\d+)(?: name=(.*))?")
_SOFTIRQ = re.compile(r"vec=\d+ \[action=(\w+)\]")
_REAL_TIME = 100
"""Kernel priorities below this one are real-time."""


class NoTrace(Exception):
    """The kernel's trace cannot be read; the text says why and what to do."""


@dataclass(frozen=True)
class TraceEvent:
    """One event. time_ns: CLOCK_MONOTONIC; processor: its number; details: its fields as text."""

    time_ns: int
    processor: int
    name: str
    details: str


@dataclass(frozen=True)
class Cause:
    """Something that took time between a deadline and the wake-up. share_ns: how much of it."""

    what: str
    share_ns: int


class KernelTrace:
    """A running trace. `events` reads its contents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def events(self, begin_ns: int, end_ns: int) -> list[TraceEvent]:
        """The events between two instants of CLOCK_MONOTONIC, oldest first for each processor."""
        found = []
        for path in sorted(self._folder.glob("per_cpu/cpu*/trace")):
            with path.open(errors="replace") as lines:
                found += [event for event in read_events(lines) if begin_ns <= event.time_ns <= end_ns]
        return found


@contextmanager
def kernel_trace() -> Iterator[KernelTrace]:
    """Trace while the context lasts. Raises NoTrace."""
    root = _tracefs()
    folder = root / "instances" / f"linkwork-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise NoTrace(f"{root} refuses: {error.strerror}; run the command as root (sudo)") from None
    try:
        try:
            (folder / "trace_clock").write_text("mono")
            (folder / "buffer_size_kb").write_text(str(BUFFER_KB))
            for event in EVENTS:
                with suppress(FileNotFoundError):  # not every kernel has every event
                    (folder / "events" / event / "enable").write_text("1")
            (folder / "tracing_on").write_text("1")
        except OSError as error:
            raise NoTrace(f"the kernel refuses to trace: {error.strerror}") from None
        yield KernelTrace(folder)
    finally:
        with suppress(OSError):
            (folder / "tracing_on").write_text("0")
        with suppress(OSError):
            folder.rmdir()


def _tracefs() -> Path:
    """Return the mount point of tracefs. Raises NoTrace."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "tracefs":
            return Path(place)
    raise NoTrace("tracefs is not mounted; run `sudo mount -t tracefs tracefs /sys/kernel/tracing`")


def read_events(lines: Iterable[str]) -> Iterator[TraceEvent]:
    """The events in the text of a trace; other lines are left out."""
    for line in lines:
        match = _LINE.fullmatch(line.rstrip("\n"))
        if match is not None:
            processor, seconds, micros, name, details = match.groups()
            time_ns = int(seconds) * 1_000_000_000 + int(micros) * 1000
            yield TraceEvent(time_ns, int(processor), name, details)


def causes(events: Iterable[TraceEvent], pid: int, deadline_ns: int, woke_ns: int) -> list[Cause]:
    """Divide the time between a deadline and a wake-up among its causes, the largest first.

    events: around it, of all processors. pid: thread that was to wake. Empty when the trace does not show the
    thread's return.
    """
    ordered = sorted(events, key=lambda event: event.time_ns)
    back = [
        event
        for event in ordered
        if event.name == "sched_switch"
        and deadline_ns <= event.time_ns <= woke_ns
        and (match := _SWITCH.match(event.details)) is not None
        and int(match[4]) == pid
    ]
    if not back:
        return []
    processor = back[0].processor
    shares: dict[str, int] = {}
    there = [event for event in ordered if event.processor == processor and event.time_ns <= woke_ns]
    state = _State(pid, fired=all(event.name != _TIMER for event in there))
    since = deadline_ns
    for event in there:
        if event.time_ns > since:
            shares[state.now] = shares.get(state.now, 0) + event.time_ns - since
            since = event.time_ns
        state.change(event, after_deadline=event.time_ns >= deadline_ns)
    shares[state.now] = shares.get(state.now, 0) + woke_ns - since
    found = [Cause(what, share) for what, share in shares.items() if share > 0]
    return sorted(found, key=lambda cause: -cause.share_ns)


class _State:
    """Activity of a processor, event by event.

    pid: the thread that is to wake. fired: whether its timer has fired, or no event says when timers do.
    """

    def __init__(self, pid: int, *, fired: bool) -> None:
        self._pid = pid
        self._task = "a task that the trace does not name"
        self._interrupts: list[str] = []
        self._fired = fired

    @property
    def now(self) -> str:
        """Return the task that uses the processor."""
        if self._interrupts:
            return self._interrupts[-1]
        if self._task == _IDLE:
            return "leaving the idle state" if self._fired else _SLEPT
        return self._task if self._fired else f"{_HELD} {self._task}"

    def change(self, event: TraceEvent, *, after_deadline: bool) -> None:
        """Follow one event."""
        if event.name == "sched_switch" and (match := _SWITCH.match(event.details)) is not None:
            self._task = _task(match[3], int(match[4]), int(match[5]), self._pid)
        elif event.name == "irq_handler_entry" and (match := _IRQ.match(event.details)) is not None:
            self._interrupts.append(f"interrupt {match[1]} ({match[2]})")
        elif event.name == "softirq_entry" and (match := _SOFTIRQ.match(event.details)) is not None:
            self._interrupts.append(f"soft interrupt {match[1]}")
        elif event.name in ("irq_handler_exit", "softirq_exit") and self._interrupts:
            self._interrupts.pop()
        elif event.name == _TIMER:
            self._fired = self._fired or after_deadline


_TIMER: Final = "local_timer_entry"
_IDLE: Final = "idle"
_SLEPT: Final = "the timer interrupt came late: deep sleep of the processor, the hypervisor or the firmware"
_HELD: Final = "the timer interrupt came late: interrupts off, the hypervisor or the firmware, during"


def _task(name: str, pid: int, priority: int, own: int) -> str:
    if pid == own:
        return "the thread's own way back to its program"
    if pid == 0:
        return _IDLE
    kind = "real-time" if priority < _REAL_TIME else "ordinary"
    return f"{name} (process {pid}, {kind} priority)"
