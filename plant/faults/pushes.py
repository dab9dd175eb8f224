"""Pushes on bodies: each moving body of a plant with faults has a force and a torque of 0 that faults set."""

from dataclasses import replace
from typing import Final

import numpy as np

from linkwork.machine import Machine
from linkwork.multibody.forces import AboutAxis, AlongDirection, AppliedForce
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Point
from linkwork.multibody.tree.link_tree import links_of

_PLACE, _FORCE, _TORQUE = "{} (place)", "{} (force)", "{} (torque)"
_AXIS: Final = (0.0, 0.0, 1.0)


def pushable(machine: Machine) -> Machine:
    """Return the machine with such forces in its plant; the motion is that without them."""
    return replace(machine, plant_mechanism=pushable_mechanism(machine.plant_mechanism))


def pushable_mechanism(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism with such forces."""
    bodies = moving_bodies(mechanism)
    points = [Point(_PLACE.format(name), name, (0.0, 0.0, 0.0)) for name in bodies]
    forces = [
        AppliedForce(_FORCE.format(name), AlongDirection(_PLACE.format(name), _AXIS)) for name in bodies
    ]
    torques = [AppliedForce(_TORQUE.format(name), AboutAxis(name, _AXIS)) for name in bodies]
    return mechanism.changed(
        points=[*mechanism.points, *points], elements=[*mechanism.elements, *forces, *torques]
    )


def is_pushable(mechanism: Mechanism) -> bool:
    """Return whether a mechanism has them."""
    return any(point.name == _PLACE.format(point.body) for point in mechanism.points)


def moving_bodies(mechanism: Mechanism) -> list[str]:
    """Return the bodies that can move."""
    _, seats, _ = links_of(mechanism.bodies, mechanism.joints)
    return [body.name for body in mechanism.bodies if seats[body.name].link >= 0]


def pushed(
    mechanism: Mechanism, body: str, force: list[float], torque: list[float], at_m: list[float]
) -> Mechanism:
    """Return the mechanism with a push of a body: force (3; N) and torque (3; N m) in the world's axes, the
    force at a place of the body (3; m).
    """
    loads = {_FORCE.format(body): force, _TORQUE.format(body): torque}
    elements = []
    for element in mechanism.elements:
        load = np.array(loads.get(element.name, (0.0, 0.0, 0.0)))
        size = float(np.linalg.norm(load))
        if size > 0.0 and isinstance(element, AppliedForce):
            line = element.line
            if isinstance(line, AlongDirection):
                line = replace(line, direction=load / size)
            elif isinstance(line, AboutAxis):
                line = replace(line, axis=load / size)
            element = replace(element, line=line, value=size)
        elements.append(element)
    place = _PLACE.format(body)
    points = [replace(point, at_m=at_m) if point.name == place else point for point in mechanism.points]
    return mechanism.changed(points=points, elements=elements)
