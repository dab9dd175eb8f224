"""Errors of coordinates with separate gains, against the matrix exponential of the error dynamics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import OrderOutcome, SetGainMatrices, SetGains
from linkwork.machine import Machine, load
from linkwork.machine.gains import gain_matrices
from linkwork.machine.sections.settings import ControllerSettings
from tests.controller.loop.in_process import InProcess, enabled

JUMP = np.array([1e-4, -5e-5, 1e-4, 0.0])
POSITION = np.array([[1600.0, 500.0], [500.0, 900.0]])
RATE = np.array([[60.0, 10.0], [10.0, 40.0]])
SHOULDER = {"position_per_s2": {"shoulder": 1600, "elbow": 500}, "rate_per_s": {"shoulder": 60, "elbow": 10}}
COUPLED = {
    "shoulder": SHOULDER,
    "elbow": {"position_per_s2": {"elbow": 900}, "rate_per_s": {"elbow": 40}},
}


def scara(**gains: dict[str, Any]) -> Machine:
    """The SCARA with these gains in its file."""
    machine = load("scara")
    data = machine.controller.model_dump(exclude_unset=True) | {"gains": gains}
    return replace(machine, controller=ControllerSettings.model_validate(data))


def decay(rig: InProcess, ticks: int = 150) -> Floats:
    """Error of the joints (ticks × 4) from the tick on in which their reference jumps, over the jump."""
    start, motion = rig.simulator.q.copy(), rig.supervisor.executor.motion
    at: Any = motion.evaluate

    def shifted(ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        at(ahead_s, theta, velocity, acceleration)
        theta -= JUMP

    motion.evaluate = shifted  # type: ignore[method-assign]
    errors = np.empty((ticks, 4))
    for k in range(ticks):
        errors[k] = rig.simulator.q - start + JUMP
        assert not rig.tick()["fault"]
    return errors / 1e-4


def closed_form(position: Floats, rate: Floats, ticks: int = 150) -> Floats:
    """Of ë + G_D ė + G_P e = 0, from the tick after the jump on."""
    none = np.zeros((4, 4))
    step = expm(1e-3 * np.block([[none, np.eye(4)], [-position, -rate]]))
    states = np.empty((ticks, 8))
    states[:2] = np.concatenate([JUMP, np.zeros(4)])
    for k in range(2, ticks):
        states[k] = step @ states[k - 1]
    return states[:, :4] / 1e-4


@pytest.mark.parametrize(
    "gains", [{"shoulder": {"bandwidth_rad_s": 60, "damping_ratio": 0.7}}, COUPLED], ids=["own", "coupled"]
)
def test_errors_decay_as_the_file_says(gains: dict[str, Any]) -> None:
    machine = scara(**gains)
    matrices = [
        each[:4, :4] for each in gain_matrices(machine.controller, machine.mechanism.coordinate_names)
    ]
    assert np.abs(decay(enabled(machine)) - closed_form(*matrices)).max() < 1e-3


def test_matrices_change_while_the_machine_runs_and_couple_no_others() -> None:
    rig = enabled(load("scara"))
    position, rate = 400.0 * np.eye(4), 40.0 * np.eye(4)
    for order in (
        SetGains(50.0, 0.0, (2,)),
        SetGainMatrices((0, 1, *POSITION[np.triu_indices(2)], *RATE[np.triu_indices(2)])),
    ):
        assert rig.order(order)["order_outcome"] == OrderOutcome.DONE
    position[:2, :2], rate[:2, :2], position[2, 2], rate[2, 2] = POSITION, RATE, 2500.0, 100.0
    rig.run(0.25)
    assert float(rig.record["bandwidth"]) == 20.0
    assert np.abs(decay(rig) - closed_form(position, rate)).max() < 1e-3


@pytest.mark.parametrize(
    "order",
    [
        SetGainMatrices((0, 1, 900.0, 901.0, 900.0, 60.0, 0.0, 60.0)),  # not definite
        SetGainMatrices((0, 6400.0, 100.0)),  # 80 rad/s
        SetGainMatrices((0, 900.0, 12.0)),  # damping 0.2
        SetGainMatrices((0, 0, 900.0, 0.0, 900.0, 60.0, 0.0, 60.0)),
        SetGainMatrices((99, 900.0, 60.0)),
        SetGainMatrices((0, 900.0)),
        SetGainMatrices(()),
        SetGains(30.0, 0.0, (99,)),
        SetGains(30.0, 9.0, (0,)),
    ],
)
def test_other_gains_are_refused_and_change_nothing(order: SetGains | SetGainMatrices) -> None:
    rig = enabled(load("scara"))
    assert rig.order(order)["order_outcome"] == OrderOutcome.REFUSED_VALUE
    assert not rig.controller._tuning.changing
