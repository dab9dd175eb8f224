"""What the supervisor looks at each tick: the link, the device, the measurements, the joints' limits, the
goal's deviation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from controller.loop.exchange import Inputs
from controller.loop.faults import FaultCode
from machine import Machine
from multibody.compiling import FLAGS, INTEGERS, VECTOR, boolean, int64, kernel, void
from protocol.codes import DeviceFault, DeviceStatus

Floats = NDArray[np.float64]
Found = tuple[FaultCode, int, float, float]
OVERSPEED = 1.25
"""A joint may exceed its velocity limit by this factor before that is a fault."""
AT_REST = 1e-3


@kernel(int64(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR))
def first_beyond(q: Floats, v: Floats, low: Floats, high: Floats, max_speed: Floats) -> int:
    """The first joint outside its position limits and moving outwards (2 i), or too fast (2 i + 1); −1 when
    none is.
    """
    for i in range(len(q)):
        if (q[i] > high[i] and v[i] > 1e-6) or (q[i] < low[i] and v[i] < -1e-6):
            return 2 * i
        if abs(v[i]) > max_speed[i]:
            return 2 * i + 1
    return -1


@kernel(void(INTEGERS, VECTOR, VECTOR, FLAGS, VECTOR))
def deviations(
    index: NDArray[np.int64], reference: Floats, theta: Floats, wraps: NDArray[np.bool_], error: Floats
) -> None:
    """Writes |reference − θ| for the coordinates `index`, the short way round where a coordinate is an angle
    that wraps.
    """
    for i in range(len(index)):
        difference = reference[i] - theta[index[i]]
        if wraps[index[i]]:
            difference -= 2.0 * np.pi * np.round(difference / (2.0 * np.pi))
        error[i] = abs(difference)


@kernel(boolean(VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR))
def must_slow(q: Floats, v: Floats, low: Floats, high: Floats, deceleration: Floats, jerk: Floats) -> bool:
    """Whether some joint, braking from now on within its acceleration and jerk limits, would not stop before
    its limit.
    """
    for i in range(len(q)):
        distance = v[i] * v[i] / (2.0 * deceleration[i]) + abs(v[i]) * deceleration[i] / jerk[i]
        if (v[i] > 0.0 and q[i] + distance >= high[i]) or (v[i] < 0.0 and q[i] - distance <= low[i]):
            return True
    return False


class Watch:
    """The limits of one machine, as arrays."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        joints = machine.joints
        self._low = np.array([joint.position[0] for joint in joints])
        self._high = np.array([joint.position[1] for joint in joints])
        self._max_speed = OVERSPEED * np.array([joint.velocity for joint in joints])
        for motor in machine.motors:
            self._max_speed[motor.index] = min(self._max_speed[motor.index], OVERSPEED * motor.max_speed)
        self._deceleration = np.minimum([joint.acceleration for joint in joints], 1e3)
        self._jerk = np.minimum([joint.jerk for joint in joints], 1e6)
        self._wraps = np.array(machine.mechanism.coordinate_wraps, np.bool_)
        self._loss_limit = machine.controller.loss_limit
        self._loss_ratio = machine.controller.loss_ratio_per_s
        self.connected = False

    def look(self, inputs: Inputs, q: Floats, v: Floats, bad_sensor: int, *, moving: bool) -> Found | None:
        """The first fault found: (code, index, value, limit), or None."""
        self.connected = inputs.connected
        if not inputs.connected or inputs.lost_in_a_row >= self._loss_limit:
            return FaultCode.LINK_LOST, -1, float(inputs.lost_in_a_row), float(self._loss_limit)
        if inputs.loss_ratio > self._loss_ratio:
            return FaultCode.LINK_LOSS_RATIO, -1, inputs.loss_ratio, self._loss_ratio
        found = self._device(inputs, moving=moving)
        if found is not None:
            return found
        if bad_sensor >= 0:
            return FaultCode.MEASUREMENT_NOT_FINITE, bad_sensor, float(inputs.q_measured[bad_sensor]), np.inf
        if not moving:
            return None
        which = first_beyond(q, v, self._low, self._high, self._max_speed)
        if which < 0:
            return None
        joint = which // 2
        if which % 2:
            return FaultCode.VELOCITY_LIMIT, joint, float(v[joint]), float(self._max_speed[joint])
        limit = self._high[joint] if v[joint] > 0.0 else self._low[joint]
        return FaultCode.POSITION_LIMIT, joint, float(q[joint]), float(limit)

    def _device(self, inputs: Inputs, *, moving: bool) -> Found | None:
        status = inputs.device_status
        if status & DeviceStatus.FAULT:
            tripped = inputs.device_fault == DeviceFault.COMMAND_TIMEOUT
            code = FaultCode.DEVICE_WATCHDOG if tripped else FaultCode.DEVICE_FAULT
            return code, -1, float(inputs.device_fault), 0.0
        if status & DeviceStatus.STO:
            return FaultCode.DEVICE_STO, -1, 1.0, 0.0
        if moving and not status & DeviceStatus.HOMED:
            return FaultCode.NOT_HOMED, -1, 0.0, 1.0
        return None

    def still_there(self, code: FaultCode, inputs: Inputs, v: Floats) -> bool:
        """Whether the cause of a latched fault still stands."""
        if not inputs.connected:
            return True
        status = inputs.device_status
        match code:
            case FaultCode.LINK_LOST | FaultCode.LINK_LOSS_RATIO:
                return inputs.lost_in_a_row > 0
            case FaultCode.DEVICE_FAULT | FaultCode.DEVICE_WATCHDOG:
                return bool(status & DeviceStatus.FAULT)
            case FaultCode.DEVICE_STO:
                return bool(status & DeviceStatus.STO)
            case FaultCode.NOT_HOMED:
                return not status & DeviceStatus.HOMED
            case FaultCode.MEASUREMENT_NOT_FINITE:
                return not bool(
                    np.all(np.isfinite(inputs.q_measured)) and np.all(np.isfinite(inputs.v_measured))
                )
            case FaultCode.VELOCITY_LIMIT:
                return float(np.max(np.abs(v))) > AT_REST
            case _:
                return False

    def deviation(self, index: NDArray[np.int64], reference: Floats, theta: Floats, error: Floats) -> None:
        """Writes how far each coordinate is from its reference."""
        deviations(index, reference, theta, self._wraps, error)

    def near_limit(self, q: Floats, v: Floats) -> bool:
        """Whether a joint must slow down now to stop before its limit."""
        return bool(must_slow(q, v, self._low, self._high, self._deceleration, self._jerk))

    def jog_set(self, wanted: list[int]) -> NDArray[np.int64] | None:
        """The independent coordinates a jog moves in: all joints, or the file's task coordinates; None for a
        mixture.
        """
        joints = len(self._low)
        total = len(self._wraps)
        if wanted and all(0 <= number < joints for number in wanted):
            return np.arange(joints)
        if wanted and all(joints <= number < total for number in wanted) and total - joints == joints:
            return np.arange(joints, total)
        return None

    def jog_limits(self, index: NDArray[np.int64]) -> tuple[list[float], list[float], list[float]]:
        """Velocity, acceleration and jerk limits of these coordinates."""
        limits = [self._machine.coordinates[number] for number in index]
        return (
            [min(limit.velocity, 1e3) for limit in limits],
            [min(limit.acceleration, 1e4) for limit in limits],
            [min(limit.jerk, 1e6) for limit in limits],
        )
