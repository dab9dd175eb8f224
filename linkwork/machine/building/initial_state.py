"""Initial state of a machine: the file's values, projected onto the constraint manifold."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.dof_names import degrees_of_freedom, initial_keys, joint_limits
from linkwork.machine.building.initial_assembly import SpeedsOfNoBranch, ValueNotKept, assembled
from linkwork.machine.building.kept_values import balls, values_of, way_between
from linkwork.machine.description import Assembly, Unkept
from linkwork.machine.problems import MachineError, Problem, refuse
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.orientation import rotation_of
from linkwork.machine.units import UnitKey
from linkwork.machine.yaml_document import Document
from linkwork.multibody.assembly.assembly import AssemblyError
from linkwork.multibody.mechanism import Mechanism

_AGREES = 0.005
"""Largest error of a given value that others determine, rad or typical lengths: rounded to half a degree."""
_ROUNDED = 0.05
"""Difference of a speed from the given one, as a share of the largest given, that rounding may explain."""
_NO_SPEED = 1e-9
"""Share of the largest speed, and speed in rad or typical lengths per second, below which it is round-off."""


def given_state(file: MachineFile, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Return q (nq; rad or m) and v (nv) from the file, zero by default."""
    q, v = np.zeros(mechanism.nq), np.zeros(mechanism.nv)
    order, known = list(degrees_of_freedom(file)), initial_keys(file)
    turns: dict[str, float] = {}
    for key, value in (file.initial_guess | file.initial).items():
        quantity = known[key]
        if quantity.name not in order:
            turns[quantity.name] = value * quantity.factor
        else:
            (v if quantity.is_speed else q)[order.index(quantity.name)] = value * quantity.factor
    if mechanism.nq == mechanism.nv:
        return q, v

    for ball in balls(mechanism):
        ball.set_rotation(q, rotation_of(*(turns.get(name, 0.0) for name in ball.values())))
    return q, v


def initial_state(
    file: MachineFile, mechanism: Mechanism, document: Document, near: Floats | None = None
) -> tuple[Floats, Floats, Assembly]:
    """Return the initial q (nq) and v (nv), read-only, and how they were found. Raises MachineError.

    The search begins at the file's values, or at a pose `near` (nq).
    """
    given_q, given_v = given_state(file, mechanism)
    q, v = given_q.copy(), given_v.copy()
    if not mechanism.constraints:
        found = Assembly(mechanism.nv, 0, 0, 0, 0.0, 0, tuple(_given(file, speeds=False)), ())
    else:
        q, v, found = _assembled(file, mechanism, document, q, v, near)
        found = replace(found, unkept=tuple(_unkept(file, mechanism, given_q, q, found.kept)))
        problems = list(_changed_speeds(file, mechanism, document, given_v, v))
        refuse(problems)
        _check_limits(file, document, q)
    q.setflags(write=False)
    v.setflags(write=False)
    return q, v, found


def unkept_warnings(
    document: Document, file: MachineFile, assembly: Assembly, mechanism: Mechanism
) -> Iterator[Problem]:
    """Return a warning for each given position that the constraints and the values before it do not allow."""
    known = initial_keys(file)
    size = mechanism.model.column_scale
    for value in assembly.unkept:
        typical = size[mechanism.joint_index(value.name)] if value.name in mechanism.joint_names else 1.0
        if abs(value.found - value.given) <= _AGREES * typical:
            continue
        key = next(k for k in file.initial if known[k].name == value.name and not known[k].is_speed)
        yield document.problem(
            ("initial", key),
            "this value is not kept: the constraints and the values before it in `initial` determine it",
            of_key=True,
            found=f"{_in_units(key, known[key], value.given)}, which is off by "
            f"{_in_units(key, known[key], abs(value.found - value.given))}",
            allowed=_in_units(key, known[key], value.found),
            remedy="give this value, name it before the others to keep it, or move it to `initial_guess` "
            "if it only selects the assembly mode",
            severity="warning",
        )


def _in_units(key: str, quantity: UnitKey, value: float) -> str:
    unit = key.removeprefix(f"{quantity.name}_").replace("_s", "/s")
    return f"{value / quantity.factor:.6g} {unit}"


def _unkept(
    file: MachineFile, mechanism: Mechanism, given: Floats, q: Floats, kept: tuple[str, ...]
) -> Iterator[Unkept]:
    """Return the given values that were not kept, as they were given and found."""
    before, after = values_of(mechanism, given), values_of(mechanism, q)
    way = way_between(mechanism, before, after)
    for name in _given(file, speeds=False):
        if name not in kept:
            yield Unkept(name, before[name], before[name] + way[name])


def _changed_speeds(
    file: MachineFile, mechanism: Mechanism, document: Document, given: Floats, v: Floats
) -> Iterator[Problem]:
    """Return a problem for each given speed that the constraints and the speeds before it do not allow."""
    known = initial_keys(file)
    size = mechanism.model.column_scale
    keys = [key for key in file.initial if known[key].is_speed]
    places = [mechanism.joint_index(known[key].name) for key in keys]
    largest = float(np.abs(given / size)[places].max(initial=0.0))
    fastest = float(np.abs(v / size[: len(v)]).max(initial=1.0))
    allowed = max(_ROUNDED * largest, _NO_SPEED * fastest)
    for key, place in zip(keys, places, strict=True):
        if abs(given[place] - v[place]) > allowed * size[place]:
            quantity = known[key]
            yield document.problem(
                ("initial", key),
                "this speed cannot be kept: the constraints and the speeds before it determine it",
                of_key=True,
                found=f"{_in_units(key, quantity, given[place])}, which is off by "
                f"{_in_units(key, quantity, abs(given[place] - v[place]))}",
                allowed=_in_units(key, quantity, v[place]),
                remedy="give this speed, leave it out, or name it before the others",
            )


def _given(file: MachineFile, *, speeds: bool) -> list[str]:
    """Return the coordinates whose position or speed the file gives, in its order."""
    known = initial_keys(file)
    return [known[key].name for key in file.initial if known[key].is_speed == speeds]


def _assembled(
    file: MachineFile,
    mechanism: Mechanism,
    document: Document,
    q: Floats,
    v: Floats,
    near: Floats | None,
) -> tuple[Floats, Floats, Assembly]:
    known = initial_keys(file)
    guessed = {known[key].name for key in file.initial_guess}
    first = [*_given(file, speeds=False), *(name for name in file.motors if name not in guessed)]
    try:
        return assembled(mechanism, q, v, first, _given(file, speeds=True), near)
    except SpeedsOfNoBranch as error:
        raise MachineError([_of_no_branch(file, document, error)]) from None
    except ValueNotKept as error:
        raise MachineError([_unreachable(file, document, error)]) from None
    except AssemblyError as error:
        named = {row.partition(".")[0] for row in error.rows}
        tell = _contradicted if error.of_velocity else _open
        problems = [tell(document, name, error.residual) for name in file.constraints if name in named]
        raise MachineError(problems) from None


def branch_warnings(document: Document, assembly: Assembly) -> Iterator[Problem]:
    """Return a warning where the initial speeds that are given belong to several branches of the motion."""
    if assembly.branches:
        chosen, *others = assembly.branches
        yield document.problem(
            ("initial",),
            "branches of the motion meet in the initial pose, and several have the speeds that are "
            "given; it starts on the one whose velocity is nearest to them in kinetic energy",
            of_key=True,
            found=chosen,
            allowed="also " + "; or ".join(others[:3]),
            remedy="give the speeds that distinguish the branches",
            severity="warning",
        )


def _of_no_branch(file: MachineFile, document: Document, error: SpeedsOfNoBranch) -> Problem:
    """Return the problem at the speed that fits no branch together with those before it."""
    known = initial_keys(file)
    keys = [key for key in file.initial if known[key].is_speed and known[key].name in error.held]
    given = ", ".join(_in_units(key, known[key], file.initial[key] * known[key].factor) for key in keys)
    return document.problem(
        ("initial", *keys[-1:]),
        "branches of the motion meet in the initial pose, and these speeds belong to none of them",
        of_key=True,
        found=f"{', '.join(error.held)}: {given or 'at rest'}",
        allowed="; or ".join(error.choices[:4]) or "no branch was found with the first of these speeds",
        remedy="give the speeds of one branch, fewer speeds, or another initial pose",
    )


def _unreachable(file: MachineFile, document: Document, error: ValueNotKept) -> Problem:
    known = initial_keys(file)
    keys = [key for key, quantity in known.items() if quantity.name == error.name and not quantity.is_speed]
    given = [key for key in file.initial if key in keys]
    path = ("initial", *given)
    name = "this value" if given else f"{error.name}, which is kept at 0 as it is not given,"
    key = given[0] if given else keys[0]
    quantity = known[key]
    open_rows = ", ".join(error.rows)
    return document.problem(
        path,
        f"{name} cannot be kept under the constraints and the values before it in `initial`",
        of_key=True,
        found=f"{_in_units(key, quantity, error.wanted)}, which is off by "
        f"{_in_units(key, quantity, abs(error.wanted - error.reached))}"
        + (f" (beyond, {open_rows} cannot be met)" if open_rows else ""),
        allowed=f"{_in_units(key, quantity, error.reached)} at most, on the way from the nearest pose",
        remedy="give a value that can be reached, or initial values of another branch, or name it after "
        "those that may change instead",
    )


def _contradicted(document: Document, name: str, residual: float) -> Problem:
    return document.problem(
        ("constraints", name),
        "no velocity satisfies this constraint and the others in the initial pose",
        of_key=True,
        found=f"open by {residual:.3g} typical lengths (or rad) per second",
        allowed="constraints that do not contradict each other",
        remedy="prescribe no more speeds than the machine has degrees of freedom, or give another"
        " initial pose",
    )


def _open(document: Document, name: str, residual: float) -> Problem:
    return document.problem(
        ("constraints", name),
        "this constraint cannot be satisfied near the initial pose",
        of_key=True,
        found=f"open by {residual:.3g} typical lengths (or rad)"
        if math.isfinite(residual)
        else "not a number at this pose",
        allowed="a machine that can be assembled",
        remedy="check lengths and frames, or give initial values nearer to the intended pose",
    )


def _check_limits(file: MachineFile, document: Document, q: Floats) -> None:
    problems = []
    for index, (name, is_angle) in enumerate(degrees_of_freedom(file).items()):
        own = joint_limits(file, name)
        low, high = (-math.inf, math.inf) if own is None else own.position
        slack = 1e-9 * max(1.0, abs(q[index]))
        if not low - slack <= q[index] <= high + slack:
            f, unit = (math.degrees(1.0), "deg") if is_angle else (1.0, "m")
            problems.append(
                document.problem(
                    ("joints", name.partition(".")[0], "limits"),
                    "the assembled machine would start outside the limits of this joint",
                    of_key=True,
                    found=f"{q[index] * f:g} {unit}",
                    allowed=f"{low * f:g} to {high * f:g} {unit}",
                    remedy=f"give initial values of another branch, say, for {name}, or move the limits",
                )
            )
    refuse(problems)
