"""The two processes behind `linkwork latency`: one measures, the other answers.

    python -m linkwork.diagnostics.latency_probe measure|answer FOLDER PERIOD_NS ROUNDS TICKS POLICY FIFO LOAD

The run is cut into rounds; in each round come three blocks of `ticks` periods, in an order that changes
every round:

    sleep      absolute sleeps to the deadlines only
    exchange   linkwork's ticker; each tick packs a state, sends it, and reads the command that answers
    bare       the same bytes over bare ZeroMQ, without packing and reading

With LOAD every second round is made under load (`linkwork.diagnostics.load`).

`measure` prints its real-time line and then one JSON object a round, with every duration in ns.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from linkwork.diagnostics.load import LoadGate
from linkwork.protocol.codes import Mode
from linkwork.protocol.link import CommandCodec, Measurements, StateCodec, StateHeader
from linkwork.protocol.sockets import DeviceClient, DeviceServer, bare_pair
from linkwork.timing.children import Lifeline, ignore_interrupts
from linkwork.timing.clock import MonotonicClock, Ticker, now_ns
from linkwork.timing.realtime import POLICIES, RealTimeRefused, set_up
from linkwork.timing.scheduling import share_processors

SENSORS = MOTORS = 4
BLOCKS = ("sleep", "exchange", "bare")
FIFO_PRIORITY = 50
_PATIENCE_MS = 60_000
"""Longest wait for the other process, on a busy computer too; a process that ends is noticed at once."""
_SESSION = 2**52
_SETTLE_S = 0.05
"""From opening or closing the gate of the load to the first measurement."""
_NO_FORCE = np.zeros(0)


@dataclass(frozen=True)
class Run:
    """Settings on which both processes must agree."""

    folder: str
    period_ns: int
    rounds: int
    ticks: int
    policy: str
    fifo: bool
    load: bool = False

    def argv(self, role: str) -> list[str]:
        """The command line of one of the two processes."""
        numbers = (self.period_ns, self.rounds, self.ticks)
        return [
            sys.executable, "-m", "linkwork.diagnostics.latency_probe",
            role, self.folder, *map(str, numbers), self.policy, str(int(self.fifo)), str(int(self.load)),
        ]  # fmt: skip

    @classmethod
    def from_argv(cls, words: list[str]) -> Run:
        """Read the words of `argv`."""
        folder, period_ns, rounds, ticks, policy, fifo, load = words
        return cls(folder, int(period_ns), int(rounds), int(ticks), policy, fifo == "1", load == "1")

    def loaded(self, number: int) -> bool:
        """Whether this round is made under load."""
        return self.load and number % 2 == 1

    def order(self, number: int) -> tuple[str, ...]:
        """The blocks of this round, in the order they come."""
        first = (number // 2 if self.load else number) % len(BLOCKS)
        return BLOCKS[first:] + BLOCKS[:first]


class Measurer:
    """The process that keeps time: the plant's end of the link."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._states, self._commands = StateCodec(SENSORS, MOTORS), CommandCodec(MOTORS)
        self._command = self._commands.message()
        self._numbers = np.linspace(-1.0, 1.0, SENSORS) * np.pi / 3
        self._server = DeviceServer(f"ipc://{run.folder}/link.ipc")
        self._pair = bare_pair(f"ipc://{run.folder}/bare.ipc", bind=True)
        self._state = self._pack(0)
        self._peer = b""
        self._late = [0] * run.ticks
        self._trips = [0] * run.ticks
        self._gate = LoadGate(run.folder) if run.load else None
        self._worst = (0, 0)

    def meet(self) -> None:
        """Wait for the other process on both links."""
        hello = self._server.receive(_PATIENCE_MS)
        if hello is None:
            raise TimeoutError("the answering process did not start")
        self._peer = hello[0]
        self._pair.recv()

    def close(self) -> None:
        """Close both links."""
        self._server.close()
        self._pair.close()

    def round(self, number: int) -> dict[str, dict[str, object]]:
        """One round: for each block its late wake-ups, round trips and skipped periods."""
        if self._gate is not None:
            self._gate.set(to=self._run.loaded(number))
            time.sleep(_SETTLE_S)
        found: dict[str, dict[str, object]] = {}
        work: dict[str, Callable[[int], None]] = {
            "sleep": lambda _: None,
            "exchange": self._exchange,
            "bare": self._echo,
        }
        for block in self._run.order(number):
            skipped = self._sleep() if block == "sleep" else self._tick(work[block])
            trips = [] if block == "sleep" else list(self._trips)
            found[block] = {"late": list(self._late), "trips": trips, "skipped": skipped}
            if block == "exchange":
                found[block]["worst"] = self._worst
        return found

    def _sleep(self) -> int:
        clock, late, period = MonotonicClock(), self._late, self._run.period_ns
        deadline = now_ns()
        skipped = 0
        for index in range(self._run.ticks):
            deadline += period
            clock.sleep_until_ns(deadline)
            late[index] = now_ns() - deadline
            if late[index] >= period:
                skipped += late[index] // period
                deadline += late[index] // period * period
        return skipped

    def _tick(self, work: Callable[[int], None]) -> int:
        ticker, late, trips = Ticker(self._run.period_ns), self._late, self._trips
        work(0)
        self._worst = (0, 0)
        ticker.start()
        for index in range(self._run.ticks):
            ticker.wait()
            late[index] = ticker.late_ns
            begin = now_ns()
            if ticker.late_ns > self._worst[1]:
                self._worst = (begin - ticker.late_ns, ticker.late_ns)
            work(index)
            trips[index] = now_ns() - begin
        return ticker.skipped

    def _pack(self, number: int) -> bytes:
        numbers = self._numbers
        time_s = number * self._run.period_ns * 1e-9
        head = StateHeader(_SESSION, number, time_s, Mode.EFFORT, 1, 0, number - 1)
        return self._states.pack(head, Measurements(numbers, numbers, numbers, _NO_FORCE))

    def _exchange(self, number: int) -> None:
        self._server.send(self._peer, self._pack(number))
        answer = self._server.receive(_PATIENCE_MS)
        if answer is None:
            raise TimeoutError("the answering process stopped answering")
        self._commands.unpack(answer[1], self._command)

    def _echo(self, _number: int) -> None:
        self._pair.send(self._state)
        self._pair.recv()


class Answerer:
    """The process that answers: the controller's end of the link."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._states, self._commands = StateCodec(SENSORS, MOTORS), CommandCodec(MOTORS)
        self._state = self._states.message()
        self._effort = np.linspace(-1.0, 1.0, MOTORS) * np.e
        self._client = DeviceClient(f"ipc://{run.folder}/link.ipc")
        self._pair = bare_pair(f"ipc://{run.folder}/bare.ipc", bind=False)

    def meet(self) -> None:
        """Send hello on both links."""
        if not self._client.writable(_PATIENCE_MS):
            raise TimeoutError("the measuring process did not start")
        self._client.send(b"hello")
        self._pair.send(b"hello")

    def close(self) -> None:
        """Close both links."""
        self._client.close()
        self._pair.close()

    def round(self, number: int) -> None:
        """Answer everything of one round."""
        for block in self._run.order(number):
            if block == "exchange":
                self._exchange()
            elif block == "bare":
                self._echo()

    def _exchange(self) -> None:
        client, states, state, commands = self._client, self._states, self._state, self._commands
        for _ in range(self._run.ticks + 1):
            message = client.receive_until(now_ns() + _PATIENCE_MS * 1_000_000)
            if message is None:
                raise TimeoutError("the measuring process stopped answering")
            states.unpack(message, state)
            client.send(commands.pack(state.session, state.seq, Mode.EFFORT, self._effort))

    def _echo(self) -> None:
        pair = self._pair
        answer = self._commands.pack(_SESSION, 1, Mode.EFFORT, self._effort)
        for _ in range(self._run.ticks + 1):
            pair.recv()
            pair.send(answer)


def main(words: list[str]) -> int:
    """One of the two processes, until its rounds are over or its parent is gone."""
    role, run = words[0], Run.from_argv(words[1:])
    ignore_interrupts()
    lifeline = Lifeline.from_stdin()
    try:
        _probe(role, run, lifeline)
    except (RealTimeRefused, TimeoutError) as error:
        _say(failed=str(error))
        return 2
    return 0


def _probe(role: str, run: Run, lifeline: Lifeline) -> None:
    obtained = set_up(
        next(policy for policy in POLICIES if policy == run.policy),
        cpus=share_processors()[0] if run.fifo else None,
        fifo_priority=FIFO_PRIORITY if run.fifo else None,
        lock_memory=run.fifo,
    )
    probe = Measurer(run) if role == "measure" else Answerer(run)
    watcher = threading.Thread(target=lambda: (lifeline.wait(), os._exit(0)), daemon=True)
    watcher.start()
    try:
        probe.meet()
        obtained.freeze_garbage()
        steps = [asdict(step) for step in obtained.steps]
        _say(realtime=obtained.line, warnings=obtained.warnings, steps=steps, pid=os.getpid())
        for number in range(run.rounds):
            _say(round=probe.round(number), loaded=run.loaded(number))
        watcher.join()  # an immediate exit could lose the last message
    finally:
        probe.close()


def _say(**content: object) -> None:
    print(json.dumps(content), flush=True)  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
