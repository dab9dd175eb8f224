"""Idle degrees of freedom, such as a rod's rotation about itself between two ball joints.

A motion n of the joints is idle where the closures admit it, A n = 0, and motors, sensors, task coordinates,
named points, springs, forces and all centres of mass stay at rest. The plant has these motions, lightly
damped. The controller's model holds each of them by one row across the joint that turns, so that estimator,
law, planner and checks need not know of them. In the plant's model the same rows are switched off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkwork.arrays import Floats
from linkwork.machine.building.dof_names import degrees_of_freedom
from linkwork.machine.building.idle_search import search
from linkwork.machine.description import IdleMotion
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml_document import Document
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Joint


def idle_motions(
    file: MachineFile, mechanism: Mechanism, document: Document, q: Floats, v: Floats
) -> tuple[IdleMotion, ...]:
    """Return the idle degrees of freedom near a machine's initial pose q (nq), with the rows that hold them.

    A joint with `idle: true` may have any motion that moves no motor, sensor or task coordinate; one with
    `idle: false` or a given speed v (nv) has none. Raises MachineError for `idle: true` without one.
    """
    declared = any(spec.idle for spec in file.joints.values())
    used = {*file.motors, *file.sensors}
    if not declared and (not file.motors or used.issuperset(degrees_of_freedom(file))):
        return ()

    return tuple(search(file, mechanism, document, q, v))


def with_idle(mechanism: Mechanism, motions: Sequence[IdleMotion], *, held: bool) -> Mechanism:
    """Return the mechanism with damped idle degrees of freedom, and the rows that hold them, on or off."""
    if not motions:
        return mechanism
    return mechanism.changed(
        joints=[with_idle_damping(joint, motions) for joint in mechanism.joints],
        constraints=[*mechanism.constraints, *(replace(motion.row, on=held) for motion in motions)],
    )


def with_idle_damping(joint: Joint, motions: Sequence[IdleMotion]) -> Joint:
    """Return the joint with the damping of its idle degree of freedom, unless it has friction already."""
    own = [motion.damping for motion in motions if motion.joint == joint.name]
    return replace(joint, viscous=own[-1]) if own and not (joint.viscous or joint.coulomb) else joint
