"""Machines of Huang et al. 2000 with six freedoms a body: double pendulum, platform, slider-crank."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from machine import load
from machine.assembly import assembled
from multibody import Body, Mechanism, Point
from multibody.constraints import PointClosure
from multibody.joint_map import hat
from multibody.model import Array
from multibody.orientations import about_z
from multibody.taylor import Connection, Frame, MaximalModel, Pose, TaylorStepper

TORQUE = 10.0


def pendulum() -> Mechanism:
    """The double pendulum as a tree, with its centres of mass as points "1" and "2"."""
    tree = load("double_pendulum").mechanism
    centres = [Point(f"{k}", body.name, body.com_m) for k, body in enumerate(tree.bodies, 1)]
    return Mechanism.build(tree.bodies, tree.joints, tree.gravity_m_s2, centres)


def platform_tree(symmetric: bool) -> Mechanism:
    """The platform as a tree with closures; `symmetric`: motors 2 and 3 are motor 1 turned by 120°."""
    tree = load("platform_3rrs").mechanism
    joints = {joint.name: joint for joint in tree.joints}
    if symmetric:
        first = joints["motor_1"]
        for name, angle in (("motor_2", -2.0 * np.pi / 3.0), ("motor_3", 2.0 * np.pi / 3.0)):
            turn = about_z(angle)
            joints[name] = replace(
                joints[name], at_m=turn @ np.asarray(first.at_m), rotation=turn @ np.asarray(first.rotation)
            )
    return Mechanism.build(
        tree.bodies,
        tuple(joints.values()),
        tree.gravity_m_s2,
        tree.points,
        tree.coordinates,
        tree.constraints,
    )


def assembled_platform(tree: Mechanism) -> Array:
    """q with the motors at zero."""
    start = load("platform_3rrs").initial_q.copy()
    motors = [f"motor_{k}" for k in (1, 2, 3)]
    start[[tree.joint_index(name) for name in motors]] = 0.0
    return assembled(tree, start, np.zeros(tree.nv), motors)[0]


def stepper_of(tree: Mechanism, q: Array, reactions_at: float) -> TaylorStepper:
    """The platform in maximal coordinates, at rest at q, its motors driving with 10 N m."""
    closures = [
        Connection(c.name, "spherical", Frame(c.a.body, c.a.at_m), Frame(c.b.body, c.b.at_m))
        for c in tree.constraints
        if isinstance(c, PointClosure)
    ]
    stepper = TaylorStepper(MaximalModel.of(tree, closures), reactions_at)
    stepper.stand_as(tree, q, np.zeros(tree.nv))
    for k in (1, 2, 3):
        stepper.effort[stepper.model.freedom_index(f"motor_{k}")] = TORQUE
    return stepper


def printed_system(stepper: TaylorStepper) -> Array:
    """The paper's square system at dt → 0, times 2/dt²: a hinge has three moments and three cross rows."""
    model = stepper.model
    places = {body.name: 6 * k for k, body in enumerate(model.bodies)}
    weight = np.zeros((6 * len(places), 6 * len(places)))
    for body in model.bodies:
        axes, k = stepper.pose(body.name).axes, places[body.name]
        weight[k : k + 3, k : k + 3] = np.eye(3) / body.mass_kg
        weight[k + 3 : k + 6, k + 3 : k + 6] = np.linalg.inv(axes @ np.asarray(body.inertia_kg_m2) @ axes.T)
    rows, wrenches = [], []
    for c in model.connections:
        point, turn, cross = (np.zeros((3, len(weight))) for _ in range(3))
        direction = {f: _axes(stepper, f)[:, 2] for f in (c.a, c.b)}
        for sign, own, other in ((-1.0, c.a, c.b), (1.0, c.b, c.a)):
            if own.body not in places:
                continue
            k = places[own.body]
            lever = _lever(stepper, own)
            point[:, k : k + 3], point[:, k + 3 : k + 6] = sign * np.eye(3), -sign * hat(lever)
            turn[:, k + 3 : k + 6] = sign * np.eye(3)
            cross[:, k + 3 : k + 6] = -sign * hat(direction[other]) @ hat(direction[own])
        rows += [point] if c.kind == "spherical" else [point, cross]
        wrenches += [point] if c.kind == "spherical" else [point, turn]
    return np.asarray(np.vstack(rows) @ weight @ np.vstack(wrenches).T)


def _axes(stepper: TaylorStepper, frame: Frame) -> Array:
    return (
        np.asarray(stepper.pose(frame.body).axes @ np.asarray(frame.rotation))
        if frame.body != "world"
        else np.asarray(frame.rotation)
    )


def _lever(stepper: TaylorStepper, frame: Frame) -> Array:
    com = next(np.asarray(body.com_m) for body in stepper.model.bodies if body.name == frame.body)
    return np.asarray(stepper.pose(frame.body).axes @ (np.asarray(frame.at_m) - com))


def crank(angle: float, speed: float, reactions_at: float) -> TaylorStepper:
    """The pendulum's bars as crank and rod of a slider-crank; upright, at π/2, its closure has lost a row."""
    bars = pendulum()
    along, length, rest = (1.0, 0.0, 0.0), 1.22, np.zeros(3)
    bodies = [
        *(replace(body, inertia_kg_m2=np.diag([0.1, 1.36, 1.36])) for body in bars.bodies),
        Body("slider", 1.0, rest, 0.1 * np.eye(3)),
    ]
    joints = [
        Connection("bearing", "revolute", Frame(), Frame("upper")),
        Connection("pin", "cylindrical", Frame("upper", (length, 0, 0)), Frame("lower")),
        Connection("ball", "spherical", Frame("lower", (length, 0, 0)), Frame("slider")),
        Connection(
            "guide", "prismatic", Frame.along("world", rest, along), Frame.along("slider", rest, along)
        ),
    ]
    stepper = TaylorStepper(MaximalModel.build(bodies, joints, (0.0, 0.0, 0.0)), reactions_at)
    up, omega = about_z(angle), np.array([0.0, 0.0, speed])
    tip = length * up[:, 0]
    stepper.place("upper", Pose(rest, up, rest, omega))
    stepper.place("lower", Pose(tip, up.T, np.cross(omega, tip), -omega))
    slide = np.array([2.0 * tip[0], 0.0, 0.0])
    stepper.place("slider", Pose(slide, np.eye(3), np.array([-2.0 * tip[1] * speed, 0.0, 0.0]), rest))
    return stepper
