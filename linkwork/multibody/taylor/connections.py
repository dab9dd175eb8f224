"""Connections of the maximal model between frames on two bodies, in a tree or in loops."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.multibody.model import WORLD, Joint, ModelError, _frozen, _number, _rotation
from linkwork.multibody.tree.joint_dof import onto_z

KINDS = ("spherical", "revolute", "cylindrical", "prismatic", "pin", "fixed")


@dataclass(frozen=True, eq=False)
class JointFrame:
    """A frame fixed in a body (or the world): origin (3, m) and axes (columns of a rotation) in its axes."""

    body: str = WORLD
    at_m: npt.ArrayLike = (0.0, 0.0, 0.0)
    rotation: npt.ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "at_m", _frozen(self.at_m, (3,), ("at_m",)))
        object.__setattr__(self, "rotation", _rotation(self.rotation, ("rotation",)))

    @staticmethod
    def along(body: str, at_m: npt.ArrayLike, axis: npt.ArrayLike) -> "JointFrame":
        """A frame whose z axis, the axis of the joint, has the direction `axis` (3, of any length)."""
        z = _frozen(axis, (3,), ("axis",))
        length = float(np.linalg.norm(z))
        if length < 1e-9:
            raise ModelError("an axis needs a direction, found a zero vector", ("axis",))
        return JointFrame(body, at_m, onto_z(z / length))


@dataclass(frozen=True, eq=False)
class Connection:
    """A joint between the bodies of frames `a` and `b`, whose axis is the z axis of both frames.

    `kind`: spherical (the origins coincide), revolute (z axes too), cylindrical (the z axes are one line),
    prismatic (and the bodies do not turn against each other: x axes parallel), pin (the origin of b lies on
    the z axis of a, of a planar loop the normal) or fixed (all axes parallel).
    Motion, efforts and reactions are those of b relative to a. Armature and friction as in `Joint`; a
    cylindrical joint has them for its turn and its slide alike, in their units.
    """

    name: str
    kind: str
    a: JointFrame
    b: JointFrame
    armature: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_speed: float = 1e-3

    def __post_init__(self) -> None:
        """Check the kind, the ends and the numbers."""
        where = ("joints", self.name)
        if self.kind not in KINDS:
            known = f"{', '.join(KINDS[:-1])} and {KINDS[-1]}"
            text = f"the Taylor stepper has no {self.kind} joints, only {known} ones: use another formulation"
            raise ModelError(text, (*where, "kind"))
        if self.a.body == self.b.body:
            raise ModelError(f"both frames are on {self.a.body!r}", where)
        for key in ("armature", "viscous", "coulomb"):
            value = _number(getattr(self, key), (*where, key), least=0.0)
            if value > 0.0 and self.kind in ("spherical", "pin", "fixed"):
                raise ModelError(f"a {self.kind} joint has no axis that could have it", (*where, key))
            object.__setattr__(self, key, value)
        if not _number(self.coulomb_speed, (*where, "coulomb_speed")) > 0.0:
            raise ModelError(f"expected more than 0, found {self.coulomb_speed:g}", (*where, "coulomb_speed"))

    @staticmethod
    def from_joint(joint: Joint) -> "Connection":
        """Return a joint as a connection: frame a on the parent, frame b on the child.

        Angle and slide are the joint's coordinate. Raises ModelError for kinds that this stepper lacks.
        """
        axes = onto_z(np.asarray(joint.axis))
        return Connection(
            joint.name,
            joint.kind,
            JointFrame(joint.parent, joint.at_m, np.asarray(joint.rotation) @ axes),
            JointFrame(joint.child, (0.0, 0.0, 0.0), axes),
            joint.armature,
            joint.viscous,
            joint.coulomb,
            joint.coulomb_speed,
        )
