"""Units as the endings of names: "shoulder_deg", "lift_m", "shoulder_rad_s"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from linkwork.machine.nearest_name import MOST_LISTED, listed, nearest
from linkwork.machine.problems import MachineError, Problem

if TYPE_CHECKING:
    from linkwork.machine.description import Machine

_DEGREE = math.pi / 180.0
_POSITION: dict[bool, dict[str, float]] = {True: {"deg": _DEGREE, "rad": 1.0}, False: {"m": 1.0}}
_SPEED: dict[bool, dict[str, float]] = {True: {"deg_s": _DEGREE, "rad_s": 1.0}, False: {"m_s": 1.0}}


@dataclass(frozen=True)
class UnitKey:
    """Meaning of a name with a unit: the coordinate, position or speed, the factor to rad, m and s."""

    name: str
    is_speed: bool
    factor: float


def keys_of(coordinates: Mapping[str, bool], *, speeds: bool) -> dict[str, UnitKey]:
    """Return every name with a unit that may be written for coordinates (name: is it an angle)."""
    keys: dict[str, UnitKey] = {}
    for name, is_angle in coordinates.items():
        for unit, factor in _POSITION[is_angle].items():
            keys[f"{name}_{unit}"] = UnitKey(name, False, factor)
        for unit, factor in _SPEED[is_angle].items() if speeds else ():
            keys[f"{name}_{unit}"] = UnitKey(name, True, factor)
    return keys


def choices(word: str, keys: Mapping[str, UnitKey]) -> tuple[str, str]:
    """Return which of the keys may be written instead of an unknown one, and the likeliest."""
    names = {each.name for each in keys.values() if f"{word}_".startswith(f"{each.name}_")}
    if owner := max(names, key=len, default=""):
        own = [key for key, each in keys.items() if each.name == owner]
        return ", ".join(own), f"write {own[0]}"
    meant = nearest(word, keys)
    return listed(keys, MOST_LISTED), f"write {meant}" if meant else ""


def parse_assignment(text: str, machine: Machine) -> tuple[int, float]:
    """Read "shoulder_deg=30": return the coordinate's place in the mechanism's order, and rad or m.

    A name without a unit ("shoulder=0.5") takes rad or m. Joints and task coordinates are understood; the
    joints come first, so that the place of a joint is its place in q too. Raises MachineError with one
    Problem.
    """
    names = machine.mechanism.coordinate_names
    angles = dict(zip(names, map(bool, machine.mechanism.coordinate_is_angle), strict=True))
    keys = keys_of(with_aliases(angles, machine.aliases), speeds=False)
    name, value = _parsed(text, angles, keys, _example(angles), machine.aliases)
    return names.index(name), value


def parse_speed(text: str, machine: Machine) -> tuple[str, float]:
    """Read "shoulder_deg_s=30": return the name of a degree of freedom and its speed, rad/s or m/s.

    A name without a unit ("shoulder=0.5") takes rad/s or m/s. Raises MachineError with one Problem.
    """
    mechanism = machine.mechanism
    angles = dict(zip(mechanism.joint_names, map(bool, mechanism.joint_is_angle), strict=True))
    whole = keys_of(with_aliases(angles, machine.aliases), speeds=True)
    keys = {key: each for key, each in whole.items() if each.is_speed}
    first, is_angle = next(iter(angles.items()))
    example = f"{first}_deg_s=30" if is_angle else f"{first}_m_s=0.1"
    return _parsed(text, angles, keys, example, machine.aliases)


def with_aliases(angles: Mapping[str, bool], aliases: Mapping[str, str]) -> dict[str, bool]:
    """Return coordinates by name (is it an angle) and by the aliases that they have."""
    return {**angles, **{alias: angles[name] for alias, name in aliases.items() if name in angles}}


def _parsed(
    text: str,
    angles: Mapping[str, bool],
    keys: Mapping[str, UnitKey],
    example: str,
    aliases: Mapping[str, str],
) -> tuple[str, float]:
    """Read NAME_UNIT=VALUE or NAME=VALUE with one of the keys: the name, and the value in rad, m and s."""
    key, sign, number = (part.strip() for part in text.partition("="))
    if not sign or not key or not number:
        raise _refusal(
            text, "this is not an assignment", text, "NAME_UNIT=VALUE", f"write, for example, {example}"
        )
    known = aliases.get(key, key)
    quantity = keys.get(key) or (UnitKey(known, False, 1.0) if known in angles else None)
    if quantity is None:
        raise _refusal(text, "no coordinate has this name and unit", key, *choices(key, keys))
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in number:
        raise _refusal(
            text, "this is not a finite number", number, "a number", f"write, for example, {example}"
        )
    return aliases.get(quantity.name, quantity.name), value * quantity.factor


def _example(angles: Mapping[str, bool]) -> str:
    name, is_angle = next(iter(angles.items()), ("shoulder", True))
    return f"{name}_deg=30" if is_angle else f"{name}_m=0.1"


def _refusal(text: str, message: str, found: str, allowed: str, remedy: str) -> MachineError:
    return MachineError([Problem(text, None, None, "", message, found, allowed, remedy)])
