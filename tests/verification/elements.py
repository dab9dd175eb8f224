"""Joints as chains of the elements that other libraries have: turns, slides, screws and balls."""

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Joint, Mechanism


class NotExpressible(ValueError):
    """A joint or closure that the other library does not have."""


@dataclass(frozen=True)
class Element:
    """One element, from the parent to the child; `place` counts the joint's degrees of freedom."""

    kind: str
    place: int
    axis: Floats
    pitch: float = 0.0


def elements_of(joint: Joint) -> list[Element]:
    """The chain of a joint from parent to child, after docs/machine_file/bodies_and_joints.md."""
    z = np.asarray(joint.axis, dtype=float)
    unit = np.eye(3)
    if joint.kind == "fixed":
        return []
    if joint.kind == "revolute":
        return [Element("turn", 0, z)]
    if joint.kind == "prismatic":
        return [Element("slide", 0, z)]
    if joint.kind == "screw":
        return [Element("screw", 0, z, joint.pitch_m_per_rad)]
    if joint.kind == "cylindrical":
        return [Element("slide", 1, z), Element("turn", 0, z)]
    if joint.kind == "universal":
        return [Element("turn", 1, np.asarray(joint.second_axis)), Element("turn", 0, z)]
    if joint.kind in ("spherical", "free"):
        first = 3 if joint.kind == "free" else 0
        slides = [Element("slide", k, unit[k]) for k in range(first)]
        if joint.coordinates == "quaternion":
            return [*slides, Element("ball", first, unit[2])]
        return [*slides, *(Element("turn", first + k, unit[k]) for k in (2, 1, 0))]
    if joint.kind == "simple" and np.array_equal(np.asarray(joint.columns), np.eye(6)[:3]):
        return [Element("ball", 0, unit[2])]
    if joint.kind == "compound":
        columns = np.asarray(joint.columns)
        return [_column(columns[k], k) for k in range(len(columns) - 1, -1, -1)]
    raise NotExpressible(f"{joint.name}: {joint.kind}")


def _column(column: Floats, place: int) -> Element:
    w, u = column[:3], column[3:]
    if np.linalg.norm(w) == 0.0 and abs(np.linalg.norm(u) - 1.0) < 1e-12:
        return Element("slide", place, u)
    if abs(np.linalg.norm(w) - 1.0) < 1e-12 and np.linalg.norm(np.cross(w, u)) < 1e-12:
        return Element("screw" if u.any() else "turn", place, w, float(w @ u))
    raise NotExpressible(f"column {column.tolist()}")


def first_dof(mechanism: Mechanism) -> dict[str, int]:
    """Where the degrees of freedom of each joint begin in v; those of a joint follow each other."""
    places, at = {}, 0
    for joint in mechanism.joints:
        places[joint.name] = at
        at += sum(3 if element.kind == "ball" else 1 for element in elements_of(joint))
    return places


def scalars(mechanism: Mechanism) -> dict[str, int]:
    """Where in q the scalar part of each joint's quaternion is."""
    found: dict[str, int] = {}
    for joint in mechanism.joints:
        if any(element.kind == "ball" for element in elements_of(joint)):
            found[joint.name] = mechanism.nv + len(found)
    return found
