"""Force control: measured force, wanted force, and the feedback between them.

The push of a pressed force is the wanted force and its correction, G_F e + G_I ∫ e dt with e = wanted - felt.
The correction is bounded, and its integral rests while the motors are at their limits. Steps of the wanted
force become ramps. Time is counted in ticks.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.force_sources import senses_of
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.controller.laws.contact_forces import contact_effort, set_contact_force
from linkwork.controller.laws.force_reference import ForceReference, Grip
from linkwork.machine import Machine
from linkwork.machine.checks.force_stability import mass_along
from linkwork.multibody import Workspace

Sense = Callable[[Inputs, float], float]


class ForceControl:
    """The forces of one machine, in the order of `Machine.force_rows`. `now`: the estimate of the tick.

    `felt`: N or N m, by a sensor or by the model; NaN where it is unknown.
    """

    def __init__(self, machine: Machine, now: Workspace) -> None:
        self._now, self._rows = now, machine.force_rows
        self._settings = machine.controller.force
        self._period_s = machine.period_s
        count = len(self._rows)
        self.forces = ForceReference.sized(count)
        self.felt = np.full(count, np.nan)
        self.target = np.zeros(count)
        self._integral, self._tare = np.zeros(count), np.zeros(count)
        self._without_s = np.zeros(count)
        self._rests_until_s = 0.0
        self._releasing = False
        self._time_s = 0.0
        self._senses = senses_of(machine, now)  # contacts come before constraints
        gauges = [machine.gauge_of(row.row) for row in self._rows[len(self._senses) :]]
        self._measured = np.full(len(gauges), np.nan)
        self._gauges = [(number, gauge) for number, gauge in enumerate(gauges) if gauge >= 0]
        for i, row in enumerate(self._rows):
            if row.kind == "contact":
                law = machine.mechanism.contacts[row.index]
                mass = mass_along(machine, row.gap)
                self.forces.damping[i] = (
                    2.0 * self._settings.added_damping_ratio * math.sqrt(law.stiffness_N_m * mass)
                )

    # Measured forces.

    def sense(self, inputs: Inputs, dt: float) -> None:
        """Update the measured forces. Call it each tick, after the estimate."""
        for i, sense in enumerate(self._senses):
            self.felt[i] = sense(inputs, dt) - self._tare[i]
        for number, gauge in self._gauges:
            self._measured[number] = inputs.force_measured[gauge]

    def felt_by_joints(self, out: Floats) -> None:
        """Write the generalized force (nv) of the contacts that are felt or pressed, with their friction."""
        if not self._senses:
            return
        out[:] = 0.0
        for i in range(len(self._senses)):
            if self.forces.grip[i] != Grip.FREE or self.in_touch(i):
                contact_effort(*self._now.arguments, self._rows[i].index, self.felt[i], self._now.v, out)

    def felt_contacts(self, work: Workspace) -> None:
        """After an acceleration in `work`: its contact forces become those that are felt or pressed now."""
        for i in range(len(self._senses)):
            pressed = self.forces.grip[i] != Grip.FREE or self.in_touch(i)
            felt = self.felt[i] if pressed else 0.0
            set_contact_force(*work.arguments, self._rows[i].index, felt, work.v)

    def react(self, multipliers: Floats) -> None:
        """Set the forces from the model's constraint multipliers (nr; N or N m) under the acting command.

        Where a sensor measures a row its reading is used instead.
        """
        first = len(self._senses)
        for i in range(first, len(self._rows)):
            self.felt[i] = multipliers[self._rows[i].row]
        for number, _ in self._gauges:
            self.felt[first + number] = self._measured[number]

    def in_touch(self, row: int) -> bool:
        """Whether a contact is felt."""
        return bool(self.felt[row] >= self._settings.touch_N)

    def tare(self, row: int) -> bool:
        """Tare the force before contact. False where it is in contact.

        It is in contact where a force is measured and the model has no gap.
        """
        if self._now.theta[self._rows[row].gap] <= 0.0 and self.in_touch(row):
            return False
        self._tare[row] += self.felt[row]
        self.felt[row] = 0.0
        return True

    def write(self, felt: Floats, wanted: Floats, push: Floats) -> None:
        """Write measured forces to `felt`; those wanted and applied of controlled forces (rows)."""
        if not self._rows:
            return
        felt[:] = self.felt
        for told, values in ((wanted, self.forces.wanted), (push, self.forces.push)):
            told[:] = np.where(self.forces.grip == Grip.PRESS, values, np.nan)

    # Wanted forces.

    @property
    def pressing(self) -> bool:
        """Whether any force, or a gap in its place, is held."""
        return bool(self._rows) and bool(np.any(self.forces.grip != Grip.FREE))

    @property
    def lost(self) -> int:
        """The first pressed contact that has gone; -1 none."""
        if not self._rows:
            return -1
        gone = (self.forces.grip == Grip.PRESS) & (self._without_s > self._settings.lost_s)
        return int(np.argmax(gone)) if np.any(gone) else -1

    @property
    def doubtful(self) -> bool:
        """Whether a pressed contact is not felt now, but not long enough yet to count as lost."""
        return bool(np.any((self.forces.grip == Grip.PRESS) & (self._without_s > 0.0)))

    def press(self, row: int, target: float, time_s: float) -> None:
        """Ramp from the measured force to the target. A force that is pressed already gets another target."""
        if self.forces.grip[row] != Grip.PRESS:
            self.forces.grip[row] = Grip.PRESS
            self.forces.wanted[row] = self.felt[row] if math.isfinite(self.felt[row]) else 0.0
            self._integral[row] = self._without_s[row] = 0.0
        self.target[row] = target
        self._releasing = False
        self.settle(time_s)

    @property
    def pressed(self) -> set[int]:
        """The forces that are controlled."""
        return set(np.flatnonzero(self.forces.grip == Grip.PRESS).tolist())

    def settle(self, time_s: float) -> None:
        """The tolerances of force rest for a while."""
        self._rests_until_s = time_s + self._settings.settle_s

    def hold_gap(self, row: int) -> None:
        """The gap is held where it is; the force is controlled no more."""
        self.forces.grip[row] = Grip.HOLD_GAP
        self.forces.gap[row] = self._now.theta[self._rows[row].gap]

    def release(self) -> None:
        """Ramp all forces to zero."""
        self.target[:] = 0.0
        self._releasing = True

    @property
    def released(self) -> bool:
        """Whether they have gone."""
        return self._releasing and not np.any(self.forces.wanted[self.forces.grip == Grip.PRESS])

    def keep(self) -> None:
        """Keep the present wanted forces and end all ramps."""
        self.target[:] = self.forces.wanted
        self._releasing = False

    def reset(self) -> None:
        """Motion alone again."""
        self.forces.grip[:] = Grip.FREE
        self.forces.wanted[:] = self.target[:] = self._integral[:] = self._without_s[:] = 0.0
        self._releasing = False

    # One tick.

    def advance(self, time_s: float, *, limited: bool) -> None:
        """Advance ramps and corrections by one tick. `limited`: the motors were at their limits."""
        if not self._rows:
            return
        self._time_s = time_s
        for i in np.flatnonzero(self.forces.grip == Grip.PRESS):
            self._advance(int(i), limited)

    def _advance(self, i: int, limited: bool) -> None:
        settings, forces = self._settings, self.forces
        step = settings.rate_N_s * self._period_s
        forces.wanted[i] += min(max(self.target[i] - forces.wanted[i], -step), step)
        error = forces.wanted[i] - self.felt[i] if math.isfinite(self.felt[i]) else 0.0
        change = settings.integral_per_s * error * self._period_s
        if not (limited and change * self._integral[i] > 0.0):
            self._integral[i] = _within(self._integral[i] + change, settings.most_correction_N)
        correction = _within(settings.proportional * error + self._integral[i], settings.most_correction_N)
        forces.push[i] = forces.wanted[i] + correction
        if self._rows[i].kind == "contact":
            wanted_here = forces.wanted[i] >= settings.touch_N
            without = wanted_here and self.felt[i] < 0.5 * settings.touch_N
            self._without_s[i] = self._without_s[i] + self._period_s if without else 0.0

    # Tolerances.

    def violated(self, rows: Sequence[int], tolerance: Floats) -> tuple[int, float, float] | None:
        """Return the force with the largest error beyond its tolerance (rows): (row, error, tolerance), or
        None.

        None while tolerances are not checked.
        """
        if self._time_s < self._rests_until_s:
            return None
        worst, excess = None, 0.0
        for row, allowed in zip(rows, tolerance.tolist(), strict=True):
            error = abs(self.forces.wanted[row] - self.felt[row])
            if error - allowed > excess:
                worst, excess = (int(row), float(error), float(allowed)), error - allowed
        return worst

    def arrived(self, rows: Sequence[int]) -> bool:
        """Whether the wanted forces are at their targets, and the time for settling is over."""
        there = all(self.forces.wanted[row] == self.target[row] for row in rows)
        return there and self._time_s >= self._rests_until_s


def _within(value: float, most: float) -> float:
    return min(max(value, -most), most)
