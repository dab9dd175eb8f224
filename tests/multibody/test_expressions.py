"""Expressions: what is understood, values against Python's own arithmetic, and what is refused, where."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.multibody.expressions import ExpressionError, names_in, parse, parse_equation, renamed
from linkwork.multibody.expressions.program import COORDINATE, program_of

NAMES = {"x": 0, "y": 1, "tool.z": 2}
THETA = [0.3, -1.2, 0.7]
SPACE = {name: getattr(math, name) for name in ("sin", "cos", "exp", "tanh", "atan2", "pi")}


def value(text: str, time: float = 0.0) -> float:
    return program_of(parse(text), NAMES).value(THETA, time)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2*3 - 4/5", 6.2),
        ("-2**2", -4.0),
        ("2**-1", 0.5),
        ("2**3**2", 512.0),
        ("(1 + 2)*3", 9.0),
        ("- - x", 0.3),
        ("+x*-y", 0.36),
        ("8/4/2", 1.0),
        ("5-3-1", 1.0),
        (".5e1 + 2.e-1", 5.2),
        ("x**2 + y**3", 0.09 - 1.728),
        ("y**0 + x**1", 1.3),
        ("x**tool.z", 0.3**0.7),
        ("sqrt(x) + log(tool.z) + tan(x)", math.sqrt(0.3) + math.log(0.7) + math.tan(0.3)),
        ("asin(x) + acos(x) + atan(y)", math.pi / 2 + math.atan(-1.2)),
        ("atan2(x, y)", math.atan2(0.3, -1.2)),
        ("180*deg", math.pi),
        ("t*x", 0.6),
    ],
)
def test_arithmetic(text, expected):
    assert value(text, 2.0) == pytest.approx(expected, rel=1e-14)


leaves = st.sampled_from(["x", "y", "t", "pi", "2", "0.5", "3e-1"])
texts = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        inner.map(lambda s: f"({s})"),
        inner.map(lambda s: f"-({s})"),
        st.tuples(st.sampled_from(["sin", "cos", "tanh"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})/(4 + cos({p[1]}))"),
    ),
    max_leaves=8,
)


@given(texts)
def test_values_are_those_of_python(text):
    plain = eval(text, {"__builtins__": {}}, {**SPACE, "x": THETA[0], "y": THETA[1], "t": 1.5})
    assert value(text, 1.5) == pytest.approx(plain, rel=1e-12, abs=1e-12)


@given(st.text(max_size=40) | st.text("xyt()+-*/.,0123=sin ", max_size=40))
def test_any_text_is_an_expression_or_refused(text):
    places = [0]
    try:
        program_of(parse(text), NAMES)
    except ExpressionError as error:
        places.append(error.at)
    assert all(0 <= at <= len(text) for at in places)


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("2 x", 2, r"write \* for a product"),
        ("x(y)", 0, "unknown function"),
        ("sn(x)", 0, "write sin"),
        ("arcsin(x)", 0, "write asin"),
        ("ln(x)", 0, "write log"),
        ("1 + abs(x)", 4, r"not smooth.*sqrt\(x\*\*2"),
        ("min(x, y)", 0, "not smooth"),
        ("x^2", 1, r"write \*\*"),
        ("x − y", 2, "write -"),
        ("sin x", 0, r"write sin\(…\)"),
        ("sin(x", 3, "not closed"),
        ("x)", 1, "no opening bracket"),
        ("x +", 3, "missing here"),
        ("atan2(x)", 0, "atan2 of 2"),
        ("sin(x, y)", 0, "sin of 1"),
        ("x, y", 1, "operator is missing"),
        ("x = y", 2, "one = too many"),
        ("x.y.z", 3, "not allowed here"),
        ("__import__('os')", 0, "not allowed here"),
        ("x if y else t", 2, "operator"),
        ("[x]", 0, "not allowed here"),
        ("x; y", 1, "not allowed here"),
        ("1e999", 0, "too large"),
        ("x*sqrt(-1)", 2, "not a finite number"),
        ("x + 1/(2 - 2)", 5, "not a finite number"),
        ("x + z", 4, "no coordinate has this name.*x, y, tool.z, t"),
        ("(" * 50 + "x" + ")" * 50, 40, "nested too deeply"),
        ("+".join("x" * 400), 300, "too long"),
        ("x" * 1001, 1000, "too long"),
    ],
)
def test_what_is_refused(text, at, words):
    with pytest.raises(ExpressionError, match=words) as caught:
        program_of(parse(text), NAMES)
    assert caught.value.at == at


def test_a_hostile_text_takes_no_time():
    tower = "**".join(["x"] * 39)
    assert len(program_of(parse(tower), NAMES).instructions) < 400


def test_equations_names_and_new_names():
    tree = parse_equation("x + 1 = 2*tool.z*sin(t)")
    assert names_in(tree) == {"x": 0, "tool.z": 10}
    assert program_of(tree, NAMES).value(THETA, 0.5) == pytest.approx(1.3 - 1.4 * math.sin(0.5))
    for text in ("x", "x = y = t", "= x", "x ="):
        with pytest.raises(ExpressionError):
            parse_equation(text)
    assert renamed("tool.z + tool.zz*z", {"tool.z": "height"}) == "height + tool.zz*z"


def test_what_stands_twice_is_carried_out_once():
    program = program_of(parse("sin(x)*sin(x) + x*2*3"), NAMES)
    assert sum(operation == COORDINATE for operation, *_ in program.instructions) == 1
    assert len(program.instructions) <= 8
