"""The section `scene`: loose parts, planes on which they lie, grippers that hold them; simulated only."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from linkwork.machine.scene import Scene, SceneGripper, ScenePart, ScenePlane
from linkwork.machine.sections.contacts import PlaneSpec
from linkwork.machine.sections.fields import Name, Number, Section, Vector3, entry, wrong
from linkwork.machine.sections.joints import unit_vector
from linkwork.machine.sections.orientation import Orientation


class ScenePlaneSpec(PlaneSpec):
    """A plane on which parts lie: a table, the bottom of a tray."""

    about: str = entry("Description of the plane", default="")
    friction: Number = entry("Coefficient of dry friction between plane and parts", "1", 0.5, ge=0, le=100)


class PartSpec(Orientation):
    """A loose part: a homogeneous box, which falls, lies on planes and is carried by grippers."""

    about: str = entry("Description of the part", default="")
    mass_kg: Number = entry("Mass", "kg", gt=0)
    size_m: Vector3 = entry("Lengths of the edges", "m")
    at_m: Vector3 = entry("Initial position of its centre, in the world", "m")

    @model_validator(mode="after")
    def _has_volume(self) -> PartSpec:
        for index, length in enumerate(self.size_m):
            if length <= 0.0:
                raise wrong("an edge has a length", f"{length:g}", "above 0", at=("size_m", index))
        return self


class GripperSpec(Section):
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


class SceneSpec(Section):
    """Surroundings of the simulated machine. Controller and hardware ignore them."""

    planes: Annotated[dict[Name, ScenePlaneSpec], Field(max_length=6)] = entry(
        "Planes on which parts lie, by name", default={}
    )
    parts: Annotated[dict[Name, PartSpec], Field(max_length=100)] = entry("Loose parts, by name", default={})
    grippers: Annotated[dict[Name, GripperSpec], Field(max_length=8)] = entry("Grippers, by name", default={})

    @model_validator(mode="after")
    def _lies_on_something(self) -> SceneSpec:
        if self.parts and not self.planes:
            raise wrong("the parts would fall without end", "no planes", "", "add planes", ("parts",))
        return self

    def make(self) -> Scene:
        """Return the scene in SI units."""
        return Scene(
            tuple(
                ScenePlane(name, np.array(spec.at_m), unit_vector(spec, "normal"), spec.friction)
                for name, spec in self.planes.items()
            ),
            tuple(
                ScenePart(name, spec.mass_kg, np.array(spec.size_m), np.array(spec.at_m), spec.rotation())
                for name, spec in self.parts.items()
            ),
            tuple(
                SceneGripper(name, spec.point, spec.closed_when, spec.reach_m)
                for name, spec in self.grippers.items()
            ),
        )
