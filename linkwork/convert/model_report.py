"""Report of a machine's model, as plain data."""

from dataclasses import asdict
from typing import Any

import numpy as np

from linkwork.controller.estimation.redundant_sensors import told
from linkwork.machine import Machine
from linkwork.machine.building.initial_assembly import admitted
from linkwork.machine.checks.assembly_modes import fitting_poses
from linkwork.machine.checks.controllability import leverage, refusals
from linkwork.machine.checks.rank_gap import rank_decision
from linkwork.multibody.closure.elimination_plan import factorisation
from linkwork.multibody.contact.compliance import Contact, Plane
from linkwork.multibody.forces import AppliedForce, Spring
from linkwork.multibody.functions import mass_matrix

_SMALL = 1e-9


def report(machine: Machine) -> dict[str, Any]:
    """Bodies, joints, coordinates, closures, degrees of freedom, motors, and origin of the initial state.

    `mobility` is the number of admitted motions at the pose itself, more than `degrees_of_freedom` at a
    branch pose; `redundancy` counts dependent rows. `idle` motions, given by their joint and the share of its
    degrees of freedom, count as degrees of freedom: `rows` and `rank` leave out the rows by which the
    controller holds them. `factorisation`: number of fronts in
    which the rows are factored, columns of the largest, and why. `rank_decision` has the tolerance, the limit
    that it gave here, the smallest singular value of the scaled rows that counts, the largest that does not,
    and whether they are too close for a clear rank. `controllability` is the smallest singular value of the
    motors' share in the admitted motions (0: some motion cannot be driven); `refusals` say why the controller
    refuses the machine, which is `controllable` where there are none. `other_assemblies` counts the isolated
    poses with the same measurements; `continuum` names the joints that move while all sensors rest.
    `decoupled`: whether motion and
    constraint force do not depend on each other here, that is, whether the admitted velocities are invariant
    under the mass matrix (both in scaled units). SI units, rad.
    """
    mechanism, assembly = machine.mechanism, machine.assembly
    idle = {motion.row.name for motion in assembly.idle}
    held = sum(len(motion.row.rows) for motion in assembly.idle)
    names = list(mechanism.joint_names)
    driven = [motor.joint for motor in machine.motors]
    others = fitting_poses(machine)
    return {
        "name": machine.name,
        "about": machine.about,
        "bodies": [{"name": body.name, "mass_kg": body.mass_kg} for body in mechanism.bodies],
        "joints": [
            {
                "name": joint.name,
                "type": joint.kind,
                "parent": joint.parent,
                "child": joint.child,
                "degrees_of_freedom": [name for name in names if name.partition(".")[0] == joint.name],
            }
            for joint in mechanism.joints
        ],
        "coordinates": list(mechanism.coordinate_names),
        "goal_coordinates": list(machine.goal_coordinates),
        "closures": [
            {
                "name": constraint.name,
                "type": type(constraint).__name__.removesuffix("Closure").removesuffix("Constraint").lower(),
                "rows": len(constraint.rows),
                "on": constraint.on,
            }
            for constraint in mechanism.constraints
            if constraint.name not in idle
        ],
        "idle": [
            {"joint": motion.joint, "direction": list(motion.direction), "damping": motion.damping}
            for motion in assembly.idle
        ],
        "closed_form": machine.closed_form,
        "stops": [asdict(stop) for stop in mechanism.stops],
        "contacts": [_contact(contact) for contact in mechanism.contacts],
        "springs": [_spring(each) for each in mechanism.elements if isinstance(each, Spring)],
        "forces": [_force(each) for each in mechanism.elements if isinstance(each, AppliedForce)],
        "velocities": mechanism.nv,
        "rows": assembly.rows - held,
        "rank": assembly.ordinary_rank - held,
        "degrees_of_freedom": assembly.dof + held,
        "mobility": mechanism.nv - assembly.rank + held,
        "redundancy": assembly.rows - assembly.ordinary_rank,
        "rank_decision": rank_decision(machine),
        "factorisation": factorisation(mechanism.model),
        "actuated": driven,
        "passive": [name for name in names if name not in driven],
        **_control(machine),
        "sensing": told(machine),
        "other_assemblies": len(others.modes),
        "continuum": list(others.free),
        "assembly": _assembly(machine),
    }


def _assembly(machine: Machine) -> dict[str, Any]:
    """Residual and origin of the initial state, and the state."""
    mechanism, assembly = machine.mechanism, machine.assembly
    q, v = machine.initial_q.tolist(), machine.initial_v.tolist()
    return {
        "residual": assembly.residual,
        "iterations": assembly.iterations,
        "kept": list(assembly.kept),
        "unkept": [asdict(value) for value in assembly.unkept],
        "q": dict(zip(mechanism.position_names, q, strict=True)),
        "v": dict(zip(mechanism.joint_names, v, strict=True)),
    }


def _spring(spring: Spring) -> dict[str, Any]:
    numbers = ("stiffness", "damping", "rest", "preload", "progressive")
    return {"name": spring.name, "acts": str(spring.line), **{key: getattr(spring, key) for key in numbers}}


def _force(force: AppliedForce) -> dict[str, Any]:
    return {"name": force.name, "acts": str(force.line), "value": force.value}


def _contact(contact: Contact) -> dict[str, Any]:
    surface = contact.surface
    where = (
        {"plane": {"at_m": np.asarray(surface.at_m).tolist(), "normal": np.asarray(surface.normal).tolist()}}
        if isinstance(surface, Plane)
        else {"sphere": {"centre_m": np.asarray(surface.centre_m).tolist(), "radius_m": surface.radius_m}}
    )
    numbers = ("stiffness_N_m", "damping_N_s_m", "friction", "slip_speed_m_s")
    return {
        "name": contact.name,
        "point": contact.point,
        **where,
        **{key: getattr(contact, key) for key in numbers},
        "ball_radius_m": contact.ball_m,
    }


def _control(machine: Machine) -> dict[str, Any]:
    mechanism, q = machine.mechanism, machine.initial_q
    constrained = bool(mechanism.constraints)
    ways = admitted(mechanism, q) if constrained else np.eye(mechanism.nv)
    least, refused = leverage(machine), refusals(machine)
    columns = mechanism.model.column_scale
    mass = columns[:, None] * mass_matrix(mechanism, q) * columns
    moved = mass @ ways
    coupling = float(np.abs(moved - ways @ (ways.T @ moved)).max(initial=0.0) / np.abs(mass).max())
    return {
        "controllability": least,
        "controllable": not refused,
        "refusals": [f"{message}. {remedy}" for _, message, remedy in refused],
        "decoupled": coupling < _SMALL,
    }
