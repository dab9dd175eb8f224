"""`linkwork explore`: random sessions against a simulated service, audited at every tick and message."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from linkwork.cli.options.study import ExploreOptions
from linkwork.explore.auditor import RULES
from linkwork.explore.exploration import Exploration, explore, keep_place, next_seed, shrink
from linkwork.explore.session_run import Explored, SessionResult, run_session
from linkwork.explore.workload import ExploredSession, Workload
from linkwork.terminal.failures import DONE, GOAL_FAILED, Misuse
from linkwork.terminal.output import emit, say

_NEVER = {"codes_never": "codes", "transitions_never": "transitions", "faults_never": "faults"}
"""Texts of the parts of the coverage, by their names in the report."""


def explore_machine(options: ExploreOptions) -> int:
    """Run `linkwork explore`."""
    if options.shrink and options.seed is None and options.session is None:
        raise Misuse("--shrink shortens one session: add --seed, or --session FILE")
    explored = Explored.of(options.config)
    if options.seed is not None or options.session is not None:
        return _one(options, explored)

    def show(outcome: SessionResult) -> None:
        if outcome.violations and not options.as_json:
            say(_line(outcome, options.config))
        if options.resume is not None:
            keep_place(options.resume, explored, outcome.session.seed)

    seconds = None if options.minutes is None else 60.0 * options.minutes
    first = options.first if options.resume is None else _resumed(options.resume, explored, options.first)
    seeds = range(first, first + options.seeds)
    everything = options.faults == "all"
    found = explore(
        explored,
        seeds,
        faults=everything,
        kills=everything,
        seconds=seconds,
        until_failure=options.until_failure,
        workers=options.workers,
        progress=show,
    )
    if options.as_json:
        emit(found.as_map())
    else:
        _show(found)
    return GOAL_FAILED if found.failures else DONE


def _resumed(file: Path, explored: Explored, first: int) -> int:
    try:
        return next_seed(file, explored, first)
    except (OSError, ValueError) as error:
        text = (
            f"{file} says not where to continue ({error}); name a file that `linkwork explore --resume` wrote"
        )
        raise Misuse(text) from None


def _one(options: ExploreOptions, explored: Explored) -> int:
    """Run one session, and shorten it where that was asked for."""
    everything = options.faults == "all"
    if options.session is not None:
        session = _read(options.session)
    else:
        assert options.seed is not None
        session = Workload(explored.machine, faults=everything, kills=everything).session(options.seed)
    outcome = run_session(explored, session)
    if options.shrink and outcome.violations:
        rule = outcome.violations[0].rule

        def fails(tried: ExploredSession) -> bool:
            return any(each.rule == rule for each in run_session(explored, tried).violations)

        session = shrink(session, fails, lambda now: say(f"{len(now.steps)} steps left"))
        outcome = run_session(explored, session)
    if options.out is not None:
        options.out.write_text(_kept(session, options))
    found = Exploration(explored)
    found.add(outcome)
    if options.as_json:
        emit(found.as_map() | {"digest": outcome.digest, "session": session.as_map()})
    elif outcome.violations:
        say(_line(outcome, options.config))
    else:
        say(f"{outcome.ticks} ticks, all rules hold; digest {outcome.digest}")
    return GOAL_FAILED if outcome.violations else DONE


_TEST = '''"""A session that `linkwork explore` has found: it must break no rule."""

import json

from linkwork.explore.session_run import Explored, run_session
from linkwork.explore.workload import ExploredSession

SESSION = json.loads(r"""
{session}
""")


def test_the_session_of_seed_{seed}_breaks_no_rule() -> None:
    found = run_session(Explored.of({config!r}), ExploredSession.from_map(SESSION))
    assert found.violations == ()
'''


def _kept(session: ExploredSession, options: ExploreOptions) -> str:
    """Return a session as a file: JSON, or a test where the file's name says that it is Python."""
    text = json.dumps(session.as_map(), indent=1)
    if options.out is not None and options.out.suffix == ".py":
        return _TEST.format(session=text, seed=session.seed, config=options.config)
    return text + "\n"


def _read(path: Path) -> ExploredSession:
    try:
        return ExploredSession.from_map(json.loads(path.read_text()))
    except OSError as error:
        raise Misuse(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        text = f"{path} is no session ({type(error).__name__}: {error}); `linkwork explore --out` writes one"
        raise Misuse(text) from None


def _line(outcome: SessionResult, config: str) -> str:
    found = outcome.violations[0]
    again = f"linkwork explore {shlex.quote(config)} --seed {outcome.session.seed}"
    return f"{found.rule} at {found.at_s:g} s: {found.text}. Expected: {RULES[found.rule]}. Again: {again}"


def _show(found: Exploration) -> None:
    told = found.as_map()
    coverage = told["coverage"]
    say(
        f"{found.sessions} sessions, {found.ticks} ticks, {found.speed:.1f} times real time: "
        f"{len(found.failures)} failed"
    )
    reached, of = coverage["requests_in_states"], coverage["of"]
    say(f"requests in states: {reached} of {of} reached; never: {_listed(coverage['never'])}")
    for name, text in _NEVER.items():
        say(f"{text} never reached: {_listed(coverage[name])}")
    say(f"disturbances: {_listed([f'{count} × {name}' for name, count in coverage['disturbances'].items()])}")


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none"
