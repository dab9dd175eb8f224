"""Units as the endings of names: "shoulder_deg", "lift_m", "shoulder_rad_s"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from machine.names import nearest
from machine.problems import MachineError, Problem

if TYPE_CHECKING:
    from machine.description import Machine

_DEGREE = math.pi / 180.0
_POSITION: dict[bool, dict[str, float]] = {True: {"deg": _DEGREE, "rad": 1.0}, False: {"m": 1.0}}
_SPEED: dict[bool, dict[str, float]] = {True: {"deg_s": _DEGREE, "rad_s": 1.0}, False: {"m_s": 1.0}}


@dataclass(frozen=True)
class Quantity:
    """What a name with a unit says: the coordinate, position or speed, the factor to rad, m and s."""

    name: str
    is_speed: bool
    factor: float


def keys_of(coordinates: Mapping[str, bool], *, speeds: bool) -> dict[str, Quantity]:
    """Return every name with a unit that may be written for coordinates (name: is it an angle)."""
    keys: dict[str, Quantity] = {}
    for name, is_angle in coordinates.items():
        for unit, factor in _POSITION[is_angle].items():
            keys[f"{name}_{unit}"] = Quantity(name, False, factor)
        for unit, factor in _SPEED[is_angle].items() if speeds else ():
            keys[f"{name}_{unit}"] = Quantity(name, True, factor)
    return keys


def choices(word: str, coordinates: Mapping[str, bool], *, speeds: bool) -> tuple[str, str]:
    """Return what may be written instead of an unknown name with a unit, and the likeliest."""
    whole = keys_of(coordinates, speeds=speeds)
    owner = max(
        (name for name in coordinates if word == name or word.startswith(name + "_")), key=len, default=None
    )
    if owner is not None:
        own = list(keys_of({owner: coordinates[owner]}, speeds=speeds))
        return ", ".join(own), f"write {own[0]}"
    meant = nearest(word, whole)
    return ", ".join(whole), f"write {meant}" if meant else ""


def parse_assignment(text: str, machine: Machine) -> tuple[int, float]:
    """Read "shoulder_deg=30": return the coordinate's place in the mechanism's order, and rad or m.

    A name without a unit ("shoulder=0.5") takes rad or m. Joints and task coordinates are understood; the
    joints come first, so that the place of a joint is its place in q too. Raises MachineError with one
    Problem.
    """
    names = machine.mechanism.coordinate_names
    angles = {
        name: bool(is_angle)
        for name, is_angle in zip(names, machine.mechanism.coordinate_is_angle, strict=True)
    }
    key, sign, number = (part.strip() for part in text.partition("="))
    if not sign or not key or not number:
        raise _refusal(
            text, "this is not an assignment", text, "NAME_UNIT=VALUE", "write, say, " + _example(angles)
        )
    quantity = keys_of(angles, speeds=False).get(key) or (
        Quantity(key, False, 1.0) if key in angles else None
    )
    if quantity is None:
        allowed, remedy = choices(key, angles, speeds=False)
        raise _refusal(text, "no coordinate has this name and unit", key, allowed, remedy)
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in number:
        raise _refusal(
            text, "this is not a finite number", number, "a number", "write, say, " + _example(angles)
        )
    return names.index(quantity.name), value * quantity.factor


def _example(angles: Mapping[str, bool]) -> str:
    name, is_angle = next(iter(angles.items()), ("shoulder", True))
    return f"{name}_deg=30" if is_angle else f"{name}_m=0.1"


def _refusal(text: str, message: str, found: str, allowed: str, remedy: str) -> MachineError:
    return MachineError([Problem(text, None, None, "", message, found, allowed, remedy)])
