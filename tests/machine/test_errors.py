"""Each kind of mistake in a machine file gets its place, its key, and what to do about it."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork import machine
from linkwork.machine.yaml_document import read_yaml

CASES = read_yaml(Path(__file__).with_name("mistakes.yaml")).data


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_placed_and_explained(name, scara_text, problems_of):
    old, new, key, at, words = (CASES[name][part] for part in ("replace", "by", "key", "at", "says"))
    assert old in scara_text
    text = scara_text.replace(old, new, 1)
    before = text[: text.index(at, max(0, scara_text.index(old) - 120))].split("\n")
    found = problems_of(text)
    matching = [problem for problem in found if problem.key == key and words in str(problem)]
    assert matching, "\n".join(map(str, found))
    assert (matching[0].line, matching[0].column) == (len(before), len(before[-1]) + 1)
    assert matching[0].severity == "error"
    assert str(matching[0]).startswith(f"{matching[0].file}:{matching[0].line}:{matching[0].column}: error: ")


def test_a_known_place_by_its_numbers(problems_of):
    problem, other = problems_of(
        "name: m\nbodies: {}\njoints:\n  j: {type: fixed, parent: world, child: b, axs: 1}\n"
    )
    assert (problem.line, problem.column, problem.key) == (2, 9, "bodies")
    assert (other.line, other.column, other.key, other.found) == (4, 45, "joints.j.axs", "axs")


def test_several_mistakes_are_told_at_once_in_the_order_of_the_file(scara_text, problems_of):
    text = (
        scara_text.replace("mass_kg: 20", "mas_kg: 20")
        .replace("law: pidc", "law: pid")
        .replace("0.05]", "x]")
    )
    text = text.replace("position_m: [-0.05, 0.45]", "position_m: [0.2, -0.05]")
    keys = [problem.key for problem in problems_of(text)]
    assert keys == ["bodies.shoulder_link.mas_kg", "joints.lift.limits.position_m", "controller.law"]


def test_several_wrong_names_are_told_at_once(scara_text, problems_of):
    text = scara_text.replace("parent: elbow_link", "parent: elbw_link").replace("tool.x", "tol.x")
    text = text.replace("shoulder_deg: 30", "shoulder_deg: 999")
    assert [p.key for p in problems_of(text)] == [
        "joints.wrist.parent",
        "task.x.coordinate",
        "initial.shoulder_deg",
    ]


def test_a_misspelt_key_is_not_also_reported_missing(scara_text, problems_of):
    assert len(problems_of(scara_text.replace("mass_kg: 20", "masskg: 20"))) == 1


def test_a_bad_joint_does_not_blame_its_motor(scara_text, problems_of):
    assert [p.key for p in problems_of(scara_text.replace("type: revolute", "type: hinge", 1))] == [
        "joints.shoulder.type"
    ]


def test_what_the_mechanism_refuses_is_placed_too(problems_of):
    text = """
name: m
bodies:
  a: {mass_kg: 0, inertia_kg_m2: [0, 0, 0, 0, 0, 0]}
joints:
  j: {type: prismatic, parent: world, child: a, axis: [0, 0, 1]}
"""
    (problem,) = problems_of(text)
    assert (problem.line, problem.column, problem.key) == (6, 3, "joints.j")
    (problem,) = problems_of(text.replace("prismatic", "fixed").replace(", axis: [0, 0, 1]", ""))
    assert (problem.line, problem.key) == (5, "joints")


def test_an_error_survives_pickling_and_says_everything(scara_text, problems_of):
    error = machine.MachineError(problems_of(scara_text.replace("mass_kg: 20", "mas_kg: 20")))
    again = pickle.loads(pickle.dumps(error))
    assert again.problems == error.problems
    assert str(again) == str(error.problems[0])


def test_check_returns_what_load_raises(scara_text, write):
    path = write(scara_text.replace("mass_kg: 20", "mas_kg: 20"))
    (problem,) = machine.check(path)
    assert problem.remedy == "write mass_kg"


def test_a_key_that_belongs_one_level_deeper_is_told_where(scara_text, problems_of):
    (problem,) = problems_of(scara_text.replace("elbow: {velocity", "elbow: {counts_per_turn: 9, velocity"))
    assert (problem.message, problem.remedy) == ("unknown key", "write it under position")


@pytest.mark.parametrize("damping", [0.5, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("share", [0.99, 1.01])
def test_check_warns_of_a_bandwidth_that_the_period_does_not_allow(scara_text, write, damping, share):
    """As the eigenvalues of the error dynamics say when the effort is held for a period."""
    period_s = share * {0.5: 2.0, 0.7: 1.0 / 0.7, 1.0: 1.0, 2.0: 0.5}[damping] / 20.0
    step, gains = [period_s**2 / 2, period_s], [20.0**2, 2 * damping * 20.0]
    held = np.array([[1.0, period_s], [0.0, 1.0]]) - np.outer(step, gains)
    unstable = np.abs(np.linalg.eigvals(held)).max() > 1.0
    text = scara_text.replace("period_s: 0.001", f"period_s: {period_s}")
    text = text.replace("bandwidth_rad_s: 20", f"bandwidth_rad_s: 20\n  damping_ratio: {damping}", 1)
    assert unstable == (share > 1.0)
    assert any("unstable" in each.message for each in machine.check(write(text))) == unstable


def test_check_warns_of_brakes_that_do_not_hold_and_of_joints_that_cannot_be_controlled(scara_text, write):
    weak = scara_text.replace("brake_force_N: 60", "brake_force_N: 4")
    (problem,) = machine.check(write(weak))
    assert (problem.severity, problem.key, problem.found) == ("warning", "motors.lift.brake_force_N", "4 N")
    assert "4.905" in problem.allowed
    assert machine.check(write(weak.replace("on_timeout: brake", "on_timeout: damp"))) == ()
    bare = scara_text[: scara_text.index("sensors:")] + scara_text[scara_text.index("initial:") :]
    (problem,) = machine.check(write(bare))
    assert (problem.severity, problem.key) == ("error", "sensors")
    assert "do not determine shoulder, elbow, wrist, lift" in problem.message


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parents=st.lists(st.integers(-1, 7), min_size=8, max_size=8))
def test_each_loop_of_joints_is_reported_once_at_its_first_joint(problems_of, parents):
    parents = [-1 if parent == k else parent for k, parent in enumerate(parents)]
    bodies = "".join(
        f"  b{k}: {{mass_kg: 1, com_m: [0, 0, 0], inertia_kg_m2: {{xx: 1, yy: 1, zz: 1}}}}\n"
        for k in range(8)
    )
    joints = "".join(
        f"  j{k}: {{type: fixed, parent: {'world' if parent < 0 else f'b{parent}'}, child: b{k}}}\n"
        for k, parent in enumerate(parents)
    )
    found = problems_of(f"name: m\nbodies:\n{bodies}joints:\n{joints}")

    def loop_of(body):
        """The bodies of the loop that leads back to this one, none if none does."""
        way = [body]
        while parents[way[-1]] >= 0 and parents[way[-1]] not in way:
            way.append(parents[way[-1]])
        return frozenset(way) if parents[way[-1]] == body else frozenset()

    loops = {loop_of(body) for body in range(8)} - {frozenset()}
    told = {problem.key for problem in found if "form a loop" in problem.message}
    assert told == {f"joints.j{min(loop)}.parent" for loop in loops}
    assert sum("form a loop" in problem.message for problem in found) == len(loops)
