"""Trajectory files: YAML, or CSV with one way-point a line, made into what `send` takes.

Units are s, rad, m and their rates. Every problem is placed at its line and column.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwork.machine.nearest_name import nearest
from linkwork.machine.problems import MachineError, Problem, dotted
from linkwork.machine.yaml_document import Document, read_yaml
from linkwork.protocol.errors import RequestError
from linkwork.protocol.trajectory import Trajectory, read_trajectory, unknown_keys
from linkwork.regular_files import check_regular


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


TIME = "time_from_start_s"
RATES = {"velocities": "_velocity", "accelerations": "_acceleration"}
LARGEST_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class CsvTable:
    """A CSV's way-points as plain data, and the place of each cell."""

    file: str
    data: dict[str, Any]
    lines: tuple[int, ...]
    columns: dict[str, tuple[int, ...]]
    """Per part of a point, the column (counted from 1) of each of its numbers."""

    def position(self, path: Sequence[str | int]) -> tuple[int, int]:
        """(line, column) of a part of the trajectory, counted from 1; the column counts cells."""
        steps = tuple(path)
        match steps:
            case ("points", int(row), str(part), int(index)) if part in self.columns:
                return self.lines[row], self.columns[part][index]
            case ("points", int(row), str(part), *_) if part in self.columns:
                return self.lines[row], self.columns[part][0]
            case ("points", int(row), *_):
                return self.lines[row], 1
            case ("coordinates", int(index)):
                return 1, self.columns["positions"][index]
        return 1, 1


def read_csv(path: Path) -> CsvTable:
    """Read way-points from a CSV file. Raises MachineError.

    The header names the columns: `time_from_start_s`, one per coordinate, and, where wanted, `NAME_velocity`
    and `NAME_acceleration` for every one of them:

        time_from_start_s,shoulder,elbow
        0.0,0.52,-0.96
        2.0,0.30,-0.60

    Empty lines and lines that begin with # are skipped.
    """
    file = str(path)
    rows = list(_rows(path))
    if not rows:
        raise MachineError(
            [Problem(file, None, None, "", "the file is empty", allowed=f"a header: {TIME},NAME,…")]
        )
    line, header = rows[0]
    names, columns = _header(file, line, [cell.strip() for cell in header])
    problems: list[Problem] = []
    points = []
    for line, cells in rows[1:]:
        if len(cells) != len(header):
            problems.append(
                Problem(
                    file,
                    line,
                    1,
                    "",
                    "wrong number of cells",
                    str(len(cells)),
                    f"{len(header)}, as the header",
                )
            )
            continue
        numbers = {
            part: [_number(file, line, at, cells, problems) for at in places]
            for part, places in columns.items()
        }
        points.append({TIME: numbers.pop(TIME)[0], **numbers})
    if not points and not problems:
        allowed = "one line per way-point"
        problems.append(Problem(file, line, 1, "", "there are no way-points", "only a header", allowed))
    if problems:
        raise MachineError(problems[:20])
    return CsvTable(
        file, {"coordinates": names, "points": points}, tuple(line for line, _ in rows[1:]), columns
    )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines that are neither empty nor comments (#), with their numbers."""
    file = str(path)
    try:
        check_regular(path)
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise MachineError(
                [
                    Problem(
                        file, None, None, "", "the file is too large", allowed=f"{LARGEST_FILE_BYTES} bytes"
                    )
                ]
            )
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise MachineError([Problem(file, None, None, "", f"the file cannot be read: {reason}")]) from None
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
                yield reader.line_num, cells
    except csv.Error as error:
        raise MachineError([Problem(file, reader.line_num, 1, "", f"this is not CSV: {error}")]) from None


def _header(file: str, line: int, cells: list[str]) -> tuple[list[str], dict[str, tuple[int, ...]]]:
    """The coordinates' names, and the columns of each part of a way-point."""
    for at, cell in enumerate(cells):
        if cell in cells[:at] or not cell:
            what = "this column is given twice" if cell else "a column has no name"
            raise MachineError([Problem(file, line, at + 1, "", what, cell, "unique names")])
    if TIME not in cells:
        remedy = f"name the column of times {TIME}"
        message, found = "the column of times is missing", ", ".join(cells)
        raise MachineError([Problem(file, line, 1, "", message, found, TIME, remedy)])
    names = [cell for cell in cells if cell != TIME and not _rate_of(cell, cells)]
    columns: dict[str, tuple[int, ...]] = {TIME: (cells.index(TIME) + 1,)}
    columns["positions"] = tuple(cells.index(name) + 1 for name in names)
    for part, ending in RATES.items():
        given = [name for name in names if name + ending in cells]
        if not given:
            continue
        missing = [name + ending for name in names if name not in given]
        if missing:
            found = ", ".join(name + ending for name in given)
            remedy = f"add {', '.join(missing)}, or leave out all {part}"
            message = f"{part} must be given for all coordinates"
            raise MachineError([Problem(file, line, 1, "", message, found, "", remedy)])
        columns[part] = tuple(cells.index(name + ending) + 1 for name in names)
    return names, columns


def _rate_of(cell: str, cells: list[str]) -> bool:
    return any(cell.endswith(ending) and cell.removesuffix(ending) in cells for ending in RATES.values())


def _number(file: str, line: int, column: int, cells: list[str], problems: list[Problem]) -> float:
    text = cells[column - 1].strip()
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = "this is not a finite number"
        problems.append(Problem(file, line, column, "", message, repr(text), "a number"))
    return value
