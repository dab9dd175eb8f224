"""Parts that pass a light barrier on a conveyor belt: where they lie in the frame of the belt."""

from collections.abc import Mapping
from dataclasses import dataclass

from linkwork.client.robot import Robot
from linkwork.protocol.results import InputEdge

LOOK_S = 0.01
"""Time between two looks for a part."""
SHORT_S = 0.05
"""Over less time the mean speed of the frame would be too uncertain."""


@dataclass(frozen=True)
class PassedPart:
    """A part that has passed. centre_m: its middle along the frame's direction, in the frame.

    length_m: in this direction. speed_m_s: of the frame while it passed. time_s: when it had passed.
    displacement_m: of the frame, then. signals: the analog inputs, the mean of both edges.
    """

    centre_m: float
    length_m: float
    speed_m_s: float
    time_s: float
    displacement_m: float
    signals: Mapping[str, float]

    def speed_since(self, displacement_m: float, time_s: float) -> float:
        """Return the mean speed of the frame from the part's passage to this displacement and time."""
        past_s = time_s - self.time_s
        if past_s < SHORT_S:
            return self.speed_m_s
        return (displacement_m - self.displacement_m) / past_s


class PassingParts:
    """The parts that pass a light barrier after this object is made, one after the other.

    barrier: the digital input, on while a part interrupts the light. position: the analog input of the
    frame's displacement, with `m_per_unit`. at_m: place of the light along the frame's direction (world).

    The middle of a symmetric part is between its two edges, at every angle. An edge is seen at the first
    sample after it; the mean delay of half a period is subtracted. The place is then wrong by less than the
    frame's speed times half a period, with a standard deviation of speed × period / √24.
    """

    def __init__(
        self, robot: Robot, barrier: str, position: str, *, at_m: float, m_per_unit: float = 1.0
    ) -> None:
        self._robot, self._barrier, self._position = robot, barrier, position
        self._at_m, self._m_per_unit = at_m, m_per_unit
        self._period_s = robot.describe()["period_s"]
        known = robot.edges(barrier)
        self._after = known[-1]["number"] if known else 0
        self._front: InputEdge | None = None
        self._found: list[PassedPart] = []

    def next(self, within_s: float = 60.0) -> PassedPart:
        """Return the next part; wait for it. Raises TimeoutError when none passes in this time."""
        waited_s = 0.0
        while not self._found:
            self._read()
            if self._found:
                break
            if waited_s >= within_s:
                raise TimeoutError(f"no part has passed {self._barrier} within {within_s:g} s")
            self._robot.pass_time(LOOK_S)
            waited_s += LOOK_S
        return self._found.pop(0)

    def _read(self) -> None:
        for edge in self._robot.edges(self._barrier, self._after):
            self._after = edge["number"]
            front, self._front = self._front, edge if edge["value"] else None
            if front is not None and not edge["value"]:
                self._found.append(self._part(front, edge))

    def _part(self, front: InputEdge, back: InputEdge) -> PassedPart:
        ways = [edge["signals"][self._position] * self._m_per_unit for edge in (front, back)]
        speed = (ways[1] - ways[0]) / (back["time_s"] - front["time_s"])
        late_m = 0.5 * speed * self._period_s
        centre = self._at_m - 0.5 * (ways[0] + ways[1]) + late_m
        means = {name: 0.5 * (value + back["signals"][name]) for name, value in front["signals"].items()}
        return PassedPart(centre, abs(ways[1] - ways[0]), speed, back["time_s"], ways[1], means)
