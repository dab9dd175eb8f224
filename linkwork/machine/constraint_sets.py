"""The machine under each set of its switchable constraints, as the controller's model needs it.

A set is a bit mask: bit i is set while the i-th of `Machine.switchable` holds. All sets share bodies, joints,
rows and coordinates, and so the sizes of every state. They differ in their degrees of freedom, in the pose
from which other poses are searched, and in the coordinates that are controlled while the machine holds or
jogs.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.initial_assembly import admitted_velocities, assembled, holding
from linkwork.machine.checks.controllability import refusals
from linkwork.machine.description import Assembly, Machine
from linkwork.multibody.assembly.assembly import AssemblyError
from linkwork.multibody.functions import coordinate_jacobian
from linkwork.multibody.mechanism import Mechanism


def constraint_sets(machine: Machine) -> Mapping[int, Machine | str]:
    """Return the machine under every set of its switchable constraints; a text says why one cannot be run.

    Of a machine without switchable constraints: itself, under -1.
    """
    start = machine.closed_at_start
    if start < 0:
        return {-1: machine}
    sets: dict[int, Machine | str] = {start: machine}
    for closed in range(1 << len(machine.switchable)):
        if closed != start:
            sets[closed] = under(machine, closed)
    return dict(sorted(sets.items()))


def names_of(machine: Machine, closed: int) -> tuple[str, ...]:
    """Return the switchable constraints that hold in a set."""
    return tuple(name for i, name in enumerate(machine.switchable) if closed >> i & 1)


def under(machine: Machine, closed: int) -> Machine | str:
    """Return the machine under one set of its switchable constraints, or why that set cannot be run."""
    if closed == machine.closed_at_start:
        return machine
    mechanism = holding(machine.mechanism, machine.switchable, names_of(machine, closed))
    first = [*machine.assembly.kept, *(motor.joint for motor in machine.motors)]
    found: tuple[Floats, Floats, Assembly] | None = None
    rest = np.zeros(mechanism.nv)
    for kept in (first, []):  # where the initial values cannot be kept, any pose near them will do
        with suppress(AssemblyError):
            found = assembled(mechanism, machine.initial_q, rest, kept)
            break
    if found is None:
        return "the constraints cannot be met together near the initial pose"
    q, v, assembly = found
    q.setflags(write=False)
    v.setflags(write=False)
    found_one = replace(machine, mechanism=mechanism, initial_q=q, initial_v=v, assembly=assembly)
    goals = tuple(_goal_coordinates(machine, mechanism, q))
    found_one = replace(found_one, goal_coordinates=goals)
    wrong = refusals(found_one)
    return wrong[0].message if wrong else found_one


def _goal_coordinates(machine: Machine, mechanism: Mechanism, q: Floats) -> Iterator[str]:
    """Yield independent coordinates: those of the file as far as they go, then motors, then other joints."""
    own = [name for name in mechanism.joint_names if name in mechanism.coordinate_names]
    names = [*machine.goal_coordinates, *(motor.joint for motor in machine.motors), *own]
    rates = coordinate_jacobian(mechanism, q) @ admitted_velocities(mechanism, q)
    span = np.zeros((0, rates.shape[1]))
    for name in dict.fromkeys(name for name in names if name in mechanism.coordinate_names):
        row = rates[mechanism.coordinate_index(name)]
        size = float(np.linalg.norm(row))
        left = row - span.T @ (span @ row)
        if len(span) < len(row) and np.linalg.norm(left) > _INDEPENDENT * max(size, _INDEPENDENT):
            span = np.vstack([span, left / np.linalg.norm(left)])
            yield name


_INDEPENDENT: Final = 1e-6
