"""Demands of a sampled path on joints and goal coordinates, beside their limits.

Taken at full speed. Slower by the factor c, velocities fall with c, accelerations with c², jerks with c³.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.limit_tolerance import exceeds, passes
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Limits, Machine

SLOWEST = 1000.0
"""Largest time-stretch that is looked for."""


@dataclass(frozen=True)
class LimitCheck:
    """Largest demand of a path on one quantity of one joint, coordinate or motor.

    `used`: share of the limit. `stretch`: factor of time that brings it within the limit; 1 when it is
    within, infinite when a slower motion does not help. `over`: the first and last sample beyond the limit,
    and how many there are.
    """

    quantity: str
    name: str
    unit: str
    value: float
    limit: float
    sample: int
    used: float
    stretch: float
    over: tuple[int, int, int] = (0, 0, 0)

    @property
    def text(self) -> str:
        """The demand as text."""
        verb = "reach" if self.quantity == "temperature" else "need"
        return f"{self.name} would {verb} {self.quantity} {self.value:.6g} {self.unit}"

    @property
    def power(self) -> int:
        """Power of the speed with which the value grows; 0 where it does not depend on speed."""
        return _POWERS.get(self.quantity, 0)


_POWERS = {
    "velocity": 1,
    "approach speed": 1,
    "motor speed": 1,
    "tool speed": 1,
    "acceleration": 2,
    "jerk": 3,
}


def beyond(over: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Return first, last and number of the samples where `over` (samples) is set; zeros for none."""
    places = np.flatnonzero(over)
    return (int(places[0]), int(places[-1]), len(places)) if len(places) else (0, 0, 0)


def demands(machine: Machine, walk: Walk, chosen: Sequence[int]) -> Iterator[LimitCheck]:
    """Every demand on joints, motors' speeds and goal coordinates that has a limit."""
    own = machine.joint_coordinates
    jerks = _joint_jerks(walk, chosen, own)
    for j, limits in enumerate(machine.joints):
        yield from _of(limits, walk.q[:, j], walk.q1[:, j], walk.q2[:, j], jerks[:, j])
    for place, index in enumerate(chosen):
        if index >= own:
            limits = machine.coordinates[index]
            column = (walk.d0[:, place], walk.d1[:, place], walk.d2[:, place], walk.d3[:, place])
            yield from _of(limits, *column)
    for motor in machine.motors:
        unit = f"{motor.unit}/s"
        yield rate("motor speed", motor.joint, unit, walk.q1[:, motor.index], motor.max_speed, 1)


def _of(
    limits: Limits, position: Floats, first: Floats, second: Floats, third: Floats
) -> Iterator[LimitCheck]:
    unit = limits.unit
    yield from _position(limits, unit, position)
    for power, quantity, limit, values in (
        (1, "velocity", limits.velocity, first),
        (2, "acceleration", limits.acceleration, second),
        (3, "jerk", limits.jerk, third),
    ):
        if math.isfinite(limit):
            per = f"{unit}/s" + ("", "²", "³")[power - 1]
            yield rate(quantity, limits.name, per, values, limit, power)


def _position(limits: Limits, unit: str, values: Floats) -> Iterator[LimitCheck]:
    """A coordinate that begins outside its range may come back, but go no farther out."""
    low, high = min(limits.position[0], values[0]), max(limits.position[1], values[0])
    for sample, limit, sign in ((int(np.argmin(values)), low, -1.0), (int(np.argmax(values)), high, 1.0)):
        if math.isfinite(limit):
            value = float(values[sample])
            outside = bool(passes(sign * value, sign * limit))
            used = share_of_range(value, low, high, sign)
            stretch = math.inf if outside else 1.0
            over = beyond(passes(sign * values, sign * limit)) if outside else (0, 0, 0)
            yield LimitCheck("position", limits.name, unit, value, float(limit), sample, used, stretch, over)


def share_of_range(value: float, low: float, high: float, sign: float) -> float:
    """Return how near a value is to an end of its range, the low (sign -1) or the high one (1): 1 at the end.

    0 in the middle of a range with two ends; of a range with one end, its share of that end.
    """
    middle = 0.5 * (low + high) if math.isfinite(high - low) else 0.0
    room = (high if sign > 0.0 else low) - middle
    beyond_middle = sign * (value - middle)
    return beyond_middle / abs(room) if room else float(beyond_middle >= 0.0)


def rate(quantity: str, name: str, unit: str, values: Floats, limit: float, power: int) -> LimitCheck:
    """Return the demand of a rate `values` (samples) that grows with this power of the speed.

    quantity, name, unit: of the demand in reports. limit: in this unit.
    """
    sample = int(np.argmax(np.abs(values)))
    value = float(values[sample])
    used = abs(value) / limit
    stretch, over = 1.0, (0, 0, 0)
    if exceeds(abs(value), limit):
        stretch, over = used ** (1.0 / power), beyond(exceeds(np.abs(values), limit))
    return LimitCheck(quantity, name, unit, value, math.copysign(limit, value), sample, used, stretch, over)


def _joint_jerks(walk: Walk, chosen: Sequence[int], own: int) -> Floats:
    """q''' (n × nv): exact where the goal names joints, else between samples of the same piece."""
    jerks = np.zeros_like(walk.q2)
    if own == walk.q2.shape[1] and set(chosen) == set(range(own)):
        jerks[:, list(chosen)] = walk.d3
    else:
        step = np.diff(walk.s)[walk.joined]
        jerks[:-1][walk.joined] = np.diff(walk.q2, axis=0)[walk.joined] / step[:, None]
    return jerks
