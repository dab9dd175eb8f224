"""Load limits of closures: `max_force_N`, `max_torque_N_m` and `on_exceed` of the section `constraints`."""

from __future__ import annotations

from linkwork.machine.description import LoadLimit
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_settings import bears, row_unit
from linkwork.machine.yaml import Document
from linkwork.multibody.mechanism import Mechanism

_KEYS = ("max_force_N", "max_torque_N_m")


def load_limits(file: MachineFile, mechanism: Mechanism, document: Document) -> tuple[LoadLimit, ...]:
    """Return the limits in the order of the file. Raises MachineError where one cannot be."""
    problems: list[Problem] = []
    limits: list[LoadLimit] = []
    first = 0
    for constraint in mechanism.constraints:
        rows = range(first, first + len(constraint.rows))
        first += len(constraint.rows)
        if constraint.name not in file.constraints:
            continue
        spec = file.constraints[constraint.name]
        for key, is_force in zip(_KEYS, (True, False), strict=True):
            most = getattr(spec, key)
            if most is None:
                continue
            unit = "N" if is_force else "N m"
            own = [
                at
                for at, row in zip(rows, constraint.rows, strict=True)
                if row_unit(mechanism, constraint, row) == unit
            ]
            if not bears(constraint) or not own:
                word, other = ("force", _KEYS[1]) if is_force else ("torque", _KEYS[0])
                remedy = f"leave it out, or limit {other}" if bears(constraint) else "leave it out"
                message = f"a constraint of type {spec.type} has no {word}"
                place = ("constraints", constraint.name, key)
                problems.append(document.problem(place, message, of_key=True, remedy=remedy))
                continue
            limits.append(LoadLimit(constraint.name, tuple(own), is_force, most, spec.on_exceed == "fault"))
    if problems:
        raise MachineError(problems)
    return tuple(limits)
