"""The loop process: sets itself up for real time, then runs ticks only. A tick is read → step → write."""

import sys

from linkwork.controller.configuration import configured
from linkwork.controller.controller_options import LoopOptions
from linkwork.controller.exchange.order_socket import OrderInbox
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.controller.loop.loop import Loop
from linkwork.controller.loop.pacing import PACES
from linkwork.protocol.codes import ExitCode, Pace
from linkwork.protocol.endpoints import MachineEndpoints, claim
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.keys import client_keys
from linkwork.protocol.sockets import DeviceClient
from linkwork.timing.children import Lifeline, ignore_interrupts
from linkwork.timing.realtime import RealTimeRefused, set_up

FIFO_PRIORITY = 50


def loop(options: LoopOptions) -> int:
    """Run the loop process; print why it cannot start. Returns its exit status."""
    try:
        return run(options)
    except RealTimeRefused as error:
        text, status = str(error), ExitCode.REFUSED
    except EndpointError as error:
        text, status = f"--plant: {error}", ExitCode.USAGE
    except OSError as error:  # no room in the runtime folder
        text, status = f"{error.filename or 'the loop'}: {error.strerror or error}", ExitCode.USAGE
    sys.stderr.write(f"{text.rstrip()}\n")
    return int(status)


def run(options: LoopOptions) -> int:
    """The life of the loop process. Returns its exit status."""
    keys = None
    if options.keys is not None and options.plant_key is not None:
        keys = client_keys(options.keys, options.plant_key)
    ignore_interrupts()
    seat = MachineEndpoints(options.seat)
    machine = configured(options.config, options.law)
    in_step = options.pace is Pace.LOCKSTEP
    with claim(seat.folder, "loop", f"loop of {machine.name}"):
        obtained = set_up(
            "ignore" if in_step else options.realtime,
            cpus=None if options.cpu is None else (options.cpu,),
            fifo_priority=None if in_step else FIFO_PRIORITY,
            lock_memory=not in_step,
        )
        shared = Shared.create(seat.shared_path, layout_for(machine), machine.config_hash, lockstep=in_step)
        inbox = OrderInbox(seat.orders_path)
        client = DeviceClient(options.plant, keys)
        try:
            link = DeviceLink(client, machine, options.pace, options.owner)
            loop = Loop(machine, link, shared, inbox, Lifeline.from_stdin(), options.pace)
            obtained.freeze_garbage()
            shared.text = "; ".join((obtained.line, *obtained.warnings))
            loop.look_around()
            PACES[options.pace](loop, client)
            link.lose("the controller was shut down")
            loop.timing.close()
        finally:
            client.close(flush_ms=100)
            inbox.close()
            seat.shared_path.unlink(missing_ok=True)
            obtained.close()
    return 0
