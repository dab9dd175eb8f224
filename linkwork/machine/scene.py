"""Surroundings of the simulated machine: planes, parts, grippers, beams. Values of the section `scene`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats

GRIPPER_QUANTITIES = ("gap", "holds")
"""Quantities of a gripper in conditions and expressions: GRIPPER.gap (m) and GRIPPER.holds (0 or 1)."""
PART_QUANTITIES = ("x", "y", "z")
"""Quantities of a part in conditions and expressions: PART.x, .y and .z of its centre (m, world)."""
BEAM_QUANTITIES = ("broken", "place")
"""Quantities of a beam: BEAM.broken (0 or 1), BEAM.place of the part that broke it last (m along it)."""
PLANE_QUANTITIES = ("displacement", "speed")
"""Quantities of a moving plane: PLANE.displacement since the start (m, rad) and PLANE.speed (per s)."""


@dataclass(frozen=True, eq=False)
class ScenePlane:
    """A plane through `at_m` (3, world); its unit normal (3) leads to where parts may be.

    along: unit vector (3) in the plane, zeros of a plane that has no direction. speed: expression of signals
    and time_s for its speed along it (m/s), or, if it `turns`, about its normal through `at_m` (rad/s); '' of
    a plane that stands. The speed follows with `acceleration` (m/s², rad/s²). size_m: lengths along and
    across of the rectangle about `at_m` to which it is limited; None: it has no end.
    """

    name: str
    at_m: Floats
    normal: Floats
    friction: float
    along: Floats
    speed: str = ""
    acceleration: float = np.inf
    size_m: tuple[float, float] | None = None
    turns: bool = False


@dataclass(frozen=True, eq=False)
class ScenePart:
    """A homogeneous box: lengths of its edges (3, m), initial centre (3, m, world) and axes (3 × 3)."""

    name: str
    mass_kg: float
    size_m: Floats
    at_m: Floats
    rotation: Floats

    @property
    def inertia_kg_m2(self) -> Floats:
        """Moment of inertia (3 × 3) about its centre, in its axes."""
        square = self.size_m**2
        return np.asarray(self.mass_kg / 12.0 * np.diag(square.sum() - square))


@dataclass(frozen=True, eq=False)
class PartFeeder:
    """Puts parts on a plane, one after the other, at rest on it: `parts` at their mean place, in order.

    every_s: range of the time between two parts; first_s: time of the first one. across_m: range of the place
    across the plane's direction; turn_rad: range of the rotation about its normal. All ranges are drawn from
    with equal probability.
    """

    name: str
    plane: int
    parts: tuple[ScenePart, ...]
    first_s: float
    every_s: tuple[float, float]
    across_m: tuple[float, float]
    turn_rad: tuple[float, float]


@dataclass(frozen=True, eq=False)
class LightBeam:
    """A light barrier: a straight line from `at_m` (3, m, world) along the unit vector `along` (3)."""

    name: str
    at_m: Floats
    along: Floats
    length_m: float


@dataclass(frozen=True)
class SceneGripper:
    """A gripper at a named point of the machine; `reach_m`: largest distance of the point from a part."""

    name: str
    point: str
    closed_when: str
    reach_m: float


@dataclass(frozen=True)
class Scene:
    """Planes, parts, grippers, feeders and beams in the order of the file."""

    planes: tuple[ScenePlane, ...]
    parts: tuple[ScenePart, ...]
    grippers: tuple[SceneGripper, ...]
    feeders: tuple[PartFeeder, ...] = ()
    beams: tuple[LightBeam, ...] = ()

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names that conditions and expressions of simulated inputs may use."""
        of_parts = (f"{part.name}.{axis}" for part in self.parts for axis in PART_QUANTITIES)
        of_grippers = (f"{each.name}.{what}" for each in self.grippers for what in GRIPPER_QUANTITIES)
        of_beams = (f"{each.name}.{what}" for each in self.beams for what in BEAM_QUANTITIES)
        moving = (each for each in self.planes if each.speed)
        of_planes = (f"{each.name}.{what}" for each in moving for what in PLANE_QUANTITIES)
        return (*of_parts, *of_grippers, *of_beams, *of_planes)
