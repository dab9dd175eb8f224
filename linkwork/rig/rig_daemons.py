"""The daemons behind a rig under test, started here or running already, and the connections to them."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from linkwork.client.robot import Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import Machine
from linkwork.protocol.endpoints import MachineEndpoints, runtime_dir
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.sockets import DeviceClient
from linkwork.rig.rig_options import NONE, RigOptions
from linkwork.rig.runs import RunFaults
from linkwork.timing.children import Process

PATIENCE_S: Final = 600.0
"""On a computer that is new to it, and busy, kernels are compiled first."""
_ANSWER_S: Final = 5.0
"""Time limit for a connection to an endpoint."""
Role = Literal["plant", "controller", "gateway", "loop"]


class NotOurs(RuntimeError):
    """A daemon that these tests did not start cannot be killed or restarted by them."""


class Daemons:
    """Plant and controller of one machine, and the clients of both.

    Daemons to which the options do not attach are started where first needed, also after `close`.
    requests, plant: endpoints, None where there is none. truth: file of the plant's own record, None for an
    attached plant. `connected` is called whenever a controller is connected.
    """

    def __init__(self, machine: Machine, options: RigOptions, connected: Callable[[], None]) -> None:
        self.machine, self.options = machine, options
        self._connected = connected
        self._robot: Robot | None = None
        self._faults: RunFaults | None = None
        self.requests: str | None = None
        self.plant: str | None = options.plant
        self.truth: Path | None = None
        self._rig: Rig | None = None
        self._folder: Path | None = None
        self._truths = 0

    @property
    def owns_plant(self) -> bool:
        """Whether the plant is started here."""
        return self.options.plant is None and self.options.controller in (None, NONE)

    @property
    def owns_controller(self) -> bool:
        """Whether the controller is started here."""
        return self.options.controller is None

    @property
    def logs(self) -> Path:
        """Folder of our controller's logs."""
        assert self._folder is not None
        out = self.options.out
        return self._folder / "log" if out is None else out.absolute() / "logs" / self.machine.name

    @property
    def robot(self) -> Robot:
        """Client of the controller. Raises RigFailed, NobodyThere."""
        self.start()
        assert self._robot is not None, "this rig has no linkwork controller"
        return self._robot

    @property
    def faults(self) -> RunFaults:
        """The way to the plant for injected faults. Raises RigFailed, NobodyThere."""
        if self._faults is None:
            self.start()
            assert self.plant is not None, self.cannot_inject("")
            self._faults = RunFaults(self.plant, self.machine.plant.period_s, self.options.seed)
        return self._faults

    def cannot_inject(self, kind: str) -> str:
        """Why faults of this kind cannot be injected; "" where they can."""
        if self.owns_plant:
            return ""
        if self.plant is None:
            return "faults are injected at the plant, whose endpoint is unknown: add --plant ENDPOINT"
        return self.faults.cannot(kind)

    @property
    def injected(self) -> list[dict[str, Any]]:
        """Faults injected since they were cleared, as reported by the plant, oldest first."""
        return self._faults.reports() if self._faults is not None else []

    def clear_faults(self) -> None:
        """End all injected faults and forget them."""
        if self._faults is not None or (not self.owns_plant and self.plant is not None):
            self.faults.clear()

    def start(self) -> None:
        """Start and connect what is missing, and wait until it is ready. Raises RigFailed, NobodyThere."""
        if self._folder is None:
            self._start()
        if self._robot is None and self.requests is not None:
            robot = Robot(endpoint=self.requests)
            robot.__enter__()
            self._robot = robot
            self._connected()

    def _start(self) -> None:
        if self.options.plant is not None:
            _reach(self.options.plant)
        self._folder = Path(tempfile.mkdtemp(prefix="rig-", dir=runtime_dir()))
        plant = self._plant_words() if self.owns_plant else None
        controller = self._controller_words() if self.owns_controller else None
        self._rig = Rig(self.machine.name, plant, controller, self._folder)
        self._rig.__enter__()
        if self.owns_plant:
            self.plant = self._rig.seat.plant
        if self.owns_controller:
            self.requests = self._rig.requests
            self._rig.wait_ready(lambda _: None, PATIENCE_S)
        elif self.options.controller != NONE:
            self.requests = self.options.controller

    def _plant_words(self) -> list[str]:
        """A plant's command line; every start has a separate record."""
        assert self._folder is not None
        self._truths += 1
        self.truth = self._folder / f"truth-{self._truths}.plant"
        words = [self.options.config, *self._realtime(), "--seed", str(self.options.seed)]
        return [*words, "--inject", "--truth", str(self.truth)]

    def _controller_words(self) -> list[str]:
        assert self._folder is not None
        words = [self.options.config, *self._realtime(), "--pace", self.options.pace]
        words += ["--log", str(self.logs)]
        if self.options.plant is not None:
            words += ["--plant", self.options.plant]
        return words if self.options.law is None else [*words, "--law", self.options.law]

    def _realtime(self) -> list[str]:
        return ["--realtime", "ignore"] if self.options.pace == "lockstep" else []

    def kill(self, role: Role, pid: int | None = None) -> None:
        """End a daemon without asking it. pid: of the loop, for role "loop". Raises NotOurs."""
        rig = self._ours(role)
        if role == "loop":
            if pid is None:
                raise NotOurs("there is no loop to kill: the controller reports none")
            process = Process(pid)
            process.kill()
            process.wait(10.0)
            process.close()
            return
        child = rig.children["plant" if role == "plant" else "controller"]
        child.kill()
        child.wait(10.0)

    def restart(self, role: Role) -> None:
        """Restart a daemon, after ending it where it still runs. Raises NotOurs, RigFailed."""
        rig = self._ours(role)
        if role == "plant":
            rig.start("plant", self._plant_words())
        else:
            self._disconnect()
            rig.start("controller", self._controller_words())
            rig.wait_ready(lambda _: None, PATIENCE_S)
        self.start()

    def _ours(self, role: Role) -> Rig:
        ours = self.owns_plant if role == "plant" else self.owns_controller
        if not ours or self._rig is None:
            raise NotOurs(f"the {role} was not started by these tests and is not stopped by them")
        return self._rig

    @property
    def alive(self) -> bool:
        """Whether everything that was started here still runs."""
        return self._rig is not None and not any(map(self.ended, self._rig.children))

    def ended(self, role: str) -> bool:
        """Whether a daemon ("plant" or "controller") that was started here runs no more."""
        child = None if self._rig is None else self._rig.children.get(role)
        return child is not None and not child.alive

    def plant_events(self) -> list[dict[str, Any]]:
        """Everything that the plants started here have reported so far."""
        return self._rig.said("plant") if self._rig is not None and self.owns_plant else []

    def seat(self) -> MachineEndpoints:
        """Runtime folder of the started daemons."""
        assert self._rig is not None
        return self._rig.seat

    def close(self) -> None:
        """End the connections and the daemons that were started, and remove their folder."""
        self._disconnect()
        if self._faults is not None:
            self._faults.close()
            self._faults = None
        if self._rig is not None:
            self._rig.close()
            self._rig = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self.requests, self.plant, self.truth = None, self.options.plant, None

    def _disconnect(self) -> None:
        if self._robot is not None:
            with suppress(NobodyThere, RequestError):
                self._robot.__exit__(None, None, None)
            self._robot = None


def _reach(plant: str) -> None:
    """Raise NobodyThere where no plant listens."""
    client = DeviceClient(plant)
    try:
        if not client.writable(round(1e3 * _ANSWER_S)):
            raise NobodyThere(f"no answer from {plant}; is the plant running there?")
    finally:
        client.close()
