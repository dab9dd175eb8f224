"""The JSON schema of the machine file, by which editors complete and check it."""

from __future__ import annotations

from typing import Any

from machine.file import MachineFile


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12): each key with a description and, as `unit`, its unit."""
    data = MachineFile.model_json_schema(mode="validation")
    data["properties"]["initial"]["propertyNames"] = {"pattern": "_(rad|deg|m)(_s)?$"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "linkwork machine", **data}
