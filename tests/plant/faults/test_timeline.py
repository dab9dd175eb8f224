"""Time lines: what is understood, and where and how the rest is refused."""

from __future__ import annotations

import json
import math
import typing
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.machine import MachineError, load
from linkwork.machine.yaml_document import parse_yaml
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import parse_condition
from linkwork.plant.faults.fault import Clear
from linkwork.plant.faults.timeline import (
    KINDS,
    Impossible,
    capabilities,
    check_timeline,
    from_data,
    read_timeline,
    schema,
)

MACHINE = load("scara")
GOOD = """
seed: 7
faults:
  - {at_s: 2.0, for_s: 0.05, wire: drop, direction: states, probability: 0.2}
  - {at_tick: 3000, for_ticks: 200, sensor: bias, of: elbow, by_rad: 0.01}
  - {when: "elbow.position > 0.3 and time_s > 1", name: weak, actuator: saturate, of: wrist, at_N_m: 5}
  - {at_s: 4, mechanism: change, set: ["shoulder_link.mass_kg=+20%"]}
  - {after_s: 1, mechanism: payload, of: wrist_link, mass_kg: 1, at_m: [0.1, 0, 0]}
  - {at_s: 6, processor: stall, of: controller, for_s: 0.03}
  - {at_s: 8, clear: weak}
  - {at_s: 9, clear: all}
"""


def problems(text: str, *, hardware: bool = False) -> list:
    with pytest.raises(MachineError) as caught:
        check_timeline(parse_yaml(text, "line.yaml"), MACHINE, hardware=hardware)
    return list(caught.value.problems)


def test_a_time_line_is_read_with_names_for_all(tmp_path: Path) -> None:
    path = tmp_path / "line.yaml"
    path.write_text(GOOD)
    line = read_timeline(path, MACHINE, hardware=False)
    assert line.seed == 7
    assert line.names == ("drop1", "bias2", "weak", "change4", "payload5", "stall6", "clear7", "clear8")
    assert [entry.kind for entry in line.entries][-2:] == ["clear", "clear"]


@pytest.mark.parametrize(
    ("entry", "key", "found", "remedy"),
    [
        ("{wire: dorp}", "faults[0].wire", "dorp", "write drop"),
        ("{wier: drop}", "faults[0]", "wier", "write wire"),
        (
            "{wire: drop, sensor: nan, of: elbow}",
            "faults[0].sensor",
            "wire, sensor",
            "write two faults, or remove sensor",
        ),
        ("{wire: drop, probabilty: 0.1}", "faults[0].probabilty", "probabilty", "write probability"),
        ("{wire: drop, probability: 1.5}", "faults[0].probability", "1.5", ""),
        ("{wire: drop, direction: up}", "faults[0].direction", "up", ""),
        ("{wire: drop, at_s: 1, at_tick: 2}", "faults[0].at_tick", "", "keep at_s only"),
        ("{wire: drop, for_s: 0}", "faults[0].for_s", "0", ""),
        ("{sensor: bias, of: elbwo, by_rad: 1}", "faults[0].of", "elbwo", "write elbow"),
        ("{sensor: bias, of: elbow, by_m: 1}", "faults[0].by_m", "by_m", "write by_rad"),
        ("{sensor: bias, of: elbow}", "faults[0]", "nothing", "add by_rad"),
        ("{sensor: nan}", "faults[0].of", "nothing", "add of"),
        ("{sensor: swap, of: elbow, other: lift}", "faults[0].other", "lift", ""),
        (
            "{sensor: noise, of: lift, std_m: 1, velocity_std_rad_s: 1}",
            "faults[0].velocity_std_rad_s",
            "",
            "",
        ),
        ("{sensor: bias, of: elbow, by_rad: .nan}", "faults[0].by_rad", ".nan", ""),
        ("{actuator: saturate, of: lift, at_N_m: 1}", "faults[0].at_N_m", "at_N_m", ""),
        ("{actuator: lose, of: nobody}", "faults[0].of", "nobody", ""),
        ("{actuator: friction, of: lift}", "faults[0]", "", "give coulomb_N_m or viscous_N_m_s"),
        ("{mechanism: open, of: guide}", "faults[0].of", "guide", ""),
        (
            "{mechanism: change, set: [lift_link.mas_kg=1]}",
            "faults[0].set",
            "lift_link.mas_kg",
            "write lift_link.mass_kg",
        ),
        (
            "{mechanism: payload, of: wrist_lnik, mass_kg: 1}",
            "faults[0].of",
            "wrist_lnik",
            "write wrist_link",
        ),
        ("{processor: stall, of: plant}", "faults[0]", "nothing", "add for_s"),
        ("{clear: weak}", "faults[0].clear", "weak", ""),
        ("{clear: all, for_s: 1}", "faults[0].for_s", "", "remove for_s"),
        ("{wire: drop, when: elbow.position}", "faults[0].when", "elbow.position", ""),
        ("{wire: drop, when: elbow.positon > 1}", "faults[0].when", "elbow.positon", "write elbow.position"),
        ("7", "faults[0]", "7", ""),
    ],
)
def test_what_is_wrong_is_placed_and_named(entry: str, key: str, found: str, remedy: str) -> None:
    (problem,) = problems(f"seed: 1\nfaults:\n  - {entry}\n")
    assert (problem.file, problem.line, problem.key) == ("line.yaml", 3, key)
    assert found in problem.found
    assert problem.remedy == remedy if remedy else True
    assert problem.column is not None


def test_two_faults_of_one_name() -> None:
    text = "faults:\n  - {name: a, wire: drop}\n  - {name: a, wire: delay}\n"
    (problem,) = problems(text)
    assert (problem.line, problem.key) == (3, "faults[1].name")


def test_all_problems_are_told_at_once() -> None:
    text = "faults:\n  - {sensor: nan, of: a}\n  - {actuator: lose, of: b}\n"
    assert [problem.line for problem in problems(text)] == [2, 3]


def test_hardware_refuses_what_it_cannot_with_a_reason() -> None:
    text = (
        "faults:\n  - {mechanism: change, set: [shoulder_link.mass_kg=1]}\n  - {actuator: stick, of: elbow}\n"
    )
    found = problems(text, hardware=True)
    assert [problem.line for problem in found] == [2, 3]
    assert "is hardware" in found[0].message
    with pytest.raises(Impossible):
        check_timeline(parse_yaml(text), MACHINE, hardware=True)


def test_every_kind_says_whether_a_machine_can_do_it() -> None:
    simulated, real = (capabilities(MACHINE, hardware=hardware) for hardware in (False, True))
    assert set(simulated) == set(real) == set(KINDS)
    without_signals = ["signal.stuck", "signal.delay", "signal.flicker"]
    without = {*without_signals, "mechanism.open", "mechanism.spring", "mechanism.force"}
    assert {kind for kind, why in simulated.items() if why} == without
    refused = {kind for kind, why in real.items() if why} - {*without_signals}
    assert refused == {"actuator.stick", *(kind for kind in KINDS if kind.startswith("mechanism."))}
    assert not capabilities(load("four_bar"), hardware=False)["mechanism.open"]


def test_every_key_that_names_something_is_compared_with_the_machine() -> None:
    for kind, fault in KINDS.items():
        named = {key for key in ("of", "other") if key in fault.model_fields}
        known = {key for key, _ in fault.machine_names()}
        words = {key for key in named if typing.get_origin(fault.model_fields[key].annotation) is Literal}
        assert known == named - words, kind


def test_the_schema_takes_what_is_good_and_refuses_what_is_not() -> None:
    rules = json.loads(json.dumps(schema()))
    jsonschema.Draft202012Validator.check_schema(rules)
    jsonschema.validate(parse_yaml(GOOD).data, rules)
    for bad in ({"faults": [{"wire": "dorp"}]}, {"fault": []}, {"faults": [{"sensor": "nan"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, rules)


VALUES = {"elbow.position": 0.5, "elbow.effort": -2.0, "time_s": 3.0, "tick": 3000.0}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("elbow.position > 0.3", True),
        ("elbow.position > 0.3 and time_s < 3", False),
        ("time_s >= 3 and tick <= 3000", True),
        ("sqrt(elbow.effort**2) > 2*elbow.position", True),
        ("1 / (time_s - 3) > 0", False),
        ("sqrt(elbow.effort) > 0", False),
        ("elbow.position < 30*deg", True),
        ("abs(elbow.effort) > 1.5", True),
        ("max(elbow.effort, elbow.position) < min(1, time_s)", True),
        ("tick < 0 or time_s > 2", True),
        ("tick < 0 and tick < 0 or time_s > 2", True),
        ("tick < 0 and (tick < 0 or time_s > 2)", False),
        ("(1 / (time_s - 3) > 0) or (time_s) > (2)", True),
        ("((elbow.position + 1) * 2 > 2)", True),
        ("(elbow.effort)**0.5 > 0", False),
    ],
)
def test_conditions(text: str, met: bool) -> None:
    assert parse_condition(text).met(VALUES) is met


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", 0),
        ("elbow.position", 0),
        ("1 < elbow.position < 2", 19),
        ("tick == 3", 5),
        ("not tick > 3", 0),
        ("tick > 3 or", 11),
        ("(tick > 3", 0),
        ("tick > 3)", 8),
        ("(tick > 3) + 1 > 2", 15),
        ("tick > 3 or (tick)", 11),
        ("abs(tick, 1) > 3", 0),
        ("(" * 45 + "tick > 3" + ")" * 45, 41),
        ("tick > 3 and", 12),
        ("t > 3", 0),
        ("__import__('os') > 1", 0),
        ("tick > exec(1)", 7),
    ],
)
def test_what_is_no_condition_is_placed(text: str, at: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_condition(text)
    assert caught.value.at == at


NUMBERS = st.sampled_from(["elbow.position", "elbow.effort", "time_s", "tick", "abs(elbow.effort)", "2.5"])
SIGNS = st.sampled_from(["<", "<=", ">", ">="])
COMPARISONS = st.tuples(NUMBERS, SIGNS, NUMBERS).map(" ".join)
CONDITIONS = st.recursive(
    COMPARISONS,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join) | inner.map("({})".format)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(CONDITIONS)
def test_a_condition_means_what_python_means_by_it(text: str) -> None:
    as_python = text.replace("elbow.position", "0.5").replace("elbow.effort", "-2.0")
    meant = eval(as_python, {"time_s": 3.0, "tick": 3000.0, "abs": abs})
    assert parse_condition(text).met(VALUES) is meant


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted(
    {key for fault in (*KINDS.values(), Clear) for key in fault.model_fields} | {"sensro", "", "a b"}
)
WORDS = st.sampled_from(
    ["drop", "bias", "nan", "lose", "change", "open", "stall", "all", "elbow", "lift", "wrist"]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(KEYS), WORDS | JUNK, max_size=5) | JUNK, max_size=3))
def test_whatever_comes_is_a_time_line_or_problems(faults: list) -> None:
    """As by a message: plain data without places."""
    found: Any = None
    try:
        line = from_data({"seed": 0, "faults": faults}, MACHINE, hardware=False, taken=(), given=())
        assert len(line.entries) == len(line.names) == len(set(line.names)) == len(faults)
    except MachineError as error:
        found = error.problems
    assert found is None or all(problem.message for problem in found)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="elbow.position<>=andor()+-*/ 0123456789tick", max_size=40))
def test_whatever_text_is_a_condition_or_refused(text: str) -> None:
    at = 0
    try:
        condition = parse_condition(text)
        assert condition.met(dict.fromkeys(condition.names, math.inf)) in (True, False)
    except ExpressionError as error:
        at = error.at
    assert 0 <= at <= max(1000, len(text))
