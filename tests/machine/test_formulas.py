"""Formulas in the machine file: what they make, and where a mistake in one is placed."""

import math

import numpy as np
import pytest

from linkwork import machine

MACHINE = """name: cam
bodies:
  wheel: {mass_kg: 1, inertia_kg_m2: [0.1, 0.1, 0.1, 0, 0, 0]}
  rod: {mass_kg: 0.5, inertia_kg_m2: [0.01, 0.01, 0.01, 0, 0, 0]}
joints:
  crank: {type: revolute, parent: world, child: wheel, axis: [0, 1, 0]}
  lift: {type: prismatic, parent: world, child: rod, axis: [0, 0, 1]}
points:
  pin: {body: wheel, at_m: [0.1, 0, 0]}
task:
  height: {coordinate: pin.z}
initial: {crank_deg: 30, crank_rad_s: 2}
constraints:
  k: """


@pytest.mark.parametrize(
    ("text", "lift", "speed"),
    [
        ("{type: expression, equation: lift = 0.1*cos(crank)}", "0.1*cos(c)", "-0.2*sin(c)"),
        ("{type: expression, equation: 'lift - 0.1*cos(crank) = 0'}", "0.1*cos(c)", "-0.2*sin(c)"),
        ("{type: coordinate, of: lift, equals_m: 0.05*crank**2}", "0.05*c*c", "0.2*c"),
        ("{type: coupling, factors: {lift: 2}, equals: sin(crank) + t}", "0.5*sin(c)", "cos(c) + 0.5"),
        ("{type: expression, equation: lift + pin.z = 0}", "0.1*sin(c)", "0.2*cos(c)"),
        ("{type: expression, equation: height = -lift}", "0.1*sin(c)", "0.2*cos(c)"),
        ("{type: motion, coordinates: {lift: '0.3 + 2*t'}}", "0.3", "2"),
        ("{type: velocity, factors: {lift: 1, crank: -0.1*crank}}", "0", "0.2*c"),
        ("{type: velocity, factors: {lift: 2}, equals: 3*cos(t)}", "0", "1.5"),
    ],
)
def test_formulas_hold_where_the_machine_starts(write, text, lift, speed):
    loaded = machine.load(write(MACHINE + text))
    names = {"c": math.radians(30), "sin": math.sin, "cos": math.cos}
    assert loaded.initial_q == pytest.approx([math.radians(30), eval(lift, names)], abs=1e-12)
    assert loaded.initial_v == pytest.approx([2.0, eval(speed, names)], abs=1e-12)
    assert loaded.assembly.dof == 1


def test_degrees_of_a_formula_are_degrees(write):
    loaded = machine.load(write(MACHINE + "{type: coordinate, of: crank, equals_deg: 45 + 10*lift}"))
    assert np.degrees(loaded.initial_q[0]) == pytest.approx(45 + 10 * loaded.initial_q[1])


LINE = "line: {from_m: [0, 0, 0], to_m: [1, 0, 0], duration_s: 1}"


@pytest.mark.parametrize(
    ("text", "key", "mark", "says"),
    [
        ("{type: expression, equation: lift = sn(crank)}", "equation", "sn(", "write sin"),
        ("{type: expression, equation: 'lift = 2*crnk'}", "equation", "crnk", "write crank"),
        ("{type: expression, equation: lift = pin.w}", "equation", "pin.w", "x, y, z, roll"),
        ("{type: expression, equation: lift = pn.z}", "equation", "pn.z", "write pin.z"),
        ('{type: expression, equation: "lift = crank^2"}', "equation", "^2", "write **"),
        ("{type: expression, equation: lift - crank}", "equation", "}", "= 0"),
        ("{type: expression, equation: 3}", "equation", "3}", "an equation in quotes"),
        ("{type: expression, equation: t = 3}", "equation", "t = 3", "names no coordinate"),
        ("{type: expression}", "equation", "k:", "add equation"),
        ("{type: expression, equation: lift = sqrt(crank - 9)}", "", "k:", "not a number"),
        ("{type: coordinate, of: lift, equals_m: 2 x}", "equals_m", "x}", "write * for a product"),
        ("{type: coordinate, of: lift, equals_m: [1]}", "equals_m", "[1]", "an expression"),
        ("{type: coordinate, of: lift, equals_m: .inf}", "equals_m", ".inf", "not finite"),
        ("{type: coordinate, of: lift, equals_rad: sin(t)}", "equals_rad", "equals_rad", "equals_m"),
        ("{type: motion}", "", "{type", "add coordinates"),
        ("{type: motion, coordinates: {lft: t}}", "coordinates.lft", "lft", "write lift"),
        ("{type: motion, coordinates: {lift: true}}", "coordinates.lift", "true", "a number"),
        ("{type: motion, curve: {}}", "curve", "{}", "line or circle or helix is missing"),
        (
            f"{{type: motion, curve: {{{LINE}, of: [pin.x, lift, pin.zz]}}}}",
            "curve.of[2]",
            "pin.zz",
            "no such coordinate",
        ),
        ("{type: velocity, factors: {lift: abs(crank)}}", "factors.lift", "abs", "not smooth"),
        ("{type: velocity, factors: {}}", "factors", "{}", "1 entries at least"),
    ],
)
def test_mistakes_in_formulas_are_placed(problems_of, text, key, mark, says):
    content = MACHINE + text
    (problem,) = problems_of(content)
    assert problem.key == (f"constraints.k.{key}" if key else "constraints.k")
    assert says in str(problem)
    line = content.splitlines()[problem.line - 1]
    assert line[problem.column - 1 :].startswith(mark), line[problem.column - 1 :]


def test_a_folded_formula_counts_its_characters(problems_of):
    text = MACHINE + "\n    type: expression\n    equation: >\n      lift\n      = crnk\n"
    (problem,) = problems_of(text)
    assert problem.found == "crnk (character 8)"


def test_a_coordinate_called_t_is_told(problems_of):
    text = MACHINE.replace("lift:", "t:") + "{type: expression, equation: t = 0.1*sin(crank)}"
    (problem,) = problems_of(text)
    assert "another name" in problem.remedy


def test_a_disc_that_rolls_keeps_where_it_was_put(write):
    text = """name: coin
bodies:
  coin: {mass_kg: 0.1, inertia_kg_m2: [0.0001, 0.0001, 0.0002, 0, 0, 0]}
joints:
  j: {type: free, parent: world, child: coin}
constraints:
  floor: {type: rolling, a: {body: world, axis: [0, 0, 1]}, b: {body: coin, axis: [0, 0, 1]}, radius_m: 0.1}
initial: {j.x_m: 3, j.y_m: -2, j.z_m: 0.09, j.x_m_s: 1}
initial_guess: {j.roll_deg: 60}
"""
    loaded = machine.load(write(text))
    assert loaded.initial_q[:2] == pytest.approx([3, -2])
    assert loaded.assembly.dof == 3
    assert loaded.assembly.rank == 3
    upright = 2.0 * math.hypot(*loaded.initial_q[3:5]) * math.sqrt(1 - sum(loaded.initial_q[3:5] ** 2))
    assert loaded.initial_q[2] == pytest.approx(0.1 * upright)
