"""Section `repeat`: templates of which a machine has several copies."""

import math
import re
from typing import Annotated, Any, Self, get_origin

from pydantic import BeforeValidator, WithJsonSchema, create_model, model_validator

from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Name, Section, Vector3, calculated, entry, wrong
from linkwork.machine.sections.file import MachineFile

SECTIONS = tuple(
    name for name, field in MachineFile.model_fields.items() if get_origin(field.annotation) is dict
)
"""Sections that templates may have: those whose entries have names."""
MOST_COPIES = 1000


def _copies(value: Any) -> Any:
    """Refuse what is neither a number of copies nor a list of different names."""
    names = value if isinstance(value, list) else range(1, 1 + value) if type(value) is int else []
    named = all(re.fullmatch(r"[A-Za-z0-9_]+", str(name)) for name in names)
    if not 0 < len(names) <= MOST_COPIES or not named or len(set(map(str, names))) < len(names):
        allowed = f"a number from 1 to {MOST_COPIES}, or a list of different names: [left, right]"
        raise wrong("these are no copies", shown(value), allowed)
    return value


def _angles(value: Any) -> Any:
    """Return an angle or a list of angles as numbers."""
    found = [calculated(each) for each in (value if isinstance(value, list) else [value])]
    if not all(type(each) in (int, float) and math.isfinite(each) for each in found):
        raise wrong("this is no angle", shown(value), "a number, or a list with a number for each copy")
    return found if isinstance(value, list) else found[0]


def _several(one: str, value: Any) -> Any:
    """Return the type of a value that is one thing or a list of several, as an editor sees it."""
    return WithJsonSchema({"anyOf": [{"type": one}, {"type": "array", "items": value}]})


Copies = Annotated[Any, BeforeValidator(_copies), _several("integer", {"type": ["string", "integer"]})]


class TurnSpec(Section):
    """Rotation of each copy about an axis."""

    angle_deg: Annotated[Any, BeforeValidator(_angles), _several("number", {"type": "number"})] = entry(
        "Angle from each copy to the next, or a list, one for each; none: a whole turn in equal parts",
        "deg",
        None,
    )
    about: Vector3 = entry("Direction of the axis, in the frame of each body", default=[0.0, 0.0, 1.0])
    through_m: dict[Name, Vector3] = entry(
        "A point of the axis by body (or world), in its frame; none: the origin", "m", {}
    )

    @model_validator(mode="after")
    def _has_direction(self) -> Self:
        if not any(self.about):
            raise wrong("an axis needs a direction", "a zero vector", remedy="write [0, 0, 1]", at=("about",))
        return self

    def angles_deg(self, copies: int) -> list[float]:
        """Return the angle of each copy."""
        if isinstance(self.angle_deg, list):
            return list(self.angle_deg)
        step = 360.0 / copies if self.angle_deg is None else self.angle_deg
        return [step * k for k in range(copies)]


class _Template(Section):
    """Copies of a template, and the values that differ."""

    copies: Copies = entry("Number of copies, or a list of their names; <copy> stands for it")
    turn: TurnSpec | None = entry("Turn each copy about an axis", default=None)
    values: dict[Name, list[Any]] = entry(
        "Lists of values, one for each copy, by NAME; <NAME> stands for it", default={}
    )


_ENTRIES: dict[str, Any] = {
    name: (dict[str, Any], entry(f"As the section `{name}`, with placeholders", default={}))
    for name in SECTIONS
}
RepeatSpec: Any = create_model("RepeatSpec", __base__=_Template, **_ENTRIES)


class Repeats(Section):
    """The section as a whole."""

    repeat: dict[Name, RepeatSpec] = entry("Templates of repeated parts, such as legs, by name", default={})
