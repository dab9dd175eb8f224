"""Which class serves which law, and which machines a law refuses."""

from __future__ import annotations

from linkwork.controller.laws.damp import Damp
from linkwork.controller.laws.float import Float
from linkwork.controller.laws.law import Floats, Law, LawKind, LawReport
from linkwork.controller.laws.pidc import ProjectedInverseDynamics
from linkwork.controller.laws.servo import Servo
from linkwork.machine import Machine


class LawRefused(Exception):
    """The machine cannot be controlled by this law; the text says why and what would help."""


def laws_of(
    machine: Machine, report: LawReport | None = None, preload: Floats | None = None
) -> dict[LawKind, Law]:
    """The laws that serve this kind of machine. The first call for a kind declares their kernels.

    report: what all of them write to; preload (motors): what redundant motors' efforts stay near.
    """
    report = LawReport() if report is None else report
    if not machine.is_constrained:
        kinds = [kind for kind in LawKind if kind is not LawKind.HYBRID or machine.force_rows]
        return {kind: law_of(kind, machine, report) for kind in kinds}
    from linkwork.controller.laws.closed_chain import ClosedDamp, ClosedFloat, ClosedInverseDynamics, Motors

    motors = Motors(machine, report, preload)
    motion, damp = ClosedInverseDynamics(machine, motors), ClosedDamp(machine, motors)
    return {
        LawKind.NONE: damp,
        LawKind.DAMP: damp,
        LawKind.HOLD: motion,
        LawKind.PIDC: motion,
        LawKind.FLOAT: ClosedFloat(machine, motors),
        **_pressing(machine),
    }


def _pressing(machine: Machine) -> dict[LawKind, Law]:
    if not machine.force_rows:
        return {}
    from linkwork.controller.laws.closed_chain_hybrid import OpenedHybrid

    return {LawKind.HYBRID: OpenedHybrid(machine)}


def law_of(kind: LawKind, machine: Machine, report: LawReport | None = None) -> Law:
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
            return ProjectedInverseDynamics(machine, report)
        case LawKind.SERVO:
            return Servo(machine)
        case LawKind.FLOAT:
            return Float(machine)
        case LawKind.HYBRID:
            from linkwork.controller.laws.hybrid import Hybrid

            return Hybrid(machine)
        case LawKind.DAMP | LawKind.NONE:
            return Damp(machine)
