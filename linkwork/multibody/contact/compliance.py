"""Forces of touch, as a description: joint stops, and contacts of points with planes and spheres.

Both push with a spring and a damper, and never pull. With the depth d inside the stop or surface,
    N = max(0, stiffness d + damping ḋ)     where d > 0, else 0
A contact rubs, too, by Coulomb's law made smooth, against the slip u (tangential velocity where it touches),
    F = -friction N tanh(|u| / slip_speed) u / |u|
compliant_forces.py evaluates them; step.py keeps steps of time exact where touch begins and ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.multibody.model import ModelError, _frozen, _number, _unit
from linkwork.multibody.tree.link_tree import check_names

SPRING, DAMPER, RUBBING = 0.2, 0.1, 0.5
"""Longest parts of a step that follow springs, dampers and friction well (step.py)."""


@dataclass(frozen=True)
class JointStop:
    """Stops of a degree of freedom at `low` and `high` (rad or m, infinite: none): spring (N m/rad or N/m)
    and damper.

    `dof` is a degree of freedom of the mechanism with a separate coordinate.
    """

    dof: str
    low: float
    high: float
    stiffness: float
    damping: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        where = ("stops", self.dof)
        if not self.low < self.high:
            raise ModelError(f"expected low < high, found {self.low:g} and {self.high:g}", (*where, "low"))
        _positive(self.stiffness, (*where, "stiffness"))
        _number(self.damping, (*where, "damping"), least=0.0)


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane through a place (3, m) of the world; its normal (3) leads to where points may be."""

    at_m: npt.ArrayLike = (0.0, 0.0, 0.0)
    normal: npt.ArrayLike = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        """Check the place, and bring the normal to length 1."""
        object.__setattr__(self, "at_m", _frozen(self.at_m, (3,), ("contacts", "at_m")))
        object.__setattr__(self, "normal", _unit(self.normal, ("contacts", "normal")))


@dataclass(frozen=True, eq=False)
class Sphere:
    """A sphere about a place (3, m) of the world; points may be outside."""

    centre_m: npt.ArrayLike
    radius_m: float

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "centre_m", _frozen(self.centre_m, (3,), ("contacts", "centre_m")))
        _positive(self.radius_m, ("contacts", "radius_m"))


@dataclass(frozen=True, eq=False)
class Contact:
    """A named point of the mechanism that touches a surface: N/m, N s/m, coefficient of friction, m/s.

    With `ball_m` the point is the centre of a ball of that radius (m), fixed in its body, which touches.
    """

    name: str
    point: str
    surface: Plane | Sphere
    stiffness_N_m: float
    damping_N_s_m: float = 0.0
    friction: float = 0.0
    slip_speed_m_s: float = 1e-3
    ball_m: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        where = ("contacts", self.name)
        _positive(self.stiffness_N_m, (*where, "stiffness_N_m"))
        _number(self.damping_N_s_m, (*where, "damping_N_s_m"), least=0.0)
        _number(self.friction, (*where, "friction"), least=0.0)
        _positive(self.slip_speed_m_s, (*where, "slip_speed_m_s"))
        _number(self.ball_m, (*where, "ball_m"), least=0.0)

    def normal(self, point: npt.ArrayLike) -> Floats:
        """The surface's normal (3, world) nearest to the point where it is now (3, world)."""
        if isinstance(self.surface, Plane):
            return np.asarray(self.surface.normal)
        way: Floats = np.asarray(point) - np.asarray(self.surface.centre_m)
        return way / max(float(np.linalg.norm(way)), 1e-300)

    def place(self, point: npt.ArrayLike) -> Floats:
        """Return the point of action (3, m, world) for a point (3, m, world), beside a ball's centre."""
        return np.asarray(point) - self.ball_m * self.normal(point)


def _positive(value: float, where: tuple[str, ...]) -> None:
    if not _number(value, where) > 0.0:
        raise ModelError(f"expected more than 0, found {value:g}", where)


@dataclass(frozen=True)
class CompliantFields:
    """Arrays of stops and contacts in a `Model`."""

    parameters: dict[str, Floats]
    tables: dict[str, Integers]


def compliance_fields(
    stops: Sequence[JointStop], contacts: Sequence[Contact], own: dict[str, int], points: Sequence[str]
) -> CompliantFields:
    """Look up degrees of freedom (`own`: their places) and points. Raises ModelError for an unknown name."""
    check_names("stops", [stop.dof for stop in stops])
    check_names("contacts", [contact.name for contact in contacts])
    for stop in stops:
        if stop.dof not in own:
            text = f"there is no joint {stop.dof!r} with a coordinate; known: {', '.join(own)}"
            raise ModelError(text, ("stops", stop.dof))
    for contact in contacts:
        if contact.point not in points:
            text = f"there is no point {contact.point!r}; known: {', '.join(points) or 'none'}"
            raise ModelError(text, ("contacts", contact.name, "point"))
    return CompliantFields(
        {
            "stop_range": np.array([[stop.low, stop.high] for stop in stops]),
            "stop_law": np.array([[stop.stiffness, stop.damping] for stop in stops]),
            "surfaces": np.array([_surface(c.surface, c.ball_m) for c in contacts]),
            "contact_law": np.array(
                [[c.stiffness_N_m, c.damping_N_s_m, c.friction, c.slip_speed_m_s, c.ball_m] for c in contacts]
            ),
        },
        {
            "stop_at": np.array([own[stop.dof] for stop in stops], dtype=np.int64),
            "contact_point": np.array([points.index(contact.point) for contact in contacts], dtype=np.int64),
        },
    )


def _surface(surface: Plane | Sphere, ball_m: float) -> list[float]:
    """The surface on which the point is when it touches: by the ball's radius off the surface itself."""
    if isinstance(surface, Plane):
        normal = np.asarray(surface.normal)
        return [*(np.asarray(surface.at_m) + ball_m * normal).tolist(), *normal.tolist(), 0.0]
    return [*np.asarray(surface.centre_m).tolist(), 0.0, 0.0, 0.0, surface.radius_m + ball_m]
