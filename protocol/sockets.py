"""The only file that speaks ZeroMQ: thin sockets with the options that the protocol needs.

All of them: LINGER 0 (a dead peer never delays an exit), no fixed identities, sending never blocks.
Connecting ends: IMMEDIATE (nothing queues for a peer that is not there). ROUTERs: HANDOVER and MANDATORY (a
peer that left is noticed). A Unix path is locked before it is bound. A bind that strangers can reach fails
without keys.
"""

from __future__ import annotations

import math
import select
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import zmq
from zmq.backend import zmq_poll

from linkwork.protocol.codes import LATEST_DRAIN, LINK_BYTES, TRANSPORT_BYTES, Role
from linkwork.protocol.endpoints import Claim, claim_file, ipc_path
from linkwork.protocol.errors import EndpointError, Taken
from linkwork.protocol.keys import AllowedKeys, ClientKeys, ServerKeys, check_bind, write_pair

if TYPE_CHECKING:
    from zmq.auth.thread import ThreadAuthenticator

    from linkwork.protocol.open_connections import Connections

_NOBLOCK: Final = int(zmq.NOBLOCK)
_SNDMORE: Final = int(zmq.SNDMORE)
_POLLIN: Final = int(zmq.POLLIN)
_POLLOUT: Final = int(zmq.POLLOUT)
_RCVMORE: Final = int(zmq.RCVMORE)
_RCVTIMEO: Final = int(zmq.RCVTIMEO)
_EVENT: Final = struct.Struct("=hi")
_LONGEST_TOPIC: Final = 64
_MOST_TOPICS: Final = 1000
_MOST_AT_ONCE: Final = 100
"""Subscriptions that are read at once: a client that sends them without end must not stop its publisher."""
_LARGEST_SUBSCRIPTION: Final = 4096
"""Largest frame that a publisher takes, in bytes; ZeroMQ keeps subscriptions, at some 32 times their size."""


class _Monitor:
    """Reports of ZeroMQ about the connections of a bound socket."""

    def __init__(self, socket: zmq.Socket[bytes], context: zmq.Context[zmq.Socket[bytes]]) -> None:
        address = f"inproc://connections-{id(self)}"
        socket.monitor(address, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self.socket = context.socket(zmq.PAIR)
        self.socket.set(zmq.RCVHWM, 0)  # a full queue would block ZeroMQ's thread
        self.socket.set(zmq.LINGER, 0)
        self.socket.connect(address)

    def events(self) -> Iterator[tuple[bool, int]]:
        """Yield the events that have arrived: whether a connection has begun, and its descriptor."""
        while zmq_poll([(self.socket, _POLLIN)], 0):
            event, descriptor = _EVENT.unpack(self.socket.recv())
            self.socket.recv()
            yield event == zmq.EVENT_ACCEPTED, descriptor


class _Socket:
    """A socket with its lock, its keys and its end."""

    _kind: int
    _private = False
    """A context of its own: only the end of its context makes ZeroMQ wait for what is still to be sent."""
    _largest = TRANSPORT_BYTES
    _queue = 1000
    _queue_in = 1000

    def __init__(self, keys: ServerKeys | ClientKeys | None = None) -> None:
        self._own_context = self._private or isinstance(keys, ServerKeys)
        self._context: zmq.Context[zmq.Socket[bytes]] = (
            zmq.Context() if self._own_context else zmq.Context.instance()
        )
        self._authenticator: ThreadAuthenticator | None = None
        self._claim: Claim | None = None
        self._path: Path | None = None
        self.connections: Connections | None = None
        """Of a bound socket."""
        self.monitor: _Monitor | None = None
        """For a poller: has something to read when a connection of a bound socket has begun or ended."""
        self._keys = keys
        self.socket = self._context.socket(self._kind)
        self.endpoint = ""
        self._wait_ms = -1
        options = {
            zmq.LINGER: 0,
            zmq.MAXMSGSIZE: self._largest,
            zmq.SNDHWM: self._queue,
            zmq.RCVHWM: self._queue_in,
            zmq.RECONNECT_IVL: 20,
            zmq.RECONNECT_IVL_MAX: 500,
        }
        for option, value in options.items():
            self.socket.set(option, value)
        raw: Any = super(
            zmq.Socket, self.socket
        )  # the same calls without pyzmq's Python layer: half a microsecond each
        self._recv, self._send_frame, self._get = raw.recv, raw.send, raw.get
        self._poll_in = [(self.socket, _POLLIN)]
        self._descriptor = int(self.socket.get(zmq.FD))

    def _secure(self, domain: str) -> None:
        keys = self._keys
        if isinstance(keys, ServerKeys):
            from zmq.auth.thread import ThreadAuthenticator  # it loads asyncio, which clients do not need

            self._authenticator = ThreadAuthenticator(self._context)
            self._authenticator.start()
            self._authenticator.configure_curve_callback(
                domain=domain, credentials_provider=_CredentialsProvider(keys.allowed)
            )
            self.socket.set(zmq.ZAP_DOMAIN, domain.encode())
            self.socket.set(zmq.ZAP_ENFORCE_DOMAIN, 1)  # no answer from the authenticator means: refused
            self.socket.set(zmq.CURVE_SERVER, 1)
            self.socket.set(zmq.CURVE_PUBLICKEY, keys.public)
            self.socket.set(zmq.CURVE_SECRETKEY, keys.secret)
        elif isinstance(keys, ClientKeys):
            self.socket.set(zmq.CURVE_PUBLICKEY, keys.public)
            self.socket.set(zmq.CURVE_SECRETKEY, keys.secret)
            self.socket.set(zmq.CURVE_SERVERKEY, keys.server)

    def _bind(self, endpoint: str, domain: str) -> None:
        try:
            check_bind(endpoint, self._keys)
            self._allow_ipv6(endpoint)
            path = ipc_path(endpoint)
            if path is not None:
                self._claim = claim_file(path.with_name(path.name + ".lock"), endpoint)
                self._path = path
            self._secure(domain)
            self.monitor = _Monitor(self.socket, self._context)
            from linkwork.protocol.open_connections import Connections

            self.connections = Connections(self.monitor.events)
            self.socket.bind(endpoint)
            if path is not None:
                path.chmod(0o600)
            self.endpoint = str(self.socket.get_string(zmq.LAST_ENDPOINT)).rstrip("\0")
        except zmq.ZMQError as error:
            self.close()
            if error.errno == zmq.EADDRINUSE:
                raise Taken(
                    f"{endpoint} is taken by another process; stop it, or choose another port"
                ) from None
            raise EndpointError(f"{endpoint} cannot be bound: {error.strerror}") from None
        except EndpointError:
            self.close()
            raise

    def _connect(self, endpoint: str) -> None:
        self._allow_ipv6(endpoint)
        if not endpoint.startswith("ipc://"):
            self.socket.set(zmq.HEARTBEAT_IVL, 1000)
            self.socket.set(zmq.HEARTBEAT_TIMEOUT, 3000)
        try:
            ipc_path(endpoint)
            self._secure("")
            self.socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.close()
            raise EndpointError(
                f"{endpoint!r} is not an endpoint: {error.strerror}; use ipc://PATH or tcp://HOST:PORT"
            ) from None
        except EndpointError:
            self.close()
            raise
        self.endpoint = endpoint

    def _allow_ipv6(self, endpoint: str) -> None:
        if "[" in endpoint:
            self.socket.set(zmq.IPV6, 1)

    def ready(self, timeout_ms: float = 0) -> bool:
        """Whether something can be received, waiting at most this long (negative: without limit)."""
        return bool(zmq_poll(self._poll_in, math.ceil(timeout_ms)))

    def _arrived_by(self, deadline_ns: int) -> bool:
        # ZeroMQ's own time-outs count whole milliseconds; its descriptor with select counts microseconds.
        while not zmq_poll(self._poll_in, 0):
            left = deadline_ns - time.monotonic_ns()
            if left <= 0:
                return False
            select.select([self._descriptor], [], [], left * 1e-9)
        return True

    def _frame(self, timeout_ms: int) -> bytes | None:
        frame: bytes
        if timeout_ms == 0:
            if not zmq_poll(self._poll_in, 0):  # a third of what an empty receive and its exception cost
                return None
            frame = self._recv(_NOBLOCK)
            return frame
        if timeout_ms != self._wait_ms:
            self.socket.set(_RCVTIMEO, timeout_ms)
            self._wait_ms = timeout_ms
        try:
            frame = self._recv()
        except zmq.Again:
            return None
        return frame

    def _skip(self) -> None:
        """Drop the frames that remain of a message, in half of the time that asking the socket would take."""
        while self._recv(_NOBLOCK, False).more:
            pass

    def close(self, flush_ms: int = 0) -> None:
        """Closes; messages already sent get this long to leave. May be called twice."""
        if self.socket.closed:
            return
        if self.monitor is not None:
            self.socket.disable_monitor()
            self.monitor.socket.close(linger=0)
        self.socket.close(linger=flush_ms)
        if self._authenticator is not None:
            self._authenticator.stop()
        if self._own_context:
            self._context.term()
        if self._claim is not None and self._path is not None:
            self._path.unlink(missing_ok=True)
            self._claim.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _user_id(frame: zmq.Frame) -> bytes:
    try:
        return str(frame.get("User-Id")).encode()
    except zmq.ZMQError:  # none was given: no client has this key
        return b"?"


class _CredentialsProvider:
    def __init__(self, allowed: AllowedKeys) -> None:
        self._allowed = allowed

    def callback(self, domain: str, key: bytes) -> bool:  # noqa: ARG002 - the authenticator's signature
        return self._allowed.role_of(key) is not None


class _Router(_Socket):
    _kind = zmq.ROUTER
    _domain = ""

    def __init__(self, endpoint: str, keys: ServerKeys | None = None) -> None:
        super().__init__(keys)
        self.socket.set(zmq.ROUTER_HANDOVER, 1)
        self.socket.set(zmq.ROUTER_MANDATORY, 1)
        self.malformed = 0
        self.sender = b""
        """Public key of the client that sent the message received last; empty without keys."""
        self._allowed = None if keys is None else keys.allowed
        self._bind(endpoint, self._domain)

    def role_of(self, key: bytes) -> Role | None:
        """The role that a public key has now; None where it is not allowed. Without keys: SERVICE."""
        return Role.SERVICE if self._allowed is None else self._allowed.role_of(key)

    @property
    def role(self) -> Role | None:
        """The present role of `sender`."""
        return self.role_of(self.sender)

    def receive(self, timeout_ms: int = 0) -> tuple[bytes, bytes] | None:
        """(peer, message), or None when nothing came in time (negative: wait without limit).

        A message of several frames is dropped and counted in `malformed`.
        """
        peer = self._frame(timeout_ms)
        return None if peer is None else self._behind(peer)

    def receive_until(self, deadline_ns: int) -> tuple[bytes, bytes] | None:
        """As `receive`, waiting until this time of CLOCK_MONOTONIC, with microseconds."""
        return self._behind(self._recv(_NOBLOCK)) if self._arrived_by(deadline_ns) else None

    def _behind(self, peer: bytes) -> tuple[bytes, bytes] | None:
        if self._allowed is None:
            message = self._recv(_NOBLOCK)
        else:  # the user id that the authenticator gave the connection
            frame = self._recv(_NOBLOCK, False)
            self.sender, message = _user_id(frame), frame.bytes
        return self._alone(peer, message)

    def _alone(self, peer: bytes, message: bytes) -> tuple[bytes, bytes] | None:
        if not self._get(_RCVMORE):
            return peer, message
        self._skip()
        self.malformed += 1
        return None

    def send(self, peer: bytes, message: bytes) -> bool:
        """Hands a message over. False when the peer is gone or does not read: nothing was sent then."""
        try:
            self._send_frame(peer, _SNDMORE | _NOBLOCK)
            self._send_frame(message, _NOBLOCK)
        except zmq.ZMQError as error:
            if error.errno in (zmq.EHOSTUNREACH, zmq.EAGAIN):
                return False
            raise
        return True


class _Dealer(_Socket):
    _kind = zmq.DEALER

    def __init__(self, endpoint: str, keys: ClientKeys | None = None) -> None:
        super().__init__(keys)
        self.malformed = 0
        # What is sent to an absent peer is refused, not kept for the next peer. The price: what was
        # received but not yet read is lost when the peer closes.
        self.socket.set(zmq.IMMEDIATE, 1)
        self._connect(endpoint)

    def receive(self, timeout_ms: int = 0) -> bytes | None:
        """The next message, or None when nothing came in time (negative: wait without limit).

        A message of several frames is dropped and counted in `malformed`.
        """
        return self._whole(self._frame(timeout_ms))

    def receive_until(self, deadline_ns: int) -> bytes | None:
        """As `receive`, waiting until this time of CLOCK_MONOTONIC, with microseconds."""
        while self._arrived_by(deadline_ns):
            message = self._whole(self._recv(_NOBLOCK))
            if message is not None:
                return message
        return None

    def _whole(self, frame: bytes | None) -> bytes | None:
        if frame is None or not self._get(_RCVMORE):
            return frame
        self._skip()
        self.malformed += 1
        return None

    def send(self, message: bytes) -> bool:
        """Hands a message over. False when no peer is connected or the queue is full: nothing was sent."""
        try:
            self._send_frame(message, _NOBLOCK)
        except zmq.Again:
            return False
        return True

    def writable(self, timeout_ms: int) -> bool:
        """Whether the peer is connected and takes a message, waiting at most this long."""
        return bool(zmq_poll([(self.socket, _POLLOUT)], timeout_ms))


class DeviceServer(_Router):
    """The plant's end of the device link."""

    _private = True
    _largest = LINK_BYTES
    _queue = _queue_in = 2 * LATEST_DRAIN
    _domain = "linkwork-device"


class DeviceClient(_Dealer):
    """The controller's end of the device link."""

    _private = True
    _largest = LINK_BYTES
    _queue = _queue_in = 2 * LATEST_DRAIN

    def __init__(self, endpoint: str, keys: ClientKeys | None = None) -> None:
        super().__init__(endpoint, keys)
        self._ended = False

    def _connect(self, endpoint: str) -> None:
        self._ends = self.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        super()._connect(endpoint)

    def wait_beside(self, descriptor: int, timeout_ms: float) -> bool:
        """Wait for a message, the end of the connection or the descriptor; return if that is readable."""
        sources: list[Any] = [(descriptor, _POLLIN), (self.socket, _POLLIN), (self._ends, _POLLIN)]
        return any(source == descriptor for source, _ in zmq_poll(sources, math.ceil(timeout_ms)))

    def connection_ended(self) -> bool:
        """Return whether the plant has closed the connection since `forget_connection`.

        On a Unix socket the end of its process closes it, on TCP also a peer that is silent for 3 s.
        """
        while zmq_poll([(self._ends, _POLLIN)], 0):
            self._ends.recv_multipart(_NOBLOCK)
            self._ended = True
        return self._ended

    def forget_connection(self) -> None:
        """Forget the end of earlier connections."""
        self.connection_ended()
        self._ended = False

    def close(self, flush_ms: int = 0) -> None:
        """Close the socket, and first the monitor of its connection."""
        if not self.socket.closed:
            self.socket.disable_monitor()
            self._ends.close(linger=0)
        super().close(flush_ms)

    def receive_latest(self, most: int = LATEST_DRAIN) -> tuple[bytes | None, int]:
        """(newest message or None, how many older ones were dropped); takes at most `most`. Never waits."""
        newest, taken = None, 0
        while taken < most and zmq_poll(self._poll_in, 0):
            newest = self._whole(self._recv(_NOBLOCK)) or newest
            taken += 1
        return newest, max(taken - 1, 0)


class RequestServer(_Router):
    """The gateway's end of the requests. Few messages queue per peer: large ones must not fill the memory."""

    _queue_in = 16
    _domain = "linkwork-requests"

    def _behind(self, peer: bytes) -> tuple[bytes, bytes] | None:
        """As every router; the connection of the message is noted in `connections`."""
        frame = self._recv(_NOBLOCK, False)
        if self._allowed is not None:
            self.sender = _user_id(frame)
        if self.connections is not None:
            self.connections.heard(frame.get(zmq.SRCFD), peer)
        return self._alone(peer, frame.bytes)


class RequestDealer(_Dealer):
    """A client's bare end of the requests; `client.request_client.RequestClient` speaks through it."""


class Publisher(_Socket):
    """Telemetry and events: [topic, payload] to any number of subscribers. A slow one only loses messages."""

    _kind = zmq.XPUB
    _largest = _LARGEST_SUBSCRIPTION

    def __init__(self, endpoint: str, keys: ServerKeys | None = None) -> None:
        super().__init__(keys)
        self._topics: set[bytes] = set()
        self._crowded = False
        """Whether more was subscribed to than is remembered, so that all topics count as wanted."""
        self._bind(endpoint, "linkwork-telemetry")

    def wanted(self, topic: bytes) -> bool:
        """Whether any client has subscribed to this topic, so that making a message of it is worth while."""
        for _ in range(_MOST_AT_ONCE):
            said = self._frame(0)
            if said is None:
                break
            if said[:1] == b"\1":
                self._subscribe(said[1:])
            elif said[:1] == b"\0":
                self._topics.discard(said[1:])
        return self._crowded or any(topic.startswith(beginning) for beginning in self._topics)

    def _subscribe(self, beginning: bytes) -> None:
        """Remembers what topics begin with; their number is limited."""
        if len(beginning) > _LONGEST_TOPIC:
            return  # no topic of ours begins with it
        if len(self._topics) >= _MOST_TOPICS:
            self._crowded = True
        else:
            self._topics.add(beginning)

    def send(self, topic: bytes, payload: bytes) -> None:
        """Publish one message of exactly two frames: topic and payload."""
        self._send_frame(topic, _SNDMORE | _NOBLOCK)
        self._send_frame(payload, _NOBLOCK)


class Subscriber(_Socket):
    """The other end of a Publisher, subscribed to topics by their beginnings (default: all)."""

    _kind = zmq.SUB

    def __init__(
        self, endpoint: str, topics: Sequence[bytes] = (b"",), keys: ClientKeys | None = None
    ) -> None:
        super().__init__(keys)
        for topic in topics:
            self.socket.set(zmq.SUBSCRIBE, topic)
        self._connect(endpoint)

    def receive(self, timeout_ms: int = 0) -> tuple[bytes, bytes] | None:
        """(topic, payload), or None when nothing came in time (negative: wait without limit)."""
        topic = self._frame(timeout_ms)
        if topic is None:
            return None
        frames = [topic]
        while self._get(_RCVMORE):
            frames.append(self._recv(_NOBLOCK))
        return (topic, frames[1]) if len(frames) > 1 else (topic, b"")


Source = _Socket | _Monitor | int


class Poller:
    """Waits for several sockets of this file, their connections and raw file descriptors at once."""

    def __init__(self) -> None:
        self._watched: list[tuple[Any, int]] = []
        self._owners: dict[Any, Source] = {}

    def add(self, source: Source) -> None:
        """Watches a socket or a descriptor for something to read."""
        handle = source if isinstance(source, int) else source.socket
        self._owners[handle] = source
        self._watched.append((handle, _POLLIN))

    def remove(self, source: Source) -> None:
        """Stops watching; a source that is not watched is no error."""
        handle = source if isinstance(source, int) else source.socket
        self._owners.pop(handle, None)
        self._watched = [pair for pair in self._watched if pair[0] is not handle and pair[0] != handle]

    def wait(self, timeout_ms: float = -1) -> list[Source]:
        """Return the ready sources, in the order of `add`; none after the time-out (negative: no limit).

        A descriptor whose other end closed counts as ready.
        """
        return [self._owners[handle] for handle, _ in zmq_poll(self._watched, math.ceil(timeout_ms))]


def bare_pair(endpoint: str, *, bind: bool) -> zmq.Socket[bytes]:
    """A PAIR with nothing around it: what ZeroMQ alone costs, to measure the device link against."""
    pair: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PAIR)
    pair.set(zmq.LINGER, 0)
    (pair.bind if bind else pair.connect)(endpoint)
    return pair


def generate_keys(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a CURVE key pair in NAME.public and NAME.secret; return their paths. Raises EndpointError."""
    public, secret = zmq.curve_keypair()
    return write_pair(folder, name, public, secret)
