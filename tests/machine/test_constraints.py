"""Constraints and joints of several degrees of freedom in the machine file: accepted and refused entries."""

import numpy as np
import pytest

from linkwork import machine

INERTIA = "inertia_kg_m2: [0.1, 0.1, 0.1, 0, 0, 0]"
TWO = f"""name: pair
bodies:
  a: {{mass_kg: 1, {INERTIA}}}
  b: {{mass_kg: 1, {INERTIA}}}
joints:
  a: {{type: free, parent: world, child: a}}
  b: {{type: free, parent: world, child: b}}
constraints:
  k: """
AXES = "a: {body: a, at_m: [0.1, 0, 0], axis: [0, 0, 1]}, b: {body: b, axis: [0, 0, 1]}"
FRAMES = "a: {body: a, at_m: [0.1, 0, 0], rpy_deg: [0, 0, 10]}, b: {body: b}"
PLACES = "a: {body: a, at_m: [0.1, 0, 0]}, b: {body: b}"


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        (f"{{type: point, {PLACES}}}", 3),
        (f"{{type: distance, {PLACES}, distance_m: 0.2}}", 1),
        (f"{{type: revolute, {AXES}}}", 5),
        (f"{{type: cylindrical, {AXES}}}", 4),
        (f"{{type: universal, {AXES.replace('b, axis: [0, 0, 1]', 'b, axis: [1, 0, 0]')}}}", 4),
        (f"{{type: prismatic, {FRAMES}, axis: [1, 0, 0]}}", 5),
        (f"{{type: weld, {FRAMES}}}", 6),
        ("{type: rolling, a: {body: world, axis: [0, 0, 1]}, b: {body: b}, radius_m: 0.3}", 3),
    ],
)
def test_every_kind_between_bodies(text, rank, write):
    loaded = machine.load(write(TWO + text))
    assert loaded.assembly.dof == 12 - rank
    assert loaded.assembly.residual < 1e-12


def test_coordinates_and_couplings(write):
    text = f"""name: gears
bodies:
  a: {{mass_kg: 1, {INERTIA}}}
  b: {{mass_kg: 1, {INERTIA}}}
  c: {{mass_kg: 1, {INERTIA}}}
joints:
  a: {{type: revolute, parent: world, child: a, axis: [0, 0, 1]}}
  b: {{type: revolute, parent: world, child: b, axis: [0, 0, 1]}}
  c: {{type: cylindrical, parent: world, child: c, axis: [0, 0, 1]}}
constraints:
  mesh: {{type: coupling, factors: {{a: 1, b: 2}}}}
  rack: {{type: coupling, factors: {{b: 0.05, c.slide: -1}}, equals: 0.1}}
  lock: {{type: coordinate, of: c.turn, equals_deg: 30}}
initial: {{a_deg: 40, a_deg_s: 10}}
"""
    loaded = machine.load(write(text))
    assert loaded.assembly.dof == 1
    assert loaded.assembly.kept == ("a",)
    assert loaded.goal_coordinates == ("a",)
    a, b = np.radians([40, -20])
    assert loaded.initial_q == pytest.approx([a, b, np.radians(30), 0.05 * b - 0.1])
    rate = np.radians(10)
    assert loaded.initial_v == pytest.approx([rate, -rate / 2, 0, -0.025 * rate])


def test_limits_and_motors_of_degrees_of_freedom(write):
    text = f"""name: sleeve
bodies:
  a: {{mass_kg: 1, {INERTIA}}}
joints:
  s:
    {{type: cylindrical, parent: world, child: a, axis: [0, 0, 1],
      limits: {{slide: {{position_m: [0, 0.2]}}}}}}
motors:
  s.turn: {{max_torque_N_m: 1, max_speed_rad_s: 1}}
  s.slide: {{max_force_N: 1, max_speed_m_s: 1}}
initial: {{s.slide_m: 0.1}}
"""
    loaded = machine.load(write(text))
    assert [(motor.joint, motor.index, motor.is_angle) for motor in loaded.motors] == [
        ("s.turn", 0, True),
        ("s.slide", 1, False),
    ]
    assert loaded.joints[1].position == (0, 0.2)
    for old, new, key in (
        ("slide: {position_m", "slide: {position_rad", "joints.s.limits.slide"),
        ("limits: {slide", "limits: {slid", "joints.s.limits.slid"),
        ("s.slide_m: 0.1", "s.slide_m: 0.3", "initial.s.slide_m"),
        ("  s.turn: {", "  s: {", "motors.s"),
        ("max_speed_rad_s: 1}", "max_speed_rad_s: 1, gear: 2}", "motors.s.turn.gear"),
        ("max_speed_m_s: 1}", "max_speed_m_s: 1, viscous_N_s_m: 2}", "motors.s.slide.viscous_N_s_m"),
        ("max_speed_m_s: 1}", "max_speed_m_s: 1, coulomb_N: 2}", "motors.s.slide.coulomb_N"),
    ):
        with pytest.raises(machine.MachineError) as caught:
            machine.load(write(text.replace(old, new)))
        assert [problem.key for problem in caught.value.problems] == [key]


SLIDER = machine.shipped_path("slider_crank").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "key", "says"),
    [
        ("of: tip.y", "of: tp.y", "constraints.guide.of", "write tip.y"),
        ("of: tip.y", "of: tip.w", "constraints.guide.of", "x, y, z, roll, pitch, yaw"),
        ("equals_m: 0", "equals_rad: 0", "constraints.guide.equals_rad", "equals_m"),
        ("equals_m: 0", "equals_deg: 0, equals_m: 0", "constraints.guide.equals_deg", "twice"),
        ("equals_m: 0", "equals_m: 3", "constraints.guide", "cannot be satisfied"),
        ("type: coordinate", "type: coordinat", "constraints.guide.type", "write coordinate"),
        (
            "{type: coordinate, of: tip.y, equals_m: 0}",
            "{type: point, a: {body: rod}, b: {body: rod}}",
            "constraints.guide.b.body",
            "same body",
        ),
        (
            "{type: coordinate, of: tip.y, equals_m: 0}",
            "{type: point, a: {body: rodd}, b: {body: world}}",
            "constraints.guide.a.body",
            "write rod",
        ),
        (
            "{type: coordinate, of: tip.y, equals_m: 0}",
            "{type: coupling, factors: {crank: 0}}",
            "constraints.guide.factors.crank",
            "has no effect",
        ),
        (
            "goal_coordinates: [crank]",
            "goal_coordinates: [crank, knee]",
            "controller.goal_coordinates",
            "1, one",
        ),
        ("velocity_rad_s: 20,", "position_deg: [0, 90], velocity_rad_s: 20,", "joints.knee.limits", "branch"),
    ],
)
def test_mistakes_are_placed(old, new, key, says, problems_of):
    text = SLIDER.replace(old, new, 1)
    assert text != SLIDER
    (problem,) = [each for each in problems_of(text) if each.key == key]
    assert says in str(problem)
    assert problem.line is not None
    assert key.split(".")[1] in text.splitlines()[problem.line - 1] or problem.line > 1


def test_a_universal_joint_of_constant_columns_is_refused_with_the_remedy(problems_of):
    text = f"""name: u
bodies:
  a: {{mass_kg: 1, {INERTIA}}}
joints:
  u: {{type: simple, parent: world, child: a, columns: [[0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]]}}
"""
    (problem,) = problems_of(text)
    assert problem.key.startswith("joints.u")
    assert "compound" in str(problem)


def test_the_branch_follows_the_guess(write):
    other = machine.load(
        write(SLIDER.replace("{crank_deg: 30}", "{crank_deg: 30}\ninitial_guess: {knee_deg: 150}"))
    )
    assert np.degrees(other.initial_q) == pytest.approx([30, 180])


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("thin_disk", "", "", "Measure each of them"),
        ("double_pendulum", "", "", "the sensors do not determine"),
        ("five_bar", "  right: {position: {counts_per_turn: 1048576}}\n", "", "the sensors do not determine"),
        ("four_bar", "controller:\n", "controller:\n  law: servo\n", "Take pidc"),
    ],
)
def test_the_controller_refuses_and_says_what_would_help(write, name, old, new, says):
    text = machine.shipped_path(name).read_text(encoding="utf-8").partition("\ndriver:")[0]
    assert old in text
    with pytest.raises(machine.MachineError, match=says):
        machine.for_controller(machine.load(write(text.replace(old, new))))


@pytest.mark.parametrize("name", ["scara", "slider_crank", "four_bar", "five_bar", "delta", "platform_3rrs"])
def test_the_controller_runs_machines_that_motors_hold_and_sensors_see(name):
    found = machine.load(name)
    assert machine.for_controller(found) is found
