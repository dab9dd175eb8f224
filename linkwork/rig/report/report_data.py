"""A report as data: tests and log evidence of each machine, and provenance."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from linkwork.machine import Machine
from linkwork.reports.provenance import without_paths
from linkwork.rig.collected import TestFindings, Verdict
from linkwork.rig.collecting import Collected
from linkwork.rig.report.evidence import Evidence

FORMAT: Final = "linkwork rig report 1"
VERDICTS: Final[tuple[Verdict, ...]] = ("passed", "failed", "error", "skipped", "not run")
BAD: Final[tuple[Verdict, ...]] = ("failed", "error", "not run")
HOST_FACTS: Final = ("real_time", "plant", "controller", "version", "config", "python", "system")
"""Keys of a rig's provenance that depend on this computer or its file paths."""

Counts = dict[Verdict, int]


@dataclass
class MachineReport:
    """One machine. problem: the reason why some tests were not run, else empty.

    facts: the plug-in's data of the rig; see `Collection`.
    """

    name: str
    facts: dict[str, Any]
    tests: list[TestFindings]
    evidence: Evidence = field(default_factory=Evidence)
    problem: str = ""
    machine: Machine | None = None

    @property
    def counts(self) -> Counts:
        """Tests by verdict."""
        return count(self.tests)

    @property
    def has_faults(self) -> bool:
        """Whether any test injected a fault."""
        return any(test.faults or test.tolerated or test.injected for test in self.tests)

    @property
    def units(self) -> dict[str, str]:
        """Unit of each joint's position."""
        joints = self.machine.joints if self.machine is not None else ()
        return {joint.name: joint.unit for joint in joints}

    @property
    def passed(self) -> bool:
        """Whether there is no problem and no failure."""
        return not self.problem and not any(self.counts[verdict] for verdict in BAD)


@dataclass
class RigReport:
    """All machines, and where it was made."""

    machines: list[MachineReport]
    provenance: dict[str, Any]

    @property
    def counts(self) -> Counts:
        """Tests of all machines by verdict."""
        return count([test for machine in self.machines for test in machine.tests])

    @property
    def passed(self) -> bool:
        """Whether every machine passed, and at least one test did."""
        return all(machine.passed for machine in self.machines) and self.counts["passed"] > 0


def count(tests: Sequence[TestFindings]) -> Counts:
    """Return the number of tests of each verdict."""
    return {verdict: sum(test.verdict == verdict for test in tests) for verdict in VERDICTS}


def machine_report(machine: Machine, label: str, collected: Collected, problem: str = "") -> MachineReport:
    """Return the result of a session with one machine, without evidence from its logs.

    label: the machine in the report. collected: verdicts of its tests; those that were chosen but not done
    are `not run`. problem: why the session ended early.
    """
    problem = without_paths(problem)
    done = {test.node for test in collected.tests}
    tests = [replace(test, text=without_paths(test.text)) for test in collected.tests]
    for node in collected.planned:
        if node not in done:
            reason = "running when the session was aborted" if node == collected.begun else problem
            name = node.rpartition("::")[2]
            words = name.removeprefix("test_").replace("_", " ")
            tests.append(TestFindings(node, name, words, machine.name, reason=reason))
    facts = next(iter(collected.rigs.values()), {})
    return MachineReport(label, facts, tests, problem=problem, machine=machine)


def as_data(report: RigReport) -> dict[str, Any]:
    """The report's numbers as plain data. Wall-clock and host data are under `provenance` only."""
    host = {
        each.name: {
            "rig": {key: each.facts[key] for key in HOST_FACTS if key in each.facts},
            "seconds": {test.node: round(test.seconds, 3) for test in each.tests},
        }
        for each in report.machines
    }
    return {
        "format": FORMAT,
        "passed": report.passed,
        "counts": report.counts,
        "machines": [_machine(each) for each in report.machines],
        "provenance": {**report.provenance, "machines": host},
    }


def _machine(report: MachineReport) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": report.name,
        "passed": report.passed,
        "problem": report.problem,
        "rig": {key: value for key, value in report.facts.items() if key not in HOST_FACTS},
        "counts": report.counts,
        "tests": [_test(test) for test in report.tests],
        "figures": report.evidence.figures(),
    }
    timing = report.evidence.timing
    if timing is not None:
        data["timing"] = {
            "ticks": timing.ticks,
            "lost": timing.lost,
            "missed": timing.missed,
            "period_us": quantiles(timing.period_us),
            "latency_us": quantiles(timing.latency_us),
            "phases_us": {name: quantiles(values) for name, values in timing.phases_us.items()},
            "overruns": dict(timing.overruns),
        }
    return data


def quantiles(values: Any) -> Mapping[str, float]:
    """Median, 99th percentile and maximum; empty without values."""
    import numpy as np

    if not len(values):
        return {}
    half, most, top = np.quantile(values, [0.5, 0.99, 1.0])
    return {"p50": float(half), "p99": float(most), "max": float(top)}


def _test(test: TestFindings) -> dict[str, Any]:
    data = asdict(test)
    del data["seconds"]
    data["spans"] = [
        {"ticks": span.last_tick - span.first_tick + 1, "title": span.title} for span in test.spans
    ]
    return data
