"""Process the records of the loop: statistics, events and results, log, telemetry."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.orders import OrderOutcome, StartGoal
from linkwork.controller.gateway.records.event_detection import EventDetector
from linkwork.controller.gateway.records.log import Event
from linkwork.controller.gateway.records.logged_orders import TakenSetPoint, arrival_events, end_event
from linkwork.controller.gateway.records.loop_statistics import LoopStatistics
from linkwork.controller.gateway.records.path_reports import PathReports

if TYPE_CHECKING:
    from linkwork.controller.gateway.gateway import Gateway

RECORDS_AT_ONCE = 64
"""Records digested together, which bounds the memory after a long interruption of the gateway."""
BATCHES_AT_ONCE = 4
"""Such batches between two looks at the requests."""
PROGRESS_EVERY_S = 0.1


class RecordIntake:
    """The records of one loop after another, each taken once.

    `since`: number of the next record to take. `lost`: records overwritten before they were read, since the
    gateway started. `statistics`: of the loop that runs.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.since = self.lost = 0
        self.behind = False
        """Whether more records waited than were processed at once."""
        self.statistics = LoopStatistics(gateway.layout)
        self._story = EventDetector(gateway.layout, gateway.wording)
        self.reports = PathReports(gateway.machine)
        self._progress_at_s = -np.inf
        self._asides: deque[Event] = deque(maxlen=1000)
        self._kept_problem = ""
        self.notices: deque[str] = deque(maxlen=100)
        """What has happened to log and flight records, as text for the daemon's output."""

    def begin(self, since: int, known: np.void | None = None) -> None:
        """Process the records of another loop, from this number on.

        known: the record before, up to which the events have been published by an earlier gateway.
        """
        gateway = self._gateway
        self.since, self._progress_at_s = since, -np.inf
        self.statistics = LoopStatistics(gateway.layout)
        self._story = EventDetector(gateway.layout, gateway.wording, known)
        self.reports = PathReports(gateway.machine, known)

    def note(self, name: str, content: Mapping[str, Any]) -> None:
        """Keep an event that no record shows for the log."""
        self._asides.append((-1, name, content))

    def report_files(self) -> None:
        """Publish what has happened to log and flight records, and keep it in `notices`."""
        gateway = self._gateway
        of_log = gateway.log.take_notices() if gateway.log is not None else []
        kept = gateway.temperatures
        if kept is not None and kept.problem != self._kept_problem:
            self._kept_problem = kept.problem
            of_log += [kept.problem] if kept.problem else []
        for text in (*of_log, *gateway.aftermath.take_notices()):
            gateway.aside("log", {"text": text})
            self.notices.append(text)

    def drain(self, *, last: bool = False) -> None:
        """Process the records that the loop has written, some hundred at most unless `last`: no more come."""
        gateway, shared = self._gateway, self._gateway.host.shared
        if shared is None:
            return
        head, batches = shared.head, 0
        while last or batches < BATCHES_AT_ONCE:
            batches += 1
            words, first, lost = shared.read_records(self.since, RECORDS_AT_ONCE)
            if lost:
                self.lost += lost
                gateway.aside("log", {"text": f"{lost} records were overwritten before they were read"})
            self.statistics.blame(words)
            compared = None
            if gateway.twin_watch is not None:
                words, compared = gateway.twin_watch.records(words, last=last)
            if len(words):
                self._digest(first, words, compared)
            shared.tail = self.since = first + len(words)
            self.behind = self.since < head and len(words) > 0
            if not self.behind:
                return

    def _digest(self, first: int, words: NDArray[np.float64], compared: NDArray[Any] | None) -> None:
        gateway = self._gateway
        table = words.view(gateway.layout.dtype)[:, 0]
        events: list[Event] = []
        self.reports.track(table)
        rows = list(self._story.rows(words))
        for row in rows:
            record = table[row]
            self.reports.observe(record)
            found = self._story.detect(row, record)
            for _, name, content in found:
                if name == "goal.result":
                    self.reports.complete(content)
            arrived = self._arrival(row, record)
            gateway.latest = record
            gateway.order_queue.settle(record)
            events += [*arrived, *self._ends(row, record), *found]
            for _, name, content in found:
                self._publish(name, content)
        if not rows or rows[-1] != len(words) - 1:
            gateway.latest = table[-1]
            gateway.order_queue.settle(table[-1])
        gateway.order_queue.look(words, table)
        gateway.latest = words[-1].copy().view(gateway.layout.dtype)[0]
        if gateway.goal_queue.stream.goal and (taken := self._set_points_of(table)):
            events = sorted([*events, *taken], key=itemgetter(0))
        if compared is not None and gateway.twin_watch is not None:
            events = sorted([*events, *gateway.twin_watch.publish(compared)], key=itemgetter(0))
        if gateway.log is not None:
            gateway.log.write(words, [*self._asides, *events], compared)
            self._asides.clear()
        self.statistics.add(words)
        gateway.broadcast.telemetry(first, words)
        self._publish_progress()

    def _arrival(self, row: int, record: np.void) -> list[Event]:
        """The log's events of the order that the loop received in this tick; a goal's block with it."""
        gateway = self._gateway
        order = gateway.order_queue.arrived(int(record["order_arrived"]))
        if order is None or gateway.log is None or gateway.host.shared is None:
            return []
        words = gateway.host.shared.slot(order.slot) if isinstance(order, StartGoal) else None
        return [(row, *event) for event in arrival_events(order, record, words)]

    def _ends(self, row: int, record: np.void) -> list[Event]:
        """The log's events of orders that waited and ended in this tick."""
        ended = self._gateway.order_queue.take_ended()
        if self._gateway.twin_watch is not None:
            for order in (order for order, outcome in ended if outcome is OrderOutcome.DONE):
                self._gateway.twin_watch.order_taken(order, record)
        waited = [one for one in ended if one[0].id != int(record["order_arrived"])]
        return [(row, "order.end", end_event(order, outcome, record)) for order, outcome in waited]

    def _set_points_of(self, table: NDArray[Any]) -> list[Event]:
        """The log's set-points that these ticks took."""
        gateway, numbers = self._gateway, table["set_point"]
        rows = np.flatnonzero(numbers)
        if not len(rows):
            return []
        gateway.goal_queue.stream.taken = int(numbers[rows[-1]])
        shared = gateway.host.shared
        taken: list[Event] = []
        if gateway.log is not None and shared is not None:
            for row in rows.tolist():
                point = shared.set_points.read(int(numbers[row]))
                if point is not None:
                    taken.append((row, "set_point", TakenSetPoint(point)))
        return taken

    def _publish(self, name: str, content: dict[str, Any]) -> None:
        """Publish an event that a record shows, to the requester of its goal too."""
        gateway, memory, requester = self._gateway, self._gateway.memory, None
        if name == "goal.accepted":
            accepted = memory.accepted
            if accepted is not None and accepted["goal"] == content["goal"]:
                content = content | accepted
                requester = memory.owner_of(accepted["goal"])
        elif name == "goal.result":
            memory.end(content)  # type: ignore[arg-type]
            requester = memory.owner_of(content["goal"])
        elif name == "fault":
            content = dict(content)
            memory.raise_fault(content)  # type: ignore[arg-type]
            gateway.aftermath.expect(content, gateway.now_ns)
        elif name == "signal.changed" and "signals" in content:
            memory.note_edge(content)  # type: ignore[arg-type]
        gateway.publish(name, content, requester)

    def _publish_progress(self) -> None:
        gateway, record = self._gateway, self._gateway.latest
        assert record is not None
        time_s = float(record["time_s"])
        if abs(time_s - self._progress_at_s) < PROGRESS_EVERY_S:
            return
        progress = gateway.wording.progress(record)
        if progress is not None:
            self._progress_at_s = time_s
            gateway.publish("goal.progress", dict(progress), gateway.memory.owner_of(progress["goal"]))
