"""Faults of signals: inputs on their way to the controller, outputs on their way to the machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linkwork.machine import Machine, MachineError, load
from tests.plant.faults.line import Line, Told
from tests.signal_machine import write_signal_machine

ECHO = {"part_present: {type: digital, direction: input}": "gripper", "range: [0, 10], initial: 1}": "flow"}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """Its inputs repeat outputs: part_present is the gripper, pressure is the flow."""
    path = write_signal_machine(tmp_path_factory.mktemp("signals"))
    text = path.read_text()
    for written, output in ECHO.items():
        assert written in text
        text = text.replace(
            written, written.replace(", initial: 1", "").rstrip("}") + f", simulated: {output}}}"
        )
    path.write_text(text)
    return load(path)


class Commanding(Line):
    """Toggles the gripper every tenth tick and raises the flow by 0.01 in each; records the signals."""

    def __init__(self, machine: Machine, *faults: dict[str, Any], seed: int = 0) -> None:
        super().__init__(machine, *faults, seed=seed)
        self.inputs_seen: list[list[float]] = []
        self.outputs_seen: list[list[float]] = []

    def law(self, told: Told) -> None:
        self.outputs.mode, self.outputs.signals[:] = self.mode, [told.tick // 10 % 2, 0.0, 0.01 * told.tick]
        self.inputs_seen.append(self.inputs.input.tolist())
        self.outputs_seen.append(self.inputs.output.tolist())


def signals(machine: Machine, *faults: dict[str, Any], ticks: int = 100, seed: int = 0) -> tuple[Any, Any]:
    """Inputs and reported outputs by tick; the command of tick k is in force in state k + 1."""
    line = Commanding(machine, *faults, seed=seed)
    line.run(ticks)
    return np.array(line.inputs_seen), np.array(line.outputs_seen)


@pytest.mark.parametrize("of", ["gripper", "part_present"])
def test_a_stuck_signal_keeps_its_value(machine: Machine, of: str) -> None:
    plain, outputs = signals(machine)
    assert plain[:, 0].tolist() == outputs[:, 0].tolist(), "the machine answers in the same tick"
    stuck, reported = signals(machine, {"signal": "stuck", "of": of, "at_tick": 15, "for_ticks": 30})
    assert (stuck[15:45, 0] == plain[14, 0]).all()
    assert np.array_equal(stuck[45:, 0], plain[45:, 0])
    assert np.array_equal(reported, outputs), "the output is reported as it was set"


@pytest.mark.parametrize(
    ("of", "column", "value"), [("flow", 1, 2.0), ("pressure", 1, 9.5), ("part_present", 0, "on")]
)
def test_a_signal_sticks_at_a_given_value(machine: Machine, of: str, column: int, value: Any) -> None:
    stuck, _ = signals(machine, {"signal": "stuck", "of": of, "value": value, "at_tick": 20})
    assert (stuck[20:, column] == (1.0 if value == "on" else value)).all()


@pytest.mark.parametrize("of", ["gripper", "part_present"])
@pytest.mark.parametrize("by", [{"by_ticks": 7}, {"by_s": 0.007}])
def test_a_delayed_signal_follows_later(machine: Machine, of: str, by: dict[str, float]) -> None:
    plain, _ = signals(machine)
    late, _ = signals(machine, {"signal": "delay", "of": of, "at_tick": 5, **by})
    assert np.array_equal(late[12:, 0], plain[5:-7, 0])


def test_a_flickering_signal_has_the_other_value_at_random(machine: Machine) -> None:
    plain, _ = signals(machine, ticks=400)
    fault = {"signal": "flicker", "of": "part_present", "probability": 0.25}
    runs = [signals(machine, fault, ticks=400, seed=seed)[0] for seed in (3, 3, 4)]
    wrong = runs[0][:, 0] != plain[:, 0]
    assert 60 < wrong.sum() < 140
    assert runs[0].tobytes() == runs[1].tobytes() != runs[2].tobytes()


def test_a_signal_can_be_a_condition(machine: Machine) -> None:
    late = {"sensor": "bias", "of": "elbow", "by_rad": 9.0, "when": "gripper and flow > 0.25"}
    line = Commanding(machine, late)
    assert next(told.tick for told in line.run(60) if told.q[1] > 5.0) == 32


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"signal": "stuck", "of": "griper"}, "no signal has this name"),
        ({"signal": "stuck", "of": "flow", "value": 3}, "flow cannot have this value"),
        ({"signal": "flicker", "of": "flow", "probability": 0.1}, "only a digital signal flickers"),
        ({"signal": "delay", "of": "flow"}, "by_ticks or by_s is missing"),
        ({"signal": "stuck", "of": "gripper", "when": "flow"}, "a comparison is missing"),
        ({"signal": "freeze", "of": "gripper"}, "no fault of class signal"),
    ],
)
def test_mistakes_are_named(machine: Machine, fault: dict[str, Any], says: str) -> None:
    with pytest.raises(MachineError, match=says):
        Line(machine, fault)


def test_a_machine_without_signals_says_so() -> None:
    from linkwork.plant.faults.timeline import capabilities

    assert capabilities(load("scara"), hardware=False)["signal.delay"] == "the machine has no signals"
