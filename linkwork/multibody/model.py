"""Parts of a mechanism: bodies, joints, points, coordinates. SI units, radians, right-handed frames.

These are plain, frozen descriptions. `Mechanism.build` (mechanism.py) checks them and makes them into a
model.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats

WORLD = "world"
JointKind = Literal[
    "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "free",
    "compound", "simple", "fixed",
]  # fmt: skip
JOINT_KINDS: tuple[str, ...] = get_args(JointKind)
RotationCoordinates = Literal["quaternion", "angles"]
CoordinateKind = Literal["joint", "x", "y", "z", "along", "distance", "roll", "pitch", "yaw"]
ANGLES = ("roll", "pitch", "yaw")


class ModelError(ValueError):
    """A description that no mechanism can have; `where` leads to it: ("bodies", "crank", "mass_kg")."""

    def __init__(self, text: str, where: tuple[str, ...] = (), remedy: str = "") -> None:
        """Keep the text, without the place, the place, and what to do about it."""
        whole = f"{text}; {remedy}" if remedy else text
        super().__init__(f"{'.'.join(where)}: {whole}" if where else whole)
        self.text = text
        self.where = where
        self.remedy = remedy


def _frozen(value: npt.ArrayLike, shape: tuple[int, ...], where: tuple[str, ...]) -> Floats:
    """A read-only float64 copy of the right shape with finite entries."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"expected {' × '.join(map(str, shape))} numbers, found {value!r}", where) from error
    if array.shape != shape:
        raise ModelError(f"expected {' × '.join(map(str, shape))} numbers, found shape {array.shape}", where)
    if not np.isfinite(array).all():
        raise ModelError(f"expected finite numbers, found {array.tolist()}", where)
    array.flags.writeable = False
    return array


def _number(value: float, where: tuple[str, ...], least: float | None = None) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"expected a number, found {value!r}", where) from error
    if not np.isfinite(number):
        raise ModelError(f"expected a finite number, found {number}", where)
    if least is not None and number < least:
        raise ModelError(f"expected at least {least:g}, found {number:g}", where)
    return number


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body: mass, centre of mass (3, m), inertia about that centre (3 × 3, kg m²), in body axes."""

    name: str
    mass_kg: float = 0.0
    com_m: npt.ArrayLike = (0.0, 0.0, 0.0)
    inertia_kg_m2: npt.ArrayLike = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    unphysical: bool = False

    def __post_init__(self) -> None:
        """Check the values that concern this body alone."""
        where = ("bodies", self.name)
        object.__setattr__(self, "mass_kg", _number(self.mass_kg, (*where, "mass_kg"), least=0.0))
        object.__setattr__(self, "com_m", _frozen(self.com_m, (3,), (*where, "com_m")))
        inertia = _frozen(self.inertia_kg_m2, (3, 3), (*where, "inertia_kg_m2"))
        object.__setattr__(self, "inertia_kg_m2", inertia)
        if not self.unphysical:
            _check_inertia(inertia, self.mass_kg, (*where, "inertia_kg_m2"))


INERTIA_ROUNDING = 1e-16
"""Moment of inertia (kg m²) that arithmetic of other moments may leave in place of 0."""


def _check_inertia(inertia: Floats, mass: float, where: tuple[str, ...]) -> None:
    """Principal moments are sums of two of three non-negative numbers, hence the triangle inequality."""
    if np.abs(inertia - inertia.T).max() > 1e-9 * np.abs(inertia).max():
        raise ModelError("the inertia is not symmetric", where)
    moments = np.linalg.eigvalsh(inertia)
    small = 1e-9 * abs(moments[2]) + INERTIA_ROUNDING
    if moments[0] < -small:
        raise ModelError(f"the inertia has a negative principal moment, {moments[0]:.6g} kg m²", where)
    if moments[2] > moments[0] + moments[1] + 1e-6 * abs(moments[2]) + INERTIA_ROUNDING:
        raise ModelError(
            "no body has these principal moments: the largest, "
            f"{moments[2]:.6g} kg m², exceeds the sum of the others, {moments[0] + moments[1]:.6g} kg m²",
            where,
        )
    if mass == 0.0 and moments[2] > 0.0:
        raise ModelError(
            "a body without mass cannot have inertia (a rotor's goes into the joint's armature)", where
        )


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint that carries body `child` on body `parent` (or "world").

    At zero the child's frame lies at `at_m` in the parent's frame, its axes being the columns of `rotation`.
    The child turns about `axis` (revolute), slides along it (prismatic) or does both (screw: coordinate is
    the angle, and the child advances `pitch_m_per_rad` for each radian); `axis` is given in the child's axes
    and passes through its origin.

    Several degrees of freedom (joint_dof.py names them): cylindrical turns about and slides along
    `axis`; universal turns about `axis`, fixed in the child, and `second_axis`, fixed in the parent; planar
    slides along two directions normal to `axis`, fixed in the parent, and turns about it; spherical turns
    about the child's origin; free moves at will. Compound joints follow their `columns` (r × 6,
    joint_map.py), the first next to the child; simple ones have these columns, fixed in the child, for their
    velocities. `coordinates` chooses between a unit quaternion and three angles, R = Rz Ry Rx, for spherical
    and free joints.

    `armature` is inertia that moves with the coordinate but not with the body (a geared rotor): kg m² or kg.
    Friction: `viscous` (N m s/rad or N s/m) times velocity, and `coulomb` (N m or N) times
    tanh(velocity / `coulomb_speed`), in rad/s or m/s. These four hold for each degree of freedom of a joint
    alike.
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    at_m: npt.ArrayLike = (0.0, 0.0, 0.0)
    rotation: npt.ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    axis: npt.ArrayLike = (0.0, 0.0, 1.0)
    pitch_m_per_rad: float = 0.0
    armature: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    coulomb_speed: float = 1e-3
    second_axis: npt.ArrayLike | None = None
    columns: npt.ArrayLike | None = None
    coordinates: RotationCoordinates = "quaternion"

    def __post_init__(self) -> None:
        """Check the values that concern this joint alone; axes are normalised."""
        where = ("joints", self.name)
        if self.kind not in JOINT_KINDS:
            text = f"expected {', '.join(JOINT_KINDS[:-1])} or {JOINT_KINDS[-1]}, found {self.kind!r}"
            raise ModelError(text, (*where, "kind"))
        object.__setattr__(self, "at_m", _frozen(self.at_m, (3,), (*where, "at_m")))
        object.__setattr__(self, "rotation", _rotation(self.rotation, (*where, "rotation")))
        object.__setattr__(self, "axis", _unit(self.axis, (*where, "axis")))
        self._check_axes(where)
        for name in ("armature", "viscous", "coulomb"):
            object.__setattr__(self, name, _number(getattr(self, name), (*where, name), least=0.0))
        if not _number(self.coulomb_speed, (*where, "coulomb_speed")) > 0.0:
            text = f"expected more than 0, found {self.coulomb_speed:g}"
            raise ModelError(text, (*where, "coulomb_speed"))
        pitch = _number(self.pitch_m_per_rad, (*where, "pitch_m_per_rad"))
        if pitch != 0.0 and self.kind != "screw":
            raise ModelError(
                f"only a screw has a pitch, not a {self.kind} joint", (*where, "pitch_m_per_rad")
            )

    def _check_axes(self, where: tuple[str, ...]) -> None:
        if (self.second_axis is not None) != (self.kind == "universal"):
            wants = "needs" if self.kind == "universal" else "does not take"
            raise ModelError(f"a {self.kind} joint {wants} a second axis", (*where, "second_axis"))
        if self.second_axis is not None:
            second = _unit(self.second_axis, (*where, "second_axis"))
            if np.linalg.norm(np.cross(second, np.asarray(self.axis))) < 1e-6:
                raise ModelError("the two axes of a universal joint are parallel", (*where, "second_axis"))
            object.__setattr__(self, "second_axis", second)
        if (self.columns is not None) != (self.kind in ("compound", "simple")):
            wants = "needs" if self.kind in ("compound", "simple") else "does not take"
            raise ModelError(f"a {self.kind} joint {wants} columns", (*where, "columns"))
        if self.columns is not None:
            rows = np.shape(self.columns)[0] if np.ndim(self.columns) else 0
            columns = _frozen(self.columns, (max(1, min(rows, 6)), 6), (*where, "columns"))
            if np.linalg.matrix_rank(columns, tol=1e-9) < len(columns):
                text = "the columns must be independent, and none of them zero"
                raise ModelError(text, (*where, "columns"))
            object.__setattr__(self, "columns", columns)
        if self.coordinates not in get_args(RotationCoordinates):
            text = f"expected quaternion or angles, found {self.coordinates!r}"
            raise ModelError(text, (*where, "coordinates"))
        if self.coordinates == "angles" and self.kind not in ("spherical", "free"):
            text = f"only spherical and free joints have a choice, not a {self.kind} joint"
            raise ModelError(text, (*where, "coordinates"))


def _unit(value: npt.ArrayLike, where: tuple[str, ...]) -> Floats:
    """A direction as a unit vector."""
    axis = _frozen(value, (3,), where)
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        raise ModelError("an axis needs a direction, found a zero vector", where)
    return _frozen(axis / length, (3,), where)


def _rotation(value: npt.ArrayLike, where: tuple[str, ...]) -> Floats:
    """The given matrix (3 × 3) as a proper rotation, orthonormal to round-off."""
    given = _frozen(value, (3, 3), where)
    error = float(np.abs(given.T @ given - np.eye(3)).max())
    if error > 1e-6 or np.linalg.det(given) < 0.0:
        raise ModelError("not a right-handed rotation: its columns must be orthogonal unit vectors", where)
    if error < 1e-15:
        return given
    left, _, right = np.linalg.svd(given)
    return _frozen(left @ right, (3, 3), where)


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a body (or of the world), at a place in the body's frame (3, m)."""

    name: str
    body: str
    at_m: npt.ArrayLike = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Check the place."""
        object.__setattr__(self, "at_m", _frozen(self.at_m, (3,), ("points", self.name, "at_m")))


@dataclass(frozen=True)
class Coordinate:
    """A scalar of interest: a joint's coordinate, a point's x, y or z in the world, or an angle of its body.

    Roll, pitch and yaw are the 3-2-1 angles of the body's axes in the world: R = Rz(yaw) Ry(pitch) Rx(roll).
    `along` is the way of the point from `from_m` along `direction` (world; any length, brought to 1).
    `distance` is how far the point is from `from_m`, less `less_m`.
    """

    name: str
    kind: CoordinateKind
    of: str
    direction: tuple[float, float, float] = (0.0, 0.0, 1.0)
    from_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    less_m: float = 0.0

    def __post_init__(self) -> None:
        """Check the kind, and bring the direction to length 1."""
        kinds = ("joint", "x", "y", "z", "along", "distance", *ANGLES)
        where = ("coordinates", self.name)
        x, y, z = _unit(self.direction, (*where, "direction")).tolist()
        object.__setattr__(self, "direction", (x, y, z))
        x, y, z = _frozen(self.from_m, (3,), (*where, "from_m")).tolist()
        object.__setattr__(self, "from_m", (x, y, z))
        _number(self.less_m, (*where, "less_m"))
        if self.kind not in kinds:
            text = f"expected one of {', '.join(kinds)}, found {self.kind!r}"
            raise ModelError(text, ("coordinates", self.name, "kind"))
