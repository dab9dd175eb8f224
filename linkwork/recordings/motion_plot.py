"""The picture of an offline simulation: positions, speeds, and the outputs that were asked for, over time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.plant.offline.outputs import columns_of
from linkwork.plant.offline.run import Motion
from linkwork.recordings.signal_plot import draw_panels, panels_by_unit

_COLUMN = re.compile(r"(.*?)(?:_constraint)?_(m_s|N_m|m|N)")
_TITLES = {"m": "points", "m/s": "velocity of points"}


def draw_motion(machine: Machine, motion: Motion, path: Path) -> None:
    """Write a picture of a motion. Raises ValueError for unknown formats, OSError."""
    draw_panels(motion.time_s, panels_by_unit(_curves(machine, motion)), path, machine.name)


def _curves(machine: Machine, motion: Motion) -> Iterator[tuple[str, str, str, Floats]]:
    """Yield title, label, unit and values (samples) of each curve; of reactions, the magnitudes."""
    mechanism = machine.plant_mechanism
    angles = dict(zip(mechanism.coordinate_names, mechanism.coordinate_is_angle, strict=True))
    for name, values in zip(motion.position_names, motion.q.T, strict=True):
        unit = {True: "rad", False: "m", None: ""}[angles.get(name)]  # a quaternion has none
        yield "position", name, unit, values
    for name, angle, values in zip(motion.joint_names, mechanism.joint_is_angle, motion.v.T, strict=True):
        yield "velocity", name, "rad/s" if angle else "m/s", values
    if motion.reactions is not None:
        for k, name in enumerate(motion.reactions.names):
            yield "reaction forces", name, "N", np.linalg.norm(motion.reactions.force_N[:, k], axis=1)
            yield "reaction moments", name, "N m", np.linalg.norm(motion.reactions.moment_N_m[:, k], axis=1)
    for column, values in columns_of(motion.points, None, motion.constraint_efforts).items():
        stem, unit = _COLUMN.fullmatch(column).groups()  # type: ignore[union-attr]
        unit = unit.replace("m_s", "m/s").replace("_", " ")
        yield _TITLES.get(unit, "constraint efforts"), stem, unit, values
