"""Bodies that are fixed to each other, as one rigid body each: its mass, and where its members sit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.model import (
    WORLD,
    Body,
    ModelError,
)
from linkwork.multibody.taylor.connections import Connection, JointFrame


@dataclass(frozen=True)
class RigidPlacement:
    """Place of a body: rigid body (-1: the world); in its axes, the axes, and origin from its centre."""

    rigid: int
    axes: Floats
    origin: Floats


@dataclass(frozen=True)
class Rigid:
    """A rigid body: its members, mass (kg), inertia about its centre (kg m²); axes are the first member's."""

    members: tuple[str, ...]
    mass: float
    inertia: Floats


def rigid_bodies(
    bodies: Sequence[Body], connections: Sequence[Connection]
) -> tuple[list[Rigid], dict[str, RigidPlacement]]:
    """All rigid bodies but the world, and the seat of every body. Raises ModelError."""
    welds = [connection for connection in connections if connection.kind == "fixed"]
    by_name = {body.name: body for body in bodies}
    seats: dict[str, RigidPlacement] = {}
    used: set[str] = set()
    rigids: list[Rigid] = []
    for lead in [WORLD, *by_name]:
        if lead in seats:
            continue
        poses = _cluster(lead, welds, used)
        if lead == WORLD:
            seats |= {name: RigidPlacement(-1, axes, origin) for name, (axes, origin) in poses.items()}
            continue
        mass, centre, inertia = _sum(poses, by_name)
        rigids.append(Rigid(tuple(poses), mass, inertia))
        _refuse_weightless(rigids[-1])
        for name, (axes, origin) in poses.items():
            seats[name] = RigidPlacement(len(rigids) - 1, axes, origin - centre)
    return rigids, seats


def _cluster(lead: str, welds: Sequence[Connection], used: set[str]) -> dict[str, tuple[Floats, Floats]]:
    """Axes and origin, in the lead's frame, of everything that is fixed to it."""
    poses = {lead: (np.eye(3), np.zeros(3))}
    waiting = [lead]
    while waiting:
        name = waiting.pop()
        for weld in welds:
            if weld.name in used or name not in (weld.a.body, weld.b.body):
                continue
            used.add(weld.name)
            here, there = (weld.a, weld.b) if name == weld.a.body else (weld.b, weld.a)
            if there.body in poses:
                raise ModelError("these bodies are fixed to each other already", ("joints", weld.name))
            poses[there.body] = _across(poses[name], here, there)
            waiting.append(there.body)
    return poses


def _across(pose: tuple[Floats, Floats], here: JointFrame, there: JointFrame) -> tuple[Floats, Floats]:
    """Pose of the body of `there`, whose frame coincides with `here` on a body of the given pose."""
    axes = pose[0] @ np.asarray(here.rotation) @ np.asarray(there.rotation).T
    return axes, pose[1] + pose[0] @ np.asarray(here.at_m) - axes @ np.asarray(there.at_m)


def _sum(poses: dict[str, tuple[Floats, Floats]], by_name: dict[str, Body]) -> tuple[float, Floats, Floats]:
    """Mass, centre of mass and inertia about it, in the lead's axes."""
    placed = [(by_name[name], axes, origin + axes @ np.asarray(by_name[name].com_m))
              for name, (axes, origin) in poses.items()]  # fmt: skip
    mass = sum(body.mass_kg for body, _, _ in placed)
    centre = sum((body.mass_kg * c for body, _, c in placed), np.zeros(3)) / (mass if mass > 0.0 else 1.0)
    inertia = np.zeros((3, 3))
    for body, axes, c in placed:
        d = c - centre
        inertia += axes @ np.asarray(body.inertia_kg_m2) @ axes.T
        inertia += body.mass_kg * (float(d @ d) * np.eye(3) - np.outer(d, d))
    return mass, centre, inertia


def _refuse_weightless(rigid: Rigid) -> None:
    moments = np.linalg.eigvalsh(rigid.inertia)
    if rigid.mass > 0.0 and moments[0] > 1e-9 * moments[2]:
        return
    lack = f"no inertia about some axis (least moment {moments[0]:.3g} kg m²)"
    if rigid.mass <= 0.0:
        lack = "no mass"
    raise ModelError(
        f"the Taylor stepper moves every body by its own inertia, and this one has {lack}: "
        "give it some, fix it to another body, or use another formulation",
        ("bodies", rigid.members[0]),
    )
