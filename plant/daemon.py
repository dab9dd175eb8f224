"""The plant daemon: set-up, socket, kernels, then one pace after another until somebody asks it to end."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from machine import Machine
from multibody.compiling import warm
from plant.device import Device
from plant.events import Events
from plant.paces import PACES, alone
from plant.simulator import SimulationDiverged, period_of
from protocol.codes import ExitCode, Pace
from protocol.endpoints import Seat, claim
from protocol.keys import ServerKeys
from protocol.sockets import DeviceServer
from timing.children import Lifeline, ignore_interrupts
from timing.realtime import Obtained, Policy, set_up
from timing.scheduling import set_policy, share_processors
from timing.signals import Interrupts

FIFO_PRIORITY = 49
"""Below the controller's loop, which shares the processor: it answers a state before we integrate."""


@dataclass(frozen=True)
class PlantOptions:
    """How a plant daemon runs. endpoint None: the machine's seat; cpu None: the one that `timing` picks."""

    endpoint: str | None = None
    paces: tuple[Pace, ...] = tuple(Pace)
    realtime: Policy = "warn"
    cpu: int | None = None
    seed: int = 0
    keys: ServerKeys | None = None
    lifeline: bool = False


class Ending:
    """SIGINT, SIGTERM, or the end of the parent: any of them ends the daemon."""

    def __init__(self, interrupts: Interrupts, lifeline: Lifeline | None) -> None:
        self._interrupts, self._lifeline = interrupts, lifeline

    @property
    def asked(self) -> bool:
        """Whether a signal has come."""
        return self._interrupts.count > 0

    def looked(self) -> bool:
        """Whether a signal has come or the parent has gone."""
        return self.asked or (self._lifeline is not None and self._lifeline.ended())


def run(machine: Machine, options: PlantOptions, events: Events) -> ExitCode:
    """The life of the daemon. Raises RealTimeRefused, or EndpointError (Taken), before it begins."""
    lifeline = Lifeline.from_stdin() if options.lifeline else None
    with _seated(machine, options), Interrupts() as interrupts:
        if lifeline is not None:
            ignore_interrupts()
        ending = Ending(interrupts, lifeline)
        period_of(machine)
        # Before the real-time priority: compiling at it would starve whatever else runs on this processor.
        if not _warm(ending, events):
            return ExitCode.DONE
        obtained = _real_time(options)
        try:
            with DeviceServer(options.endpoint or Seat.named(machine.name).plant, options.keys) as server:
                device = Device(machine, server, events, options.paces, options.seed)
                obtained.freeze_garbage()
                _introduce(device, obtained, events)
                return _serve(device, ending, events)
        finally:
            obtained.close()
            events.close()


def _seated(machine: Machine, options: PlantOptions) -> AbstractContextManager[object]:
    """The machine's seat, held; an endpoint of the user's own is held by its socket alone."""
    if options.endpoint is not None:
        return nullcontext()
    seat = Seat.named(machine.name)
    return claim(seat.folder, "plant", f"plant of {machine.name} at {seat.plant}")


def _real_time(options: PlantOptions) -> Obtained:
    cpus = None if options.cpu is None else frozenset({options.cpu})
    if options.paces == (Pace.LOCKSTEP,):
        return set_up("ignore", cpus=cpus, lock_memory=False, cpu_dma_latency_us=None)
    return set_up(options.realtime, cpus=cpus or share_processors()[0], fifo_priority=FIFO_PRIORITY)


def _warm(ending: Ending, events: Events) -> bool:
    """Compiles or loads the kernels; False when somebody asked to end meanwhile."""

    def progress(_done: int, _total: int, _name: str) -> None:
        if ending.looked():
            raise KeyboardInterrupt

    try:
        report = warm(progress)
    except KeyboardInterrupt:
        return False
    if not report.from_cache:
        text = f"{report.compiled} kernels compiled in {report.seconds:.1f} s and kept for the next start"
        events.say("warm", text, compiled=report.compiled)
    return True


def _introduce(device: Device, obtained: Obtained, events: Events) -> None:
    machine, server = device.machine, device.server
    for warning in (*map(str, machine.warnings), *obtained.warnings):
        events.say("warning", warning)
    events.say("realtime", obtained.line)
    paces = ", ".join(device.seat.terms.paces)
    text = f"{machine.name} braked at {server.endpoint}, {1e3 * device.period_s:g} ms periods, pace {paces}"
    events.say("ready", text, endpoint=server.endpoint, name=machine.name, period_s=device.period_s)
    events.flush()


def _serve(device: Device, ending: Ending, events: Events) -> ExitCode:
    paces = device.seat.terms.paces
    try:
        while not ending.looked():
            owner = device.seat.owner
            if owner is None or not owner.alive:
                alone(device, ending)
                continue
            if len(paces) > 1:  # in lockstep a real-time priority would starve the neighbours
                set_policy(None if owner.pace is Pace.LOCKSTEP else FIFO_PRIORITY)
            PACES[owner.pace](device, ending)
    except SimulationDiverged as diverged:
        events.say("diverged", str(diverged))
        device.leave(str(diverged))
        device.server.close(flush_ms=100)
        return ExitCode.GOAL_FAILED
    device.leave("the plant was stopped")
    events.say("end", f"ended, braked, at tick {device.simulator.tick}")
    device.server.close(flush_ms=100)
    return ExitCode.DONE
