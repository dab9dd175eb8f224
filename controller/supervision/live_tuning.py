"""Gains, payloads and pre-loads, which may change while the machine runs. Every change is a ramp."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from linkwork.controller.exchange.orders import OrderOutcome, SetGains, SetPayload, SetPreload
from linkwork.controller.laws import Law, Tunable
from linkwork.machine import Machine
from linkwork.machine.payloads import Loads, SignalLoads, load_vector

GAIN_RAMP_S = 0.2
LOAD_RAMP_S = 0.5
RAMP_S = 0.5


class Tuning:
    """Gains of the laws and payloads of the model, on a ramp to their last targets."""

    def __init__(self, machine: Machine, laws: Iterable[Law], loads: Loads | None) -> None:
        settings = machine.controller
        self._bounds = settings.bounds_of("bandwidth_rad_s"), settings.bounds_of("damping_ratio")
        self._laws = [law for law in {id(law): law for law in laws}.values() if isinstance(law, Tunable)]
        self.gains = (settings.bandwidth_rad_s, settings.damping_ratio)
        """Bandwidth (rad/s) and damping ratio at work."""
        self._from = self._to = self.gains
        self._loads = loads
        self.by_signal = SignalLoads(machine, loads)
        """Loads that signals attach; they change at once."""
        self._known = {one.index for one in machine.payloads}
        self._gain_share = self._load_share = 1.0
        self.changing = False
        """Whether `advance` has something to do."""

    def ask(self, order: SetGains | SetPayload) -> OrderOutcome:
        """Begin the ramp to other gains, or to another load."""
        if isinstance(order, SetGains):
            return self._ask_gains(order.bandwidth_rad_s, order.damping_ratio)
        return self._ask_load(order)

    def _ask_gains(self, bandwidth: float, damping: float) -> OrderOutcome:
        (slow, fast), (least, most) = self._bounds
        if not (slow <= bandwidth <= fast and least <= damping <= most):
            return OrderOutcome.REFUSED_VALUE
        self._from, self._to, self._gain_share = self.gains, (bandwidth, damping), 0.0
        self.changing = True
        return OrderOutcome.DONE

    def _ask_load(self, order: SetPayload) -> OrderOutcome:
        if self._loads is None or order.point not in self._known or not order.mass_kg >= 0.0:
            return OrderOutcome.REFUSED_VALUE
        self._loads.aim(order.point, load_vector(order.mass_kg, order.com_m, order.inertia_kg_m2))
        self._load_share, self.changing = 0.0, True
        return OrderOutcome.DONE

    def adopt(self, other: Tuning) -> None:
        """Copy gains and loads from the tuning of another constraint set."""
        self.gains, self._from, self._to = other.gains, other._from, other._to
        self._gain_share, self._load_share = other._gain_share, other._load_share
        self.changing = other.changing
        for law in self._laws:
            law.tune(*self.gains)
        if self._loads is not None and other._loads is not None:
            self._loads.adopt(other._loads, smooth(self._load_share))
            self.by_signal.carried = list(other.by_signal.carried)

    def advance(self, dt: float) -> None:
        """One tick of dt seconds."""
        if self._gain_share < 1.0:
            self._gain_share = min(1.0, self._gain_share + dt / GAIN_RAMP_S)
            x = smooth(self._gain_share)
            self.gains = (
                self._from[0] + x * (self._to[0] - self._from[0]),
                self._from[1] + x * (self._to[1] - self._from[1]),
            )
            for law in self._laws:
                law.tune(*self.gains)
        if self._load_share < 1.0 and self._loads is not None:
            self._load_share = min(1.0, self._load_share + dt / LOAD_RAMP_S)
            self._loads.apply(smooth(self._load_share))
        self.changing = self._gain_share < 1.0 or self._load_share < 1.0


def smooth(x: float) -> float:
    """From 0 to 1 with rate and its rate 0 at both ends: 10 x³ − 15 x⁴ + 6 x⁵."""
    return x**3 * (10.0 - 15.0 * x + 6.0 * x * x)


class Preload:
    """Pre-load of a kinematic loop by redundant motors: its target, and its value along the ramp.

    `now` (motors, N m or N): the efforts preferred where the motion leaves a choice. A change takes `RAMP_S`
    for the whole range of a motor, so that the loop is not shocked.
    """

    def __init__(self, machine: Machine) -> None:
        settings = machine.preload
        self._most = np.array([one.most for one in settings])
        self._step = self._most * (machine.period_s / RAMP_S)
        self._wanted = np.array([one.effort for one in settings])
        self.now = self._wanted.copy()
        self.changing = False

    def advance(self) -> None:
        """One tick of a change."""
        self.now += np.clip(self._wanted - self.now, -self._step, self._step)
        self.changing = not np.array_equal(self.now, self._wanted)

    def adopt(self, other: Preload) -> None:
        """Copy the state of another pre-load of the same motors."""
        self._wanted[:], self.now[:], self.changing = other._wanted, other.now, other.changing

    def obey(self, order: SetPreload) -> OrderOutcome:
        """Aim for the efforts of an order."""
        wanted = self._wanted.copy()
        for motor, effort in order.pairs:
            if not (0 <= motor < len(wanted) and abs(effort) <= self._most[motor]):
                return OrderOutcome.REFUSED_VALUE
            wanted[motor] = effort
        if np.array_equal(wanted, self._wanted):
            return OrderOutcome.NOTHING_TO_DO
        self._wanted[:], self.changing = wanted, True
        return OrderOutcome.DONE
