"""Values of a description that no machine has, or that look wrong: inertias, masses, limits, units."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.robot_model import TURNS, ImportProblem, RobotModel, SourceJoint, SourceLink

_LONGEST_M, _HEAVIEST_KG = 20.0, 5e3
"""A robot beyond these is taken for one in millimetres, or in grams."""
_GYRATION = 10.0
"""Radius of gyration in robot sizes, beyond which an inertia is in other units."""
_MOST_TURNS_RAD = 20.0
_ROTOR = 1e-10
"""Share of the robot's mass that a rotor without mass gets."""


def examine(robot: RobotModel, *, repair: bool) -> list[str]:
    """Return remarks on a robot. With `repair`, correct inertias. Raises ImportProblem."""
    remarks: list[str] = []
    root = robot.roots()[0] if len(robot.roots()) == 1 else ""
    for name, link in robot.links.items():
        if name != root:
            remarks += _inertia(robot, link, repair=repair)
        elif link.mass > 0.0:
            remarks.append(f"{name} is the ground: its mass of {link.mass:g} kg does not move")
    several = [
        joint
        for joint in robot.joints.values()
        if joint.type not in (*TURNS, "prismatic", "fixed")
        and joint.lower is not None
        and joint.upper is not None
        and joint.lower < joint.upper
    ]
    remarks += [f"the limit of {joint.name}, a {joint.type} joint, is left out" for joint in several]
    return [*remarks, *_units(robot, root)]


def _inertia(robot: RobotModel, link: SourceLink, *, repair: bool) -> Iterator[str]:
    inertia = 0.5 * (link.inertia + link.inertia.T)
    moments, axes = np.linalg.eigh(inertia)
    largest = float(np.abs(moments).max())
    bad = ""
    if moments[0] < -1e-9 * largest:
        bad = f"a negative principal moment, {moments[0]:.4g} kg m²"
    elif moments[2] > (moments[0] + moments[1]) * (1.0 + 1e-6):
        bad = f"a principal moment of {moments[2]:.4g} kg m², more than the others together"
    if link.mass == 0.0 and largest > 0.0:
        carrier = robot.carrier(link.name)
        if carrier is not None and carrier.type == "floating":  # a link without mass cannot float
            remedy = "give it a mass, or --base fixed if the robot stands on it"
            text = f"link {link.name!r} has inertia, but no mass"
            raise ImportProblem(robot.file, link.line, text, remedy)
        link.mass = max(1e-12, _ROTOR * sum(each.mass for each in robot.links.values()))
        yield f"{link.name} has inertia, but no mass: a rotor, which gets a mass of {link.mass:.3g} kg"
    if not bad:
        return
    mended = mended_moments(moments)
    made = ", ".join(f"{each:.4g}" for each in mended)
    if not repair:
        link.unphysical = True
        yield (
            f"NO BODY HAS THE INERTIA OF {link.name}: {bad}; it is used as it is "
            f"(--repair makes the moments {made} kg m²)"
        )
        return
    link.inertia = axes @ np.diag(mended) @ axes.T
    yield f"the inertia of {link.name} was mended: it had {bad}; its moments are {made} kg m² now"


def mended_moments(moments: Floats) -> Floats:
    """Return the principal moments (3, rising) with the two smaller ones raised as far as a body needs."""
    mended = np.maximum(moments, 0.0)
    lift = (2.0 * mended[2] - mended.sum()) / 2.0
    return np.asarray(np.maximum(mended, lift * np.array([1.0, 1.0, 0.0])))


def _units(robot: RobotModel, root: str) -> Iterator[str]:
    """Sizes that no robot has: millimetres, grams, degrees."""
    lengths = [float(np.abs(each.pose.at).max()) for each in robot.joints.values()]
    lengths += [float(np.abs(each.com).max()) for each in robot.links.values()]
    size = max(lengths, default=0.0)
    if size > _LONGEST_M:
        yield f"UNITS: lengths go up to {size:.4g} m; if they are millimetres, divide them by 1000"
    rotor = 2.0 * _ROTOR * sum(link.mass for link in robot.links.values())
    moving = {name: link for name, link in robot.links.items() if name != root and link.mass > rotor}
    heavy = [link for link in moving.values() if link.mass > _HEAVIEST_KG]
    if heavy:
        yield f"UNITS: {heavy[0].name} has {heavy[0].mass:.4g} kg; if these are grams, divide masses by 1000"
    wide = [
        link
        for link in moving.values()
        if size > 0.0
        and math.sqrt(float(np.abs(link.inertia).max()) / link.mass) > _GYRATION * max(size, 0.1)
    ]
    if wide:
        gyration = math.sqrt(float(np.abs(wide[0].inertia).max()) / wide[0].mass)
        yield (
            f"UNITS: the inertia of {wide[0].name} is that of masses {gyration:.4g} m from their centre, "
            f"in a robot of {size:.3g} m; it may be in kg mm² or g mm²"
        )
    turning = [
        joint
        for joint in robot.joints.values()
        if joint.type in TURNS and max(abs(joint.lower or 0.0), abs(joint.upper or 0.0)) > _MOST_TURNS_RAD
    ]
    if turning:
        most = max(abs(turning[0].lower or 0.0), abs(turning[0].upper or 0.0))
        yield f"UNITS: {turning[0].name} may turn by {most:.4g} rad; if limits are degrees, convert them"


def missing_limits(robot: RobotModel) -> dict[str, list[str]]:
    """Return driven joints without a limit, by the kind of limit that is missing."""
    driven = [robot.joints[name] for name in robot.motors or () if name in robot.joints]
    kinds: dict[str, Callable[[SourceJoint], bool]] = {
        "position": lambda joint: joint.type != "continuous" and (joint.lower is None or joint.upper is None),
        "speed": lambda joint: not joint.velocity,
        "effort": lambda joint: not joint.effort,
    }
    found = {kind: [joint.name for joint in driven if lacks(joint)] for kind, lacks in kinds.items()}
    return {kind: names for kind, names in found.items() if names}


def massless(robot: RobotModel) -> list[str]:
    """Return moving links without mass."""
    return [
        name for name, link in robot.links.items() if robot.carrier(name) is not None and link.mass == 0.0
    ]
