"""Elements of constraints: frames on bodies, and rows of a few elementary kinds.

With d = p_b - p_a (world), a_i the i-th axis of frame a, b_j the j-th of frame b, and a target c(t):

| row | Φ | unit |
| --- | --- | --- |
| along(i) | a_i'd - offset | m |
| perpendicular(i, j) | a_i'b_j | 1 (rad) |
| distance | \\|d\\| - c | m |
| linear | Σ factor θ - c | that of the coordinates |
| no_slip(i) | velocity level: a_i'(velocity of b's material against a's at p_b - offset a_3) | m/s |
| disc(i) | the same at the lowest point of a disc about b_3; for i = 3 Φ is its height | m/s, m |
| expression | Φ(θ, t) | that of the expression |
| velocity | velocity level: Σ f(θ, t) θ˙ - g(θ, t) | that of the sum |

The relative rows do not change when everything moves rigidly, so that each acts with one wrench on b and its
opposite on a.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy.typing as npt

from linkwork.multibody.kernels.layout import ALONG, PERPENDICULAR
from linkwork.multibody.model import WORLD, ModelError, _frozen, _number, _rotation


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame fixed in a body (or the world): origin (3, m) and axes (columns of a rotation) in its axes."""

    body: str = WORLD
    at_m: npt.ArrayLike = (0.0, 0.0, 0.0)
    rotation: npt.ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "at_m", _frozen(self.at_m, (3,), ("at_m",)))
        object.__setattr__(self, "rotation", _rotation(self.rotation, ("rotation",)))


@dataclass(frozen=True)
class Row:
    """One row: name within the constraint, elementary kind, axes i and j, and whether Φ is a length."""

    name: str
    kind: int
    i: int = 0
    j: int = 0
    is_length: bool = True
    offset: float = 0.0


def along(i: int, offset: float = 0.0) -> Row:
    """a_i'd = offset."""
    return Row("xyz"[i], ALONG, i, offset=offset)


def perpendicular(i: int, j: int) -> Row:
    """a_i is perpendicular to b_j."""
    return Row(f"{'xyz'[i]}_{'xyz'[j]}", PERPENDICULAR, i, j, is_length=False)


@dataclass(frozen=True, eq=False)
class Constraint:
    """Base of all constraints: name, Baumgarte stabilisation, and whether it begins switched on.

    With `baumgarte` = (α, β), in 1/s and 1/s², each row obeys Φ¨ + α Φ˙ + β Φ = 0 instead of Φ¨ = 0.
    """

    name: str
    baumgarte: tuple[float, float] = field(default=(0.0, 0.0), kw_only=True)
    on: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Check the name and the numbers."""
        if not self.name:
            raise ModelError("a name is missing", ("constraints",))
        for value in self.baumgarte:
            _number(value, ("constraints", self.name, "baumgarte"), least=0.0)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows, in their order."""
        raise TypeError(f"{type(self).__name__} has no rows: use one of its kinds")


@dataclass(frozen=True, eq=False)
class Closure(Constraint):
    """A constraint between a frame a and a frame b; the world may be one of them."""

    a: Frame = field(default_factory=Frame)
    b: Frame = field(default_factory=Frame)

    fixed_rows: ClassVar[tuple[Row, ...]] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows, in their order."""
        return self.fixed_rows


POINT = (along(0), along(1), along(2))
PARALLEL = (perpendicular(0, 2), perpendicular(1, 2))
