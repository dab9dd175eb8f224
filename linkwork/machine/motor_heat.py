"""The thermal model of motors: one for the plant, the controller's estimate, and admission.

A motor that gives its continuous effort τ_c reaches, from the temperature of its surroundings T_a, the
largest temperature T_max of its winding. Copper losses grow with the square of the effort τ, so that each
part of the rise of temperature follows

    time · d rise/dt + rise = share (T_max - T_a) (τ/τ_c)²

The body's part has the motor's thermal time constant, the winding's part, between winding and body, has its
own; the shares add up to 1. Losses that depend on speed, and the growth of the resistance with temperature,
are those of the datasheet's continuous effort. A constant effort is stepped exactly, over any time.
"""

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.machine.sections.motors import Motor
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.structs import Struct

DERATED_FROM = 0.97
"""Share of the allowed rise of temperature from which on the largest effort is lowered."""
COOLED = 0.95
"""Share of the allowed rise below which an overheated motor may be used again."""
CORRECTED_S = 5.0
"""Time constant with which measured temperatures correct the estimate."""
AT_LEAST_S = 1e-9
"""Time constant of a winding that has none of its own; its share is 0."""


class ThermalModel(Struct):
    """The n motors that have a thermal model, and their state; temperatures in °C, efforts in N m or N."""

    n: int
    motor: Annotated[Integers, "n", "place among the machine's motors"]
    continuous: Annotated[Floats, "n", "continuous effort"]
    largest: Annotated[Floats, "n", "effort without derating"]
    rise: Annotated[Floats, "n", "K, allowed over the surroundings"]
    ambient: Annotated[Floats, "n"]
    share: Annotated[Floats, "n, 2", "of winding and body"]
    time: Annotated[Floats, "n, 2", "time constants of both, s"]
    body_measured: Annotated[Floats, "n", "1 where a measured temperature is that of the body"]
    known: Annotated[Floats, "n", "1 once a temperature was measured"]
    part: Annotated[Floats, "n, 2", "the rise of winding over body, and of body over the surroundings, K"]
    winding: Annotated[Floats, "n", "its temperature"]
    body: Annotated[Floats, "n", "its temperature"]
    limit: Annotated[Floats, "n", "largest effort at this temperature"]

    def __init__(self, motors: Sequence[Motor]) -> None:
        """Lay out the model of those of the machine's motors that have one, at ambient temperature."""
        found = [(at, motor) for at, motor in enumerate(motors) if motor.thermal_time_s is not None]
        super().__init__(n=len(found))
        for i, (at, motor) in enumerate(found):
            winding = motor.winding_share if motor.winding_time_s is not None else 0.0
            self.motor[i], self.continuous[i] = at, motor.continuous_effort
            self.largest[i], self.ambient[i] = motor.max_effort, motor.ambient
            self.rise[i] = motor.max_temperature - motor.ambient
            self.share[i] = winding, 1.0 - winding
            self.time[i] = motor.winding_time_s or AT_LEAST_S, motor.thermal_time_s or math.inf
            self.body_measured[i] = float(motor.temperature_sensor == "body")
        publish(self)

    @property
    def derated(self) -> bool:
        """Whether the largest effort of a motor is lowered."""
        return bool((self.limit < self.largest).any())

    def hottest(self, share: float = 1.0) -> int | None:
        """Return the place of a motor whose rise is at this share of the allowed one or above; None: none."""
        over = (self.winding - self.ambient) / self.rise - share
        at = int(np.argmax(over))
        return at if over[at] >= 0.0 else None

    def set(self, i: int, winding: float, body: float) -> None:
        """Set the temperatures of motor i of the n, °C."""
        self.part[i] = winding - body, body - self.ambient[i]
        publish(self)


@kernel
def publish(h: ThermalModel) -> None:
    """Write temperatures and effort limits of the present state."""
    for i in range(h.n):
        h.body[i] = h.ambient[i] + h.part[i, 1]
        h.winding[i] = h.body[i] + h.part[i, 0]
        lowered = (h.winding[i] - h.ambient[i]) / h.rise[i] - DERATED_FROM
        lowered = min(max(lowered / (1.0 - DERATED_FROM), 0.0), 1.0)
        least = min(h.continuous[i], h.largest[i])
        h.limit[i] = h.largest[i] - lowered * (h.largest[i] - least)


@kernel
def warm(h: ThermalModel, effort: Floats, dt: float) -> None:
    """Step by dt (s) with a constant effort of each of the machine's motors (motors; N m or N)."""
    for i in range(h.n):
        load = effort[h.motor[i]] / h.continuous[i]
        for k in range(2):
            aim = h.share[i, k] * h.rise[i] * load * load
            h.part[i, k] -= math.expm1(-dt / h.time[i, k]) * (aim - h.part[i, k])
    publish(h)


@kernel
def correct(h: ThermalModel, measured: Floats, dt: float) -> None:
    """Correct the body's part by measured temperatures (motors; °C, NaN: none), after dt (s).

    The first one counts in full.
    """
    for i in range(h.n):
        seen = measured[h.motor[i]]
        if not np.isfinite(seen):
            continue
        off = seen - (h.body[i] if h.body_measured[i] > 0.0 else h.winding[i])
        h.part[i, 1] -= off * (math.expm1(-dt / CORRECTED_S) if h.known[i] > 0.0 else -1.0)
        h.known[i] = 1.0
    publish(h)


def thermal_model(motors: Sequence[Motor]) -> ThermalModel | None:
    """Return the model of those of these motors that have one; None where none has."""
    return ThermalModel(motors) if any(motor.thermal_time_s is not None for motor in motors) else None


@kernel
def respond(squares: Floats, dt: Floats, time: float, out: Floats) -> None:
    """Write the response of one part to out (samples): squares (intervals) of the load, each for dt (s), from
    0."""
    out[0] = 0.0
    for k in range(len(dt)):
        out[k + 1] = out[k] - math.expm1(-dt[k] / time) * (squares[k] - out[k])


class HeatCycle:
    """The temperature of a motor in a cycle of motion that is repeated without a pause, in closed form.

    squares (intervals): the mean square of the motor's effort in each of the intervals dt (s). i: place in
    the model, whose present state is where the first cycle begins.
    """

    def __init__(self, model: ThermalModel, i: int, squares: Floats, dt: Floats) -> None:
        load = np.ascontiguousarray(squares / model.continuous[i] ** 2)
        self.period_s = float(np.sum(dt))
        self._end = np.concatenate([[0.0], np.cumsum(dt)])
        self._ambient = float(model.ambient[i])
        self._parts: list[tuple[Floats, float, Floats]] = []
        self._begin: list[float] = []
        for k in range(2):
            if model.share[i, k] == 0.0:
                continue
            out, time = np.empty(len(dt) + 1), float(model.time[i, k])
            respond(load, dt, time, out)
            self._parts.append((out * model.share[i, k] * model.rise[i], time, np.exp(-self._end / time)))
            self._begin.append(float(model.part[i, k]))

    def temperatures(self, cycles: float) -> Floats:
        """Temperatures of the winding (samples, °C) in the cycle after `cycles` (infinite: at last)."""
        total = np.full(len(self._end), self._ambient)
        for (response, time, decay), begin in zip(self._parts, self._begin, strict=True):
            left = math.exp(-cycles * self.period_s / time)
            steady = response[-1] / -math.expm1(-self.period_s / time)
            total += response + decay * (steady + left * (begin - steady))
        return total

    def lasts_s(self, limit: float) -> float:
        """Time (s) after which the winding reaches `limit` (°C), infinite where it never does."""
        if self.temperatures(math.inf).max() < limit:
            return math.inf
        low, high = -1.0, 0.0
        while self.temperatures(high).max() < limit:
            low, high = high, 2.0 * high + 1.0
        while high - low > 1.0:
            middle = math.floor(0.5 * (low + high))
            low, high = (low, middle) if self.temperatures(middle).max() >= limit else (middle, high)
        within = int(np.argmax(self.temperatures(high) >= limit))
        return float(high * self.period_s + self._end[within])
