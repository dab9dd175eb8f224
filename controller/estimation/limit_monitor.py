"""Monitors that the supervisor runs each tick: link, device, measurements, joint limits, path deviation."""

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Flags, Floats, Integers, Matrix
from linkwork.controller.estimation.sensor_estimate import Estimator
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.tick_io import Inputs
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.tree.rotations import wrapped
from linkwork.protocol.codes import DeviceFault, DeviceStatus
from linkwork.protocol.link import MOTOR_FAULT

Found = tuple[FaultCode, int, float, float]
_FAULT, _STO, _HOMED = (int(bit) for bit in (DeviceStatus.FAULT, DeviceStatus.STO, DeviceStatus.HOMED))
_TROUBLE = _FAULT | _STO
OVERSPEED = 1.25
"""A joint may exceed its velocity limit by this factor before that is a fault."""
LIMIT_SLACK = 1e-3
"""rad or m beyond a position limit that a joint may be carried by its tracking error before that is a
fault.
"""
BACK = 5e-3
"""rad or m that a joint on its way back from outside its limits may swing outwards."""
AT_REST = 1e-3
"""rad/s or m/s: a speed below this, beside the uncertainty of its measurement, counts as rest."""


@kernel
def first_beyond(q: Floats, v: Floats, limits: Matrix, edges: Matrix, slack: Matrix) -> int:
    """The first joint outside its position limits that has moved outwards (2 i), or too fast (2 i + 1); −1
    when none is.

    limits (n × 3): lowest and highest position, largest speed. edges (n × 2): the positions from which on a
    joint moves outwards; where it is outside its limits they follow it inwards. slack (n × 2): what positions
    and speeds may be beyond these.
    """
    for i in range(len(q)):
        edges[i, 0] = min(limits[i, 0], max(edges[i, 0], q[i] - BACK))
        edges[i, 1] = max(limits[i, 1], min(edges[i, 1], q[i] + BACK))
        if q[i] > edges[i, 1] + slack[i, 0] or q[i] < edges[i, 0] - slack[i, 0]:
            return 2 * i
        if abs(v[i]) > limits[i, 2] + slack[i, 1]:
            return 2 * i + 1
    return -1


@kernel
def worst_violation(
    index: Integers, reference: Floats, theta: Floats, wraps: Flags, tolerance: Floats, error: Floats
) -> int:
    """Write |reference − θ| for the coordinates `index` to `error` (k); return the one most beyond its
    tolerance.

    reference, tolerance (k; rad or m), theta (nc). A coordinate that wraps (nc) is measured the short way
    round. Returns −1 where none is beyond.
    """
    worst, excess = -1, 0.0
    for i in range(len(index)):
        difference = reference[i] - theta[index[i]]
        if wraps[index[i]]:
            difference = wrapped(difference)
        error[i] = abs(difference)
        if error[i] - tolerance[i] > excess:
            worst, excess = i, error[i] - tolerance[i]
    return worst


class LimitMonitor:
    """The limits of one machine, as arrays. `estimate` is the workspace that the tick keeps current."""

    def __init__(self, machine: Machine, estimate: Workspace) -> None:
        self._machine, self._estimate = machine, estimate
        joints = machine.joints
        self._max_speed = OVERSPEED * np.array([joint.velocity for joint in joints])
        for motor in machine.motors:
            self._max_speed[motor.index] = min(self._max_speed[motor.index], OVERSPEED * motor.max_speed)
        self._limits = np.column_stack([[joint.position for joint in joints], self._max_speed])
        self._edges, self._slack = self._limits[:, :2].copy(), np.zeros((len(joints), 2))
        self._slack[:, 0] = LIMIT_SLACK
        self._measured = np.array([sensor.index for sensor in machine.sensors], np.int64)
        self._uncertain = np.column_stack(
            [[sensor.uncertainty for sensor in machine.sensors], Estimator(machine).speed_uncertainty]
        )
        """Of the measured joints' positions and speeds (sensors × 2)."""
        self._slack[self._measured] += self._uncertain
        self._exact = len(self._measured) == machine.mechanism.nv or not self._uncertain.any()
        """Whether the uncertainty of every joint is the same at each pose."""
        self.begun = False
        """Whether the machine was in motion at the last tick."""
        names = machine.mechanism.coordinate_names
        motors = np.array(machine.motor_coordinates, np.int64)
        self._joint_sets = np.array(machine.home_coordinates, np.int64), motors
        its_own = set(machine.mechanism.joint_names)
        tasks = [at for at, name in enumerate(names) if name not in its_own and "." not in name]
        self._task_set = np.array(tasks, np.int64)
        """The file's task coordinates; those with a dot in their names are of constraints and contacts."""
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._loss_limit = machine.controller.loss_limit
        self._largest_jump_s = self._loss_limit * machine.period_s
        self._loss_ratio = machine.controller.loss_ratio_per_s
        self.connected = False

    def check(
        self, inputs: Inputs, q: Floats, v: Floats, bad_sensor: int, *, moving: bool, following: bool
    ) -> Found | None:
        """Return the first fault (code, index, value, limit) at q (nv; rad or m) and v (nv), or None.

        moving: the machine is in motion. following: a goal is under way, for which the machine must be homed.
        """
        self.connected = inputs.connected
        if not inputs.connected or inputs.lost_in_a_row >= self._loss_limit:
            return FaultCode.LINK_LOST, -1, float(inputs.lost_in_a_row), float(self._loss_limit)
        if inputs.loss_ratio > self._loss_ratio:
            return FaultCode.LINK_LOSS_RATIO, -1, inputs.loss_ratio, self._loss_ratio
        status = inputs.device_status
        if status & _TROUBLE or (following and not status & _HOMED):
            return self._device(inputs)
        if bad_sensor >= 0:
            return FaultCode.MEASUREMENT_NOT_FINITE, bad_sensor, float(inputs.q_measured[bad_sensor]), np.inf
        if not moving:
            self.begun = False
            return None
        if inputs.clock_jump_s:
            return FaultCode.DEVICE_CLOCK, -1, inputs.clock_jump_s, self._largest_jump_s
        if not self.begun:
            self.begun = True
            self._edges[:, 0], self._edges[:, 1] = q, q
        which = first_beyond(q, v, self._limits, self._edges, self._slack)
        if which >= 0 and not self._exact:
            self._spread()
            which = first_beyond(q, v, self._limits, self._edges, self._slack)
        if which < 0:
            return None
        joint = which // 2
        if which % 2:
            return FaultCode.VELOCITY_LIMIT, joint, float(v[joint]), float(self._max_speed[joint])
        low, high, _ = self._limits[joint].tolist()
        return FaultCode.POSITION_LIMIT, joint, float(q[joint]), high if q[joint] > high else low

    def _spread(self) -> None:
        """Write the slack of all joints that the sensors' uncertainty explains at this pose."""
        motions = np.nan_to_num(self._estimate.basis[: self._machine.dof])
        share = np.abs(np.linalg.pinv(motions[:, self._measured]) @ motions)
        self._slack[:] = share.T @ self._uncertain
        self._slack[:, 0] += LIMIT_SLACK

    def at_rest(self, v: Floats) -> bool:
        """Whether the speeds v (nv; rad/s or m/s) are below `AT_REST` and their uncertainty."""
        speeds = np.abs(v) - AT_REST
        if np.all(speeds <= 0.0):
            return True
        if not self._exact:
            self._spread()
        return bool(np.all(speeds <= self._slack[:, 1]))

    def _device(self, inputs: Inputs) -> Found:
        status = inputs.device_status
        if status & _FAULT:
            if inputs.device_fault == DeviceFault.COMMAND_TIMEOUT:
                return FaultCode.DEVICE_WATCHDOG, -1, float(inputs.device_fault), 0.0
            faults = inputs.motors[MOTOR_FAULT]
            motor = int(np.argmax(faults != 0)) if faults.any() else -1
            told = float(faults[motor]) if motor >= 0 else float(inputs.device_fault)
            return FaultCode.DEVICE_FAULT, motor, told, 0.0
        if status & _STO:
            return FaultCode.DEVICE_STO, -1, 1.0, 0.0
        return FaultCode.NOT_HOMED, -1, 0.0, 1.0

    def still_there(self, code: FaultCode, inputs: Inputs, v: Floats) -> bool:
        """Whether the cause of a latched fault persists, at joint velocities v (nv)."""
        if not inputs.connected:
            return True
        status = inputs.device_status
        match code:
            case FaultCode.LINK_LOST:
                return inputs.lost_in_a_row > 0
            case FaultCode.LINK_LOSS_RATIO:
                return inputs.lost_in_a_row > 0 or inputs.loss_ratio > self._loss_ratio
            case FaultCode.DEVICE_FAULT | FaultCode.DEVICE_WATCHDOG:
                return bool(status & _FAULT)
            case FaultCode.DEVICE_STO:
                return bool(status & _STO)
            case FaultCode.NOT_HOMED:
                return not status & _HOMED
            case FaultCode.MEASUREMENT_NOT_FINITE:
                return not bool(
                    np.all(np.isfinite(inputs.q_measured)) and np.all(np.isfinite(inputs.v_measured))
                )
            case FaultCode.VELOCITY_LIMIT:
                return not self.at_rest(v)
            case _:
                return False

    def violation(
        self, index: NDArray[np.int64], reference: Floats, theta: Floats, tolerance: Floats, error: Floats
    ) -> int:
        """Return the place in `index` (k) of the worst tolerance violation, −1 for none.

        reference (k), theta (coordinates): rad or m; wrapping coordinates are compared the short way round.
        tolerance: rad or m, 0 for none. error receives the errors. Shapes as of `worst_violation`.
        """
        return worst_violation(index, reference, theta, self._wraps, tolerance, error)

    def jog_set(self, wanted: list[int]) -> NDArray[np.int64] | None:
        """Return the independent coordinates (dof) that a jog moves; None for a mixture.

        They are those of `Machine.home_coordinates`, all motors, or all task coordinates.
        """
        for whole in (*self._joint_sets, self._task_set):
            if wanted and set(wanted) <= set(whole.tolist()) and len(whole) == self._machine.dof:
                return whole
        return None
