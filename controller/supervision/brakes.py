"""The brake sequence: how a machine is taken off its brakes and put back on them without a sag or a jump.

Enabling: the holding effort ramps up under the set brake, the brake opens (`brake_release_s`), the machine is
released. Disabling is the reverse. The sequence runs on device time.
"""

from enum import IntEnum
from typing import Self

from linkwork.protocol.codes import Mode

RAMP_S = 0.05
"""Time over which the holding effort is put on and taken off under the set brake."""


class Phase(IntEnum):
    """Phase of the sequence."""

    BRAKED = 0
    ENGAGING = 1
    """Brake set, holding effort ramping up."""
    RELEASING = 2
    """Full effort, brake opening."""
    RELEASED = 3
    SETTING = 4
    """Full effort, brake closing."""
    UNLOADING = 5
    """Brake set, effort ramping down."""


BRAKED, RELEASED = Phase.BRAKED, Phase.RELEASED
"""What ticks compare with. Python takes ten times as long to find a member by its enumeration."""
_NEXT = {
    Phase.ENGAGING: Phase.RELEASING,
    Phase.RELEASING: Phase.RELEASED,
    Phase.SETTING: Phase.UNLOADING,
    Phase.UNLOADING: Phase.BRAKED,
}


class BrakeSequence:
    """The phase, the mode to send and the share of the law's effort that goes out."""

    def __init__(self, brake_release_s: float) -> None:
        self._lasts_s = {
            Phase.ENGAGING: RAMP_S,
            Phase.RELEASING: brake_release_s,
            Phase.SETTING: brake_release_s,
            Phase.UNLOADING: RAMP_S,
        }
        self.share = 0.0
        """Fraction of the law's effort that is sent."""
        self._since_s = 0.0
        self._enter(Phase.BRAKED)

    def _enter(self, phase: Phase) -> None:
        """Begin this phase. `mode` is sent with the command; `changing`: the sequence is under way."""
        self.phase = phase
        self.mode = Mode.EFFORT if phase in (Phase.RELEASED, Phase.RELEASING) else Mode.BRAKE
        self.changing = phase not in (Phase.RELEASED, Phase.BRAKED)

    def adopt(self, other: Self) -> None:
        """Copy the state of another brake sequence of the same machine."""
        self.share, self._since_s = other.share, other._since_s
        self._enter(other.phase)

    def engage(self, time_s: float) -> None:
        """Begin to enable; from the middle of a disable it continues from the present share."""
        if self.phase in (Phase.RELEASED, Phase.ENGAGING, Phase.RELEASING):
            return
        self._enter(Phase.ENGAGING)
        self._since_s = time_s - self.share * RAMP_S

    def disengage(self, time_s: float) -> None:
        """Begin to disable; only from RELEASED, RELEASING or ENGAGING."""
        if self.phase in (Phase.RELEASED, Phase.RELEASING):
            self._since_s = time_s
            self._enter(Phase.SETTING)
        elif self.phase is Phase.ENGAGING:
            self._since_s = time_s - (1.0 - self.share) * RAMP_S
            self._enter(Phase.UNLOADING)

    def drop(self) -> None:
        """Brake immediately, for a fault or an emergency stop."""
        self.share = 0.0
        self._enter(Phase.BRAKED)

    def advance(self, time_s: float) -> None:
        """Move to this device time."""
        while (lasts := self._lasts_s.get(self.phase)) is not None and time_s - self._since_s >= lasts:
            self._since_s += lasts
            self._enter(_NEXT[self.phase])
        self.share = self._share(time_s)

    def _share(self, time_s: float) -> float:
        if self.phase is Phase.BRAKED:
            return 0.0
        progress = (time_s - self._since_s) / RAMP_S
        if self.phase is Phase.ENGAGING:
            return progress
        return 1.0 - progress if self.phase is Phase.UNLOADING else 1.0
