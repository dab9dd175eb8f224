"""Surroundings of the simulated machine: planes, loose parts, grippers. Values of the section `scene`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats

GRIPPER_QUANTITIES = ("gap", "holds")
"""Quantities of a gripper in conditions and expressions: GRIPPER.gap (m) and GRIPPER.holds (0 or 1)."""
PART_QUANTITIES = ("x", "y", "z")
"""Quantities of a part in conditions and expressions: PART.x, .y and .z of its centre (m, world)."""


@dataclass(frozen=True, eq=False)
class ScenePlane:
    """A plane through `at_m` (3, world); its unit normal (3) leads to where parts may be."""

    name: str
    at_m: Floats
    normal: Floats
    friction: float


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


@dataclass(frozen=True)
class SceneGripper:
    """A gripper at a named point of the machine; `reach_m`: largest distance of the point from a part."""

    name: str
    point: str
    closed_when: str
    reach_m: float


@dataclass(frozen=True)
class Scene:
    """Planes, parts and grippers in the order of the file."""

    planes: tuple[ScenePlane, ...]
    parts: tuple[ScenePart, ...]
    grippers: tuple[SceneGripper, ...]

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names that conditions and expressions of simulated inputs may use."""
        of_parts = (f"{part.name}.{axis}" for part in self.parts for axis in PART_QUANTITIES)
        return (*of_parts, *(f"{each.name}.{what}" for each in self.grippers for what in GRIPPER_QUANTITIES))
