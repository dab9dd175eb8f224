"""The client object that connection options name."""

from linkwork.cli.connected import ConnectionOptions
from linkwork.client.robot import Robot
from linkwork.terminal.output import remark


def robot_of(options: ConnectionOptions, *, lease: bool = True) -> Robot:
    """Return the client object, a context manager; with a lease, it holds the right to move the machine."""
    return Robot(
        endpoint=options.address, owner=options.owner, keys=options.client_keys, lease=lease, on_wait=remark
    )
