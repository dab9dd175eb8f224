"""Quantities: numbers whose key ends in a unit, described once and read in SI units.

    class Saturate(Section):
        limit = Quantity("at", EFFORT, "Largest effort", ge=0)

A file writes "at_N_m" or "at_N", code reads `entry.limit`, N m or N. The section gets one field for each of
these keys: pydantic checks type, sign and range of what the file says, and the JSON schema lists it. A file
may give one of the keys only.

A section that sets `is_angle` is about an angle or about a length, and has only the keys of that kind. One
that is `common` has no keys yet; it describes those of two sections that do:

    class Motor(DofSection, common=True):
        max_effort = Quantity("max_{effort}", EFFORT, "Largest {effort} at the joint", gt=0)

    class AngleMotor(Motor):  # has the key max_torque_N_m
        is_angle = True

    class LengthMotor(Motor):  # has the key max_force_N
        is_angle = False
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, overload

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticUndefined, core_schema

from linkwork.machine.sections.fields import (
    NamedSection,
    Number,
    Range,
    Section,
    SectionPart,
    entry,
    one_of,
    wrong,
)

ANGLE, LENGTH = "angle", "length"
_LENGTH_UNIT = re.compile(r"_(N|N_s|N_s_m|rad_m)$|(?<!_N)_m(_s[23]?)?$")
T = TypeVar("T")
REQUIRED: Any = PydanticUndefined
"""The default of a quantity that a file must give."""
_WORDS = (
    {"effort": "torque", "position": "angle", "inertia": "Inertia"},
    {"effort": "force", "position": "position", "inertia": "Mass"},
)


class Unit(NamedTuple):
    """Unit of a key: its ending, its text for people; times `factor`, divided by `divisor`, it is SI."""

    ending: str
    text: str
    factor: float = 1.0
    divisor: float = 1.0


@dataclass(frozen=True)
class Dimension:
    """The units in which a quantity may be given: those of angles, and those of lengths."""

    of_angle: tuple[Unit, ...]
    of_length: tuple[Unit, ...]


def _position(ending: str, text: str) -> Dimension:
    """Return the units of a position or of one of its derivatives."""
    degrees = Unit(f"deg{ending}", f"deg{text}", math.radians(1.0))
    return Dimension((Unit(f"rad{ending}", f"rad{text}"), degrees), (Unit(f"m{ending}", f"m{text}"),))


POSITION, SPEED = _position("", ""), _position("_s", "/s")
ACCELERATION, JERK = _position("_s2", "/s²"), _position("_s3", "/s³")
EFFORT = Dimension((Unit("N_m", "N m"),), (Unit("N", "N"),))
EFFORT_RATE = Dimension((Unit("N_m_s", "N m/s"),), (Unit("N_s", "N/s"),))
STIFFNESS = Dimension((Unit("N_m_rad", "N m/rad"),), (Unit("N_m", "N/m"),))
DAMPING = Dimension((Unit("N_m_s", "N m s/rad"),), (Unit("N_s_m", "N s/m"),))
INERTIA = Dimension((Unit("kg_m2", "kg m²"),), (Unit("kg", "kg"),))


def one_unit(ending: str, text: str, factor: float = 1.0) -> Dimension:
    """Return a dimension whose only unit is the same for angles and lengths."""
    unit = (Unit(ending, text, factor),)
    return Dimension(unit, unit)


def without_degrees(dimension: Dimension) -> Dimension:
    """Return a dimension whose angles are given in rad alone."""
    return Dimension(dimension.of_angle[:1], dimension.of_length)


class Spelling(NamedTuple):
    """One key of a quantity, its unit, and its description."""

    key: str
    unit: Unit
    about: str


class Quantity(SectionPart, Generic[T]):
    """A number with a unit, as an attribute of sections; see the module.

    `key` is the key without its unit, or with `{unit}` in its place. In it and in `about`, `{effort}` is
    torque or force, `{position}` angle or position, `{inertia}` Inertia or Mass. `default` (SI) is the value
    where a file gives none of the keys; where it is None, `absent`: a number or a function of the section.
    `rules` bound the number in the file.
    """

    annotation: ClassVar[Any] = Number

    @overload
    def __init__(
        self: Quantity[float], key: str, dimension: Dimension, about: str, default: float = ..., **rules: Any
    ) -> None: ...
    @overload
    def __init__(
        self: Quantity[float],
        key: str,
        dimension: Dimension,
        about: str,
        default: None,
        *,
        absent: float | Callable[[Any], float],
        **rules: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: Quantity[float | None], key: str, dimension: Dimension, about: str, default: None, **rules: Any
    ) -> None: ...
    def __init__(
        self,
        key: str,
        dimension: Dimension,
        about: str,
        default: Any = REQUIRED,
        *,
        absent: Any = None,
        **rules: Any,
    ) -> None:
        self._default, self._rules = default, rules
        self._absent = absent if default is None else default
        angle, length = (
            _spellings(key, about, units, words)
            for units, words in zip((dimension.of_angle, dimension.of_length), _WORDS, strict=True)
        )
        self._spellings = {True: angle, False: length, None: tuple(dict.fromkeys(angle + length))}

    def spellings(self, is_angle: bool | None) -> tuple[Spelling, ...]:
        """Return its keys in sections about an angle, about a length (False), or about either (None)."""
        return self._spellings[is_angle]

    def keys(self, is_angle: bool | None) -> list[str]:
        """Return the texts of these keys."""
        return [each.key for each in self.spellings(is_angle)]

    def given(self, section: Section) -> Spelling | None:
        """Return the key whose value a section has; None for none."""
        for each in self.spellings(section.is_angle):
            if getattr(section, each.key) is not None:
                return each
        return None

    def fields(self, section: type[Section]) -> dict[str, tuple[Any, Any]]:
        """Return one field for each key."""
        spellings = self.spellings(section.is_angle)
        default = self._default if len(spellings) == 1 else None
        annotation = self.annotation | None if default is None else self.annotation
        return {
            key: (annotation, entry(about, unit.text, default, **self._rules))
            for key, unit, about in spellings
        }

    def check(self, section: Section) -> None:
        """Refuse two keys, and none where the quantity must be given."""
        one_of(section, *self.keys(section.is_angle), needed=self._default is REQUIRED)

    def stored(self, section: Section, value: Any) -> dict[str, Any]:
        """Return the value (SI) under the first of the keys."""
        first, *others = self.spellings(section.is_angle)
        return {first.key: self._from_si(value, first.unit), **{each.key: None for each in others}}

    @overload
    def __get__(self, section: None, owner: type) -> Self: ...
    @overload
    def __get__(self, section: object, owner: type) -> T: ...
    def __get__(self, section: Any, owner: type) -> Self | T:
        if section is None:
            return self
        given = self.given(section)
        if given is not None:
            return self._in_si(getattr(section, given.key), given.unit)
        absent: T = self._absent(section) if callable(self._absent) else self._absent
        return absent

    def in_unit_of(self, section: Section, key: str) -> Any:
        """Return the value that a section has, in the unit of one of the keys."""
        unit = next(each.unit for each in self.spellings(section.is_angle) if each.key == key)
        return self._from_si(self.__get__(section, type(section)), unit)

    def _in_si(self, value: Any, unit: Unit) -> T:
        found: T = value * unit.factor / unit.divisor
        return found

    def _from_si(self, value: Any, unit: Unit) -> Any:
        return value * unit.divisor / unit.factor


class RangeQuantity(Quantity[tuple[float, float]]):
    """A lowest and a highest value with a unit; without limits where a file may give none and does so."""

    annotation: ClassVar[Any] = Range

    def __init__(self, key: str, dimension: Dimension, about: str, default: Any = None, **rules: Any) -> None:
        super().__init__(key, dimension, about, default, **rules)  # type: ignore[misc]
        self._absent = (-math.inf, math.inf)

    def check(self, section: Section) -> None:
        """Refuse two keys, none where the range must be given, and a range that is empty."""
        super().check(section)
        given = self.given(section)
        low, high = getattr(section, given.key) if given else self._absent
        if given and not low < high:
            found, remedy = f"[{low:g}, {high:g}]", "write [lowest, highest]"
            raise wrong(
                "the lower limit is not below the upper", found, "lowest < highest", remedy, (given.key,)
            )

    def _in_si(self, value: Any, unit: Unit) -> tuple[float, float]:
        low, high = (float(each) * unit.factor / unit.divisor for each in value)
        return low, high

    def _from_si(self, value: Any, unit: Unit) -> Any:
        return [each * unit.divisor / unit.factor for each in value]


def quantities_of(section: type[Section]) -> list[Quantity[Any]]:
    """Return the quantities of a section."""
    return [part for part in section.key_parts if isinstance(part, Quantity)]


def keys_of(section: type[Section], is_angle: bool | None) -> list[str]:
    """Return the keys of a section's quantities that are of an angle, of a length (False), or both (None)."""
    return [key for part in quantities_of(section) for key in part.keys(is_angle)]


def keys_named(section: type[Section], name: str) -> list[str]:
    """Return the keys of a section's quantity with this name, or the key itself."""
    part = getattr(section, name, None)
    return part.keys(section.is_angle) if isinstance(part, Quantity) else [name]


def given_keys(section: Section, is_angle: bool | None) -> list[str]:
    """Return those of these keys that a section gives."""
    return [key for key in keys_of(type(section), is_angle) if getattr(section, key) is not None]


def _spellings(key: str, about: str, units: tuple[Unit, ...], words: dict[str, str]) -> tuple[Spelling, ...]:
    whole = key if "{unit}" in key else key + "_{unit}"
    return tuple(
        Spelling(whole.format(unit=unit.ending, **words).removesuffix("_"), unit, about.format(**words))
        for unit in units
    )


class MarkedKind(dict[str, Any]):
    """A mapping of the file, marked as angle or length."""

    kind: str = ANGLE


def angle_or_length(value: Any) -> str:
    """Return the form of a section: by its mark or class, else by the units of its keys."""
    kind = getattr(value, "kind", None)
    if isinstance(kind, str):
        return kind
    turns = getattr(value, "is_angle", None)
    if isinstance(turns, bool):
        return ANGLE if turns else LENGTH
    keys = value if isinstance(value, dict) else ()
    return LENGTH if any(_LENGTH_UNIT.search(str(key)) for key in keys) else ANGLE


class DofSection(NamedSection, common=True):
    """A section about one coordinate of the machine, an angle or a length, with its place in v (or q).

    As the type of a key, a common one takes either of its kinds: the one that `mark_kinds` has found.
    """

    is_angle: ClassVar[bool]

    @property
    def unit(self) -> str:
        """SI unit of the coordinate."""
        return "rad" if self.is_angle else "m"

    @property
    def effort_unit(self) -> str:
        """SI unit of efforts along it."""
        return "N m" if self.is_angle else "N"

    @classmethod
    def of_kind(cls, is_angle: bool) -> type[Self]:
        """Return the section of angles, or of lengths."""
        return next(kind for kind in cls.__subclasses__() if kind.is_angle == is_angle)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if cls.is_angle in (True, False) or not cls.__subclasses__():
            return handler(source)
        kinds = {ANGLE: True, LENGTH: False}
        choices = {tag: handler.generate_schema(cls.of_kind(kind)) for tag, kind in kinds.items()}
        return core_schema.tagged_union_schema(choices, angle_or_length)
