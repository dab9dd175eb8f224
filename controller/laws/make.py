"""Which class serves which law, and which machines a law refuses."""

from __future__ import annotations

from controller.laws.damp import Damp
from controller.laws.float import Float
from controller.laws.law import Law, LawKind
from controller.laws.pidc import ProjectedInverseDynamics
from controller.laws.servo import Servo
from machine import Machine


class LawRefused(Exception):
    """The machine cannot be controlled by this law; the text says why and what would help."""


def laws_of(machine: Machine) -> dict[LawKind, Law]:
    """The laws that serve this kind of machine. The first call for a kind declares their kernels."""
    if not machine.is_constrained:
        return {kind: law_of(kind, machine) for kind in LawKind}
    from controller.laws.closed import ClosedDamp, ClosedFloat, ClosedInverseDynamics

    motion, damp = ClosedInverseDynamics(machine), ClosedDamp(machine)
    return {
        LawKind.NONE: damp,
        LawKind.DAMP: damp,
        LawKind.HOLD: motion,
        LawKind.PIDC: motion,
        LawKind.FLOAT: ClosedFloat(machine),
    }


def law_of(kind: LawKind, machine: Machine) -> Law:
    """The law for a machine without closures. Raises LawRefused where joints carry no motor."""
    driven = {motor.index for motor in machine.motors}
    passive = [name for index, name in enumerate(machine.mechanism.joint_names) if index not in driven]
    if passive:
        raise LawRefused(
            f"{machine.name}: no motor drives {', '.join(passive)}; a machine without closures needs a motor "
            "on every joint (add it to `motors`)"
        )
    match kind:
        case LawKind.PIDC | LawKind.HOLD:
            return ProjectedInverseDynamics(machine)
        case LawKind.SERVO:
            return Servo(machine)
        case LawKind.FLOAT:
            return Float(machine)
        case LawKind.DAMP | LawKind.NONE:
            return Damp(machine)
