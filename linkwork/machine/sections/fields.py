"""Elements of the schema: checked numbers with units, names, and the base of all sections."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError, PydanticUndefined

from linkwork.machine.problems import Place

LARGEST = 1e12
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


Number = Annotated[float, Field(strict=True, allow_inf_nan=False), AfterValidator(_of_this_world)]
Count = Annotated[int, Field(strict=True), AfterValidator(_of_this_world)]
Switch = Annotated[bool, Field(strict=True)]
Vector3 = Annotated[list[Number], Field(min_length=3, max_length=3)]
Range = Annotated[list[Number], Field(min_length=2, max_length=2)]
Name = Annotated[
    str,
    Field(
        pattern=NAME_PATTERN,
        max_length=40,
        description="A name: letters, digits and underscores, a letter first, at most 40 characters.",
    ),
]


class Section(BaseModel):
    """A mapping of the file with fixed keys; a key that is not among them is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=False, regex_engine="rust-regex")


def entry(about: str, unit: str = "", default: Any = PydanticUndefined, **rules: Any) -> Any:
    """Describe a key: its meaning, unit, default (none: the key must be given), and bounds.

    The unit goes into the description, where an editor shows it, and under `unit`, where programs find it.
    """
    text = f"{about} [{unit}]" if unit else about
    extra: JsonDict | None = {"unit": unit} if unit else None
    return Field(default, description=text, json_schema_extra=extra, **rules)


def one_of(section: Section, *keys: str, needed: bool = False) -> None:
    """Refuse a section that gives one quantity in two units, or gives a required quantity in none."""
    given = [key for key in keys if getattr(section, key) is not None]
    if len(given) > 1:
        raise wrong(
            f"{' and '.join(given)} give the same value twice", remedy=f"keep {given[0]} only", at=(given[1],)
        )
    if needed and not given:
        raise wrong(f"{' or '.join(keys)} is missing", found="nothing", remedy=f"add {keys[0]}")
