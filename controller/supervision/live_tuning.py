"""Gains, payloads and pre-loads, which may change while the machine runs. Every change is a ramp."""

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from linkwork.controller.exchange.orders import LiveOrder, OrderOutcome, SetGains, SetPayload, SetPreload
from linkwork.controller.laws import Law, Tunable
from linkwork.machine import Machine
from linkwork.machine.gains import gain_matrices, not_definite, out_of_bounds, set_alone
from linkwork.machine.payloads import Loads, SignalLoads, load_vector

GAIN_RAMP_S = 0.2
LOAD_RAMP_S = 0.5
RAMP_S = 0.5


class Tuning:
    """Gains of the laws and payloads of the model, on a ramp to their last targets."""

    def __init__(self, machine: Machine, laws: Iterable[Law], loads: Loads | None) -> None:
        settings = machine.controller
        self._settings = settings
        self._laws = [law for law in {id(law): law for law in laws}.values() if isinstance(law, Tunable)]
        self.gains = (settings.bandwidth_rad_s, settings.damping_ratio)
        """Bandwidth (rad/s) and damping ratio at work, of coordinates without their own."""
        self._from = self._to = self.gains
        names = machine.mechanism.coordinate_names
        self._matrices = np.array(gain_matrices(settings, names))
        self._matrices_from, self._matrices_to = self._matrices.copy(), self._matrices.copy()
        self._loads = loads
        self.by_signal = SignalLoads(machine, loads)
        """Loads that signals attach; they change at once."""
        self._known = {one.index for one in machine.payloads}
        self._gain_share = self._load_share = 1.0
        self.changing = False
        """Whether `advance` has something to do."""

    def ask(self, order: LiveOrder) -> OrderOutcome:
        """Begin the ramp to other gains, or to another load."""
        if isinstance(order, SetPayload):
            return self._ask_load(order)
        allowed = self._aim(order) if isinstance(order, SetGains) else self._aim_matrices(order.numbers)
        if not allowed:
            return OrderOutcome.REFUSED_VALUE
        self._from, self._gain_share, self.changing = self.gains, 0.0, True
        self._matrices_from[:] = self._matrices
        return OrderOutcome.DONE

    def _aim(self, order: SetGains) -> bool:
        """Change the gains aimed at as ordered, if that is allowed."""
        given = order.bandwidth_rad_s, order.damping_ratio
        for name, value in zip(("bandwidth_rad_s", "damping_ratio"), given, strict=True):
            low, high = self._settings.bounds_of(name)
            if value and not low <= value <= high:
                return False
        position, rate = self._matrices_to
        chosen = order.coordinates or range(len(position))
        if not all(0 <= i < len(position) for i in chosen):
            return False
        for i in chosen:
            omega = float(np.sqrt(position[i, i]))
            set_alone(position, rate, i, given[0] or omega, given[1] or float(rate[i, i]) / (2.0 * omega))
        if not order.coordinates:
            self._to = given[0] or self._to[0], given[1] or self._to[1]
        return True

    def _aim_matrices(self, numbers: Sequence[float]) -> bool:
        """Change the matrices aimed at as ordered, if that is allowed."""
        k = int(np.sqrt(len(numbers) + 1)) - 1
        chosen = [int(number) for number in numbers[:k]]
        most = self._matrices.shape[1]
        if (
            k < 1
            or k * (k + 2) != len(numbers)
            or not all(0 <= i < most for i in chosen)
            or len(set(chosen)) < k
        ):
            return False
        upper, blocks = np.triu_indices(k), np.zeros((2, k, k))
        for block, entries in zip(blocks, np.reshape(numbers[k:], (2, -1)), strict=True):
            block[upper] = block.T[upper] = entries
        if not_definite(*blocks) or any(out_of_bounds(self._settings, *blocks)):
            return False
        for matrix, block in zip(self._matrices_to, blocks, strict=True):
            matrix[chosen], matrix[:, chosen] = 0.0, 0.0
            matrix[np.ix_(chosen, chosen)] = block
        return True

    def _ask_load(self, order: SetPayload) -> OrderOutcome:
        if self._loads is None or order.point not in self._known or not order.mass_kg >= 0.0:
            return OrderOutcome.REFUSED_VALUE
        self._loads.aim(order.point, load_vector(order.mass_kg, order.com_m, order.inertia_kg_m2))
        self._load_share, self.changing = 0.0, True
        return OrderOutcome.DONE

    def adopt(self, other: Self) -> None:
        """Copy gains and loads from the tuning of another constraint set."""
        self.gains, self._from, self._to = other.gains, other._from, other._to
        self._matrices[:], self._matrices_to[:] = other._matrices, other._matrices_to
        self._matrices_from[:] = other._matrices_from
        self._gain_share, self._load_share = other._gain_share, other._load_share
        self.changing = other.changing
        for law in self._laws:
            law.tune(*self._matrices)
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
            self._matrices[:] = (1.0 - x) * self._matrices_from + x * self._matrices_to
            for law in self._laws:
                law.tune(*self._matrices)
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

    def adopt(self, other: Self) -> None:
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
