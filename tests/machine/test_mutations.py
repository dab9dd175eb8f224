"""Whatever is done to a machine file, reading it gives a machine or problems, and never anything else."""

import json
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork import machine
from linkwork.machine.yaml_document import parse_yaml

TEXT = machine.shipped_path("scara").read_text(encoding="utf-8")
LINES = TEXT.splitlines(keepends=True)[10:]
DATA = parse_yaml(TEXT).data

JUNK = st.sampled_from(
    [
        *(
            "",
            "\t",
            " ",
            ":",
            "- ",
            "? ",
            "{",
            "]",
            "&a ",
            "*a",
            "!x ",
            "|",
            ">",
            "'",
            '"',
            "#",
            "%",
            "---\n",
            "...\n",
        ),
        *(
            "<<: ",
            r'"\ud800"',
            "!!int ",
            "\r",
            "\0",
            "\u2028",
            "\ufeff",
            "\ud7ff",
            "é",
            ".nan",
            "-.inf",
            "1e999",
            "9" * 400,
            "0x",
            "null",
        ),
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([1e12, -1e12, 1e-12, 1e-300, 5e-324, 0.0, -0.0, 1e-5, 90.0])
    | st.sampled_from(
        ["world", "shoulder", "shoulder_link", "tool.x", "revolute", "prismatic", "fixed", "+20%", "brake"]
    )
    | st.text(string.printable, max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def paths(data: Any, here: tuple = ()) -> list[tuple]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [here, *(path for key, value in inner for path in paths(value, (*here, key)))]


PATHS = paths(DATA)[1:]


@st.composite
def mangled_texts(draw) -> str:
    """The file's text with lines dropped, doubled, moved, and junk thrown in."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, draw(st.sampled_from(LINES)))
            case 2:
                column = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:column] + draw(JUNK | st.text(max_size=4)) + lines[at][column:]
            case 3:
                key, colon, _ = lines[at].partition(": ")
                lines[at] = key + colon + draw(JUNK | st.text(max_size=6)) + "\n"
            case _:
                lines[at] = draw(st.sampled_from(["", " ", "    "])) + lines[at].lstrip()
    return "".join(lines)


@st.composite
def mangled_data(draw) -> str:
    """The file's data with values replaced, keys renamed, added or dropped."""
    data = json.loads(json.dumps(DATA))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(PATHS))
        holder = data
        try:
            for step in way:
                holder = holder[step]
            match draw(st.integers(0, 3)) if isinstance(holder, dict) else 0:
                case 0:
                    holder[last] = draw(VALUES)
                case 1:
                    del holder[last]
                case 2:
                    holder[draw(st.sampled_from(["mass_kg", "world", "elbow", "limits", "set", "x"]))] = draw(
                        VALUES
                    )
                case _:
                    holder[last + draw(st.sampled_from(["_", "x", "_m", " "]))] = holder.pop(last)
        except (KeyError, IndexError, TypeError):
            continue
    return json.dumps(data, ensure_ascii=False).replace("NaN", ".nan").replace("Infinity", ".inf")


def must_be_a_machine_or_problems(path, content: bytes) -> None:
    path.write_bytes(content)
    problems = machine.check(path)
    if any(problem.severity == "error" for problem in problems):
        breaks = (b"\n", b"\r", "\u2028".encode(), "\u2029".encode(), "\u0085".encode())
        count = sum(content.count(one) for one in breaks) + 2
        for problem in problems:
            assert problem.message
            assert str(problem).startswith(str(path))
            assert problem.line is None or 1 <= problem.line <= count
    else:
        loaded = machine.load(path)
        assert loaded.mechanism.nv == len(loaded.joints) == len(loaded.initial_q)


SETTINGS = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "m.yaml"


@SETTINGS
@given(mangled_texts())
def test_mangled_text(file, text):
    must_be_a_machine_or_problems(file, text.encode("utf-8", "surrogatepass"))


@SETTINGS
@given(mangled_data())
def test_mangled_data(file, text):
    must_be_a_machine_or_problems(file, text.encode("utf-8", "surrogatepass"))


@SETTINGS
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes(file, content):
    must_be_a_machine_or_problems(file, content)


@SETTINGS
@given(
    st.text(max_size=30)
    | st.from_regex(r"(shoulder_link|elbow|gravity_m_s2)\.?(mass_kg|com_m|axis|gear)?=.*")
)
def test_any_setting(text):
    problems = machine.check("scara", [text])
    assert all(problem.message and problem.line is None for problem in problems)
