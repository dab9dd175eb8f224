"""Public telemetry at its rate, and events as they happen."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.records import RecordLayout
from linkwork.protocol.gateway_ends import TelemetryEnd
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, pack_telemetry
from linkwork.timing.clock import Clock

MOST_AT_ONCE = 8
"""Telemetry messages from one batch of records: lockstep may run much faster than displays update."""


class Broadcast:
    """Publishes to several endpoints.

    `every` is how many records make one telemetry message. Times are Unix times of `clock`; without
    one, in lockstep, they are the device's.
    """

    def __init__(
        self,
        publishers: Sequence[TelemetryEnd],
        layout: RecordLayout,
        every: int,
        clock: Clock | None,
    ) -> None:
        self._layout, self._every = layout, max(1, every)
        self._clock = clock
        self.publishers = publishers

    @property
    def endpoints(self) -> list[str]:
        """Endpoints of telemetry, as bound."""
        return [publisher.endpoint for publisher in self.publishers]

    def telemetry(self, first: int, words: NDArray[np.float64]) -> None:
        """Publish every `every`-th of these records (n, words), by number from `first` on."""
        listening = [publisher for publisher in self.publishers if publisher.wanted(TELEMETRY_TOPIC)]
        if not listening:
            return
        at = np.arange(-first % self._every, len(words), self._every)[-MOST_AT_ONCE:]
        for record in words[at].view(self._layout.dtype)[:, 0]:
            message = pack_telemetry(self.timestamp(record), self._layout.as_map(record))
            for publisher in listening:
                publisher.send(TELEMETRY_TOPIC, message)

    def wanted(self, topic: bytes) -> bool:
        """Whether any client subscribes to this."""
        return any(publisher.wanted(topic) for publisher in self.publishers)

    def chosen(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places (n) of the tick numbers that are published at the rate of telemetry."""
        return np.flatnonzero(numbers % self._every == 0)[-MOST_AT_ONCE:]

    def sample(self, topic: bytes, timestamp: float, content: Mapping[str, Any]) -> None:
        """Publish a sample of a topic other than telemetry's."""
        self._send(topic, pack_telemetry(timestamp, content))

    def event(self, name: str, timestamp: float, content: Mapping[str, Any]) -> None:
        """Publish an event under its own name."""
        self._send(name.encode(), pack_telemetry(timestamp, content))

    def timestamp(self, record: np.void | None) -> float:
        """Seconds on the clock that telemetry uses: of a record, or without one the present time."""
        if self._clock is None:
            return 0.0 if record is None else float(record["time_s"])
        stamp_ns = 0 if record is None else int(record["real_time_ns"])
        return 1e-9 * (stamp_ns or self._clock.unix_ns())

    def _send(self, topic: bytes, payload: bytes) -> None:
        for publisher in self.publishers:
            publisher.send(topic, payload)
