"""The section `signals`: values in words, defaults, the interface hash, and what is wrong with a file."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from linkwork.machine import MachineError, load, shipped_path
from tests.signal_machine import signal_machine

SCARA = shipped_path("scara").read_text()


def written(folder: Path, signals: str) -> Path:
    path = folder / "machine.yaml"
    path.write_text(f"{SCARA}\nsignals:\n  {signals}\n")
    return path


def test_signals_are_read_in_their_order(tmp_path: Path) -> None:
    machine = signal_machine(tmp_path)
    gripper, lamp, flow = machine.outputs
    assert [signal.name for signal in machine.inputs] == ["part_present", "pressure"]
    assert math.isnan(gripper.on_fault), "keep"
    assert (gripper.on_disable, lamp.on_fault, flow.initial, flow.on_link_loss) == (0.0, 1.0, 0.5, 0.0)
    assert (flow.shown(1.5), lamp.shown(1.0), lamp.plain(1.0)) == ("1.5 l/min", "on", True)
    assert machine.interface()["signals"][2] == {
        "name": "flow", "direction": "output", "type": "analog", "unit": "l/min", "range": [0.0, 2.5],
    }  # fmt: skip


def test_only_machines_with_signals_have_them_in_their_interface(tmp_path: Path) -> None:
    scara, machine = load("scara"), signal_machine(tmp_path)
    assert "signals" not in scara.interface()
    assert scara.interface_hash != machine.interface_hash
    assert scara.model_hash == machine.model_hash
    quieter = load(written(tmp_path, "gripper: {type: digital, direction: output, on_fault: on}"))
    other = load(written(tmp_path, "gripper: {type: digital, direction: output}"))
    assert quieter.interface_hash == other.interface_hash
    assert quieter.config_hash != other.config_hash


@pytest.mark.parametrize("word", ["on", "true", "1", "'on'", "On"])
def test_words_for_a_digital_value(tmp_path: Path, word: str) -> None:
    line = f"lamp: {{type: digital, direction: output, initial: {word}}}"
    assert load(written(tmp_path, line)).outputs[0].initial == 1.0


@pytest.mark.parametrize(
    ("line", "key", "says"),
    [
        ("lamp: {type: digital, direction: output, initial: 2}", "initial", "on or off"),
        ("lamp: {type: digital, direction: output, on_fault: of}", "on_fault", "on or off, or keep"),
        ("lamp: {type: digital, direction: output, initial: keep}", "initial", "on or off"),
        ("lamp: {type: digital, direction: output, unit: V}", "unit", "remove unit"),
        ("lamp: {type: digital, direction: input, on_fault: on}", "on_fault", "the device decides its value"),
        ("flow: {type: analog, direction: output}", "", "add range"),
        ("flow: {type: analog, direction: output, range: [1, 1]}", "range", "the range is empty"),
        (
            "flow: {type: analog, direction: output, range: [0, 1], on_fault: 2}",
            "on_fault",
            "0 to 1, or keep",
        ),
        ("flow: {type: analog, direction: output, range: [0, 1], initial: on}", "initial", "0 to 1"),
        ("flow: {type: analogue, direction: output}", "type", "analog"),
        ("lift: {type: digital, direction: output}", "", "a coordinate has this name"),
        ("time_s: {type: digital, direction: output}", "", "a word of conditions"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, line: str, key: str, says: str) -> None:
    with pytest.raises(MachineError) as refused:
        load(written(tmp_path, line))
    name = line.partition(":")[0]
    problem = refused.value.problems[0]
    assert problem.key == ".".join(filter(None, ("signals", name, key)))
    if "has this name" not in str(problem):
        assert says in str(problem)
    assert problem.line is not None


def test_too_many_outputs(tmp_path: Path) -> None:
    lines = "\n  ".join(f"valve{i}: {{type: digital, direction: output}}" for i in range(65))
    with pytest.raises(MachineError, match="at most 64"):
        load(written(tmp_path, lines))
