"""Connections of a bound socket: who has left, the limits on their number and on the memory they take.

ZeroMQ ends its process when it cannot open a descriptor for a new connection. Connections beyond a limit are
therefore closed as soon as they are accepted. It also keeps all frames of a message until the last one has
arrived, and messages for clients that do not read: `HeldMemory` closes connections before that is too much.
"""

import fcntl
import resource
import socket
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

_OWN_FILES, _SOCKETS, _MOST = 256, 4, 4096
"""Descriptors kept free for the process itself, bound sockets of a process, connections of one of them."""
_EACH_HELD_BYTES = 80 * 1024
"""Memory that a connection takes in ZeroMQ when nothing is sent."""
_MUCH_BYTES = 64 * 1024
"""Bytes that wait in connections of clients that hold much, more than a controller's commands."""
_LOOK_S, _PAUSE_S, _QUIET_S = 0.01, 0.1, 10.0


def raise_file_limit() -> None:
    """Raise the soft limit on open files as far as connections can make use of it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    useful = _OWN_FILES + 2 * _SOCKETS * _MOST
    if soft != resource.RLIM_INFINITY and soft < useful:
        most = useful if hard == resource.RLIM_INFINITY else min(useful, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


def most_connections() -> int:
    """Return how many connections one socket may have under the present limit on open files."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    free = _MOST if soft == resource.RLIM_INFINITY else (soft - _OWN_FILES) // (2 * _SOCKETS)
    return max(8, min(free, _MOST))


def close_connection(descriptor: int) -> None:
    """Close a connection of ZeroMQ's, which then sees that its peer has left. No effect on other files."""
    try:
        connection = socket.socket(fileno=descriptor)
    except OSError:  # it has ended, and the descriptor is no socket's
        return
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.detach()


class Connections:
    """Connections of one bound socket, by the descriptors that ZeroMQ reports for them.

    `events`: what has happened since the last call, (True, descriptor) for a new connection and (False, …)
    for one that has ended.
    """

    def __init__(self, events: Callable[[], Iterator[tuple[bool, int]]]) -> None:
        self._events = events
        self.most = most_connections()
        self.open: dict[int, None] = {}
        """Descriptors of the connections, in the order in which they began."""
        self._peers: dict[int, bytes] = {}
        self._ended: list[bytes] = []
        self._crowded = False
        self._notices: list[str] = []
        self._quiet_until_s = 0.0

    @property
    def count(self) -> int:
        """Number of connections."""
        return len(self.open)

    def mind(self) -> None:
        """Take note of connections that have begun or ended; close those beyond the limit. Never waits."""
        for begun, descriptor in self._events():
            if begun:
                self.open[descriptor] = None
                if len(self.open) > self.most:
                    close_connection(descriptor)
                    self._note(crowded=True)
            else:
                self.open.pop(descriptor, None)
                self._left(descriptor)
        if len(self.open) < 0.9 * self.most:
            self._note(crowded=False)

    def _note(self, *, crowded: bool) -> None:
        if crowded != self._crowded:
            self._crowded = crowded
            limit = f"at most {self.most} connections are possible, and others are refused until some end"
            self._notices.append(limit if crowded else "connections are accepted again")

    def close(self, descriptors: Iterable[int], why: str) -> None:
        """Close those connections that are of this socket; a notice at most every ten seconds says why."""
        mine = [each for each in descriptors if each in self.open]
        for descriptor in mine:
            close_connection(descriptor)
        now_s = time.monotonic()
        if mine and now_s >= self._quiet_until_s:
            self._quiet_until_s = now_s + _QUIET_S
            self._notices.append(f"{len(mine)} of {self.count} connections are closed: {why}")

    def heard(self, descriptor: int, peer: bytes) -> None:
        """Take note that a message of this peer came by this connection."""
        known = self._peers.get(descriptor)
        if known == peer:
            return
        self._left(descriptor)
        if descriptor not in self.open:
            self.mind()
        if descriptor in self.open:
            self._peers[descriptor] = peer
        else:
            self._ended.append(peer)  # before its last message was read

    def _left(self, descriptor: int) -> None:
        peer = self._peers.pop(descriptor, None)
        if peer is not None:
            self._ended.append(peer)

    def take_ended(self) -> list[bytes]:
        """Return the peers whose connections have ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def take_notices(self) -> list[str]:
        """Return what has happened since the last call, for people."""
        notices, self._notices = self._notices, []
        return notices


def _pending_bytes(descriptor: int, request: int) -> int:
    try:
        return int.from_bytes(fcntl.ioctl(descriptor, request, bytes(4)), sys.byteorder)
    except OSError:  # it has ended
        return 0


class HeldMemory:
    """The limit on memory that clients take in ZeroMQ: frames of messages that are not complete, messages
    that are not read, answers that clients do not read.

    `allocated` returns the bytes in use by this process, modulo 2³². Suspects are searched for `patience_s`
    before connections are closed without one.
    """

    def __init__(self, allocated: Callable[[], int], most_bytes: int, patience_s: float) -> None:
        self._allocated, self._most_bytes, self._patience_s = allocated, most_bytes, patience_s
        self._usual = allocated()
        self._due_s = 0.0
        self._since_s: float | None = None
        self._pending: Counter[int] = Counter()
        self.freed = False
        """Whether ZeroMQ has freed what was too much since the caller last set this to False."""

    def mind(self, sockets: Sequence[Connections], known: int = 0) -> None:
        """Close connections while more is in use than usual, besides `known` bytes.

        First those by which more arrives than is read, then those that do not read, then the newer half.
        """
        now_s = time.monotonic()
        if now_s < self._due_s:
            return
        used = self._allocated()
        self._due_s = now_s + max(_LOOK_S, 100.0 * (time.monotonic() - now_s))  # 1 % of the time
        grown = (used - self._usual + 2**31) % 2**32 - 2**31
        if grown < 0:
            self._usual = used
        grown -= known + _EACH_HELD_BYTES * sum(each.count for each in sockets)
        if grown <= self._most_bytes:
            self.freed |= self._since_s is not None
            self._since_s = None
            self._pending.clear()
            return
        self._since_s = now_s if self._since_s is None else self._since_s
        late_s = now_s - self._since_s
        if grown > 2 * self._most_bytes:  # there is no time to find them one kind after the other
            late_s = max(late_s, 0.5 * self._patience_s)
        closing = self._suspects([each for one in sockets for each in one.open], late_s)
        if not any(each.open for each in sockets):
            self._usual = used  # of this process itself
        why = (
            f"clients made this process hold {grown >> 20} MiB, and {self._most_bytes >> 20} MiB are allowed"
        )
        for each in sockets:
            each.close(closing, why)

    def _suspects(self, connections: list[int], late_s: float) -> list[int]:
        if late_s > self._patience_s:
            self._due_s += _PAUSE_S  # for ZeroMQ to free what they held
            return connections[len(connections) // 2 :]
        requests = (termios.FIONREAD, termios.TIOCOUTQ)[: 1 if late_s < 0.5 * self._patience_s else 2]
        for each in connections:
            self._pending[each] += sum(_pending_bytes(each, request) for request in requests)
        return [each for each in connections if self._pending[each] > _MUCH_BYTES]
