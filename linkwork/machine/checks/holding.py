"""Whether the brakes hold the machine against gravity where it starts."""

from collections.abc import Iterator

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.description import Machine
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import Problem
from linkwork.machine.sections.motors import Motor
from linkwork.multibody.functions import bias

_NOTHING = 1e-6
_WEAK = 1e-6
"""Effort (N m or N) that a motor without a brake counts with when the load is shared."""


def holding_warnings(machine: Machine) -> Iterator[Problem]:
    """Return warnings about what motors and brakes do not hold where the machine starts.

    Brakes are not judged where the machine damps instead.
    """
    document = machine.document
    falling = unheld_joints(machine) if machine.motors else []
    if falling:
        yield document.problem(
            ("motors",),
            "where the machine starts, gravity or springs move it, and no motor or brake can hold it",
            of_key=True,
            found=listed(falling),
            remedy="add motors, closures or springs that hold it, or simulate its fall",
            severity="warning",
        )
    if machine.plant.on_timeout == "damp":
        return
    for motor, needed in held_efforts(machine):
        if needed <= motor.brake_effort * (1.0 + _NOTHING) or needed < _NOTHING:
            continue
        unit, key = ("N m", "brake_torque_N_m") if motor.is_angle else ("N", "brake_force_N")
        yield document.problem(
            ("motors", motor.joint, key),
            "the brake does not hold this joint against gravity where the machine starts",
            of_key=True,
            found=f"{motor.brake_effort:g} {unit}",
            allowed=f"{needed:.4g} {unit} or more",
            remedy="use a stronger brake, or set on_timeout: damp",
            severity="warning",
        )


def unheld_joints(machine: Machine) -> list[str]:
    """Return the joints that gravity and springs move at the initial pose and that no motor can hold.

    These are the joints of the motion ẋ = N N' h, where N has the admitted motions that leave all motors at
    rest. Of idle degrees of freedom only those of floating bases count: the others matter to nothing.
    """
    mechanism, q = machine.plant_mechanism, machine.initial_q  # idle degrees of freedom are not held there
    if machine.dof == 0 or {motor.index for motor in machine.motors} == set(range(mechanism.nv)):
        return []

    ways = admitted_velocities(mechanism, q) if mechanism.constraints else np.eye(mechanism.nv)
    _, sizes, motions = np.linalg.svd(ways[[motor.index for motor in machine.motors]])
    free = ways @ motions[int(np.count_nonzero(sizes > _NOTHING)) :].T
    loads = bias(mechanism, q, np.zeros(mechanism.nv))
    pushed = free @ (free.T @ loads)
    bases = {joint.name for joint in mechanism.joints if joint.kind == "free"}
    idle = {motion.joint for motion in machine.assembly.idle} - bases
    pushed[[name.partition(".")[0] in idle for name in mechanism.joint_names]] = 0.0
    largest = float(np.abs(pushed).max(initial=0.0))
    if not largest > _NOTHING * max(1.0, float(np.abs(loads).max())):
        return []
    names = zip(mechanism.joint_names, np.abs(pushed).tolist(), strict=True)
    return [name for name, size in names if size > 1e-3 * largest]


def held_efforts(machine: Machine) -> list[tuple[Motor, float]]:
    """Return what the motor, or the brake, of each joint must hold (N m or N) where the machine starts.

    Under constraints the brakes share the load; the shares are those that minimize the largest relative load
    of a brake.
    """
    mechanism, motors = machine.mechanism, machine.motors
    loads = bias(mechanism, machine.initial_q, np.zeros(mechanism.nv))
    if not mechanism.constraints:
        return [(motor, abs(float(loads[motor.index]))) for motor in motors]
    ways = admitted_velocities(mechanism, machine.initial_q)
    strengths = np.array([motor.brake_effort for motor in motors])
    return list(zip(motors, _shares(ways, loads, [m.index for m in motors], strengths).tolist(), strict=True))


def _shares(ways: Floats, loads: Floats, places: list[int], strengths: Floats) -> Floats:
    """Return |τ| with ways' (loads - τ) = 0 for which the largest |τ| / strength is least."""
    from scipy.optimize import linprog

    n, scale = len(places), np.where(strengths > 0.0, strengths, _WEAK)
    if n == 0:
        return np.zeros(0)
    bounds = np.hstack([np.vstack([np.eye(n), -np.eye(n)]), -np.ones((2 * n, 1))])
    equal = np.hstack([ways[places].T * scale, np.zeros((ways.shape[1], 1))])
    found = linprog(
        np.append(np.zeros(n), 1.0),
        bounds,
        np.zeros(2 * n),
        equal,
        ways.T @ loads,
        bounds=[(None, None)] * (n + 1),
    )
    if not found.success:  # some motion is out of the reach of all motors: gravity moves it where it can
        return np.zeros(n)
    share: Floats = np.abs(np.asarray(found.x)[:n] * scale)
    return share
