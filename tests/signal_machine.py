"""A SCARA with signals of every kind, for tests."""

from __future__ import annotations

from pathlib import Path

from linkwork.machine import Machine, load, shipped_path

SIGNALS = """
signals:
  gripper: {type: digital, direction: output, on_disable: off}
  lamp: {type: digital, direction: output, initial: off, on_fault: on, on_link_loss: on,
         alias: "cell 4/stack lamp"}
  flow: {type: analog, direction: output, unit: l/min, range: [0, 2.5], initial: 0.5, on_fault: 0,
         on_link_loss: 0}
  part_present: {type: digital, direction: input}
  pressure: {type: analog, direction: input, unit: bar, range: [0, 10], initial: 1}
"""


def write_signal_machine(folder: Path, name: str = "scara", more: str = "") -> Path:
    """The file of the machine, with `more` at its end."""
    path = folder / f"{name}.yaml"
    path.write_text(
        shipped_path("scara").read_text().replace("name: scara", f"name: {name}") + SIGNALS + more
    )
    return path


def signal_machine(folder: Path) -> Machine:
    """The machine."""
    return load(write_signal_machine(folder))
