"""A plant and a controller of their own for one benchmark, in a runtime folder of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from linkwork import Robot
from linkwork.controller.configuration import configured
from linkwork.controller.exchange.records import RecordLayout, layout_for
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.machine import Machine
from linkwork.protocol.endpoints import MachineEndpoints
from linkwork.timing.children import Child
from linkwork.timing.realtime import BLAS_ENVIRONMENT


class BenchRig:
    """Both daemons, from `with` to the block's end. `plant`, `gateway`, `loop` are their process ids.

    pace: device, host or lockstep. log: whether the controller keeps its log. cpu: processor of the loop, and
    of the plant unless plant_cpu names another. log_folder: where the log is kept (default: it is removed).
    """

    def __init__(
        self,
        pace: str,
        *,
        config: str = "scara",
        log: bool = True,
        cpu: int | None = None,
        plant_cpu: int | None = None,
        log_folder: Path | None = None,
    ) -> None:
        self._pace, self._config, self._log = pace, config, log
        self._cpu, self._plant_cpu = cpu, cpu if plant_cpu is None else plant_cpu
        self._kept_log = log_folder
        self._stack = ExitStack()
        self.plant = self.gateway = self.loop = 0

    def __enter__(self) -> BenchRig:
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="linkwork-"))
            os.environ["LINKWORK_RUNTIME_DIR"] = folder
            self.machine: Machine = configured(self._config, None)
            self.layout: RecordLayout = layout_for(self.machine)
            self.log_folder = self._kept_log or Path(folder, "log")
            self.log_folder.mkdir(parents=True, exist_ok=True)
            cpu, plant_cpu = (
                [] if each is None else ["--cpu", str(each)] for each in (self._cpu, self._plant_cpu)
            )
            plant, _ = self._start(stack, "plant", self._config, "--pace", self._pace, *plant_cpu)
            log = ["--log", str(self.log_folder)] if self._log else ["--no-log"]
            gateway, ready = self._start(stack, "controller", self._config, "--pace", self._pace, *log, *cpu)
            self.plant, self.gateway, self.loop = plant.pid, gateway.pid, int(ready["loop_pid"])
            self.seat = MachineEndpoints.named(self.machine.name)
            self.shared = Shared.open(self.seat.shared_path)
            stack.callback(self.shared.close)
            self.realtime = self.shared.text
            self.robot = stack.enter_context(Robot())
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def records(self, since: int) -> tuple[NDArray[Any], int]:
        """Tick records from number `since` on, as named fields, and the number after the last."""
        words, first, _ = self.shared.read_records(since)
        return words.view(self.layout.dtype)[:, 0], first + len(words)

    def forth_and_back(self, duration_s: float = 5.0) -> dict[str, Any]:
        """A trajectory of this duration that ends where it began, to be sent again and again.

        Below one second its way shrinks with the cube of the duration, so that its jerk does not grow.
        """
        names = [joint.name for joint in self.machine.joints][:2]
        q = self.robot.request("state")["q"]
        home = [float(q[name]) for name in names]
        way = 0.06 * min(duration_s, duration_s**3)
        away = [home[0] + way, home[1] - way]
        times = (0.0, 0.5 * duration_s, duration_s)
        points = [
            {"time_from_start_s": time_s, "positions": where, "velocities": [0.0, 0.0]}
            for time_s, where in zip(times, (home, away, home), strict=True)
        ]
        return {"coordinates": names, "points": points}

    def _start(self, stack: ExitStack, module: str, *arguments: str) -> tuple[Child, dict[str, Any]]:
        child = Child.start(
            [sys.executable, "-m", f"linkwork.{module}", *arguments, "--lifeline", "--json"],
            env=BLAS_ENVIRONMENT,
            stdout=subprocess.PIPE,
        )
        stack.callback(child.close)
        stack.callback(child.stop, 20.0)
        assert child.stdout is not None
        for line in child.stdout:
            said: dict[str, Any] = json.loads(line)
            if said["event"] == "ready":
                return child, said
        raise SystemExit(f"the {module} ended before it was ready")
