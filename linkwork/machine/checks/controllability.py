"""Conditions under which the controller can run a machine, checked when the file is loaded."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from linkwork.machine.description import Machine
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import MachineError, Problem
from linkwork.multibody.constraints import RollingConstraint, VelocityConstraint
from linkwork.protocol.laws import MOTION_LAWS, law_named

_HELD = 1e-6
"""Share of the largest singular value; a smaller one means an undetermined motion."""
JOINTS_A_MOTOR = 6
"""Joints for each motor, up to which the motors' share in a motion of unit length counts as it is. In larger
machines every motion is spread over many joints: there the share of this many joints counts."""
WEAK_LEVERAGE = 0.05
"""Smallest singular value of the motors' share in the admitted motions (orthonormal, scaled) below which
their hold is called weak."""
MOST_SWITCHABLE = 4
"""Most switchable constraints of a machine that the controller runs."""
LEAST_LEVERAGE = 0.01
"""The same, where a machine may not start and a path may not lead."""
_IDLE = "write `idle: true` in a joint whose motion matters to nothing else, or in a base that floats freely"


def for_controller(machine: Machine) -> Machine:
    """Return the machine if the controller can run it. Raises MachineError with what can be done."""
    found = why_not_controllable(machine) or _too_many_switches(machine)
    if found is None:
        return machine
    path, message, remedy = found
    document = machine.document
    raise MachineError([document.problem(path, message, of_key=True, remedy=remedy)])


def _too_many_switches(machine: Machine) -> tuple[tuple[str, ...], str, str] | None:
    if len(machine.switchable) <= MOST_SWITCHABLE:
        return None
    message = (
        f"{len(machine.switchable)} constraints are switchable; the controller supports at most"
        f" {MOST_SWITCHABLE}, because it keeps a model for each set of them"
    )
    where = ("constraints", machine.switchable[MOST_SWITCHABLE], "switchable")
    return where, message, "Leave switchable out of the others; the plant alone may have any number"


def why_not_controllable(machine: Machine) -> tuple[tuple[str, ...], str, str] | None:
    """Return where in the file, why, and what can be done, of a machine that the controller cannot run."""
    from linkwork.machine.building.initial_assembly import admitted_velocities  # loads the compiler

    mechanism = machine.mechanism
    alone = f"Its plant runs alone, and linkwork simulate {machine.name} --duration 10 simulates it"
    for constraint in mechanism.constraints:
        if isinstance(constraint, RollingConstraint | VelocityConstraint):
            where, why = ("constraints", constraint.name), "the controller does not run rolling contacts yet"
            return where, why, alone
    moving = _moving_with_time(machine)
    if moving:
        message = f"{moving} is a function of time, which the controller's model does not support"
        return ("constraints", moving), message, f"Make it a goal of the controller instead. {alone}"
    if machine.dof == 0:
        return ("constraints",), "the constraints leave no degree of freedom to control", alone
    basis = admitted_velocities(mechanism, machine.initial_q)
    basis = basis / np.linalg.norm(basis, axis=0)
    measured = sorted({sensor.index for sensor in machine.sensors})
    driven = sorted({motor.index for motor in machine.motors})
    unseen = _undetermined(machine, basis, measured)
    if unseen:
        message = f"the sensors do not determine {listed(unseen)} in the initial pose"
        undriven = _undetermined(machine, basis, driven)
        if undriven:
            message += f", and the motors do not control {'them' if undriven == unseen else listed(undriven)}"
        if machine.is_constrained:
            remedy = f"Measure one of them, start outside the branch pose, or {_IDLE}"
        else:
            remedy = f"Measure each of them, or {_IDLE}. {alone}"
        return ("sensors",), message, remedy
    loop = _unstable_force(machine)
    if loop:
        return loop
    if machine.is_constrained:
        undriven = _undetermined(machine, basis, driven)
        if undriven:
            message = f"the motors do not control {listed(undriven)} in the initial pose"
            return ("motors",), message, f"Drive one of them, start in another pose, or {_IDLE}. {alone}"
        held = leverage(machine)
        if held < LEAST_LEVERAGE:
            message = (
                "the motors hardly control the machine in the initial pose: smallest singular value"
                f" {held:.2g}, at least"
                f" {LEAST_LEVERAGE:g} is needed"
            )
            return ("motors",), message, f"Start in another pose, or drive another joint. {alone}"
        if not law_named(machine.controller.law).spec.closed_chain:
            message = f"the law {machine.controller.law} needs a motor on every joint, and no closures"
            serving = [law.label for law in MOTION_LAWS if law.spec.closed_chain]
            return ("controller", "law"), message, f"Take {' or '.join(serving)}"
        return None
    passive = [name for index, name in enumerate(mechanism.joint_names) if index not in driven]
    if passive:
        message = f"no motor drives {listed(passive)}, and no closure holds it"
        remedy = f"Drive every joint of a machine without closures, or {_IDLE}. {alone}"
        return ("motors",), message, remedy
    return _without_goal_coordinates(machine)


def _without_goal_coordinates(machine: Machine) -> tuple[tuple[str, ...], str, str] | None:
    """Return what to say where the goal coordinates leave the orientation of a joint open."""
    goals = machine.controller.goal_coordinates
    if len(goals) == machine.dof:
        return None
    mechanism = machine.mechanism
    joints = ", ".join(name.partition(".")[0] for name in mechanism.position_names[mechanism.nv :])
    message = f"the orientation of {joints} is a quaternion, which goals cannot name"
    remedy = (
        "Add roll, pitch and yaw of a point that it carries to `task`, and name one coordinate for each"
        f" of the {machine.dof} degrees of freedom in controller.goal_coordinates; or set coordinates:"
        " angles for a spherical or free joint, type: compound for one with columns"
    )
    return ("joints", joints.partition(",")[0]), message, remedy


def _unstable_force(machine: Machine) -> tuple[tuple[str, ...], str, str] | None:
    """Return what to say where the loop of a force is unstable with its delay and hold."""
    if not machine.force_rows:
        return None
    from linkwork.machine.checks.force_stability import unstable

    found = unstable(machine)
    if found is None:
        return None
    row, key, value, most = found
    message = (
        f"the force on {row.name} is unstable: {key} is {value:g}, and with the delay of "
        f"{machine.controller.period_s:g} s periods the loop is stable below {most:.3g}"
    )
    remedy = "Reduce it, add damping (controller.force.added_damping_ratio), or shorten the period"
    if most == 0.0:
        message = (
            f"the force on {row.name} is unstable with any gains: the contact is too stiff for periods "
            f"of {machine.controller.period_s:g} s"
        )
        remedy = "Shorten the period, or make the contact softer or more damped"
    return ("controller", "force", key), message, remedy


def leverage(machine: Machine) -> float:
    """Return the smallest singular value of the motors' share in the admitted motions, where it starts.

    The motions are orthonormal in scaled units; 0 where one of them is out of reach of all motors. It is that
    of `controller.laws.motor_conditioning`, `JOINTS_A_MOTOR` included.
    """
    from linkwork.machine.building.initial_assembly import admitted  # loads the compiler

    ways = admitted(machine.mechanism, machine.initial_q)
    driven = sorted({motor.index for motor in machine.motors})
    if len(driven) < ways.shape[1] or not ways.shape[1]:
        return 0.0
    smallest = float(np.linalg.svd(ways[driven], compute_uv=False)[-1])
    return smallest * math.sqrt(max(1.0, machine.mechanism.nv / (JOINTS_A_MOTOR * len(driven))))


def leverage_warnings(machine: Machine) -> Iterator[Problem]:
    """Return a warning where the motors of a closed machine hold it weakly in the initial pose."""
    if not (machine.motors and machine.sensors and machine.dof):
        return
    held = leverage(machine)
    if LEAST_LEVERAGE <= held < WEAK_LEVERAGE:
        document = machine.document
        yield document.problem(
            ("motors",),
            "the motors control one of the machine's motions only weakly in the initial pose",
            of_key=True,
            found=f"leverage {held:.2g}",
            allowed=f"{WEAK_LEVERAGE:g} or more",
            remedy="start in another pose, or drive another joint",
            severity="warning",
        )


def _moving_with_time(machine: Machine) -> str:
    """Return the name of a constraint whose residual changes with time alone, else ''."""
    from linkwork.multibody.constraints.rows import constraint_rows
    from linkwork.multibody.tree.kinematics import kinematics

    work = machine.workspace()
    residuals = []
    for clock_s in (0.0, 0.37, 1.7):
        work.clock[0] = clock_s
        kinematics(*work.arguments)
        constraint_rows(*work.arguments)
        residuals.append(work.phi.copy())
    changes = np.ptp(np.array(residuals), axis=0)
    rows = zip(machine.mechanism.row_names, changes, strict=True)
    return next((name.partition(".")[0] for name, change in rows if change > 0.0), "")


def _undetermined(machine: Machine, basis: np.ndarray, known: list[int]) -> list[str]:
    """Return the joints that move in the motions that leave the known ones at rest."""
    if not known:
        return list(machine.mechanism.joint_names)
    _, sizes, motions = np.linalg.svd(basis[known])
    rank = int(np.count_nonzero(sizes > _HELD * max(sizes.max(), _HELD)))
    left = np.abs(basis @ motions[rank:].T).max(axis=1, initial=0.0)
    return [name for name, size in zip(machine.mechanism.joint_names, left, strict=True) if size > _HELD]
