"""Processors, scheduling policy, timer slack and wake-up latency of this process.

Each function reports one Step.
"""

from __future__ import annotations

import errno
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from linkwork.timing.system import LIBC

_PR_SET_TIMERSLACK = 29
_PR_GET_TIMERSLACK = 30
_DMA_LATENCY = "/dev/cpu_dma_latency"
_LATER = 10
"""Niceness of work that can wait."""
_NAMES = {
    os.SCHED_OTHER: "other",
    os.SCHED_BATCH: "batch",
    os.SCHED_IDLE: "idle",
    os.SCHED_FIFO: "fifo",
    os.SCHED_RR: "rr",
}


def share_processors(available: frozenset[int] | None = None) -> tuple[frozenset[int], frozenset[int]]:
    """Split the processors: (one for the loop and the plant, the others for everybody else).

    Loop and plant take turns within a period, so one processor serves both and keeps their data warm. With
    a single processor both answers are that one. available: processor numbers; those this process may use
    when not given.
    """
    allowed = frozenset(os.sched_getaffinity(0)) if available is None else available
    last = frozenset({max(allowed)})
    return last, (allowed - last or allowed)


def pin(cpus: frozenset[int]) -> SchedulingStep:
    """Keep this thread, and the threads it starts from now on, on these processors."""
    remedy = (
        f"Processors of this computer: {_words(range(os.cpu_count() or 1))}; a container may allow fewer."
    )
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        remedy = f"{os.strerror(error.errno or 0)}. {remedy}"
    return SchedulingStep("cpus", _words(cpus), _words(os.sched_getaffinity(0)), remedy)


def set_policy(fifo_priority: int | None) -> SchedulingStep:
    """SCHED_FIFO at this priority, or the ordinary policy for None. Raises ValueError beyond 1 to 99."""
    low, high = os.sched_get_priority_min(os.SCHED_FIFO), os.sched_get_priority_max(os.SCHED_FIFO)
    if fifo_priority is not None and not low <= fifo_priority <= high:
        raise ValueError(f"fifo_priority is {fifo_priority}; allowed are {low} to {high}")
    remedy = (
        "Allow it with a line '@realtime - rtprio 99' in /etc/security/limits.d/realtime.conf and the group "
        "realtime, with 'setcap cap_sys_nice=ep' on the interpreter, or run as root."
    )
    if fifo_priority is None:
        if os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        now = _policy()
        return SchedulingStep("policy", now, now)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(fifo_priority))
    except PermissionError as error:
        remedy = f"{os.strerror(error.errno or errno.EPERM)}. {remedy}"
    return SchedulingStep("policy", f"fifo {fifo_priority}", _policy(), remedy)


def give_way() -> None:
    """Let processes of ordinary priority come before this one.

    Linux may share the processors among sessions first: then a session's niceness counts, not a process's. It
    changes only where this process leads the session: others share theirs with it, as a shell's commands do.
    """
    os.nice(_LATER)
    if os.getsid(0) != os.getpid():
        return
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_LATER))


def set_timer_slack(slack_ns: int) -> SchedulingStep:
    """Set the time by which the kernel may delay a wake-up of this thread, and of threads started later.

    A thread under SCHED_FIFO has no slack, independent of this setting.
    """
    LIBC.prctl(_PR_SET_TIMERSLACK, slack_ns, 0, 0, 0)
    found = LIBC.prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0)
    if _policy().startswith(("fifo", "rr")) and found == 0:
        found = slack_ns
    return SchedulingStep(
        "timer slack", f"{slack_ns} ns", f"{found} ns", "The kernel rejected it; this is harmless."
    )


def hold_dma_latency(latency_us: int) -> tuple[int, SchedulingStep]:
    """Keep the processors out of deep sleep for as long as the descriptor (-1 when refused) stays open."""
    asked = f"{latency_us} us"
    try:
        fd = os.open(_DMA_LATENCY, os.O_WRONLY | os.O_CLOEXEC)
        os.write(fd, struct.pack("=i", latency_us))
    except OSError as error:
        why = os.strerror(error.errno or 0)
        remedy = (
            f"{_DMA_LATENCY}: {why}. Allow it with a udev rule "
            'KERNEL=="cpu_dma_latency", GROUP="realtime", MODE="0660", or run as root; '
            "without it a sleeping processor takes longer to wake."
        )
        return -1, SchedulingStep("dma latency", asked, "as it was", remedy)
    return fd, SchedulingStep("dma latency", asked, asked)


def _policy() -> str:
    policy = os.sched_getscheduler(0)
    name = _NAMES.get(policy, str(policy))
    return f"{name} {os.sched_getparam(0).sched_priority}" if policy in (os.SCHED_FIFO, os.SCHED_RR) else name


def _words(cpus: frozenset[int] | set[int] | range) -> str:
    return "+".join(str(cpu) for cpu in sorted(cpus))


@dataclass(frozen=True)
class SchedulingStep:
    """A requested setting: its name, the values asked for and obtained as short texts, and a remedy.

    `remedy`: what to do where the two differ.
    """

    name: str
    asked: str
    obtained: str
    remedy: str = ""

    @property
    def met(self) -> bool:
        """Whether the setting was obtained."""
        return self.asked == self.obtained
