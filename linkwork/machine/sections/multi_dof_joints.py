"""Joints of several degrees of freedom, of the section `joints`: one class for each `type`.

Each has the joint's name, a dot, and its own: "ankle.turn", "ankle.slide".
"""

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from linkwork.machine.sections.fields import Direction, Number, entry, wrong
from linkwork.machine.sections.joints import AxisSpec, FrictionSpec, JointSpec
from linkwork.machine.sections.limits import ABOUT, DofStop, Limits
from linkwork.machine.sections.orientation import unit
from linkwork.multibody.tree.joint_dof import ball_place

Column = Annotated[list[Number], Field(min_length=6, max_length=6)]
_LIMITS = "Limits of the degrees of freedom, by name (see the joint's type)"
_PARALLEL = 1e-6


class _SeveralSpec(JointSpec):
    """Base class of joints with several degrees of freedom."""

    limits: dict[str, Limits] = entry(_LIMITS, default={})
    stop: dict[str, DofStop] = entry(f"{ABOUT}; by the names of the degrees of freedom", default={})

    @model_validator(mode="after")
    def _limits_fit(self) -> Self:
        ball = self.of_quaternion()
        own = {name: angle for name, angle in self.degrees_of_freedom().items() if name not in ball}
        for name, limits in self.limits.items():
            if name not in own:
                allowed = ", ".join(own) or "none: a quaternion has no limits"
                raise wrong(
                    "no degree of freedom of this joint has this name", name, allowed, "", ("limits", name)
                )
            if limits.is_angle != own[name]:
                found, allowed = ("rad", "m") if not own[name] else ("m", "rad or deg")
                raise wrong("these limits have the wrong unit", found, allowed, "", ("limits", name))
        return self


class CylindricalSpec(_SeveralSpec, AxisSpec):
    """A sleeve on a shaft: it turns and slides."""

    dof: ClassVar[dict[str, bool]] = {"turn": True, "slide": False}
    type: Literal["cylindrical"] = entry("A sleeve on a shaft; degrees of freedom turn and slide")


class UniversalSpec(_SeveralSpec, AxisSpec, FrictionSpec):
    """A cardan joint."""

    is_angle = True
    dof: ClassVar[dict[str, bool]] = {"1": True, "2": True}
    type: Literal["universal"] = entry(
        "A cardan joint; degrees of freedom 1 (about axis) and 2 (about second_axis)"
    )
    second_axis: Direction = entry("Axis that is fixed in the parent, in the child's frame at zero")

    @model_validator(mode="after")
    def _two_axes(self) -> Self:
        if np.linalg.norm(np.cross(unit(self.axis), unit(self.second_axis))) < _PARALLEL:
            remedy = "use two axes that are not parallel"
            raise wrong("the two axes are parallel", f"{self.second_axis}", "", remedy, ("second_axis",))
        return self

    def geometry(self) -> dict[str, Any]:
        """Return both axes."""
        return super().geometry() | {"second_axis": unit(self.second_axis)}


class PlanarSpec(_SeveralSpec, AxisSpec):
    """A body that moves in a plane."""

    dof: ClassVar[dict[str, bool]] = {"x": False, "y": False, "turn": True}
    type: Literal["planar"] = entry("A plane normal to axis; degrees of freedom x, y and turn")


class _BallSpec(_SeveralSpec):
    """Base class of joints with an orientation: rates rx, ry, rz about the child's axes, or of the angles."""

    coordinates: Literal["quaternion", "angles"] = entry(
        "Coordinates of the orientation: a unit quaternion, or angles rx, ry, rz with R = Rz Ry Rx",
        default="quaternion",
    )

    def of_quaternion(self) -> tuple[str, ...]:
        """Return rx, ry, rz where a unit quaternion holds them."""
        return ("rx", "ry", "rz") if self.coordinates == "quaternion" else ()

    def geometry(self) -> dict[str, Any]:
        """Return the choice of coordinates of the orientation."""
        return {"coordinates": self.coordinates}


class SphericalSpec(_BallSpec, FrictionSpec):
    """A ball joint."""

    is_angle = True
    dof: ClassVar[dict[str, bool]] = {"rx": True, "ry": True, "rz": True}
    type: Literal["spherical"] = entry("A ball joint; degrees of freedom rx, ry, rz")


class FreeSpec(_BallSpec):
    """A body that moves freely."""

    dof: ClassVar[dict[str, bool]] = {"x": False, "y": False, "z": False, "rx": True, "ry": True, "rz": True}
    type: Literal["free"] = entry("No constraint; degrees of freedom x, y, z, rx, ry, rz")


class ColumnsSpec(_SeveralSpec):
    """A joint that is given by the columns of its joint map matrix."""

    type: Literal["compound", "simple"] = entry(
        "compound: one elementary joint after the other, the first column next to the child; "
        "simple: the columns, constant in the child's axes, generate a group of motions"
    )
    columns: Annotated[list[Column], Field(min_length=1, max_length=6)] = entry(
        "Columns [w1, w2, w3, u1, u2, u3] of the joint map matrix: rotation in rad, then translation in m, "
        "per unit of the degree of freedom"
    )

    @model_validator(mode="after")
    def _independent(self) -> Self:
        rank = int(np.linalg.matrix_rank(np.array(self.columns), tol=1e-9))
        if rank < len(self.columns):
            found, allowed = f"{len(self.columns)} columns of rank {rank}", "independent columns, none zero"
            raise wrong("the columns depend on each other", found, allowed, "", ("columns",))
        return self

    def degrees_of_freedom(self) -> dict[str, bool]:
        """Return 1, 2, … in the order of the columns; a single one has the joint's name."""
        angles = [any(column[:3]) for column in self.columns]
        return {"": angles[0]} if len(angles) == 1 else {str(k + 1): a for k, a in enumerate(angles)}

    def of_quaternion(self) -> tuple[str, ...]:
        """Return rx, ry, rz where a unit quaternion holds them."""
        first = ball_place(np.array(self.columns)) if self.type == "simple" else None
        return () if first is None else tuple(str(first + k + 1) for k in range(3))

    def geometry(self) -> dict[str, Any]:
        """Return the choice of coordinates of the orientation."""
        return {"columns": np.array(self.columns, dtype=np.float64)}
