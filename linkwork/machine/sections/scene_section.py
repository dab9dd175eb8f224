"""The section `scene`: loose parts, planes, feeders, grippers and light barriers; simulated only."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from linkwork.arrays import Floats
from linkwork.machine.problems import shown
from linkwork.machine.sections.contacts import PlaneSpec
from linkwork.machine.sections.fields import (
    Count,
    Direction,
    Name,
    NamedSection,
    Number,
    Range,
    Section,
    Vector3,
    entry,
    wrong,
)
from linkwork.machine.sections.orientation import Orientation, unit

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


class LightBeam(NamedSection):
    """A light barrier: a straight line that parts interrupt; a held part does too."""

    about: str = entry("Description of the light barrier", default="")
    at_m: Vector3 = entry("Begin of the line, in the world", "m")
    along: Direction = entry("Its direction, in the world; its length does not matter")
    length_m: Number = entry("Length of the line", "m", gt=0)


class SceneGripper(NamedSection):
    """A gripper at a point of the machine: it holds a part rigidly, where it lies."""

    about: str = entry("Description of the gripper", default="")
    point: Name = entry("Its place, by the name in `points`")
    closed_when: str = entry("Condition of signals under which it is closed", max_length=1000)
    reach_m: Number = entry(
        "When it closes, it grips the nearest part, if its point is inside the part or at most this far away",
        "m",
        1e-3,
        ge=0,
    )


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


MOST_PARTS = 200
"""Parts of a scene, those of the feeders included."""


def _speed(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise wrong(
            "this has the wrong type", shown(value), "a number, or an expression of signals and time_s"
        )
    return str(value)


Speed = Annotated[
    str,
    PlainValidator(_speed),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "maxLength": 1000}]}),
]
"""A speed: a number, or an expression of signals and time_s."""


class ScenePlaneSpec(PlaneSpec):
    """A plane on which parts lie: a table, the bottom of a tray, a conveyor belt."""

    about: str = entry("Description of the plane", default="")
    friction: Number = entry("Coefficient of dry friction between plane and parts", "1", 0.5, ge=0, le=100)
    along: Direction | None = entry(
        "Direction in the plane, for speed_m_s and size_m; its length does not matter", default=None
    )
    speed_m_s: Speed = entry(
        "Speed of the surface along that direction: a number, or an expression of signals and time_s."
        " Default: the plane stands",
        "m/s",
        "",
        max_length=1000,
    )
    acceleration_m_s2: Number | None = entry(
        "Largest acceleration with which the speed follows its expression. Default: it follows at once",
        "m/s²",
        None,
        gt=0,
    )
    turn_rad_s: Speed = entry(
        "Speed with which the surface turns about the normal through at_m, as a rotary table: a number, or an"
        " expression of signals and time_s. Default: the plane does not turn",
        "rad/s",
        "",
        max_length=1000,
    )
    acceleration_rad_s2: Number | None = entry(
        "Largest acceleration with which the turning follows its expression. Default: it follows at once",
        "rad/s²",
        None,
        gt=0,
    )
    size_m: Range | None = entry(
        "Lengths along that direction and across of the rectangle about at_m to which the plane is limited."
        " Default: it has no end",
        "m",
        None,
    )

    @model_validator(mode="after")
    def _has_axes(self) -> Self:
        for key in ("speed_m_s", "size_m"):
            if self.turn_rad_s and getattr(self, key):
                remedy = f"remove {key} or turn_rad_s"
                raise wrong("a plane that turns has no end and does not slide", key, remedy=remedy, at=(key,))
        if self.along is None:
            for key in ("speed_m_s", "size_m"):
                if getattr(self, key):
                    raise wrong(f"{key} needs a direction", "no along", remedy="add along", at=(key,))
            return self
        slope = float(unit(self.along) @ unit(self.normal))
        if abs(slope) > 1e-3:
            found, allowed = f"{90.0 - math.degrees(math.acos(slope)):.3g}° off the plane", "within 0.05°"
            raise wrong("the direction is not in the plane", found, allowed, at=("along",))
        for index, length in enumerate(self.size_m or ()):
            if length <= 0.0:
                raise wrong("a side has a length", f"{length:g}", "above 0", at=("size_m", index))
        return self

    def direction(self) -> Floats:
        """Return the direction (3, of length 1) in the plane; zeros without one."""
        if self.along is None:
            return np.zeros(3)
        normal = unit(self.normal)
        level = np.array(self.along) - (np.array(self.along) @ normal) * normal
        return np.asarray(level / np.linalg.norm(level))

    def make(self, name: str) -> ScenePlane:
        """Return the plane in SI units."""
        size = None if self.size_m is None else (self.size_m[0], self.size_m[1])
        normal = unit(self.normal)
        at = np.array(self.at_m)
        turns = bool(self.turn_rad_s)
        speed, most = (
            (self.turn_rad_s, self.acceleration_rad_s2) if turns else (self.speed_m_s, self.acceleration_m_s2)
        )
        largest = math.inf if most is None else most
        return ScenePlane(name, at, normal, self.friction, self.direction(), speed, largest, size, turns)


class PartSpec(Orientation):
    """A loose part: a homogeneous box, which falls, lies on planes and is carried by grippers."""

    about: str = entry("Description of the part", default="")
    mass_kg: Number = entry("Mass", "kg", gt=0)
    size_m: Vector3 = entry("Lengths of the edges", "m")
    at_m: Vector3 = entry("Initial position of its centre, in the world", "m")

    @model_validator(mode="after")
    def _has_volume(self) -> Self:
        for index, length in enumerate(self.size_m):
            if length <= 0.0:
                raise wrong("an edge has a length", f"{length:g}", "above 0", at=("size_m", index))
        return self


class FeederSpec(Section):
    """Puts parts on a plane, one after the other: at rest on it, at random places from the plant's seed."""

    about: str = entry("Description of the feeder", default="")
    plane: Name = entry("The plane, by its name in `planes`; it needs along")
    count: Count = entry("Number of parts", ge=1, le=MOST_PARTS)
    mass_kg: Number = entry("Mass of a part, a homogeneous box", "kg", gt=0)
    size_m: Vector3 = entry(
        "Lengths of its edges: along the plane's direction, across, along the normal", "m"
    )
    at_m: Number = entry("Place of the centres along the plane's direction, from the plane's at_m", "m")
    across_m: Range = entry("Smallest and largest place of the centres across", "m", [0.0, 0.0])
    turn_deg: Range = entry("Smallest and largest rotation about the normal", "deg", [0.0, 0.0])
    first_s: Number = entry("Time of the first part", "s", 0.0, ge=0)
    every_s: Range = entry("Smallest and largest time from a part to the next one", "s")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for key in ("across_m", "turn_deg", "every_s"):
            low, high = getattr(self, key)
            if low > high:
                raise wrong("the range is empty", shown([low, high]), "[LOW, HIGH], LOW <= HIGH", at=(key,))
        if self.every_s[0] <= 0.0:
            raise wrong(
                "parts come one after the other", f"{self.every_s[0]:g}", "above 0", at=("every_s", 0)
            )
        for index, length in enumerate(self.size_m):
            if length <= 0.0:
                raise wrong("an edge has a length", f"{length:g}", "above 0", at=("size_m", index))
        return self

    def make(self, name: str, number: int, plane: ScenePlane) -> PartFeeder:
        """Return the feeder onto the plane of this number; its parts are NAME_1, NAME_2 …"""
        axes = np.column_stack([plane.along, np.cross(plane.normal, plane.along), plane.normal])
        size = np.array(self.size_m)
        at = plane.at_m + axes @ np.array([self.at_m, 0.0, 0.5 * size[2]])
        parts = [ScenePart(f"{name}_{i + 1}", self.mass_kg, size, at, axes) for i in range(self.count)]
        turn = math.radians(self.turn_deg[0]), math.radians(self.turn_deg[1])
        every, across = (self.every_s[0], self.every_s[1]), (self.across_m[0], self.across_m[1])
        return PartFeeder(name, number, tuple(parts), self.first_s, every, across, turn)


class SceneSpec(Section):
    """Surroundings of the simulated machine. Controller and hardware ignore them."""

    planes: Annotated[dict[Name, ScenePlaneSpec], Field(max_length=6)] = entry(
        "Planes on which parts lie, by name", default={}
    )
    parts: Annotated[dict[Name, PartSpec], Field(max_length=100)] = entry("Loose parts, by name", default={})
    grippers: Annotated[dict[Name, SceneGripper], Field(max_length=8)] = entry(
        "Grippers, by name", default={}
    )
    feeders: Annotated[dict[Name, FeederSpec], Field(max_length=4)] = entry(
        "Feeders, which put parts on planes one after the other, by name", default={}
    )
    beams: Annotated[dict[Name, LightBeam], Field(max_length=8)] = entry(
        "Light barriers, by name", default={}
    )

    @model_validator(mode="after")
    def _lies_on_something(self) -> Self:
        if self.parts and not self.planes:
            raise wrong("the parts would fall without end", "no planes", "", "add planes", ("parts",))
        for name, feeder in self.feeders.items():
            plane = self.planes.get(feeder.plane)
            if plane is None or plane.along is None:
                allowed = ", ".join(one for one, plane in self.planes.items() if plane.along) or "none"
                what = "no plane with a direction has this name"
                raise wrong(what, feeder.plane, allowed, "give the plane along", ("feeders", name, "plane"))
        count = len(self.parts) + sum(feeder.count for feeder in self.feeders.values())
        if count > MOST_PARTS:
            raise wrong("the scene has too many parts", f"{count}", f"at most {MOST_PARTS}", at=("feeders",))
        return self

    def make(self) -> Scene:
        """Return the scene in SI units."""
        planes = tuple(spec.make(name) for name, spec in self.planes.items())
        number = {plane.name: index for index, plane in enumerate(planes)}
        return Scene(
            planes,
            tuple(
                ScenePart(name, spec.mass_kg, np.array(spec.size_m), np.array(spec.at_m), spec.rotation())
                for name, spec in self.parts.items()
            ),
            tuple(gripper.at(name) for name, gripper in self.grippers.items()),
            tuple(
                spec.make(name, number[spec.plane], planes[number[spec.plane]])
                for name, spec in self.feeders.items()
            ),
            tuple(beam.at(name) for name, beam in self.beams.items()),
        )
