"""A program as a Python module: functions that write their results into given arrays."""

import textwrap

from linkwork.symbolic.code import CodeLanguage, input_names, python
from linkwork.symbolic.generated_program import Function, GeneratedProgram
from linkwork.symbolic.python_law import LAW

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
    drive, m = program.drive, program.model.mechanism
    assert drive is not None
    assert program.terms is not None
    rows, columns = program.scales()
    text = LAW["closed" if drive.dof < m.nv else "tree"]
    for key, value in {
        "TIME": "t, " if "t" in program.terms.inputs else "",
        "TERM_INPUTS": ", ".join(program.terms.inputs),
        "OMEGA": f"{drive.bandwidth_rad_s:g}",
        "ZETA": f"{drive.damping_ratio:g}",
        "WRAPS": repr([bool(m.coordinate_wraps[k]) for k in drive.goals]),
        "MOTORS": repr(list(drive.motors)),
        "WEIGHTS": repr([float(x) for x in drive.weights]),
        "ROW_SCALES": repr(rows),
        "COLUMN_SCALES": repr(columns),
    }.items():
        text = text.replace(f"${key}$", value)
    return text
