"""The JSON schema of the machine file, by which editors complete and check it."""

from typing import Any

from linkwork.machine.sections.fields import ARITHMETIC_PATTERN
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.repeat import Repeats


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12): each key with a description and, as `unit`, its unit."""
    data = MachineFile.model_json_schema(mode="validation")
    templates = Repeats.model_json_schema(mode="validation")
    data["$defs"] |= templates["$defs"]
    data["properties"] |= templates["properties"]
    data["required"] = ["name"]  # bodies and joints may all be in templates
    data = _with_arithmetic(for_editors(data))
    data["properties"]["initial"]["propertyNames"] = {"pattern": "_(rad|deg|m)(_s)?$"}
    data["properties"]["initial_guess"]["propertyNames"] = {"pattern": "_(rad|deg|m)$"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A linkwork machine", **data}


def _with_arithmetic(node: Any) -> Any:
    """Return a part of the schema in which a text of arithmetic may stand for each number."""
    if isinstance(node, list):
        texts = any(isinstance(item, dict) and item.get("type") == "string" for item in node)
        return [item if texts and item == {"type": "number"} else _with_arithmetic(item) for item in node]
    if not isinstance(node, dict):
        return node
    inner = {key: _with_arithmetic(value) for key, value in node.items() if key not in ("default", "enum")}
    whole = node | inner
    if node.get("type") != "number":
        return whole
    return whole | {"type": ["number", "string"], "pattern": ARITHMETIC_PATTERN}


def for_editors(node: Any) -> Any:
    """Return a part of the schema without entries that confuse editors.

    Titles made from keys hide the descriptions; a sensor that says only `velocity: true` fits both its forms,
    so that forms must be any of, not one of; an invalid name must not pass as an unknown pattern.
    """
    if isinstance(node, list):
        return [for_editors(item) for item in node]
    if not isinstance(node, dict):
        return node
    clean = {
        "anyOf" if key == "oneOf" else key: for_editors(value)
        for key, value in node.items()
        if key not in ("title", "discriminator")
    }
    return {**clean, "additionalProperties": False} if "patternProperties" in clean else clean
