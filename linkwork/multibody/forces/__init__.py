"""Forces given by the description: springs, spring-dampers, applied forces and torques."""

from linkwork.multibody.forces.elements import (
    AboutAxis,
    AlongDirection,
    AppliedForce,
    BetweenPoints,
    ForceElement,
    Line,
    OnJoint,
    Spring,
    pushed_bodies,
)

__all__ = [
    "AboutAxis",
    "AlongDirection",
    "AppliedForce",
    "BetweenPoints",
    "ForceElement",
    "Line",
    "OnJoint",
    "Spring",
    "pushed_bodies",
]
