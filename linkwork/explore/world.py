"""The processes of one machine in simulated time: plant, loop, planner and gateway, by the daemons' own code.

Three seams make this possible. Each is one constructor argument, which the daemons use too:

- *clock*: `Clock` (`linkwork.timing.clock`), of `Loop`, `PlantDevice`, `Gateway` and `Planning`;
- *transport*: the interfaces `ControllerEnd` and `PlantEnd` (`linkwork.protocol.direct_link`), and
  `RequestEnd`, `TelemetryEnd` and `Waiting` (`linkwork.protocol.gateway_ends`);
- *process start*: `ChildProcesses` (`linkwork.controller.gateway.child_processes`), of `LoopHost` and
  `Planning`.

Shared memory, the datagrams of orders, lifelines, locks and logs are those of the computer: they need no time
and are the same in every run. Not simulated yet: lockstep, the digital twin, keys and roles.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any, Final

import linkwork.plant.faults.mechanism_faults  # noqa: F401  a fault must not import it while the plant runs
from linkwork.controller.controller_options import GatewayOptions
from linkwork.controller.exchange.order_socket import OrderInbox
from linkwork.controller.exchange.records import RecordLayout, layout_for
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.planner_jobs import Planning
from linkwork.controller.gateway.loop_host import LoopHost
from linkwork.controller.gateway.records.broadcast import Broadcast
from linkwork.controller.gateway.records.flight_record import FlightRecorder
from linkwork.controller.gateway.records.kept_temperatures import KeptTemperatures
from linkwork.controller.gateway.records.log import Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.gateway.server import Server
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.controller.loop.loop import Loop
from linkwork.controller.loop.pacing import PACES
from linkwork.controller.planning.messages.planner_messages import (
    READY,
    FrameReader,
    PlanAnswer,
    PlanJob,
    pack_job,
    read_answer,
)
from linkwork.controller.planning.process.planner_process import answers_to, fetch, store
from linkwork.explore.simulated_links import (
    FIRST_DESCRIPTOR,
    DeviceNetwork,
    RequestNetwork,
    SimulatedControllerEnd,
    SimulatedPlantEnd,
    SimulatedRequestEnd,
    SimulatedTelemetry,
    SimulatedWaiting,
)
from linkwork.explore.simulated_time import Inlet, SimulatedClock, SimulatedProcess, SimulatedTime
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.plant.daemon.plant_daemon import DaemonEnd, serve
from linkwork.plant.device.events import Events
from linkwork.plant.faults.device import FaultyDevice
from linkwork.plant.faults.faulty_machinery import faulty
from linkwork.plant.faults.timeline import TimeLine
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Pace, RequestCode
from linkwork.protocol.endpoints import MachineEndpoints, claim
from linkwork.protocol.errors import RequestError
from linkwork.timing.children import Lifeline
from linkwork.timing.notify import Notifier
from linkwork.timing.signals import SignalInterrupts

FIRST_PID: Final = 1001
LOOP_START_NS: Final = 20_000_000
PLANNER_START_NS: Final = 40_000_000
"""Time in which the processes start."""
PLANNING_NS: Final = (1_000_000, 30_000_000)
"""Least and most time of a plan."""
STAMP: Final = "20231114-221320"


class SimulatedInterrupts(SignalInterrupts):
    """Signals that a simulated process receives: set `count`."""

    def drain(self) -> None:
        """Do nothing: there is no descriptor."""


class LoopHandle:
    """A gateway's hold on a loop: of one that it started, with the end of its lifeline."""

    def __init__(self, process: SimulatedProcess, descriptor: int, lifeline: int, world: World) -> None:
        self.pid, self.pidfd = process.pid, descriptor
        self._process, self._lifeline, self._world = process, lifeline, world
        self._started = lifeline >= 0

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.alive

    @property
    def returncode(self) -> int | None:
        """Exit status of one that was started here and has ended."""
        if self._process.alive or not self._started:
            return None
        return -9 if self._process.status is None else int(self._process.status)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end, at most so long."""
        clock = self._world.clock
        until_ns = clock.now_ns() + round(1e9 * timeout_s)
        while self._process.alive and clock.now_ns() < until_ns:
            clock.sleep_until_ns(min(until_ns, clock.now_ns() + 1_000_000))
        return not self._process.alive

    def kill(self) -> None:
        """End it without asking."""
        self._process.kill()

    def close(self) -> None:
        """Close the lifeline, if this gateway has its end."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


class PlannerHandle:
    """A planner, and the frames that cross to it and back."""

    def __init__(self, world: World) -> None:
        self.ready = False
        self._world, self._reader, self._closed = world, FrameReader(), False
        self._descriptor, self._answers = world.new_descriptor()
        self._jobs = Inlet(world.simulation)
        self.process = world.new_process(self._main, lambda: self._answers.put(b""))
        self.pid = self.process.pid
        world.processes["planner"] = self.process

    @property
    def alive(self) -> bool:
        """Whether it still answers."""
        return self.process.alive

    def fileno(self) -> int:
        """Return the simulated descriptor of its answers."""
        return self._descriptor

    def submit(self, job: PlanJob) -> None:
        """Hand a job over."""
        self._jobs.put(pack_job(job))

    def receive(self) -> list[PlanAnswer]:
        """Return the answers that have arrived."""
        found = []
        while self._answers.messages:
            self._reader.feed(self._answers.messages.popleft())
        while (body := self._reader.next()) is not None:
            answer = read_answer(body)
            self.ready = self.ready or answer is None
            if answer is not None:
                found.append(answer)
        return found

    def close(self) -> None:
        """End it."""
        self.process.kill()

    def _main(self) -> int:
        world, reader = self._world, FrameReader()
        path = world.seat.shared_path
        world.clock.sleep_until_ns(world.clock.now_ns() + PLANNER_START_NS)
        self._answers.put(READY)
        keep, read = partial(store, path), partial(fetch, path)
        while True:
            while not self._jobs.messages:
                self._jobs.await_until(world.clock.now_ns() + 1_000_000_000)
            for frame in answers_to(self._jobs.messages.popleft(), reader, world.sets, keep, read):
                world.clock.sleep_until_ns(world.clock.now_ns() + world.random.randint(*PLANNING_NS))
                self._answers.put(frame)


class Children:
    """Starts and finds the processes of a simulated gateway."""

    def __init__(self, world: World, pid: int) -> None:
        self._world, self.pid = world, pid

    def start_loop(self) -> LoopHandle:
        """Start a loop."""
        return self._world.start_loop()

    def living_loop(self) -> LoopHandle | None:
        """Return the loop that runs."""
        return self._world.living_loop()

    def fits(self, loop: object) -> bool:  # noqa: ARG002 - all loops are of one machine
        """Return True: every loop has the same connection."""
        return True

    def start_planner(self) -> PlannerHandle:
        """Start a planner."""
        return PlannerHandle(self._world)


@dataclass(frozen=True)
class Scenery:
    """Parts of a world: the plant's machine with its faults to come, the seed, and the pace."""

    plant_machine: Machine
    seed: int = 0
    line: TimeLine | None = None
    pace: Pace = Pace.DEVICE


class World:
    """One machine's processes, by name in `processes`. `machine`: as the controller has it.

    folder: an empty one, for shared memory, locks and logs. `loop_made` is called with each new loop's shared
    memory, `loop_gone` when it has ended, `heard` with topic and payload of each event.
    """

    def __init__(self, machine: Machine, scenery: Scenery, folder: Path) -> None:
        self.machine, self._scenery, self.folder = machine, scenery, folder
        self.simulation = SimulatedTime()
        self.clock = SimulatedClock(self.simulation)
        self.random = Random(scenery.seed)
        self.seat = MachineEndpoints(folder / machine.name)
        self.seat.folder.mkdir(mode=0o700)
        self.devices = DeviceNetwork(self.simulation)
        self.requests = RequestNetwork(self.simulation)
        self.processes: dict[str, SimulatedProcess] = {}
        self.device: FaultyDevice | None = None
        self.loop: Loop | None = None
        """The newest loop."""
        self.service: Gateway | None = None
        """State of the newest gateway."""
        self.interrupts = SimulatedInterrupts()
        """Of the gateway."""
        self.loop_made: Callable[[Shared], None] = lambda _shared: None
        self.loop_gone: Callable[[], None] = lambda: None
        self.heard: Callable[[bytes, bytes], None] = lambda _topic, _payload: None
        self.failures: list[BaseException] = []
        self.disturbed_ns = self.simulation.now_ns
        """Instant at which a process was last killed, suspended, resumed or started."""
        self._pid, self._descriptor, self._sessions = FIRST_PID, FIRST_DESCRIPTOR, 0
        self._inlets: dict[int, Inlet] = {}
        self._loop_end = -1
        self._null = os.open(os.devnull, os.O_WRONLY)

    @cached_property
    def layout(self) -> RecordLayout:
        """The layout of the loop's records."""
        return layout_for(self.machine)

    @cached_property
    def sets(self) -> Mapping[int, Machine | str]:
        """The machine under each set of its switchable constraints."""
        return constraint_sets(self.machine)

    def running(self, name: str) -> SimulatedProcess | None:
        """Return a process that is alive and not suspended."""
        process = self.processes.get(name)
        return process if process is not None and process.alive and not process.suspended else None

    def alive(self, name: str) -> bool:
        """Whether a process is alive."""
        process = self.processes.get(name)
        return process is not None and process.alive

    # Processes.

    def new_process(self, main: Callable[[], Any], on_end: Callable[[], None]) -> SimulatedProcess:
        """Start a process with the next process id."""
        pid, self._pid = self._pid, self._pid + 1

        def ended() -> None:
            if process.failure is not None:
                self.failures.append(process.failure)
            on_end()

        process = SimulatedProcess(self.simulation, pid, main, ended)
        return process

    def new_descriptor(self) -> tuple[int, Inlet]:
        """Return a simulated descriptor and what makes it readable."""
        self._descriptor += 1
        inlet = self._inlets[self._descriptor] = Inlet(self.simulation)
        return self._descriptor, inlet

    def start_plant(self) -> None:
        """Start the plant."""
        self.processes["plant"] = self.new_process(self._plant_main, self.devices.plant_left)

    def _plant_main(self) -> int:
        scenery, events = self._scenery, Events(self._null)
        end = SimulatedPlantEnd(self.devices)
        machine = scenery.plant_machine
        machinery = faulty(Simulator(machine, scenery.seed))
        self.device = FaultyDevice(
            machine,
            machinery,
            end,
            events,
            (scenery.pace,),
            scenery.line,
            open_to_all=False,
            clock=self.clock,
        )
        ending = DaemonEnd(SimulatedInterrupts(), None, Notifier({}))
        return int(serve(self.device, ending, events))

    def start_loop(self) -> LoopHandle:
        """Start a loop, which ends in time when its lifeline closes."""
        theirs, ours = os.pipe()
        parts: list[Any] = []

        def ended() -> None:
            self.loop_gone()
            for part in parts:
                part.close()
            inlet.put(None)

        descriptor, inlet = self.new_descriptor()
        process = self.new_process(lambda: self._loop_main(process.pid, lifeline, parts), ended)
        lifeline = Lifeline(theirs)
        parts.append(lifeline)
        self.processes["loop"], self._loop_end = process, descriptor
        return LoopHandle(process, descriptor, ours, self)

    def living_loop(self) -> LoopHandle | None:
        """Return a hold on the loop that runs, without a lifeline."""
        if not self.alive("loop"):
            return None
        return LoopHandle(self.processes["loop"], self._loop_end, -1, self)

    def _session(self) -> int:
        self._sessions += 1
        return self._sessions

    def _loop_main(self, pid: int, lifeline: Lifeline, parts: list[Any]) -> int:
        self.clock.sleep_until_ns(self.clock.now_ns() + LOOP_START_NS)
        machine, path = self.machine, self.seat.shared_path
        shared = Shared.create(path, self.layout, machine.config_hash, lockstep=False, pid=pid)
        inbox = OrderInbox(self.seat.orders_path)
        client = SimulatedControllerEnd(self.devices)
        parts += [inbox, shared]
        pace = self._scenery.pace
        link = DeviceLink(client, machine, pace, "the explorer", self._session)
        self.loop = loop = Loop(machine, link, shared, inbox, lifeline, pace, self.clock)
        self.loop_made(shared)
        shared.text = "simulated"
        loop.look_around()
        run: Callable[[Loop, Any], None] = PACES[pace]
        run(loop, client)
        link.lose("the controller was shut down")
        return 0

    def start_gateway(self) -> None:
        """Start a gateway, which starts or adopts the others."""
        parts: list[Any] = []

        def ended() -> None:
            self.requests.gateway = None
            for part in parts:
                part()

        process = self.new_process(lambda: self._gateway_main(process.pid, parts), ended)
        self.processes["gateway"] = process

    def _gateway_main(self, pid: int, parts: list[Any]) -> int:
        machine, pace, logs = self.machine, self._scenery.pace, self.folder / "logs"
        options = GatewayOptions(config=machine.path, pace=pace, log=logs)
        children = Children(self, pid)
        held = claim(self.seat.folder, "gateway", "explored")
        host, planning = LoopHost(self.seat, machine.config_hash, children), Planning(children, self.clock)
        every = round(1.0 / (machine.controller.telemetry_hz * machine.period_s))
        telemetry = SimulatedTelemetry(self.simulation, lambda topic, payload: self.heard(topic, payload))
        broadcast = Broadcast([telemetry], self.layout, every, self.clock)
        source = LogSource.for_machine(machine, self.layout, pace)
        log = Log(logs, machine.name, STAMP, source, machine.controller.log_cap_bytes)
        flights = FlightRecorder(logs, machine.name, log.stamp, source)
        gateway = Gateway(options, machine, self.layout, host, planning, broadcast, log, flights, self.clock)
        if any(motor.thermal_time_s is not None for motor in machine.motors):
            kept = self.folder / "temperatures.json"
            gateway.temperatures = KeptTemperatures(machine, kept, self.clock)
        self.service = gateway
        parts += [lambda: gateway.aftermath.close(host.shared), log.close, host.close, held.release]
        planning.start()
        end = SimulatedRequestEnd(self.requests)
        waiting = partial(SimulatedWaiting, self.simulation, self._inlets)
        server = Server(
            gateway, [end], self.interrupts, None, held, Notifier({}), self.clock, waiting, self._null
        )
        status = server.run()
        gateway.close()
        planning.close(RequestError(RequestCode.NO_LOOP, "the controller has ended"))
        return status

    def close(self) -> None:
        """End all processes and release what they hold."""
        for process in list(self.processes.values()):
            process.kill()
        os.close(self._null)
