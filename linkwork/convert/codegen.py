"""The files that `linkwork codegen` writes: a machine's model and control law as a program, and its test."""

from __future__ import annotations

import re
from typing import Literal

from linkwork.convert.codegen_trial import c_test
from linkwork.convert.codegen_vectors import vectors_for
from linkwork.machine import Machine
from linkwork.multibody import Mechanism
from linkwork.multibody.symbolic.c_source import header, source
from linkwork.multibody.symbolic.generated_program import Drive, GeneratedProgram, program_of
from linkwork.multibody.symbolic.python_source import module
from linkwork.multibody.symbolic.symbolic_model import SymbolicModel

Language = Literal["c", "python"]


def generate(machine: Machine, language: Language, *, single: bool = False) -> dict[str, str]:
    """The texts by file name. C: NAME.h, NAME.c and NAME_test.c; Python: NAME_model.py.

    `single` is for C alone: floats instead of doubles.
    """
    program = program_for(machine)
    if language == "python":
        return {f"{program.name}_model.py": module(program)}
    vectors = vectors_for(machine, program, single=single)
    return {
        f"{program.name}.h": header(program, single=single),
        f"{program.name}.c": source(program, single=single),
        f"{program.name}_test.c": c_test(program, vectors, single=single),
    }


def program_for(machine: Machine) -> GeneratedProgram:
    """The model with the constraints that hold at the start, and the law where the motors suffice for it."""
    model = SymbolicModel(switched_on(machine.mechanism))
    about = commented(machine.about) or f"The machine {machine.name}."
    return program_of(model, identifier(machine.name), about, drive_of(machine))


def identifier(name: str) -> str:
    """A machine's name as one of C and Python."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower()
    return plain if plain[:1].isalpha() else f"machine_{plain}"


def commented(about: str) -> str:
    """A text that begins and ends no comment of C, and no string of Python."""
    plain = about.replace("\\", "/").replace('"', "'").replace("??", "? ?")
    while "*/" in plain or "/*" in plain:
        plain = plain.replace("*/", "* /").replace("/*", "/ *")
    return " ".join(plain.split())


def switched_on(mechanism: Mechanism) -> Mechanism:
    """The mechanism without the constraints that begin switched off."""
    m = mechanism
    on = [constraint for constraint in m.constraints if constraint.on]
    if len(on) == len(m.constraints):
        return m
    return m.changed(constraints=on)


def drive_of(machine: Machine) -> Drive | None:
    """The control law's numbers; None with too few motors or a wrong number of goals."""
    names, goals = list(machine.mechanism.coordinate_names), machine.controller.goal_coordinates
    free = machine.dof
    if len(goals) != free or len(machine.motors) < free:
        return None
    if not machine.is_constrained and len(machine.motors) != machine.mechanism.nv:
        return None
    return Drive(
        goals=tuple(names.index(name) for name in goals),
        motors=tuple(motor.index for motor in machine.motors),
        weights=tuple(machine.effort_weights.tolist()),
        dof=free,
        bandwidth_rad_s=machine.controller.bandwidth_rad_s,
        damping_ratio=machine.controller.damping_ratio,
    )
