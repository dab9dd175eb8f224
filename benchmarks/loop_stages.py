"""The parts of a tick: the real loop process with a clock between its stages.

As a program, `python loop_stages.py CONFIG SEAT PACE CPU TICKS`, it is that loop:
`controller.loop.loop_process` with a pace of its own. At the end it prints the median of each part in µs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from linkwork.controller.controller_options import LoopOptions
from linkwork.controller.exchange.order_socket import OrderOutbox
from linkwork.controller.exchange.orders import Enable
from linkwork.controller.exchange.tick_io import Inputs, Outputs
from linkwork.controller.loop.loop import Loop
from linkwork.controller.loop.loop_process import run
from linkwork.controller.loop.pacing import PACES
from linkwork.protocol.codes import Pace
from linkwork.protocol.endpoints import MachineEndpoints
from linkwork.protocol.sockets import DeviceClient
from linkwork.timing.children import Child
from linkwork.timing.clock import now_ns
from linkwork.timing.realtime import BLAS_ENVIRONMENT

SETTLE_TICKS = 2000
PARTS = (
    "wait for a state", "read the state", "orders and inputs", "step", "pack the command", "send",
    "record and ring",
)  # fmt: skip


def measure_stages(ticks: int, pace: str, cpu: int | None, config: str = "scara") -> dict[str, float]:
    """Median of each part in µs, over so many ticks of holding the machine. pace: device or lockstep."""
    with tempfile.TemporaryDirectory(prefix="stages-") as folder:
        os.environ["LINKWORK_RUNTIME_DIR"] = folder
        seat = MachineEndpoints.named("stages")
        place = [] if cpu is None else ["--cpu", str(cpu)]
        plant = Child.start(
            [sys.executable, "-m", "linkwork.plant", config, "--endpoint", seat.plant, "--lifeline", *place],
            env=BLAS_ENVIRONMENT, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        loop = Child.start(
            [sys.executable, __file__, config, str(seat.folder), pace, str(cpu), str(ticks)],
            env=BLAS_ENVIRONMENT, stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            assert loop.stdout is not None
            line = loop.stdout.readline()
            if not line:
                raise SystemExit("the loop ended before it had measured")
            result: dict[str, float] = json.loads(line)
            return result
        finally:
            for child in (loop, plant):
                child.stop(5.0)
                child.close()


class Clocked:
    """A pace with a clock between the stages: a state arrives, a command answers it."""

    def __init__(self, seat: MachineEndpoints, ticks: int) -> None:
        self._outbox, self._wanted = OrderOutbox(seat.orders_path), ticks
        self._marks: list[tuple[int, ...]] = []
        self._step_begin = self._step_end = 0

    def __call__(self, loop: Loop, client: DeviceClient) -> None:
        """Shakes hands, enables, then clocks the ticks."""
        self._clock_the_step(loop)
        next_hello = 0
        ticks = -SETTLE_TICKS
        done = now_ns()
        while ticks < self._wanted:
            if not loop.link.connected and now_ns() >= next_hello:
                loop.link.hello()
                next_hello = now_ns() + 100_000_000
            begin = done
            message = client.receive(50)
            received = now_ns()
            if message is None or not loop.link.read_message(message, loop.inputs):
                continue
            taken = now_ns()
            loop.tick(fresh=True, received_ns=received)
            packed = now_ns()
            loop.link.send()
            sent = now_ns()
            loop.finish()
            done = now_ns()
            ticks += 1
            if ticks == 1 - SETTLE_TICKS:
                self._outbox.send(Enable(id=1))
            elif ticks > 0:
                self._marks.append(
                    (begin, received, taken, self._step_begin, self._step_end, packed, sent, done)
                )

    def _clock_the_step(self, loop: Loop) -> None:
        step: Any = loop._tick.step

        def clocked(inputs: Inputs, outputs: Outputs, dt: float, *marking: Any) -> None:
            self._step_begin = now_ns()
            step(inputs, outputs, dt, *marking)
            self._step_end = now_ns()

        loop._tick.step = clocked  # type: ignore[method-assign]

    def medians(self) -> dict[str, float]:
        """Each part's median, µs."""
        return {
            name: median(mark[part + 1] - mark[part] for mark in self._marks) / 1e3
            for part, name in enumerate(PARTS)
        }


def main() -> None:
    """The loop process."""
    config, folder, name, cpu, ticks = sys.argv[1:]
    seat, pace = MachineEndpoints(Path(folder)), Pace(name)
    clocked = Clocked(seat, int(ticks))
    PACES[pace] = clocked
    options = LoopOptions(
        config=config, seat=seat.folder, plant=seat.plant, pace=pace, owner="benchmark",
        cpu=None if cpu == "None" else int(cpu),
    )  # fmt: skip
    run(options)
    print(json.dumps(clocked.medians()), flush=True)


if __name__ == "__main__":
    main()
