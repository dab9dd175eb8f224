"""Measurements of a machine's geometry: poses with joint readings, and rows that measure something there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["pose", "position", "distance", "line", "plane", "stop"]
KINDS: tuple[Kind, ...] = ("pose", "position", "distance", "line", "plane", "stop")


@dataclass(frozen=True)
class ReadPose:
    """A pose with what the encoders read (rad or m), by joint.

    sigma: standard deviations of readings; of those without one the machine's sensor or exactness decides.
    side: the direction (+1, -1) from which a joint came, where play is to be found.
    """

    name: str
    readings: Mapping[str, float]
    sigma: Mapping[str, float] = field(default_factory=dict)
    side: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredRow:
    """One measured row; line: its line in the file. poses: indices (two for a distance).

    point: the measured point, of `stop` the joint. position: x, y, z (m), None where not measured; angles:
    roll, pitch, yaw (rad) likewise. value: the distance, the height over a plane, or the joint's place at its
    stop. name: of the straightedge or the plane. sigma, sigma_angle: standard deviations (m, rad).
    """

    kind: Kind
    poses: tuple[int, ...]
    point: str = ""
    position: tuple[float | None, float | None, float | None] = (None, None, None)
    angles: tuple[float | None, float | None, float | None] = (None, None, None)
    value: float = 0.0
    sigma: float = 0.0
    sigma_angle: float = 0.0
    name: str = ""
    line: int = 0


@dataclass(frozen=True)
class GeometryMeasurements:
    """Poses and rows of one or several files; digest: hex SHA-256 of the file."""

    name: str
    poses: tuple[ReadPose, ...]
    rows: tuple[MeasuredRow, ...]
    digest: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[str, ...]:
        """The joints that some pose reads, in the order of their first reading."""
        return tuple(dict.fromkeys(name for pose in self.poses for name in pose.readings))

    @property
    def points(self) -> tuple[str, ...]:
        """The points that are measured."""
        return tuple(dict.fromkeys(row.point for row in self.rows if row.kind != "stop" and row.point))
