"""The loop process: sets itself up for real time, then runs ticks only. A tick is read → step → write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linkwork.controller.configuration import configured
from linkwork.controller.exchange.order_socket import OrderInbox
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.controller.loop.loop import Loop
from linkwork.controller.loop.pacing import PACES
from linkwork.protocol.codes import Pace
from linkwork.protocol.endpoints import MachineEndpoints, claim
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.sockets import DeviceClient
from linkwork.timing.children import Lifeline, ignore_interrupts
from linkwork.timing.realtime import Policy, set_up

FIFO_PRIORITY = 50


@dataclass(frozen=True)
class LoopOptions:
    """Options that the gateway passes to the loop on its command line."""

    config: str
    seat: Path
    plant: str
    pace: Pace
    owner: str
    law: str | None = None
    realtime: Policy = "warn"
    cpu: int | None = None
    keys: ClientKeys | None = None


def run(options: LoopOptions) -> int:
    """The life of the loop process. Returns its exit status."""
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
        client = DeviceClient(options.plant, options.keys)
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
