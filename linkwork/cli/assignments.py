"""NAME=VALUE on the command line: coordinates of the connected machine, with or without a unit."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from linkwork.machine.nearest_name import MOST_LISTED, listed
from linkwork.machine.units import choices, keys_of, with_aliases
from linkwork.protocol.results import DescribeResult
from linkwork.terminal.failures import Misuse

Rows = Mapping[str, Mapping[str, float | str]]
"""Coefficients of combinations of coordinates, and their `unit`."""


def read_assignments(
    texts: Sequence[str],
    described: DescribeResult,
    rows: Rows = MappingProxyType({}),
    *,
    speeds: bool = False,
) -> dict[str, float]:
    """{"shoulder": 0.52} from ["shoulder_deg=30"]; without a unit it is rad or m (speeds: per second).

    rows: combinations, which are coordinates too. Raises Misuse, with the names there are.
    """
    angles = {each["name"]: each["unit"] == "rad" for each in described["coordinates"]}
    for name, row in rows.items():
        angles.setdefault(name, row.get("unit") == "rad" or any(angles.get(part) for part in row))
    return read_values(texts, described["machine"], angles, described["aliases"], speeds=speeds)


def read_entries(texts: Sequence[str], option: str) -> dict[str, dict[str, float]]:
    """{"x": {"x": 900.0, "y": 120.0}} from ["x=900", "x:y=120"], of a symmetric matrix. Raises Misuse."""
    rows: dict[str, dict[str, float]] = {}
    for text in texts:
        place, sign, written = (piece.strip() for piece in text.partition("="))
        first, _, second = (piece.strip() for piece in place.partition(":"))
        if not (first and sign):
            raise Misuse(f"--{option} {text!r}: write NAME=VALUE or NAME:NAME=VALUE, such as x:y=120")
        rows.setdefault(first, {})[second or first] = _number(place, written)
    return rows


def read_rows(texts: Sequence[str], described: DescribeResult) -> dict[str, dict[str, float | str]]:
    """{"diagonal": {"x": 1.0, "y": -2.0}} from ["diagonal: x=1, y=-2"]. Raises Misuse."""
    rows: dict[str, dict[str, float | str]] = {}
    for text in texts:
        name, _, parts = (part.strip() for part in text.partition(":"))
        row = rows[name] = {}
        for part in filter(None, (part.strip() for part in parts.split(","))):
            key, sign, written = (piece.strip() for piece in part.partition("="))
            if not (name and sign):
                raise Misuse(
                    f"--row {text!r}: write NAME: COORDINATE=FACTOR, …, such as 'diagonal: x=1, y=-2'"
                )
            row[described["aliases"].get(key, key)] = written if key == "unit" else _number(key, written)
    return rows


def read_bounds(
    texts: Sequence[str], described: DescribeResult, rows: Rows = MappingProxyType({})
) -> dict[str, list[float] | str]:
    """{"elbow": [-1.0, 1.0], "z": "> 0.02"} from ["elbow=-1:1", "z_m=0.02:"]. Raises Misuse."""
    found: dict[str, list[float] | str] = {}
    for text in texts:
        key, _, written = text.partition("=")
        low, colon, high = (part.strip() for part in written.partition(":"))
        if not (colon and (low or high)):
            raise Misuse(f"--keep {text!r}: write NAME=LOW:HIGH, NAME=LOW: or NAME=:HIGH, such as z_m=0.02:")
        ends = [read_assignments([f"{key}={end}"], described, rows) for end in (low, high) if end]
        name, values = next(iter(ends[0])), [value for end in ends for value in end.values()]
        if name in found:
            raise Misuse(f"--keep {text!r}: {name} is given twice")
        found[name] = values if len(values) == 2 else f"{'>' if low else '<'} {values[0]!r}"
    return found


def read_target(
    texts: Sequence[str], described: DescribeResult, rows: Rows = MappingProxyType({})
) -> dict[str, float]:
    """Return the target of a move: a pose of the machine file by its name, or assignments. Raises Misuse."""
    poses = described.get("poses", {})
    if len(texts) != 1 or "=" in texts[0]:
        return read_assignments(texts, described, rows)
    if texts[0] not in poses:
        known = ", ".join(poses) or "none"
        raise Misuse(f"{texts[0]!r} is no pose of {described['machine']}; there are: {known}; or NAME=VALUE")
    return poses[texts[0]]


def read_values(
    texts: Sequence[str],
    machine: str,
    angles: Mapping[str, bool],
    aliases: Mapping[str, str],
    *,
    speeds: bool = False,
) -> dict[str, float]:
    """Return values by name from texts like "shoulder_deg=30", in rad or m (speeds: per second).

    machine: its name, for messages. angles: whether each coordinate is an angle; aliases: other names of
    coordinates. Raises Misuse.
    """
    whole = keys_of(with_aliases(angles, aliases), speeds=speeds)
    keys = {key: found for key, found in whole.items() if found.is_speed == speeds}
    found: dict[str, float] = {}
    for text in texts:
        key, sign, written = (part.strip() for part in text.partition("="))
        if not sign:
            raise Misuse(
                f"{text!r} is not an assignment; write NAME=VALUE, such as"
                f" {next(iter(keys), 'shoulder_deg')}=0.1"
            )
        name, factor = aliases.get(key, key), 1.0
        if name not in angles and key in keys:
            name, factor = aliases.get(keys[key].name, keys[key].name), keys[key].factor
        if name not in angles:
            allowed, remedy = choices(key, {each: unit for each, unit in keys.items() if unit.name in angles})
            raise Misuse(
                f"{key!r} is not a coordinate of {machine}; there are {listed(angles, MOST_LISTED)}; "
                f"with a unit: {allowed}" + (f"; {remedy}?" if remedy else "")
            )
        if name in found:
            raise Misuse(f"{name} is given twice")
        found[name] = _number(key, written) * factor
    return found


def read_guard(text: str | None, described: DescribeResult) -> dict[str, float]:
    """{"table": 5.0} from "table=5", or from "5" where there is one contact. Raises Misuse."""
    if text is None:
        return {}
    contacts = [each["name"] for each in described.get("forces", []) if each["kind"] == "contact"]
    name, sign, written = (part.strip() for part in text.partition("="))
    if not sign:
        name, written = contacts[0] if len(contacts) == 1 else "", text
    if name not in contacts:
        known = ", ".join(contacts)
        hint = f"write --until-force CONTACT=N; there are {known}" if known else "it has none"
        raise Misuse(f"--until-force {text}: no contact of {described['machine']} has this name; {hint}")
    return {name: _number(name, written)}


def _number(key: str, written: str) -> float:
    try:
        value = float(written) if "_" not in written else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Misuse(f"{key}={written}: {written!r} is not a finite number")
    return value
