"""From the coordinates a goal names to a full independent set: as many as the machine has degrees of freedom.

Only joints named: the other joints hold; where joints close on each other or turn by quaternions, the other
motors, else those of the file's goal coordinates. Where there are more motors than degrees of freedom, the
first ones that make a full set hold. Only task coordinates named: the other task coordinates hold, if
that makes a full set. A mixture must be full by itself.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from linkwork.controller.planning.checks.singularity import dependent, independent
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.machine import Machine
from linkwork.machine.nearest_name import MOST_LISTED, no_such
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError

_UNITS = ("_deg", "_rad", "_mm", "_m")


def index_of(machine: Machine, name: str, path: Sequence[str | int]) -> int:
    """Place of a coordinate. Raises RequestError (INVALID_COORDINATES) with the names there are."""
    index = machine.coordinate_index(name)
    if index is None:
        names = machine.mechanism.coordinate_names
        text = no_such("coordinate", name, names, MOST_LISTED)
        if name.endswith(_UNITS):
            text += "; positions are in rad and m here"
        raise RequestError(
            ResultCode.INVALID_COORDINATES, text, path, {"coordinate": name, "allowed": list(names)}
        )
    return index


def complete(
    machine: Machine, named: Sequence[int], start: Start, path: Sequence[str | int]
) -> tuple[int, ...]:
    """The full set: those named and those that hold, in the order of the loop's reference or of the
    mechanism.

    Raises RequestError (INVALID_COORDINATES) when the set is too large, dependent, or cannot be completed.
    """
    mechanism = machine.mechanism
    dof, names = machine.dof, mechanism.coordinate_names
    joints = set(machine.home_coordinates)
    motors = _with_motors(machine, named, start)
    tasks = [index for index in range(machine.joint_coordinates, len(names)) if "." not in names[index]]
    chosen = set(named)
    if len(motors) == dof:
        chosen = motors
    elif chosen <= joints:
        chosen = joints
    elif len(chosen) < dof and chosen <= set(tasks) and len(tasks) == dof:
        chosen = set(tasks)
    said = ", ".join(names[index] for index in named)
    data: dict[str, Any] = {"coordinates": [names[index] for index in named], "degrees_of_freedom": dof}
    if len(chosen) > dof:
        text = f"{said}: {len(chosen)} coordinates, but the machine has {dof} degrees of freedom"
        raise RequestError(ResultCode.INVALID_COORDINATES, text, path, data)
    if len(chosen) < dof:
        missing = dof - len(chosen)
        useful = [
            names[index]
            for index in range(len(names))
            if index not in chosen and independent(mechanism, sorted((*chosen, index)), start.q)
        ]
        text = (
            f"{said} leave {missing} of {dof} degrees of freedom undetermined;"
            f" name {missing} more of {', '.join(useful)}"
        )
        raise RequestError(ResultCode.INVALID_COORDINATES, text, path, {**data, "allowed": useful})
    ordered = start.reference if chosen == set(start.reference) else tuple(sorted(chosen))
    if not independent(mechanism, ordered, start.q):
        _refuse_dependent(machine, ordered, start, path, data)
    return ordered


def _with_motors(machine: Machine, named: Sequence[int], start: Start) -> set[int]:
    """Motors' coordinates, those named and others that are independent of them; none if another is named."""
    motors, chosen = machine.motor_coordinates, set(named)
    if not machine.is_constrained or not chosen <= set(motors):
        return set()
    if len(motors) == machine.dof:
        return set(motors) if independent(machine.mechanism, motors, start.q) else set()
    for motor in motors:
        if len(chosen) < machine.dof and independent(machine.mechanism, [*chosen, motor], start.q):
            chosen.add(motor)
    return chosen


def _refuse_dependent(
    machine: Machine,
    chosen: Sequence[int],
    start: Start,
    path: Sequence[str | int],
    data: dict[str, Any],
) -> NoReturn:
    """Describe which coordinates depend on each other, and which could replace one of them."""
    mechanism, names = machine.mechanism, machine.mechanism.coordinate_names
    tied = dependent(mechanism, chosen, start.q)
    spare = tied[-1]
    kept = [index for index in chosen if index != spare]
    useful = [
        names[index]
        for index in range(len(names))
        if index not in chosen and independent(mechanism, (*kept, index), start.q)
    ]
    where = " at this pose" if machine.is_constrained else " on this machine"
    said = ", ".join(names[index] for index in chosen)
    text = f"{said} are not independent{where}: "
    if len(tied) == 1:
        text += f"{names[tied[0]]} does not move while the others are held"
    else:
        first = ", ".join(names[index] for index in tied[:-1])
        text += f"{first} and {names[tied[-1]]} depend on each other"
    if useful:
        text += f"; replace one of them by one of {', '.join(useful)}"
    dependents = [names[index] for index in tied]
    raise RequestError(
        ResultCode.INVALID_COORDINATES, text, path, {**data, "dependent": dependents, "allowed": useful}
    )
