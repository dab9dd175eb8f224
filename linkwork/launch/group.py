"""Plant and controller of one machine as a supervised group: `linkwork up`.

The supervisor starts both, keeps their output (`output_log`), reports each crash and restarts the daemon if
requested. A restarted controller is inactive: the real-time loop that a crashed gateway left behind is
stopped and ended first. The supervisor never enables a machine.
"""

import json
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final

from linkwork.client.request_client import RequestClient
from linkwork.controller.exchange.order_socket import OrderOutbox
from linkwork.controller.exchange.orders import Shutdown
from linkwork.launch.daemons import daemon_argv, is_ready, status_of
from linkwork.launch.output_log import GROUP, OutputLog, output_path
from linkwork.protocol.codes import ExitCode
from linkwork.protocol.endpoints import Claim, MachineEndpoints, RunningProcess, claim, running
from linkwork.protocol.errors import Taken
from linkwork.timing.children import Child, Process
from linkwork.timing.signals import SignalInterrupts

ROLE: Final = "group"
"""The role of the supervisor's lock in the machine's runtime folder."""
STARTING, READY, ENDING = "starting", "ready", "ending"
"""First words of the lock's text."""
START_S: Final = 900.0
"""Most time that a start takes, with the machine's own assembly and checks."""
RESTART_AFTER_S: Final = (0.0, 0.5, 1.0, 2.0, 5.0)
"""Pause before a daemon is started again, by its crashes in a row; after one more the group ends."""
STEADY_S: Final = 10.0
"""A daemon that has run this long has no crashes in a row."""
LEAVES_WITHIN_S, BRAKES_WITHIN_S = 75.0, 5.0
"""Time for a daemon to end: after the request, and after the request to brake immediately."""
_LOOK_S, _IDLE_S = 0.1, 1.0
_LAST_LINES = 20
Show = Callable[[str, str], None]


class GroupFailed(Exception):
    """The group could not start, or a daemon ended for good.

    status: exit status for the command; said: the last lines of the daemon, oldest first.
    """

    def __init__(self, message: str, status: int, said: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status, self.said = status, tuple(said)


@dataclass(frozen=True)
class GroupOptions:
    """name: the machine's. plant, controller: arguments of the daemons, the machine file first.

    restart: start a daemon again when it has crashed.
    """

    name: str
    plant: Sequence[str]
    controller: Sequence[str]
    restart: bool = True


@dataclass
class _Daemon:
    """One of the two. crashes: in a row; restart_s: when it is to be started again.

    events: names of the events that it has reported since its start; said: its last lines.
    """

    role: str
    words: Sequence[str]
    child: Child
    started_s: float
    crashes: int = 0
    restarts: int = 0
    restart_s: float | None = None
    ended: bool = False
    events: set[str] = field(default_factory=set)
    said: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))


@dataclass
class _Pipe:
    """Output of a daemon. rest: the beginning of a line that is not complete."""

    daemon: _Daemon
    stream: IO[bytes]
    rest: bytes = b""


def running_groups() -> list[RunningProcess]:
    """The supervisors that run, sorted by machine."""
    return running(ROLE)


class Group:
    """Supervises one machine until it is asked to end (SIGINT, SIGTERM, SIGHUP) or a daemon ends for good.

    show: called with the source (`plant`, `controller`, `group`) and the text of each line.
    """

    def __init__(self, options: GroupOptions, show: Show) -> None:
        self._options, self._show = options, show
        self._seat = MachineEndpoints.named(options.name)
        self._selector = selectors.DefaultSelector()
        self._daemons: dict[str, _Daemon] = {}
        self._ready = False
        self._pressed = 0

    def run(self) -> None:
        """Start both daemons, supervise them, end the controller and then the plant.

        Raises Taken where the machine is up already, EndpointError, and GroupFailed.
        """
        with ExitStack() as stack:
            self._held = stack.enter_context(self._claimed())
            self._output = OutputLog(output_path(self._options.name))
            stack.callback(self._output.close)
            self._interrupts = stack.enter_context(SignalInterrupts())
            before = signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
            stack.callback(signal.signal, signal.SIGHUP, before)
            self._selector.register(self._interrupts.fd, selectors.EVENT_READ)
            stack.callback(self._close)
            client = stack.enter_context(RequestClient(self._seat.requests))
            if self._output.problem:
                self._say(self._output.problem)
            self._start("plant", self._options.plant)
            self._start("controller", self._options.controller)
            try:
                self._supervise(client)
            except GroupFailed as failed:  # a detached group has no other reader
                self._output.write(GROUP, str(failed))
                raise
            finally:
                self._end()

    def _claimed(self) -> Claim:
        name = self._options.name
        try:
            held = claim(self._seat.folder, ROLE, STARTING)
        except Taken as taken:
            text = (
                f"{name} is up already: process {taken.pid}, {taken.text}; `linkwork down {name}` ends it, "
                f"`linkwork logs {name}` shows what its daemons print"
            )
            raise Taken(text, taken.pid, taken.command, taken.text) from None
        for role, word in (("plant", "plant"), ("gateway", "controller")):
            for found in running(role):
                if found.name == name:
                    held.release()
                    text = (
                        f"a {word} of {name} runs already, process {found.pid} ({found.command}); end it "
                        f"with Ctrl-C in its terminal or `kill {found.pid}`, then run `linkwork up` again"
                    )
                    raise Taken(text, found.pid, found.command, found.text)
        return held

    # Supervision.

    def _supervise(self, client: RequestClient) -> None:
        deadline = time.monotonic() + START_S
        while not self._interrupts.requested:
            self._turn(_LOOK_S if self._pressing else _IDLE_S)
            if self._held.lost:
                raise GroupFailed(f"{self._held.lost}; the group ends", ExitCode.GOAL_FAILED)
            for daemon in self._daemons.values():
                if not daemon.ended and not daemon.child.alive:
                    self._ended(daemon)
                elif daemon.restart_s is not None and time.monotonic() >= daemon.restart_s:
                    self._start_again(daemon)
            if not self._ready and client.connected() and (status := status_of(client)) is not None:
                self._look(status)
            if not self._ready and time.monotonic() > deadline:
                raise GroupFailed(f"the controller had no plant after {START_S:g} s", ExitCode.GOAL_FAILED)

    def _look(self, status: dict[str, Any]) -> None:
        """Report that the machine is ready, once its controller says so."""
        if is_ready(status) and "connected" in self._daemons["plant"].events:
            self._ready = True
            self._describe(READY)
            again = any(daemon.restarts for daemon in self._daemons.values())
            then = "; the machine stays braked until it is recovered and enabled" if again else ""
            self._say(f"ready: plant and controller are connected{then}")

    @property
    def _pressing(self) -> bool:
        return not self._ready or any(daemon.restart_s is not None for daemon in self._daemons.values())

    def _ended(self, daemon: _Daemon) -> None:
        """Report the end of a daemon; plan its restart, or raise GroupFailed where there is none."""
        self._collect(daemon)
        status, first = daemon.child.returncode or 0, not any(d.restarts for d in self._daemons.values())
        what = f"the {daemon.role} (process {daemon.child.pid}) {_how(status)}"
        if not self._ready and first:
            code = status if status > 0 else int(ExitCode.GOAL_FAILED)
            raise GroupFailed(f"{what} before the machine was ready", code, daemon.said)
        steady = time.monotonic() - daemon.started_s > STEADY_S
        daemon.crashes = 1 if steady else daemon.crashes + 1
        final = status in (ExitCode.DONE, ExitCode.USAGE, ExitCode.REFUSED)
        if final or not self._options.restart or daemon.crashes > len(RESTART_AFTER_S):
            why = "" if self._options.restart else " (--restart no)"
            why = f", {daemon.crashes} times in a row" if daemon.crashes > len(RESTART_AFTER_S) else why
            code = status if final else int(ExitCode.GOAL_FAILED)
            raise GroupFailed(f"{what}{why}; the group ends", code, daemon.said)
        pause_s = RESTART_AFTER_S[daemon.crashes - 1]
        daemon.restart_s = time.monotonic() + pause_s
        self._say(f"{what}; it is started again{f' in {pause_s:g} s' if pause_s else ''}")
        if daemon.role == "controller":
            self._dismiss_loop(daemon)

    def _dismiss_loop(self, daemon: _Daemon) -> None:
        """Stop the loop that outlives a crashed gateway, so that the next controller begins inactive."""
        deadline = time.monotonic() + LEAVES_WITHIN_S
        self._order_loop_to_leave()
        while (pid := self._loop_pid()) is not None and not self._interrupts.insisted:
            if time.monotonic() > deadline:
                with suppress(ProcessLookupError):
                    left = Process(pid)
                    left.kill()
                    left.wait(BRAKES_WITHIN_S)
                    left.close()
                break
            self._turn(_LOOK_S)
        daemon.restart_s = time.monotonic() + RESTART_AFTER_S[daemon.crashes - 1]

    def _order_loop_to_leave(self, *, brake: bool = False) -> None:
        outbox = OrderOutbox(self._seat.orders_path)
        outbox.send(Shutdown(at_once=brake))
        outbox.close()

    def _loop_pid(self) -> int | None:
        name = self._options.name
        return next((found.pid for found in running("loop") if found.name == name and found.pid > 0), None)

    # Processes and their output.

    def _start(self, role: str, words: Sequence[str]) -> None:
        argv = daemon_argv(role, [*words, "--lifeline", "--json"])
        child = Child.start(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        known = self._daemons.get(role)
        if known is None:
            known = self._daemons[role] = _Daemon(role, words, child, time.monotonic())
        known.child, known.started_s, known.ended = child, time.monotonic(), False
        stream, child.stdout = child.stdout, None  # read until its end, which may come after the child's
        assert stream is not None
        os.set_blocking(stream.fileno(), False)
        self._selector.register(stream, selectors.EVENT_READ, _Pipe(known, stream))
        self._selector.register(child.pidfd, selectors.EVENT_READ, known)

    def _start_again(self, daemon: _Daemon) -> None:
        daemon.restart_s = None
        daemon.restarts += 1
        daemon.child.close()
        daemon.said.clear()
        daemon.events.clear()
        self._ready = False
        self._start(daemon.role, daemon.words)
        self._describe(STARTING)

    def _collect(self, daemon: _Daemon) -> None:
        """Read the last output of an ended daemon, and its exit status."""
        daemon.ended = True
        self._turn(0.0)
        daemon.child.stop(0.0)

    def _turn(self, timeout_s: float) -> None:
        """Wait for output, a signal or the end of a daemon; pass the output on."""
        for key, _ in self._selector.select(timeout_s):
            if isinstance(key.data, _Pipe):
                self._read(key.data)
            elif isinstance(key.data, _Daemon):  # it has ended, and stays readable
                self._selector.unregister(key.fileobj)
            else:
                self._interrupts.drain()

    def _read(self, pipe: _Pipe) -> None:
        content = pipe.stream.read(65536)
        if content is None:
            return
        *lines, pipe.rest = (pipe.rest + content).split(b"\n")
        if not content:
            lines += [pipe.rest] if pipe.rest else []
            self._selector.unregister(pipe.stream)
            pipe.stream.close()
        elif len(pipe.rest) > 65536:
            lines, pipe.rest = [*lines, pipe.rest], b""
        for line in lines:
            event, text = _event(line.decode(errors="replace").rstrip())
            pipe.daemon.events.add(event)
            pipe.daemon.said.append(text)
            self._output.write(pipe.daemon.role, text)
            self._show(pipe.daemon.role, text)

    def _say(self, text: str) -> None:
        self._output.write(GROUP, text)
        self._show(GROUP, text)

    def _describe(self, state: str) -> None:
        each = ", ".join(f"{daemon.role} process {daemon.child.pid}" for daemon in self._daemons.values())
        restarts = sum(daemon.restarts for daemon in self._daemons.values())
        again = f", {restarts} restart{'s' if restarts > 1 else ''}" if restarts else ""
        self._held.describe(f"{state}: {each}{again}")

    # The end.

    def _end(self) -> None:
        """Stop the machine on its path, disable it, and end the controller, then the plant.

        A further signal brakes immediately.
        """
        self._pressed = self._interrupts.count
        self._describe(ENDING)
        if any(not daemon.ended for daemon in self._daemons.values()):
            self._say("ending: the machine is stopped, then controller and plant end")
        for role in ("controller", "plant"):
            daemon = self._daemons.get(role)
            if daemon is not None and not daemon.ended:
                self._leave(daemon)
            if role == "controller" and self._loop_pid() is not None:
                self._leave_loop()
        self._say("ended")

    def _leave(self, daemon: _Daemon) -> None:
        daemon.child.let_go()
        if not self._wait(lambda: not daemon.child.alive, LEAVES_WITHIN_S):
            daemon.child.send_signal(signal.SIGTERM)
            daemon.child.send_signal(signal.SIGTERM)  # the second one brakes immediately
            if not self._wait(lambda: not daemon.child.alive, BRAKES_WITHIN_S, hurried=True):
                self._say(f"the {daemon.role} did not end in time and was killed")
                daemon.child.kill()
                daemon.child.wait(BRAKES_WITHIN_S)
        self._collect(daemon)
        status = daemon.child.returncode or 0
        if status:
            self._say(f"the {daemon.role} {_how(status)}")

    def _leave_loop(self) -> None:
        """A loop without its gateway leaves, too, before the plant does."""
        self._order_loop_to_leave()
        if not self._wait(lambda: self._loop_pid() is None, LEAVES_WITHIN_S):
            self._order_loop_to_leave(brake=True)
            self._wait(lambda: self._loop_pid() is None, BRAKES_WITHIN_S, hurried=True)

    def _wait(self, over: Callable[[], bool], most_s: float, *, hurried: bool = False) -> bool:
        """Wait until `over`; give up after `most_s`, or at a further signal unless `hurried` already."""
        deadline = time.monotonic() + most_s
        while not over():
            if time.monotonic() > deadline or (not hurried and self._interrupts.count > self._pressed):
                return False
            self._turn(_LOOK_S)
        return True

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, _Pipe):
                key.data.stream.close()
        for daemon in self._daemons.values():
            daemon.child.close()
        self._selector.close()


def _event(line: str) -> tuple[str, str]:
    """Name and text of an event of a daemon; a line that is none is text alone."""
    with suppress(ValueError, AttributeError):
        content = json.loads(line)
        return str(content.get("event", "")), str(content.get("text", line))
    return "", line


def _how(status: int) -> str:
    """Return in words how a process ended."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"
