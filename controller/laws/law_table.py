"""Make the laws of a machine from their table (protocol/laws.py), or refuse the machine."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from linkwork.controller.laws.law import Law
from linkwork.controller.laws.law_motors import Motors
from linkwork.machine import Machine
from linkwork.protocol.laws import LawKind


class LawRefused(Exception):
    """The machine cannot be controlled by this law; the text says why and what would help."""


def laws_of(machine: Machine, motors: Motors | None = None) -> dict[LawKind, Law]:
    """The laws that serve this machine, over its motors.

    Laws of one factory share one object. Raises LawRefused where a joint has no motor and no closure holds
    it, and for a `law_class` that is not there.
    """
    _check_driven(machine)
    motors = motors or Motors(machine)
    made: dict[str, Law] = {}
    found: dict[LawKind, Law] = {}
    for kind in LawKind:
        factory = kind.spec.factory if kind.spec.serves(constrained=machine.is_constrained) else ""
        if kind is LawKind.CUSTOM and machine.controller.law == kind.label:
            factory = machine.controller.law_class or ""
        if not factory or (kind.spec.follows == "force" and not machine.force_rows):
            continue
        if factory not in made:
            made[factory] = _class(factory)(machine, motors)
        found[kind] = made[factory]
    return found


def _class(name: str) -> Callable[..., Law]:
    """Import a law. Raises LawRefused for one of another package that is not there."""
    if name.startswith("linkwork."):
        return _named(name)
    here = str(Path.cwd())
    if here not in sys.path:  # at the end, so that no file there can shadow linkwork's modules
        sys.path.append(here)
    try:
        return _named(name)
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


def _check_driven(machine: Machine) -> None:
    driven = {motor.index for motor in machine.motors}
    passive = [name for index, name in enumerate(machine.mechanism.joint_names) if index not in driven]
    if passive and not machine.is_constrained:
        raise LawRefused(
            f"{machine.name}: no motor drives {', '.join(passive)}; a machine without closures needs a motor "
            "on every joint (add it to `motors`)"
        )


def _named(name: str) -> Callable[..., Law]:
    """Import the class of `module:Class`."""
    module, _, member = name.partition(":")
    law: Callable[..., Law] = getattr(import_module(module), member)
    return law
