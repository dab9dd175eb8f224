"""Springs and applied forces, as a description. Each acts along one *line*, a scalar x with a rate ẋ = g v.

A spring of stretch d = x - rest pulls with
    f = preload + stiffness d + progressive d³ + damping ẋ
and the mechanism receives the generalized force -f g. Its energy is preload d + stiffness d²/2 +
progressive d⁴/4. An applied force f, a number or an expression, gives f g, with the power f ẋ.

The line is a degree of freedom of a joint, the distance of two points, a direction at a point, or an axis of
a body. `element_forces.py` evaluates them. They are part of h, so that all formulations and laws have them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints.expression_fields import ExpressionPrograms
from linkwork.multibody.kernels import layout
from linkwork.multibody.model import WORLD, ModelError, Point, _number, _unit
from linkwork.multibody.tree.link_tree import BodyPlacement, check_names

Axes = Literal["world", "body"]


@dataclass(frozen=True)
class OnJoint:
    """A degree of freedom, by its name: x is its coordinate (rad or m), f in N m or N."""

    dof: str

    def __str__(self) -> str:
        return f"on {self.dof}"


@dataclass(frozen=True)
class BetweenPoints:
    """The distance of two named points (m); a spring with f > 0 pulls them together."""

    a: str
    b: str

    def __str__(self) -> str:
        return f"between {self.a} and {self.b}"


@dataclass(frozen=True, eq=False)
class AlongDirection:
    """A direction (3) at a named point, fixed in the `world` or in the point's `body`; f in N."""

    point: str
    direction: npt.ArrayLike
    axes: Axes = "world"

    def __str__(self) -> str:
        return f"at {self.point} along {np.asarray(self.direction).tolist()} of the {self.axes}"


@dataclass(frozen=True, eq=False)
class AboutAxis:
    """An axis (3) about which a body is turned, fixed in the `world` or in the `body`; f in N m."""

    body: str
    axis: npt.ArrayLike
    axes: Axes = "world"

    def __str__(self) -> str:
        return f"on {self.body} about {np.asarray(self.axis).tolist()} of the {self.axes}"


@dataclass(frozen=True)
class Spring:
    """A spring with a damper, on a joint or between two points: N m/rad, N m s/rad, or N/m, N s/m.

    `rest` in rad or m, `preload` (N m or N) is the pull at rest length, `progressive` in N m/rad³ or N/m³.
    """

    name: str
    line: OnJoint | BetweenPoints
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    preload: float = 0.0
    progressive: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        where = ("springs", self.name)
        for key in ("stiffness", "damping", "progressive"):
            _number(getattr(self, key), (*where, key), least=0.0)
        _number(self.rest, (*where, "rest"), least=0.0 if isinstance(self.line, BetweenPoints) else None)
        _number(self.preload, (*where, "preload"))


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """A force or torque along a line: a number, or an expression of coordinates, `rate(NAME)` and `t`."""

    name: str
    line: OnJoint | AlongDirection | AboutAxis
    value: float | str = 0.0


Line = OnJoint | BetweenPoints | AlongDirection | AboutAxis


def pushed_bodies(line: Line, bodies: Mapping[str, str]) -> tuple[str, ...]:
    """Return the bodies that a force along a line acts on; none on a joint, along which it has power alone.

    bodies: the body of each point, by name.
    """
    if isinstance(line, BetweenPoints):
        return bodies[line.a], bodies[line.b]
    if isinstance(line, AlongDirection):
        return (bodies[line.point],)
    return (line.body,) if isinstance(line, AboutAxis) else ()


ForceElement = Spring | AppliedForce
SPRING_NUMBERS = ("stiffness", "damping", "rest", "preload", "progressive")


@dataclass(frozen=True)
class ElementFields:
    """Arrays of springs and forces in a `Model`."""

    parameters: dict[str, Floats]
    tables: dict[str, Integers]


def element_fields(
    elements: Sequence[ForceElement],
    dofs: Sequence[str],
    own: Mapping[str, int],
    points: Sequence[Point],
    seats: dict[str, BodyPlacement],
    programs: ExpressionPrograms,
) -> ElementFields:
    """Look up degrees of freedom, points, bodies and coordinates. Raises ModelError for unknown ones.

    own: places of the degrees of freedom with a separate coordinate, on which springs may act.
    """
    for section in ("springs", "forces"):
        check_names(section, [each.name for each in elements if _section(each) == section])
    rows, laws = [], []
    for element in elements:
        where = (_section(element), element.name)
        line, a, b, direction = _line(
            element.line, where, own if isinstance(element, Spring) else dofs, dofs, points, seats
        )
        law, first, count, reads = layout.SPRING, 0, 0, 0
        numbers = [0.0] * 5
        if isinstance(element, Spring):
            numbers = [getattr(element, key) for key in SPRING_NUMBERS]
        elif isinstance(element.value, str):
            law = layout.PROGRAMMED
            first, count, reads = programs.force(element.value, (*where, "value"))
        else:
            law, numbers[0] = layout.CONSTANT_FORCE, _number(element.value, (*where, "value"))
        rows.append([line, a, b, law, first, count, reads])
        laws.append([*numbers, *direction])
    return ElementFields(
        {"element_law": np.array(laws, dtype=np.float64).reshape(-1, layout.ELEMENT_NUMBERS)},
        {"elements": np.array(rows, dtype=np.int64).reshape(-1, layout.ELEMENT_COLUMNS)},
    )


def _section(element: ForceElement) -> str:
    return "springs" if isinstance(element, Spring) else "forces"


def _line(
    line: Line,
    where: tuple[str, ...],
    allowed: Iterable[str],
    dofs: Sequence[str],
    points: Sequence[Point],
    seats: dict[str, BodyPlacement],
) -> tuple[int, int, int, list[float]]:
    """The kind of a line, its two indices, and its direction in world axes, or in those of its link."""
    nowhere = [0.0, 0.0, 0.0]
    if isinstance(line, OnJoint):
        _place(line.dof, list(allowed), "joint", (*where, "joint"))
        return layout.LINE_JOINT, list(dofs).index(line.dof), -1, nowhere
    known = [point.name for point in points]
    if isinstance(line, BetweenPoints):
        ends = [_place(name, known, "point", (*where, "between")) for name in (line.a, line.b)]
        links = [seats[points[k].body].link for k in ends]
        if links[0] == links[1]:
            text = "both points move with the same body, so that their distance is constant"
            raise ModelError(text, (*where, "between"))
        return layout.LINE_POINTS, ends[0], ends[1], nowhere
    if isinstance(line, AlongDirection):
        k = _place(line.point, known, "point", (*where, "point"))
        seat, index = seats[points[k].body], k
        direction, kinds = _unit(line.direction, (*where, "direction")), _AT_POINT
    else:
        _place(line.body, list(seats), "body", (*where, "body"))
        seat, index = seats[line.body], seats[line.body].link
        direction, kinds = _unit(line.axis, (*where, "axis")), _ABOUT_AXIS
    if seat.link < 0:
        raise ModelError("this does not move, so that a force on it has no effect", where)
    if line.axes == "body":
        direction = seat.axes @ direction
    return kinds[line.axes], index, seat.link, direction.tolist()


_AT_POINT = {"world": layout.LINE_WORLD, "body": layout.LINE_BODY}
_ABOUT_AXIS = {"world": layout.LINE_WORLD_AXIS, "body": layout.LINE_BODY_AXIS}


def _place(name: str, known: Sequence[str], kind: str, where: tuple[str, ...]) -> int:
    if name not in known:
        listed = ", ".join(each for each in known if each != WORLD) or "none"
        raise ModelError(f"there is no {kind} {name!r}; known: {listed}", where)
    return list(known).index(name)
