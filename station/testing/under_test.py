"""The machine under test: what the fixture `rig` gives to a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from machine import Machine, load
from protocol.errors import NobodyThere, RequestError
from protocol.results import Effect, StateResult
from station.client import Robot
from station.testing import runs
from station.testing.capabilities import Can, can
from station.testing.collected import TestFindings
from station.testing.daemons import Daemons, Role
from station.testing.faults import FaultDesk
from station.testing.motions import Motions
from station.testing.options import NONE, RigOptions
from station.testing.readiness import make_ready
from station.testing.record import Record
from station.testing.recorder import Recorder

Entries = runs.Entries


class RigUnderTest:
    """Plant and controller of one machine. A test gets it ready: no fault, at home, enabled.

    machine: the file, loaded. options: how the session was asked for. record: of the latest run. `introduce`
    is called whenever daemons are there for the first time.
    """

    def __init__(self, options: RigOptions, introduce: Callable[[RigUnderTest], None]) -> None:
        self.options = options
        self.machine: Machine = load(options.config)
        self.daemons = Daemons(self.machine, options)
        self.findings: TestFindings | None = None
        self.record: Record | None = None
        self._introduce = introduce
        self._robot: Robot | None = None
        self._recorder: Recorder | None = None
        self._faults: FaultDesk | None = None
        self._home: dict[str, float] = {}

    @property
    def name(self) -> str:
        """The machine's name."""
        return self.machine.name

    @property
    def period_s(self) -> float:
        """The controller's period."""
        return self.machine.controller.period_s

    # -- what it can do ----------------------------------------------------------------------------------

    def can(self, name: str) -> Can:
        """Whether the rig can do something: `rig.can("inject:sensor")`; with the reason, `.why`, if not."""
        return can(self, name)

    def needs(self, *names: str) -> None:
        """Skips the test, with the reason, unless the rig can do all this."""
        import pytest

        for name in names:
            answer = self.can(name)
            if not answer:
                pytest.skip(answer.why)

    def cannot_inject(self, kind: str = "") -> str:
        """Why faults of this kind cannot be injected; "" where they can."""
        if self.daemons.plant is None and not self.daemons.owns_plant:
            return "faults are injected at the plant, whose endpoint is not known: --plant ENDPOINT"
        return "" if self.daemons.owns_plant else self._desk.cannot(kind)

    @property
    def pace(self) -> str:
        """Who is the clock: lockstep, device or host."""
        if self.daemons.owns_controller or self.options.controller == NONE:
            return self.options.pace
        return self._described_pace

    @cached_property
    def _described_pace(self) -> str:
        return self.robot.describe()["pace"]

    @cached_property
    def motions(self) -> Motions:
        """Small feasible motions of this machine: `slow`, `fast`, `of(coordinate)`, `task`."""
        self.ready()
        return Motions(self.machine, self.positions | self.home, lambda motion: self.robot.check(motion))

    @cached_property
    def holds_effort(self) -> bool:
        """Whether it needs effort to stand still at home."""
        self.ready()
        self.pass_time(0.01)
        return any(abs(effort) > 1e-6 for effort in self.state["effort"].values())

    # -- motion ------------------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The client of the controller, with the lease and every request of the protocol."""
        if self._robot is None:
            self.start()
        assert self._robot is not None, "there is no controller of linkwork's in this rig"
        return self._robot

    @property
    def state(self) -> StateResult:
        """What the machine does now."""
        return self.robot.state

    @property
    def positions(self) -> dict[str, float]:
        """Where every coordinate is now, rad or m, as the controller knows it."""
        state = self.state
        return {**state["q"], **state["coordinates"]}

    def unit(self, coordinate: str) -> str:
        """rad or m."""
        at = self.machine.mechanism.coordinate_names.index(coordinate)
        return "rad" if self.machine.coordinates[at].is_angle else "m"

    def run(
        self,
        trajectory: Mapping[str, Any] | str | Path | None = None,
        *,
        during: runs.During | None = None,
        inject: Entries = (),
        settle_s: float = 0.1,
        title: str = "",
    ) -> Record:
        """Follows a trajectory to its end, whatever that is, and returns the record of every tick.

        trajectory: plain data, the path of a file, or None: the machine's own slow motion. during: requests
        at times since its beginning (s): {0.4: "pause", 0.8: "resume", 1.0: ("speed", {"fraction": 0.5})}.
        inject: faults (docs/faults.md), whose `after_s` (default 0) counts from there. settle_s: how long the
        record goes on after the end. Raises RequestError when the trajectory is refused, InjectionRefused.
        """
        self.record = runs.run(self, trajectory, during or {}, inject, settle_s, title)
        return self.record

    def move(self, target: Mapping[str, float], /, **request: Any) -> Record:
        """A jerk-limited move to rest, by coordinate (rad or m), recorded as `run` does."""
        self.record = runs.run(self, {"target": dict(target), **request}, {}, (), 0.1, "move")
        return self.record

    def jog(self, velocity: Mapping[str, float], seconds: float) -> Record:
        """Jogs at these velocities (rad/s or m/s) for so long, then lets it slow to rest; recorded."""
        self.recorder.begin()
        for _ in range(max(1, round(seconds / 0.1))):
            self.robot.jog(velocity)
            self.pass_time(0.1)
        self.pass_time(0.5)
        self.record = self.recorder.end("jog")
        return self.record

    def stop(self) -> Effect:
        """Stops on the path, then holds."""
        return self.robot.stop()

    def estop(self) -> Effect:
        """Brakes at once and latches."""
        return self.robot.estop()

    def pass_time(self, seconds: float) -> None:
        """Lets so much of the machine's time pass: lockstep time runs, real time is waited for."""
        self.recorder.pass_time(seconds)

    def wait_for(self, *, state: str, within_s: float) -> StateResult:
        """Waits for a state ("active", "fault" …), so much of the machine's time. Raises AssertionError."""
        return self.recorder.wait_for(state, within_s)

    @contextmanager
    def recording(self, title: str = "") -> Iterator[None]:
        """Records what happens in the block; afterwards `rig.record` holds it."""
        self.recorder.begin()
        yield
        self.record = self.recorder.end(title)

    @property
    def recorder(self) -> Recorder:
        """What takes ticks, events and truth in."""
        if self._recorder is None:
            self.start()
            self._recorder = Recorder(self)
        return self._recorder

    # -- faults ------------------------------------------------------------------------------------------

    def inject(self, entries: Entries = (), /, **entry: Any) -> list[str]:
        """Puts faults into the plant, from the next tick on or as they say; returns their names.

        Entries of a time line, or one in keywords: `rig.inject(sensor="bias", of="left", by_rad=0.01)`.
        `run(inject=…)` counts their `after_s` from the goal's beginning. Raises InjectionRefused.
        """
        return self._desk.give([*runs.listed(entries), *([entry] if entry else [])], None)

    def inject_from(self, entries: Entries, device_tick: int) -> None:
        """The same; their `after_s` counts from this tick of the device."""
        self._desk.give(runs.listed(entries), device_tick)

    @property
    def injected(self) -> list[dict[str, Any]]:
        """What was injected since `clear`, as the plant tells it, oldest first."""
        return self._desk.reports() if self._faults is not None else []

    def clear(self) -> None:
        """Ends everything that is injected, and forgets it."""
        if self._faults is not None or (not self.daemons.owns_plant and self.daemons.plant is not None):
            self._desk.clear()

    @property
    def _desk(self) -> FaultDesk:
        if self._faults is None:
            self.start()
            assert self.daemons.plant is not None, self.cannot_inject()
            self._faults = FaultDesk(self.daemons.plant, self.machine.plant.period_s, self.options.seed)
        return self._faults

    # -- daemons -----------------------------------------------------------------------------------------

    def kill(self, role: Role) -> None:
        """Ends a daemon as a power cut would: "plant", "loop", "gateway", or "controller": both of those."""
        if role in ("loop", "controller"):
            pid = self.robot.status["loop_pid"]
            if role == "controller":
                self.daemons.kill("gateway")
            self.daemons.kill("loop", pid)
        else:
            self.daemons.kill(role)

    def restart(self, role: Role) -> None:
        """Starts a daemon anew ("plant", or "controller") and waits until it is ready."""
        if role != "plant":
            self._disconnect()
        self.daemons.restart(role)
        self.start()
        self.recorder.reopen()

    def start(self) -> None:
        """Starts and connects what is not there yet. Raises RigFailed, NobodyThere."""
        if not self.daemons.started:
            self.daemons.start()
        if self._robot is None and self.daemons.requests is not None:
            robot = Robot(endpoint=self.daemons.requests)
            robot.__enter__()
            self._robot = robot
            self._introduce(self)

    def ready(self) -> None:
        """Makes it ready: nothing injected, no fault, at home, enabled. Starts what is not there."""
        make_ready(self)

    def renew(self) -> None:
        """Ends everything that is ours; it is started anew when it is needed."""
        self.close()
        self.daemons = Daemons(self.machine, self.options)

    @property
    def home(self) -> dict[str, float]:
        """Where the goal coordinates are at home, rad or m: where they were when the rig was found."""
        if not self._home:
            positions = self.positions
            self._home = {name: positions[name] for name in self.machine.controller.goal_coordinates}
        return dict(self._home)

    @contextmanager
    def test(self, findings: TestFindings) -> Iterator[None]:
        """A test with this rig, made ready before."""
        self.record = None
        self.ready()
        self.findings = findings
        try:
            yield
        finally:
            self.findings = None

    def _disconnect(self) -> None:
        if self._robot is not None:
            with suppress(NobodyThere, RequestError):
                self._robot.__exit__(None, None, None)
            self._robot = None

    def close(self) -> None:
        """Ends what was started."""
        self._disconnect()
        if self._faults is not None:
            self._faults.close()
            self._faults = None
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        self.daemons.close()
