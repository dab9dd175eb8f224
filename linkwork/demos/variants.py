"""Machine files of the demos, changed: written beside the log, and used by both daemons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


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


def _changed(machine: str, folder: Path, change: Callable[[Any], None]) -> str:
    from ruamel.yaml import YAML

    from linkwork.machine.catalogue import shipped, shipped_path

    yaml = YAML()
    yaml.width = 4096
    data = yaml.load(shipped_path(machine) if machine in shipped() else Path(machine))
    change(data)
    written = folder / f"{data['name']}.yaml"
    with written.open("w", encoding="utf-8") as stream:
        yaml.dump(data, stream)
    return str(written.absolute())
