"""Reactions of random mechanisms against Newton and Euler, body by body, and against RNEA of Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from linkwork.arrays import Floats
from linkwork.multibody import Coordinate, Joint, Mechanism, Point
from linkwork.multibody.constraints import (
    Constraint,
    CoordinateConstraint,
    CouplingConstraint,
    DistanceClosure,
    ExpressionConstraint,
    Frame,
    PointClosure,
    RevoluteClosure,
    RollingConstraint,
    UniversalClosure,
    VelocityConstraint,
)
from linkwork.multibody.formulations.acceleration import accelerate
from linkwork.multibody.reactions.reactions import ReactionTable
from linkwork.multibody.tree.kinematics import point_jacobian
from linkwork.multibody.workspace import Workspace
from tests.multibody.machines import random_body, random_joint, random_rotation, random_state
from tests.multibody.oracles.pinocchio_model import PinocchioModel

KINDS = (
    "universal", "spherical", "prismatic", "revolute", "cylindrical", "screw", "planar", "free", "compound",
    "angles", "free_angles",
)  # fmt: skip


def _constraints(rng: np.random.Generator, joints: list[str]) -> tuple[Constraint, ...]:
    """Of every kind; `joints` are degrees of freedom with coordinates of their own."""

    def frame(body: str) -> Frame:
        return Frame(body, rng.normal(size=3) * 0.3, random_rotation(rng))

    first, second, third = (joints[int(k)] for k in rng.permutation(len(joints))[:3])
    everything = (
        PointClosure("pin", a=frame("world"), b=frame("body4")),
        RevoluteClosure("hinge", a=frame("body6"), b=frame("body2")),
        UniversalClosure("cross", a=frame("body1"), b=frame("body3")),
        DistanceClosure("rod", a=frame("body5"), b=frame("world"), distance_m=0.8),
        RollingConstraint("wheel", a=frame("world"), b=frame("body2"), radius_m=0.3),
        RollingConstraint("disc", a=frame("world"), b=frame("body6"), radius_m=0.2, disc=True),
        CoordinateConstraint("drive", of=first),
        CoordinateConstraint("guide", of="tip_z"),
        CoordinateConstraint("ball", of="tip_distance", value=0.4),
        CouplingConstraint("gear", factors={first: 2.0, second: -0.7, "tip_yaw": 0.3}),
        ExpressionConstraint("cam", expressions={"lift": f"{second} - 0.2*sin({third}*t) + 0.1*tip_x**2"}),
        VelocityConstraint("skate", factors={third: "1 + t", "tip_pitch": "tip_roll", "tip_y": "0.5"}),
        CoordinateConstraint("off", of=second, on=False),
    )
    return tuple(everything[int(k)] for k in rng.permutation(len(everything)))[:7]


def _mechanism(rng: np.random.Generator) -> Mechanism:
    """A tree of eight bodies in general position with joints of many kinds, and constraints."""
    bodies, joints = [], []
    for i in range(8):
        bodies.append(random_body(rng, f"body{i}"))
        parent = int(rng.integers(-1, i)) if i < 7 else 5
        mount = "world" if parent < 0 else f"body{parent}"
        kind = (
            "revolute"
            if i < 2
            else (*KINDS, *(["fixed"] * 6 if i == 7 else []))[
                int(rng.integers(len(KINDS) + (6 if i == 7 else 0)))
            ]
        )
        inertia = float(rng.uniform(0.0, 0.3))
        joints.append(random_joint(rng, f"joint{i}", kind, mount, f"body{i}", inertia))
    joints = [joints[i] for i in rng.permutation(8)]
    points = [Point("tip", "body7", rng.normal(size=3) * 0.3)]
    points += [Point(f"centre {body.name}", body.name, body.com_m) for body in bodies]
    kinds = ("x", "y", "z", "roll", "pitch", "yaw")
    coordinates = [Coordinate(f"tip_{kind}", kind, "tip") for kind in kinds]
    coordinates.append(Coordinate("tip_distance", "distance", "tip", from_m=(0.2, -0.1, 0.4), less_m=0.3))
    tree = (bodies, joints, rng.normal(size=3) * 5.0, points, coordinates)
    own = [name for name in Mechanism.build(*tree).coordinate_names if not name.startswith("tip_")]
    named = [*own, "joint0", "joint1", "joint1"][: max(3, len(own))]
    return Mechanism.build(*tree, _constraints(rng, list(dict.fromkeys(named)) or own))


def _needed(mechanism: Mechanism, w: Workspace) -> dict[str, Floats]:
    """Force and moment about the centre of mass (6) that each body needs, from Jacobians of its centre."""
    found = {}
    jacobian, rate = np.zeros((6, mechanism.nv)), np.zeros(6)
    for body in mechanism.bodies:
        place = mechanism.point_index(f"centre {body.name}")
        point_jacobian(*w.arguments, place, jacobian, rate)
        acceleration, omega = jacobian @ w.vdot + rate, jacobian[:3] @ w.v
        axes, link = w.model.point_axes[3 * place : 3 * place + 3], w.model.point_link[place]
        if link >= 0:
            axes = axes @ w.axes[3 * link : 3 * link + 3]
        inertia = axes.T @ np.asarray(body.inertia_kg_m2) @ axes
        force = body.mass_kg * (acceleration[3:] - mechanism.gravity_m_s2)
        moment = inertia @ acceleration[:3] + np.cross(omega, inertia @ omega)
        found[body.name] = np.concatenate([force, moment])
    return found


def _motor_wrench(mechanism: Mechanism, w: Workspace, joint: Joint, at: Floats) -> Floats:
    """Force and moment at a place that motors, friction and rotor exert along a joint's motion."""
    turns, slides, reference = w.screw_angular, w.screw_linear, w.reference
    armature = mechanism.model.armature
    effort = w.effort + w.friction - armature * w.vdot
    screws, efforts = [], []
    for i, k in enumerate(w.model.in_v):
        if mechanism.joint_names[k].split(".")[0] == joint.name:
            along = slides[i] + np.cross(turns[i], at - reference[0])
            screws.append([*along, *turns[i]])
            efforts.append(effort[k])
    if not screws:
        return np.zeros(6)
    if joint.kind == "screw":
        turn = np.array(screws[0][3:])
        return np.concatenate([np.zeros(3), turn * efforts[0] / (turn @ turn)])
    wrench: Floats = np.linalg.pinv(np.array(screws)) @ np.array(efforts)
    return wrench


@pytest.mark.parametrize("seed", range(40))
def test_forces_and_moments_on_every_body_are_those_of_newton_and_euler(seed):
    """Reactions, constraints, motors, friction and rotors together; nothing else acts on a body."""
    rng = np.random.default_rng(seed)
    mechanism = _mechanism(rng)
    w = mechanism.workspace()
    w.q[:], w.v[:] = random_state(rng, mechanism)
    w.effort[:], w.clock[0] = rng.normal(size=mechanism.nv), 0.7
    accelerate(mechanism, w)
    table = ReactionTable(mechanism)
    found = table.reactions(w)
    centres = {
        body.name: w.point_position[mechanism.point_index(f"centre {body.name}")].copy()
        for body in mechanism.bodies
    }
    total = {name: np.zeros(6) for name in centres}

    def act(body: str, sign: float, at: Floats, force: Floats, moment: Floats) -> None:
        if body in total:
            about = moment + np.cross(at - centres[body], force)
            total[body] += sign * np.concatenate([force, about])

    for each in found:
        act(each.on_body, 1.0, each.at_m, each.force_N, each.moment_N_m)
        act(each.from_body, -1.0, each.at_m, each.force_N, each.moment_N_m)
    for joint, each in zip(mechanism.joints, found, strict=False):
        wrench = _motor_wrench(mechanism, w, joint, each.at_m)
        act(joint.child, 1.0, each.at_m, wrench[:3], wrench[3:])
        act(joint.parent, -1.0, each.at_m, wrench[:3], wrench[3:])
    needed = _needed(mechanism, w)
    size = max(1.0, *(np.abs(each.force_N).max() for each in found))
    size = max(size, *(np.abs(each.moment_N_m).max() for each in found))
    for name, wanted in needed.items():
        assert np.abs(total[name] - wanted).max() < 1e-9 * size, name


@pytest.mark.parametrize("seed", range(40))
def test_every_constraint_and_every_joint_has_its_entry_and_efforts_sum_up(seed):
    """Efforts on coordinates, through the coordinates' Jacobian, are A'λ of their rows."""
    rng = np.random.default_rng(seed)
    mechanism = _mechanism(rng)
    w = mechanism.workspace()
    w.q[:], w.v[:] = random_state(rng, mechanism)
    w.clock[0] = 0.7
    accelerate(mechanism, w)
    found = ReactionTable(mechanism).reactions(w)
    assert [each.joint for each in found[:8]] == [joint.name for joint in mechanism.joints]
    first = 0
    for constraint in mechanism.constraints:
        entries = [each for each in found[8:] if each.joint.split(".")[0] == constraint.name]
        assert entries, constraint.name
        rows = slice(first, first + len(constraint.rows))
        first = rows.stop
        wanted = w.A[rows].T @ w.multipliers[rows]
        if constraint.name in ("drive", "guide", "ball", "gear", "cam", "skate", "off"):
            assert all(each.effort is not None for each in entries)
            given = np.zeros(mechanism.nv)
            for each in entries:
                ends = [n for n in mechanism.coordinate_names if each.joint.endswith(f".{n}")]
                name = getattr(constraint, "of", "") or max(ends, key=len)
                assert each.joint == (constraint.name if len(entries) == 1 else f"{constraint.name}.{name}")
                row = mechanism.coordinate_names.index(name)
                given += each.effort * w.J[row]
                unit = "N m" if mechanism.coordinate_is_angle[row] else "N"
                assert each.effort_unit == unit
            scale = max(1.0, float(np.abs(wanted).max()))
            assert np.abs(given - wanted).max() < 1e-9 * scale, constraint.name
        if not constraint.on:
            assert all(each.effort == 0.0 and not each.force_N.any() for each in entries)


@pytest.mark.parametrize("seed", range(10))
def test_efforts_of_prescribed_joints_are_those_of_rnea(seed):
    """Every joint of a tree follows a function of time: the constraints are inverse dynamics."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for i in range(6):
        bodies.append(random_body(rng, f"body{i}"))
        parent = int(rng.integers(-1, i)) if i else -1
        kind = ("revolute", "prismatic")[int(rng.integers(2))]
        mount = "world" if parent < 0 else f"body{parent}"
        joints.append(random_joint(rng, f"joint{i}", kind, mount, f"body{i}", float(rng.uniform(0.0, 0.3))))
    drives = [CoordinateConstraint(f"drive{i}", of=f"joint{i}") for i in range(6)]
    mechanism = Mechanism.build(bodies, joints, rng.normal(size=3) * 5.0, constraints=drives)
    w = mechanism.workspace()
    w.target[:, :3] = rng.normal(size=(6, 3))
    w.q[:], w.v[:] = w.target[:, 0], w.target[:, 1]
    accelerate(mechanism, w)
    other = PinocchioModel(mechanism)
    a = w.target[:, 2]
    theirs = (other._positions(w.q), other._theirs(w.v), other._theirs(a))
    wanted = pin.rnea(other.model, other.data, *theirs)[other.order]
    found = ReactionTable(mechanism).reactions(w)[6:]
    assert [each.joint for each in found] == [f"drive{i}" for i in range(6)]
    size = max(1.0, float(np.abs(wanted).max()))
    for joint, each, effort in zip(joints, found, wanted, strict=True):
        assert abs(each.effort - effort) < 1e-9 * size
        wrench = each.force_N if joint.kind == "prismatic" else each.moment_N_m
        assert np.linalg.norm(wrench) == pytest.approx(abs(effort), rel=1e-9)
        assert not (each.moment_N_m if joint.kind == "prismatic" else each.force_N).any()


def test_a_constraint_with_the_name_of_a_joint_keeps_its_own_entry():
    body = random_body(np.random.default_rng(0), "body")
    drive = CoordinateConstraint("slide", of="slide")
    joint = Joint("slide", "prismatic", "world", "body", axis=(0, 0, 1))
    mechanism = Mechanism.build([body], [joint], (0.0, 0.0, -9.81), constraints=[drive])
    table = ReactionTable(mechanism)
    assert table.names == ("slide", "constraints.slide")
    w = mechanism.workspace()
    accelerate(mechanism, w)
    assert table.reactions(w)[1].effort == pytest.approx(9.81 * body.mass_kg, rel=1e-12)


def test_an_update_writes_to_the_same_memory():
    """A real-time caller keeps views: values are renewed in place."""
    rng = np.random.default_rng(3)
    mechanism = _mechanism(rng)
    w, table = mechanism.workspace(), ReactionTable(mechanism)
    values = table.values
    for _ in range(2):
        w.q[:], w.v[:] = random_state(rng, mechanism)
        accelerate(mechanism, w)
        before = values.copy()
        table.update(w)
        assert values is table.values
        assert not np.array_equal(before, values)
