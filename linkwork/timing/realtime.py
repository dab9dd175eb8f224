"""Real-time set-up of a process, with a report of the obtained settings.

A daemon's main does, in this order:

    single_threaded_blas()                 before numpy is imported
    …read the machine file…                at a real-time priority that would starve others
    obtained = set_up("warn", …)           processors, memory, policy, timers
    …open sockets…                         ZeroMQ's I/O thread inherits processors and policy
    obtained.freeze_garbage()              keep all present objects; no more collections
    print(obtained.line)                   one line: what was asked for and what was obtained
    …
    obtained.close()                       before the process exits

Policy `enforce` raises RealTimeRefused when a requested setting was not obtained, `warn` leaves the
shortfalls and their remedies in `obtained.warnings`, `ignore` leaves `warnings` empty. All three try the same
settings. A lockstep process requests none (`fifo_priority=None, lock_memory=False`): it never waits for a
clock, and at a real-time priority it would starve its neighbours.
"""

import gc
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from linkwork.options import command_options, option
from linkwork.timing import memory, scheduling
from linkwork.timing.scheduling import SchedulingStep

Policy = Literal["enforce", "warn", "ignore"]
POLICIES: tuple[Policy, ...] = ("enforce", "warn", "ignore")
BLAS_ENVIRONMENT = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
"""Environment of a child that shall do its linear algebra in one thread."""


@command_options
class RealtimeOptions:
    """Options of a process that sets itself up for real time."""

    realtime: Policy = option(
        "Refuse to start, warn, or stay silent when real time is not granted.", default="warn"
    )
    cpu: int | None = option("Processor of the real-time loop. Default: one that nothing else uses.", least=0)


class RealTimeRefused(Exception):
    """The policy is `enforce` and something was not obtained.

    The text names each shortfall and its remedy.
    """


def single_threaded_blas() -> bool:
    """Keep linear algebra in the calling thread. Returns False when numpy was imported before: too late."""
    os.environ.update(BLAS_ENVIRONMENT)
    return "numpy" not in sys.modules


@dataclass
class Obtained:
    """Result of `set_up`, step by step. Holds /dev/cpu_dma_latency open.

    Keep it as long as the loop runs.
    """

    policy: Policy
    steps: list[SchedulingStep] = field(default_factory=list)
    dma_latency_fd: int = -1

    @property
    def line(self) -> str:
        """One line for the start-up message."""
        asked = ", ".join(f"{step.name} {step.asked}" for step in self.steps)
        got = ", ".join(f"{step.name} {step.obtained}" for step in self.steps)
        return f"real time ({self.policy}): asked {asked}; obtained {'all' if self.complete else got}"

    @property
    def complete(self) -> bool:
        """Whether everything asked for was obtained."""
        return all(step.met for step in self.steps)

    @property
    def shortfalls(self) -> list[str]:
        """One sentence with its remedy for everything asked for and not obtained."""
        return [
            f"{step.name}: asked {step.asked}, obtained {step.obtained}. {step.remedy}"
            for step in self.steps
            if not step.met
        ]

    @property
    def warnings(self) -> list[str]:
        """The shortfalls, unless the policy is `ignore`."""
        return [] if self.policy == "ignore" else self.shortfalls

    def give_back_memory(self) -> None:
        """Return freed memory to the system, and lock the rest where it was locked; some tens of ms."""
        locked = any(step.name == "memory" and step.met for step in self.steps)
        memory.give_back()
        if locked:
            memory.lock()

    def freeze_garbage(self) -> None:
        """Collect garbage once, freeze all live objects, and turn the collector off. Call it before
        the first tick.

        From then on cyclic garbage is never freed: the loop must not make any.
        """
        gc.collect()
        gc.freeze()
        gc.disable()
        self.steps.append(SchedulingStep("gc", "off", "off"))

    def close(self) -> None:
        """Restore what affects other programs: the thread's priority and the processors' deep sleep.

        Call it before the process ends: taking down an interpreter lasts longer than many a period, and must
        not do so at a priority that starves the plant. Memory stays locked, processors stay chosen.
        """
        scheduling.set_policy(None)
        gc.enable()
        gc.unfreeze()
        if self.dma_latency_fd >= 0:
            os.close(self.dma_latency_fd)
            self.dma_latency_fd = -1


def set_up(
    policy: Policy = "warn",
    *,
    cpus: Iterable[int] | None = None,
    fifo_priority: int | None = None,
    lock_memory: bool = True,
    timer_slack_ns: int | None = 1,
    cpu_dma_latency_us: int | None = 0,
) -> Obtained:
    """Request the settings of a fixed-rate loop. Call it once, before the first socket and the first thread.

    cpus: processors to stay on (None: leave as is). fifo_priority: SCHED_FIFO at 1 to 99 (None: ordinary,
    also where a real-time policy was inherited). lock_memory: keep everything in memory, now and later, and
    touch it beforehand.
    timer_slack_ns: how much the kernel may delay a wake-up. cpu_dma_latency_us: how long a sleeping
    processor may take to wake. None leaves either alone.
    Raises RealTimeRefused under `enforce`, ValueError when `policy` or `fifo_priority` is no such thing.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy is {policy!r}; allowed are {', '.join(POLICIES)}")
    obtained = Obtained(policy, [_blas_step()])
    if cpus is not None:
        obtained.steps.append(scheduling.pin(frozenset(cpus)))
    if lock_memory:  # before the policy: touching every page takes its time, and others need the processor
        obtained.steps.append(memory.lock())
    obtained.steps.append(scheduling.set_policy(fifo_priority))
    if timer_slack_ns is not None:
        obtained.steps.append(scheduling.set_timer_slack(timer_slack_ns))
    if cpu_dma_latency_us is not None:
        obtained.dma_latency_fd, step = scheduling.hold_dma_latency(cpu_dma_latency_us)
        obtained.steps.append(step)
    if policy == "enforce" and not obtained.complete:
        reasons = "\n  ".join(obtained.shortfalls)
        obtained.close()
        raise RealTimeRefused(
            f"real-time set-up is enforced and was not obtained:\n  {reasons}\n"
            "Correct this, or run with the policy warn or ignore."
        )
    return obtained


def _blas_step() -> SchedulingStep:
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "")
    return SchedulingStep(
        "blas threads",
        "1",
        threads or "not set",
        "Set OPENBLAS_NUM_THREADS=1 before the process starts.",
    )
