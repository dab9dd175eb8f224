"""Elements of the schema: checked numbers with units, names, and the base of all sections."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from inspect import get_annotations
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError, PydanticUndefined

from linkwork.machine.problems import Place
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import parse_named

LARGEST = 1e12
_SHORTEST_AXIS = 1e-6
NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_]*$"

N = TypeVar("N", int, float)


def wrong(
    message: str, found: str = "", allowed: str = "", remedy: str = "", at: Place = (), offset: int = -1
) -> PydanticCustomError:
    """Make the error with which a section refuses its data; `at` is the place within the section.

    `offset` counts the characters within a text, where the fault is at one of them.
    """
    context = {"found": found, "allowed": allowed, "remedy": remedy, "at": at, "offset": offset}
    return PydanticCustomError("machine", "{message}", {"message": message, **context})


def _of_this_world(value: N) -> N:
    if abs(value) > LARGEST:
        raise wrong("this number is too large", f"{value:g}", f"-{LARGEST:g} to {LARGEST:g}")
    return value


ARITHMETIC_PATTERN = r"[0-9(]|pi"
_COMMA = re.compile(r"\s*([+-]?\d+),(\d+)\s*")
_WITH_UNIT = re.compile(r"\s*([+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*(?!pi\b|deg\b|[eE][+-]?\d)[^\W\d_][^(]*")


def calculated(value: Any) -> Any:
    """Return the value of arithmetic with numbers, `pi` and `deg`; any other value as it is."""
    if not isinstance(value, str) or not re.search(ARITHMETIC_PATTERN, value):
        return value
    if comma := _COMMA.fullmatch(value):
        raise wrong("this is no number", value, remedy=f"write {comma[1]}.{comma[2]}")
    if unit := _WITH_UNIT.fullmatch(value):
        raise wrong("a number has no unit here", value, remedy=f"write {unit[1]}; the key says the unit")
    try:
        found = parse_named(value)
    except ExpressionError as error:
        raise wrong(error.message, error.found, error.allowed, error.remedy, offset=error.at) from None
    if found.names:
        name, at = next(iter(found.names.items()))
        allowed = "numbers, + - * / ** ( ), pi, deg and functions such as sqrt"
        raise wrong("a number cannot depend on other values", name, allowed, offset=at)
    number = found.value({})
    if not math.isfinite(number):
        raise wrong("this arithmetic has no finite value", value, "a finite number")
    return number


Number = Annotated[
    float,
    Field(strict=True, allow_inf_nan=False),
    AfterValidator(_of_this_world),
    BeforeValidator(calculated),
]
"""A number, or arithmetic in its place: 1/12, pi/3."""
Count = Annotated[int, Field(strict=True), AfterValidator(_of_this_world)]
Switch = Annotated[bool, Field(strict=True)]
Vector3 = Annotated[list[Number], Field(min_length=3, max_length=3)]
Range = Annotated[list[Number], Field(min_length=2, max_length=2)]
Interval = Range | Annotated[str, Field(max_length=40)]
"""A lower and an upper bound, or one of them: "> 2", "< 50"; see `read_bounds`."""


def _directed(value: list[float]) -> list[float]:
    if math.hypot(*value) < _SHORTEST_AXIS:
        raise wrong("an axis needs a direction", f"{value}", "a vector that is not zero")
    return value


Direction = Annotated[Vector3, AfterValidator(_directed)]
"""A vector other than zero, whose length does not matter."""
Name = Annotated[
    str,
    Field(
        pattern=NAME_PATTERN,
        max_length=40,
        description="A name: letters, digits and underscores, a letter first, at most 40 characters.",
    ),
]


LONGEST_ALIAS = 128
ALIAS_PATTERN = r"^[^\s=]([^=\n\r\t]*[^\s=])?$"
Alias = Annotated[
    str,
    Field(
        pattern=ALIAS_PATTERN,
        max_length=LONGEST_ALIAS,
        description="A foreign name: any characters but =, at most 128.",
    ),
]


class SectionPart(ABC):
    """An attribute of sections that stands for several keys, as a quantity with units (quantity.py)."""

    @abstractmethod
    def fields(self, section: type[Section]) -> dict[str, tuple[Any, Any]]:
        """Return for each key of a section the type of its value and its `entry`."""

    @abstractmethod
    def check(self, section: Section) -> None:
        """Raise the error of a section (`wrong`) whose keys do not go together."""

    @abstractmethod
    def stored(self, section: Section, value: Any) -> dict[str, Any]:
        """Return the values of a section's keys with which the attribute has this value."""


class Section(BaseModel):
    """A mapping of the file with fixed keys; a key that is not among them is an error.

    `is_angle`: whether it is about an angle, or (False) a length; None where it does not say. `key_parts`:
    its attributes that stand for several keys.
    """

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        frozen=True,
        validate_default=False,
        regex_engine="rust-regex",
        ignored_types=(SectionPart,),
    )
    is_angle: ClassVar[bool | None] = None
    _common: ClassVar[bool] = False
    key_parts: ClassVar[tuple[SectionPart, ...]] = ()

    def __init_subclass__(cls, *, common: bool = False, **rest: Any) -> None:
        """Give the class a field for each key of its parts, which pydantic collects afterwards."""
        super().__init_subclass__(**rest)
        cls._common = common
        if common:
            return
        described = [base for base in reversed(cls.__mro__[1:]) if base.__dict__.get("_common")]
        parts = {name: part for base in (*described, cls) for name, part in vars(base).items()}
        own = get_annotations(cls)
        annotations = {key: kind for key, kind in own.items() if key not in vars(cls)}
        for name, part in parts.items():
            if isinstance(part, SectionPart):
                cls.key_parts = (*cls.key_parts, part)
                for key, (annotation, field) in part.fields(cls).items():
                    annotations[key] = annotation
                    setattr(cls, key, field)
            elif name in own:
                annotations[name] = own[name]
        cls.__annotations__ = annotations

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        for part in self.key_parts:
            part.check(self)
        return self

    def with_values(self, **values: Any) -> Self:
        """Return the section with other values, those of quantities in SI units. Raises TypeError for a name
        that it does not have.
        """
        update: dict[str, Any] = {}
        for name, value in values.items():
            part = getattr(type(self), name, None)
            if not isinstance(part, SectionPart) and name not in type(self).model_fields:
                raise TypeError(f"{type(self).__name__} has no value {name!r}")
            update |= part.stored(self, value) if isinstance(part, SectionPart) else {name: value}
        return self.model_copy(update=update)


class NamedSection(Section):
    """A section that code uses under the name of what it is about, and its place among the machine's."""

    _name: str = PrivateAttr("")
    _index: int = PrivateAttr(-1)

    @property
    def name(self) -> str:
        """Name of what it is about: of a joint, JOINT.DOF, of a task coordinate, of a point."""
        return self._name

    @property
    def index(self) -> int:
        """Place of a degree of freedom in v, of a point among the mechanism's."""
        return self._index

    def at(self, name: str, index: int = -1) -> Self:
        """Return the section under this name and at this place."""
        placed = self.model_copy()
        placed._name, placed._index = name, index
        return placed


def entry(about: str, unit: str = "", default: Any = PydanticUndefined, **rules: Any) -> Any:
    """Describe a key: its meaning, unit, default (none: the key must be given), and bounds.

    The unit goes into the description, where an editor shows it, and under `unit`, where programs find it.
    """
    text = f"{about} [{unit}]" if unit else about
    extra: JsonDict | None = {"unit": unit} if unit else None
    return Field(default, description=text, json_schema_extra=extra, **rules)


def alias() -> Any:
    """Describe the key `alias` of elements that requests and commands name."""
    return entry("Foreign name, which requests and commands accept beside the machine's own", default=None)


def one_of(section: Section, *keys: str, needed: bool = False) -> None:
    """Refuse a section that gives one quantity in two units, or gives a required quantity in none."""
    given = [key for key in keys if getattr(section, key) is not None]
    if len(given) > 1:
        raise wrong(
            f"{' and '.join(given)} give the same value twice", remedy=f"keep {given[0]} only", at=(given[1],)
        )
    if needed and not given:
        raise wrong(f"{' or '.join(keys)} is missing", found="nothing", remedy=f"add {keys[0]}")
