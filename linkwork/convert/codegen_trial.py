"""The test program that goes with generated C: the functions against vectors, printed and judged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.convert.codegen_vectors import Vectors
from linkwork.multibody.symbolic.generated_program import Function, GeneratedProgram

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


def c_test(program: GeneratedProgram, vectors: Vectors, *, single: bool) -> str:
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
