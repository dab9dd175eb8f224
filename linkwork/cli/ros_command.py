"""`linkwork ros`: the ROS 2 node of a running machine."""

from __future__ import annotations

import os

from linkwork.cli.options.start import RosOptions
from linkwork.client.connection import default_owner
from linkwork.client.robot import Robot
from linkwork.ros.machine_node import MachineNode
from linkwork.terminal.failures import DONE
from linkwork.terminal.output import emit, remark, say


def ros(options: RosOptions) -> int:
    """Run `linkwork ros`."""
    owner = options.owner or f"{default_owner()[:48]}/ros-{os.getpid()}"  # each node has its own lease
    robot, watch = (
        Robot(
            endpoint=options.address, owner=owner, keys=options.client_keys, lease=False, on_wait=remark
        )
        for _ in range(2)
    )  # fmt: skip
    node = MachineNode(robot, watch, options.ros_args, options.controller)
    interfaces = node.interfaces
    for package, names in interfaces.missing.items():
        node.log.warning(f"the package {package} is missing: without {', '.join(names)}")
    if options.as_json:
        emit({"node": node.node.get_fully_qualified_name(), "interfaces": interfaces.names,
              "left_out": interfaces.missing})  # fmt: skip
    else:
        say(f"ros: {node.node.get_fully_qualified_name()}: {', '.join(interfaces.names)}")
    node.run()
    return DONE
