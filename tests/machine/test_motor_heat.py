"""The thermal model of motors: steps and cycles against closed forms, and what a file must say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.machine import MachineError
from linkwork.machine.motor_heat import HeatCycle, ThermalModel, correct, warm
from linkwork.machine.sections.motors import AngleMotor
from tests.heat_machine import heat_machine

KEYS = {
    "max_torque_N_m": 20.0, "max_speed_rad_s": 10.0, "continuous_torque_N_m": 5.0, "thermal_time_s": 300.0,
    "winding_time_s": 12.0, "winding_share": 0.3, "max_temperature_degC": 120.0, "ambient_degC": 20.0,
}  # fmt: skip


def model(**changed: object) -> ThermalModel:
    return ThermalModel([AngleMotor.model_validate(KEYS | changed)])


def closed_form(effort: float, seconds: float) -> float:
    parts = ((0.3, 12.0), (0.7, 300.0))
    return 20.0 + sum(-s * 100.0 * (effort / 5.0) ** 2 * math.expm1(-seconds / t) for s, t in parts)


@given(st.floats(-20.0, 20.0), st.lists(st.floats(1e-4, 200.0), min_size=1, max_size=20))
def test_steps_of_any_length_are_the_closed_form(effort: float, steps: list[float]) -> None:
    heat = model()
    for dt in steps:
        warm(heat, np.array([effort]), dt)
    assert heat.winding[0] == pytest.approx(closed_form(effort, sum(steps)), rel=1e-9)


def test_continuous_effort_without_end_leads_to_the_largest_temperature() -> None:
    heat = model()
    warm(heat, np.array([5.0]), 1e6)
    assert heat.winding[0] == pytest.approx(120.0)
    assert heat.body[0] == pytest.approx(90.0)
    assert heat.limit[0] == pytest.approx(5.0)
    assert heat.hottest(0.999) == 0


@given(
    st.lists(st.tuples(st.floats(0.0, 300.0), st.floats(0.01, 4.0)), min_size=1, max_size=12),
    st.integers(0, 40),
    st.floats(20.0, 110.0),
)
def test_a_cycle_is_as_if_it_were_stepped(
    cycle: list[tuple[float, float]], cycles: int, begin: float
) -> None:
    squares, dt = (np.array(each) for each in zip(*cycle, strict=True))
    heat = model()
    heat.set(0, begin, begin)
    found = HeatCycle(heat, 0, squares, dt).temperatures(cycles)
    for _ in range(cycles):
        for square, seconds in cycle:
            warm(heat, np.array([math.sqrt(square)]), seconds)
    for at, (square, seconds) in enumerate(cycle):
        assert found[at] == pytest.approx(heat.winding[0], abs=1e-6)
        warm(heat, np.array([math.sqrt(square)]), seconds)
    assert found[-1] == pytest.approx(heat.winding[0], abs=1e-6)


@pytest.mark.parametrize(("load", "begin"), [(36.0, 20.0), (36.0, 100.0), (26.0, 20.0), (400.0, 20.0)])
def test_how_long_a_cycle_lasts(load: float, begin: float) -> None:
    squares, dt = np.array([2.0 * load, 0.0]), np.array([0.5, 0.5])
    heat = model()
    heat.set(0, begin, begin)
    lasts_s, stepped_s = HeatCycle(heat, 0, squares, dt).lasts_s(120.0), 0.0
    while heat.winding[0] < 120.0:
        warm(heat, np.sqrt(squares[round(2.0 * stepped_s) % 2 : round(2.0 * stepped_s) % 2 + 1]), 0.5)
        stepped_s += 0.5
    assert lasts_s == stepped_s


def test_a_cycle_below_the_continuous_effort_lasts_for_ever() -> None:
    cycle = HeatCycle(model(), 0, np.array([40.0, 8.0]), np.array([0.1, 0.1]))
    assert cycle.lasts_s(120.0) == math.inf


@pytest.mark.parametrize(("part", "found"), [("winding", (80.0, 80.0)), ("body", (80.0, 80.0))])
def test_the_first_measured_temperature_counts_in_full(part: str, found: tuple[float, float]) -> None:
    heat = model(temperature_sensor=part)
    correct(heat, np.array([np.nan]), 1e-3)
    assert heat.winding[0] == 20.0
    correct(heat, np.array([80.0]), 1e-3)
    assert (heat.winding[0], heat.body[0]) == pytest.approx(found)
    correct(heat, np.array([90.0]), 5.0)
    assert heat.winding[0] == pytest.approx(80.0 - 10.0 * math.expm1(-1.0))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("thermal_time_s: 60", "thermal_time_s needs continuous_torque_N_m"),
        ("max_temperature_degC: 90", "max_temperature_degC needs continuous_torque_N_m"),
        ("temperature_sensor: body", "temperature_sensor needs continuous_torque_N_m"),
        ("continuous_torque_N_m: 2, winding_time_s: 3", "winding_time_s needs thermal_time_s"),
        ("continuous_torque_N_m: 2, thermal_time_s: 3, ambient_degC: 100", "the surroundings are too hot"),
        ("continuous_torque_N_m: 2, thermal_time_s: 0", "thermal_time_s"),
        ("continuous_force_N: 2", "continuous_force_N"),
    ],
)
def test_a_file_must_say_what_the_model_needs(tmp_path, keys: str, said: str) -> None:
    with pytest.raises(MachineError, match=said):
        heat_machine(tmp_path, keys)
