"""Machines that cannot be: each is refused at its line and key, with what to do; nothing is half-built."""

import pytest

from linkwork import machine

ARM = """name: arm
bodies:
  base: {mass_kg: 2, com_m: [0, 0, 0.1], inertia_kg_m2: [0.1, 0.1, 0.1, 0, 0, 0]}
  link: {mass_kg: 1, com_m: [0.2, 0, 0], inertia_kg_m2: [0.01, 0.05, 0.05, 0, 0, 0]}
  rod: {mass_kg: 0.5, com_m: [0.2, 0, 0], inertia_kg_m2: [0.001, 0.02, 0.02, 0, 0, 0]}
joints:
  turn: {type: revolute, parent: world, child: base, axis: [0, 0, 1]}
  crank: {type: revolute, parent: base, child: link, at_m: [0, 0, 0.2], axis: [0, 1, 0]}
  knee: {type: revolute, parent: link, child: rod, at_m: [0.4, 0, 0], axis: [0, 1, 0]}
points:
  tip: {body: rod, at_m: [0.4, 0, 0]}
constraints:
  guide: {type: coordinate, of: tip.z, equals_m: 0.2}
task:
  height: {coordinate: tip.z}
initial: {crank_deg: 30}
"""
ROD = "{mass_kg: 0.5, com_m: [0.2, 0, 0], inertia_kg_m2: [0.001, 0.02, 0.02, 0, 0, 0]}"
KNEE = "type: revolute, parent: link, child: rod, at_m: [0.4, 0, 0], axis: [0, 1, 0]"
GUIDE = "{type: coordinate, of: tip.z, equals_m: 0.2}"
ONE, TWO = "[0, 1, 0, 0, 0, 0]", "[0, 0, 1, 0, 0, 0]"
UP = "{body: world, axis: [0, 0, 1]}"
GROUND = "a: {body: world, at_m: [2, 0, 0], axis: [0, 1, 0]}"

CASES = {
    "no mass": (ROD, "{inertia_kg_m2: [1, 1, 1, 0, 0, 0]}", "bodies.rod.mass_kg", "rod", "add mass_kg"),
    "massless end": (
        ROD, "{mass_kg: 0, inertia_kg_m2: [0, 0, 0, 0, 0, 0]}", "joints.knee", "knee", "give the bodies",
    ),
    "mass on the axis": (
        ROD, "{mass_kg: 1, inertia_kg_m2: [0, 0, 0, 0, 0, 0]}", "joints.knee", "knee", "away from its axis",
    ),
    "inertia of nothing": ("mass_kg: 0.5", "mass_kg: 0", "bodies.rod.mass_kg", "0,", "give it mass"),
    "hardly any mass": ("mass_kg: 0.5", "mass_kg: 1e-300", "bodies.rod.mass_kg", "1e-300", "too small"),
    "negative mass": ("mass_kg: 0.5", "mass_kg: -0.5", "bodies.rod.mass_kg", "-0.5", "0 or more"),
    "triangle": ("0.02, 0.02, 0,", "0.02, 0.05, 0,", "bodies.rod.inertia_kg_m2", "[0.001", "triangle"),
    "products": ("0.02, 0.02, 0,", "0.02, 0.02, 0.5,", "bodies.rod.inertia_kg_m2", "[0.001", "none below 0"),
    "not a number": ("mass_kg: 0.5", "mass_kg: .nan", "bodies.rod.mass_kg", ".nan", "finite"),
    "infinite": (
        "at_m: [0.4, 0, 0], axis", "at_m: [-.inf, 0, 0], axis", "joints.knee.at_m[0]", "-.inf", "finite",
    ),
    "too large": ("mass_kg: 0.5", "mass_kg: 1e13", "bodies.rod.mass_kg", "1e13", "-1e+12 to 1e+12"),
    "parent": ("parent: link", "parent: lnk", "joints.knee.parent", "lnk", "write link"),
    "child": ("child: rod", "child: rd", "joints.knee.child", "rd", "write rod"),
    "loop": ("parent: base", "parent: rod", "joints.crank.parent", "rod", "under `constraints`"),
    "own parent": ("parent: link", "parent: rod", "joints.knee.parent", "rod", "its own ancestor"),
    "two keys": ("joints:\n", f"  rod: {ROD}\njoints:\n", "bodies.rod", "rod: {mass_kg: 0.5", "keep one"),
    "names of joint and task": ("  height:", "  crank:", "task.crank", "crank", "another name"),
    "axis of nothing": (
        "axis: [0, 1, 0]}\npoints", "axis: [0, 0, 0]}\npoints", "joints.knee.axis", "[0, 0, 0]", "direction",
    ),
    "out of reach": ("equals_m: 0.2", "equals_m: 3", "constraints.guide", "guide", "cannot be satisfied"),
    "closure out of reach": (
        GUIDE, f"{{type: revolute, {GROUND}, b: {{body: rod, axis: [0, 1, 0]}}}}", "constraints.guide",
        "guide", "check lengths and frames",
    ),
    "closure on itself": (
        GUIDE, "{type: weld, a: {body: rod}, b: {body: rod}}", "constraints.guide.b.body", "rod", "same body",
    ),
    "pitch at its end": (
        "of: tip.z, equals_m: 0.2", "of: tip.pitch, equals_deg: 90", "constraints.guide.equals_deg", "90",
        "no rates",
    ),
    "simple universal": (
        KNEE, f"type: simple, parent: link, child: rod, columns: [{ONE}, {TWO}]", "joints.knee.columns",
        "columns", "make it a compound joint",
    ),
    "the same column twice": (
        KNEE, f"type: compound, parent: link, child: rod, columns: [{ONE}, {ONE}]", "joints.knee.columns",
        "[[0", "depend on each other",
    ),
    "parallel axes": (
        KNEE, KNEE.replace("revolute", "universal") + ", second_axis: [0, -2, 0]", "joints.knee.second_axis",
        "[0, -2", "not parallel",
    ),
    "flat disc": (
        GUIDE, f"{{type: rolling, a: {UP}, b: {{body: base, axis: [0, 0, 1]}}, radius_m: 1}}",
        "constraints.guide", "guide", "not a number at this pose",
    ),
    "dependent goals": (
        "initial:", "controller: {goal_coordinates: [crank, knee]}\ninitial:", "controller.goal_coordinates",
        "[crank", "for example turn, crank",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_at_its_place(name, problems_of):
    old, new, key, mark, says = CASES[name]
    assert old in ARM
    content = ARM.replace(old, new, 1)
    (problem,) = problems_of(content)
    assert (problem.key, problem.severity) == (key, "error")
    assert says in str(problem)
    line = content.splitlines()[problem.line - 1]
    assert line[problem.column - 1 :].startswith(mark), line[problem.column - 1 :]


@pytest.mark.parametrize(
    "other",
    [
        "{type: coordinate, of: tip.z, equals_m: 0.3}",
        "{type: velocity, factors: {tip.z: 1}, equals: 1}",
        "{type: coordinate, of: height, equals_m: 0.2 + t}",
    ],
)
def test_constraints_that_contradict_each_other_are_both_named(other, problems_of):
    problems = problems_of(ARM.replace("task:", f"  other: {other}\ntask:"))
    assert [problem.key for problem in problems] == ["constraints.guide", "constraints.other"]
    assert all(problem.remedy and problem.found for problem in problems)


def test_the_arm_itself_is_in_order(write):
    assert machine.load(write(ARM)).assembly.dof == 2
    assert machine.check(write(ARM)) == ()
