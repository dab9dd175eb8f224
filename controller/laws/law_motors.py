"""The motors of one machine, which its laws share: from accelerations to efforts, with a report."""

from collections.abc import Iterator

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.actuation.load_relief import choice_for, relieve_loads
from linkwork.controller.actuation.motor_allocation import BEYOND, drive, words
from linkwork.controller.actuation.redundant_motors import RedundantMotors
from linkwork.controller.laws.law import LawReport
from linkwork.machine import Machine
from linkwork.machine.description import LoadLimit
from linkwork.machine.sections.force_settings import rows_with_unit
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.layout import RANK

FADE_S = 0.1
"""Time in which the load of a constraint fades before a goal opens it."""


class Motors:
    """The motors of one machine, as kernel arguments. `dof`: its degrees of freedom.

    `report`: what all laws of the machine write to. `preload` (per motor, N m or N): the efforts to stay
    close to where the motion leaves a choice. `most` (per motor): the largest efforts, lower while it is hot.
    """

    def __init__(
        self,
        machine: Machine,
        report: LawReport | None = None,
        preload: Floats | None = None,
        most: Floats | None = None,
    ) -> None:
        nv, motors = machine.mechanism.nv, machine.motors
        self.dof = machine.dof
        self.index = np.array([motor.index for motor in motors], np.int64)
        self.most = np.array([motor.max_effort for motor in motors]) if most is None else most
        self.weight = machine.effort_weights
        self.preload = np.zeros(len(motors)) if preload is None else preload
        self.report = LawReport() if report is None else report
        self.scratch, self.told = np.zeros(words(nv, len(motors))), np.ones(3)
        self._allocation = None
        redundant = len(motors) > machine.dof
        fading = list(_fading_limits(machine)) if redundant else []
        self.fades = bool(fading)
        """Whether loads of constraints can fade before they open."""
        self._bounded = bool(redundant and machine.load_limits)
        self.bears = self._bounded
        """Whether motors have a choice that load limits bound."""
        if redundant:
            self._allocation = RedundantMotors(machine.mechanism, self.index, self.most, self.weight)
            limits = [*machine.held_limits(), *(limit for _, limit in fading)]
            self._loads = choice_for(limits, len(motors), len(machine.mechanism.row_names), nv)
        self._fading = [(place, bit) for place, (bit, _) in enumerate(fading, len(machine.load_limits))]
        """Of limits for constraints that open: place among all, and bit of the constraint."""

    def fade(self, opening: int, left_s: float) -> None:
        """Let the loads of constraints (a bit each) fade that will open so much later."""
        for place, bit in self._fading:
            left = max(left_s, 0.0) / FADE_S if opening >> bit & 1 else np.inf
            self._loads.share[place] = left
            if left >= 1.0:
                self._loads.limits.most[place] = np.inf
        self.bears = self._bounded or bool(self._fading and opening and left_s < FADE_S)

    def drive(self, ahead: Workspace, u: Floats, coast: Floats, force: Floats) -> None:
        """Write the force (nv; N m or N) for the acceleration u (nv), or for as much of its direction as
        possible.

        coast (nv): the acceleration that takes priority over u. See `LawReport` for the rest.
        """
        scratch, told = self.scratch, self.told
        drive(
            *ahead.arguments, self.index, self.most, self.weight, self.preload,
            u, coast, scratch, force, told,
        )  # fmt: skip
        self.report_allocation(force)
        if self.bears:
            self.relieve_motion(ahead, u, coast, force)

    def report_allocation(self, force: Floats) -> None:
        """Report the result of `drive`; where motors are at their limits, allocate the force (nv) again."""
        report = self.report
        report.leverage, report.share, free = self.told.tolist()
        if report.share == BEYOND and self._allocation is not None:
            report.programs = 1
            report.share = self._allocation(self.scratch, int(free), self.preload, force)

    def relieve_motion(self, ahead: Workspace, u: Floats, coast: Floats, force: Floats) -> None:
        """After `drive` for these: change the force (nv) where closures would be beyond their limits.

        Where motors cannot even hold the load, the motion is not known, and the force stays.
        """
        share = self.report.share
        if share > 0.0:
            given = u if share == 1.0 else coast + share * (u - coast)
            basis = ahead.basis[: len(u) - int(ahead.ranking[RANK])]
            self.relieve(ahead, basis, ahead.M @ given + ahead.h - ahead.friction, force)

    def relieve(self, ahead: Workspace, basis: Floats, needed: Floats, force: Floats) -> None:
        """Change the force (nv) of the motors; basis (free × nv), needed (nv): see `relieve_loads`."""
        relieve_loads(
            *ahead.arguments, basis, needed, self.index, self.weight, self.most, self._loads, force,
        )  # fmt: skip


def _fading_limits(machine: Machine) -> Iterator[tuple[int, LoadLimit]]:
    """Yield limits for the loads of switchable constraints, with its bit, not bounded yet.

    There are none for constraints that load limits keep pressed.
    """
    pressed = {limit.constraint for limit in machine.load_limits if limit.side and limit.most < 0.0}
    for bit, name in enumerate(machine.switchable):
        for unit in ("N", "N m"):
            rows = tuple(rows_with_unit(machine.mechanism, name, unit).values())
            if rows and name not in pressed:
                yield bit, LoadLimit(name, rows, unit == "N", np.inf, faults=False, scale=1.0)
