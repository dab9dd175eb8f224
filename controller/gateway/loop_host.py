"""Supervise the loop process: start it, adopt a running one, ask it to exit, and notice its end."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

from linkwork.controller.controller_options import same_connection
from linkwork.controller.exchange.order_socket import OrderOutbox
from linkwork.controller.exchange.orders import Adopt, Shutdown
from linkwork.controller.exchange.shared_memory import Shared, SharedMismatch
from linkwork.protocol.endpoints import MachineEndpoints, running
from linkwork.timing.children import Child, Process, lifeline_pipe
from linkwork.timing.realtime import BLAS_ENVIRONMENT

LEAVES_WITHIN_S = 5.0
"""How long a loop of another configuration gets to brake and leave."""


class LoopStatus(Enum):
    """State of the loop process."""

    STARTING = auto()
    READY = auto()
    ENDED = auto()


class LoopHost:
    """One loop process. `begin` adopts a running one that fits, else starts one; `look` returns its state."""

    def __init__(self, seat: MachineEndpoints, config_hash: str, arguments: list[str]) -> None:
        self._seat, self._hash, self._arguments = seat, config_hash, arguments
        self._process: Process | None = None
        self._lifeline = -1
        self.shared: Shared | None = None
        self.outbox: OrderOutbox | None = None
        self.adopted = False
        self.note = ""
        """What happened at `begin`, for people."""

    def begin(self) -> None:
        """Adopt the loop that lives in this seat, or tell it to leave and start another."""
        living = self._living()
        if living is not None and self._adopt(living):
            return
        if living is not None:
            self._dismiss(living)
        self.start()

    def start(self) -> None:
        """Start a new loop and release the resources of an earlier one."""
        self.close()
        self._seat.shared_path.unlink(missing_ok=True)
        self.adopted = False
        self._process = Child.start(self._arguments, env=BLAS_ENVIRONMENT)

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    @property
    def pidfd(self) -> int | None:
        """Descriptor that becomes readable when the loop ends."""
        return self._process.pidfd if self._process is not None else None

    @property
    def returncode(self) -> int | None:
        """Exit status of a loop that was started here and has ended."""
        return self._process.returncode if isinstance(self._process, Child) else None

    def poll(self) -> LoopStatus:
        """Return its present state. Once it is ready, `shared` and `outbox` are set."""
        if self._process is None or not self._process.alive:
            return LoopStatus.ENDED
        if self.shared is not None:
            return LoopStatus.READY
        with suppress(FileNotFoundError, SharedMismatch):
            shared = Shared.open(self._seat.shared_path)
            if shared.loop_pid == self._process.pid and shared.text:
                self.shared, self.outbox = shared, OrderOutbox(self._seat.orders_path)
                return LoopStatus.READY
            shared.close()
        return LoopStatus.STARTING

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end, at most so long. Returns whether it has ended."""
        return self._process is None or self._process.wait(timeout_s)

    def kill(self) -> None:
        """End it without asking; the plant's watchdog brakes the machine."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Release all resources, including the lifeline: a loop that still runs stops the machine.

        The shared memory of a loop that has ended is removed.
        """
        if self._process is not None and not self._process.alive:
            self._seat.shared_path.unlink(missing_ok=True)
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        if isinstance(self._process, Child):
            if not self._process.alive:
                self._process.stop(0.0)  # collects its exit status
            self._process.close()
        elif self._process is not None:
            self._process.close()
        if self.outbox is not None:
            self.outbox.close()
        if self.shared is not None:
            self.shared.close()
        self._process = self.outbox = self.shared = None

    def _living(self) -> Process | None:
        for found in running("loop"):
            if found.name == self._seat.folder.name and found.pid > 0:
                with suppress(ProcessLookupError):
                    return Process(found.pid)
        return None

    def _adopt(self, process: Process) -> bool:
        """Take over a loop that runs the same configuration, by handing it a new lifeline."""
        try:
            shared = Shared.open(self._seat.shared_path)
        except (FileNotFoundError, SharedMismatch):
            return False
        fits = shared.loop_pid == process.pid and bool(shared.text) and shared.config_hash == self._hash
        if not fits or not same_connection(_arguments_of(process.pid), self._arguments):
            shared.close()
            return False
        outbox = OrderOutbox(self._seat.orders_path)
        theirs, ours = lifeline_pipe()
        sent = outbox.send(Adopt(), lifeline=theirs)
        os.close(theirs)
        if not sent:
            os.close(ours)
            outbox.close()
            shared.close()
            return False
        self._process, self._lifeline, self.shared, self.outbox = process, ours, shared, outbox
        self.adopted = True
        self.note = f"adopted the running loop, process {process.pid}"
        return True

    def _dismiss(self, process: Process) -> None:
        """A loop that does not fit brakes and leaves; one that does not listen is ended."""
        outbox = OrderOutbox(self._seat.orders_path)
        deadline = time.monotonic() + LEAVES_WITHIN_S
        outbox.send(Shutdown(at_once=True))
        self.note = f"asked the loop of another configuration, process {process.pid}, to brake and end"
        if not process.wait(max(0.0, deadline - time.monotonic())):
            self.note += "; it did not, and was killed"
            process.kill()
            process.wait(LEAVES_WITHIN_S)
        outbox.close()
        process.close()


def _arguments_of(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    return []
