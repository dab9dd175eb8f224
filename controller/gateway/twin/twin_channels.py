"""Channels of the digital twin in telemetry and log: names, units, and the text of the message."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.records import field_names
from linkwork.machine import Machine
from linkwork.protocol.decoding import LATEST_S
from linkwork.protocol.twin_messages import Words

_MEANINGS = {
    "tick": "tick of the loop",
    "time_s": "device time of the state [s]",
    "compared": "1 where the period that ended with this tick was compared",
    "judged": "1 where a difference counts",
    "worst": "difference with the largest share of its threshold: motors, goal coordinates, energy",
    "share": "that share [1]",
    "power": "power of the difference over the period [W]",
    "energy": "its energy over the window [J]",
    "effort": "difference along the goal coordinates [N m or N]",
    "motor_effort": "smallest motor efforts with the same effect [N m or N]",
}


class TwinChannels:
    """The channels of one machine. `words`: the rows of `protocol.twin_messages`.

    acting: the record's channel with the efforts that act: those commanded, or those reported by drives that
    close the position loop.
    """

    def __init__(self, machine: Machine) -> None:
        self.coordinates = tuple(machine.goal_coordinates)
        self.motors = tuple(motor.joint for motor in machine.motors)
        self.acting = "device_effort" if machine.driver.follows_positions else "effort"
        mechanism = machine.mechanism
        self.words = Words(
            len(mechanism.position_names),
            mechanism.nv,
            len(self.motors),
            len(self.coordinates),
            (len(machine.inputs), len(machine.outputs)),
        )
        self.bytes = self.words.answered.itemsize - 8
        """Of a row in the log, which leaves off the last word, the time stamp."""

    def ros2msg(self) -> str:
        """The schema as ROS 2 message text, package `linkwork_msgs`."""
        own = {"effort": "GoalCoordinates", "motor_effort": "Motors"}
        lines = []
        for name, meaning in _MEANINGS.items():
            kind = "int64" if self.words.answered[name].kind == "i" else "float64"
            lines.append(f"{f'linkwork_msgs/{own[name]}' if name in own else kind} {name}  # {meaning}")
        for part, names in (("GoalCoordinates", self.coordinates), ("Motors", self.motors)):
            lines += ["=" * 80, f"MSG: linkwork_msgs/{part}"]
            lines += [f"float64 {name}" for name in field_names(names)]
        return "\n".join(lines) + "\n"

    def as_map(self, row: np.void) -> dict[str, Any]:
        """One row as a nested map of plain numbers."""
        found: dict[str, Any] = {name: row[name].item() for name in _MEANINGS if row[name].ndim == 0}
        found["effort"] = dict(zip(self.coordinates, row["effort"].tolist(), strict=True))
        found["motor_effort"] = dict(zip(self.motors, row["motor_effort"].tolist(), strict=True))
        return found

    @staticmethod
    def stamps_ns(rows: NDArray[Any], *, wall_clock: bool) -> list[int]:
        """When the rows were (ns): of the wall clock, or of the device's."""
        if wall_clock:
            stamps: list[int] = rows["stamp_ns"].tolist()
            return stamps
        return nanoseconds(rows["time_s"])


def nanoseconds(seconds: NDArray[np.float64]) -> list[int]:
    """Times (s) as stamps (ns) from 0 to what 64 bits hold; values that are not finite become 0."""
    bounded = np.clip(np.nan_to_num(seconds, posinf=0.0, neginf=0.0), 0.0, LATEST_S)
    return [round(1e9 * second) for second in bounded.tolist()]
