"""Timing accuracy of this computer, and cost of an exchange over the device link: the engine of `linkwork
latency`.

Two separate processes exchange messages like plant and loop, at the loop's period, with the real sockets and
codecs. The same run measures, in turns, the bare absolute sleep and a bare ZeroMQ echo of the same bytes:
absolute times vary with the computer's load, the ratios do not. With load, every second round is made while
the computer is busy (`linkwork.diagnostics.load`).
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from linkwork.diagnostics.kernel_trace import BEFORE_S, Cause, KernelTrace, NoTrace, causes, kernel_trace
from linkwork.diagnostics.latency_probe import BLOCKS, Run
from linkwork.diagnostics.load import described, load
from linkwork.protocol.endpoints import check_path, runtime_dir
from linkwork.protocol.errors import EndpointError
from linkwork.timing.children import Child
from linkwork.timing.realtime import BLAS_ENVIRONMENT, Policy
from linkwork.timing.scheduling import SchedulingStep
from linkwork.timing.statistics import Histogram

BANDS = (
    (20, "excellent", "suitable for all uses, including step pulses in software"),
    (50, "good", "suitable for loops of 1 kHz and faster"),
    (500, "usable", "suitable for 1 kHz if single ticks may be late by half a period"),
)
"""Largest late wake-up in µs, verdict, suitable use; bands as in LinuxCNC's latency test."""
WORST = (
    "poor",
    "single ticks are late by half a millisecond and more: docs/real_time.md says what to change",
)
LOAD = (
    "The worst case shows only under load: measure with --load, and for minutes. What --load does not do, "
    "such as graphics and network traffic, you may add while it runs."
)
BLAMED = 5
"""Late wake-ups whose cause is reported."""
_BLOCK_S = 0.25
_PATIENCE_S = 2.0


@dataclass(frozen=True)
class LateWakeUp:
    """One of the latest wake-ups.

    causes: what took the time, the largest first; empty where the trace does not show it.
    """

    late_ns: int
    loaded: bool
    causes: list[Cause]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, times in µs."""
        each = [{"cause": cause.what, "share_us": cause.share_ns / 1e3} for cause in self.causes]
        return {"late_us": self.late_ns / 1e3, "under_load": self.loaded, "causes": each}


class LatencyError(Exception):
    """The measurement could not be made; the text says why."""


@dataclass
class LatencyReport:
    """Results of a measurement. Durations are in ns; the blocks are `sleep`, `exchange` and `bare` (see
    latency_probe).

    late: how late each block woke from its sleep to the deadlines. trips: how long a round trip took, for
    `exchange` (the device link) and `bare`. skipped: periods left out per block. medians: per quantity, one
    median a round.
    realtime: the requested and obtained settings. warnings: the shortfalls with their remedies.
    means: the same and the computer's own, one by one. under_load: the rounds under load, where it was asked
    for; load: description of that load. blame: the latest wake-ups with their causes; no_blame: the reason
    for their absence.
    """

    period_s: float
    realtime: str = ""
    warnings: list[str] = field(default_factory=list)
    rounds: int = 0
    late: dict[str, Histogram] = field(default_factory=lambda: {block: Histogram() for block in BLOCKS})
    trips: dict[str, Histogram] = field(default_factory=lambda: {block: Histogram() for block in BLOCKS[1:]})
    skipped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BLOCKS, 0))
    medians: dict[str, list[float]] = field(default_factory=dict)
    means: list[SchedulingStep] = field(default_factory=list)
    under_load: LatencyReport | None = None
    load: str = ""
    blame: list[LateWakeUp] = field(default_factory=list)
    no_blame: str = ""

    def add_round(self, found: dict[str, Any]) -> None:
        """Count one round as `latency_probe` printed it."""
        self.rounds += 1
        for block, values in found.items():
            self.skipped[block] += values["skipped"]
            for kind, histograms in (("late", self.late), ("trips", self.trips)):
                if values[kind]:
                    self.medians.setdefault(f"{kind}_{block}", []).append(median(values[kind]))
                    for duration in values[kind]:
                        histograms[block].add(duration)

    @property
    def jitter_us(self) -> float:
        """The latest wake-up of the loop that exchanged over the link, with and without load, µs."""
        reports = [self] if self.under_load is None else [self, self.under_load]
        return max(report.late["exchange"].max_ns for report in reports) / 1e3

    @property
    def verdict(self) -> tuple[str, str]:
        """The word for the jitter, and what such a computer is fit for."""
        for limit_us, word, meaning in BANDS:
            if self.jitter_us <= limit_us:
                return word, meaning
        return WORST

    def ratio(self, kind: str, block: str, beside: str) -> dict[str, float]:
        """One block over another of the same rounds.

        Median of the rounds' ratios, its quartiles, and p99 over p99.
        """
        above, below = self.medians[f"{kind}_{block}"], self.medians[f"{kind}_{beside}"]
        each = [a / b for a, b in zip(above, below, strict=True)]
        low, middle, high = quantiles(each, n=4) if len(each) > 1 else each * 3
        histograms = self.late if kind == "late" else self.trips
        tails = [histograms[name].quantile(0.99) for name in (block, beside)]
        names = ("p50", "p50_low_quartile", "p50_high_quartile", "p99")
        return dict(zip(names, (round(x, 3) for x in (middle, low, high, tails[0] / tails[1])), strict=True))

    def as_dict(self) -> dict[str, Any]:
        """For `--json`: every duration in µs, and its unit in its name."""
        word, meaning = self.verdict
        loaded = (
            {} if self.under_load is None else {"load": self.load, "under_load": self.under_load._blocks()}
        )
        return {
            "period_us": self.period_s * 1e6,
            "realtime": self.realtime,
            "warnings": self.warnings,
            "means": [
                {"name": each.name, "wanted": each.asked, "obtained": each.obtained, "met": each.met}
                | ({} if each.met else {"remedy": each.remedy})
                for each in self.means
            ],
            **self._blocks(),
            **loaded,
            "blame": [each.as_dict() for each in self.blame],
            "no_blame": self.no_blame,
            "verdict": {"word": word, "meaning": meaning, "max_jitter_us": round(self.jitter_us, 3)},
        }

    def _blocks(self) -> dict[str, Any]:
        return {
            "rounds": self.rounds,
            "late": {block: histogram.summary().in_microseconds() for block, histogram in self.late.items()},
            "round_trip": {
                block: histogram.summary().in_microseconds() for block, histogram in self.trips.items()
            },
            "skipped_periods": self.skipped,
            "ratios": {
                "loop_late_to_bare_sleep": self.ratio("late", "exchange", "sleep"),
                "exchange_to_bare_echo": self.ratio("trips", "exchange", "bare"),
            },
        }


def run_latency(
    seconds: float,
    *,
    period_s: float = 0.001,
    realtime: Policy = "warn",
    fifo: bool = True,
    under_load: bool = False,
    blame: bool = False,
    progress: Callable[[float], None] | None = None,
) -> LatencyReport:
    """Measure for about the given time (s). An interrupt (Ctrl-C) ends the run early and reports the results
    so far.

    period_s: period of the loop, s. realtime: policy for a refused real-time set-up. fifo: request a
    real-time priority, one processor and locked memory, as the daemons do. under_load: load the computer in
    every second round. blame: trace the kernel, and name the causes of the latest wake-ups. progress: called
    with the share done, 0 to 1.
    Raises LatencyError when a process failed, or refused under `enforce`, or was interrupted before its
    first round.
    """
    if not (seconds > 0 and 1e-4 <= period_s <= 1):
        raise LatencyError(f"seconds {seconds}, period_s {period_s}: allowed are > 0 and 0.0001 to 1")
    ticks = max(round(_BLOCK_S / period_s), 10)
    rounds = max(round(seconds / (len(BLOCKS) * ticks * period_s)), 1)
    report = LatencyReport(period_s, means=computer_means())
    if under_load:
        report.under_load, report.load = LatencyReport(period_s), described()
        rounds = max(rounds, 2)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="latency-", dir=runtime_dir()))
        try:
            check_path(Path(folder) / "link.ipc")
        except EndpointError as error:
            raise LatencyError(str(error)) from None
        plan = Run(folder, round(period_s * 1e9), rounds, ticks, realtime, fifo, under_load)
        stack.enter_context(suppress(KeyboardInterrupt))
        if under_load:
            stack.enter_context(load(folder))
        blaming = _blaming(report, stack) if blame else None
        for line in stack.enter_context(closing(_lines(plan))):
            _count(report, line)
            if blaming is not None:
                blaming.add(line)
            done = report.rounds + (report.under_load.rounds if report.under_load is not None else 0)
            if progress is not None and done:
                progress(done / rounds)
    if not report.rounds or (report.under_load is not None and not report.under_load.rounds):
        raise LatencyError("interrupted before the first round had ended")
    return report


def _count(report: LatencyReport, said: dict[str, Any]) -> None:
    if "failed" in said:
        raise LatencyError(said["failed"])
    if "round" in said:
        into = report.under_load if said["loaded"] and report.under_load is not None else report
        into.add_round(said["round"])
    else:
        report.realtime, report.warnings = said["realtime"], said["warnings"]
        report.means = [*(SchedulingStep(**step) for step in said["steps"]), *report.means]


class _Blaming:
    """Read the causes of the latest wake-ups from the kernel's trace, after each round that had one."""

    def __init__(self, report: LatencyReport, trace: KernelTrace) -> None:
        self._report, self._trace = report, trace
        self._pid = 0

    def add(self, said: dict[str, Any]) -> None:
        """One line of the measuring process."""
        if "round" not in said:
            self._pid = said["pid"]
            return
        deadline_ns, late_ns = said["round"]["exchange"]["worst"]
        known = self._report.blame
        if len(known) == BLAMED and known[-1].late_ns >= late_ns:
            return
        woke_ns = deadline_ns + late_ns
        events = self._trace.events(deadline_ns - round(1e9 * BEFORE_S), woke_ns)
        known.append(LateWakeUp(late_ns, said["loaded"], causes(events, self._pid, deadline_ns, woke_ns)))
        known.sort(key=lambda each: -each.late_ns)
        del known[BLAMED:]


def _blaming(report: LatencyReport, stack: ExitStack) -> _Blaming | None:
    try:
        return _Blaming(report, stack.enter_context(kernel_trace()))
    except NoTrace as reason:
        report.no_blame = str(reason)
        return None


def _lines(plan: Run) -> Generator[dict[str, Any], None, None]:
    children: list[Child] = []
    errors: list[Path] = []
    try:
        for role in ("measure", "answer"):
            errors.append(Path(plan.folder) / f"{role}.errors")
            with errors[-1].open("wb") as stderr:
                stdout = subprocess.PIPE if role == "measure" else stderr
                children.append(
                    Child.start(plan.argv(role), env=BLAS_ENVIRONMENT, stdout=stdout, stderr=stderr)
                )
        said = children[0].stdout
        assert said is not None
        for _ in range(plan.rounds + 1):
            ready = select.select([said.fileno(), children[1].pidfd], [], [])[0]
            line = said.readline() if said.fileno() in ready else b""
            if not line:  # the one whose end was noticed has failed first
                why = errors[0 if said.fileno() in ready else 1].read_text().strip()
                raise LatencyError(f"a measuring process failed: {why[-500:]}")
            yield json.loads(line)
    finally:
        for child in children:
            child.let_go()
        for child in children:
            child.stop(_PATIENCE_S)
            child.close()


_CPUS = Path("/sys/devices/system/cpu")


def computer_means() -> list[SchedulingStep]:
    """Return the real-time means of this computer, as far as it reports them."""
    version = os.uname().version
    found = [
        SchedulingStep(
            "kernel",
            "PREEMPT_RT",
            "PREEMPT_RT" if "PREEMPT_RT" in version else "without PREEMPT_RT",
            "Install a kernel with PREEMPT_RT (Debian: linux-image-rt-amd64): it bounds the worst case.",
        )
    ]
    virtual = "hypervisor" in _read(Path("/proc/cpuinfo"))
    found.append(
        SchedulingStep(
            "computer",
            "real",
            "virtual" if virtual else "real",
            "The host may take a processor away at any time: measure on the real computer.",
        )
    )
    governors = {_read(path) for path in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    if governors:
        found.append(
            SchedulingStep(
                "frequency",
                "performance",
                " ".join(sorted(governors)),
                "Keep the frequency: cpupower frequency-set -g performance.",
            )
        )
    threads = _read(_CPUS / "smt" / "active")
    if threads in ("0", "1"):
        found.append(
            SchedulingStep(
                "hyper-threading",
                "off",
                "on" if threads == "1" else "off",
                "Turn it off: echo off | sudo tee /sys/devices/system/cpu/smt/control, or in the firmware.",
            )
        )
    isolated = _read(_CPUS / "isolated")
    last = max(os.sched_getaffinity(0))
    found.append(
        SchedulingStep(
            "own processor",
            "isolated",
            "isolated" if isolated else "shared with other programs",
            f"Boot with isolcpus={last} nohz_full={last} rcu_nocbs={last}; run daemons with --cpu {last}.",
        )
    )
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
