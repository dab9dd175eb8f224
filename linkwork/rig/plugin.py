"""The pytest plug-in: options, markers, the fixture `rig`, and data for reports.

It imports only this folder's light modules of linkwork until a test asks for a rig.
"""

from __future__ import annotations

import platform
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from linkwork.rig.collected import Collection, TestFindings
from linkwork.rig.rig_options import RigOptions, add_options, add_short_names

if TYPE_CHECKING:
    from linkwork.rig.collecting import Collecting
    from linkwork.rig.under_test import RigUnderTest

COLLECTION = pytest.StashKey[Collection]()
"""Where a session keeps what its rig tests found: `config.stash[COLLECTION]`."""
COLLECTING = pytest.StashKey[Any]()
"""What writes it down meanwhile (`Collecting`), where --rig-out names a folder."""
COLLECTED_FILE = "collected.jsonl"
MARKER = (
    "rig(*machines, pace=..., needs=[...], **capabilities): what a rig test needs, else it is skipped with "
    "the reason: machines by name, paces, and capabilities of the rig: closures=True, force_sensors=False"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The rig's options."""
    add_options(parser)


@pytest.hookimpl(trylast=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> None:
    """Short names of the options, after everybody else has had theirs."""
    add_short_names(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker `rig`, and begin a collection of results; with --rig-out it has a file."""
    config.addinivalue_line("markers", MARKER)
    config.stash[COLLECTION] = Collection()
    folder = config.getoption("rig_out")
    if folder is not None:
        from linkwork.rig.collecting import Collecting

        folder.mkdir(parents=True, exist_ok=True)
        config.stash[COLLECTING] = Collecting(folder / COLLECTED_FILE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With several machines, a rig test runs on each."""
    machines = metafunc.config.getoption("rig")
    if "rig" in metafunc.fixturenames and len(machines) > 1:
        metafunc.parametrize("rig", machines, indirect=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order tests by machine, so that each machine has to be started only once."""
    order: dict[str, int] = {}
    for item in items:
        order.setdefault(_machine_of(item), len(order))
    if len(config.getoption("rig")) > 1:
        items.sort(key=lambda item: order[_machine_of(item)])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the plan: the tests that were chosen."""
    if COLLECTING in session.config.stash:
        session.config.stash[COLLECTING].plan([item.nodeid for item in session.items if is_rig_test(item)])


def _machine_of(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return str(callspec.params.get("rig", "")) if callspec is not None else ""


def is_rig_test(item: pytest.Item) -> bool:
    """Whether a test asks for a rig."""
    return "rig" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def _bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """The daemons of the machine that is under test at present."""

    stash = request.config.stash
    bench = Bench(stash[COLLECTION], stash.get(COLLECTING, None))
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def rig(request: pytest.FixtureRequest) -> Iterator[RigUnderTest]:
    """The machine under test: plant and controller, ready, at home, enabled (`RigUnderTest`)."""
    machines = request.config.getoption("rig")
    if not machines:
        pytest.skip("no machine is under test: name one with --rig CONFIG")
    from linkwork.rig.capabilities import unmet
    from linkwork.rig.rig_options import options_of

    bench: Bench = request.getfixturevalue("_bench")
    config = getattr(request, "param", machines[0])
    findings = findings_of(request.node)
    stash = request.config.stash
    with ExitStack() as stack:
        with _ending_without_rig(stash.get(COLLECTING, None), had=bool(stash[COLLECTION].rigs)):
            machine = bench.rig_for(options_of(request.config, str(config)))
            findings.rig = machine.name
            reason = unmet(machine, list(request.node.iter_markers("rig")))
            if not reason:
                machine.record = None
                machine.ready()
                machine.findings = findings
                stack.callback(setattr, machine, "findings", None)
        if reason:
            pytest.skip(reason)
        yield machine


@contextmanager
def _ending_without_rig(collecting: Any, *, had: bool) -> Iterator[None]:
    """Record exceptions raised inside, and end pytest where the cause is the rig or its file.

    had: whether the rig was available before: then it counts as the test's failure, as it does without an
    output file.
    """
    try:
        yield
    except Exception as error:
        if collecting is None or had:
            raise
        from linkwork.terminal.failures import explain

        cause = error.__cause__
        status, content = explain(cause if isinstance(cause, Exception) else error)
        collecting.no_rig(status, str(content["message"]))
        pytest.exit(str(content["message"]), returncode=pytest.ExitCode.INTERNAL_ERROR)


def findings_of(item: pytest.Item) -> TestFindings:
    """The findings of a test, begun when they are first asked for."""
    from inspect import cleandoc

    words = cleandoc(getattr(getattr(item, "obj", None), "__doc__", None) or "").split("\n\n")[0]
    requirement = " ".join(words.split()) or item.name
    return item.config.stash[COLLECTION].test(item.nodeid, item.name, requirement)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test's findings are written down as it begins and when it is done."""
    if not is_rig_test(item) or COLLECTING not in item.config.stash:
        return (yield)
    collecting = item.config.stash[COLLECTING]
    collecting.begin(item.nodeid)
    done = yield
    collecting.test(findings_of(item))
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the verdict with the findings."""
    report = yield
    if is_rig_test(item):
        _note(findings_of(item), report)
    return report


def _note(findings: TestFindings, report: pytest.TestReport) -> None:
    """Record one stage of a test: set-up, call or tear-down. The worst of them is the verdict."""
    findings.seconds += report.duration
    if report.skipped:
        findings.verdict, findings.reason = "skipped", _reason(report)
    elif report.failed:
        findings.verdict = "failed" if report.when == "call" else "error"
        findings.stage, findings.text = report.when or "", report.longreprtext
    elif report.when == "call" and findings.verdict == "not run":
        findings.verdict = "passed"


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped, without pytest's prefix."""
    told = report.longrepr
    text = told[2] if isinstance(told, tuple) else str(told or getattr(report, "wasxfail", ""))
    return text.removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Why each rig test failed: its assertion, and the figures that missed their limits."""
    failed = [test for test in config.stash[COLLECTION].tests.values() if test.verdict in ("failed", "error")]
    if failed:
        terminalreporter.section("rig tests")
    for test in failed:
        terminalreporter.write_line(f"{test.node} {test.verdict}", red=True)
        for line in test.explained:
            terminalreporter.write_line(f"    {line}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The end is written down."""
    if COLLECTING in session.config.stash:
        session.config.stash[COLLECTING].end(int(exitstatus))
        session.config.stash[COLLECTING].close()


class Bench:
    """Hands out the rig of a machine; that of another machine is ended first."""

    def __init__(self, collection: Collection, collecting: Collecting | None = None) -> None:
        self._collection, self._collecting = collection, collecting
        self._rig: RigUnderTest | None = None

    def rig_for(self, options: RigOptions) -> RigUnderTest:
        """The rig for these options. Raises MachineError for a file that is none."""
        from linkwork.rig.under_test import RigUnderTest

        if self._rig is not None and self._rig.options != options:
            self.close()
        if self._rig is None:
            self._rig = RigUnderTest(options, self._introduce)
        return self._rig

    def _introduce(self, rig: RigUnderTest) -> None:
        """Note the provenance of a rig that has been started or restarted."""
        facts = self._collection.rigs[rig.name] = _provenance(rig)
        if self._collecting is not None:
            self._collecting.rig(rig.name, facts)

    def close(self) -> None:
        """End the rig that is there."""
        if self._rig is not None:
            self._rig.close()
            self._rig = None


def _provenance(rig: RigUnderTest) -> dict[str, Any]:
    """Return as plain data, for reports: version, hashes, pace, seed, real-time means, endpoints, system."""
    machine, options = rig.machine, rig.options
    status, described = rig.robot.status, rig.robot.describe()
    system = platform.uname()
    return {
        "config": options.config,
        "machine": machine.name,
        "about": machine.about,
        "config_hash": machine.config_hash,
        "interface": described["interface"],
        "model": described["model"],
        "plant_model": machine.plant_model_hash,
        "version": status["version"],
        "protocol": status["protocol"],
        "pace": described["pace"],
        "law": status["law"] or described["law"],
        "seed": options.seed,
        "renewals": list(rig.renewals),
        "period_s": described["period_s"],
        "real_time": status["real_time"],
        "plant": options.plant or "own",
        "controller": options.controller or "own",
        "python": platform.python_version(),
        "system": f"{system.system} {system.release} {system.machine}",
        "degrees_of_freedom": machine.dof,
        "closures": list(machine.mechanism.constraint_names),
    }
