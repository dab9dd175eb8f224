"""A program as a Python module: functions that write their results into given arrays."""

import inspect
import re
import textwrap

import numpy as np

from linkwork.symbolic.code import CodeLanguage, input_names, python
from linkwork.symbolic.generated_program import Function, GeneratedProgram
from linkwork.symbolic.projected_law import projected_law

_HEAD = '''\
"""{about}

Generated from the machine file by linkwork codegen; do not edit. SI units and radians. Functions write their
results into the arrays given last; quaternions in q must be of unit length.

{names}
"""

import math

import numpy as np

{sizes}
'''


_LAW = '''\
def inverse_dynamics(q, v, {time}goal, goal_rate, goal_acceleration, omega, zeta, effort):
    """Projected inverse dynamics: writes the motors' efforts (N m or N) that make the goal coordinates obey
    eddot + 2 zeta omega edot + omega^2 e = 0 about their reference, the smallest in the metric of the motors'
    limits; friction is compensated. The file has omega = {omega:g} rad/s, zeta = {zeta:g}.
    Returns how well the motors hold the goal coordinates; 0, and efforts of 0, where there is no solution.
    """
    M, load, A, Adot_v = np.empty((NV, NV)), np.empty(NV), np.empty((ROWS, NV)), np.empty(ROWS)
    theta, J, Jdot_v = np.empty(GOALS), np.empty((GOALS, NV)), np.empty(GOALS)
    _terms({inputs}, {results})
    terms = M, load, A, Adot_v, theta, J, Jdot_v
    reference = goal, goal_rate, goal_acceleration
    return _law(v, terms, reference, omega, zeta, _MOTORS, effort)
'''


def module(program: GeneratedProgram) -> str:
    """The text of the module."""
    language, m = python(input_names(program.model)), program.model.mechanism
    lists = {
        "q": m.position_names,
        "v": m.joint_names,
        "rows": m.row_names,
        "coordinates": m.coordinate_names,
    }
    lists["points"] = m.point_names
    if program.drive is not None:
        lists["goals"] = tuple(m.coordinate_names[k] for k in program.drive.goals)
        lists["motors"] = tuple(m.joint_names[k] for k in program.drive.motors)
    names = "\n".join(f"    {key}: {', '.join(each)}" for key, each in lists.items() if each)
    sizes = "\n".join(f"{key} = {value}" for key, value in program.sizes.items())
    blocks = [_HEAD.format(about=textwrap.fill(program.about, 100), names=names, sizes=sizes)]
    blocks += [_function(language, each, each.name) for each in program.functions]
    if program.drive is not None and program.terms is not None:
        blocks += [_function(language, program.terms, "_terms"), _law(program)]
    return "\n\n".join(blocks).rstrip() + "\n"


def _function(language: CodeLanguage, function: Function, name: str) -> str:
    arguments = [*function.inputs, *(part.name for part in function.parts)]
    shapes = ", ".join(f"{part.name} {' × '.join(map(str, part.shape))}" for part in function.parts)
    lines = [
        f"def {name}({', '.join(arguments)}):",
        f'    """{function.about} Writes {shapes}."""',
    ]
    lines += [f"    {each.symbol} = {language.text(each.value)}" for each in function.definitions]
    for part in function.parts:
        for k, entry in enumerate(part.entries):
            lines.append(f"    {part.name}[{_index(k, part.shape)}] = {language.text(entry)}")
    return "\n".join(lines) + "\n"


def _index(k: int, shape: tuple[int, ...]) -> str:
    places: list[str] = []
    for length in reversed(shape):
        k, place = divmod(k, length)
        places.append(str(place))
    return ", ".join(reversed(places))


def _law(program: GeneratedProgram) -> str:
    drive, terms, m = program.drive, program.terms, program.model.mechanism
    assert drive is not None
    assert terms is not None
    motors = ([m.coordinate_wraps[k] for k in drive.goals], drive.motors, drive.weights, *program.scales())
    lists = "".join(f"    np.array({np.array(each).tolist()}),\n" for each in motors)
    named = ", ".join(inspect.signature(projected_law).parameters)
    untyped = re.sub(
        r"\(.*?\) -> float:", f"({named}):", inspect.getsource(projected_law), count=1, flags=re.S
    )
    text = _LAW.format(
        time="t, " if "t" in terms.inputs else "",
        omega=drive.bandwidth_rad_s,
        zeta=drive.damping_ratio,
        inputs=", ".join(terms.inputs),
        results=", ".join(part.name for part in terms.parts),
    )
    return f"_MOTORS = (\n{lists})\n\n\n{untyped.replace('def projected', 'def ', 1)}\n\n{text}"
