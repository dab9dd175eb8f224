"""A delta robot picks parts from a running belt: python belt_picks.py 5

Before: linkwork up delta_gripper --detach
"""

import sys

from linkwork import PassingParts, RequestError, Robot

REST = {"velocities": [0, 0, 0], "accelerations": [0, 0, 0]}


def pick(part, speed, x, y):
    """Meet the part in the frame of the belt, grip it, lift it, carry it to x, y, and release it."""
    here, on_belt = [part.centre_m, part.signals["part_across"]], {**REST, "in": "belt"}
    return {
        "coordinates": ["x", "y", "z"],
        "points": [
            {"time_from_start_s": 0.25, "positions": [*here, -0.46], **on_belt},
            {"time_from_start_s": 0.35, "positions": [*here, -0.49], **on_belt},
            {"time_from_start_s": 0.40, "positions": [*here, -0.49], **on_belt},
            {"time_from_start_s": 0.50, "positions": [*here, -0.46], **on_belt},
            {"time_from_start_s": 0.80, "positions": [x, y, -0.45], **REST},
            {"time_from_start_s": 0.90, "positions": [x, y, -0.4795], **REST},
            {"time_from_start_s": 0.95, "positions": [x, y, -0.4795], **REST},
            {"time_from_start_s": 1.05, "positions": [x, y, -0.45], **REST},
        ],
        "events": [
            {"at": {"time_s": 0.38}, "set": {"gripper": True}},
            {"at": {"time_s": 0.93}, "set": {"gripper": False}},
        ],
        "frame": {"speed_m_s": [0.8 * speed, 1.2 * speed]},
    }


with Robot() as robot:
    robot.enable()
    robot.set(belt_speed=0.2)
    robot.move(x=-0.05, y=-0.02, z=-0.44)
    parts = PassingParts(robot, "part_seen", "belt_position", at_m=-0.3)
    placed = 0
    while placed < int(sys.argv[1]):
        part = parts.next()
        while (belt := robot.state["signals"]["belt_position"]) + part.centre_m < -0.18:
            robot.pass_time(0.005)
        speed = part.speed_since(belt, robot.state["time_s"])
        x, y = 0.025 * (placed % 8) - 0.09, 0.02 + 0.025 * (placed // 8)
        try:
            robot.send(pick(part, speed, x, y)).wait()
        except RequestError as refused:  # too far down the belt, or planned too late: it passes by
            print("a part passed by:", refused.message)
            continue
        placed += 1
        print("part", placed, "placed")
