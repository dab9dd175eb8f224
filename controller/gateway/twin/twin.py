"""Digital twin of a running loop: receives the loop's records and returns how far the model deviates.

In real time no process waits for it: records that it cannot take are dropped and counted, and a twin that has
ended is restarted. In lockstep the records are held until their comparison is available, so that the log is
reproducible; the loop may be `LEASH` ticks ahead meanwhile.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.gateway.twin.twin_channels import TwinChannels
from linkwork.controller.supervision.brakes import Phase
from linkwork.protocol.codes import DeviceStatus, Mode
from linkwork.protocol.laws import POSITION_LAWS
from linkwork.protocol.results import TwinStatus
from linkwork.protocol.twin_messages import LOAD, MOST_ROWS, SUSPICION, Kind, Words, kind_of, pack, rows_of
from linkwork.timing.children import Child
from linkwork.timing.realtime import BLAS_ENVIRONMENT

LEASH: Final = 10
"""Ticks that a loop in lockstep may be ahead of the comparison."""
REACTS_AFTER: Final = LEASH + 2
"""Ticks from a difference to the reaction, in lockstep: two more orders may be in transit."""
MOST_UNANSWERED: Final = 1000
"""Rows that a digital twin may owe in real time; beyond that it is too slow, and rows are dropped."""
PATIENCE_S: Final = 10.0
"""Wall time after which a digital twin that does not answer is ended."""
RESTART_AFTER_S: Final = (0.0, 0.5, 1.0, 2.0, 5.0)
STEADY_S: Final = 10.0
MOST_DEATHS: Final = 3
"""Consecutive failures after which lockstep continues without the twin."""

Rows = NDArray[Any]


class DigitalTwin:
    """The digital twin of one gateway. `notes` holds messages for users; the caller empties it."""

    def __init__(
        self, arguments: Sequence[str], channels: TwinChannels, layout: RecordLayout, *, in_step: bool
    ) -> None:
        self._arguments, self.channels, self._layout = list(arguments), channels, layout
        self.in_step = in_step
        self.dropped = self.restarts = 0
        self.notes: list[str] = []
        self._client: TwinClient | None = None
        self._started_s = self._restart_s = 0.0
        self._deaths = 0
        self._given_up = False
        self._held: Floats | None = None
        self._answers: list[Rows] = []
        self._told_dropped = 0
        self._next_told_s = 0.0
        self._loads: dict[int, Rows] = {}

    def start(self) -> None:
        """Start the process; one that sits there already is left."""
        if self._client is None:
            self._started_s = time.monotonic()
            self._client = TwinClient(self._arguments, self.channels.words)

    @property
    def ready(self) -> bool:
        """Whether the twin compares."""
        return self._client is not None and self._client.ready

    @property
    def pid(self) -> int | None:
        """Process id of the twin."""
        return None if self._client is None else self._client.pid

    @property
    def fd(self) -> int | None:
        """Readable when it has said something, or has ended."""
        return self._client.fileno() if self._client is not None and self._client.alive else None

    @property
    def pressing(self) -> bool:
        """Whether lockstep time waits for its answer."""
        return self._held is not None

    def as_map(self) -> TwinStatus:
        """Status of the twin (protocol.results.TwinStatus)."""
        return {"pid": self.pid, "ready": self.ready, "restarts": self.restarts, "dropped": self.dropped}

    def offer(self, records: Floats) -> None:
        """Send as many of these records (records × words) as the twin can accept, in real time."""
        client = self._client
        if client is None or not client.ready or not len(records):
            return
        room = max(0, MOST_UNANSWERED - client.unanswered)
        sent = client.send(Kind.TICKS, self._asked(records[:room])) if room else 0
        self.dropped += len(records) - sent

    def pop_comparisons(self) -> Rows | None:
        """In real time: the comparisons that have arrived."""
        self.attend()
        found, self._answers = self._answers, []
        return np.concatenate(found) if found else None

    def hold(self, records: Floats, patience_s: float = 0.0) -> tuple[Floats, Rows | None]:
        """Return the first of these records (records × words) with their comparisons, once those are there
        (lockstep).

        No records: not yet. patience_s: how long to wait for them. No comparisons: there are none any more.
        """
        self.attend()
        client = self._client
        if self._given_up:
            return records, None
        if self._held is None and client is not None and client.ready and len(records):
            asked = self._asked(records[:MOST_ROWS])
            if client.send(Kind.TICKS, asked) == len(asked):
                self._held = records[:MOST_ROWS]
        if self._held is not None and patience_s and client is not None:
            client.wait(patience_s)
            self.attend()
        if self._held is None or sum(map(len, self._answers)) < len(self._held):
            return records[:0], None
        held, answers = self._held, np.concatenate(self._answers)
        self._held, self._answers = None, []
        return held, answers

    def carry(self, tick: int, point: int, load: Sequence[float]) -> None:
        """The model carries this from a tick on: mass, centre of mass, moments of inertia (see LOAD)."""
        row = np.zeros(1, LOAD)
        row["from_tick"], row["point"], row["load"] = tick + REACTS_AFTER * self.in_step, point, load
        self._loads[point] = row
        if self.ready and self._client is not None:
            self._client.send(Kind.LOAD, row)

    def attend(self) -> None:
        """Often: hears it, minds its life."""
        now, client = time.monotonic(), self._client
        if client is None:
            if not self._given_up and now >= self._restart_s:
                self.start()
            return
        before = client.ready
        self._answers += client.receive()
        for found in client.suspicions:
            motor = self.channels.motors[int(found["motor"])]
            self.notes.append(suspicion_text(motor, float(found["factor"])))
        client.suspicions.clear()
        if client.ready and not before:
            for row in self._loads.values():
                client.send(Kind.LOAD, row)
        if client.alive and client.unanswered and now - client.waited_since_s > PATIENCE_S:
            self._ended(client, f"the digital twin has not answered for {PATIENCE_S:g} s", now)
        elif not client.alive:
            self._ended(client, "the digital twin ended unexpectedly", now)
        if self.dropped > self._told_dropped and now >= self._next_told_s:
            self.notes.append(
                f"{self.dropped - self._told_dropped} ticks were not compared: the queue was full"
            )
            self._told_dropped, self._next_told_s = self.dropped, now + 1.0

    def close(self) -> None:
        """End the process."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _ended(self, client: TwinClient, why: str, now: float) -> None:
        self.dropped += 0 if self.in_step else client.unanswered
        status = client.close()
        self._client, self._held, self._answers = None, None, []
        self._deaths = 1 if now - self._started_s > STEADY_S else self._deaths + 1
        self._restart_s = now + RESTART_AFTER_S[min(self._deaths, len(RESTART_AFTER_S)) - 1]
        self._given_up = self.in_step and self._deaths >= MOST_DEATHS
        self.restarts += 1
        then = "comparison has stopped" if self._given_up else "it is being restarted"
        self.notes.append(f"{why} (status {status}); {then}")

    def _asked(self, records: Floats) -> Rows:
        channels, stamped = self.channels, not self.in_step
        return asked_of(records, self._layout, channels.words.asked, stamped=stamped, acting=channels.acting)


def suspicion_text(motor: str, factor: float) -> str:
    """Return in words that the efforts of a motor act by another factor than the model's."""
    return (
        f"suspicion: the effort of {motor} has {'less' if factor < 1.0 else 'more'} effect than in the "
        "model, from the first motion on: wrong scale of its torque or counts, stuck brake, load, friction "
        "or contact"
    )


def asked_of(
    records: Floats, layout: RecordLayout, row: np.dtype[Any], *, stamped: bool, acting: str = "effort"
) -> Rows:
    """Records (n, words) as the digital twin takes them, `row` being protocol.twin_messages.Words.asked.

    stamped: whether they have wall-clock time. acting: channel of the efforts that act.
    """
    table = records.view(layout.dtype)[:, 0]
    asked = np.zeros(len(table), row)
    for name in ("tick", "device_tick", "mode", "time_s", "q", "v"):
        asked[name] = table[name]
    asked["effort"] = table[acting]
    asked["stamp_ns"] = table["real_time_ns"] if stamped else 0
    braked = table["device_status"] & int(DeviceStatus.BRAKE) != 0
    driven = (table["phase"] == Phase.RELEASED) & (table["mode"] == Mode.EFFORT) & ~braked
    asked["driven"] = driven
    if layout.names["switch"]:
        asked["closed"] = (table["closed"] != 0.0) @ (1 << np.arange(len(layout.names["switch"])))
    for name in ("input", "output"):
        if layout.names[name]:
            asked[name] = table[name]
    asked["fresh"] = (table["fresh"] != 0) & (table["connected"] != 0)
    # Under other laws a person's hand, or a force that is asked for, is no surprise.
    asked["judged"] = driven & np.isin(table["law"], POSITION_LAWS)
    return asked


_BUFFER_BYTES = 1 << 18


class TwinClient:
    """One twin process. Once it has ended, `alive` is False and stays so."""

    def __init__(self, arguments: Sequence[str], words: Words) -> None:
        """Start the process. arguments: its command line; words: names of its channels. Raises OSError."""
        self._words = words
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [*arguments, "--channel", str(theirs.fileno())]
            self._child = Child.start(command, env=BLAS_ENVIRONMENT, pass_fds=(theirs.fileno(),))
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        self._socket = ours
        self.ready = False
        """Whether its kernels are compiled; until then it receives no records."""
        self.alive = True
        self.unanswered = 0
        """Rows that it has been sent and not answered yet."""
        self.suspicions: list[np.void] = []
        """Rows of SUSPICION that have arrived; the caller empties it."""
        self.malformed = 0
        """Messages that were no answers, and were dropped."""
        self.waited_since_s = 0.0
        """Monotonic time since which it owes an answer."""

    @property
    def pid(self) -> int:
        """Process id of the twin."""
        return self._child.pid

    def fileno(self) -> int:
        """For a poller: readable when `receive` has something to do."""
        return self._socket.fileno()

    def send(self, kind: Kind, rows: NDArray[Any]) -> int:
        """Send rows, in messages of MOST_ROWS; return how many were taken. It never waits."""
        taken = 0
        while self.alive and taken < len(rows):
            part = rows[taken : taken + MOST_ROWS]
            try:
                self._socket.send(pack(kind, part))
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self.alive = False
                break
            taken += len(part)
            if kind is Kind.TICKS:
                if not self.unanswered:
                    self.waited_since_s = time.monotonic()
                self.unanswered += len(part)
        return taken

    def receive(self) -> list[NDArray[Any]]:
        """The answers that have arrived, in the order of the rows sent."""
        found: list[NDArray[Any]] = []
        while self.alive:
            try:
                message = self._socket.recv(self._words.most_bytes)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                message = b""
            if not message:
                self.alive = False
            elif self._suspects(message):
                continue
            elif (told := self._read(message)) is None:
                self.malformed += 1
            elif not len(told):
                self.ready = True
            else:
                rows = told
                self.unanswered -= len(rows)
                self.waited_since_s = time.monotonic()
                found.append(rows)
        return found

    def _suspects(self, message: bytes) -> bool:
        """Take in a message of suspicions; False where it is another, or malformed."""
        try:
            rows = rows_of(message, SUSPICION) if kind_of(message) is Kind.SUSPICION else None
        except ValueError:
            return False
        motors = self._words.answered["motor_effort"].shape[0]
        if rows is None or not ((rows["motor"] >= 0) & (rows["motor"] < motors)).all():
            return False
        self.suspicions += list(rows)
        return True

    def _read(self, message: bytes) -> NDArray[Any] | None:
        """The rows of an answer, no rows of READY, or None for any other message."""
        try:
            kind = kind_of(message)
            rows = rows_of(message, self._words.answered)
        except ValueError:
            return None
        known = self._words.differences
        if kind is Kind.READY:
            return rows[:0]
        good = kind is Kind.ANSWER and 0 < len(rows) <= self.unanswered
        return rows if good and bool(((rows["worst"] >= 0) & (rows["worst"] < known)).all()) else None

    def wait(self, seconds: float) -> None:
        """Wait for something to receive, at most so long."""
        select.select([self._socket], [], [], seconds)

    def close(self) -> int:
        """Kill the process, which has no state to save. Returns its exit status."""
        self.alive = False
        self._socket.close()
        status = self._child.stop(0.0)
        self._child.close()
        return status
