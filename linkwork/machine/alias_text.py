"""Aliases in expressions and conditions: as words where they are legal names, in single quotes otherwise."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from linkwork.machine.yaml_document import Document

ALIASED = ("joints", "points", "constraints", "task", "signals")
"""Sections whose parts may have an alias that expressions and conditions accept."""
_WITH_EXPRESSIONS = ("constraints", "forces", "signals", "scene")
_EXPRESSIONS = frozenset(
    {"equation", "equals", "equals_m", "equals_rad", "equals_deg", "force_N", "torque_N_m"}
    | {"simulated", "closed_when", "when"}
)
_WORD = re.compile(r"'([^']*)'|[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?")


def with_own_names(text: str, aliases: Mapping[str, str]) -> str:
    """Return an expression or a condition with the machine's names in place of aliases.

    A quoted name that is no alias stays as it is; parsers refuse the quote.
    """

    def own(match: re.Match[str]) -> str:
        word = match[0] if match[1] is None else match[1]
        if word in aliases:
            return aliases[word]
        owner, _, part = word.rpartition(".")
        return f"{aliases[owner]}.{part}" if owner in aliases else match[0]

    return _WORD.sub(own, text) if aliases else text


def without_aliases(document: Document) -> Document:
    """Return a machine file with its own names in place of aliases, in all expressions and conditions."""
    data = document.data
    if not isinstance(data, dict):
        return document
    aliases = {
        row["alias"]: str(name)
        for section in ALIASED
        for name, row in _rows(data.get(section)).items()
        if isinstance(row, dict) and isinstance(row.get("alias"), str)
    }
    if not aliases:
        return document
    changed = {key: _replaced(data[key], aliases) for key in _WITH_EXPRESSIONS if key in data}
    return replace(document, data=data | changed)


def _rows(section: Any) -> dict[Any, Any]:
    return section if isinstance(section, dict) else {}


def _replaced(value: Any, aliases: Mapping[str, str], key: str = "") -> Any:
    if isinstance(value, dict):
        inner = "equals" if key in ("coordinates", "factors") else ""  # their values are formulas
        return {name: _replaced(each, aliases, inner or str(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, aliases, key) for each in value]
    return with_own_names(value, aliases) if isinstance(value, str) and key in _EXPRESSIONS else value
