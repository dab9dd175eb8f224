"""Readiness and watchdog messages for the service manager that started this process.

The protocol is that of sd_notify(3): one datagram of NAME=VALUE lines to the Unix socket in $NOTIFY_SOCKET.
systemd sets that variable for services of Type=notify, and $WATCHDOG_USEC where the unit has WatchdogSec.
"""

import os
import socket
import time
from collections.abc import MutableMapping
from contextlib import suppress


class Notifier:
    """Sender of this process's state; without effect without a service manager.

    environment: the variables of this process. Those of the protocol are removed from it, so that child
    processes do not send messages for this one.
    """

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        address = environment.pop("NOTIFY_SOCKET", "")
        interval_us = environment.pop("WATCHDOG_USEC", "")
        pid = environment.pop("WATCHDOG_PID", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket: socket.socket | None = None
        if address.startswith(("/", "@")):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)
        watched = self._socket is not None and interval_us.isdigit() and pid in ("", str(os.getpid()))
        self._every_ns = int(interval_us) * 1000 // 2 if watched else 0
        self._next_ns = 0

    @property
    def due(self) -> bool:
        """Whether half of the watchdog's interval has passed since the last ping."""
        return self._every_ns > 0 and time.monotonic_ns() >= self._next_ns

    def ready(self, status: str = "") -> None:
        """Report that start-up is over. status: one line for people."""
        self._send("READY=1", status)

    def stopping(self, status: str = "") -> None:
        """Report that this process is about to end."""
        self._send("STOPPING=1", status)

    def ping(self) -> None:
        """Report progress to the watchdog when that is due; otherwise this reads the clock and returns."""
        if self.due:
            self._next_ns = time.monotonic_ns() + self._every_ns
            self._send("WATCHDOG=1")

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, message: str, status: str = "") -> None:
        if self._socket is None:
            return
        line = " ".join(status.split())
        content = f"{message}\nSTATUS={line}" if line else message
        with suppress(OSError):  # the service manager is gone, or its queue is full
            self._socket.sendto(content.encode(), self._address)
