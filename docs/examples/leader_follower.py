"""A machine moved by hand leads another one in x and y: python leader_follower.py five_bar scara

Both have plant and controller running. Ctrl-C stops the follower on the way it is going.
"""

import sys
import time
from contextlib import suppress

from linkwork import Robot

with suppress(KeyboardInterrupt), Robot(sys.argv[1]) as leader, Robot(sys.argv[2]) as follower:
    leader.enable()
    follower.enable()
    own, first = follower.state["coordinates"], {}
    with follower.stream("x", "y", rate_hz=100) as stream:
        leader.law("float")  # gravity is compensated: move it by hand
        while True:
            state = leader.state
            there = state["coordinates"]
            first = first or there
            wanted = {name: own[name] + there[name] - first[name] for name in "xy"}
            stream.put(**wanted, time_s=state["time_s"])
            time.sleep(0.01)
