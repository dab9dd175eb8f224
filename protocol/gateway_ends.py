"""Interfaces of the gateway's ends of requests and telemetry, and of what waits for them.

`protocol.sockets` has them over ZeroMQ; a simulation has its own.
"""

from typing import Any, Protocol

from linkwork.protocol.codes import Role
from linkwork.protocol.open_connections import Connections


class RequestEnd(Protocol):
    """The gateway's end of the requests; `protocol.sockets.RequestServer` over sockets."""

    endpoint: str
    sender: bytes
    """Public key of the client that sent the message received last."""
    connections: Connections | None
    monitor: Any

    def ready(self, timeout_ms: float = 0) -> bool:
        """Whether something can be received, waiting at most this long."""
        ...

    def receive(self, timeout_ms: int = 0) -> tuple[bytes, bytes] | None:
        """Return (peer, message), or None when nothing came in time."""
        ...

    def send(self, peer: bytes, message: bytes) -> bool:
        """Hand a message over. False when nothing was sent."""
        ...

    def role_of(self, key: bytes) -> Role | None:
        """Return the role that a public key has now; None where it is not allowed."""
        ...


class TelemetryEnd(Protocol):
    """The gateway's end of telemetry and events; `protocol.sockets.Publisher` over sockets."""

    endpoint: str
    connections: Connections | None

    def wanted(self, topic: bytes) -> bool:
        """Whether any client has subscribed to this topic."""
        ...

    def send(self, topic: bytes, payload: bytes) -> None:
        """Publish one message."""
        ...


class Waiting(Protocol):
    """Waits for several ends and descriptors; `protocol.sockets.Poller` over sockets."""

    def add(self, source: Any) -> None:
        """Watch an end or a descriptor."""
        ...

    def wait(self, timeout_ms: float = -1) -> list[Any]:
        """Return the sockets and files that are ready to read; none after timeout_ms (-1: without limit)."""
        ...
