"""The command `foxglove`: a running machine on Foxglove's websocket."""

import os
import select
from contextlib import closing

from linkwork.cli.options.start import FoxgloveOptions
from linkwork.client.connection import default_owner
from linkwork.foxglove_live.live_service import LiveAddress, LiveService
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.keys import is_loopback
from linkwork.terminal.failures import DONE, Misuse
from linkwork.terminal.output import complain, emit, say
from linkwork.timing.children import Lifeline
from linkwork.timing.signals import SignalInterrupts

_PORT = 8765
"""Foxglove's usual one."""

_NICENESS = 5
"""Viewers give way to the daemons."""


def foxglove(options: FoxgloveOptions) -> int:
    """Run `linkwork foxglove`."""
    address = LiveAddress(options.machine or options.robot_name, options.endpoint, options.client_keys)
    if not is_loopback(f"tcp://{options.host}:1"):
        if options.operate:
            raise Misuse("--operate is for loopback: there is no password and no encryption beyond it")
        complain(
            f"warning: any computer that reaches {options.host} sees the machine: no password, no encryption"
        )
    owner = options.owner or f"{default_owner()[:48]}/foxglove-{os.getpid()}"
    os.nice(_NICENESS)
    with SignalInterrupts() as interrupts, closing(_served(address, options, owner)) as service:
        service.start()
        if options.as_json:
            emit({"address": service.url} | ({"token": service.token} if options.operate else {}))
        else:
            say(f"foxglove: {service.url}" + (f" token {service.token}" if options.operate else ""))
        poller = select.poll()
        poller.register(interrupts.fd, select.POLLIN)
        if options.lifeline:
            poller.register(Lifeline.from_stdin().fd, 0)
        poller.poll()
    return DONE


def _served(address: LiveAddress, options: FoxgloveOptions, owner: str) -> LiveService:
    """Return the server at the port, or at a free one where none was given and the usual one is taken."""
    if options.port is not None:
        return LiveService(address, options.host, options.port, owner, operate=options.operate)
    try:
        return LiveService(address, options.host, _PORT, owner, operate=options.operate)
    except EndpointError:
        return LiveService(address, options.host, 0, owner, operate=options.operate)
