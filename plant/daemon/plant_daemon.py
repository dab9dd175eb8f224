"""The plant daemon: set-up, socket, kernels, then one pace after another until it is asked to end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from typing import TYPE_CHECKING, Any

from linkwork.command_line import imported
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.checks.controllability import refusals
from linkwork.machine.checks.rank_gap import rank_warnings
from linkwork.plant.daemon.plant_pacing import PACES, EndRequested, alone
from linkwork.plant.device.events import Events
from linkwork.plant.device.plant_device import PlantDevice
from linkwork.plant.drivers.driver import Driver, DriverFailed, NoDriver, make_driver, read_options
from linkwork.plant.drivers.hardware import Hardware
from linkwork.plant.machinery import Machinery, MachineryFailed
from linkwork.plant.plant_options import PlantOptions
from linkwork.plant.simulator.start_values import StartNotAssembled
from linkwork.protocol.codes import ExitCode, Pace
from linkwork.protocol.endpoints import Claim, MachineEndpoints, claim
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.keys import ServerKeys, server_keys
from linkwork.protocol.open_connections import HeldMemory, raise_file_limit
from linkwork.protocol.sockets import DeviceServer
from linkwork.timing.children import Lifeline, ignore_interrupts
from linkwork.timing.clock import Ticker
from linkwork.timing.memory import allocated_bytes
from linkwork.timing.notify import Notifier
from linkwork.timing.realtime import Obtained, RealTimeRefused, set_up
from linkwork.timing.scheduling import set_policy, share_processors
from linkwork.timing.signals import SignalInterrupts

if TYPE_CHECKING:
    from linkwork.plant.faults.timeline import TimeLine


FIFO_PRIORITY = 49
"""Below the controller's loop, which shares the processor: it answers a state before we integrate."""
MOST_HELD_BYTES = 32 * 1024 * 1024
"""Memory that clients may make ZeroMQ hold."""


class DaemonEnd:
    """SIGINT, SIGTERM, or the end of the parent: any of them ends the daemon.

    The daemon asks for it wherever it waits and every few ticks, so each look is progress for the watchdog
    of a service manager.
    """

    def __init__(self, interrupts: SignalInterrupts, lifeline: Lifeline | None, notifier: Notifier) -> None:
        self._interrupts, self._lifeline, self._notifier = interrupts, lifeline, notifier
        self._held: Claim | None = None
        self._in_use: Callable[[], bool] = bool
        self._mind: Callable[[], None] = lambda: None
        self.lost = ""
        """Why no controller can connect any longer, or empty."""

    def watch_seat(self, held: Claim | None, in_use: Callable[[], bool], mind: Callable[[], None]) -> None:
        """Also end when the lock `held` is lost and no controller is connected (`in_use`).

        `mind` is called at each look.
        """
        self._held, self._in_use, self._mind = held, in_use, mind

    @property
    def asked(self) -> bool:
        """Whether a signal has come."""
        return self._interrupts.count > 0

    def looked(self) -> bool:
        """Whether a signal has come, the parent has gone, or the lock is lost."""
        self._notifier.ping()
        self._mind()
        if self._held is not None and not self._in_use():
            self.lost = self._held.lost
        return self.asked or bool(self.lost) or (self._lifeline is not None and self._lifeline.ended())

    def announce(self) -> None:
        """Report to a service manager that the daemon is about to end."""
        self._notifier.stopping("braking, then ending")


def plant(options: PlantOptions) -> int:
    """Run `linkwork plant`; print why it cannot start. Returns the exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _start(options)
    except KeyboardInterrupt:  # before the daemon counts signals itself; nothing runs yet
        return ExitCode.DONE


def _start(options: PlantOptions) -> int:
    events = Events(as_json=options.as_json)
    if problem := _wrong_usage(options):
        return _refuse(problem, ExitCode.USAGE)
    keys = None
    try:
        machine = load(options.config, options.plant_set)
        driver_options = read_options(list(options.driver_set))
        if options.keys is not None and options.allowed is not None:
            keys = server_keys(options.keys, options.allowed)
            if keys.notice:
                sys.stderr.write(f"{keys.notice}\n")
    except (MachineError, EndpointError, NoDriver) as error:
        return _refuse(str(error), ExitCode.USAGE)
    if machine.plant.fmus and options.truth is not None:
        return _refuse("--truth does not record machines with FMUs (plant.fmus)", ExitCode.USAGE)
    try:
        return run(machine, options, driver_options, keys, events)
    except (StartNotAssembled, MachineError, NoDriver, PaceNotOffered) as error:
        return _refuse(str(error), ExitCode.USAGE)
    except (EndpointError, RealTimeRefused) as error:
        return _refuse(str(error), ExitCode.REFUSED)


def _wrong_usage(options: PlantOptions) -> str:
    """Return why these options cannot be given together, or an empty text."""
    if (options.keys is None) != (options.allowed is None):
        return "give --keys (the plant's secret file) and --allowed (folder of client keys) together"
    if options.driver is None and options.driver_set:
        return "--driver-set needs a driver: add --driver"
    if options.driver is not None and options.plant_set:
        return "--plant-set changes a simulated plant; it cannot be used with --driver"
    truth = options.truth
    if truth is not None and (options.driver is not None or not truth.absolute().parent.is_dir()):
        return "--truth names a file in a folder that exists, and is for simulated machines"
    return ""


def _refuse(text: str, status: int) -> int:
    sys.stderr.write(f"{text}\n")
    return int(status)


def run(
    machine: Machine,
    options: PlantOptions,
    driver_options: dict[str, Any],
    keys: ServerKeys | None,
    events: Events,
) -> ExitCode:
    """The life of the daemon. `driver_options` win over those of the file.

    Raises RealTimeRefused, EndpointError (Taken), NoDriver, MachineError (of the time line too) or
    PaceNotOffered before it begins.
    """
    driver, paces = None, options.paces
    raise_file_limit()
    if options.driver is not None:
        driver = make_driver(options.driver, machine, driver_options)
        paces = _paces_of(driver, paces)
    if _faulty(options) and driver is None:
        from linkwork.plant.faults.pushes import pushable

        machine = pushable(machine)
    line = _time_line(machine, options)
    lifeline = Lifeline.from_stdin() if options.lifeline else None
    with _seated(machine, options) as held, SignalInterrupts() as interrupts, closing(Notifier()) as notifier:
        if lifeline is not None:
            ignore_interrupts()
        ending = DaemonEnd(interrupts, lifeline, notifier)
        obtained = _real_time(options, paces)
        try:
            endpoint = options.endpoint or MachineEndpoints.named(machine.name).plant
            with DeviceServer(endpoint, keys) as server:
                with closing(_machinery(machine, driver, options, events)) as machinery:
                    if isinstance(machinery, Hardware) and not _started(machinery, ending, events):
                        return ExitCode.DONE
                    device = _device(machine, machinery, server, events, options, paces, line)
                    memory = HeldMemory(allocated_bytes, MOST_HELD_BYTES, 0.05)

                    def mind() -> None:
                        _mind(server, memory, events)
                        if memory.freed and _may_pause(device):
                            memory.freed = False
                            obtained.give_back_memory()

                    ending.watch_seat(held, lambda: device.seat.taken, mind)
                    obtained.freeze_garbage()
                    _introduce(device, obtained, events)
                    notifier.ready(f"plant of {machine.name} at {server.endpoint}")
                    status = serve(device, ending, events)
                device.part()  # now the brakes of a real machine are on, too
                server.close(flush_ms=100)
                return status
        except DriverFailed as failed:
            events.say("failed", str(failed))
            return ExitCode.NOBODY_THERE
        finally:
            obtained.close()
            events.close()


class PaceNotOffered(ValueError):
    """The driver's device cannot run at the pace asked for."""


def _paces_of(driver: Driver, asked: tuple[Pace, ...]) -> tuple[Pace, ...]:
    description = driver.describe()
    both = tuple(pace for pace in asked if pace in description.paces)
    if not both:
        raise PaceNotOffered(
            f"{description.name} runs at pace {', '.join(description.paces)}, not {', '.join(asked)}"
        )
    return both


def _machinery(machine: Machine, driver: Driver | None, options: PlantOptions, events: Events) -> Machinery:
    """The machine, simulated, or behind its driver."""
    if driver is not None:
        return Hardware(machine, driver, events.say)
    from linkwork.plant.simulator.simulator import (  # its kernels are for those who simulate
        RecordedSimulator,
        Simulator,
    )

    if options.truth is not None:
        return RecordedSimulator(machine, options.seed, options.truth)
    if not machine.plant.fmus:
        return Simulator(machine, options.seed)
    try:
        made: Machinery = imported("fmu.fmu_plant:FmuSimulator")(machine, options.seed)
    except ImportError as error:
        text = f"{error}; FMUs of others need an extra: pip install 'linkwork[fmu]'"
        raise MachineError([machine.document.problem(("plant", "fmus"), text, of_key=True)]) from None
    return made


def _faulty(options: PlantOptions) -> bool:
    return options.inject or options.faults is not None


def _time_line(machine: Machine, options: PlantOptions) -> TimeLine | None:
    """The faults that are to come, checked."""
    if options.faults is None:
        return None
    from linkwork.plant.faults.timeline import read_timeline

    return read_timeline(options.faults, machine, hardware=options.driver is not None)


def _device(
    machine: Machine,
    machinery: Machinery,
    server: DeviceServer,
    events: Events,
    options: PlantOptions,
    paces: tuple[Pace, ...],
    line: TimeLine | None,
) -> PlantDevice:
    """The machine behind its link; with faults in both where they are asked for."""
    if not _faulty(options):
        return PlantDevice(machine, machinery, server, events, paces)
    from linkwork.plant.faults.device import FaultyDevice
    from linkwork.plant.faults.faulty_machinery import faulty

    return FaultyDevice(machine, faulty(machinery), server, events, paces, line, open_to_all=options.inject)


def _mind(server: DeviceServer, memory: HeldMemory, events: Events) -> None:
    """Close connections beyond the limits, and say so."""
    if server.connections is not None:
        server.connections.mind()
        memory.mind([server.connections])
        for text in server.connections.take_notices():
            events.say("connections", f"{server.endpoint}: {text}")


def _may_pause(device: PlantDevice) -> bool:
    """Whether a pause of tens of milliseconds harms no motion."""
    owner = device.seat.owner
    if owner is not None and owner.pace is Pace.LOCKSTEP:
        return True
    return not device.seat.taken and device.machinery.standing


def _started(hardware: Hardware, ending: DaemonEnd, events: Events) -> bool:
    """Connect to the device and run its homing; False when the daemon is asked to end meanwhile."""
    hardware.start()
    if hardware.machine.driver.homing == "procedure" and not hardware.homed:
        return find_home(hardware, ending, events)
    return True


def _seated(machine: Machine, options: PlantOptions) -> AbstractContextManager[Claim | None]:
    """The machine's seat, held; an endpoint of the user's own is held by its socket alone."""
    if options.endpoint is not None:
        return nullcontext()
    seat = MachineEndpoints.named(machine.name)
    return claim(seat.folder, "plant", f"plant of {machine.name} at {seat.plant}")


def _real_time(options: PlantOptions, paces: tuple[Pace, ...]) -> Obtained:
    cpus = None if options.cpu is None else frozenset({options.cpu})
    if paces == (Pace.LOCKSTEP,):
        return set_up("ignore", cpus=cpus, lock_memory=False, cpu_dma_latency_us=None)
    return set_up(options.realtime, cpus=cpus or share_processors()[0], fifo_priority=FIFO_PRIORITY)


def _introduce(device: PlantDevice, obtained: Obtained, events: Events) -> None:
    machine, server, machinery = device.machine, device.server, device.machinery
    machinery = getattr(machinery, "inner", machinery)
    undetermined = list(rank_warnings(machine)) if machine.is_constrained and machinery.simulation else []
    for warning in (*map(str, (*machine.warnings, *undetermined)), *obtained.warnings):
        events.say("warning", warning)
    events.say("realtime", obtained.line)
    paces = ", ".join(device.seat.terms.paces)
    what = (
        f"{machine.name} ({machinery.description.name})" if isinstance(machinery, Hardware) else machine.name
    )
    simulation = machinery.simulation
    how = f", {simulation['formulation']} {simulation['integrator']}" if simulation else ""
    text = f"{what} braked at {server.endpoint}, {1e3 * device.period_s:g} ms periods, pace {paces}{how}"
    told = {"endpoint": server.endpoint, "name": machine.name, "period_s": device.period_s}
    events.say("ready", text, **told, **(simulation or {}))
    events.flush()


def serve(device: PlantDevice, ending: DaemonEnd, events: Events) -> ExitCode:
    """Run one pace after another until the daemon is asked to end, or its machine has failed.

    ending: tells whether it was asked to end. events: receives sessions and faults. Returns the exit status.
    """
    paces = device.seat.terms.paces
    uncontrolled = not device.machinery.runs_by_itself and bool(refusals(device.machine))
    try:
        while not ending.looked():
            owner = device.seat.owner
            if owner is None or not owner.alive:
                alone(device, ending, uncontrolled)
                continue
            if len(paces) > 1:  # in lockstep a real-time priority would starve the neighbours
                set_policy(None if owner.pace is Pace.LOCKSTEP else FIFO_PRIORITY)
            PACES[owner.pace](device, ending)
    except MachineryFailed as ended:
        failed = isinstance(ended, DriverFailed)
        events.say("failed" if failed else "diverged", str(ended))
        device.leave(str(ended))
        return ExitCode.GOAL_FAILED
    ending.announce()
    device.leave("the plant was stopped")
    why = f"{ending.lost}; " if ending.lost else ""
    events.say("end", f"{why}ended, braked, at tick {device.machinery.tick}")
    events.flush()
    return ExitCode.GOAL_FAILED if ending.lost else ExitCode.DONE


def find_home(hardware: Hardware, ending: EndRequested, events: Events) -> bool:
    """Run the driver's homing procedure in real time; False when the daemon is to end meanwhile.

    ending: whether it is to end. events: receives progress. Raises DriverFailed when the device reports a
    fault, or does not find its zero in time.
    """
    timeout_s, period_s = hardware.machine.driver.homing_timeout_s, hardware.machine.plant.period_s
    events.say("homing", f"{hardware.description.name} searches for its zero for up to {timeout_s:g} s")
    events.flush()
    ticker = Ticker(round(1e9 * period_s))
    ticker.start()
    for _ in range(round(timeout_s / period_s)):
        if hardware.home():
            events.say("homed", f"{hardware.description.name} is homed")
            return True
        if hardware.fault:
            raise DriverFailed(f"{hardware.description.name} reported fault {hardware.fault} while homing")
        if ending.looked():
            return False
        ticker.wait()
    raise DriverFailed(
        f"{hardware.description.name} did not find its zero within {timeout_s:g} s; move it nearer, "
        "or raise driver.homing_timeout_s"
    )
