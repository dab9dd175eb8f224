"""Runs trials on one rig: a goal, a signal to one process, its reaction, recovery, and another goal."""

from __future__ import annotations

import fcntl
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from linkwork.client.goal import GoalFailed
from linkwork.client.robot import Robot
from linkwork.controller.exchange.orders import AuthorityEnd
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.launch.daemons import Rig, RigFailed
from linkwork.machine import load
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.timing.children import Child
from tests.system.chaos.log_checks import MOST_LOST_S, LogReader, steps
from tests.system.chaos.reactions import COMMAND_TIMEOUT_S, PERIOD_S, CrashReaction, Pace
from tests.system.chaos.trials import Subject, Trial
from tests.system.running import command_line, environment, made_active, processes_naming

BUSY_S = 10.0
"""What a busy computer may add to a reaction that is timed from outside."""
PATIENCE_S = 60.0
LEAVES_S = 30.0
PROGRESS_S = 0.1
"""A goal that has come this much farther after the signal continues."""
ORPHAN_STOPS_S = 1.0
"""Time of the machine within which a loop whose gateway has ended must begin to stop."""
AT_REST = 1e-3
"""rad/s or m/s"""
_FAULTS = {"LINK_LOST": CrashReaction.LINK_LOST, "DEVICE_WATCHDOG": CrashReaction.DEVICE_WATCHDOG}
_ENDS = {
    ResultCode.SUCCESSFUL: CrashReaction.CONTINUES,
    ResultCode.LEASE_LOST: CrashReaction.STOPS,
    ResultCode.PATH_TOLERANCE_VIOLATED: CrashReaction.DEVIATES,
}


class BrokenPromise(Exception):
    """A trial did not show what the table promises."""


_FAILURES = (BrokenPromise, RequestError, NobodyThere, TimeoutError, GoalFailed, RigFailed)


@dataclass
class Outcome:
    """What a trial showed. tick: that of the controller when the signal was sent."""

    trial: Trial
    tick: int = -1
    reaction: str = ""
    after_s: float = 0.0
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        said = "; ".join(self.violations) or "no violation"
        return f"{self.trial}, tick {self.tick}: {self.reaction} after {self.after_s:.3f} s: {said}"


class Arena:
    """Plant, controller and twin of one machine, whose processes are struck; a context manager."""

    def __init__(self, subject: Subject, pace: Pace, folder: Path) -> None:
        self.subject, self.folder = subject, folder
        config = folder / f"{subject.name}.yaml"
        config.write_text(subject.text())
        self.machine = load(str(config))
        arguments = [str(config), "--realtime", "ignore"]
        self._arguments = {
            "plant": arguments,
            "controller": [*arguments, "--pace", pace, "--twin", "--log", str(folder / "log")],
        }
        self.pace = pace
        self.rig = Rig(subject.name, *self._arguments.values(), folder)
        self.logs = LogReader(folder / "log")
        self._client: Child | None = None
        self._alone_since = 0
        """Tick of the loop by which its killed gateway had ended."""
        self._told_to_end = 0
        """Process id of the process that was struck last, unless it was suspended."""

    def __enter__(self) -> Self:
        self.rig.__enter__()
        try:
            self.rig.wait_ready(lambda _: None)
        except BaseException:
            self.rig.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rig.close()

    # One trial.

    def run(self, trial: Trial) -> Outcome:
        """Run one trial; what it violates is in the outcome."""
        outcome = Outcome(trial)
        try:
            self._make_ready()
            self._strike(trial, outcome)
        except _FAILURES as error:
            outcome.violations.append(f"{type(error).__name__}: {error}")
        finally:
            self._end_client()
        try:
            self._restart()
            self._make_ready()
            with self._robot() as robot:
                robot.move(trial.then, wait=False).wait(PATIENCE_S)
            if trial.victim == "gateway" and outcome.reaction == CrashReaction.STOPS.name:
                self._check_stop(outcome.tick)
        except _FAILURES as error:
            outcome.violations.append(f"recovery: {type(error).__name__}: {error}")
        for path, ticks in self.logs.new().items():
            found = steps(ticks, self.machine, self.subject)
            outcome.violations += [f"{path.name}: {violation}" for violation in found]
        return outcome

    def _robot(self) -> Robot:
        return Robot(endpoint=self.rig.requests, owner="chaos@test", take_over=True)

    def _make_ready(self) -> None:
        """Recover and enable as a user would; nothing moves then."""
        with self._robot() as robot:

            def active() -> bool:
                return made_active(robot) and robot.state["goal"] is None

            _wait(active, PATIENCE_S, lambda: f"not ready: {robot.state}")

    def _strike(self, trial: Trial, outcome: Outcome) -> None:
        """Start the goal, send the signal, and compare the reaction with the table."""
        with suppress(NobodyThere), self._robot() as robot:
            here = robot.state["q"]
            shares = [
                abs(trial.target[each] - here[each]) / most for each, most in self.subject.speed.items()
            ]
            speed = min(1.0, max(0.002, max(shares) / trial.duration_s))
            if trial.victim != "client":
                goal = robot.move(trial.target, speed=speed, wait=False).number
                self._observe(trial, outcome, robot, goal)
        if trial.victim == "client":
            with Robot(endpoint=self.rig.requests, lease=False) as robot:
                self._observe(trial, outcome, robot, self._goal_of_client(trial, speed, robot))

    def _goal_of_client(self, trial: Trial, speed: float, robot: Robot) -> int:
        """Let another process send the goal; return its number."""
        units = {name: "m" if name == "lift" else "rad" for name in trial.target}
        words = [f"{name}_{units[name]}={position}" for name, position in trial.target.items()]
        command = command_line("move", *words, "--speed", str(speed), "--endpoint", self.rig.requests)
        before = {result["goal"] for result in robot.state["results"]}
        self._client = Child.start(
            command, env=environment(self.folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

        def number() -> int | None:
            state = robot.state
            if state["goal"] is not None:
                return state["goal"]["goal"]
            return max({result["goal"] for result in state["results"]} - before, default=None)

        return int(_wait(number, PATIENCE_S, lambda: "the client's goal did not begin"))

    def _observe(self, trial: Trial, outcome: Outcome, robot: Robot, goal: int) -> None:
        until_s = trial.strike_at * trial.duration_s
        _wait(lambda: _path_s(robot, goal) >= until_s, PATIENCE_S, lambda: "the goal does not begin")
        status, state = robot.status, robot.state
        outcome.tick, path_s = state["tick"], _path_s(robot, goal)
        pid = self._pid(trial.victim, status)
        log = Path(str(status["log"]))
        rows = trial.rows()
        allowed = {reaction for row in rows for reaction in (row.reaction, *row.also)}
        struck_s = time.monotonic()
        self._told_to_end = 0 if trial.suspended_s else pid
        os.kill(pid, trial.action)
        if trial.victim == "gateway" and trial.action is signal.SIGKILL:
            _wait(lambda: not self.rig.children["controller"].alive, PATIENCE_S, lambda: "it has not ended")
            self._alone_since = self._loop_ticks()
        if trial.suspended_s:
            time.sleep(trial.suspended_s)
            os.kill(pid, signal.SIGCONT)
            path_s = max(path_s, _path_s(robot, goal))  # it may have moved until the signal came

        def reaction() -> CrashReaction | None:
            seen = self._reaction(trial, robot, goal, path_s, status["loop_pid"])
            return seen if seen in allowed else None

        within_s = max(row.within_s for row in rows) + trial.suspended_s + BUSY_S
        found = _wait(reaction, max(within_s, PATIENCE_S), lambda: self._what_happened(robot, allowed))
        outcome.reaction, outcome.after_s = found.name, time.monotonic() - struck_s
        if rows[-1].within_s and outcome.after_s > within_s:
            raise BrokenPromise(f"{found.name} after {outcome.after_s:.2f} s, allowed {within_s:.2f} s")
        if trial.victim == "gateway" and not trial.suspended_s:
            self._check_log_end(log, outcome.tick, whole=found is CrashReaction.LEAVES)
        else:
            self._check_cause(trial, found, robot)
            self._check_watchdog(found)

    def _pid(self, victim: str, status: Any) -> int:
        match victim:
            case "plant":
                return self.rig.children["plant"].pid
            case "gateway":
                return self.rig.children["controller"].pid
            case "client":
                assert self._client is not None
                return self._client.pid
            case "twin":
                return int(_wait(lambda: self._twin_pid(), PATIENCE_S, lambda: "there is no digital twin"))
            case _:
                return int(status[f"{victim}_pid"] or self._pid_again(victim))

    def _reaction(
        self, trial: Trial, robot: Robot, goal: int, path_s: float, loop: int | None
    ) -> CrashReaction | None:
        """The reaction that can be seen now."""
        if trial.victim == "gateway" and not trial.suspended_s:
            return self._without_gateway(trial, loop)
        state = robot.state
        if state["fault"] is not None:
            return _FAULTS.get(state["fault"]["name"])
        if trial.victim == "loop" and not trial.suspended_s:
            another = robot.status["loop_pid"] not in (None, loop) and state["state"] == "inactive"
            return CrashReaction.NEW_LOOP if another else None
        results = {result["goal"]: result["code"] for result in state["results"]}
        if goal in results:
            return _ENDS.get(ResultCode(results[goal]))
        if all(row.reaction is not CrashReaction.CONTINUES for row in trial.rows()):
            return None  # only its success shows that it has continued
        return CrashReaction.CONTINUES if _path_s(robot, goal) >= path_s + PROGRESS_S else None

    def _without_gateway(self, trial: Trial, loop: int | None) -> CrashReaction | None:
        child = self.rig.children["controller"]
        if child.alive:
            return None
        if trial.action is signal.SIGTERM:
            return CrashReaction.LEAVES if child.returncode == 0 else None
        self._restart()
        with Robot(endpoint=self.rig.requests, lease=False) as robot:
            state = robot.state
            if robot.status["loop_pid"] != loop:
                raise BrokenPromise(f"the loop {loop} was not adopted: {robot.status}")
            at_rest = all(abs(v) < AT_REST for v in state["v"].values())
            return CrashReaction.STOPS if state["state"] == "active" and at_rest else None

    def _what_happened(self, robot: Robot, allowed: set[CrashReaction]) -> str:
        names = ", ".join(sorted(reaction.name for reaction in allowed))
        with suppress(NobodyThere, RequestError):
            state = robot.state
            shown = {key: state[key] for key in ("state", "tick", "fault", "goal", "results")}  # type: ignore[literal-required]
            shown["results"] = shown["results"][-2:]
            return f"expected {names}, not {shown}, {robot.status['device']}"
        return f"expected {names}; no controller answers"

    def _check_cause(self, trial: Trial, found: CrashReaction, robot: Robot) -> None:
        """The fault, and the text of the link, name what was done to the plant."""
        state = robot.state
        if found not in _FAULTS.values():
            if state["fault"] is not None:
                raise BrokenPromise(f"{found.name}, but {state['fault']}")
            return
        fault = state["fault"]
        assert fault is not None
        if fault["value"] is not None and fault["limit"] and fault["value"] > fault["limit"]:
            raise BrokenPromise(f"late: {fault}")
        if trial.victim == "plant" and not trial.suspended_s:
            cause = "closed the connection" if trial.action is signal.SIGKILL else "bye"
            _wait(
                lambda: cause in robot.status["device"]["text"],
                BUSY_S,
                lambda: f"the cause is {cause!r}; status says {robot.status['device']['text']!r}",
            )

    def _check_watchdog(self, found: CrashReaction) -> None:
        """By its own clock the plant took over in time from a loop that ended or was suspended."""
        if self.pace == "lockstep" or found not in (CrashReaction.NEW_LOOP, CrashReaction.DEVICE_WATCHDOG):
            return
        trips = [event for event in self.rig.said("plant") if event["event"] == "watchdog"]
        if not trips:
            raise BrokenPromise("the plant's watchdog has not taken over")
        waited = trips[-1]["tick"] - trips[-1]["last_fresh_tick"]
        allowed = round(COMMAND_TIMEOUT_S / PERIOD_S)
        if waited > allowed:
            raise BrokenPromise(f"the plant took over after {waited} periods, allowed {allowed}")

    def _loop_ticks(self) -> int:
        """Ticks of the loop so far, read without its gateway."""
        shared = Shared.open(self.rig.seat.shared_path)
        try:
            return shared.head
        finally:
            shared.close()

    def _check_stop(self, tick: int) -> None:
        """The loop whose gateway was killed at this tick stopped the motion soon after its end."""
        with Robot(endpoint=self.rig.requests, lease=False) as robot:
            log = Path(str(robot.status["log"]))
        ticks = self.logs.run_of(log)
        if ticks is None:
            raise BrokenPromise(f"{log.name} holds no ticks")
        since = self._alone_since
        if ticks.table["tick"][0] > since:
            return  # the new gateway came after more than the time that the ring of ticks holds
        stopped = ticks.table["tick"][ticks.table["authority_end"] == AuthorityEnd.LEASE_LOST]
        stopped = stopped[stopped >= tick]
        if not len(stopped) or stopped[0] - since > ORPHAN_STOPS_S / PERIOD_S:
            raise BrokenPromise(
                f"without a gateway since tick {since}, stopping from tick {stopped[:1]} on in {log.name}"
            )

    def _check_log_end(self, log: Path, tick: int, *, whole: bool) -> None:
        ticks = self.logs.run_of(log)
        last = -1 if ticks is None else int(ticks.table["tick"][-1])
        if last < tick - (0 if whole else round(MOST_LOST_S / PERIOD_S)):
            raise BrokenPromise(f"{log.name} ends at tick {last}; the gateway was struck at tick {tick}")

    # What is responsible for the processes.

    def _restart(self) -> None:
        """Start plant and controller where they have ended, as a supervisor does."""
        ended = [
            role
            for role, child in self.rig.children.items()
            if child.wait(LEAVES_S if child.pid == self._told_to_end else 0.0)
        ]
        for role in ended:
            self.rig.start(role, self._arguments[role])
        if ended:
            self.rig.wait_ready(lambda _: None)

    def _twin_pid(self) -> int | None:
        with Robot(endpoint=self.rig.requests, lease=False) as robot:
            twin = robot.status["twin"]
            return twin["pid"] if twin is not None and twin["ready"] else None

    def _pid_again(self, victim: str) -> int:
        """The process id of a process that is being started."""
        with Robot(endpoint=self.rig.requests, lease=False) as robot:
            key = f"{victim}_pid"
            return int(_wait(lambda: robot.status[key], PATIENCE_S, lambda: f"no {victim}"))  # type: ignore[literal-required]

    def _end_client(self) -> None:
        if self._client is not None:
            self._client.kill()
            self._client.stop(0.0)
            self._client.close()
            self._client = None

    # What is left behind.

    def end(self) -> list[str]:
        """End the daemons as a user does; return what is left: processes, sockets, held locks, memory."""
        self.rig.close()
        deadline = time.monotonic() + BUSY_S
        while (left := processes_naming(str(self.folder))) and time.monotonic() < deadline:
            time.sleep(0.01)
        found = [f"process {pid}" for pid in left]
        for path in self.rig.seat.folder.iterdir():
            if path.suffix != ".lock":
                found.append(f"file {path.name}")
            elif _locked(path):
                found.append(f"lock {path.name}")
        return found


def _locked(path: Path) -> bool:
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _path_s(robot: Robot, goal: int) -> float:
    """How far a goal is along its path, in s; infinite once it has ended."""
    state = robot.state
    if any(result["goal"] == goal for result in state["results"]):
        return math.inf
    return state["goal"]["path_s"] if state["goal"] is not None else 0.0


def _wait(condition: Callable[[], Any], most_s: float, why: Callable[[], str]) -> Any:
    """Wait until the condition gives something that is true, and return that. Raises BrokenPromise."""
    deadline = time.monotonic() + most_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise BrokenPromise(f"{why()} (after {most_s:g} s)")
        time.sleep(0.005)
    return found
