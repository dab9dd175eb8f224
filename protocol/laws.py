"""Control laws: the one table that everything which lists, names or chooses a law derives from.

The machine file's schema, command lines, `describe`, the request `law`, log and telemetry, the disturbance
observer, the digital twin and the loop all read `LawKind`. To add a law, write its class (as
`controller/laws/law.py` describes) and add one member here.

Factories are text, so that command lines can read the table before anything heavy is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Literal

_LAWS: Final = "linkwork.controller.laws."


@dataclass(frozen=True, slots=True)
class LawSpec:
    """Properties of a law beside its name and number."""

    about: str
    """One line for people."""
    factory: str = ""
    """`module:Class`, called with (Machine, Motors); empty: the machine file names it."""
    closures: bool = True
    """Whether it serves machines with constraints too."""
    follows: Literal["nothing", "position", "force"] = "nothing"
    """Its reference: none, positions of the goal coordinates, or positions and forces."""
    chosen: Literal["never", "in the file", "at rest"] = "never"
    """Where a user chooses it: `controller.law` and `--law` (how goals and jogs are followed), or the request
    `law` (what the machine does at rest). The loop itself chooses the others."""

    def serves(self, *, constrained: bool) -> bool:
        """Whether the law is there for a machine with or without constraints."""
        return bool(self.factory) and (self.closures or not constrained)


_BARE: Final = LawSpec("")


class LawKind(IntEnum):
    """The control laws by number, as records, orders and logs hold them."""

    spec: LawSpec
    """The rest of the law's entry."""

    def __new__(cls, number: int, spec: LawSpec = _BARE) -> LawKind:
        """A member from its entry below."""
        kind = int.__new__(cls, number)
        kind._value_ = number
        kind.spec = spec
        return kind

    NONE = (
        0,
        LawSpec(
            "no law: zero effort",
            factory=_LAWS + "free_laws:Damp",
        ),
    )
    HOLD = (
        1,
        LawSpec(
            "hold the position",
            factory=_LAWS + "pidc:ProjectedInverseDynamics",
            follows="position",
            chosen="at rest",
        ),
    )
    PIDC = (
        2,
        LawSpec(
            "projected inverse dynamics",
            factory=_LAWS + "pidc:ProjectedInverseDynamics",
            follows="position",
            chosen="in the file",
        ),
    )
    SERVO = (
        3,
        LawSpec(
            "the trajectory as a constraint (Udwadia-Kalaba)",
            factory=_LAWS + "servo:Servo",
            closures=False,
            follows="position",
            chosen="in the file",
        ),
    )
    FLOAT = (
        4,
        LawSpec(
            "gravity compensation: the machine can be moved by hand",
            factory=_LAWS + "free_laws:Float",
            chosen="at rest",
        ),
    )
    DAMP = (
        5,
        LawSpec(
            "damping: speeds decay, no position is held",
            factory=_LAWS + "free_laws:Damp",
            chosen="at rest",
        ),
    )
    HYBRID = (
        6,
        LawSpec(
            "hybrid control: motion along free directions, force along contact normals",
            factory=_LAWS + "hybrid:Hybrid",
            follows="force",
        ),
    )

    CUSTOM = (
        7,
        LawSpec(
            "a law of another package (controller.law_class)",
            follows="position",
            chosen="in the file",
        ),
    )

    @property
    def label(self) -> str:
        """Name of the law in files, requests and logs."""
        return self.name.lower()


def law_named(name: str) -> LawKind:
    """The law of this name. Raises ValueError with the names there are."""
    for kind in LawKind:
        if kind.label == name:
            return kind
    raise ValueError(f"there is no law {name!r}; there are {', '.join(kind.label for kind in LawKind)}")


MOTION_LAWS: Final = tuple(kind for kind in LawKind if kind.spec.chosen == "in the file")
"""Laws of motion: how goals and jogs are followed. The first is the default."""
REST_LAWS: Final = tuple(kind for kind in LawKind if kind.spec.chosen == "at rest")
"""Laws that the machine may use at rest."""
POSITION_LAWS: Final = tuple(kind for kind in LawKind if kind.spec.follows == "position")
"""Laws that control positions alone: what moves the machine beside them is a disturbance."""
FREE_LAWS: Final = tuple(kind for kind in LawKind if kind and kind.spec.follows == "nothing")
"""Laws without a reference, and so without a following error."""

MOTION_LAW_NAMES: Final = tuple(kind.label for kind in MOTION_LAWS)
REST_LAW_NAMES: Final = tuple(kind.label for kind in REST_LAWS)
if TYPE_CHECKING:
    MotionLawName = str
else:  # for what checks types at run time: the machine file and command lines
    MotionLawName = Literal[MOTION_LAW_NAMES]
