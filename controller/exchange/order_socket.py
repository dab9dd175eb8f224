"""The datagram socket that carries orders from the gateway to the loop.

It is a Unix datagram socket owned by the loop: a gateway that replaces a dead one needs only the path. Adopt
alone carries a file descriptor, the new gateway's lifeline.
"""

import os
import select
import socket
import struct
from contextlib import suppress
from pathlib import Path

from linkwork.controller.exchange.orders import ORDER_BYTES, Order, read_order


class OrderInbox:
    """The loop's end: a bound, non-blocking datagram socket that takes at most one order a call."""

    def __init__(self, path: Path) -> None:
        with suppress(FileNotFoundError):
            path.unlink()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._path = path
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.lifeline: int | None = None

    def fileno(self) -> int:
        """Descriptor to poll while lockstep time is stopped."""
        return self._socket.fileno()

    def receive(self) -> Order | None:
        """The next order, or None. A datagram that is no order is dropped. A lifeline that came along is kept
        in `lifeline`.
        """
        if not self._poll.poll(0):  # a third of the price of an exception
            return None
        data, ancillary, _, _ = self._socket.recvmsg(ORDER_BYTES + 1, socket.CMSG_SPACE(4))
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._keep(struct.unpack("i", content[:4])[0])
        try:
            return read_order(data)
        except ValueError:
            return None

    def _keep(self, descriptor: int) -> None:
        if self.lifeline is not None:
            os.close(self.lifeline)
        self.lifeline = descriptor

    def close(self) -> None:
        """Close the socket and remove its path."""
        self._socket.close()
        with suppress(FileNotFoundError):
            self._path.unlink()


class OrderOutbox:
    """The gateway's end, for one loop. It connects, so that orders still arrive after the path is removed."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._connected = False
        self._connect()

    def send(self, order: Order, *, lifeline: int | None = None) -> bool:
        """Send the order. False, without sending, when the loop is not there or its queue is full."""
        if not self._connect():
            return False
        try:
            if lifeline is None:
                self._socket.send(order.pack())
            else:
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", lifeline))
                self._socket.sendmsg([order.pack()], [rights])
        except OSError:  # its queue is full, or it is gone: refused once, not connected from then on
            return False
        return True

    def _connect(self) -> bool:
        if not self._connected:
            with suppress(FileNotFoundError, ConnectionRefusedError):
                self._socket.connect(self._path)
                self._connected = True
        return self._connected

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
