"""Whether motors stay cool enough on a path, once and repeated without a pause.

A single run whose winding would get hotter than its largest temperature is refused. A path that ends where
it begins is a cycle: where it cannot be repeated without end, the report warns. It says for how long it can
be repeated, and how much slower it could be without end. A goal that asks for it is refused then.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.limit_tolerance import exceeds
from linkwork.controller.planning.checks.effort_check import Efforts, largest, smallest
from linkwork.controller.planning.checks.kinematic_check import LimitCheck, beyond
from linkwork.controller.planning.walk.walk import Walk
from linkwork.machine import Machine, Motor
from linkwork.machine.motor_heat import DERATED_FROM, HeatCycle, ThermalModel


class Heat:
    """The heat of the motors on a walk, from `temperatures` on.

    temperatures: of winding and body in turn, of each motor with a thermal model (°C); empty: ambient.
    cycle: whether the goal asks to be repeated without end.
    """

    def __init__(
        self,
        machine: Machine,
        walk: Walk,
        efforts: Efforts,
        temperatures: Sequence[float] = (),
        cycle: bool = False,
    ) -> None:
        self._walk, self._efforts, self._for_ever = walk, efforts, cycle
        self._model = ThermalModel(machine.motors)
        for i in range(min(self._model.n, len(temperatures) // 2)):
            self._model.set(i, temperatures[2 * i], temperatures[2 * i + 1])
        self._rated = [motor for motor in machine.motors if math.isfinite(motor.continuous_effort)]
        places = {int(at): i for i, at in enumerate(self._model.motor)}
        self._place = {motor.joint: places.get(at) for at, motor in enumerate(machine.motors)}
        self._dt = np.diff(walk.s)
        self.closed = bool(len(self._dt)) and _ends_at_begin(machine, walk)

    def _squares(self, motor: Motor, slower: float = 1.0) -> Floats:
        """The mean square of the effort between samples (samples - 1), as if it were linear there."""
        effort = self._efforts.least.efforts(slower, motor.index)
        before, after = effort[:-1], effort[1:]
        return np.asarray((before**2 + before * after + after**2) / 3.0)

    def _share(self, motor: Motor, slower: float = 1.0) -> float:
        """The root mean square of the effort, as a share of the continuous one."""
        total = float(self._dt.sum())
        mean = float(self._squares(motor, slower) @ self._dt) / total if total > 0.0 else 0.0
        return math.sqrt(mean) / motor.continuous_effort

    def _cycle(self, motor: Motor, slower: float = 1.0) -> HeatCycle | None:
        place = self._place[motor.joint]
        if place is None:
            return None
        return HeatCycle(self._model, place, self._squares(motor, slower), slower * self._dt)

    def _cool(self, motor: Motor, cycles: float, share: float = 1.0, slower: float = 1.0) -> bool:
        """Whether the winding stays within this share of its allowed rise in the cycle after `cycles`."""
        cycle = self._cycle(motor, slower)
        if cycle is None:
            return cycles == 0.0 or not exceeds(self._share(motor, slower) ** 2, share)
        most = motor.ambient + share * (motor.max_temperature - motor.ambient)
        return float(cycle.temperatures(cycles).max()) <= most

    def used(self, motor: Motor, slower: float = 1.0) -> float:
        """The share of the heat, without derating, that a cycle uses which is repeated without end."""
        cycle = self._cycle(motor, slower)
        if cycle is None:
            return self._share(motor, slower) ** 2
        allowed = DERATED_FROM * (motor.max_temperature - motor.ambient)
        return float(cycle.temperatures(math.inf).max() - motor.ambient) / allowed

    def _repeating(self, motor: Motor) -> LimitCheck:
        """The effort of a motor that would heat it evenly as much as the cycle does, beside the continuous
        one.
        """
        most, used, stretch = motor.continuous_effort, math.sqrt(self.used(motor)), 1.0
        if exceeds(used, 1.0):
            stretch = smallest(lambda slower: not exceeds(math.sqrt(self.used(motor, slower)), 1.0))
        sample = int(np.argmax(np.abs(self._efforts.least.efforts(1.0, motor.index))))
        kind = "continuous effort"
        return LimitCheck(kind, motor.joint, motor.effort_unit, used * most, most, sample, used, stretch)

    def demands(self) -> Iterator[LimitCheck]:
        """The hottest temperature of each winding on a single run, and the heat of a cycle to be repeated."""
        for motor in self._rated:
            if self._for_ever and len(self._dt):
                yield self._repeating(motor)
            cycle = self._cycle(motor)
            if cycle is None or not len(self._dt):
                continue
            values, most = cycle.temperatures(0.0), motor.max_temperature
            sample, stretch, over = int(np.argmax(values)), 1.0, (0, 0, 0)
            if values[sample] > most:
                stretch, over = smallest(partial(self._cool, motor, 0.0, 1.0)), beyond(values > most)
            used = float((values[sample] - motor.ambient) / (most - motor.ambient))
            value = float(values[sample])
            yield LimitCheck(
                "temperature", motor.joint, "°C", value, most, sample, used, max(stretch, 1.0), over
            )

    def report(self) -> dict[str, dict[str, float | None]]:
        """Motor → `share` of its continuous effort (root mean square), and of a cycle more.

        `lasts_s`: time until the winding is at its limit; `derated_after_s`: until its largest effort is
        lowered (None: never); `min_time_stretch`: with which it can be repeated without end (None: no stretch
        helps).
        """
        return {motor.joint: {"share": self._share(motor), **self._repeated(motor)} for motor in self._rated}

    def fastest(self, most: float) -> float:
        """The largest speed, up to `most` times the path's own, at which one run overheats nothing; or 0."""
        for motor in self._rated:
            most = largest(most, partial(self._cool, motor, 0.0, 1.0))
        return most

    def _repeated(self, motor: Motor) -> dict[str, float | None]:
        if not self.closed:
            return {}
        cycle, slower = self._cycle(motor), 1.0
        lasts = derated = math.inf
        if cycle is not None:
            rise = motor.max_temperature - motor.ambient
            lasts = cycle.lasts_s(motor.max_temperature)
            derated = cycle.lasts_s(motor.ambient + DERATED_FROM * rise)
        if not self._cool(motor, math.inf):
            slower = smallest(partial(self._cool, motor, math.inf, DERATED_FROM))
        numbers = {"lasts_s": lasts, "derated_after_s": derated, "min_time_stretch": slower}
        return {name: value if math.isfinite(value) else None for name, value in numbers.items()}

    def warnings(self, report: dict[str, dict[str, Any]]) -> list[str]:
        """Texts about motors that cannot repeat the cycle without end, from `report`."""
        return [
            f"{motor.joint}: {100.0 * found['share']:.0f} % of continuous "
            f"{'torque' if motor.is_angle else 'force'}; {_lasting(found['lasts_s'])}, "
            f"{_slower(found['min_time_stretch'])}"
            for motor, found in zip(self._rated, report.values(), strict=True)
            if found.get("min_time_stretch", 1.0) != 1.0
        ]


def heat_of(
    machine: Machine, walk: Walk, efforts: Efforts, temperatures: Sequence[float], cycle: bool = False
) -> Heat | None:
    """Return the heat of the motors on a walk; None where no motor has a continuous effort."""
    if not any(math.isfinite(motor.continuous_effort) for motor in machine.motors):
        return None
    return Heat(machine, walk, efforts, temperatures, cycle)


def _ends_at_begin(machine: Machine, walk: Walk) -> bool:
    """Whether all joints end where they begin, whole turns aside."""
    off = walk.q[-1] - walk.q[0]
    turns = np.zeros(len(off), np.bool_)
    turns[: len(machine.joints)] = [joint.is_angle for joint in machine.joints]
    off = np.where(turns, off - 2.0 * np.pi * np.round(off / (2.0 * np.pi)), off)
    return bool(np.abs(off).max() <= SAME_PLACE)


SAME_PLACE = 1e-3
"""rad or m: largest distance between begin and end of a cycle."""


def _lasting(lasts_s: float | None) -> str:
    if lasts_s is None:
        return "this cycle cannot run without end"
    unit, seconds = ("s", 1.0) if lasts_s < 120.0 else ("min", 60.0) if lasts_s < 7200.0 else ("h", 3600.0)
    return f"this cycle can run for {lasts_s / seconds:.3g} {unit}"


def _slower(stretch: float | None) -> str:
    if stretch is None:
        return "and a slower one does not help"
    return f"or {math.ceil(100.0 * stretch) / 100.0:.2f} × slower without end"
