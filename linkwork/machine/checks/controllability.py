"""Conditions under which the controller runs a machine: the list that all who show them ask."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.machine.building.initial_assembly import admitted, admitted_velocities, holding
from linkwork.machine.checks.force_stability import unstable
from linkwork.machine.checks.rank_gap import short_closures
from linkwork.machine.description import Machine
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import REFUSES, Problem, refuse
from linkwork.machine.sections.motors import Motor
from linkwork.machine.sections.sensors import Sensor
from linkwork.multibody.constraints import RollingConstraint, VelocityConstraint
from linkwork.protocol.laws import MOTION_LAWS, LawKind

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
_IDLE = "write `idle: true` in a joint with an idle degree of freedom, or in a base that floats freely"


class ControlRefusal(NamedTuple):
    """One reason for which the controller refuses a machine: the place in the file, why, what can be done."""

    path: tuple[str, ...]
    message: str
    remedy: str


def for_controller(machine: Machine) -> Machine:
    """Return the machine if the controller can run it. Raises MachineError with every reason against it."""
    problems = refusal_problems(machine)
    refuse(problems)
    return machine


def without_velocity_rows(machine: Machine) -> Machine:
    """Return the machine without its constraints on velocities alone, which determine no position."""
    constraints = machine.mechanism.constraints
    names = [one.name for one in constraints if isinstance(one, VelocityConstraint) and one.on]
    if not names:
        return machine
    mechanism = holding(machine.mechanism, names, ())
    dof = admitted(mechanism, machine.initial_q).shape[1]
    return replace(machine, mechanism=mechanism, assembly=replace(machine.assembly, dof=dof))


def refusal_problems(machine: Machine) -> list[Problem]:
    """Return the refusals of a machine as problems of its file."""
    return [
        machine.document.problem(path, f"{REFUSES}: {message}", of_key=True, remedy=remedy)
        for path, message, remedy in refusals(machine)
    ]


def refusals(machine: Machine) -> list[ControlRefusal]:
    """Return every reason for which the controller refuses a machine; none where it runs it.

    The controller, `linkwork check`, `linkwork model` and the import ask this one list.
    """
    found = [*_unsupported(machine), *_short(machine)]
    if machine.dof == 0:
        text = "the constraints leave no degree of freedom to control"
        return [*found, ControlRefusal(("constraints",), text, _alone(machine))]
    unseen = _undetermined(without_velocity_rows(machine), machine.sensors)
    undriven = _undetermined(machine, machine.motors)
    if unseen:
        found.append(_unseen(machine, unseen, undriven))
    elif machine.force_rows and (unstable := _unstable_force(machine)):
        found.append(unstable)
    if undriven and undriven != unseen:
        found.append(_undriven(machine, undriven))
    held = leverage(machine) if machine.is_constrained and not undriven else 1.0
    if held < LEAST_LEVERAGE:
        text = (
            "the motors hardly control the machine in the initial pose: smallest singular value"
            f" {held:.2g}, at least {LEAST_LEVERAGE:g} is needed"
        )
        remedy = f"Start in another pose, or drive another joint. {_alone(machine)}"
        found.append(ControlRefusal(("motors",), text, remedy))
    return found if found else [*_without_goal_coordinates(machine)]


def _alone(machine: Machine) -> str:
    return f"Its plant runs alone, and linkwork simulate {machine.name} --duration 10 simulates it"


def _unsupported(machine: Machine) -> Iterator[ControlRefusal]:
    """Yield what the controller's models and laws do not support, in any pose."""
    for constraint in machine.mechanism.constraints:
        where: tuple[str, ...] = ("constraints", constraint.name)
        why = ""
        if isinstance(constraint, RollingConstraint):
            why = "the controller does not run rolling contacts"
        if why:
            yield ControlRefusal(where, why, _alone(machine))
    if len(machine.switchable) > MOST_SWITCHABLE:
        why = (
            f"{len(machine.switchable)} constraints are switchable; the controller supports at most"
            f" {MOST_SWITCHABLE}, because it keeps a model for each set of them"
        )
        where = ("constraints", machine.switchable[MOST_SWITCHABLE], "switchable")
        remedy = "Leave switchable out of the others; the plant alone may have any number"
        yield ControlRefusal(where, why, remedy)
    laws = [law.label for law in MOTION_LAWS if law.spec.serves(constrained=machine.is_constrained)]
    if machine.controller.law == LawKind.CUSTOM.label:
        if not machine.controller.law_class:
            why = "the law custom needs the name of its class"
            yield ControlRefusal(("controller", "law"), why, "Add law_class: package.module:Class")
    elif machine.controller.law not in laws:
        why = f"the law {machine.controller.law} needs a motor on every joint, and no closures"
        yield ControlRefusal(("controller", "law"), why, f"Take {' or '.join(laws)}")


def _short(machine: Machine) -> Iterator[ControlRefusal]:
    """Yield what to say where closures hold what the controller's model of first order leaves free."""
    for name in short_closures(machine):
        why = (
            f"{name} holds to second order only in the initial pose, which the controller's model does not "
            "support: its load is not determined"
        )
        yield ControlRefusal(("constraints", name), why, _alone(machine))


def _unseen(machine: Machine, unseen: list[str], undriven: list[str]) -> ControlRefusal:
    message = f"the sensors do not determine {listed(unseen)} in the initial pose"
    if undriven:
        which = "them" if undriven == unseen else listed(undriven)
        message += f", and the motors do not control {which}"
    remedy = f"Measure one of them, start outside the branch pose, or {_IDLE}"
    if not machine.is_constrained:
        remedy = f"Measure each of them, or {_IDLE}. {_alone(machine)}"
    return ControlRefusal(("sensors",), message, remedy)


def _undriven(machine: Machine, undriven: list[str]) -> ControlRefusal:
    if machine.is_constrained:
        message = f"the motors do not control {listed(undriven)} in the initial pose"
        remedy = f"Drive one of them, start in another pose, or {_IDLE}. {_alone(machine)}"
    else:
        message = f"no motor drives {listed(undriven)}, and no closure holds it"
        remedy = f"Drive every joint of a machine without closures, or {_IDLE}. {_alone(machine)}"
    return ControlRefusal(("motors",), message, remedy)


def _without_goal_coordinates(machine: Machine) -> Iterator[ControlRefusal]:
    """Yield what to say where the goal coordinates leave the orientation of a joint open."""
    if machine.is_constrained or len(machine.goal_coordinates) == machine.dof:
        return
    mechanism = machine.mechanism
    joints = ", ".join(name.partition(".")[0] for name in mechanism.position_names[mechanism.nv :])
    message = f"the orientation of {joints} is a quaternion, which goals cannot name"
    remedy = (
        "Add roll, pitch and yaw of a point that it carries to `task`, and name one coordinate for each"
        f" of the {machine.dof} degrees of freedom in controller.goal_coordinates; or set coordinates:"
        " angles for a spherical or free joint, type: compound for one with columns"
    )
    yield ControlRefusal(("joints", joints.partition(",")[0]), message, remedy)


def _unstable_force(machine: Machine) -> ControlRefusal | None:
    """Return what to say where the loop of a force is unstable with its delay and hold."""
    found = unstable(machine)
    if found is None:
        return None
    row, key, value, most = found
    message = (
        f"the force on {row.name} is unstable: {key} is {value:g}, and with the delay of "
        f"{machine.period_s:g} s periods the loop is stable below {most:.3g}"
    )
    remedy = "Reduce it, add damping (controller.force.added_damping_ratio), or shorten the period"
    if most == 0.0:
        message = (
            f"the force on {row.name} is unstable with any gains: the contact is too stiff for periods "
            f"of {machine.period_s:g} s"
        )
        remedy = "Shorten the period, or make the contact softer or more damped"
    return ControlRefusal(("controller", "force", key), message, remedy)


def leverage(machine: Machine) -> float:
    """Return the smallest singular value of the motors' share in the admitted motions, where it starts.

    The motions are orthonormal in scaled units; 0 where one of them is out of reach of all motors. It is that
    of motor_conditioning.py, `JOINTS_A_MOTOR` included.
    """
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


def _undetermined(machine: Machine, known: Sequence[Motor | Sensor]) -> list[str]:
    """Return the joints that move, as the initial pose admits it, while the known ones stay at rest."""
    joints = machine.mechanism.joint_names
    held = {each.index for each in known}
    if not known or not machine.is_constrained:
        return [name for index, name in enumerate(joints) if index not in held]

    basis = admitted_velocities(machine.mechanism, machine.initial_q)
    basis = basis / np.linalg.norm(basis, axis=0)
    _, sizes, motions = np.linalg.svd(basis[sorted(held)])
    rank = int(np.count_nonzero(sizes > _HELD * max(sizes.max(), _HELD)))
    left = np.abs(basis @ motions[rank:].T).max(axis=1, initial=0.0)
    return [name for name, size in zip(joints, left, strict=True) if size > _HELD]
