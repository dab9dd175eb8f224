"""Public telemetry at its rate, and events as they happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.records import RecordLayout
from linkwork.protocol.keys import ServerKeys
from linkwork.protocol.sockets import Publisher
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, pack_telemetry

MOST_AT_ONCE = 8
"""Telemetry messages from one batch of records: lockstep may run much faster than displays update."""


class Broadcast:
    """Publishes to several endpoints. Raises EndpointError when one cannot be bound.

    `every` is how many records make one telemetry message. `wall_clock` says that times are the computer's
    (Unix time); in lockstep they are the device's.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        layout: RecordLayout,
        every: int,
        *,
        wall_clock: bool,
        keys: ServerKeys | None = None,
    ) -> None:
        self._layout, self._every = layout, max(1, every)
        self._clock = "real_time_ns" if wall_clock else "time_s"
        self.publishers: list[Publisher] = []
        try:
            for endpoint in endpoints:
                self.publishers.append(Publisher(endpoint, keys))
        except BaseException:
            self.close()
            raise

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
        """Publish one sample of another topic than telemetry's."""
        self._send(topic, pack_telemetry(timestamp, content))

    def event(self, name: str, timestamp: float, content: Mapping[str, Any]) -> None:
        """Publish an event under its own name."""
        self._send(name.encode(), pack_telemetry(timestamp, content))

    def timestamp(self, record: np.void) -> float:
        """Seconds on the clock that telemetry uses."""
        value = record[self._clock]
        return float(value) * 1e-9 if self._clock == "real_time_ns" else float(value)

    def close(self) -> None:
        """Close the endpoints."""
        for publisher in self.publishers:
            publisher.close()

    def _send(self, topic: bytes, payload: bytes) -> None:
        for publisher in self.publishers:
            publisher.send(topic, payload)
