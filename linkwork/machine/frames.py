"""Moving frames, such as conveyor belts and rotary tables: a signal measures their displacement."""

import math
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.frame_section import PARALLEL
from linkwork.multibody.mechanism import Mechanism

TURN = 2.0 * math.pi


@dataclass(frozen=True)
class MovingFrame:
    """A frame that slides along a straight line of the world, or turns about one.

    Its displacement is the value of the input number `input` times `per_unit`: along the unit vector `axis`
    (world; m), or, with `center_m`, about the line through it in the direction `axis` (rad). Goals rely on a
    speed within `speed` and an acceleration of at most `acceleration` (m or rad, s). `window`: positions
    along the axis (m), or angles about it (rad), at which goals may be in the frame. `bandwidth_rad_s`: of
    the filter for its motion.

    One entry per coordinate of the mechanism: `gains`, its change per metre or radian, NaN where a goal
    cannot name it in the frame; `places`, the point and the number of the axis (x, y, z) of those that turn
    with the frame, None of others. `turning_axes`: numbers of the world's axes along which places change
    when it turns.
    """

    name: str
    input: int
    per_unit: float
    axis: tuple[float, float, float]
    speed: tuple[float, float]
    acceleration: float
    window: tuple[float, float]
    bandwidth_rad_s: float
    gains: tuple[float, ...]
    center_m: tuple[float, float, float] | None = None
    places: tuple[tuple[str, int] | None, ...] = ()
    turning_axes: tuple[int, ...] = ()

    @property
    def turns(self) -> bool:
        """Whether it turns."""
        return self.center_m is not None

    @property
    def unit(self) -> str:
        """Unit of its displacement: m or rad."""
        return "rad" if self.turns else "m"

    def gains_of(self, coordinates: tuple[int, ...]) -> Floats:
        """Return the gains of these coordinates of the mechanism (k)."""
        return np.array([self.gains[index] for index in coordinates])

    def nearest(self, difference: float) -> float:
        """Return a difference of two displacements; that of a frame that turns without whole turns."""
        return difference if self.center_m is None else math.remainder(difference, TURN)


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
        found.append(
            MovingFrame(
                name, inputs.index(spec.signal), spec.per_unit, (x, y, z), spec.speed, spec.acceleration,
                spec.window, spec.bandwidth_rad_s, tuple(gains), spec.center(), tuple(places),
                tuple(turning),
            )
        )  # fmt: skip
    return tuple(found)
