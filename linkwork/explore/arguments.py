"""Parameters of requests, made from the JSON schemas of their models: valid by the schema, edges, and wrong.

A request that is added later is covered by itself. Names are drawn from those of the machine.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, Final

from linkwork.machine import Machine
from linkwork.protocol.requests import params_of

Schema = Mapping[str, Any]
WRONG: Final[Sequence[Any]] = (
    None, math.nan, math.inf, -1, 0, 2**63, 1e308, True, "", "x" * 5000, "é\n", [], {}, [[[]]], {"": None},
)  # fmt: skip
"""What is wrong in most places."""
ENVELOPE: Final = ("as", "at_tick")
"""Parameters that the workload chooses itself."""
DEEPEST: Final = 6


@cache
def schema_of(method: str) -> Schema:
    """Return the JSON schema of a request's parameters."""
    return params_of(method).model_json_schema(by_alias=True)


def names_of(machine: Machine) -> list[str]:
    """Return the names that requests for a machine may use."""
    named = [*machine.joints, *machine.sensors, *machine.inputs, *machine.outputs, *machine.mechanism.points]
    names = [str(getattr(each, "name", "")) for each in named]
    return sorted({*names, *machine.mechanism.coordinate_names, *machine.switchable} - {""})


class Arguments:
    """Draws parameters of requests. names: of joints, points, signals and so on."""

    def __init__(self, random: Random, names: Sequence[str]) -> None:
        self._random, self._names = random, names

    def drawn(self, method: str) -> dict[str, Any]:
        """Return parameters that the schema of a request allows, often at the edges of what it allows."""
        schema = schema_of(method)
        found: dict[str, Any] = self._object(schema, schema.get("$defs", {}), 0)
        return {key: value for key, value in found.items() if key not in ENVELOPE}

    def varied(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with other values of some that the request may have, such as `rest`."""
        drawn, required = self.drawn(method), schema_of(method).get("required", ())
        return {**params, **{key: value for key, value in drawn.items() if key not in required}}

    def spoilt(self, value: Any) -> Any:
        """Return parameters that are wrong in one place, at any depth."""
        random = self._random
        if isinstance(value, dict) and value and random.random() < 0.8:
            key = random.choice(sorted(value))
            draw = random.random()
            if draw < 0.15:
                return {name: each for name, each in value.items() if name != key}
            if draw < 0.3:
                return {**value, random.choice(("other", "at_tick", key + "x")): random.choice(WRONG)}
            return {**value, key: self.spoilt(value[key])}
        if isinstance(value, list) and value and random.random() < 0.7:
            at = random.randrange(len(value))
            return [*value[:at], self.spoilt(value[at]), *value[at + 1 :]]
        return random.choice(WRONG)

    def _value(self, schema: Schema, defs: Schema, depth: int) -> Any:
        random = self._random
        if "$ref" in schema:
            return self._value(defs[schema["$ref"].rpartition("/")[2]], defs, depth)
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self._value(random.choice(schema[several]), defs, depth)
        if "enum" in schema:
            return random.choice(schema["enum"])
        match schema.get("type"):
            case "boolean":
                return random.random() < 0.5
            case "integer" | "number" as kind:
                return self._number(schema, kind)
            case "string":
                return random.choice([*self._names, "unknown"])[: schema.get("maxLength", 64)]
            case "array":
                least = schema.get("minItems", 0)
                count = random.randint(least, max(least, min(schema.get("maxItems", 3), 3)))
                return [self._value(schema.get("items", {}), defs, depth + 1) for _ in range(count)]
            case "object":
                return self._object(schema, defs, depth + 1)
        return schema.get("const")

    def _object(self, schema: Schema, defs: Schema, depth: int) -> dict[str, Any]:
        random, required = self._random, schema.get("required", ())
        rare = 0.3 if depth < DEEPEST else 0.0
        found = {
            name: self._value(each, defs, depth)
            for name, each in schema.get("properties", {}).items()
            if name in required or random.random() < rare
        }
        others = schema.get("additionalProperties")
        if isinstance(others, Mapping):
            count = random.randint(schema.get("minProperties", 0), min(schema.get("maxProperties", 3), 3))
            for name in random.sample(self._names, min(count, len(self._names))):
                found[name] = self._value(others, defs, depth)
        return found

    def _number(self, schema: Schema, kind: str) -> float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1.0))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 2.0))
        usual = self._random.uniform(max(low, -1.0), min(high, max(low, -1.0) + 2.0))
        value = self._random.choice((low, high, low - 1, high + 1, usual, usual, usual, usual, usual, usual))
        return round(value) if kind == "integer" else round(float(value), 6)
