"""Private plant and controller daemons: start, wait until ready, and end without leftovers.

They use a private runtime folder, so that any number of rigs run side by side. A console may run beside them.
"""

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Self

from linkwork.client.request_client import RequestClient
from linkwork.protocol.endpoints import MachineEndpoints, runtime_dir
from linkwork.protocol.errors import NobodyThere
from linkwork.timing.children import Child

START_S = 120.0
"""Most time that a start takes on a loaded computer."""
_STOP_S = 20.0
_BRAKE_S = 3.0
_LOOK_S = 0.05
_READY_WITHIN_S: Final = 30.0
_ENDS_WITHIN_S: Final = 4.0


class RigFailed(Exception):
    """A daemon did not start; the text has its last output."""


class Rig:
    """Use it as a context manager. `requests` is the controller's endpoint once `wait_ready` has returned.

    name: the machine's. plant, controller: their arguments, the machine file first; None: not started.
    runtime: the runtime folder to use; none: a private one that goes with the rig.
    """

    def __init__(
        self,
        name: str,
        plant: Sequence[str] | None,
        controller: Sequence[str] | None,
        runtime: Path | None = None,
    ) -> None:
        self.name = name
        given = {"plant": plant, "controller": controller}
        self._arguments = {role: list(words) for role, words in given.items() if words is not None}
        self._given = runtime
        self.runtime = Path()
        self.children: dict[str, Child] = {}
        self._outputs: list[IO[bytes]] = []

    def __enter__(self) -> Self:
        self.runtime = self._given or Path(tempfile.mkdtemp(prefix="rig-", dir=runtime_dir()))
        try:
            for role, arguments in self._arguments.items():
                self.start(role, arguments)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, role: str, arguments: Sequence[str]) -> Child:
        """Start a daemon in place of an earlier one. Its output goes to files in the runtime folder."""
        if role in self.children:
            before = self.children.pop(role)
            before.stop(_STOP_S)
            before.close()
        argv = daemon_argv(role, [*arguments, "--lifeline", "--json"])
        stdout, stderr = (self._output(f"{role}.{stream}") for stream in ("out", "err"))
        child = Child.start(
            argv, env={"LINKWORK_RUNTIME_DIR": str(self.runtime)}, stdout=stdout, stderr=stderr
        )
        self.children[role] = child
        return child

    def _output(self, name: str) -> IO[bytes]:
        stream = (self.runtime / name).open("ab")
        self._outputs.append(stream)
        return stream

    @property
    def seat(self) -> MachineEndpoints:
        """Runtime folder of the daemons."""
        return MachineEndpoints(self.runtime / self.name)

    @property
    def requests(self) -> str:
        """Endpoint of the controller's requests."""
        return self.seat.requests

    def said(self, role: str) -> list[dict[str, Any]]:
        """The events that a daemon has printed so far."""
        path = self.runtime / f"{role}.out"
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def wait_ready(self, on_event: Callable[[str], None], timeout_s: float = START_S) -> None:
        """Wait until the controller has the plant and can plan. `on_event` receives the plant's events.

        Raises RigFailed when a daemon ends or does not become ready.
        """
        deadline = time.monotonic() + timeout_s
        told = 0
        with RequestClient(self.requests) as client:
            while time.monotonic() < deadline:
                events = self.said("plant")
                for event in events[told:]:
                    on_event(str(event.get("text", "")))
                told = len(events)
                for role, child in self.children.items():
                    if not child.alive:
                        raise RigFailed(f"the {role} ended before it was ready\n{self._last_words()}")
                if client.connected(_LOOK_S) and is_ready(status_of(client)):
                    return
                time.sleep(_LOOK_S)
        raise RigFailed(f"the controller had no plant after {timeout_s:g} s\n{self._last_words()}")

    def _last_words(self) -> str:
        lines = []
        for role in self.children:
            path = self.runtime / f"{role}.err"
            lines += [f"{role}: {line}" for line in path.read_text(errors="replace").splitlines()[-5:]]
        return "\n".join(lines)

    def close(self) -> None:
        """End the controller (it stops the machine on its path first), then the plant, then the folder.

        An interrupt meanwhile brakes and ends immediately.
        """
        try:
            for role in ("controller", "plant"):
                if role in self.children:
                    self.children[role].stop(_STOP_S)
        except KeyboardInterrupt:
            self._end_at_once()
        finally:
            for child in self.children.values():
                child.close()
            for stream in self._outputs:
                stream.close()
            self.children, self._outputs = {}, []
            if self._given is None and self.runtime != Path():
                shutil.rmtree(self.runtime, ignore_errors=True)

    def _end_at_once(self) -> None:
        """Two signals: brake and leave. A daemon that does not end is killed."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            for child in self.children.values():
                child.send_signal(signal.SIGTERM)
                child.send_signal(signal.SIGTERM)
            for child in self.children.values():
                child.stop(_BRAKE_S)
        finally:
            signal.signal(signal.SIGINT, before)


def status_of(client: RequestClient) -> dict[str, Any] | None:
    """The answer of a controller to `status`, None where it gives none within 2 s."""
    try:
        status: dict[str, Any] = client.request("status", timeout_s=2.0)
    except NobodyThere:
        return None
    return status


def is_ready(status: dict[str, Any] | None) -> bool:
    """Whether a controller with this status has its plant and can plan."""
    return status is not None and status["state"] != "unconfigured" and bool(status["planner_ready"])


def daemon_argv(role: str, words: Sequence[str]) -> list[str]:
    """The command line of a daemon. role: `plant` or `controller`; words: its arguments."""
    return [sys.executable, "-m", f"linkwork.{role}", *words]


def stamp() -> str:
    """A name for a run: date, time and process."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


@contextmanager
def served_beside(command: str, words: Sequence[str], *, wait: bool = False) -> Iterator[None]:
    """Run `linkwork console` or `linkwork foxglove` with these words in a process, until the block ends.

    It prints its address on standard error. wait: the block begins only when that can be opened.
    """
    argv = [sys.executable, "-m", "linkwork", command, *words, "--lifeline"]
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as said:
        try:
            child = Child.start(argv, stdout=writing if wait else sys.stderr.fileno())
        finally:
            os.close(writing)
        try:
            if wait and select.select([said], [], [], _READY_WITHIN_S)[0]:
                sys.stderr.write(said.readline().decode())
                sys.stderr.flush()
            yield
        finally:
            child.stop(_ENDS_WITHIN_S)
            child.close()
