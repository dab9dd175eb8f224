"""Faults of sensors: what the controller is told, tick by tick, beside what it would have been told."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.loop.tick import Tick
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import MachineError, load
from linkwork.machine.catalogue import shipped_path
from linkwork.protocol.codes import Pace
from tests.plant.faults.line import Line, Told

MACHINE = load("scara")
FORCES = load("scara_polish")


def measured(line: Line, ticks: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities as they came, (ticks × sensors) each."""
    line.effort[:] = [20.0, -5.0, 1.0, 8.0]
    positions, velocities = [], []
    for _ in range(ticks):
        line.run(1)
        state = line.link._state
        positions.append(state.q.copy())
        velocities.append(state.v.copy())
    return np.array(positions), np.array(velocities)


def differences(fault: dict[str, Any], ticks: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a fault from tick 4 to 9 adds to q and v, and the q that it should have been."""
    q, v = measured(Line(MACHINE), ticks)
    other_q, other_v = measured(Line(MACHINE, {"at_tick": 4, "for_ticks": 6, **fault}), ticks)
    untouched = [*range(4), *range(10, ticks)]
    assert np.array_equal(q[untouched], other_q[untouched]), "before and after it all is as it was"
    return (other_q - q)[4:10], (other_v - v)[4:10], q


def test_bias_is_added() -> None:
    dq, dv, _ = differences({"sensor": "bias", "of": "elbow", "by_deg": 90})
    assert np.allclose(dq[:, 1], math.pi / 2, atol=1e-15)
    assert not dq[:, [0, 2, 3]].any()
    assert not dv.any()


def test_drift_grows_and_shows_in_the_velocity() -> None:
    dq, dv, _ = differences({"sensor": "drift", "of": "lift", "rate_m_s": 0.5})
    assert np.allclose(dq[:, 3], 0.5e-3 * np.arange(6), atol=1e-15)
    assert np.allclose(dv[:, 3], 0.5)


def test_a_frozen_sensor_says_what_it_said_last() -> None:
    q, _ = measured(Line(MACHINE, {"at_tick": 4, "for_ticks": 6, "sensor": "freeze", "of": "shoulder"}))
    assert (q[4:10, 0] == q[3, 0]).all()
    assert q[10, 0] != q[9, 0]


def test_noise_is_drawn_from_the_seed_of_the_fault() -> None:
    fault = {"sensor": "noise", "of": "wrist", "std_rad": 0.1, "velocity_std_rad_s": 2.0}
    runs = [measured(Line(MACHINE, fault, seed=seed), 200) for seed in (3, 3, 4)]
    plain = measured(Line(MACHINE), 200)
    assert runs[0][0].tobytes() == runs[1][0].tobytes() != runs[2][0].tobytes()
    assert np.std((runs[0][0] - plain[0])[:, 2]) == pytest.approx(0.1, rel=0.2)
    assert np.std((runs[0][1] - plain[1])[:, 2]) == pytest.approx(2.0, rel=0.2)


def test_other_faults_change_nothing_in_the_numbers_that_one_draws() -> None:
    noise = {"sensor": "noise", "of": "wrist", "std_rad": 0.1}
    alone = measured(Line(MACHINE, noise, seed=3))[0]
    both = measured(Line(MACHINE, noise, {"sensor": "noise", "of": "elbow", "std_rad": 0.1}, seed=3))[0]
    assert np.array_equal(alone[:, 2], both[:, 2])


def test_quantised_readings_are_whole_steps() -> None:
    dq, _, q = differences({"sensor": "quantise", "of": "elbow", "step_rad": 0.25})
    steps = (dq[:, 1] + q[4:10, 1]) / 0.25
    assert np.allclose(steps, np.round(steps))
    assert (np.abs(dq[:, 1]) <= 0.125).all()


def test_swapped_sensors_speak_in_each_others_place() -> None:
    dq, dv, q = differences({"sensor": "swap", "of": "shoulder", "other": "wrist"})
    assert np.allclose(dq[:, 0], (q[:, 2] - q[:, 0])[4:10])
    assert np.allclose(dq[:, 0], -dq[:, 2])
    assert np.allclose(dv[:, 0], -dv[:, 2])


def test_scaled_readings_are_multiples() -> None:
    dq, _, q = differences({"sensor": "scale", "of": "elbow", "factor": -1.0})
    assert np.allclose(dq[:, 1], -2.0 * q[4:10, 1])


def test_faults_of_one_sensor_act_in_the_order_in_which_they_began() -> None:
    scale = {"sensor": "scale", "of": "lift", "factor": 0.0}
    bias = {"sensor": "bias", "of": "lift", "by_m": 0.5}
    assert measured(Line(MACHINE, scale, bias))[0][-1, 3] == 0.5
    assert measured(Line(MACHINE, bias, scale))[0][-1, 3] == 0.0


@pytest.mark.parametrize(("axis", "expected"), [(None, [2.0, 2.0, 2.0]), ("z", [0.0, 0.0, 2.0])])
def test_a_force_sensor_has_axes(axis: str | None, expected: list[float]) -> None:
    fault = {"sensor": "bias", "of": FORCES.force_sensors[0].name, "by_N": 2.0}
    lines = [Line(FORCES), Line(FORCES, fault | ({"axis": axis} if axis else {}))]
    told = []
    for line in lines:
        line.run(5)
        told.append(line.link._state.force.copy())
    assert np.allclose(told[1] - told[0], expected)


def test_a_load_cell_has_the_components_of_its_constraint(tmp_path: Path) -> None:
    text = shipped_path("five_bar").read_text()
    cells = (
        "force_sensors:\n  push: {constraint: tip}\n  twist: {constraint: tip, measures: torque}\n\nmotors:"
    )
    path = tmp_path / "five_bar.yaml"
    path.write_text(text.replace("motors:", cells, 1))
    machine = load(path)
    turns = machine.force_sensors[1].components
    faults = (
        {"sensor": "bias", "of": "push", "axis": "y", "by_N": 2.0},
        {"sensor": "bias", "of": "twist", "axis": turns[1], "by_N_m": 0.5},
    )
    told = []
    for line in (Line(machine), Line(machine, *faults)):
        line.run(5)
        told.append(line.link._state.force.copy())
    assert np.allclose(told[1] - told[0], [0.0, 2.0, 0.0, 0.0, 0.5])
    for fault, text in (
        ({"sensor": "bias", "of": "push", "axis": "w", "by_N": 2.0}, "component"),
        ({"sensor": "bias", "of": "push", "by_N_m": 2.0}, "by_N"),
        ({"sensor": "swap", "of": "push", "other": "twist"}, "sensor like push"),
    ):
        with pytest.raises(MachineError, match=text):
            Line(machine, fault)


@pytest.mark.parametrize("keys", [{"by_N": 2.0}, {"by_rad": 1.0, "measures": "force"}])
def test_a_sensor_of_another_kind_is_not_proposed(keys: dict[str, Any]) -> None:
    with pytest.raises(MachineError) as caught:
        Line(FORCES, {"sensor": "bias", "of": "elbow", **keys})
    (problem,) = caught.value.problems
    names = ", ".join(sensor.name for sensor in FORCES.force_sensors)
    assert (problem.found, problem.allowed, problem.remedy) == ("elbow", names, "")


@pytest.mark.parametrize("pace", [Pace.LOCKSTEP, Pace.DEVICE])
def test_what_is_no_number_reaches_the_controller_and_is_its_fault(pace: Pace) -> None:
    line = Line(MACHINE, {"at_tick": 4, "for_ticks": 3, "sensor": "nan", "of": "elbow"}, pace=pace)
    tick = Tick(MACHINE, layout_for(MACHINE))
    line.inputs.connected = True
    faults: list[int] = []

    def law(told: Told) -> None:
        line.inputs.fresh = told.fresh
        tick.step(line.inputs, line.outputs, 0.001)
        tick.note(line.inputs, line.outputs)
        faults.append(int(tick.supervisor.fault.code))

    line.law = law  # type: ignore[method-assign]
    told = line.run(9)
    assert all(each.fresh for each in told)
    assert [math.isnan(each.q[1]) for each in told] == [False] * 4 + [True] * 3 + [False] * 2
    assert faults[:5] == [0] * 4 + [FaultCode.MEASUREMENT_NOT_FINITE]
    assert tick.supervisor.state is State.FAULT
    assert tick.supervisor.fault.index == 1, "it says which sensor"
