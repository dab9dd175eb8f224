"""Trajectory files: YAML, or CSV with one way-point a line, made into what `send` takes.

Units are s, rad, m and their rates. Every problem is placed at its line and column.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import MachineError, Problem, dotted
from linkwork.machine.yaml import Document, read_yaml
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Trajectory, read_trajectory, unknown_keys
from linkwork.trajectories.waypoint_table import CsvTable, read_csv


@dataclass(frozen=True)
class TrajectoryFile:
    """A file's trajectory, ready to send, and the places of its parts."""

    trajectory: Trajectory
    source: Document | CsvTable

    def place(self, error: RequestError) -> str:
        """ "FILE:LINE:COLUMN" of a value that a controller refused, "" when it is no part of the file."""
        if not error.path or error.path[0] != "trajectory":
            return ""
        line, column = self.source.position(error.path[1:])
        return f"{self.source.file}:{line}:{column}"


def read_trajectory_file(path: str | Path) -> TrajectoryFile:
    """Read a .csv, or else YAML (JSON is YAML too). Raises MachineError with its problems."""
    source: Document | CsvTable = (
        read_csv(Path(path)) if Path(path).suffix.lower() == ".csv" else read_yaml(path)
    )
    if isinstance(source, Document):
        unknown = list(unknown_keys(source.data))
        if unknown:
            raise MachineError([_unknown_key(source, place, known) for place, known in unknown])
    try:
        trajectory = read_trajectory(source.data, ())
    except RequestError as error:
        line, column = source.position(error.path)
        message = error.message.removeprefix(f"{dotted(error.path)}: ")
        problem = Problem(source.file, line, column, dotted(error.path), message)
        raise MachineError([problem]) from None
    return TrajectoryFile(trajectory, source)


def _unknown_key(source: Document, place: tuple[str | int, ...], known: list[str]) -> Problem:
    meant = nearest(str(place[-1]), known)
    remedy = f"write {meant}" if meant else ""
    return source.problem(
        place,
        "unknown key",
        of_key=True,
        found=str(place[-1]),
        allowed=", ".join(known),
        remedy=remedy,
    )
