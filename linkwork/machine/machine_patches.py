"""Changed machine files: parts merged into their data, single keys replaced."""

import copy
import io
import re
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML

from linkwork.machine.problems import Place


def merged(data: Any, patch: Any) -> Any:
    """Return plain data with the keys of a patch replaced, mappings within mappings key by key."""
    if not (isinstance(data, dict) and isinstance(patch, Mapping)):
        return copy.deepcopy(patch)
    return {**data, **{key: merged(data.get(key), value) for key, value in patch.items()}}


def steps_of(key: str) -> list[str]:
    """Return the steps of a path: "a.b" has two; a name with dots stands in brackets, "gains[wrist.1].x"."""
    steps = re.findall(r"\[([^\]]+)\]|([^.\[\]]+)", key)
    return [inner or plain for inner, plain in steps] or [key]


def replaced(data: Any, key: str, value: Any) -> Any:
    """Return plain data with one value replaced or added; key: its path, "sensors.left.position.noise_rad".

    Raises KeyError, with the keys that there are, where the mapping that should hold it is missing.
    """
    return _replaced(data, steps_of(key), value)


def _replaced(data: Any, steps: list[str], value: Any) -> Any:
    first, *rest = steps
    if not isinstance(data, dict):
        raise KeyError("a key of a mapping")
    if not rest:
        return {**data, first: value}
    if first not in data:
        raise KeyError(", ".join(map(str, data)))
    return {**data, first: _replaced(data[first], rest, value)}


def as_yaml(data: Any) -> str:
    """Return plain data as YAML, keys in their order: it is that of the joints, motors and sensors."""
    writer: Any = YAML(typ="safe", pure=True)
    writer.sort_base_mapping_type_on_output = False
    stream = io.StringIO()
    writer.dump(data, stream)
    return stream.getvalue()


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return paths and their values as mappings within mappings."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        *way, last = steps_of(key)
        inner = found
        for step in way:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return found


def place_of(patch: Any, key: str) -> Place:
    """Return the longest part of a dotted key's path that a patch has."""
    place: list[str | int] = []
    for step in steps_of(key):
        if not isinstance(patch, Mapping) or step not in patch:
            break
        place.append(step)
        patch = patch[step]
    return tuple(place)
