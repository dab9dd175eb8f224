"""The loop process: it sets itself up for real time, then does nothing but ticks. A tick is read → step →
write.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from controller.configuration import LawName, configured
from controller.fresh import say_when_compiling
from controller.loop.device import DeviceLink
from controller.loop.loop import Loop
from controller.loop.model import declare
from controller.loop.paces import PACES
from controller.orders import OrderInbox
from controller.records import layout_for
from controller.shared import Shared
from multibody.compiling import warm
from protocol.codes import Pace
from protocol.endpoints import Seat, claim
from protocol.keys import ClientKeys
from protocol.sockets import DeviceClient
from timing.children import Lifeline, ignore_interrupts
from timing.realtime import Policy, set_up

FIFO_PRIORITY = 50


@dataclass(frozen=True)
class LoopOptions:
    """What the gateway tells the loop on its command line."""

    config: str
    seat: Path
    plant: str
    pace: Pace
    owner: str
    law: LawName | None = None
    realtime: Policy = "warn"
    cpu: int | None = None
    keys: ClientKeys | None = None


def run(options: LoopOptions) -> int:
    """The life of the loop process. Returns its exit status."""
    ignore_interrupts()
    seat = Seat(options.seat)
    say_when_compiling("the loop's kernels")
    machine = configured(options.config, options.law)
    in_step = options.pace is Pace.LOCKSTEP
    with claim(seat.folder, "loop", f"loop of {machine.name}"):
        declare(machine)
        warm()  # before the real-time priority, at which it would starve the plant on the same processor
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
        finally:
            client.close(flush_ms=100)
            inbox.close()
            obtained.close()
    return 0
