"""Options of commands, each described once: as a field of a dataclass.

A command's options are the fields of a class with the decorator `command_options`; the class's docstring is
the command's help. `linkwork.command_line` reads such an object from a command line.

A field's type is str, int, float, bool, Path, a Literal, an Enum of str, or one of these with `| None`;
`tuple[T, ...]` for an option that may be repeated or an argument of several words, `tuple[float, float]` for
an option with two values.
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from inspect import get_annotations
from types import NoneType
from typing import Any, NamedTuple, TypeVar, dataclass_transform, get_args, get_type_hints

Options = TypeVar("Options")
_TEXT = "option"
OPTIONS = "Options"
"""Panel of the help that holds an option, unless it names another."""


class ParameterText(NamedTuple):
    """Description of one option or argument for a command line and its help, beside its type and default.

    flags: empty for an argument. metavar: its placeholder. least, most: bounds of a number, inclusive.
    default_text: what the help shows in place of the default. hidden: the help does not show it.
    """

    about: str
    metavar: str
    flags: tuple[str, ...] | None
    least: float | None
    most: float | None
    panel: str
    default_text: str
    hidden: bool


@dataclass_transform(frozen_default=True, kw_only_default=True)
def command_options(cls: type[Options]) -> type[Options]:
    """Make a frozen dataclass of a class of options; its fields are given by keyword."""
    return dataclass(frozen=True, kw_only=True, eq=False, match_args=False)(cls)


def option(
    about: str, metavar: str = "", *flags: str, default: Any = None, required: bool = False,
    least: float | None = None, most: float | None = None, panel: str = OPTIONS, default_text: str = "",
    hidden: bool = False,
) -> Any:  # fmt: skip
    """Describe an option of a command.

    about: its help. metavar: placeholder of its value. flags: its words; default: the field's name after two
    dashes. least, most: bounds of a number, inclusive. panel: of the help. default_text: shown in place of
    the default. hidden: leave it out of the help.
    """
    described = ParameterText(about, metavar, flags, least, most, panel, default_text, hidden)
    return field(default=MISSING if required else default, metadata={_TEXT: described})


def flag(about: str, *flags: str, default: bool = False, hidden: bool = False) -> Any:
    """Describe an option without a value. about: its help; hidden: leave it out of the help.

    flags: its words; "--yes/--no" has one for either value.
    """
    return option(about, "", *flags, default=default, hidden=hidden)


def several(about: str, metavar: str, *flags: str) -> Any:
    """Describe an option that may be repeated."""
    return option(about, metavar, *flags, default=())


def argument(
    metavar: str, about: str = "", *, default: Any = MISSING, least: float | None = None,
    most: float | None = None,
) -> Any:  # fmt: skip
    """Describe an argument, which is required unless it has a default.

    metavar: its name in the usage. about: its help. least, most: bounds of a number, inclusive.
    """
    described = ParameterText(about, metavar, None, least, most, "Arguments", "", False)
    return field(default=default, metadata={_TEXT: described})


@dataclass(frozen=True)
class Parameter:
    """A field of a class of options. kind: the type of one value; count: of values, 0 for any number."""

    name: str
    kind: Any
    count: int
    default: Any
    described: ParameterText

    @property
    def required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is MISSING

    @property
    def flags(self) -> tuple[str, ...]:
        """The option's words; empty for an argument."""
        if self.described.flags is None:
            return ()
        return self.described.flags or ("--" + self.name.replace("_", "-"),)


@cache
def parameters(options: type) -> tuple[Parameter, ...]:
    """Return the parameters of a class of options, in their order; options of its base classes come last."""
    hints = get_type_hints(options)
    own = get_annotations(options)
    found = [
        Parameter(each.name, *_kind(hints[each.name]), each.default, each.metadata[_TEXT])
        for each in fields(options)
        if _TEXT in each.metadata
    ]
    return tuple(sorted(found, key=lambda each: bool(each.flags) and each.name not in own))


def words_of(options: Any, of: type | None = None) -> Iterator[str]:
    """Yield the words of a command line that give these options; defaults are left out, paths are absolute.

    of: a base class of the options; its fields alone.
    """
    for each in parameters(of or type(options)):
        value = getattr(options, each.name)
        if value == each.default:
            continue
        flags = each.flags[:1]
        if each.kind is bool:
            yes, _, no = each.flags[0].partition("/")
            yield yes if value else no
            continue
        for one in value if each.count != 1 else (value,):
            yield from (
                *flags,
                str(one.absolute() if hasattr(one, "absolute") else getattr(one, "value", one)),
            )


def _kind(hint: Any) -> tuple[Any, int]:
    """Return the type of one value, and how many there are."""
    inner = get_args(hint)
    if NoneType in inner:
        (hint,) = (each for each in inner if each is not NoneType)
        inner = get_args(hint)
    if getattr(hint, "__origin__", None) is tuple:
        return inner[0], 0 if inner[-1] is Ellipsis else len(inner)
    return hint, 1


@command_options
class JsonOptions:
    """The format of a command's answer."""

    as_json: bool = flag("Print one JSON object on standard output.", "--json")
