"""Short texts of large objects, for notebooks and messages."""

from dataclasses import fields
from typing import Any

_LONGEST, _MOST = 60, 8
"""Characters of a value that is shown whole, and values that are shown."""


class Brief:
    """Base of large dataclasses: `repr` is one line, with sizes in place of arrays and long values.

    Declare the dataclass with `repr=False`.
    """

    def __repr__(self) -> str:
        found = [(each.name, getattr(self, each.name)) for each in fields(self)]  # type: ignore[arg-type]
        texts = [f"{name}={text}" for name, value in found if (text := _text(value))]
        more = ", …" if len(texts) > _MOST else ""
        return f"{type(self).__name__}({', '.join(texts[:_MOST])}{more})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """Show the same in notebooks, which would write every field of a dataclass."""
        printer.text(repr(self))


def _text(value: Any) -> str:
    """Return a value as short text, '' for one that says nothing in short."""
    if hasattr(value, "shape"):
        return f"<{' × '.join(map(str, value.shape))}>"
    if isinstance(value, str | int | float | bool):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    if isinstance(value, tuple | list | dict) and value:
        plain = all(isinstance(each, str | int | float) for each in value) and not isinstance(value, dict)
        return repr(value) if plain and len(repr(value)) <= _LONGEST else f"<{len(value)}>"
    return ""
