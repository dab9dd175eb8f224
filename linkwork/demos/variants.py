"""Machine files of the demos, changed: written beside the log, and used by both daemons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

HAND_STIFFNESS_N_M: Final = 150.0
HAND_DAMPING_N_S_M: Final = 20.0
HAND_MOTION: Final = (
    ("x", [1, 0, 0], 0.0, 0.05, 1.5),
    ("y", [0, 1, 0], 0.32, 0.03, 3.0),
)
"""Of each axis: name, direction, middle and amplitude (m) of the hand's motion, its rate (rad/s)."""


def forces_by_model(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file, with forces that the model finds; return where it lies."""

    def change(data: Any) -> None:
        data["controller"].setdefault("force", {})["source"] = "model"

    return _changed(machine, folder, change)


def exact_sensors(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file, with sensors without noise and resolution; return its path."""

    def change(data: Any) -> None:
        for sensor in data["sensors"].values():
            sensor.pop("position", None)

    return _changed(machine, folder, change)


def moved_by_hand(machine: str, folder: Path) -> str:
    """Write a copy of the machine's file in which a hand guides the tool in x and y; return its path.

    The hand holds the tool by a spring and a damper and moves along a figure of eight. Only the plant has
    the force.
    """

    def change(data: Any) -> None:
        pull = "{k:g}*({size:g}*sin({rate:g}*t) + {middle:g} - tool.{axis}) - {d:g}*rate(tool.{axis})"
        for axis, direction, middle, size, rate in HAND_MOTION:
            text = pull.format(
                k=HAND_STIFFNESS_N_M, d=HAND_DAMPING_N_S_M, size=size, rate=rate, middle=middle, axis=axis
            )
            entry = {"point": "tool", "direction": direction, "force_N": text, "plant_only": True}
            data.setdefault("forces", {})[f"hand_{axis}"] = entry

    return _changed(machine, folder, change)


def _changed(machine: str, folder: Path, change: Callable[[Any], None]) -> str:
    from ruamel.yaml import YAML

    from linkwork.machine.catalogue import shipped, shipped_path
    from linkwork.machine.repeats import parse_machine

    path = shipped_path(machine) if machine in shipped() else Path(machine)
    data = parse_machine(path.read_bytes(), str(path)).data
    change(data)
    written = folder / f"{data['name']}.yaml"
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.sort_base_mapping_type_on_output = False  # the order is that of the joints, motors and sensors
    with written.open("w", encoding="utf-8") as stream:
        yaml.dump(data, stream)
    return str(written.absolute())
