"""The last goals' results, faults and changes of digital inputs, for later requests."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from linkwork.protocol.gateway_ends import RequestEnd
from linkwork.protocol.results import FaultState, GoalAccepted, GoalResult, InputEdge, SignalChange

RESULTS = 16
FAULTS = 100
EDGES = 1000
"""Changes of digital inputs that are kept."""


@dataclass(frozen=True)
class Requester:
    """Connection of a request, which receives the events about its goal."""

    server: RequestEnd
    peer: bytes
    key: bytes = b""
    """Public key of the client; empty where the socket has no keys."""

    @property
    def client(self) -> tuple[RequestEnd, bytes]:
        """Identifies the client in limits: its key on a socket with keys, else its connection."""
        return self.server, self.key or self.peer


class Memory:
    """Goals, faults and changes of digital inputs, the newest of each."""

    def __init__(self) -> None:
        self._results: deque[GoalResult] = deque(maxlen=RESULTS)
        self._faults: deque[FaultState] = deque(maxlen=FAULTS)
        self._edges: deque[InputEdge] = deque(maxlen=EDGES)
        self._edges_total = 0
        self.faults_total = 0
        self.accepted: GoalAccepted | None = None
        """The goal accepted last."""
        self._requesters: dict[int, Requester | None] = {}

    def accept(self, goal: GoalAccepted, requester: Requester | None) -> None:
        """A goal begins."""
        self.accepted = goal
        self._requesters[goal["goal"]] = requester
        while len(self._requesters) > RESULTS:
            del self._requesters[next(iter(self._requesters))]

    def owner_of(self, goal: int) -> Requester | None:
        """Return the owner of this goal, while it is one of the latest."""
        return self._requesters.get(goal)

    def end(self, result: GoalResult) -> None:
        """A goal has ended. A goal ends once: a second result of the same number is dropped."""
        if any(known["goal"] == result["goal"] for known in self._results):
            return
        for known in self._results:  # the lists may be long: those of the newest are kept
            for name in ("events", "captures", "largest_errors", "given_up"):
                known.pop(name, None)  # type: ignore[misc]
        self._results.append(dict(result))  # type: ignore[arg-type]

    def results(self) -> list[GoalResult]:
        """The last results, oldest first."""
        return list(self._results)

    def raise_fault(self, fault: FaultState) -> None:
        """A fault was latched."""
        self.faults_total += 1
        self._faults.append(fault)

    def note_edge(self, change: SignalChange) -> None:
        """A digital input has changed."""
        self._edges_total += 1
        self._edges.append(
            {
                "number": self._edges_total,
                "signal": change["signal"],
                "value": bool(change["value"]),
                "tick": change["tick"],
                "time_s": change["time_s"],
                "signals": change["signals"],
            }
        )

    def edges(self, signal: str, after: int) -> list[InputEdge]:
        """The changes of this input with a number above `after`, oldest first."""
        return [edge for edge in self._edges if edge["signal"] == signal and edge["number"] > after]

    def flight_record(self, tick: int, path: str | None) -> None:
        """Set the path of the flight record of the fault in this tick; None: there is none."""
        for fault in self._faults:
            if fault["tick"] == tick:
                fault["record"] = path

    def fault_at(self, tick: int) -> FaultState | None:
        """The fault raised in this tick."""
        return next((fault for fault in reversed(self._faults) if fault["tick"] == tick), None)

    def faults(self, most: int) -> list[FaultState]:
        """The last faults, newest first."""
        newest: Iterable[FaultState] = reversed(self._faults)
        return list(newest)[:most]
