"""A closed machine in Exudyn: rigid bodies, and constraints for all joints and closures.

Planar machines have planar bodies, others have Euler parameters: with a sparse solver these forms are faster
than a kinematic tree with constraints, which Exudyn offers too. Exudyn needs independent constraints: the
rows of the closures that depend on others are left out, as a user of Exudyn leaves them out by hand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from closed_for_peers import about, hinges, is_planar, moving_frames, placed, refuse_unknown, ties

from linkwork import Machine
from linkwork.arrays import Floats
from linkwork.multibody.model import Joint


def in_exudyn(machine: Machine, step_s: float, duration_s: float) -> Callable[[], Floats]:
    """Return a call that simulates the machine with Exudyn and returns the angles of its hinges (rad)."""
    import exudyn as exu
    from exudyn import utilities as parts

    exu.config.printToConsole = False
    mechanism = machine.plant_mechanism
    refuse_unknown(mechanism)
    planar, start = is_planar(mechanism), moving_frames(machine)
    system = exu.SystemContainer().AddSystem()
    bodies, centres = {"world": system.AddObject(parts.ObjectGround())}, {"world": np.eye(4)}
    for body in mechanism.bodies:
        begin, own = start[body.name], placed(np.asarray(body.com_m))
        centres[body.name] = np.linalg.inv(own)
        bodies[body.name] = system.CreateRigidBody(
            referenceHT=begin.place @ own,
            initialVelocity=list(begin.centre_m_s),
            initialAngularVelocity=list(begin.angular_rad_s),
            inertia=parts.RigidBodyInertia(body.mass_kg, np.asarray(body.inertia_kg_m2)),
            gravity=list(np.asarray(mechanism.gravity_m_s2)),
            create2D=planar,
        )

    def marker(body: str, frame: Floats) -> int:
        local = centres[body] @ frame
        made: int = system.AddMarker(
            parts.MarkerBodyPosition(bodyNumber=bodies[body], localPosition=list(local[:3, 3]))
            if planar
            else parts.MarkerBodyRigid(bodyNumber=bodies[body], localHT=local)
        )
        return made

    for joint in mechanism.joints:
        frame = about(joint.axis) if joint.kind == "revolute" else np.eye(3)
        before = placed(joint.at_m, np.asarray(joint.rotation) @ frame)
        ends = [marker(joint.parent, before), marker(joint.child, placed(np.zeros(3), frame))]
        if joint.kind == "spherical":
            system.AddObject(parts.ObjectJointSpherical(markerNumbers=ends))
        elif planar:
            system.AddObject(parts.ObjectJointRevolute2D(markerNumbers=ends))
        else:
            system.AddObject(parts.ObjectJointRevoluteZ(markerNumbers=ends))
    for tie in ties(machine):
        ends = [marker(tie.a, tie.frame_a), marker(tie.b, tie.frame_b)]
        if not any(tie.axes[3:]):
            axes = list(tie.axes[:3])
            system.AddObject(parts.ObjectJointSpherical(markerNumbers=ends, constrainedAxes=axes))
        else:
            system.AddObject(parts.ObjectJointGeneric(markerNumbers=ends, constrainedAxes=list(tie.axes)))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(duration_s / step_s)
    settings.timeIntegration.endTime = duration_s
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = duration_s
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse

    def run() -> Floats:
        system.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha)
        rotations = {
            name: np.reshape(
                system.GetObjectOutputBody(number, exu.OutputVariableType.RotationMatrix), (3, 3)
            )
            for name, number in bodies.items()
        }
        return np.array([_angle(joint, rotations) for joint in hinges(mechanism)])

    return run


def _angle(joint: Joint, rotations: dict[str, Floats]) -> float:
    """Return the angle of a hinge (rad) between bodies with these rotations (3 × 3)."""
    frame = about(joint.axis)
    before = rotations[joint.parent] @ np.asarray(joint.rotation) @ frame
    turned = before.T @ rotations[joint.child] @ frame
    return float(np.arctan2(turned[1, 0], turned[0, 0]))
