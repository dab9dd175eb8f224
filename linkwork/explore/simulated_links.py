"""Simulated sockets: the device link, requests with their answers, and what a gateway waits for.

They have the interfaces of `linkwork.protocol.sockets`. A message arrives after a delay; one for a process
that is gone is refused, as ZeroMQ refuses it.
"""

import select
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from linkwork.explore.simulated_time import Inlet, SimulatedTime, wait_for
from linkwork.protocol.codes import LATEST_DRAIN, Role
from linkwork.protocol.telemetry import TELEMETRY_TOPIC

LOOK_NS: Final = 1_000_000
"""Between two looks at a descriptor of the computer, while a controller's end waits."""
LINK_NS: Final = 50_000
"""Time that a message of the device link takes."""
LISTENS_NS: Final = 300_000_000
"""Time between two messages of telemetry that a client receives."""
FAR_NS: Final = 10**18
CLIENTS: Final = {
    "anna": Role.SERVICE, "ben": Role.SERVICE, "carl": Role.OPERATE, "dora": Role.OBSERVE, "eve": None,
}  # fmt: skip
"""Roles of the keys of clients, by the clients' names; others have no keys."""
FIRST_DESCRIPTOR: Final = 1_000_000
"""Number of the first simulated descriptor, above those of open files."""


class DeviceNetwork:
    """The plants and controllers that can reach each other. `sent` is called for each message of a plant."""

    def __init__(self, simulation: SimulatedTime) -> None:
        self.simulation = simulation
        self.plant: SimulatedPlantEnd | None = None
        self.controllers: dict[bytes, SimulatedControllerEnd] = {}
        self.sent: Callable[[], None] = lambda: None
        self._made = 0

    def new_peer(self) -> bytes:
        """Return a name for a controller's end, unlike all before it."""
        self._made += 1
        return b"peer-%06d" % self._made

    def plant_left(self) -> None:
        """Close the connections of a plant that has ended."""
        self.plant = None
        for end in self.controllers.values():
            end.ended = True
            end.inlet.notice()


class SimulatedPlantEnd:
    """The plant's end of the device link."""

    endpoint: Final = "simulated://plant"
    role: Final = Role.SERVICE

    def __init__(self, network: DeviceNetwork) -> None:
        self.inlet, self._network = Inlet(network.simulation), network
        network.plant = self

    def send(self, peer: bytes, message: bytes) -> bool:
        """Send to a controller. False when it is gone."""
        self._network.sent()
        end = self._network.controllers.get(peer)
        if end is None:
            return False
        self._network.simulation.after(LINK_NS, partial(end.inlet.put, bytes(message)))
        return True

    def receive(self, timeout_ms: int = 0) -> tuple[bytes, bytes] | None:
        """Return (peer, message), or None when nothing came in time."""
        return self.receive_until(self._network.simulation.now_ns + 1_000_000 * timeout_ms)

    def receive_until(self, deadline_ns: int) -> tuple[bytes, bytes] | None:
        """As `receive`, waiting until an instant."""
        message: tuple[bytes, bytes] | None = self.inlet.take_until(deadline_ns)
        return message


class SimulatedControllerEnd:
    """The controller's end of the device link."""

    endpoint: Final = "simulated://plant"

    def __init__(self, network: DeviceNetwork) -> None:
        self.inlet, self._network, self.peer = Inlet(network.simulation), network, network.new_peer()
        self.ended = False
        network.controllers[self.peer] = self

    def send(self, message: bytes) -> bool:
        """Send to the plant. False when there is none."""
        plant = self._network.plant
        if plant is None:
            return False
        self._network.simulation.after(LINK_NS, partial(plant.inlet.put, (self.peer, bytes(message))))
        return True

    def receive(self, timeout_ms: int = 0) -> bytes | None:
        """Return the next message, or None when nothing came in time."""
        return self.receive_until(self._network.simulation.now_ns + 1_000_000 * timeout_ms)

    def receive_until(self, deadline_ns: int) -> bytes | None:
        """As `receive`, waiting until an instant."""
        message: bytes | None = self.inlet.take_until(deadline_ns)
        return message

    def receive_latest(self, most: int = LATEST_DRAIN) -> tuple[bytes | None, int]:
        """Return the newest message or None, and the number of older ones dropped."""
        messages, newest, taken = self.inlet.messages, None, 0
        while taken < most and messages:
            newest, taken = messages.popleft(), taken + 1
        return newest, max(taken - 1, 0)

    def wait_beside(self, descriptor: int, timeout_ms: float) -> bool:
        """Wait for a message, the end of the connection or the descriptor; return if that is readable.

        The descriptor is the computer's own; each simulated millisecond it is looked at.
        """
        simulation = self._network.simulation
        deadline_ns = simulation.now_ns + round(1e6 * timeout_ms)
        while not (readable := bool(select.select([descriptor], [], [], 0.0)[0])):
            if self.inlet.messages or self.ended or simulation.now_ns >= deadline_ns:
                break
            self.inlet.await_until(min(simulation.now_ns + LOOK_NS, deadline_ns))
        return readable

    def connection_ended(self) -> bool:
        """Whether the plant has ended since `forget_connection`."""
        return self.ended

    def forget_connection(self) -> None:
        """Forget the end of earlier connections."""
        self.ended = False


class SimulatedConnections:
    """SimulatedConnections of a simulated endpoint: who has left."""

    def __init__(self) -> None:
        self.open: dict[int, None] = {}
        self.ended: list[bytes] = []

    @property
    def count(self) -> int:
        """Number of connections."""
        return len(self.open)

    def mind(self) -> None:
        """Do nothing: connections end by events."""

    def take_ended(self) -> list[bytes]:
        """Return the peers whose connections have ended since the last call."""
        ended, self.ended = self.ended, []
        return ended

    def take_notices(self) -> list[str]:
        """Return nothing: there are no limits."""
        return []


class RequestNetwork:
    """Clients and the gateway that they can reach. `clients`: what receives the answers, by peer."""

    def __init__(self, simulation: SimulatedTime) -> None:
        self.simulation = simulation
        self.gateway: SimulatedRequestEnd | None = None
        self.clients: dict[bytes, Callable[[bytes], None]] = {}
        self._arrives_ns: dict[bytes, int] = {}

    def ask(self, peer: bytes, message: bytes, delay_ns: int, arrived: Callable[[], None]) -> None:
        """Send a request, which overtakes none of the same client; `arrived` is called when it is there."""
        gateway = self.gateway
        if gateway is None:
            return
        at_ns = max(self.simulation.now_ns + delay_ns, self._arrives_ns.get(peer, 0))
        self._arrives_ns[peer] = at_ns
        self.simulation.at(at_ns, partial(gateway.arrive, peer, message, arrived))

    def leave(self, peer: bytes) -> None:
        """Close the connection of a client."""
        self.clients.pop(peer, None)
        if self.gateway is not None and self.gateway.connections is not None:
            self.gateway.connections.ended.append(peer)
            self.gateway.inlet.notice()


class SimulatedRequestEnd:
    """The gateway's end of the requests."""

    def __init__(self, network: RequestNetwork) -> None:
        self.endpoint = "simulated://requests"
        self.sender = b""
        self.connections: Any = SimulatedConnections()
        self.monitor: Any = None
        self.inlet, self._network = Inlet(network.simulation), network
        network.gateway = self

    def arrive(self, peer: bytes, message: bytes, arrived: Callable[[], None]) -> None:
        """Take a message in, unless its client or this gateway has left meanwhile."""
        if peer in self._network.clients and self._network.gateway is self:
            arrived()
            self.inlet.put((peer, message))

    def ready(self, timeout_ms: float = 0) -> bool:  # noqa: ARG002 - never asked to wait
        """Whether something can be received."""
        return bool(self.inlet.messages)

    def receive(self, timeout_ms: int = 0) -> tuple[bytes, bytes] | None:  # noqa: ARG002
        """Return (peer, message), or None."""
        if not self.inlet.messages:
            return None
        peer, message = self.inlet.messages.popleft()
        self.sender = peer.partition(b"-")[0]
        return peer, message

    def send(self, peer: bytes, message: bytes) -> bool:
        """Send to a client. False when it is gone."""
        client = self._network.clients.get(peer)
        if client is None:
            return False
        self._network.simulation.after(LINK_NS, partial(client, message))
        return True

    def role_of(self, key: bytes) -> Role | None:
        """Return the role of a client's key, which is the client's name."""
        return CLIENTS.get(key.decode(), Role.SERVICE)


class SimulatedTelemetry:
    """Telemetry and events of a gateway: `heard` receives each topic and payload."""

    def __init__(self, simulation: SimulatedTime, heard: Callable[[bytes, bytes], None]) -> None:
        self.endpoint = "simulated://telemetry"
        self.connections: Any = None
        self._simulation, self._heard, self._next_ns = simulation, heard, 0

    def wanted(self, topic: bytes) -> bool:
        """Whether a client subscribes to it: to telemetry from time to time, since it is expensive."""
        now = self._simulation.now_ns
        wanted = topic == TELEMETRY_TOPIC and now >= self._next_ns
        if wanted:
            self._next_ns = now + LISTENS_NS
        return wanted

    def send(self, topic: bytes, payload: bytes) -> None:
        """Publish one message."""
        self._heard(topic, payload)


class SimulatedWaiting:
    """Waits for simulated ends and descriptors. `inlets`: by simulated descriptor."""

    def __init__(self, simulation: SimulatedTime, inlets: dict[int, Inlet]) -> None:
        self._simulation, self._known = simulation, inlets
        self._sources: list[tuple[Any, Inlet]] = []

    def add(self, source: Any) -> None:
        """Watch an end or a descriptor; files of the computer are not watched."""
        inlet = self._known.get(source) if isinstance(source, int) else source.inlet
        if inlet is not None:
            self._sources.append((source, inlet))

    def wait(self, timeout_ms: float = -1) -> list[Any]:
        """Return those that have messages; none after the time-out."""
        if not self._ready() and timeout_ms:
            until = FAR_NS if timeout_ms < 0 else self._simulation.now_ns + round(1e6 * timeout_ms)
            wait_for([inlet for _, inlet in self._sources], self._simulation, until)
        return self._ready()

    def _ready(self) -> list[Any]:
        return [source for source, inlet in self._sources if inlet.messages]
