"""Limits that keep a streamed reference from its target, as numbers."""

from enum import IntEnum


class HeldBack(IntEnum):
    """Limits that keep a streamed reference from its target."""

    NOTHING = 0
    POSITION = 1
    """Position limit of a streamed coordinate."""
    VELOCITY = 2
    ACCELERATION = 3
    JERK = 4
    JOINT_POSITION = 5
    """Position limit of another joint."""
    JOINT_VELOCITY = 6
    REGION = 7
    """A point would leave its box in the section `workspace`."""
    POINT_SPEED = 8
    SINGULAR = 9
    """A pose in which the streamed coordinates do not determine the machine's motion."""
    LEVERAGE = 10
    """A pose in which the motors cannot control one motion."""
    EFFORT = 11
    """A motor would need more than its largest effort."""
