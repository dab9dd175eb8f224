"""Many sessions of one machine: what failed, and what of requests, states and faults was reached."""

import json
import multiprocessing
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.supervision.state_machine import State
from linkwork.explore.auditor import BrokenRule
from linkwork.explore.record_checks import TRANSITIONS
from linkwork.explore.session_run import Explored, SessionResult, run_session
from linkwork.explore.workload import ExploredSession, Workload
from linkwork.protocol.codes import Pace, RequestCode
from linkwork.protocol.request_table import REQUESTS
from linkwork.version import __version__

Progress = Callable[[SessionResult], None]


@dataclass
class Exploration:
    """Findings of the sessions so far. failures: by seed, the first violation of each session that failed."""

    explored: Explored
    sessions: int = 0
    ticks: int = 0
    seconds: float = 0.0
    failures: dict[int, BrokenRule] = field(default_factory=dict)
    reached: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    disturbed: Counter[str] = field(default_factory=Counter)
    """Kinds of faults of the plant, and processes that were killed or suspended."""

    def add(self, outcome: SessionResult) -> None:
        """Count a session."""
        self.sessions += 1
        self.ticks += outcome.ticks
        self.reached += outcome.reached
        self.seen += outcome.seen
        self.disturbed += outcome.session.disturbances()
        if outcome.violations:
            self.failures[outcome.session.seed] = outcome.violations[0]

    @property
    def speed(self) -> float:
        """Simulated time by wall time."""
        simulated_s = self.ticks * self.explored.machine.period_s
        return simulated_s / self.seconds if self.seconds > 0.0 else 0.0

    @property
    def never(self) -> list[str]:
        """Requests that were never answered in a state, as "move in fault"."""
        pairs = {(method, state) for method, state, _ in self.reached}
        states = [state.name.lower() for state in State]
        return [
            f"{method} in {state}" for method in REQUESTS for state in states if (method, state) not in pairs
        ]

    def _codes_of_requests(self) -> dict[str, dict[str, int]]:
        found: dict[str, Counter[str]] = {method: Counter() for method in REQUESTS}
        for (method, _, code), count in self.reached.items():
            found[method][code] += count
        return {method: dict(sorted(each.items())) for method, each in found.items()}

    def as_map(self) -> dict[str, Any]:
        """Return the report as plain data."""
        machine, codes = self.explored.machine, Counter[str]()
        for (_, _, code), count in self.reached.items():
            codes[code] += count
        pairs = len(REQUESTS) * len(State)
        return {
            "machine": machine.name,
            "config": machine.config_hash,
            "linkwork": __version__,
            "pace": Pace.DEVICE.value,
            "sessions": self.sessions,
            "ticks": self.ticks,
            "times_real_time": round(self.speed, 2),
            "failures": [
                {"seed": seed, "rule": found.rule, "at_s": found.at_s, "text": found.text}
                for seed, found in self.failures.items()
            ],
            "coverage": {
                "requests_in_states": pairs - len(self.never),
                "of": pairs,
                "never": self.never,
                "answers": dict(sorted(codes.items())),
                "codes_never": [code.name for code in RequestCode if code.name not in codes],
                "codes_of_requests": self._codes_of_requests(),
                "transitions_and_faults": dict(sorted(self.seen.items())),
                "transitions_never": [name for name in _possible() if name not in self.seen],
                "faults_never": [
                    f"{code.value} {code.name}"
                    for code in FaultCode
                    if code and f"fault {code.value}" not in self.seen
                ],
                "disturbances": dict(sorted(self.disturbed.items())),
            },
        }


def _possible() -> list[str]:
    return [f"{before} → {after}" for before, others in TRANSITIONS.items() for after in others.split()]


def explore(
    explored: Explored,
    seeds: Iterable[int],
    *,
    faults: bool = True,
    kills: bool = True,
    seconds: float | None = None,
    until_failure: bool = False,
    workers: int = 1,
    progress: Progress = lambda _: None,
) -> Exploration:
    """Run the sessions of these seeds, up to a limit of wall time (s) or to the first failure.

    workers: processes that run sessions. The outcomes come in the order of the seeds in any case.
    """
    found, begun = Exploration(explored), time.monotonic()
    work = Workload(explored.machine, faults=faults, kills=kills)
    for outcome in _outcomes(explored, map(work.session, seeds), workers):
        found.add(outcome)
        found.seconds = time.monotonic() - begun
        progress(outcome)
        if (until_failure and found.failures) or (seconds is not None and found.seconds >= seconds):
            break
    return found


def _outcomes(
    explored: Explored, sessions: Iterator[ExploredSession], workers: int
) -> Iterator[SessionResult]:
    """Run sessions, in this process or in several; yield the outcomes in order."""
    if workers == 1:
        yield from (run_session(explored, session) for session in sessions)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _load, (explored.machine.path,)) as pool:
        running: deque[Future[SessionResult]] = deque()
        try:
            for session in sessions:
                running.append(pool.submit(_run, session))
                if len(running) > 2 * workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


_of_worker: list[Explored] = []
"""The machine of a process that runs sessions for another one."""


def _load(path: str) -> None:
    _of_worker[:] = [Explored.of(path)]


def _run(session: ExploredSession) -> SessionResult:
    return run_session(_of_worker[0], session)


def next_seed(file: Path, explored: Explored, first: int) -> int:
    """Return the seed at which an exploration continues: `first` where it is of another version or file.

    Raises ValueError where the file holds something else.
    """
    if not file.exists():
        return first
    content = json.loads(file.read_text())
    if not isinstance(content, dict) or not isinstance(content.get("next"), int):
        raise ValueError("it has no number `next`")
    return int(content["next"]) if content == _place(explored, content["next"]) else first


def keep_place(file: Path, explored: Explored, seed: int) -> None:
    """Write that the sessions up to a seed have run."""
    beside = file.with_name(file.name + ".new")
    beside.write_text(json.dumps(_place(explored, seed + 1)) + "\n")
    beside.replace(file)


def _place(explored: Explored, seed: int) -> dict[str, Any]:
    return {"linkwork": __version__, "config": explored.machine.config_hash, "next": seed}


def shrink(
    session: ExploredSession,
    fails: Callable[[ExploredSession], bool],
    progress: Callable[[ExploredSession], None] = lambda _: None,
) -> ExploredSession:
    """Return a session from which no step and no fault can be removed without losing the failure.

    Removes halves of the steps, then quarters, down to single ones (Zeller & Hildebrandt, "Simplifying and
    isolating failure-inducing input", 2002). `fails`: whether a session still fails in the same way.
    """
    size, before = max(len(session.steps) // 2, 1), len(session.steps)
    while True:
        begin = 0
        while begin < len(session.steps):
            tried = session.without(range(begin, begin + size))
            if fails(tried):
                session = tried
                progress(session)
            else:
                begin += size
        if size == 1 and len(session.steps) == before:
            break
        size, before = max(size // 2, 1), len(session.steps)
    for fault in session.faults:
        tried = session.without_fault(fault)
        if fails(tried):
            session = tried
            progress(session)
    return session
