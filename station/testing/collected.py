"""What a session of rig tests collects, as plain data: written line by line, read by the report.

Pytest's plug-in writes it to the file that `--rig-collected FILE` names. One JSON object a line, each with
its kind: `plan`, `session` (again where daemons are started anew), `begin` and `test` for each test, `end`
last. Each line is handed to the system at once: of a session that crashes only the test under way is lost.
Numbers that JSON does not have (infinite, not a number) become null.

Nothing here depends on the wall clock but `Session.real_time` and `Test.wall_s`: two lockstep runs with the
same seed collect the same otherwise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

Verdict = Literal["passed", "failed", "skipped", "error"]
Sense = Literal["at most", "at least", "equal to", ""]


@dataclass(frozen=True)
class Number:
    """One number that a test measured. limit: what it was held against; none: it is only reported.

    unit: SI or rad ("m", "rad", "N m", "ticks", …), empty for pure numbers.
    """

    name: str
    value: float | None
    unit: str = ""
    limit: float | None = None
    sense: Sense = ""
    passed: bool = True


@dataclass(frozen=True)
class Injected:
    """A fault that was injected, and what came of it.

    kind: as in a time line, "sensor: bias". of: joint, motor, closure … that it is of; empty: of the whole.
    text: with what numbers, "by 0.01 rad for 0.2 s". Ticks are the device's (`device_tick` of the log).
    detected: code of the fault it raised, "DEVICE_LOST"; delay_ticks: from the fault's begin to that.
    reaction: what the machine did, "braked", "stopped on its path". stopping: travel and time to standstill.
    tolerated: why nothing is to be detected, where that is by design.
    """

    name: str
    kind: str
    of: str = ""
    text: str = ""
    from_tick: int | None = None
    to_tick: int | None = None
    from_s: float | None = None
    detected: str = ""
    delay_ticks: int | None = None
    reaction: str = ""
    stopping: tuple[Number, ...] = ()
    tolerated: str = ""


@dataclass(frozen=True)
class Span:
    """Ticks of a log that a test is about; the report draws them.

    log: the run's first segment, relative to the folder of the collected file. first_tick, last_tick: of
    the channel `tick`, both included. tracked: coordinates whose errors were judged, with their limits or
    none (rad, m).
    """

    log: str
    first_tick: int
    last_tick: int
    title: str = ""
    tracked: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Test:
    """One test. node: pytest's name of it. requirement: its docstring, or the name as words.

    reason: why it failed or was skipped, in a line; text: the whole failure. faulted: codes of the faults
    that the machine raised meanwhile. wall_s: how long it took.
    """

    __test__ = False

    node: str
    requirement: str
    verdict: Verdict
    reason: str = ""
    text: str = ""
    numbers: tuple[Number, ...] = ()
    injected: tuple[Injected, ...] = ()
    spans: tuple[Span, ...] = ()
    faulted: tuple[str, ...] = ()
    wall_s: float = 0.0


@dataclass(frozen=True)
class Session:
    """On what the tests run. config: as given on the command line. Hashes: those of the machine file.

    plant_model: the model hash that the plant tells. simulated: whether the plant is linkwork's simulator.
    cannot: what this rig cannot do, with why ("inject": "the plant was started without --inject").
    real_time: what each daemon says at its start that it asked for and obtained.
    """

    machine: str
    config: str
    pace: str
    seed: int
    period_s: float
    config_hash: str
    model_hash: str
    plant_model: str = ""
    simulated: bool = True
    cannot: Mapping[str, str] = field(default_factory=dict)
    real_time: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Collected:
    """A session read back. exit_status: pytest's; None: the session broke off. planned: tests it chose."""

    session: Session | None
    tests: tuple[Test, ...]
    planned: tuple[str, ...] = ()
    exit_status: int | None = None


class Collector:
    """Writes a session; a context manager. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def plan(self, nodes: list[str]) -> None:
        """The tests that were chosen, in their order."""
        self._line("plan", {"nodes": nodes})

    def begin(self, node: str) -> None:
        """A test begins: whoever reads the file meanwhile can say so."""
        self._line("begin", {"node": node})

    def session(self, session: Session) -> None:
        """The daemons are ready."""
        self._line("session", asdict(session))

    def test(self, test: Test) -> None:
        """A test is done, with its clearing away."""
        self._line("test", asdict(test))

    def end(self, exit_status: int) -> None:
        """All is done."""
        self._line("end", {"exit_status": exit_status})

    def _line(self, kind: str, content: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps({"kind": kind, **_finite(content)}, ensure_ascii=False) + "\n")
        self._stream.flush()


def read_collected(path: Path) -> Collected:
    """A session as far as it was written; a last line that is cut off is left out. Raises OSError."""
    session: Session | None = None
    tests: list[Test] = []
    planned: tuple[str, ...] = ()
    exit_status: int | None = None
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        found = json.loads(line)
        match found.pop("kind"):
            case "session":
                session = Session(**found)
            case "test":
                tests.append(_test(found))
            case "plan":
                planned = tuple(found["nodes"])
            case "end":
                exit_status = int(found["exit_status"])
    return Collected(session, tuple(tests), planned, exit_status)


def _test(found: dict[str, Any]) -> Test:
    injected = (
        Injected(**{**each, "stopping": tuple(Number(**number) for number in each["stopping"])})
        for each in found["injected"]
    )
    parts = {
        "numbers": tuple(Number(**each) for each in found["numbers"]),
        "injected": tuple(injected),
        "spans": tuple(Span(**each) for each in found["spans"]),
        "faulted": tuple(found["faulted"]),
    }
    return Test(**{**found, **parts})


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
