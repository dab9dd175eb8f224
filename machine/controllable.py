"""Which machines the controller runs: so far those without constraints and without quaternions."""

from __future__ import annotations

from machine.description import Machine
from machine.problems import MachineError
from machine.yaml import parse_yaml


def for_controller(machine: Machine) -> Machine:
    """Return the machine if the controller can run it. Raises MachineError with what can be done."""
    document = parse_yaml(machine.source_text, machine.path)
    remedy = f"run its plant alone, or simulate it: linkwork simulate {machine.name} --duration 10"
    if machine.is_constrained:
        message = "the controller does not run machines with constraints yet"
        found = ", ".join(machine.mechanism.constraint_names)
        path: tuple[str, ...] = ("constraints",)
    elif machine.mechanism.nq != machine.mechanism.nv:
        message = "the controller does not run joints with quaternions yet"
        found = ", ".join(machine.mechanism.position_names[machine.mechanism.nv :])
        path = ("joints", found.partition(".")[0])
    else:
        return machine
    raise MachineError([document.problem(path, message, of_key=True, found=found, remedy=remedy)])
