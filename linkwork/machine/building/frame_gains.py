"""Moving frames of a machine file, with the gains of the machine's coordinates."""

from __future__ import annotations

import math

import numpy as np

from linkwork.machine.frames import MovingFrame
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.frame_section import PARALLEL
from linkwork.multibody.mechanism import Mechanism

_AXES = {"x": 0, "y": 1, "z": 2}


def moving_frames(file: MachineFile, mechanism: Mechanism) -> tuple[MovingFrame, ...]:
    """Return the frames of the file, in its order."""
    inputs = [name for name, spec in file.signals.items() if spec.direction == "input"]
    found = []
    for name, spec in file.frames.items():
        x, y, z = axis = spec.axis().tolist()
        turning = [number for number in range(3) if spec.center() and abs(axis[number]) <= PARALLEL]
        gains: list[float] = []
        places: list[tuple[str, int] | None] = []
        for coordinate in mechanism.coordinate_names:
            task = file.task.get(coordinate)
            if task is not None:
                direction = task.place().get("direction")
                unit = None if direction is None else np.array(direction) / np.linalg.norm(direction)
                gains.append(spec.gain(task.axis(), unit))
                number = _AXES.get(task.axis(), -1)
                places.append((task.point(), number) if number in turning else None)
            else:
                gains.append(0.0 if coordinate in mechanism.joint_names else math.nan)
                places.append(None)
        per_unit, (slow, fast), acceleration, (low, high) = spec.motion()
        found.append(
            MovingFrame(
                name, inputs.index(spec.signal), per_unit, (x, y, z), (slow, fast), acceleration,
                (low, high), spec.bandwidth_rad_s, tuple(gains), spec.center(), tuple(places),
                tuple(turning),
            )
        )  # fmt: skip
    return tuple(found)
