"""Recordings of other programs: CSV with named columns and units.

    time_s, q/left_rad, q/right_deg, effort/left_N_m, effort/right_N_m

Columns may stand in any order. What `linkwork export --csv` writes is understood too: q_measured.left and
effort.left, in SI units. Spreadsheets write semicolons with decimal commas, or tabs in UTF-16.
"""

import codecs
import csv
import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.measured_motion import MeasuredMotion
from linkwork.machine import Machine
from linkwork.machine.nearest_name import meant
from linkwork.machine.problems import MachineError, Problem
from linkwork.regular_files import check_regular

_TIMES = {"time_s": 1.0, "time_ms": 1e-3, "time_us": 1e-6, "time_ns": 1e-9}
QUANTITY_UNITS: dict[tuple[str, bool], dict[str, float]] = {
    ("q", True): {"rad": 1.0, "deg": math.pi / 180.0, "mrad": 1e-3, "turns": math.tau},
    ("q", False): {"m": 1.0, "mm": 1e-3, "um": 1e-6},
    ("effort", True): {"N_m": 1.0, "mN_m": 1e-3, "N_mm": 1e-3, "kN_m": 1e3},
    ("effort", False): {"N": 1.0, "mN": 1e-3, "kN": 1e3},
}
_EXPORTED = {"q_measured": "q", "effort": "effort"}
_DELIMITERS = ",;\t"
_JUMP = 1.0
"""Difference from a turn, rad, of the steps of an encoder that counts one turn."""
_UTF16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE


@dataclass(frozen=True)
class CsvLines:
    """The lines of a CSV file, the cells of its header and the number of that line, counted from 1.

    decimal_commas: numbers have commas, which do not separate columns.
    """

    lines: list[str]
    header: list[str]
    header_line: int
    delimiter: str
    decimal_commas: bool
    digest: str

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line."""
        return [cell.strip() for cell in next(csv.reader([line], delimiter=self.delimiter))]

    def number(self, cell: str) -> float:
        """Return the number in a cell, NaN for an empty one. Raises ValueError."""
        return float(self.with_points(cell) or math.nan)

    def with_points(self, text: str) -> str:
        """Return a text with decimal points."""
        return text.replace(",", ".") if self.decimal_commas else text

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of each row below the header; comments and empty lines are none."""
        for number, line in enumerate(self.lines[self.header_line :], self.header_line + 1):
            if line.strip() and not line.lstrip().startswith("#"):
                yield number, line


def csv_table(path: Path, example: str) -> CsvLines:
    """Read a CSV file up to its header; example: of a header, for messages. Raises MachineError."""
    try:
        check_regular(path)
        content = path.read_bytes()
        text = content.decode("utf-16" if content.startswith(_UTF16) else "utf-8-sig")
    except OSError as error:
        refuse_csv(path, None, None, f"the file cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        refuse_csv(path, None, None, "the file is neither a recording of linkwork nor text in UTF-8")
    lines = text.splitlines()
    skipped = next(
        (k for k, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None
    )
    if skipped is None:
        refuse_csv(path, None, None, "the file is empty", allowed=f"a header: {example}")
    delimiter = max(_DELIMITERS, key=lines[skipped].count)
    header = [cell.strip() for cell in next(csv.reader([lines[skipped]], delimiter=delimiter))]
    commas = delimiter != "," and any("," in line for line in lines[skipped + 1 :])
    return CsvLines(lines, header, skipped + 1, delimiter, commas, hashlib.sha256(content).hexdigest())


def read_csv_motion(path: Path, machine: Machine) -> MeasuredMotion:
    """Read a CSV file with the columns of a machine. Raises MachineError with line and column."""
    table = csv_table(path, "time_s,q/NAME_rad,effort/NAME_N_m")
    found, ignored = _columns(path, table.header_line, table.header, machine)
    numbers = _numbers(path, table)
    remarks = [f"columns not used: {', '.join(ignored)}"] if ignored else []
    used = [place for place, _ in found.values()]
    whole = np.isfinite(numbers[:, used]).all(axis=1)
    if not whole.all():
        remarks.append(f"{int((~whole).sum())} rows have empty cells or NaN: left out, as gaps")
    numbers = numbers[whole]

    def column(key: tuple[str, str]) -> Floats:
        place, factor = found[key]
        return np.ascontiguousarray(numbers[:, place] * factor)

    time_s = column(("time", ""))
    back = np.flatnonzero(np.diff(time_s) <= 0.0)
    if len(back):
        refuse_csv(
            path, None, found[("time", "")][0] + 1,
            f"the time does not rise from data row {int(back[0]) + 1} to the next",
            f"{time_s[back[0] + 1]:.9g} s after {time_s[back[0]]:.9g} s", "times that rise",
        )  # fmt: skip
    positions = {name: column((kind, name)) for kind, name in found if kind == "q"}
    for name, values in positions.items():
        positions[name], remark = _in_one_turn(machine, name, values)
        remarks += remark
    return MeasuredMotion(
        path.name,
        table.digest,
        time_s,
        positions,
        {name: column((kind, name)) for kind, name in found if kind == "effort"},
        remarks=tuple(remarks),
    )


def _in_one_turn(machine: Machine, name: str, values: Floats) -> tuple[Floats, list[str]]:
    """Return readings of a joint without the jumps of an encoder that counts one turn, and remarks.

    Readings that are one turn away from the joint's limits, or from its initial pose, are moved by it.
    """
    place = machine.mechanism.joint_index(name)
    if not machine.mechanism.joint_is_angle[place] or not len(values):
        return values, []
    remarks = []
    steps = np.abs(np.diff(values))
    jumps = steps > math.pi
    if jumps.any() and float(np.abs(steps[jumps] - math.tau).max()) < _JUMP:
        values = np.unwrap(values)
        remarks.append(f"{name} jumps by a turn {int(jumps.sum())} times: taken as one angle")
    lowest, highest = machine.joints[place].position
    if not math.isfinite(highest - lowest):
        middle = float(machine.initial_q[place])
        lowest, highest = middle - math.pi, middle + math.pi
    first, last = float(values.min()), float(values.max())
    for turn in (math.tau, -math.tau):
        if (first < lowest or last > highest) and lowest <= first + turn and last + turn <= highest:
            remarks.append(f"{name} is one turn away from its limits or its initial pose: taken as within")
            return values + turn, remarks
    return values, remarks


def _columns(
    path: Path, line: int, header: list[str], machine: Machine
) -> tuple[dict[tuple[str, str], tuple[int, float]], list[str]]:
    """Return place and factor to SI units by quantity (time, q, effort) and name; and what is ignored."""
    known = _known(machine)
    found: dict[tuple[str, str], tuple[int, float]] = {}
    ignored = []
    for place, cell in enumerate(header):
        if cell not in known:
            if cell.partition("/")[0] in ("q", "effort") and "/" in cell:
                refuse_column(path, line, place, cell, known)
            ignored.append(cell)
            continue
        kind, name, factor = known[cell]
        if (kind, name) in found:
            refuse_csv(path, line, place + 1, "this quantity is given twice", cell, "one column of each")
        found[kind, name] = place, factor
    missing = [motor.joint for motor in machine.motors if ("effort", motor.joint) not in found]
    if ("time", "") not in found:
        refuse_csv(path, line, 1, "the column of times is missing", ", ".join(header), ", ".join(_TIMES))
    if missing:
        unit = "N_m" if machine.motors[0].is_angle else "N"
        text = f"efforts are missing: {', '.join(missing)}"
        refuse_csv(path, line, 1, text, ", ".join(header), f"effort/{missing[0]}_{unit} and so on")
    return found, ignored


def _known(machine: Machine) -> dict[str, tuple[str, str, float]]:
    """Return quantity, name and factor by each name that a column may have."""
    known: dict[str, tuple[str, str, float]] = {name: ("time", "", factor) for name, factor in _TIMES.items()}
    mechanism = machine.mechanism
    angles = dict(zip(mechanism.joint_names, mechanism.joint_is_angle, strict=True))
    motors = {motor.joint: motor.is_angle for motor in machine.motors}
    others = {name: alias for alias, name in machine.aliases.items()}
    for kind, owners in (("q", angles), ("effort", motors)):
        for name, is_angle in owners.items():
            if kind == "q" and name not in mechanism.coordinate_names:
                continue
            for unit, factor in QUANTITY_UNITS[kind, bool(is_angle)].items():
                for called in (name, *([others[name]] if name in others else [])):
                    known[f"{kind}/{called}_{unit}"] = kind, name, factor
            exported = next(word for word, what in _EXPORTED.items() if what == kind)
            known[f"{exported}.{name}"] = kind, name, 1.0
    return known


def _numbers(path: Path, table: CsvLines) -> Floats:
    """Return the cells (rows × columns) below the header; empty ones are NaN."""
    kept, width = list(table.rows()), len(table.header)
    if not kept:
        refuse_csv(path, table.header_line, None, "there are no rows below the header")
    try:
        found = np.loadtxt(
            [table.with_points(line) for _, line in kept],
            delimiter=table.delimiter,
            ndmin=2,
            dtype=np.float64,
        )
        if found.shape[1] == width:
            return found
    except ValueError:
        pass
    rows = np.full((len(kept), width), np.nan)
    for row, (number, line) in zip(rows, kept, strict=True):
        cells = table.cells(line)
        if len(cells) != width:
            refuse_csv(path, number, 1, "wrong number of cells", str(len(cells)), f"{width}, as the header")
        for place, cell in enumerate(cells):
            try:
                row[place] = table.number(cell)
            except ValueError:
                refuse_csv(path, number, place + 1, "this is not a number", repr(cell), "a number")
    return rows


def refuse_column(path: Path, line: int, place: int, cell: str, known: Iterable[str]) -> NoReturn:
    """Raise MachineError for a column (counted from 0) whose name, or whose unit, is not known."""
    endings = {f"{cell}_{unit}" for units in QUANTITY_UNITS.values() for unit in units}
    with_unit = [name for name in known if name in endings]
    if with_unit:
        refuse_csv(path, line, place + 1, "this column names no unit", cell, ", ".join(with_unit))
    quantity = cell.partition("/" if "/" in cell else "_")[0]
    allowed = ", ".join(name for name in known if name.startswith(quantity))
    what = "no joint or motor has this name and unit" if "/" in cell else "no such unit"
    refuse_csv(path, line, place + 1, what, cell, allowed, meant(cell, known))


def refuse_csv(
    path: Path, line: int | None, column: int | None, message: str, found: str = "", allowed: str = "",
    remedy: str = "",
) -> NoReturn:  # fmt: skip
    """Raise MachineError with one problem of a CSV file; line and column count from 1."""
    raise MachineError([Problem(str(path), line, column, "", message, found, allowed, remedy)]) from None
