"""A closed machine in Drake's discrete solver (SAP): joints of a tree, and ball constraints that close it.

SAP holds ball constraints nearly rigidly: closures open by a small amount under load. A hinge that closes a
loop is a ball, and a second one on its axis where its direction counts. A body that a guide holds at a height
is connected to a slide, which takes half of the mass at the guided point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from closed_for_peers import NotCarried, Tie, hinges, moving_frames, placed, refuse_unknown, ties

from linkwork import Machine
from linkwork.arrays import Floats
from linkwork.multibody.model import Body

ON_AXIS_M = 0.1
"""Distance between the two balls of a hinge."""
HEIGHT_ALONE = (0, 1, 0, 0, 0, 0)
_OFF_DIAGONAL = ((0, 1), (0, 2), (1, 2))


def in_drake(machine: Machine, step_s: float, duration_s: float) -> Callable[[], Floats]:
    """Return a call that simulates the machine with Drake and returns the angles of its hinges (rad)."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
    from pydrake.multibody.tree import (
        BallRpyJoint,
        FixedOffsetFrame,
        PrismaticJoint,
        RevoluteJoint,
        SpatialInertia,
        UnitInertia,
    )
    from pydrake.systems.analysis import Simulator

    mechanism = machine.plant_mechanism
    refuse_unknown(mechanism)
    plant = MultibodyPlant(step_s)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector(np.asarray(mechanism.gravity_m_s2))
    closures, start = list(ties(machine)), moving_frames(machine)
    guided = {tie.b: tie for tie in closures if tie.a == "world" and tie.axes == HEIGHT_ALONE}
    known: dict[str, Any] = {"world": plant.world_body()}
    halves = {
        body.name: _half_mass(body, guided[body.name]) for body in mechanism.bodies if body.name in guided
    }
    for body in mechanism.bodies:
        mass, centre = halves.get(body.name, body.mass_kg), np.asarray(body.com_m)
        about_origin = np.asarray(body.inertia_kg_m2) / mass + float(centre @ centre) * np.eye(3)
        unit = about_origin - np.outer(centre, centre)
        moments = *np.diag(unit), *(unit[i, j] for i, j in _OFF_DIAGONAL)
        inertia = SpatialInertia(mass, centre, UnitInertia(*(float(moment) for moment in moments)))
        known[body.name] = plant.AddRigidBody(body.name, inertia)

    begun: list[Callable[[Any], None]] = []
    turning = []
    for joint in mechanism.joints:
        parent, child = start[joint.parent], start[joint.child]
        before, pose = np.asarray(joint.rotation), child.place[:3, :3]
        rate = parent.place[:3, :3] @ before
        rate = rate.T @ (child.angular_rad_s - parent.angular_rad_s)
        if joint.kind == "spherical":  # its angles begin at zero
            turned = parent.place[:3, :3].T @ pose
            rate = turned.T @ before @ rate
            before = turned
        place = RigidTransform(RotationMatrix(before), np.asarray(joint.at_m))
        frame = plant.AddFrame(
            FixedOffsetFrame(f"before_{joint.name}", known[joint.parent].body_frame(), place)
        )
        ends = joint.name, frame, known[joint.child].body_frame()
        if joint.kind == "spherical":
            ball = plant.AddJoint(BallRpyJoint(*ends))
            begun.append(lambda at, ball=ball, rate=rate: ball.set_angular_velocity(at, rate))
        else:
            hinge = plant.AddJoint(RevoluteJoint(*ends, joint.axis))
            angle = float(machine.initial_q[mechanism.joint_index(joint.name)])
            along = float(np.asarray(joint.axis) @ rate)
            begun.append(lambda at, hinge=hinge, angle=angle: hinge.set_angle(at, angle))
            begun.append(lambda at, hinge=hinge, along=along: hinge.set_angular_rate(at, along))
            turning.append(hinge)

    for tie in closures:
        if tie.b in guided:
            point = tie.frame_b[:3, 3]
            own = SpatialInertia(halves[tie.b], np.zeros(3), UnitInertia.SolidSphere(1e-3))
            other = plant.AddRigidBody(f"slide_{tie.name}", own)
            floor = plant.AddFrame(
                FixedOffsetFrame(f"rail_{tie.name}", plant.world_frame(), RigidTransform(tie.frame_a[:3, 3]))
            )
            slide = plant.AddJoint(
                PrismaticJoint(f"slide_{tie.name}", floor, other.body_frame(), [1.0, 0.0, 0.0])
            )
            moving = start[tie.b]
            arm = moving.place[:3, :3] @ (point - np.asarray(_named(mechanism.bodies, tie.b).com_m))
            speed = float((moving.centre_m_s + np.cross(moving.angular_rad_s, arm))[0])
            x = float((moving.place[:3, :3] @ point + moving.place[:3, 3] - tie.frame_a[:3, 3])[0])
            begun.append(lambda at, slide=slide, x=x: slide.set_translation(at, x))
            begun.append(lambda at, slide=slide, speed=speed: slide.set_translation_rate(at, speed))
            plant.AddBallConstraint(other, np.zeros(3), known[tie.b], point)
            continue
        if tie.a == "world":  # a ball constraint cannot name the world
            known["world"] = plant.AddRigidBody(
                f"ground_{tie.name}", SpatialInertia.SolidSphereWithMass(1.0, 0.1)
            )
            plant.WeldFrames(plant.world_frame(), known["world"].body_frame())
        for beside_m in (0.0, ON_AXIS_M) if any(tie.axes[3:]) else (0.0,):
            beside = placed((0.0, 0.0, beside_m))
            a, b = ((frame @ beside)[:3, 3] for frame in (tie.frame_a, tie.frame_b))
            plant.AddBallConstraint(known[tie.a], a, known[tie.b], b)
    plant.Finalize()
    assert len(turning) == len(hinges(mechanism))

    def run() -> Floats:
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        for begin in begun:
            begin(context)
        simulator.AdvanceTo(duration_s)
        return np.array([hinge.get_angle(context) for hinge in turning])

    return run


def _half_mass(body: Body, tie: Tie) -> float:
    """Return half of the mass of a body that is a point mass where a guide holds it."""
    if not np.array_equal(np.asarray(body.com_m), tie.frame_b[:3, 3]) or np.any(body.inertia_kg_m2):
        raise NotCarried(f"{tie.name}: no translation of a guide unless it holds a point mass")
    return 0.5 * body.mass_kg


def _named(bodies: tuple[Body, ...], name: str) -> Body:
    return next(body for body in bodies if body.name == name)
