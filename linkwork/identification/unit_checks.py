"""Refusals of readings whose unit is not that of their column."""

import math

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.machine import Machine

_TURNS = 4.0 * math.pi
"""Largest angle of a joint without limits, rad; degrees are larger."""
_FAST = 10.0
"""Speed over a joint's limit from which on a unit is wrong."""
_STRONG = 1.5
"""Effort over a motor's limit from which on a unit is wrong."""
_SLOWEST_S = 0.2
"""Longest period of a recording."""
UNIT_RATIO = 30.0
"""Ratio of measured and expected sizes beyond which a unit is wrong."""


def refuse_positions(
    machine: Machine,
    name: str,
    values: Floats,
    what: str,
    *,
    largest: float = _TURNS,
    only_units: bool = False,
) -> None:
    """Raise RefusedData for readings of a joint (n; rad or m) beyond its limits.

    what: the readings, for the message. largest: angle that a joint without limits may have, rad. only_units:
    whether values beyond the limits are refused only where another unit explains them.
    """
    place = machine.mechanism.joint_index(name)
    is_angle = machine.mechanism.joint_is_angle[place]
    unit, ending, factor = ("degrees", "deg", math.pi / 180.0) if is_angle else ("millimetres", "mm", 1e-3)
    lowest, highest = machine.joints[place].position
    slack = 0.1 * (highest - lowest) if math.isfinite(highest - lowest) else 0.0
    lowest, highest = lowest - slack, highest + slack
    if is_angle:
        lowest, highest = max(lowest, -largest), min(highest, largest)

    def within(these: Floats) -> bool:
        return bool(((these >= lowest) & (these <= highest)).all())

    if within(values):
        return
    text = f"{what} of {name} reach {values[np.argmax(np.abs(values))]:.4g}, beyond its limits: "
    if within(factor * values) and not within(-values):  # a reversed sensor is no wrong unit
        column = f"q/{name}_{ending}"
        raise RefusedData(
            "units" if only_units else "limits",
            f"{text}they seem to be in {unit}; then name the column {column}",
        )
    if not only_units:
        raise RefusedData("limits", f"{text}check their unit, sign and zero")


def refuse_units(machine: Machine, motion: MeasuredMotion) -> None:
    """Raise RefusedData where times, positions or efforts of a motion are too large for their units."""
    steps = np.diff(motion.time_s)
    period = float(np.median(steps)) if len(steps) else 0.0
    if period > _SLOWEST_S:
        raise RefusedData(
            "units",
            f"in {motion.name} the rows are {period:.3g} s apart; {_SLOWEST_S:g} s is the most. If the times "
            "are in milliseconds, name the column time_ms",
        )
    for name, values in motion.positions.items():
        refuse_positions(
            machine, name, values, f"in {motion.name} positions", largest=math.inf, only_units=True
        )
        limit = machine.joints[machine.mechanism.joint_index(name)].velocity
        speed = float(np.median(np.abs(np.diff(values)) / steps)) if len(steps) else 0.0
        if speed > _FAST * limit:
            raise RefusedData(
                "units",
                f"in {motion.name} {name} moves at {speed:.3g} in the middle, its limit is {limit:.3g} (SI "
                "units): check the units in the names of its column and of the times",
            )
    for motor in machine.motors:
        effort = float(np.abs(motion.efforts[motor.joint]).max(initial=0.0))
        if effort > _STRONG * motor.max_effort:
            unit = "N m" if motor.is_angle else "N"
            raise RefusedData(
                "units",
                f"in {motion.name} the effort of {motor.joint} reaches {effort:.4g} {unit}, its motor has "
                f"{motor.max_effort:g} {unit}: check the unit in the column's name (mN_m, N_mm, mN …), and "
                "that it is the effort at the joint",
            )
