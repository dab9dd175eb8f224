"""The table of laws, and that whatever lists laws agrees with it."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from linkwork.machine import schema
from linkwork.protocol.laws import (
    FREE_LAWS,
    MOTION_LAW_NAMES,
    MOTION_LAWS,
    POSITION_LAWS,
    REST_LAW_NAMES,
    REST_LAWS,
    LawKind,
    MotionLawName,
    law_named,
)
from linkwork.protocol.request_table import REQUESTS

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "protocol" / "laws.py"


def test_each_law_has_its_own_number_and_name() -> None:
    assert len(LawKind.__members__) == len(LawKind)
    assert [int(kind) for kind in LawKind] == list(range(len(LawKind)))
    assert all(law_named(kind.label) is kind is LawKind(int(kind)) for kind in LawKind)
    with pytest.raises(ValueError, match=r"no law 'pdic'; there are none, hold, pidc"):
        law_named("pdic")


def test_numbers_in_old_logs_keep_their_meaning() -> None:
    names = [kind.label for kind in LawKind][:7]
    assert names == ["none", "hold", "pidc", "servo", "float", "damp", "hybrid"]


@pytest.mark.parametrize("kind", list(LawKind))
def test_each_factory_is_a_class_that_takes_a_machine_and_what_its_laws_share(kind: LawKind) -> None:
    factories = [kind.spec.factory] if kind.spec.factory else []
    assert kind.spec.about
    assert factories or kind is LawKind.CUSTOM  # the machine file names its class
    for text in factories:
        module, _, name = text.partition(":")
        made = getattr(import_module(module), name)
        assert next(iter(inspect.signature(made).parameters)) == "machine"
        assert len(inspect.signature(made).parameters) == 2
        assert callable(made.__call__)


def test_laws_by_what_they_follow_and_where_they_are_chosen() -> None:
    assert MOTION_LAWS[:3] == (LawKind.PIDC, LawKind.SERVO, LawKind.CUSTOM)
    assert REST_LAWS == (LawKind.HOLD, LawKind.FLOAT, LawKind.DAMP)
    assert POSITION_LAWS[:4] == (LawKind.HOLD, LawKind.PIDC, LawKind.SERVO, LawKind.CUSTOM)
    assert FREE_LAWS == (LawKind.FLOAT, LawKind.DAMP)


def test_schema_and_command_lines_offer_the_laws_of_motion() -> None:
    section = schema()["$defs"]["ControllerSettings"]["properties"]["law"]
    assert section["enum"] == list(MOTION_LAW_NAMES) == list(get_args(MotionLawName))
    assert section["default"] == MOTION_LAW_NAMES[0]
    assert all(law.spec.about in section["description"] for law in MOTION_LAWS)


def test_pages_name_the_laws_of_the_table() -> None:
    page = (ROOT / "docs" / "machine_file" / "daemons.md").read_text("utf-8")
    chosen = {"never": "by the loop"}
    for law in LawKind:
        where = chosen.get(law.spec.chosen, law.spec.chosen)
        assert f"\n| {int(law)} | `{law.label}` | {law.spec.about} | {where} |\n" in page
    assert f"| `law` | | {MOTION_LAW_NAMES[0]} |" in page
    protocol = (ROOT / "protocol" / "README.md").read_text("utf-8")
    choices = ", ".join(f"`{name}`" for name in REST_LAW_NAMES)
    assert f"| `law` | yes | {REQUESTS['law'].role.word} | `name` *required*: {choices};" in protocol
    assert ", ".join(REST_LAW_NAMES) in REQUESTS["law"].about


def test_no_other_file_has_a_list_of_laws() -> None:
    names = "|".join({*MOTION_LAW_NAMES, "hybrid"})
    written = re.compile(rf"""["']({names})["']""")
    rooms = [ROOT / room for room in ("controller", "plant", "protocol", "linkwork")]
    files = {path.resolve() for room in rooms for path in room.rglob("*.py")} - {TABLE}
    assert len(files) > 400
    assert [path for path in files if written.search(path.read_text("utf-8"))] == []
