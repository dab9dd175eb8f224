"""Whether the rank of the constraints is plain in the initial pose, or a matter of the tolerance."""

from collections.abc import Iterator
from typing import Any

from linkwork.machine.description import Assembly, Machine
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import Problem
from linkwork.multibody.assembly.branch_velocities import SHORT, second_order_closures

NEARLY_SINGULAR = 1e-3
"""Singular value of the scaled rows below which small errors in dimensions become large ones in posture."""
_ORDINARY_ROWS = 40
"""Number of rows from which on smaller values are ordinary: those of a row of loops fall with its length."""
_REMEDY = "start in another pose, or prevent the motion by constraints whose rows depend on it"
_ABOVE, _BELOW = 10.0, 1.0 / 30.0
"""Times the limit, between which no singular value should lie."""


def gap_is_narrow(machine: Machine) -> bool:
    """Return whether a singular value lies close to the limit of the rank, or near zero."""
    found = machine.assembly
    return found.smallest < _least(found) or found.largest_dropped > _BELOW * found.limit


def rank_decision(machine: Machine) -> dict[str, Any]:
    """Return the decision on the rank in the initial pose, as `model`, `check` and `status` publish it.

    `tolerance` (the file's `rank_tolerance`), the `limit` it gave here, the `smallest` singular value of the
    scaled rows that counts, the `largest_dropped` one, and whether they lie too close for the rank to be
    plain (`narrow`).
    """
    found = machine.assembly
    return {
        "tolerance": machine.mechanism.rank_tolerance,
        "limit": found.limit,
        "smallest": found.smallest if found.ordinary_rank else None,
        "largest_dropped": found.largest_dropped,
        "narrow": bool(machine.mechanism.constraints) and gap_is_narrow(machine),
    }


def short_closures(machine: Machine) -> tuple[str, ...]:
    """Return the constraints that hold to second order only in the initial pose.

    As no motion leaves such poses, their loads are undetermined while the machine runs.
    """
    found = machine.assembly
    if found.rank == found.ordinary_rank and found.smallest > SHORT:
        return ()
    return second_order_closures(machine.mechanism, machine.initial_q)


def undetermined_cells(machine: Machine) -> Iterator[Problem]:
    """Yield an error for each load cell where `short_closures` leave loads undetermined."""
    cells = [sensor.name for sensor in machine.force_sensors if sensor.constraint is not None]
    short = short_closures(machine) if cells else ()
    for cell in cells if short else ():
        yield machine.document.problem(
            ("force_sensors", cell),
            f"this sensor measures a load that is not determined, as {_held(short)} in the initial pose",
            of_key=True,
            remedy=f"remove the sensor, or {_REMEDY}",
        )


def _held(names: tuple[str, ...]) -> str:
    return f"{listed(names)} {'holds' if len(names) == 1 else 'hold'} to second order only"


def rank_warnings(machine: Machine) -> Iterator[Problem]:
    """Return warnings where the rank depends on the tolerance in the initial pose, or rows fail there."""
    for name in short_closures(machine):
        yield machine.document.problem(
            ("constraints", name),
            "this constraint holds to second order only in the initial pose: its load, and the work that it "
            "transmits, are not determined",
            of_key=True,
            remedy=_REMEDY,
            severity="warning",
        )
    yield from undetermined_cells(machine)
    if not gap_is_narrow(machine):
        return
    found = machine.assembly
    yield machine.document.problem(
        ("constraints",),
        "the constraints are nearly singular in the initial pose: whether the machine can move there depends "
        "on rounding or on small errors in its dimensions",
        of_key=True,
        found=f"singular values {found.smallest:.2g} (counted) and {found.largest_dropped:.2g} (dropped) of "
        f"the scaled rows, with the limit {found.limit:.2g} between them; rank {found.rank} of {found.rows} "
        f"rows, {machine.dof} degrees of freedom",
        allowed=f"{_least(found):.2g} or more, and {_BELOW * found.limit:.2g} or less",
        remedy="start in another pose, give dimensions with more digits, or set `rank_tolerance` between "
        "these values",
        severity="warning",
    )


def _least(found: Assembly) -> float:
    return max(NEARLY_SINGULAR * min(1.0, _ORDINARY_ROWS / max(1, found.rows)), _ABOVE * found.limit)
