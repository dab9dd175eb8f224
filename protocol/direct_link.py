"""Device link within one process: interfaces of its two ends, and queues in place of sockets."""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from linkwork.protocol.codes import LATEST_DRAIN, Role

PEER: Final = b"controller"


class ControllerEnd(Protocol):
    """The controller's end of a device link; `protocol.sockets.DeviceClient` over sockets."""

    @property
    def endpoint(self) -> str:
        """Endpoint of the plant."""
        ...

    def send(self, message: bytes) -> bool:
        """Hand a message over. False when nothing was sent."""
        ...

    def receive(self, timeout_ms: int = 0) -> bytes | None:
        """Return the next message, or None when nothing came in time."""
        ...

    def receive_until(self, deadline_ns: int) -> bytes | None:
        """Receive as `receive` does, waiting until this time of CLOCK_MONOTONIC (ns)."""
        ...

    def receive_latest(self, most: int = LATEST_DRAIN) -> tuple[bytes | None, int]:
        """Return the newest message or None, and the number of older ones dropped."""
        ...

    def wait_beside(self, descriptor: int, timeout_ms: float) -> bool:
        """Wait for a message, the end of the connection or the descriptor; return if that is readable."""
        ...

    def connection_ended(self) -> bool:
        """Return whether the plant has closed the connection."""
        ...

    def forget_connection(self) -> None:
        """Forget the end of earlier connections."""
        ...


class PlantEnd(Protocol):
    """The plant's end of a device link; `protocol.sockets.DeviceServer` over sockets."""

    @property
    def endpoint(self) -> str:
        """Endpoint on which the plant listens."""
        ...

    @property
    def role(self) -> Role | None:
        """The role of the client that sent the last message."""
        ...

    def send(self, peer: bytes, message: bytes) -> bool:
        """Hand a message over. False when nothing was sent."""
        ...

    def receive(self, timeout_ms: int = 0) -> tuple[bytes, bytes] | None:
        """Return (peer, message), or None when nothing came in time."""
        ...

    def receive_until(self, deadline_ns: int) -> tuple[bytes, bytes] | None:
        """Receive as `receive` does, waiting until this time of CLOCK_MONOTONIC (ns)."""
        ...


class DirectPlantEnd:
    """The plant's end: messages to the controller wait in `sent`."""

    endpoint: Final = "this process"
    role: Final = Role.SERVICE

    def __init__(self) -> None:
        self.sent: deque[bytes] = deque()
        self.received: deque[bytes] = deque()

    def send(self, peer: bytes, message: bytes) -> bool:  # noqa: ARG002 - there is one peer
        """Queue a message for the controller."""
        self.sent.append(bytes(message))
        return True

    def receive(self, timeout_ms: int = 0) -> tuple[bytes, bytes] | None:  # noqa: ARG002 - nothing to wait for
        """Return the next message of the controller, or None."""
        return (PEER, self.received.popleft()) if self.received else None

    def receive_until(self, deadline_ns: int) -> tuple[bytes, bytes] | None:  # noqa: ARG002
        """As `receive`."""
        return self.receive()


class DirectControllerEnd:
    """The controller's end: while it waits, the plant runs.

    plant: the other end. run_plant: lets the plant answer what it has received. at_rest: called when the
    controller waits for an order, or for a plant that does not answer; returns whether an order has come.
    """

    endpoint: Final = "the plant in this process"

    def __init__(
        self, plant: DirectPlantEnd, run_plant: Callable[[], None], at_rest: Callable[[], bool]
    ) -> None:
        self._sent, self._received = plant.received, plant.sent
        self._run_plant, self._at_rest = run_plant, at_rest

    def send(self, message: bytes) -> bool:
        """Queue a message for the plant."""
        self._sent.append(message)
        return True

    def receive(self, timeout_ms: int = 0) -> bytes | None:  # noqa: ARG002 - the plant answers at once
        """Return the next message of the plant, or None where it does not answer."""
        if not self._received:
            self._run_plant()
        return self._received.popleft() if self._received else None

    def receive_until(self, deadline_ns: int) -> bytes | None:  # noqa: ARG002
        """As `receive`; without an answer an order is asked for."""
        message = self.receive()
        if message is None:
            self._at_rest()
        return message

    def receive_latest(self, most: int = LATEST_DRAIN) -> tuple[bytes | None, int]:
        """Return the newest message of the plant or None, and the number of older ones dropped."""
        newest, taken = None, 0
        while taken < most and (message := self.receive()) is not None:
            newest, taken = message, taken + 1
        return newest, max(taken - 1, 0)

    def wait_beside(self, descriptor: int, timeout_ms: float) -> bool:  # noqa: ARG002
        """Ask for an order; return whether one has come."""
        return self._at_rest()

    def connection_ended(self) -> bool:
        """Return False: the connection lasts as long as the process."""
        return False

    def forget_connection(self) -> None:
        """Do nothing."""
