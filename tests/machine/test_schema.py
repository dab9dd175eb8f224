"""The JSON schema says what the loader says, and the documentation knows every key."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from linkwork import machine
from linkwork.machine.yaml_document import parse_yaml, read_yaml

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "machine_file.md", *sorted((ROOT / "docs" / "machine_file").glob("*.md")))
UNITS = {
    *("kg", "m", "s", "hz", "MB", "rad", "deg", "N", "kg_m2", "N_m", "N_m_s", "N_s_m", "N_s", "rad_m"),
    *(
        "m_per_rad",
        "m_s",
        "m_s2",
        "m_s3",
        "rad_s",
        "rad_s2",
        "rad_s3",
        "deg_s",
        "deg_s2",
        "deg_s3",
        "m_per_turn",
    ),
}


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(machine.schema())
    return jsonschema.Draft202012Validator(machine.schema())


def documentation() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def keys_and_places() -> list[tuple[str, str, dict]]:
    data = machine.schema()
    parts = {"the file": data, **data["$defs"]}
    return [(key, part, row) for part, rows in parts.items() for key, row in rows["properties"].items()]


@pytest.mark.parametrize("name", machine.shipped())
def test_machines_that_ship_are_valid(name, validator):
    validator.validate(read_yaml(machine.shipped_path(name)).data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mass_kg: 20", "mas_kg: 20"),
        ("mass_kg: 20", "mass_kg: -1"),
        ("mass_kg: 20", "mass_kg: heavy"),
        ("type: revolute", "type: ball"),
        ("[0, 0, 1]", "[0, 1]"),
        ("velocity_rad_s: 2,", "velocity_m_s: 2,"),
        ("max_force_N: 100", "max_force_N: 0"),
        ("tool.yaw", "tool.yow"),
        ("  tool: {body", "  to-ol: {body"),
        ("lift_m: 0", "lift: 0"),
        ("law: pidc", "law: pid"),
        ("controller:", "kontroller:"),
    ],
)
def test_what_the_loader_refuses_the_schema_refuses(old, new, validator, scara_text, problems_of):
    text = scara_text.replace(old, new, 1)
    assert problems_of(text)
    assert not validator.is_valid(parse_yaml(text).data)


def test_the_shipped_schema_is_the_current_one():
    """Made anew by: linkwork schema > configs/machine.schema.json."""
    lying_there = (ROOT / "configs" / "machine.schema.json").read_text(encoding="utf-8")
    assert json.loads(lying_there) == machine.schema()


def test_every_key_has_a_description_and_its_unit():
    for key, part, row in keys_and_places():
        assert row.get("description"), f"{key} of {part}"
        suffix = next((u for u in sorted(UNITS, key=len, reverse=True) if key.endswith("_" + u)), None)
        if suffix is not None:
            assert row["unit"], f"{key} of {part}"
            assert f"[{row['unit']}]" in row["description"]


def test_the_documentation_names_every_key():
    text = documentation()
    named = set(re.findall(r"`(\w+)`", text))
    assert {key for key, _, _ in keys_and_places()} <= named


def test_the_documentation_names_every_choice():
    text = documentation()
    for _, _, row in keys_and_places():
        for choice in row.get("enum", [row["const"]] if "const" in row else []):
            assert f"`{choice}`" in text


def test_the_examples_of_the_documentation_are_right(write, validator):
    examples = re.findall(r"```yaml\n(.*?)```", documentation(), re.DOTALL)
    pendulum, crank_rocker = (part for part in examples if part.startswith("name:"))
    settings = next(part for part in examples if part.startswith("plant:"))
    for example in (pendulum, crank_rocker):
        validator.validate(parse_yaml(example).data)
        assert machine.check(write(example)) == ()
    both = machine.load(write(pendulum + settings))
    assert both.model_hash != both.plant_model_hash
    assert both.plant_mechanism.bodies[0].mass_kg == pytest.approx(1.44)


def test_the_documented_message_is_the_one_printed(scara_text, write):
    path = write(scara_text.replace("mass_kg: 20", "mas_kg: 20"), "scara.yaml")
    (problem,) = machine.check(path)
    assert str(problem).replace(str(path), "scara.yaml") in documentation()


def test_the_documented_defaults_are_the_real_ones():
    text = (ROOT / "docs" / "machine_file" / "daemons.md").read_text(encoding="utf-8")
    row_of = re.compile(r"^\| `(\w+)` \|[^|]*\| ([\w.]+) \|", re.MULTILINE)
    before, _, rest = text.partition("## `twin`")
    daemons, twin = dict(row_of.findall(before)), dict(row_of.findall(rest.partition("## `driver`")[0]))
    pages = dict.fromkeys(("PlantSettings", "ControllerSettings", "Tolerances"), daemons) | {
        "TwinSettings": twin
    }
    checked = 0
    for key, part, row in keys_and_places():
        default, documented = row.get("default"), pages.get(part, {})
        if documented and isinstance(default, bool):
            assert documented[key] == str(default).lower()
        elif documented and isinstance(default, str | int | float):
            assert documented[key] == default or float(documented[key]) == default, key
            checked += 1
    assert checked > 19
