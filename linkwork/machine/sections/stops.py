"""The key `stop` of a joint: spring and damper at the limits of its position, for angles and for lengths."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Discriminator, Tag

from linkwork.machine.sections.angle_or_length import ANGLE, LENGTH, angle_or_length
from linkwork.machine.sections.fields import Number, Section, entry, wrong
from linkwork.machine.sections.limits import AngleLimits, LengthLimits

_DAMPING = "Damping. Default: 0.7 of the critical damping in the initial pose"
_STIFFNESS = (
    "Stiffness. Default: the one at which the joint oscillates at 200 rad/s in the initial pose, or slower, "
    "at one radian per five steps of the plant"
)


class AngleStopSpec(Section):
    """Stops of an angle."""

    kind: ClassVar[str] = ANGLE
    stiffness_N_m_rad: Number | None = entry(_STIFFNESS, "N m/rad", None, gt=0)
    damping_N_m_s: Number | None = entry(_DAMPING, "N m s/rad", None, ge=0)

    def values(self) -> tuple[float | None, float | None]:
        """Return stiffness and damping; None where the file gives none."""
        return self.stiffness_N_m_rad, self.damping_N_m_s


class LengthStopSpec(Section):
    """Stops of a length."""

    kind: ClassVar[str] = LENGTH
    stiffness_N_m: Number | None = entry(_STIFFNESS, "N/m", None, gt=0)
    damping_N_s_m: Number | None = entry(_DAMPING, "N s/m", None, ge=0)

    def values(self) -> tuple[float | None, float | None]:
        """Return stiffness and damping; None where the file gives none."""
        return self.stiffness_N_m, self.damping_N_s_m


DofStop = Annotated[
    Annotated[AngleStopSpec, Tag(ANGLE)] | Annotated[LengthStopSpec, Tag(LENGTH)],
    Discriminator(angle_or_length),
]
ABOUT = "Stops at the limits of the position: a spring and a damper. Default: no stops"


def refuse_without_limits(
    stop: AngleStopSpec | LengthStopSpec | None,
    limits: AngleLimits | LengthLimits | None,
    at: tuple[str | int, ...],
) -> None:
    """Refuse a stop of a joint whose position has no limits."""
    given = limits is not None and limits.position() != type(limits)().position()
    if stop is not None and not given:
        key = "position_m" if isinstance(stop, LengthStopSpec) else "position_rad or position_deg"
        raise wrong(
            "a stop needs position limits",
            "no position limits",
            f"limits: {{{key}}}",
            f"add {key.split(' ')[0]} to the joint's limits, or remove stop",
            at,
        )
