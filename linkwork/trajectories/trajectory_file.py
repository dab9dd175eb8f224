"""Trajectory files: YAML, or CSV with one way-point a line, made into what `send` takes.

Units are s, rad, m and their rates. Every problem is placed at its line and column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import MachineError, Problem, dotted
from linkwork.machine.yaml import Document, read_yaml
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Trajectory, read_trajectory
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
        unknown = list(_unknown_keys(Trajectory, source.data, ()))
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


def _unknown_keys(
    model: type[BaseModel], data: Any, place: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """Every key that the model does not have, with the keys that it has."""
    if not isinstance(data, dict):
        return
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    known = list(fields)
    for key, value in data.items():
        if key not in known:
            yield (*place, key), known
            continue
        inner, kind = _model_within(fields[key].annotation)
        if inner is None:
            continue
        if kind is list and isinstance(value, list):
            for index, item in enumerate(value):
                yield from _unknown_keys(inner, item, (*place, key, index))
        elif kind is dict and isinstance(value, dict):
            for name, item in value.items():
                yield from _unknown_keys(inner, item, (*place, key, name))
        elif kind is None:
            yield from _unknown_keys(inner, value, (*place, key))


def _model_within(annotation: Any) -> tuple[type[BaseModel] | None, type | None]:
    """The model that a field holds, and whether in a list or a dict (None: by itself)."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, None
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (list, dict):
        return _model_within(arguments[-1])[0], origin
    if origin in (Union, UnionType) or arguments:
        for argument in arguments:
            found = _model_within(argument)
            if found[0] is not None:
                return found
    return None, None


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
