"""Run rig tests on machines one after another, with progress; then write the report."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from linkwork.machine import Machine
from linkwork.reports.provenance import provenance
from linkwork.rig.collecting import Collected
from linkwork.rig.report.evidence import evidence
from linkwork.rig.report.logs import Logs
from linkwork.rig.report.report_data import MachineReport, RigReport, machine_report
from linkwork.rig.report.report_files import ReportFiles, write_report
from linkwork.rig.report.rig_page import MARKS
from linkwork.rig.running import RigRun, run_tests
from linkwork.timing.signals import terminate_as_interrupt

INTERRUPTED = 128 + signal.SIGINT
_FAILED = 1


@dataclass(frozen=True)
class RigTests:
    """The tests to run, the machines (each with its configuration's name), and the report's folder."""

    run: RigRun
    machines: Sequence[tuple[str, Machine]]
    folder: Path


@dataclass(frozen=True)
class AllDone:
    """The report, its files, and the command's exit status."""

    report: RigReport
    written: ReportFiles
    status: int


def run_all(tests: RigTests, console: Console, words: Sequence[str], seconds: Callable[[], float]) -> AllDone:
    """Run all, and write the report. After an interrupt the report has the results until then.

    words: the command line. seconds: since the beginning. Raises OSError.
    """
    tests.folder.mkdir(parents=True, exist_ok=True)
    reports: list[MachineReport] = []
    statuses: list[int] = []
    with terminate_as_interrupt():
        try:
            for (config, machine), label in zip(tests.machines, _labels(tests.machines), strict=True):
                folder = tests.folder / label
                with _progress(console, label) as show:
                    done = run_tests(tests.run, config, folder, show)
                made = machine_report(machine, label, done.collected, done.problem)
                reports.append(made)
                # tests that were not run count as failed
                statuses.append(done.status or (0 if made.passed else _FAILED))
                with console.status("reading the logs"):
                    made.evidence = evidence(machine, made.tests, Logs(folder))
                if statuses[-1] == INTERRUPTED:
                    break
        except KeyboardInterrupt:  # between two machines, or while logs are read: report the results so far
            statuses.append(INTERRUPTED)
        report = RigReport(reports, provenance(words, seconds()))
        written = write_report(report, tests.folder)
    return AllDone(report, written, max(statuses) if any(statuses) or report.passed else _FAILED)


def _labels(machines: Sequence[tuple[str, Machine]]) -> list[str]:
    """The machines' names; the second of two with one name gets a number."""
    labels: list[str] = []
    for _, machine in machines:
        label, number = machine.name, 2
        while label in labels:
            label, number = f"{machine.name}-{number}", number + 1
        labels.append(label)
    return labels


@contextmanager
def _progress(console: Console, label: str) -> Iterator[Callable[[Collected], None]]:
    """A bar over a machine's tests; where there is no terminal, a line for each."""
    told = 0
    columns = (TextColumn("{task.description:<44}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"{label}: starting", total=None)

        def show(collected: Collected) -> None:
            nonlocal told
            name = collected.begun.rpartition("::")[2]
            bar.update(
                task,
                description=f"{label}: {name}"[:44],
                total=len(collected.planned) or None,
                completed=len(collected.tests),
            )
            for test in collected.tests[told:]:
                if not console.is_terminal or MARKS[test.verdict][1] == "bad":
                    line = f"{label}: {MARKS[test.verdict][0]} {test.node}"
                    console.print(line + (f" ({test.reason})" if test.reason else ""), markup=False)
            told = len(collected.tests)

        yield show
