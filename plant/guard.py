"""The plant's own limits in front of hardware: position, speed, temperature, for any controller."""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.protocol.codes import DeviceFault

MARGIN = 0.01
"""rad or m beyond a joint's limit of position: linkwork's own controller stops at the limit itself."""
OVERSPEED = 1.5
"""Times the motor's largest speed; linkwork's own controller stops at 1.25."""


class Guard:
    """Latch `fault` (a DeviceFault, 0 none) from the sample that exceeds a limit until `allow`.

    Only motors' joints have limits here. A joint beyond its position limit that moves back, or is at rest, is
    no violation; a machine that is not homed has no position limits. Resolution and noise of the sensors
    count as no motion.
    """

    def __init__(self, machine: Machine) -> None:
        joints = [sensor.joint for sensor in machine.sensors]
        seen = [motor for motor in machine.motors if motor.joint in joints]
        self._names = [motor.joint for motor in seen]
        self._at = np.array([joints.index(name) for name in self._names], np.int64)
        ranges = [machine.joints[motor.index].position for motor in seen]
        self._low, self._high = np.array(ranges).reshape(-1, 2).T
        self._edges = np.array([self._low, self._high])
        """Positions from which on a joint moves outwards: beyond a limit they follow it inwards."""
        sensors = [machine.sensors[index] for index in self._at]
        self._margin = MARGIN + np.array([sensor.uncertainty for sensor in sensors])
        rate = 1.0 / machine.plant.period_s
        self._fastest = OVERSPEED * np.array([motor.max_speed for motor in seen])
        self._fastest += [sensor.speed_uncertainty(rate) for sensor in sensors]
        self._begin = True
        self._motors = [motor.joint for motor in machine.motors]
        self._hottest = np.array([motor.max_temperature for motor in machine.driver.motors])
        self.fault = 0
        self.text = ""
        self._exceeds = False

    def check(self, q: Floats, v: Floats, temperature: Floats, *, homed: bool) -> None:
        """Check a sample: q, v (sensors; rad or m and per second), temperature (motors; °C, NaN: not
        measured).
        """
        hot = temperature > self._hottest
        if hot.any():
            motor = int(np.argmax(hot))
            text = f"motor {self._motors[motor]} has {temperature[motor]:.0f} °C"
            self._trip(DeviceFault.OVER_TEMPERATURE, f"{text}, at most {self._hottest[motor]:g}")
            return
        position, speed = q[self._at], v[self._at]
        fast = np.abs(speed) > self._fastest
        if self._begin or not homed:
            self._edges[:] = position
            self._begin = not homed
        np.minimum(self._low, np.maximum(self._edges[0], position), out=self._edges[0])
        np.maximum(self._high, np.minimum(self._edges[1], position), out=self._edges[1])
        above = position > self._edges[1] + self._margin
        outside = above | (position < self._edges[0] - self._margin)
        if fast.any():
            which = int(np.argmax(fast))
            text = f"{self._names[which]} moves at {speed[which]:.4g} a second"
            self._trip(DeviceFault.LIMIT, f"{text}, at most {self._fastest[which]:.4g}")
        elif outside.any():
            which = int(np.argmax(outside))
            bound = self._high[which] + MARGIN if above[which] else self._low[which] - MARGIN
            text = f"{self._names[which]} is at {position[which]:.4g} and moves outwards"
            self._trip(DeviceFault.LIMIT, f"{text}, beyond {bound:.4g}")
            self._begin = True
        else:
            self._exceeds = False

    def allow(self) -> None:
        """Clear violations that have ended: the controller brakes."""
        if self.fault and not self._exceeds:
            self.fault, self.text = 0, ""

    def _trip(self, fault: DeviceFault, text: str) -> None:
        self._exceeds = True
        if not self.fault:
            self.fault, self.text = int(fault), text
