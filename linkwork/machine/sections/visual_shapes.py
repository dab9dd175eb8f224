"""Shapes that show a body in drawings and consoles: the key `visual` of a body."""

from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from linkwork.machine.sections.fields import Number, Switch, Vector3, entry, wrong
from linkwork.machine.sections.orientation import Orientation
from linkwork.machine.visuals import MESH_FORMATS, VisualShape

Sizes = Annotated[list[Annotated[Number, Field(gt=0)]], Field(min_length=3, max_length=3)]
Scales = Annotated[list[Number], Field(min_length=3, max_length=3)]
Color = Annotated[str, Field(pattern=r"^#[0-9A-Fa-f]{6}([0-9A-Fa-f]{2})?$")]


class _VisualSpec(Orientation):
    """Place and color of a shape."""

    at_m: Vector3 = entry("Place of the shape's middle, in the body's frame", "m", [0.0, 0.0, 0.0])
    color: Color | None = entry("Color, #rrggbb or, with opacity, #rrggbbaa", default=None)

    def make(self, body: str) -> VisualShape:
        """Return the shape of a body."""
        kind, file = str(self.model_dump()["type"]), getattr(self, "file", None)
        place = np.array(self.at_m, dtype=np.float64)
        return VisualShape(body, kind, self.sizes(), place, self.rotation(), self.color, file)

    def sizes(self) -> tuple[float, ...]:
        """Return the lengths (m) that give the shape's size; of a mesh its scales."""
        return ()


class BoxVisual(_VisualSpec):
    """A box."""

    type: Literal["box"] = entry("A box with sides along the axes")
    size_m: Sizes = entry("Lengths of the sides along x, y, z", "m")

    def sizes(self) -> tuple[float, ...]:
        """Return the sides along x, y, z (m)."""
        return tuple(self.size_m)


class RoundVisual(_VisualSpec):
    """A cylinder or a capsule."""

    type: Literal["cylinder", "capsule"] = entry("Round about z; the ends of a capsule are half spheres")
    radius_m: Number = entry("Radius", "m", gt=0)
    length_m: Number = entry("Length along z, without the half spheres of a capsule", "m", gt=0)

    def sizes(self) -> tuple[float, ...]:
        """Return radius and length (m)."""
        return self.radius_m, self.length_m


class SphereVisual(_VisualSpec):
    """A sphere."""

    type: Literal["sphere"] = entry("A sphere")
    radius_m: Number = entry("Radius", "m", gt=0)

    def sizes(self) -> tuple[float, ...]:
        """Return the radius (m)."""
        return (self.radius_m,)


class MeshVisual(_VisualSpec):
    """A mesh in a file."""

    type: Literal["mesh"] = entry("A mesh in a file: STL, OBJ or glTF")
    file: Annotated[str, Field(min_length=1, max_length=1000)] = entry(
        "The file, relative to the folder of the machine file"
    )
    scale: Number | Scales = entry(
        "Factor of the mesh's numbers to m, or one for each axis; a negative one mirrors the axis", "1", 1.0
    )
    outside: Switch = entry("Whether the file may be outside the machine file's folder", default=False)

    @model_validator(mode="after")
    def _known_file(self) -> Self:
        path = PurePosixPath(self.file)
        if path.suffix.lower() not in MESH_FORMATS:
            raise wrong(
                "unknown format of a mesh",
                path.suffix or "none",
                ", ".join(MESH_FORMATS),
                at=("file",),
            )
        if not self.outside and leads_out(self.file):
            raise wrong(
                "this file is outside the folder of the machine file",
                self.file,
                "a path relative to the machine file, without steps above its folder",
                "copy the file beside the machine file, or add outside: true",
                ("file",),
            )
        if isinstance(self.scale, float) and not self.scale > 0.0:
            raise wrong("this is out of range", f"{self.scale:g}", "more than 0", at=("scale",))
        if not all(self.sizes()):
            raise wrong("this is out of range", "0", "numbers other than 0", at=("scale",))
        return self

    def sizes(self) -> tuple[float, ...]:
        """Return the scales along x, y, z."""
        return tuple(self.scale if isinstance(self.scale, list) else [self.scale] * 3)


def leads_out(file: str) -> bool:
    """Return whether a path, by its text alone, leads out of the folder it is relative to."""
    if PurePosixPath(file).is_absolute() or PureWindowsPath(file).drive or file.startswith("~"):
        return True
    depth = 0
    for part in PurePosixPath(file.replace("\\", "/")).parts:
        depth += -1 if part == ".." else int(part != ".")
        if depth < 0:
            return True
    return False


Visual = Annotated[BoxVisual | RoundVisual | SphereVisual | MeshVisual, Field(discriminator="type")]
