"""The machine behind the device link: common interface of simulated and real machines."""

from collections.abc import Sequence
from typing import Any, Protocol

from linkwork.arrays import Floats
from linkwork.protocol.link import Measurements


class MachineryFailed(Exception):
    """The machine cannot continue: the daemon says bye and ends. The text gives cause and remedy."""


class Machinery(Protocol):
    """A machine, moved on period by period: `Simulator` or `Hardware`.

    A tick is: `latch` (where a command is fresh), `sense`, then `integrate`. The efforts that `latch` is
    given act from the `sense` of the same tick until that of a later one. All numbers are those of the device
    link: rad or m and seconds, N m or N at the joint, in the order of the machine file.
    """

    runs_by_itself: bool
    """Whether the machine's time advances by itself: that of a real one does."""
    tick: int
    """Periods since the plant started."""
    measured: Measurements
    """Sensor readings and motor efforts of this tick, from `sense` on."""
    travel: Floats
    """Length of the way of each of `joints` since the last fresh command."""

    @property
    def joints(self) -> Sequence[str]:
        """Names of what `travel` counts."""
        ...

    @property
    def mode(self) -> int:
        """Acting mode: a protocol.codes.Mode, or plant.plant_state.DAMP."""
        ...

    @property
    def sampled(self) -> bool:
        """Whether the measurements are of this tick, so that a state may be sent."""
        ...

    @property
    def status(self) -> int:
        """Bits of protocol.codes.DeviceStatus."""
        ...

    @property
    def homing(self) -> dict[str, Any] | None:
        """Homing of the machine, as the welcome gives it; None for a simulated one."""
        ...

    @property
    def simulation(self) -> dict[str, str] | None:
        """Formulation and integrator of a simulated machine, for the welcome; None for a real one.

        `formulation` and `integrator`, as in the machine file's section `plant`.
        """
        ...

    @property
    def fault(self) -> int:
        """The machine's own fault, a protocol.codes.DeviceFault or the vendor's; 0 none."""
        ...

    @property
    def closed(self) -> int:
        """Bit i is set while the i-th switchable constraint holds; -1 of a machine without any."""
        ...

    def switch(self, closed: int) -> list[dict[str, Any]]:
        """Switch constraints until `closed` is as given, where that is possible, before the state is sampled.

        What became of each one that changes, as a state's field `switched` says it.
        """
        ...

    def set_outputs(self, values: Floats) -> None:
        """Put the values (outputs) of output signals in force, before the state is sampled."""
        ...

    @property
    def resting(self) -> bool:
        """Whether time may stop, because the state would not change."""
        ...

    @property
    def standing(self) -> bool:
        """Whether the machine is at rest, exactly or according to the sensors."""
        ...

    def latch(self, mode: int, effort: Floats) -> None:
        """Accept a fresh command: mode, effort (motors; N m or N), to be kept within the motors' limits."""
        ...

    def refer(self, position: Floats, feedforward: Floats) -> None:
        """Accept the references of a fresh command, for drives that follow positions.

        position (motors; rad or m): wanted at the end of the period that begins. feedforward (motors; N m
        or N): effort of the law without its feedback. A simulated plant applies the efforts of `latch`.
        """
        ...

    def act(self, action: str) -> None:
        """Apply "brake", "damp" or "zero", without a command's efforts."""
        ...

    def sense(self) -> Sequence[dict[str, Any]]:
        """Apply the latched command, and measure. Raises MachineryFailed.

        Returns what happened by signals since the last call: switches, as `switch` returns them, and what
        grippers did (`plant.scene.handling`).
        """
        ...

    def integrate(self) -> None:
        """Advance to the next tick. Raises MachineryFailed."""
        ...

    def close(self) -> None:
        """Leave the machine braked; no method may be called after this."""
        ...
