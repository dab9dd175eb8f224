"""Make the laws of a machine from their table (protocol/laws.py), or refuse the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from linkwork.arrays import Floats
from linkwork.controller.laws.law import (
    Law,
    LawReport,
)
from linkwork.machine import Machine
from linkwork.machine.chains import resolved
from linkwork.protocol.laws import LawKind


class LawRefused(Exception):
    """The machine cannot be controlled by this law; the text says why and what would help."""


def laws_of(
    machine: Machine, report: LawReport | None = None, preload: Floats | None = None
) -> dict[LawKind, Law]:
    """The laws that serve this kind of machine.

    report: what all of them write to; preload (motors): what redundant motors' efforts stay near. Laws of one
    factory share one object. Raises LawRefused where joints of an open chain carry no motor, and
    for a `law_class` that is not there.
    """
    report = LawReport() if report is None else report
    shared = resolved(machine.chain.law_setup)(machine, report, preload)
    made: dict[str, Law] = {}
    found: dict[LawKind, Law] = {}
    for kind in LawKind:
        factory: str = getattr(kind.spec, machine.chain.law_factory)
        if kind is LawKind.CUSTOM and machine.controller.law == kind.label:
            factory = machine.controller.law_class or ""
        if not factory or (kind.spec.follows == "force" and not machine.force_rows):
            continue
        if factory not in made:
            made[factory] = _class(factory)(machine, shared)
        found[kind] = made[factory]
    return found


def _class(name: str) -> Callable[..., Law]:
    """Import a law. Raises LawRefused for one of another package that is not there."""
    if name.startswith("linkwork."):
        return resolved(name)  # type: ignore[no-any-return]
    here = str(Path.cwd())
    if here not in sys.path:  # at the end, so that no file there can shadow linkwork's modules
        sys.path.append(here)
    try:
        return resolved(name)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise LawRefused(
            f"controller.law_class {name}: {error}; check that it is installed or in this folder"
        ) from error


def law_of(kind: LawKind, machine: Machine) -> Law:
    """One law of a machine. Raises LawRefused as `laws_of`, and where the machine has no such law."""
    laws = laws_of(machine)
    if kind not in laws:
        there = ", ".join(each.label for each in laws)
        raise LawRefused(f"{machine.name}: law {kind.label} is not available for it; available: {there}")
    return laws[kind]


def driven_report(machine: Machine, report: LawReport, _preload: Floats | None) -> LawReport:
    """Return the report, which laws of open chains share. Raises LawRefused where a joint has no motor.

    `_preload` (motors) has no effect on open chains.
    """
    driven = {motor.index for motor in machine.motors}
    passive = [name for index, name in enumerate(machine.mechanism.joint_names) if index not in driven]
    if passive:
        raise LawRefused(
            f"{machine.name}: no motor drives {', '.join(passive)}; a machine without closures needs a motor "
            "on every joint (add it to `motors`)"
        )
    return report
