"""Convert the force fields of a request to a goal's force part and its coordinates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import QUINTIC
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.laws.hybrid import force_controllability
from linkwork.controller.planning.checks.singularity import (
    DEPENDENT_BELOW,
    independent,
    smallest_singular_value,
)
from linkwork.controller.planning.goals.goal_set import complete
from linkwork.controller.planning.messages.planner_start import Present, Start
from linkwork.controller.planning.paths.moves import SHORT_MOVE_S
from linkwork.controller.planning.paths.path import Path
from linkwork.machine import Machine
from linkwork.machine.checks.force_stability import mass_along
from linkwork.machine.nearest_name import no_such
from linkwork.machine.sections.force_settings import ForceRow
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import ForcePoint, ToleranceParams, Trajectory

IMPACT = 0.5
"""Share of a guard's force that the point's inertia may exert on the contact's spring at impact."""
Where = Sequence[str | int]


def row_of(machine: Machine, name: str, where: Where) -> int:
    """Place of a force that goals may name. Raises RequestError (INVALID_GOAL) with those that there are."""
    names = [row.name for row in machine.force_rows]
    if machine.driver.follows_positions:
        text = f"no goal controls {name}: the drives follow positions (driver.motors: mode csp); "
        text += "force goals, guarded moves and hybrid control need mode cst"
        raise RequestError(ResultCode.INVALID_GOAL, text, where, {"force": name})
    if name in names:
        return names.index(name)
    if not names:
        text = f"{name!r} has no forces to name: it has neither contacts nor constraints of one row"
    else:
        text = no_such("force", name, names)
    raise RequestError(ResultCode.INVALID_GOAL, text, where, {"force": name, "allowed": names})


def forces_of(trajectory: Trajectory, machine: Machine) -> ForcePart | None:
    """The forces along a trajectory, None where it names none. Raises RequestError (INVALID_GOAL)."""
    if not trajectory.force:
        return None
    rows: list[int] = []
    for name, given in trajectory.force.items():
        where = ("trajectory", "force", name)
        rows.append(row_of(machine, name, where))
        row = machine.force_rows[rows[-1]]
        lowest = min(p.force for p in given) if isinstance(given, list) else given
        if row.kind == "contact" and lowest < 0.0:
            text = f"a contact only pushes: {lowest:g} N is below 0"
            raise RequestError(ResultCode.INVALID_GOAL, text, where)
        if row.kind == "constraint":
            refuse_where_motors_are_too_few(machine, row, where)
    profiles = [_points(given) for given in trajectory.force.values()]
    times = sorted({0.0, *(point.time_from_start_s for profile in profiles for point in profile)})
    values = [
        np.interp(times, [point.time_from_start_s for point in profile], [point.force for point in profile])
        for profile in profiles
    ]
    most = machine.controller.force.tolerance_N
    asked = [trajectory.tolerances.get(name, ToleranceParams()) for name in trajectory.force]
    return ForcePart(
        False,
        np.array(rows, np.int64),
        np.array([one.path or most for one in asked]),
        np.array([one.goal or one.path or most for one in asked]),
        np.array(times),
        np.array(values),
        np.zeros(0, np.int64),
    )


def _points(given: float | list[ForcePoint]) -> list[ForcePoint]:
    return given if isinstance(given, list) else [ForcePoint(time_from_start_s=0.0, force=given)]


def refuse_where_motors_are_too_few(machine: Machine, row: ForceRow, where: Where) -> None:
    """Raise RequestError (INVALID_GOAL) where the motors cannot choose a force beside the motion."""
    text = force_controllability(machine, row)
    if text:
        raise RequestError(ResultCode.INVALID_GOAL, text, where)


def guard_of(
    machine: Machine,
    given: Mapping[str, float],
    chosen: Sequence[int],
    start: Start,
    where: Where,
    pressed: ForcePart | None = None,
) -> ForcePart | None:
    """The guard of a motion in the coordinates `chosen`, in which forces may be pressed: at touch all but one
    of the coordinates come to rest.

    That one is left to the force; it is the one without which the others and the gaps determine the motion
    best. Raises RequestError (INVALID_GOAL).
    """
    if not given:
        return pressed
    if len(given) > 1:
        raise RequestError(ResultCode.INVALID_GOAL, "a guard monitors one contact", where)
    ((name, force),) = given.items()
    number = row_of(machine, name, (*where, name))
    row = machine.force_rows[number]
    if row.kind != "contact":
        text = f"{name} is a constraint; a guard monitors contacts"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, name))
    least = machine.controller.force.touch_N
    if force < least:
        text = f"{force:g} N is less than the force from which on a contact counts as made, {least:g} N"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, name))
    forces = pressed or ForcePart.constant([], [], [])
    if number in forces.rows:
        text = f"{name} is pressed already: a guard monitors another contact"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, name))
    gaps = (*_gaps(machine, forces), row.gap)
    places = range(len(chosen))
    hold = [
        smallest_singular_value(
            machine.mechanism, [*(chosen[i] for i in places if i != left), *gaps], start.q
        )
        for left in places
    ]
    if max(hold, default=0.0) < DEPENDENT_BELOW:
        text = f"no motion that is left changes the gap of {name}: the force on it cannot be controlled"
        raise RequestError(ResultCode.INVALID_GOAL, text, (*where, name))
    kept = [i for i in places if i != int(np.argmax(hold))]
    return forces.guarded(number, force, machine.controller.force.tolerance_N, kept)


def force_alone(machine: Machine, part: ForcePart, present: Present) -> Path:
    """The path of a goal of force alone: at rest, until its profile has ended and steps have become ramps."""
    settings = machine.controller.force
    ramp_s = float(np.abs(part.values).max()) / settings.rate_N_s
    times = np.array([0.0, max(float(part.times_s[-1]), ramp_s + settings.settle_s, SHORT_MOVE_S)])
    values = np.zeros((2, QUINTIC, len(present.theta)))
    values[:, 0] = present.theta
    return Path(present.coordinates, times, values, (0.0, float(times[-1])))


def approach_limit(machine: Machine, part: ForcePart) -> float:
    """Fastest approach (m/s) at which the point's inertia puts IMPACT of the guard's force on the spring."""
    row = machine.force_rows[int(part.rows[0])]
    stiffness = machine.mechanism.contacts[row.index].stiffness_N_m
    return IMPACT * float(part.values[0, 0]) / math.sqrt(stiffness * mass_along(machine, row.gap))


def complete_pressed(
    machine: Machine, named: Sequence[int], part: ForcePart, start: Start, path: Where
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Coordinates of motion and the gaps of the pressed contacts, together one per degree of freedom.

    Where fewer are named, those that the machine holds now are taken. Raises RequestError
    (INVALID_COORDINATES).
    """
    gaps = _gaps(machine, part)
    if not gaps:
        return complete(machine, named, start, path), ()
    mechanism, names = machine.mechanism, machine.mechanism.coordinate_names
    wanted = machine.dof - len(gaps)
    chosen = set(named)
    if chosen < set(start.reference) and len(start.reference) == wanted:
        chosen = set(start.reference)
    said = ", ".join(names[i] for i in named) or "force alone"
    pressed = ", ".join(names[i].partition(".")[0] for i in gaps)
    if len(chosen) != wanted:
        text = (
            f"{said}: {len(chosen)} coordinates, but motion has {wanted} of {machine.dof} degrees of "
            f"freedom while {pressed} is pressed"
        )
        data = {"coordinates": [names[i] for i in named], "degrees_of_freedom": wanted}
        raise RequestError(ResultCode.INVALID_COORDINATES, text, path, data)
    ordered = start.reference if chosen == set(start.reference) else tuple(sorted(chosen))
    if not independent(mechanism, [*ordered, *gaps], start.q):
        text = f"{said} and the force on {pressed} control the same direction: leave out the contact normal"
        raise RequestError(ResultCode.INVALID_COORDINATES, text, path)
    return ordered, gaps


def _gaps(machine: Machine, part: ForcePart) -> tuple[int, ...]:
    """The gaps of the contacts that a goal presses."""
    rows = (machine.force_rows[i] for i in part.pressed.tolist())
    return tuple(row.gap for row in rows if row.kind == "contact")


def with_gaps(machine: Machine, path: Path, q: Floats) -> Path:
    """Return a path as the loop follows it, with the gaps of pressed contacts as they are at q (nq)."""
    gaps = () if path.forces is None else _gaps(machine, path.forces)
    if not gaps:
        return path
    work = machine.workspace()
    work.q[:], work.v[:] = q, 0.0
    kinematics(*work.arguments)
    coordinates(*work.arguments)
    still = np.zeros((*path.values.shape[:2], len(gaps)))
    still[:, 0] = work.theta[list(gaps)]
    values = np.concatenate([path.values, still], axis=2)
    return replace(path, coordinates=(*path.coordinates, *gaps), values=values, gaps=len(gaps))


def keeps_pressing(machine: Machine, before: ForcePart | None, force: Iterable[str]) -> bool:
    """Whether a goal with these forces may take over in motion from one with the forces `before`.

    It may where just the same contacts are pressed, and no force that a constraint carries is left out:
    contact is made and broken at rest.
    """
    pressed = set() if before is None else {machine.force_rows[i] for i in before.pressed}
    wanted = {row for row in machine.force_rows if row.name in set(force)}
    return pressed <= wanted and all(row.kind == "constraint" for row in wanted - pressed)


def refuse_to_take_over(
    machine: Machine, before: ForcePart | None, force: Iterable[str], where: Where
) -> None:
    """Raise RequestError (INVALID_GOAL) where a goal cannot take over in motion, see `keeps_pressing`."""
    named = set(force)
    if keeps_pressing(machine, before, named):
        return
    pressed = [] if before is None else [machine.force_rows[i].name for i in before.pressed]
    if set(pressed) <= named:
        missing = ", ".join(name for name in named if name not in pressed)
        text = f"{missing} is not in contact yet: make contact with a guarded move first"
    else:
        left = ", ".join(name for name in pressed if name not in named)
        text = (
            f"the active goal presses {left}, and this one does not: contact can be released only at rest."
            " Stop first, append the goal, or name the same forces in it"
        )
    raise RequestError(ResultCode.INVALID_GOAL, text, where, {"pressed": pressed})
