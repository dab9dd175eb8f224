"""The gateway process: opens sockets, log and processes before its poll loop runs."""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from getpass import getuser
from typing import TYPE_CHECKING

from linkwork.controller.configuration import configured
from linkwork.controller.controller_options import GatewayOptions
from linkwork.controller.exchange.records import RecordLayout, layout_for
from linkwork.controller.gateway.child_processes import CommandLines
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.goals.planner_jobs import Planning
from linkwork.controller.gateway.loop_host import LoopHost
from linkwork.controller.gateway.records.broadcast import Broadcast
from linkwork.controller.gateway.records.flight_record import FlightRecorder
from linkwork.controller.gateway.records.kept_temperatures import KeptTemperatures
from linkwork.controller.gateway.records.log import STAMP, Log
from linkwork.controller.gateway.records.log_segment import LogSource
from linkwork.controller.gateway.server import Server, StartFailed
from linkwork.machine import Machine, MachineError, name_in
from linkwork.protocol.codes import ExitCode, Pace, RequestCode
from linkwork.protocol.endpoints import Claim, MachineEndpoints, claim, state_dir
from linkwork.protocol.errors import EndpointError, RequestError
from linkwork.protocol.keys import ServerKeys, server_keys
from linkwork.protocol.open_connections import raise_file_limit
from linkwork.protocol.sockets import Poller, Publisher, RequestServer
from linkwork.timing.children import Lifeline
from linkwork.timing.clock import Clock, MonotonicClock
from linkwork.timing.notify import Notifier
from linkwork.timing.scheduling import share_processors
from linkwork.timing.signals import SignalInterrupts

if TYPE_CHECKING:
    from linkwork.controller.gateway.twin.twin import DigitalTwin

STARTING = "starting"


def controller(options: GatewayOptions) -> int:
    """Run `linkwork controller`; print why it cannot start. Returns the exit status."""
    if options.keys is None and (options.allowed is not None or options.plant_key is not None):
        return _refuse(
            "--allowed and --plant-key need --keys: this controller's own secret file", ExitCode.USAGE
        )
    if options.lockstep:
        options = replace(options, pace=Pace.LOCKSTEP)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run(options)
    except KeyboardInterrupt:  # before the gateway counts signals itself; nothing runs yet
        return ExitCode.DONE
    except MachineError as error:
        return _refuse(str(error), ExitCode.USAGE)
    except EndpointError as error:
        return _refuse(str(error), ExitCode.REFUSED)
    except OSError as error:
        return _refuse(f"{error.filename or 'the controller'}: {error.strerror or error}", ExitCode.USAGE)
    except StartFailed as error:
        return _refuse(str(error), error.status)


def _refuse(text: str, status: int) -> int:
    sys.stderr.write(text.rstrip() + "\n")
    return int(status)


def run(options: GatewayOptions) -> int:
    """The life of the gateway. Returns its exit status.

    Raises MachineError, EndpointError (Taken when another controller sits in the machine's seat), OSError and
    StartFailed before it is ready.
    """
    raise_file_limit()
    notifier = Notifier()  # first: it removes variables that the children must not inherit
    with ExitStack() as early:
        early.callback(notifier.close)
        name, held = name_in(options.config), None
        if name is not None:  # at once: clients see that it is starting
            held = early.enter_context(claim(MachineEndpoints.named(name).folder, "gateway", STARTING))
        machine = configured(options.config, options.law)
        if held is None or name != machine.name:
            held = early.enter_context(
                claim(MachineEndpoints.named(machine.name).folder, "gateway", STARTING)
            )
        return _run(options, machine, held, notifier)


def _run(options: GatewayOptions, machine: Machine, held: Claim, notifier: Notifier) -> int:
    if options.pace is not Pace.LOCKSTEP:
        options = replace(options, cpu=_leave_a_processor(options.cpu))
    layout = layout_for(machine)
    with ExitStack() as stack:
        interrupts = stack.enter_context(SignalInterrupts())
        lifeline = Lifeline.from_stdin() if options.lifeline else None
        seat = MachineEndpoints.named(machine.name)
        keys = _keys(options)
        servers = [stack.enter_context(RequestServer(seat.requests))]
        if options.endpoint is not None and options.endpoint != seat.requests:
            servers.append(stack.enter_context(RequestServer(options.endpoint, keys)))
        telemetry = [seat.telemetry, *([options.telemetry] if options.telemetry else [])]
        every = round(1.0 / (machine.controller.telemetry_hz * machine.period_s))
        publishers = [stack.enter_context(Publisher(endpoint, keys)) for endpoint in telemetry]
        clock = MonotonicClock()
        broadcast = Broadcast(publishers, layout, every, None if options.pace is Pace.LOCKSTEP else clock)
        gateway = _gateway(options, machine, layout, seat, broadcast, clock)
        stack.callback(gateway.planning.close, RequestError(RequestCode.NO_LOOP, "the controller has ended"))
        stack.callback(gateway.host.close)
        if gateway.twin_watch is not None:
            stack.callback(gateway.twin_watch.twin.close)
        stack.callback(gateway.close)
        gateway.planning.start()
        if gateway.twin_watch is not None:
            gateway.twin_watch.twin.start()
        server = Server(gateway, servers, interrupts, lifeline, held, notifier, clock, Poller)
        gc.collect()
        gc.freeze()
        return server.run()


def _gateway(
    options: GatewayOptions,
    machine: Machine,
    layout: RecordLayout,
    seat: MachineEndpoints,
    broadcast: Broadcast,
    clock: Clock,
) -> Gateway:
    owner = f"{getuser()}@{socket.gethostname()}, process {os.getpid()}"
    plant = options.plant or seat.plant
    processes = CommandLines(
        seat, options.loop_arguments(seat.folder, plant, owner), options.planner_arguments(seat.folder)
    )
    host = LoopHost(seat, machine.config_hash, processes)
    planning = Planning(processes, clock)
    twin = _twin(options, machine, layout) if options.twin or machine.twin.on else None
    source = LogSource.for_machine(machine, layout, options.pace, None if twin is None else twin.channels)
    stamp = datetime.now().strftime(STAMP)
    log = None
    if not options.no_log:
        try:
            log = Log(options.log_folder, machine.name, stamp, source, machine.controller.log_cap_bytes)
        except OSError as error:
            text = (
                f"cannot write logs to {options.log_folder}: {error.strerror}; name another folder with --log"
            )
            raise StartFailed(f"{text}, or keep none with --no-log", ExitCode.USAGE) from error
        stamp = log.stamp
    flights = FlightRecorder(options.log_folder, machine.name, stamp, source)
    gateway = Gateway(options, machine, layout, host, planning, broadcast, log, flights, clock)
    if any(motor.thermal_time_s is not None for motor in machine.motors):
        kept = state_dir() / "temperatures" / f"{machine.name}.json"
        simulated = options.pace is Pace.LOCKSTEP
        gateway.temperatures = KeptTemperatures(machine, None if simulated else kept, clock)
    if twin is not None:
        from linkwork.controller.gateway.twin.twin_watch import TwinWatch

        gateway.twin_watch = TwinWatch(gateway, twin)
    return gateway


def _twin(options: GatewayOptions, machine: Machine, layout: RecordLayout) -> DigitalTwin:
    from linkwork.controller.gateway.twin.twin import DigitalTwin
    from linkwork.controller.gateway.twin.twin_channels import (
        TwinChannels,
    )  # for those who want a digital twin

    in_step = options.pace is Pace.LOCKSTEP
    return DigitalTwin(options.twin_arguments(), TwinChannels(machine), layout, in_step=in_step)


def _keys(options: GatewayOptions) -> ServerKeys | None:
    if options.keys is None or options.allowed is None:
        return None
    keys = server_keys(options.keys, options.allowed)
    if keys.notice:
        sys.stderr.write(f"{keys.notice}\n")
    return keys


def _leave_a_processor(chosen: int | None) -> int:
    """Keep this process and the planner off the loop's processor where possible. Returns the loop's."""
    shared, others = share_processors()
    if chosen is None:
        os.sched_setaffinity(0, others)
        return max(shared)
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {chosen} or {chosen})
    return chosen
