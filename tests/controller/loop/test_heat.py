"""The loop estimates the temperatures of motors, lowers their efforts, and faults when one is too hot."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.exchange.orders import OrderOutcome, Recover, SetTemperatures
from linkwork.controller.gateway.records.event_detection import EventDetector
from linkwork.controller.gateway.records.messages import Messages
from linkwork.controller.motion.limits.effort_limits import Limited
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import load
from tests.controller.loop.in_process import InProcess
from tests.heat_machine import heat_machine

QUICK = "continuous_torque_N_m: 2, thermal_time_s: 0.6, max_temperature_degC: 105, ambient_degC: 25"
TWO = f"{QUICK}, winding_time_s: 0.1, winding_share: 0.25"
HELD = 9.81 * 0.25
"""N m that hold the pendulum at 90°."""


def held_at(folder: Path, degrees: float, heat: str) -> InProcess:
    process = InProcess(heat_machine(folder, heat, degrees))
    process.enable()
    return process


@pytest.mark.parametrize("heat", [QUICK, TWO])
def test_the_estimate_is_the_closed_form_and_that_of_the_plant(tmp_path: Path, heat: str) -> None:
    process = held_at(tmp_path, 40.0, heat)
    process.run(0.8)
    plant = process.simulator.heat
    assert plant is not None
    sample = process.tick()
    effort = HELD * np.sin(np.radians(40.0))
    assert sample["effort"][0] == pytest.approx(effort, rel=1e-3)
    assert sample["winding_temperature"] == pytest.approx(plant.winding, abs=0.1)
    assert sample["body_temperature"] == pytest.approx(plant.body, abs=0.1)
    process.run(4.0)
    steady = 25.0 + 80.0 * (effort / 2.0) ** 2
    assert process.tick()["winding_temperature"] == pytest.approx(steady, abs=0.1)
    assert not process.tick()["limited"]


def test_a_hot_motor_gives_less_in_words_and_then_the_machine_is_braked(tmp_path: Path) -> None:
    process = held_at(tmp_path, 90.0, QUICK)
    detector = EventDetector(process.layout, Messages(process.machine))
    samples = process.until(lambda sample: sample["fault"] != 0)
    limits = np.array([sample["effort_limit"][0] for sample in samples])
    hot = np.array([bool(int(sample["limited"]) & Limited.HEAT) for sample in samples[:-1]])
    assert hot.any()
    assert (hot == (limits[:-1] < 10.0)).all()
    assert np.abs(np.diff(limits)).max() < 0.3  # smoothly
    assert (np.array([abs(sample["effort"][0]) for sample in samples]) <= limits + 1e-12).all()
    # What was left did not hold it.
    assert samples[-1]["fault"] in (FaultCode.FOLLOWING_ERROR, FaultCode.MOTOR_TEMPERATURE)
    assert samples[-1]["winding_temperature"][0] < 105.1
    told = [event for at, sample in enumerate(samples) for event in detector.detect(at, sample.record)]
    (said,) = [content["text"] for _, name, content in told if name == "limited"][:1]
    assert said.startswith("a motor is hot: its largest effort is lowered: hinge 102.6 of at most 105 °C, 9.")


@pytest.mark.parametrize("measured", [106.0, 300.0])
def test_a_measured_temperature_corrects_the_estimate_and_may_fault(tmp_path: Path, measured: float) -> None:
    process = held_at(tmp_path, 10.0, TWO)
    process.run(0.1)
    process.inputs.temperature[:] = measured
    sample = process.tick()
    assert (sample["fault"], sample["fault_index"]) == (FaultCode.MOTOR_TEMPERATURE, 0)
    assert (sample["state"], sample["fault_limit"]) == (State.FAULT, 105.0)
    fault = Messages(process.machine).fault(sample.record)
    assert "hinge" in fault["text"]
    assert fault["unit"] == "°C"
    process.inputs.temperature[:] = np.nan
    assert process.order(Recover())["order_outcome"] == OrderOutcome.NOT_CLEARED
    process.until(lambda sample: sample["winding_temperature"][0] < 25.0 + 0.95 * 80.0)
    assert process.order(Recover())["order_outcome"] == OrderOutcome.DONE


def test_a_plant_with_a_thermometer_reports_what_it_measures(tmp_path: Path) -> None:
    with_body = held_at(tmp_path, 40.0, f"{TWO}, temperature_sensor: body")
    with_body.run(0.5)
    heat = with_body.simulator.heat
    assert heat is not None
    assert heat.winding[0] > heat.body[0] + 1.0
    assert with_body.simulator.measured.temperature == pytest.approx(heat.body)
    assert held_at(tmp_path, 40.0, TWO).simulator.measured.temperature is None


def test_an_order_continues_an_earlier_estimate(tmp_path: Path) -> None:
    process = held_at(tmp_path, 0.0, TWO)
    sample = process.order(SetTemperatures(((0, 70.0), (1, 60.0))))
    assert sample["order_outcome"] == OrderOutcome.DONE
    assert (sample["winding_temperature"][0], sample["body_temperature"][0]) == (70.0, 60.0)
    for pairs in (((0, 70.0),), ((2, 70.0), (3, 70.0)), ((-2, 70.0), (-1, 1.0))):
        refused = process.order(SetTemperatures(pairs))
        assert refused["order_outcome"] == OrderOutcome.REFUSED_VALUE
    assert process.tick()["winding_temperature"][0] < 70.0


def test_machines_without_the_keys_have_no_such_channels() -> None:
    process = InProcess(load("scara"))
    assert process.supervisor.heat is None
    assert process.layout.names["heat"] == ()
    assert (
        process.order(SetTemperatures(((0, 70.0), (1, 60.0))))["order_outcome"] == OrderOutcome.REFUSED_VALUE
    )
