"""Moving frames of a machine file, with the gains of the machine's coordinates."""

from __future__ import annotations

import math

from linkwork.machine.frames import MovingFrame
from linkwork.machine.sections.file import MachineFile
from linkwork.multibody.mechanism import Mechanism


def moving_frames(file: MachineFile, mechanism: Mechanism) -> tuple[MovingFrame, ...]:
    """Return the frames of the file, in its order."""
    inputs = [name for name, spec in file.signals.items() if spec.direction == "input"]
    found = []
    for name, spec in file.frames.items():
        gains = []
        for coordinate in mechanism.coordinate_names:
            task = file.task.get(coordinate)
            if task is not None:
                gains.append(spec.gain(task.axis(), task.place().get("direction")))
            else:
                gains.append(0.0 if coordinate in mechanism.joint_names else math.nan)
        found.append(
            MovingFrame(
                name,
                inputs.index(spec.signal),
                spec.m_per_unit,
                spec.direction(),
                (spec.speed_m_s[0], spec.speed_m_s[1]),
                spec.acceleration_m_s2,
                (spec.window_m[0], spec.window_m[1]),
                spec.bandwidth_rad_s,
                tuple(gains),
            )
        )
    return tuple(found)
