"""Machines of Huang et al. 2000 with six coordinates a body: double pendulum, platform, slider-crank."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody import Body, Mechanism, Point, functions
from linkwork.multibody.constraints import PointClosure
from linkwork.multibody.kernels.layout import ORDINARY
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree.orientations import from_rotation_vector, hat
from linkwork.offline.taylor import Connection, JointFrame, MaximalModel, Pose, TaylorStepper

TORQUE = 10.0


def pendulum() -> Mechanism:
    """The double pendulum as a tree, with its centres of mass as points "1" and "2"."""
    tree = load("double_pendulum").mechanism
    centres = [Point(f"{k}", body.name, body.com_m) for k, body in enumerate(tree.bodies, 1)]
    return tree.bare(centres)


class Table(NamedTuple):
    """Fig. 10 (c), (d): positions, axes and centres of mass in the initial pose, world axes, leg by leg (m).

    As printed, but with the positions of the motors J7 and J8 exchanged.
    """

    balls: Floats
    knees: Floats
    knee_axes: Floats
    motors: Floats
    motor_axes: Floats
    leg_centres: Floats
    rotor_centres: Floats


TABLE = Table(
    np.array([[0, 0.61, 0.71], [0.53, -0.31, 0.71], [-0.53, -0.31, 0.71]]),
    np.array([[0, 0.29, 0], [0.25, -0.14, 0], [-0.25, -0.14, 0]]),
    np.array([[1, 0, 0], [-0.5, -0.87, 0], [-0.5, 0.867, 0]]),
    np.array([[0, 0.39, -0.03], [0.33, -0.19, -0.03], [-0.33, -0.19, -0.03]]),
    np.array([[0, -0.97, 0.26], [-0.84, 0.48, 0.26], [0.84, 0.48, 0.26]]),
    np.array([[0, 0.45, 0.355], [0.39, -0.225, 0.355], [-0.39, -0.225, 0.355]]),
    np.array([[0, 0.337, -0.013], [0.292, -0.168, -0.013], [-0.292, -0.168, -0.013]]),
)
ROTOR_KG_M2, LEG_KG_M2 = (0.01, 0.1), (0.07, 0.7)
"""Moments of inertia along and across the link."""


def platform() -> Mechanism:
    """The machine that ships, the exactly symmetric reading of the table."""
    return load("platform_huang").mechanism


def printed_pose() -> Floats:
    """q with every joint at zero."""
    return load("platform_huang").initial_q.copy()


def platform_of(table: Table = TABLE) -> Mechanism:
    """The platform of a table, its bodies' axes parallel to the world's in the initial pose."""
    tree = platform()
    bodies = {body.name: body for body in tree.bodies}
    joints = {joint.name: joint for joint in tree.joints}
    closures = {c.name: c for c in tree.constraints if isinstance(c, PointClosure)}
    straight = np.eye(3)
    for k in range(3):
        rotor, leg, motor, knee = (f"{word}_{k + 1}" for word in ("rotor", "leg", "motor", "knee"))
        arm, shank = table.knees[k] - table.motors[k], table.balls[k] - table.knees[k]
        bodies[rotor] = replace(
            bodies[rotor],
            com_m=table.rotor_centres[k] - table.motors[k],
            inertia_kg_m2=_slender(arm, *ROTOR_KG_M2),
        )
        bodies[leg] = replace(
            bodies[leg],
            com_m=table.leg_centres[k] - table.knees[k],
            inertia_kg_m2=_slender(shank, *LEG_KG_M2),
        )
        joints[motor] = replace(
            joints[motor], at_m=table.motors[k], rotation=straight, axis=table.motor_axes[k]
        )
        joints[knee] = replace(joints[knee], at_m=arm, rotation=straight, axis=table.knee_axes[k])
        if k > 0:
            ball = closures[f"ball_{k + 1}"]
            on_platform = replace(ball.b, at_m=table.balls[k] - table.balls[0])
            closures[ball.name] = replace(ball, a=replace(ball.a, at_m=shank), b=on_platform)
    joints["ball_1"] = replace(joints["ball_1"], at_m=table.balls[0] - table.knees[0])
    return tree.changed(
        bodies=tuple(bodies.values()), joints=tuple(joints.values()), constraints=tuple(closures.values())
    )


def _slender(along: Floats, axial: float, across: float) -> Floats:
    """Inertia of a link about its centre of mass, from the moments along it and across it."""
    unit = along / np.linalg.norm(along)
    return np.asarray(across * np.eye(3) + (axial - across) * np.outer(unit, unit))


def driven(tree: Mechanism, duration: float, dt: float) -> tuple[Floats, Floats, Floats]:
    """Times (s), and the centre's position and velocity (k × 3), 10 N m at each motor, `projected`."""
    w = tree.workspace()
    w.q[:] = printed_pose()
    w.effort[[tree.joint_index(f"motor_{k}") for k in (1, 2, 3)]] = TORQUE
    w.ranking[ORDINARY] = 6.0
    count = round(duration / dt)
    place, velocity = np.empty((count + 1, 3)), np.empty((count + 1, 3))
    for k in range(count + 1):
        place[k] = functions.point_position(tree, "centre", w.q)
        velocity[k] = functions.point_velocity(tree, "centre", w.q, w.v)
        rk4(*w.arguments, dt)
    return np.arange(count + 1, dtype=np.float64) * dt, place, velocity


def stepper_of(tree: Mechanism, q: Floats, reactions_at: float) -> TaylorStepper:
    """The platform in maximal coordinates, at rest at q, its motors driving with 10 N m."""
    closures = [
        Connection(c.name, "spherical", JointFrame(c.a.body, c.a.at_m), JointFrame(c.b.body, c.b.at_m))
        for c in tree.constraints
        if isinstance(c, PointClosure)
    ]
    stepper = TaylorStepper(MaximalModel.from_mechanism(tree, closures), reactions_at)
    stepper.stand_as(tree, q, np.zeros(tree.nv))
    for k in (1, 2, 3):
        stepper.effort[stepper.model.dof_index(f"motor_{k}")] = TORQUE
    return stepper


def printed_system(stepper: TaylorStepper) -> Floats:
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


def _axes(stepper: TaylorStepper, frame: JointFrame) -> Floats:
    return (
        np.asarray(stepper.pose(frame.body).axes @ np.asarray(frame.rotation))
        if frame.body != "world"
        else np.asarray(frame.rotation)
    )


def _lever(stepper: TaylorStepper, frame: JointFrame) -> Floats:
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
        Connection("bearing", "revolute", JointFrame(), JointFrame("upper")),
        Connection("pin", "cylindrical", JointFrame("upper", (length, 0, 0)), JointFrame("lower")),
        Connection("ball", "spherical", JointFrame("lower", (length, 0, 0)), JointFrame("slider")),
        Connection(
            "guide",
            "prismatic",
            JointFrame.along("world", rest, along),
            JointFrame.along("slider", rest, along),
        ),
    ]
    stepper = TaylorStepper(MaximalModel.build(bodies, joints, (0.0, 0.0, 0.0)), reactions_at)
    up, omega = from_rotation_vector([0.0, 0.0, angle]), np.array([0.0, 0.0, speed])
    tip = length * up[:, 0]
    stepper.place("upper", Pose(rest, up, rest, omega))
    stepper.place("lower", Pose(tip, up.T, np.cross(omega, tip), -omega))
    slide = np.array([2.0 * tip[0], 0.0, 0.0])
    stepper.place("slider", Pose(slide, np.eye(3), np.array([-2.0 * tip[1] * speed, 0.0, 0.0]), rest))
    return stepper
