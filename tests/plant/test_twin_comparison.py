"""What the digital twin says: closed forms, machines that are as their model, and machines that are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.machine import Machine, load, shipped_path
from linkwork.machine.catalogue import shipped
from linkwork.plant.simulator.simulator import Simulator
from linkwork.plant.twin.twin_comparison import TwinComparison, model_of
from linkwork.protocol.codes import Mode
from linkwork.protocol.twin_messages import LOAD, Words
from tests.plant.twin_rows import Pushed, compared, moved, rows_of

DT, MASS = 1e-3, 2.0
GAIN = 1.0 - np.exp(-60.0 * DT)
"""Of the default bandwidth."""
MakeSlider = Callable[..., Machine]


def fallen(push: float, effort: float, ticks: int, first: int = 0) -> NDArray[Any]:
    """Rows of one mass on a slide under its motor's effort and a push, from rest, sampled exactly."""
    rows = np.zeros(ticks, Words(1, 1, 1, 1).asked)
    rows["tick"] = rows["device_tick"] = first + np.arange(ticks)
    rows["mode"], rows["driven"], rows["fresh"], rows["judged"] = int(Mode.EFFORT), 1, 1, 1
    rows["time_s"] = rows["tick"] * DT
    rows["effort"] = effort
    rows["v"][:, 0] = (push + effort) / MASS * rows["time_s"]
    rows["q"][:, 0] = 0.5 * (push + effort) / MASS * rows["time_s"] ** 2
    return rows


def test_a_push_shows_as_the_filtered_push_and_its_work(slider: MakeSlider) -> None:
    machine = slider(axis="[1, 0, 0]")
    push, effort = 7.0, -3.0
    rows = fallen(push, effort, 2000)
    said = compared(machine, rows)
    assert said["compared"].tolist() == [0, 0] + [1] * 1998
    expected = push * (1.0 - (1.0 - GAIN) ** np.arange(1, 1999))
    assert said["effort"][2:, 0] == pytest.approx(expected, rel=1e-9)
    assert said["motor_effort"][2:, 0] == pytest.approx(expected, rel=1e-9)
    window = 500
    way = rows["q"][window + 2 :, 0] - rows["q"][2:-window, 0]
    assert said["energy"][window + 2 :] == pytest.approx(push * way, rel=1e-9)
    assert said["power"][2:] == pytest.approx(push * 0.5 * (rows["v"][2:, 0] + rows["v"][1:-1, 0]), rel=1e-9)


def test_the_error_of_one_velocity_shows_as_no_more_than_bandwidth_times_its_momentum(
    slider: MakeSlider,
) -> None:
    rows = fallen(0.0, 1.0, 400)
    error = 1e-3
    rows["v"][200, 0] += error
    said = np.abs(compared(slider(axis="[1, 0, 0]"), rows)["effort"][:, 0])
    assert said[:200].max() < 1e-9
    assert said.max() == pytest.approx(GAIN / DT * MASS * error, rel=1e-9)
    assert said[201:].max() <= 1.001 * GAIN**2 / DT * MASS * error


def test_the_threshold_is_a_share_of_the_motor_and_the_worst_is_named(slider: MakeSlider) -> None:
    machine = slider(
        ("plant:", "twin: {effort_share: 0.2, efforts: {slide: 5}, energy_threshold_J: 100}\nplant:"),
        axis="[1, 0, 0]",
    )
    said = compared(machine, fallen(6.0, 0.0, 1000))[-1]
    assert said["worst"] == 1  # 6 of 5 along the coordinate, 6 of 0.2 * 50 of the motor
    assert said["share"] == pytest.approx(6.0 / 5.0, rel=1e-6)


def test_nothing_is_compared_across_a_gap_and_nothing_is_known_under_brakes(slider: MakeSlider) -> None:
    machine = slider(axis="[1, 0, 0]")
    rows = fallen(5.0, 0.0, 300)
    before = compared(machine, rows)[99]["effort"][0]
    lost = rows.copy()
    lost["fresh"][100], lost["device_tick"][100] = 0, 99
    for holey in (np.delete(rows, 100), np.delete(lost, [])):
        said = compared(machine, holey)
        assert said["compared"][98:104].tolist() in ([1, 1, 0, 0, 1, 1], [1, 1, 0, 0, 0, 1])
        assert said["effort"][100, 0] == before
    rows["driven"][150:160] = 0
    said = compared(machine, rows)
    assert not said["effort"][150:162].any()
    assert said["compared"][150:164].tolist() == [0] * 12 + [1, 1]


def test_a_load_that_is_told_of_belongs_to_the_model() -> None:
    machine = load("scara")
    point = machine.payloads[0].index
    kg = 0.1
    heavy = load("scara", [f"lift_link.mass_kg={0.5 + kg}"])
    rows = rows_of(machine, moved(load("scara"), {"lift": 0.03}, Simulator(heavy), more_s=0.0))
    unknown = compared(machine, rows)["effort"][-1, 3]
    assert unknown == pytest.approx(-kg * 9.81, rel=0.01)
    twin = TwinComparison(machine)
    carried = np.zeros(1, LOAD)
    carried["from_tick"], carried["point"], carried["load"][0, 0] = rows["tick"][0], point, kg
    twin.carry(carried[0])
    at_tool = compared(machine, rows, twin)["effort"][:, 3]
    assert np.abs(at_tool).max() < 1e-6


@pytest.fixture(scope="module")
def five_bar() -> Machine:
    return load("five_bar")


FLOORS = {"scara": 1e-9, "five_bar": 2e-4}
"""Share of the motors' largest efforts: ideal sensors, and encoders of 2^20 counts without speeds."""


@pytest.mark.parametrize("name", FLOORS)
def test_a_machine_as_its_model_shows_nothing(name: str) -> None:
    machine = load(name)
    goal = machine.goal_coordinates[0]
    turn = {goal: float(machine.initial_q[0]) + 0.4}
    said = compared(machine, rows_of(machine, moved(machine, turn)))
    most = [motor.max_effort for motor in machine.motors]
    assert said["compared"].sum() > 300
    assert np.abs(said["motor_effort"] / most).max() < FLOORS[name]
    assert np.abs(said["energy"]).max() < 1e-3


def test_a_push_on_a_closed_machine_shows_on_its_motors(five_bar: Machine) -> None:
    push = [0.6, -0.4]
    start = float(five_bar.initial_q[0])
    plant = Pushed(five_bar, lambda tick: push if tick > 300 else [0.0, 0.0])
    said = compared(five_bar, rows_of(five_bar, moved(five_bar, {"left": start + 0.3}, plant)))
    assert said["motor_effort"][-1] == pytest.approx(push, abs=5e-3)
    assert said["effort"][-1] == pytest.approx(push, abs=5e-3)


def test_a_fifth_more_mass_is_beyond_a_threshold(five_bar: Machine) -> None:
    text = shipped_path("five_bar").read_text() + "twin: {effort_share: 0.005}\n"
    machine = loaded_from(text)
    start = float(machine.initial_q[0])
    heavy = Simulator(load("five_bar", ["right_forearm.mass_kg=+20%"]))
    for plant, found in ((None, False), (heavy, True)):
        rows = rows_of(machine, moved(machine, {"left": start + 0.4}, plant))
        said = compared(machine, rows)
        assert bool((said["share"][said["judged"] != 0] >= 1.0).any()) is found


class Scaled(Simulator):
    """A plant in which the efforts of the first motor act by a factor."""

    def __init__(self, machine: Machine, factor: float) -> None:
        super().__init__(machine)
        self._factors = np.ones(len(machine.motors))
        self._factors[0] = factor

    def latch(self, mode: int, effort: Floats) -> None:
        super().latch(mode, effort * self._factors)


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("five_bar", 0.5),
        ("five_bar", 1.0),
        *(
            pytest.param(name, factor, marks=pytest.mark.slow)
            for name in ("five_bar", "scara", "delta", "slider_crank")
            for factor in (0.5, 1.0, 1.5)
        ),
    ],
)
def test_a_wrong_scale_of_a_motor_is_suspected_within_its_first_five_degrees(
    name: str, factor: float
) -> None:
    machine = load(name)
    goal = machine.goal_coordinates[0]
    target = {goal: float(machine.initial_q[0]) + 0.4}
    rows = rows_of(machine, moved(machine, target, Scaled(machine, factor)))
    twin = TwinComparison(machine)
    compared(machine, rows, twin)
    assert [motor for _, motor, _ in twin.suspicions] == [0] * (factor != 1.0)
    for tick, motor, found in twin.suspicions:
        place = machine.motors[motor].index
        way = rows["q"][rows["tick"] <= tick][:, place] - rows["q"][0, place]
        assert np.abs(way).max() < np.radians(5.0)
        assert found == pytest.approx(factor, abs=0.15)


class Miscounts(Simulator):
    """A plant in which an encoder counts by a factor, from the machine's pose at the start."""

    def __init__(self, machine: Machine, sensor: int, factor: float) -> None:
        super().__init__(machine)
        self._at, self._factor = sensor, factor
        self._first = float(self.measured.q[sensor])

    def integrate(self, periods: int = 1) -> None:
        for _ in range(periods):
            super().integrate()
            q, v, at = self.measured.q, self.measured.v, self._at
            q[at] = self._first + self._factor * (q[at] - self._first)
            v[at] *= self._factor


MISCOUNTED = {"five_bar": ["left", "right"], "scara": ["shoulder", "elbow"], "delta": ["motor_1", "motor_2"]}
MOVED = {
    "five_bar": {"left": 1.9, "right": 1.2},
    "scara": {"shoulder": 0.3, "elbow": -0.9},
    "delta": {"x": 0.05, "y": -0.03, "z": -0.42},
}


@pytest.mark.parametrize(
    ("name", "at", "factor"),
    [
        ("five_bar", 1, 1.5),
        *(
            pytest.param(name, at, factor, marks=pytest.mark.slow)
            for name, sensors in MISCOUNTED.items()
            for at in range(len(sensors))
            for factor in (0.5, 0.75, 1.0, 1.33, 2.0)
        ),
    ],
)
def test_a_wrong_scale_of_counts_from_the_start_names_its_motor(name: str, at: int, factor: float) -> None:
    machine = load(name)
    rows = rows_of(machine, moved(machine, MOVED[name], Miscounts(machine, at, factor)))
    twin = TwinComparison(machine)
    compared(machine, rows, twin)
    named = [machine.motors[motor].joint for _, motor, _ in twin.suspicions]
    assert named == [MISCOUNTED[name][at]] * (factor != 1.0)
    for tick, _, found in twin.suspicions:
        places = [motor.index for motor in machine.motors]
        way = rows["q"][rows["tick"] <= tick][:, places] - rows["q"][0, places]
        assert np.abs(way[:, 0]).max() < np.radians(5.0)
        assert (found > 1.0) == (factor > 1.0)


def loaded_from(text: str) -> Machine:
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return load(Path(file.name))


def test_a_wall_that_only_the_plant_knows_is_met_within_twenty_ticks(five_bar: Machine) -> None:
    """From the first touch, at a quarter of the largest speed, to a tenth of a motor's effort."""
    plane = "{at_m: [0.02, 0, 0], normal: [-1, 0, 0]}"
    wall = f"{{point: tool, plane: {plane}, stiffness_N_m: 2.0e4, damping_N_s_m: 10}}"
    text = shipped_path("five_bar").read_text()
    walled = loaded_from(text + f"contacts: {{wall: {wall}}}\n")
    plant = Simulator(walled)
    touched: list[int] = []
    period = plant.integrate

    def integrate(periods: int = 1) -> None:
        period(periods)
        if plant.work.contact_gap[0] < 0.0:
            touched.append(plant.tick)

    plant.integrate = integrate  # type: ignore[method-assign]
    samples = moved(five_bar, {"x": 0.06, "y": 0.2}, plant)
    said = compared(five_bar, rows_of(five_bar, samples))
    beyond = np.flatnonzero((said["share"] >= 1.0) & (said["compared"] != 0))
    assert touched
    assert len(beyond)
    assert 0 <= said["tick"][beyond[0]] - touched[0] <= 20


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_machine_is_compared_with_the_controllers_model(name: str) -> None:
    machine = load(name)
    model, _ = model_of(machine)
    assert all(signal.simulated == "" for signal in model.signals)
    assert model.plant_mechanism is model.mechanism
    TwinComparison(machine)
