"""The machine under test: the value of the fixture `rig`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from linkwork.client.robot import Robot
from linkwork.machine import Machine, load
from linkwork.protocol.results import RequestEffect, StateResult
from linkwork.rig.capabilities import Capabilities, can
from linkwork.rig.collected import TestFindings
from linkwork.rig.motions import Motions
from linkwork.rig.readiness import HomePose, make_ready
from linkwork.rig.record import RigRecord
from linkwork.rig.rig_daemons import Daemons, Role
from linkwork.rig.rig_options import NONE, RigOptions
from linkwork.rig.rig_recorder import Recorder
from linkwork.rig.runs import During, Entries, listed, run

JOG_EVERY_S = 0.1
"""How often a jog is renewed: a dead man's comes to rest after 0.2 s."""


class RigUnderTest:
    """Plant and controller of one machine. A test gets it ready: no fault, at home, enabled.

    machine: the file, loaded. options: how the session was asked for. findings: of the test under way.
    record: of the latest run. period_s: of the controller. `daemons` (with the connections to them) and
    `recorder` are its parts. `introduce` is called whenever a controller is connected.
    """

    def __init__(self, options: RigOptions, introduce: Callable[[RigUnderTest], None]) -> None:
        self.options: RigOptions = options
        self.machine: Machine = load(options.config)
        self.name, self.period_s = self.machine.name, self.machine.period_s
        self.daemons: Daemons = Daemons(self.machine, options, lambda: introduce(self))
        self.findings: TestFindings | None = None
        self.record: RigRecord | None = None
        self.renewals: list[str] = []
        """Why daemons were restarted, each time."""
        self._recorder: Recorder | None = None

    # -- the machine -------------------------------------------------------------------------------------

    @cached_property
    def pace(self) -> str:
        """Pace: lockstep, device or host."""
        if self.daemons.owns_controller or self.options.controller == NONE:
            return self.options.pace
        return self.robot.describe()["pace"]

    @property
    def robot(self) -> Robot:
        """The client of the controller, with the lease and every request of the protocol."""
        return self.daemons.robot

    @property
    def state(self) -> StateResult:
        """State of the machine."""
        return self.robot.state

    @property
    def positions(self) -> dict[str, float]:
        """Return the positions of all coordinates, rad or m, as the controller knows them."""
        state = self.state
        return {**state["q"], **state["coordinates"]}

    @cached_property
    def home_pose(self) -> HomePose:
        """Coordinates, joints and outputs as the rig was found."""
        return HomePose.of(self.machine, self.state)

    @property
    def home(self) -> dict[str, float]:
        """Home positions of the goal coordinates, rad or m: those at which the rig was found."""
        return dict(self.home_pose.coordinates)

    def inject(self, entries: Entries = (), /, **entry: Any) -> list[str]:
        """Put faults into the plant, from the next tick on or as they say; return their names.

        Entries of a time line, or one in keywords: `rig.inject(sensor="bias", of="left", by_rad=0.01)`.
        `run(inject=…)` counts their `after_s` from the goal's beginning. Raises InjectionRefused.
        """
        return self.daemons.faults.give([*listed(entries), *([entry] if entry else [])], None)

    @property
    def injected(self) -> list[dict[str, Any]]:
        """Faults injected since `clear`, as reported by the plant, oldest first."""
        return self.daemons.injected

    def clear(self) -> None:
        """End all injected faults and forget them."""
        self.daemons.clear_faults()

    @property
    def recorder(self) -> Recorder:
        """Recorder of ticks, events and truth."""
        if self._recorder is None:
            self._recorder = Recorder(self)
        return self._recorder

    def pass_time(self, seconds: float) -> None:
        """Pass a time (s) of the machine: advance lockstep time, or wait in real time."""
        self.recorder.pass_time(seconds)

    def wait_for(self, *, state: str, within_s: float) -> StateResult:
        """Wait for a state ("active", "fault" …), so much of the machine's time. Raises AssertionError."""
        return self.recorder.wait_for(state, within_s)

    def set(
        self, signals: Mapping[str, bool | float | str] | None = None, /, **outputs: Any
    ) -> RequestEffect:
        """Set output signals, all at one tick: `rig.set(gripper=True)`."""
        self.recorder.come_to_rest()
        return self.robot.set(signals, **outputs)

    def wait(self, *, within_s: float = 1.0, **signals: bool | float | str) -> StateResult:
        """Wait until these signals have these values, at most so much of the machine's time, s.

        Checks each tick in lockstep, every 10 ms in real time. Raises KeyError for
        an unknown signal, AssertionError with the values that they had instead.
        """
        return self.recorder.wait_for_signals(signals, within_s)

    @contextmanager
    def recording(self, title: str = "") -> Iterator[None]:
        """Record the ticks of the block; afterwards they are in `rig.record`."""
        self.recorder.come_to_rest()
        self.recorder.begin()
        yield
        self.record = self.recorder.end(title)

    def enable(self) -> None:
        """Brakes off, in the assembly that `state` shows; in lockstep at the same tick in every run."""
        self.recorder.come_to_rest()
        self.robot.confirm_branch()
        self.recorder.come_to_rest()
        self.robot.enable()

    def ready(self) -> None:
        """Make the rig ready: no injected faults, no fault, at home, enabled. Starts missing daemons."""
        make_ready(self)

    @cached_property
    def motions(self) -> Motions:
        """Small feasible motions of this machine: `slow`, `fast`, `of(coordinate)`, `task`."""
        self.ready()
        return Motions(self.machine, self.positions | self.home, lambda motion: self.robot.check(motion))

    @cached_property
    def holds_effort(self) -> bool:
        """Whether the machine needs effort to rest at home."""
        self.ready()
        self.pass_time(0.01)
        return any(abs(effort) > 1e-6 for effort in self.state["effort"].values())

    # -- what it can do ----------------------------------------------------------------------------------

    def can(self, name: str) -> Capabilities:
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
        self.daemons.restart(role)
        self.recorder.reopen()

    def close(self) -> None:
        """End the daemons that were started."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
        self.daemons.close()
