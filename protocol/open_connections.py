"""Connections of a bound socket: who has left, how many there are, and the limit on their number.

ZeroMQ ends its process when it cannot open a descriptor for a new connection. Connections beyond a limit are
therefore closed as soon as they are accepted.
"""

from __future__ import annotations

import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress

_OWN_FILES, _SOCKETS, _MOST = 256, 4, 4096
"""Descriptors kept free for the process itself, bound sockets of a process, connections of one of them."""


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
        self._open: set[int] = set()
        self._peers: dict[int, bytes] = {}
        self._ended: list[bytes] = []
        self._crowded = False
        self._notices: list[str] = []

    @property
    def count(self) -> int:
        """Number of connections."""
        return len(self._open)

    def mind(self) -> None:
        """Take note of connections that have begun or ended; close those beyond the limit. Never waits."""
        for begun, descriptor in self._events():
            if begun:
                self._open.add(descriptor)
                if len(self._open) > self.most:
                    close_connection(descriptor)
                    self._note(crowded=True)
            else:
                self._open.discard(descriptor)
                self._left(descriptor)
        if len(self._open) < 0.9 * self.most:
            self._note(crowded=False)

    def _note(self, *, crowded: bool) -> None:
        if crowded != self._crowded:
            self._crowded = crowded
            limit = f"at most {self.most} connections are possible, and others are refused until some end"
            self._notices.append(limit if crowded else "connections are accepted again")

    def heard(self, descriptor: int, peer: bytes) -> None:
        """Take note that a message of this peer came by this connection."""
        known = self._peers.get(descriptor)
        if known == peer:
            return
        self._left(descriptor)
        if descriptor not in self._open:
            self.mind()
        if descriptor in self._open:
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
