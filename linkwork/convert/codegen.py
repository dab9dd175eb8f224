"""The files that `linkwork codegen` writes: a machine's model and control law as a program, and its test."""

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.multibody import Mechanism, Workspace
from linkwork.multibody.assembly.assembly import AssemblyError, assemble
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.rotations import move_by
from linkwork.symbolic.c_source import header, source
from linkwork.symbolic.generated_program import Drive, Function, GeneratedProgram, program_of
from linkwork.symbolic.projected_law import projected_law
from linkwork.symbolic.python_source import module
from linkwork.symbolic.symbolic_model import SymbolicModel

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
    names, goals = list(machine.mechanism.coordinate_names), machine.goal_coordinates
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


@dataclass(frozen=True)
class CodegenVectors:
    """Inputs and expected outputs by name, each with one row for every state."""

    inputs: dict[str, Floats]
    expected: dict[str, Floats]
    effort: Floats | None


def vectors_for(
    machine: Machine, program: GeneratedProgram, *, single: bool, states: int = 8
) -> CodegenVectors:
    """States near the initial one, with random velocities, at time 0; expected values by the kernels.

    `single`: the inputs are rounded to floats first.
    """
    mechanism, rng = program.model.mechanism, np.random.default_rng(1)
    goals = len(program.drive.goals) if program.drive is not None else 0
    inputs: dict[str, list[Floats]] = {
        name: [] for name in ("q", "v", "goal", "goal_rate", "goal_acceleration")
    }
    expected: dict[str, list[Floats]] = {}
    efforts: list[Floats] = []
    for _ in range(states):
        q, v = _state(machine, mechanism, rng)
        wanted = rng.uniform(-1.0, 1.0, (3, goals))
        if single:
            q, v, wanted = (x.astype(np.float32).astype(np.float64) for x in (q, v, wanted))
        w = _evaluated(mechanism, q, v)
        if program.drive is not None:
            wanted[0] = 0.1 * wanted[0] + w.theta[list(program.drive.goals)]
            if single:
                wanted = wanted.astype(np.float32).astype(np.float64)
        for name, value in zip(inputs, (q, v, *wanted), strict=True):
            inputs[name].append(value)
        for name, value in _expected(w, mechanism).items():
            expected.setdefault(name, []).append(np.ravel(value))
        if program.drive is not None:
            efforts.append(_effort(program, w, *wanted))
    return CodegenVectors(
        {name: np.array(values) for name, values in inputs.items()},
        {name: np.array(values) for name, values in expected.items()},
        np.array(efforts) if efforts else None,
    )


def _state(machine: Machine, mechanism: Mechanism, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A state near the initial one that obeys the constraints."""
    reach = 0.2
    while True:
        q = machine.initial_q.copy()
        move_by(mechanism.model, q, rng.uniform(-1.0, 1.0, mechanism.nv), reach)
        v = rng.uniform(-1.0, 1.0, mechanism.nv)
        if not mechanism.constraints:
            return q, v
        try:
            found = assemble(mechanism, q, v)
        except AssemblyError:
            reach *= 0.5
            continue
        return found.q, found.v


def _evaluated(mechanism: Mechanism, q: Floats, v: Floats) -> Workspace:
    w = mechanism.workspace(q, v)
    dynamics(*w.arguments)
    coordinates(*w.arguments)
    constraint_rows(*w.arguments)
    return w


def _expected(w: Workspace, mechanism: Mechanism) -> dict[str, Floats]:
    """Everything that the functions of a program compute, by the names of their results."""
    alpha, beta = w.baumgarte.T if len(w.phi) else (0.0, 0.0)
    return {
        "M": w.M,
        "h": w.h,
        "phi": w.phi,
        "A": w.A,
        "Adot_v": -(w.b + alpha * w.phi_rate + beta * w.phi),
        "theta": w.theta,
        "J": w.J,
        "Jdot_v": w.Jdv,
        "positions": w.point_position,
        "axes": _axes(mechanism, w),
    }


def _axes(mechanism: Mechanism, w: Workspace) -> Floats:
    """Axes of the points' bodies in the world, as columns one after the other (points × 9)."""
    found, axes = [], w.axes.reshape(-1, 3, 3)
    for k in range(len(mechanism.point_names)):
        link = w.model.point_link[k]
        found.append(w.model.point_axes[3 * k : 3 * k + 3] @ (axes[link] if link >= 0 else np.eye(3)))
    return np.array(found).reshape(-1, 9)


def _effort(
    program: GeneratedProgram, w: Workspace, goal: Floats, rate: Floats, acceleration: Floats
) -> Floats:
    """The law's efforts, far from any limit."""
    drive, mechanism = program.drive, program.model.mechanism
    assert drive is not None
    index, effort = list(drive.goals), np.empty(len(drive.motors))
    wraps = np.array(mechanism.coordinate_wraps)[index]
    places, weights = np.array(drive.motors), np.array(drive.weights)
    rows, columns = (np.array(scale) for scale in program.scales())
    terms = w.M, w.h - w.friction, w.A, -w.b, w.theta[index], w.J[index], w.Jdv[index]
    motors = wraps, places, weights, rows, columns
    reference = goal, rate, acceleration
    projected_law(w.v, terms, reference, drive.bandwidth_rad_s, drive.damping_ratio, motors, effort)
    return effort


TOLERANCE = {False: 1e-12, True: 1e-5}
"""Relative to the largest entry; of doubles and of floats."""

_CHECK = """\
/* Largest difference, relative to the largest expected number, or to `size` where that is larger. */
static double gap(const {real} *found, const double *expected, int count, double size)
{{
    double most = 0.0;
    for (int k = 0; k < count; ++k) {{
        const double off = fabs((double)found[k] - expected[k]);
        most = off > most || off != off ? off : most;
        size = fabs(expected[k]) > size ? fabs(expected[k]) : size;
    }}
    return most / size;
}}

static int judge(const char *what, double worst)
{{
    const int good = worst <= {tolerance};
    printf("%-12s %.1e %s\\n", what, worst, good ? "ok" : "TOO LARGE");
    return good ? 0 : 1;
}}
"""


def c_test(program: GeneratedProgram, vectors: CodegenVectors, *, single: bool) -> str:
    """A program that ends with 0 where every result agrees with its vector, else with 1."""
    name, real = program.name, f"{program.name}_real"
    states = len(vectors.inputs["q"])
    lines = [
        f"/* Test of {name}.c against vectors from linkwork's own kernels, at {states} states; generated. */",
        f'#include "{name}.h"',
        "",
        "#include <math.h>",
        "#include <stdio.h>",
        "",
        f"enum {{ STATES = {states} }};",
        *(_array(key, real, values, single=single) for key, values in vectors.inputs.items() if values.size),
        *(
            _array(f"expected_{key}", "double", values)
            for key, values in vectors.expected.items()
            if values.size
        ),
    ]
    if vectors.effort is not None:
        lines.append(_array("expected_effort", "double", vectors.effort))
    lines += ["", _CHECK.format(real=real, tolerance=repr(TOLERANCE[single])), "int main(void)", "{"]
    lines += ["    int bad = 0;"]
    for function in program.functions:
        lines += _trial(program, function)
    if vectors.effort is not None and program.terms is not None:
        lines += _law_trial(program, float(np.abs(vectors.effort).max()), single=single)
    lines += ['    puts(bad ? "not in agreement" : "in agreement");', "    return bad ? 1 : 0;", "}"]
    return "\n".join(lines) + "\n"


def _array(name: str, real: str, values: NDArray[np.float64], *, single: bool = False) -> str:
    suffix = "F" if single else ""
    rows = ["{" + ", ".join(f"{float(x)!r}{suffix}" for x in row) + "}" for row in values]
    body = ",\n    ".join(rows)
    return f"static const {real} {name}[STATES][{values.shape[1]}] = {{\n    {body},\n}};"


def _trial(program: GeneratedProgram, function: Function) -> list[str]:
    zero = "0"
    given = [zero if each == "t" else f"{each}[s]" for each in function.inputs]
    sizes = {part.name: len(part.entries) for part in function.parts}
    call = f"{program.name}_{function.name}({', '.join([*given, *sizes])})"
    real = f"{program.name}_real"
    lines = [
        "    {",
        f"        double worst[{len(sizes)}] = {{0.0}};",
        "        for (int s = 0; s < STATES; ++s) {",
    ]
    lines += [f"            {real} {name}[{size}];" for name, size in sizes.items()]
    lines += [f"            {call};"]
    for k, (name, size) in enumerate(sizes.items()):
        lines += [
            f"            const double off_{name} = gap({name}, expected_{name}[s], {size}, {_least(name)});",
            f"            worst[{k}] = off_{name} > worst[{k}] ? off_{name} : worst[{k}];",
        ]
    lines += ["        }"]
    lines += [f'        bad |= judge("{name}", worst[{k}]);' for k, name in enumerate(sizes)]
    return [*lines, "    }"]


def _least(name: str) -> str:
    """Size of the terms of which residuals, and what goes with v², are differences."""
    return {"phi": "1.0", "Adot_v": "0.1", "Jdot_v": "0.1"}.get(name, "1e-3")


def _law_trial(program: GeneratedProgram, largest: float, *, single: bool) -> list[str]:
    """Relative to the largest effort of all states: a small one is a difference of large terms."""
    drive, terms = program.drive, program.terms
    assert drive is not None
    assert terms is not None
    suffix = "F" if single else ""
    given = ["q[s]", "v[s]", *(["0"] if "t" in terms.inputs else [])]
    given += ["goal[s]", "goal_rate[s]", "goal_acceleration[s]"]
    given += [f"{drive.bandwidth_rad_s!r}{suffix}", f"{drive.damping_ratio!r}{suffix}"]
    count = len(drive.motors)
    return [
        "    {",
        "        double worst = 0.0;",
        "        for (int s = 0; s < STATES; ++s) {",
        f"            {program.name}_real effort[{count}];",
        f"            {program.name}_inverse_dynamics({', '.join(given)}, effort);",
        f"            const double off = gap(effort, expected_effort[s], {count}, {max(largest, 1e-3)!r});",
        "            worst = off > worst ? off : worst;",
        "        }",
        '        bad |= judge("effort", worst);',
        "    }",
    ]
