"""Figures of merit of a run, from the records of its ticks, taken in one after another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.machine import Machine
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.protocol.codes import ResultCode

SUCCESSFUL: Final = ResultCode.SUCCESSFUL.name
_UNDER_WAY: Final = (GoalStatus.RUNNING, GoalStatus.SETTLING, GoalStatus.PAUSED, GoalStatus.STOPPING)


def figure_names(machine: Machine, measured: Sequence[str]) -> dict[str, str]:
    """Return every figure of a machine's runs with its unit. measured: coordinates."""
    angles = {limits.name: limits.is_angle for limits in machine.coordinates}
    found: dict[str, str] = {}
    for name in measured:
        unit = "rad" if angles[name] else "m"
        found |= {f"error_max.{name}": unit, f"error_rms.{name}": unit, f"error_end.{name}": unit}
    for motor in machine.motors:
        unit = motor.effort_unit
        found |= {f"effort_peak.{motor.joint}": unit, f"effort_rms.{motor.joint}": unit}
    return found | {
        "effort_share": "1", "speed_share": "1", "energy": "J", "duration": "s", "settling": "s",
        "limited": "s", "closure_residual": "1", "lost_states": "ticks",
    }  # fmt: skip


@dataclass(frozen=True)
class Merit:
    """Figures of a run, by the names of `figure_names` in their order; NaN where there is none."""

    result: str
    fault: str
    values: tuple[float, ...]


class MeritRecorder:
    """Takes in records of a run in batches; `merit` gives the figures of one goal.

    goal: its number. Errors are those of the true positions of the plant, not of the estimate.
    """

    def __init__(self, machine: Machine, measured: Sequence[str], goal: int) -> None:
        self._machine, self._goal = machine, goal
        mechanism = machine.mechanism
        self._columns = np.array([mechanism.coordinate_index(name) for name in measured], np.intp)
        self._wraps = np.array([mechanism.coordinate_wraps[at] for at in self._columns], np.bool_)
        self._coordinates = _TrueCoordinates(machine, measured)
        motors = machine.motors
        self._motor_index = np.array([motor.index for motor in motors], np.intp)
        self._most_effort = np.array([motor.max_effort for motor in motors])
        self._most_speed = np.array([limits.velocity for limits in machine.joints])
        for motor in motors:
            self._most_speed[motor.index] = min(self._most_speed[motor.index], motor.max_speed)
        count = len(self._columns)
        self._error_max, self._error_square, self._error_ticks = np.zeros((3, count))
        self._error_end = np.full(count, np.nan)
        self._effort_max, self._effort_square = np.zeros((2, len(motors)))
        self._work = np.zeros(len(motors))
        self._speed = self._residual = 0.0
        self._ticks = self._settling = self._limited = 0
        self._code: int | None = None
        self._fault = self._lost = self._lost_before = 0

    def add(self, table: NDArray[Any], true_q: Floats) -> None:
        """Take in records (n; structured) and true positions (n, nq; rad or m) at their ticks."""
        last = table[-1]
        self._fault = self._fault or int(last["fault"])
        if int(last["goal_id"]) and int(last["goal_status"]) in (GoalStatus.SUCCEEDED, GoalStatus.ENDED):
            self._code = int(last["goal_code"])
        rows = (table["goal_id"] == self._goal) & np.isin(table["goal_status"], _UNDER_WAY)
        if rows.any():
            self._add(table[rows], true_q[rows])

    def _add(self, table: NDArray[Any], true_q: Floats) -> None:
        period_s = self._machine.period_s
        error = table["reference"][:, self._columns] - self._coordinates.compute(true_q)
        turns = error[:, self._wraps]
        error[:, self._wraps] = turns - math.tau * np.round(turns / math.tau)
        error = np.abs(error)
        known = np.isfinite(error)
        self._error_max = np.fmax(self._error_max, np.where(known, error, 0.0).max(axis=0))
        self._error_square = _added(self._error_square, np.square(np.where(known, error, 0.0)))
        self._error_ticks += known.sum(axis=0)
        self._error_end = np.where(known[-1], error[-1], self._error_end)
        effort, acting = np.abs(table["effort"]), table["device_effort"]
        self._effort_max = np.maximum(self._effort_max, effort.max(axis=0))
        self._effort_square = _added(self._effort_square, np.square(effort))
        power = np.abs(acting * table["v"][:, self._motor_index])
        self._work = _added(self._work, power * period_s)
        share = np.abs(table["v"]) / self._most_speed
        self._speed = max(self._speed, float(share.max()))
        residual = table["closure_residual"]
        self._residual = max(self._residual, float(np.nanmax(residual, initial=0.0)))
        lost = table["lost_total"]
        if not self._ticks:
            self._lost_before = int(lost[0])
        self._lost = max(self._lost, int(lost.max()) - self._lost_before)
        self._ticks += len(table)
        self._settling += int((table["goal_status"] == GoalStatus.SETTLING).sum())
        self._limited += int((table["limited"] != 0).sum())

    def merit(self, ended: str = "") -> Merit:
        """Return the figures. ended: why the run ended before its goal did."""
        period_s, ticks = self._machine.period_s, self._ticks
        fault = FaultCode(self._fault).name if self._fault else ""
        result = ended or (ResultCode(self._code).name if self._code is not None else "NOT_BEGUN")
        if not ticks:
            count = 3 * len(self._columns) + 2 * len(self._effort_max) + 8
            return Merit(result, fault, (math.nan,) * count)
        with np.errstate(invalid="ignore", divide="ignore"):
            error_rms = np.sqrt(self._error_square / self._error_ticks)
        error_max = np.where(self._error_ticks > 0, self._error_max, np.nan)
        effort_rms = np.sqrt(self._effort_square / ticks)
        errors = np.stack([error_max, error_rms, self._error_end], axis=1)
        efforts = np.stack([self._effort_max, effort_rms], axis=1)
        rest = (
            float((self._effort_max / self._most_effort).max(initial=0.0)),
            self._speed,
            float(self._work.sum()),
            ticks * period_s,
            self._settling * period_s,
            self._limited * period_s,
            self._residual,
            float(self._lost),
        )
        return Merit(result, fault, (*errors.ravel().tolist(), *efforts.ravel().tolist(), *rest))


def _added(total: Floats, rows: Floats) -> Floats:
    """Return a sum (n,) with rows (m, n) added one by one: the same however a run is cut into batches."""
    whole: Floats = np.add.accumulate(np.vstack([total, rows]))[-1]
    return whole


class _TrueCoordinates:
    """Some of the mechanism's coordinates at true positions of the plant."""

    def __init__(self, machine: Machine, names: Sequence[str]) -> None:
        mechanism = machine.plant_mechanism
        positions = list(mechanism.position_names)
        self._places = [positions.index(name) if name in positions else -1 for name in names]
        self._columns = [mechanism.coordinate_index(name) for name in names]
        self._work = mechanism.workspace()

    def compute(self, q: Floats) -> Floats:
        """Return the coordinates (n, coordinates; rad or m) at q (n, nq)."""
        if min(self._places, default=0) >= 0:
            return q[:, self._places]

        found, work = np.empty((len(q), len(self._columns))), self._work
        for row, each in enumerate(q):
            work.q[:] = each
            kinematics(*work.arguments)
            coordinates(*work.arguments)
            found[row] = work.theta[self._columns]
        return found
