"""The machine under test: the value of the fixture `rig`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linkwork.protocol.results import RequestEffect
from linkwork.rig.capabilities import Can, can
from linkwork.rig.collected import TestFindings
from linkwork.rig.readied import ReadyRig
from linkwork.rig.record import RigRecord
from linkwork.rig.rig_daemons import Role
from linkwork.rig.rig_faults import Entries
from linkwork.rig.runs import During, run

JOG_EVERY_S = 0.1
"""How often a jog is renewed: a dead man's comes to rest after 0.2 s."""


class RigUnderTest(ReadyRig):
    """Plant and controller of one machine. A test gets it ready: no fault, at home, enabled."""

    # -- what it can do ----------------------------------------------------------------------------------

    def can(self, name: str) -> Can:
        """Whether the rig can do something: `rig.can("inject:sensor")`; with the reason, `.why`, if not."""
        return can(self, name)

    def needs(self, *names: str) -> None:
        """Skip the test, with the reason, unless the rig can do all this."""
        import pytest

        for name in names:
            answer = self.can(name)
            if not answer:
                pytest.skip(answer.why)

    # -- motion ------------------------------------------------------------------------------------------

    def run(
        self,
        trajectory: Mapping[str, Any] | str | Path | None = None,
        *,
        during: During | None = None,
        inject: Entries = (),
        settle_s: float = 0.1,
        title: str = "",
    ) -> RigRecord:
        """Follow a trajectory until it ends with any result, and return the record of every tick.

        trajectory: plain data, the path of a file, or None: the machine's own slow motion. during: requests
        at times since its beginning (s): {0.4: "pause", 0.8: "resume", 1.0: ("speed", {"fraction": 0.5})}.
        inject: faults (docs/faults.md), whose `after_s` (default 0) counts from there. settle_s: length of
        the record after the end. Raises RequestError when the trajectory is refused, InjectionRefused.
        """
        self.record = run(self, trajectory, during or {}, inject, settle_s, title)
        return self.record

    def move(self, target: Mapping[str, float], /, **request: Any) -> RigRecord:
        """A jerk-limited move to rest, by coordinate (rad or m), recorded as `run` does."""
        self.record = run(self, {"target": dict(target), **request}, {}, (), 0.1, "move")
        return self.record

    def jog(self, velocity: Mapping[str, float], seconds: float) -> RigRecord:
        """Jog at these velocities (rad/s or m/s) for the given time, let the machine slow to rest, and record
        both."""
        recorder, times = self.recorder, max(1, round(seconds / JOG_EVERY_S))
        recorder.come_to_rest()
        begin = recorder.begin()["tick"] + 2
        for number in range(times):
            if recorder.lockstep:
                tick = begin + round(number * JOG_EVERY_S / self.period_s)
                self.robot.jog(velocity, at_tick=tick)
            else:
                self.robot.jog(velocity)
                self.pass_time(JOG_EVERY_S)
        self.pass_time((times * JOG_EVERY_S if recorder.lockstep else 0.0) + 0.5)
        self.record = self.recorder.end("jog")
        return self.record

    def stop(self) -> RequestEffect:
        """Stop on the path, then hold."""
        return self.robot.stop()

    def estop(self) -> RequestEffect:
        """Brake immediately and latch."""
        return self.robot.estop()

    # -- daemons -----------------------------------------------------------------------------------------

    def kill(self, role: Role) -> None:
        """End a daemon as a power cut would: "plant", "loop", "gateway", or "controller": both of those."""
        self.recorder.kill(role)

    def restart(self, role: Role) -> None:
        """Restart a daemon ("plant", or "controller") and waits until it is ready."""
        if role != "plant":
            self.disconnect()
        self.daemons.restart(role)
        self.start()
        self.recorder.reopen()

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
