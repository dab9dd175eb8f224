"""Measurements of a machine's geometry as CSV: one row each, columns with units in their names."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from linkwork.calibration.measurements import KINDS, GeometryMeasurements, MeasuredRow, ReadPose
from linkwork.identification.csv_motion import QUANTITY_UNITS, CsvLines, csv_table, refuse_column, refuse_csv
from linkwork.machine import Machine
from linkwork.machine.nearest_name import meant

_LENGTHS, _ANGLES = QUANTITY_UNITS["q", False], QUANTITY_UNITS["q", True]
_TEXTS = ("kind", "pose", "pose_2", "point", "name")
_EXAMPLE = "kind,pose,q/NAME_rad,point,x_m,y_m,z_m,sigma_m"
_SAME = 1e-9


@dataclass(frozen=True)
class _Column:
    """The quantity of a column: a text, or a number of a quantity (q, sigma_q, side, x, …) in SI units."""

    quantity: str
    name: str
    factor: float


def read_measurements(path: Path, machine: Machine) -> GeometryMeasurements:
    """Read a file of measurements. Raises MachineError with line and column."""
    table = csv_table(path, _EXAMPLE)
    columns, ignored = _columns(path, table, machine)
    poses: dict[str, ReadPose] = {}
    rows: list[MeasuredRow] = []
    waiting: list[tuple[int, MeasuredRow, str, str]] = []
    for number, line in table.rows():
        cells = table.cells(line)
        if len(cells) != len(table.header):
            refuse_csv(path, number, 1, "wrong number of cells", str(len(cells)), f"{len(table.header)}")
        texts, numbers = _sorted(path, table, number, cells, columns)
        kind = texts["kind"]
        if kind not in KINDS:
            allowed = ", ".join(KINDS)
            refuse_csv(path, number, 1, "no such kind of row", kind or "an empty cell", allowed)
        named = texts["pose"] or f"line {number}"
        _add_reading(path, number, poses, named, numbers)
        row = _row(path, number, machine, texts, numbers)
        if row is not None:
            waiting.append((number, row, named, texts["pose_2"]))
    kept = {name: k for k, name in enumerate(name for name, pose in poses.items() if pose.readings)}
    for number, row, first, second in waiting:
        names = (first, second) if row.kind == "distance" else (first,)
        for name in names:
            if name not in kept:
                what = "has no readings" if name in poses else "does not exist"
                refuse_csv(
                    path, number, None, f"pose {name!r} {what}", "",
                    "poses with values in columns q/NAME_rad", meant(name, kept),
                )  # fmt: skip
        rows.append(replace(row, poses=tuple(kept[name] for name in names), line=number))
    remarks = (f"columns not used: {', '.join(ignored)}",) if ignored else ()
    return GeometryMeasurements(
        path.name, tuple(poses[name] for name in kept), tuple(rows), table.digest, remarks
    )


def _columns(path: Path, table: CsvLines, machine: Machine) -> tuple[list[_Column | None], list[str]]:
    """Return what each column holds, None for those without meaning, and the names of these."""
    known: dict[str, _Column] = {name: _Column(name, "", 1.0) for name in _TEXTS}
    for quantity in ("x", "y", "z", "value", "sigma"):
        known |= {f"{quantity}_{unit}": _Column(quantity, "", own) for unit, own in _LENGTHS.items()}
    for quantity in ("roll", "pitch", "yaw", "value", "sigma"):
        called = {"value": "angle_value", "sigma": "angle_sigma"}.get(quantity, quantity)
        known |= {f"{quantity}_{unit}": _Column(called, "", own) for unit, own in _ANGLES.items()}
    mechanism = machine.mechanism
    for joint, is_angle in zip(mechanism.joint_names, mechanism.joint_is_angle, strict=True):
        for called in (joint, *(alias for alias, name in machine.aliases.items() if name == joint)):
            for unit, own in (_ANGLES if is_angle else _LENGTHS).items():
                known[f"q/{called}_{unit}"] = _Column("q", joint, own)
                known[f"sigma_q/{called}_{unit}"] = _Column("sigma_q", joint, own)
            known[f"side/{called}"] = _Column("side", joint, 1.0)
    found: list[_Column | None] = []
    ignored = list[str]()
    for place, cell in enumerate(table.header):
        what = known.get(cell)
        quantity = cell.partition("/" if "/" in cell else "_")[0]
        if what is None and ("/" in cell or any(name.startswith(f"{quantity}_") for name in known)):
            refuse_column(path, table.header_line, place, cell, known)
        if what is None:
            ignored.append(cell)
        elif any(e and (e.quantity, e.name) == (what.quantity, what.name) for e in found):
            refuse_csv(
                path, table.header_line, place + 1, "this quantity is given twice", cell, "one column of each"
            )
        found.append(what)
    if "kind" not in table.header:
        refuse_csv(
            path, table.header_line, 1, "the column kind is missing", ", ".join(table.header), _EXAMPLE
        )
    if not any(each is not None and each.quantity == "q" for each in found):
        refuse_csv(path, table.header_line, 1, "no column holds readings of joints", "", "q/NAME_rad")
    return found, ignored


def _sorted(
    path: Path, table: CsvLines, line: int, cells: list[str], columns: list[_Column | None]
) -> tuple[dict[str, str], dict[tuple[str, str], float]]:
    """Return texts by column, and numbers by quantity and name."""
    texts = dict.fromkeys(_TEXTS, "")
    numbers: dict[tuple[str, str], float] = {}
    for place, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        if column is None:
            continue
        if column.quantity in texts:
            texts[column.quantity] = cell
        elif cell:
            try:
                value = table.number(cell)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                refuse_csv(path, line, place + 1, "this is not a number", repr(cell), "a number, or nothing")
            numbers[column.quantity, column.name] = value * column.factor
    return texts, numbers


def _add_reading(
    path: Path, line: int, poses: dict[str, ReadPose], name: str, numbers: Mapping[tuple[str, str], float]
) -> None:
    """Add the readings of a row to its pose, which several rows may have."""

    def of(quantity: str) -> dict[str, float]:
        return {joint: value for (what, joint), value in numbers.items() if what == quantity}

    old = poses.get(name, ReadPose(name, {}))
    for joint, value in of("q").items():
        if abs(old.readings.get(joint, value) - value) > _SAME:
            text = f"pose {name!r} has another reading of {joint} in an earlier row"
            refuse_csv(
                path, line, None, text, f"{value:.9g}", f"{old.readings[joint]:.9g}", "name it differently"
            )
    readings = {**old.readings, **of("q")}
    poses[name] = ReadPose(name, readings, {**old.sigma, **of("sigma_q")}, {**old.side, **of("side")})


def _row(
    path: Path,
    line: int,
    machine: Machine,
    texts: Mapping[str, str],
    numbers: Mapping[tuple[str, str], float],
) -> MeasuredRow | None:
    """Return what a row measures, without its poses; None where it only has readings."""
    get = {quantity: value for (quantity, _), value in numbers.items()}.get
    kind, point = next(each for each in KINDS if each == texts["kind"]), texts["point"]
    position = get("x"), get("y"), get("z")
    angles = get("roll"), get("pitch"), get("yaw")
    if kind == "pose" and all(each is None for each in (*position, *angles)):
        return None
    names = machine.mechanism.joint_names if kind == "stop" else machine.mechanism.point_names
    if not point and len(names) == 1:
        point = names[0]
    if not point and kind != "stop" and "tool" in names:
        point = "tool"
    if point not in names:
        what = "joint" if kind == "stop" else "point"
        refuse_csv(
            path, line, None, f"no {what} of {machine.name} in column point", point or "an empty cell",
            ", ".join(names) or "none: add the section points to the machine file",
        )  # fmt: skip
    value, sigma, sigma_angle = get("value", 0.0), get("sigma", 0.0), get("angle_sigma", 0.0)
    needed = [
        (
            "sigma_m",
            sigma,
            any(each is not None for each in position) or kind in ("distance", "line", "plane"),
        )
    ]
    needed.append(("sigma_rad", sigma_angle, any(each is not None for each in angles)))
    if kind == "stop":
        is_angle = machine.mechanism.joint_is_angle[machine.mechanism.joint_index(point)]
        value = get("angle_value" if is_angle else "value", math.nan)
        needed = [("sigma_rad", sigma_angle, True)] if is_angle else [("sigma_m", sigma, True)]
    if (kind == "distance" and get("value") is None) or math.isnan(value):
        refuse_csv(
            path, line, None, f"the value of a {kind} is missing", "", "value_m, value_mm, value_rad …"
        )
    if kind == "position" and all(each is None for each in position):
        refuse_csv(path, line, None, "a position without x, y and z", "", "one of them at least")
    for key, own, asked in needed:
        if asked and not own > 0.0:
            refuse_csv(
                path, line, None, "the standard deviation is missing", f"{own:g}", f"{key} above 0",
                "give that of the instrument",
            )  # fmt: skip
    return MeasuredRow(
        kind,
        (),
        point,
        position,
        angles,
        value,
        sigma,
        sigma_angle,
        texts["name"],
    )
