"""Inputs and outputs of a tick."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.orders import Order
from linkwork.controller.exchange.set_points import SetPoint
from linkwork.machine import Machine
from linkwork.protocol.codes import Mode


@dataclass(slots=True)
class Inputs:
    """One tick's inputs, filled in place by the caller of the tick.

    `q_measured` and `v_measured` have one number a sensor (rad or m, and per second); `fresh`: whether they
    belong to this tick or are left from an earlier one. `force_measured` has the components (N or N m) of
    each force sensor, in the sensor's frame.
    """

    q_measured: NDArray[np.float64]
    v_measured: NDArray[np.float64]
    device_effort: NDArray[np.float64]
    temperature: NDArray[np.float64]
    time_s: float = 0.0
    device_tick: int = -1
    fresh: bool = False
    connected: bool = False
    lost_in_a_row: int = 0
    lost_total: int = 0
    loss_ratio: float = 0.0
    device_status: int = 0
    device_fault: int = 0
    order: Order | None = None
    clock_jump_s: float = 0.0
    """By how much the device's time differs from the time expected, where that is too much; else 0."""
    set_point: SetPoint | None = None
    """The set-point of a stream that arrives in this tick."""
    force_measured: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    closed: int = -1
    """Bit i: the i-th switchable constraint holds in the device; -1 of a machine without any."""
    switched: int = 0
    """The device's report of a switch in this state: i + 1 of the constraint switched, its negative of one
    that was refused, 0 of none; and then the energy lost (J), the norm of the impulse (N s or N m s) and how
    far open the constraint was (typical lengths or rad).
    """
    switch_figures: tuple[float, float, float] = (0.0, 0.0, 0.0)
    input: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Value of each input signal, as the device reports it."""
    output: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Value of each output signal that is in force in the device."""
    motors: NDArray[np.int64] = field(default_factory=lambda: np.zeros((3, 0), np.int64))
    """Rows MOTOR_STATUS, MOTOR_FAULT and MOTOR_MODE (`protocol.link`), as the device reported them last."""
    motors_told: bool = False
    """Whether `motors` has changed since the last tick."""

    @classmethod
    def sized(cls, sensors: int, motors: int, forces: int = 0) -> Inputs:
        """Inputs for these numbers of sensors, motors and components of force sensors."""
        given = cls(np.zeros(sensors), np.zeros(sensors), np.zeros(motors), np.full(motors, np.nan))
        given.force_measured = np.zeros(forces)
        given.motors = np.zeros((3, motors), np.int64)
        return given

    @classmethod
    def for_machine(cls, machine: Machine) -> Inputs:
        """Inputs for a machine, its signals at their initial values."""
        given = cls.sized(len(machine.sensors), len(machine.motors), machine.force_numbers)
        given.input = np.array([signal.initial for signal in machine.inputs])
        given.output = np.array([signal.initial for signal in machine.outputs])
        return given


@dataclass(slots=True)
class Outputs:
    """One tick's outputs: the mode and one effort per motor (N m or N)."""

    effort: NDArray[np.float64]
    mode: Mode = field(default=Mode.BRAKE)
    closed: int = -1
    """Bit i: the i-th switchable constraint shall hold; -1: all stay as they are."""
    signals: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """Wanted value of each output signal."""
    references: NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, 0)))
    """For drives that follow positions: position (rad or m) and feed-forward effort of each motor."""

    @classmethod
    def sized(cls, motors: int, signals: int = 0) -> Outputs:
        """Outputs for these numbers of motors and output signals."""
        return cls(np.zeros(motors), signals=np.zeros(signals), references=np.zeros((2, motors)))
