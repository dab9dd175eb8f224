"""Supervise the loop process: start it, adopt a running one, ask it to exit, and notice its end."""

import json
import os
from contextlib import suppress
from enum import Enum, auto
from typing import Any, Literal

from linkwork.controller.exchange.order_socket import OrderOutbox
from linkwork.controller.exchange.orders import Adopt, Shutdown
from linkwork.controller.exchange.shared_memory import Shared, SharedMismatch
from linkwork.controller.gateway.child_processes import ChildProcesses, LoopProcess
from linkwork.protocol.endpoints import MachineEndpoints
from linkwork.timing.children import lifeline_pipe

LEAVES_WITHIN_S = 5.0
"""How long a loop of another configuration gets to brake and leave."""


class LoopStatus(Enum):
    """State of the loop process."""

    STARTING = auto()
    READY = auto()
    ENDED = auto()


class LoopHost:
    """One loop process. `begin` adopts a running one that fits, else starts one; `look` returns its state."""

    def __init__(self, seat: MachineEndpoints, config_hash: str, processes: ChildProcesses) -> None:
        self._seat, self._hash, self.processes = seat, config_hash, processes
        self._process: LoopProcess | None = None
        self._lifeline = -1
        self.shared: Shared | None = None
        self.outbox: OrderOutbox | None = None
        self.ready = self.adopted = False
        """Whether the loop is ready, and has not ended since; whether it ran before this gateway."""
        self.note = ""
        """What happened at `begin`, for people."""

    @property
    def link_text(self) -> str:
        """State of the device link, as text."""
        text = self.shared.link_text if self.shared is not None and self.ready else ""
        return text or "the loop is starting"

    def reported(self, what: Literal["homing", "simulation", "features"]) -> Any:
        """Return what the plant has reported of itself; None where it has not.

        homing: how its zeros were found. simulation: formulation and integrator of a simulated plant.
        features: optional parts of the device link that it carries.
        """
        text = getattr(self.shared, what) if self.shared is not None and self.ready else ""
        return json.loads(text) if text else None

    def begin(self) -> None:
        """Adopt the loop that lives in this seat, or tell it to leave and start another."""
        living = self.processes.living_loop()
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
        self._process = self.processes.start_loop()

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
        return self._process.returncode if self._process is not None else None

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
        """Kill the loop process; the plant's watchdog brakes the machine."""
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
        if self._process is not None:
            self._process.close()
        if self.outbox is not None:
            self.outbox.close()
        if self.shared is not None:
            self.shared.close()
        self._process = self.outbox = self.shared = None

    def _adopt(self, process: LoopProcess) -> bool:
        """Take over a loop that runs the same configuration, by handing it a new lifeline."""
        try:
            shared = Shared.open(self._seat.shared_path)
        except (FileNotFoundError, SharedMismatch):
            return False
        fits = shared.loop_pid == process.pid and bool(shared.text) and shared.config_hash == self._hash
        if not fits or not self.processes.fits(process):
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

    def _dismiss(self, process: LoopProcess) -> None:
        """A loop that does not fit brakes and leaves; one that does not listen is ended."""
        outbox = OrderOutbox(self._seat.orders_path)
        outbox.send(Shutdown(at_once=True))
        self.note = f"asked the loop of another configuration, process {process.pid}, to brake and end"
        if not process.wait(LEAVES_WITHIN_S):
            self.note += "; it did not, and was killed"
            process.kill()
            process.wait(LEAVES_WITHIN_S)
        outbox.close()
        process.close()
