"""Initial values under constraints: kept in their order, orientations too; errors where that cannot be."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork import machine
from linkwork.machine.building.kept_values import balls, turns_of, values_of
from linkwork.machine.sections.orientation import rotation_of
from linkwork.multibody.model import ANGLES

INERTIA = "inertia_kg_m2: [0.1, 0.2, 0.3, 0, 0, 0]"
PLATE = f"""name: plate
bodies:
  plate: {{mass_kg: 2, {INERTIA}}}
joints:
  pose: {{type: free, parent: world, child: plate, at_m: [0.1, 0.2, 0.3], rpy_deg: [20, -30, 40]}}
constraints:
  ball: {{type: point, a: {{body: world, at_m: [1, 0, 0]}}, b: {{body: plate, at_m: [1, 0, 0]}}}}
"""
LEVEL = PLATE.replace("at_m: [0.1, 0.2, 0.3], rpy_deg: [20, -30, 40]", "rpy_deg: [0, 0, 0]")
ROD = "a: {body: world, at_m: [0, 0, 1]}, b: {body: plate, at_m: [0.3, 0.5, 0.2]}, distance_m: 0.6"
TILTED = PLATE + f"  rod: {{type: distance, {ROD}}}\n"


def degrees(loaded, joint="pose"):
    found = values_of(loaded.mechanism, loaded.initial_q)
    return [math.degrees(found[f"{joint}.{turn}"]) for turn in ANGLES]


@pytest.mark.parametrize(
    "turns", [(10, 20, 30), (-170, 80, 120), (35, 90, 0), (0, -90, 50), (100, 89.9, -60)]
)
def test_a_plate_held_by_a_ball_keeps_its_orientation_and_speed(write, turns):
    roll, pitch, yaw = turns
    text = (
        f"initial: {{pose.roll_deg: {roll}, pose.pitch_deg: {pitch}, pose.yaw_deg: {yaw}, pose.rx_rad_s: 1,"
    )
    loaded = machine.load(write(PLATE + text + " pose.ry_rad_s: 2, pose.rz_rad_s: 3}\n"))
    (ball,) = balls(loaded.mechanism)
    wanted = rotation_of(*np.radians(turns))
    np.testing.assert_allclose(ball.rotation(loaded.initial_q), wanted, atol=1e-10)
    np.testing.assert_allclose(loaded.initial_v[3:], [1, 2, 3], atol=1e-12)
    frame = rotation_of(*np.radians([20, -30, 40]))
    origin = [0.1, 0.2, 0.3] + frame @ loaded.initial_q[:3]
    np.testing.assert_allclose(origin + frame @ wanted @ [1, 0, 0], [1, 0, 0], atol=1e-10)
    assert loaded.assembly.kept == ("pose.roll", "pose.pitch", "pose.yaw")


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1), (0, 2, 1), (1, 2, 0)])
def test_two_rotations_are_kept_in_the_order_of_the_keys_as_with_angles(write, order):
    values = [15.0, 25.0, -40.0]
    turned = [f"pose.{ANGLES[k]}_deg: {values[k]}" for k in order]
    angled = [f"pose.r{'xyz'[k]}_deg: {values[k]}" for k in order]

    def start(keys):
        return f"initial: {{{keys[0]}, {keys[1]}}}\ninitial_guess: {{{keys[2]}}}\n"

    loaded = machine.load(write(TILTED + start(turned)))
    other = machine.load(
        write(TILTED.replace("child: plate,", "child: plate, coordinates: angles,") + start(angled))
    )
    kept = [ANGLES[k] for k in order[:2]]
    assert loaded.assembly.kept == tuple(f"pose.{name}" for name in kept)
    for k in order[:2]:
        assert degrees(loaded)[k] == pytest.approx(values[k], abs=1e-7)
    assert degrees(loaded) == pytest.approx(np.degrees(other.initial_q[3:]).tolist(), abs=1e-6)
    assert loaded.assembly.unkept == ()
    (problem,) = machine.check(write(TILTED + f"initial: {{{', '.join(turned)}}}\n"))
    found, left = degrees(loaded)[order[2]], values[order[2]]
    assert (problem.key, problem.severity) == (f"initial.pose.{ANGLES[order[2]]}_deg", "warning")
    assert float(problem.allowed.split()[0]) == pytest.approx(found, abs=1e-3)
    assert float(problem.found.split()[-2]) == pytest.approx(abs(found - left), abs=1e-3)
    agreeing = [*turned[:2], f"pose.{ANGLES[order[2]]}_deg: {found + 0.25}"]
    (value,) = machine.load(write(TILTED + f"initial: {{{', '.join(agreeing)}}}\n")).assembly.unkept
    assert (value.name, math.degrees(value.found)) == (
        f"pose.{ANGLES[order[2]]}", pytest.approx(found, abs=1e-7),
    )  # fmt: skip


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.tuples(*[st.floats(-3.1, 3.1), st.floats(-1.5, 1.5), st.floats(-3.1, 3.1)]),
    st.tuples(*[st.floats(-3.0, 3.0)] * 3),
)
def test_any_orientation_and_angular_velocity_is_kept(write, turns, rates):
    keys = [f"pose.{turn}_rad: {value!r}" for turn, value in zip(ANGLES, turns, strict=True)]
    keys += [f"pose.r{axis}_rad_s: {rate!r}" for axis, rate in zip("xyz", rates, strict=True)]
    loaded = machine.load(write(PLATE + f"initial: {{{', '.join(keys)}}}\n"))
    (ball,) = balls(loaded.mechanism)
    np.testing.assert_allclose(ball.rotation(loaded.initial_q), rotation_of(*turns), atol=1e-9)
    np.testing.assert_allclose(loaded.initial_v[3:], rates, atol=1e-9)


def six_legged(coordinates="quaternion"):
    """A platform on six legs: the text, and where each leg begins and ends on base and platform."""
    at = np.radians([0, 40, 120, 160, 240, 280])
    base = np.column_stack([np.cos(at), np.sin(at), 0 * at]) * 0.6
    turned = at + np.radians([30, -30] * 3)
    top = np.column_stack([np.cos(turned), np.sin(turned), 0 * at]) * 0.35
    bodies, joints, closures = "", "", ""
    for i in range(6):
        inertia = "inertia_kg_m2: [0.01, 0.01, 0.001, 0, 0, 0]"
        bodies += f"  tube{i}: {{mass_kg: 1, {inertia}}}\n  rod{i}: {{mass_kg: 0.5, {inertia}}}\n"
        joints += (
            f"  foot{i}: {{type: universal, parent: world, child: tube{i}, at_m: {base[i].tolist()}, "
            f"axis: [1, 0, 0], second_axis: [0, 1, 0]}}\n"
            f"  leg{i}: {{type: prismatic, parent: tube{i}, child: rod{i}, axis: [0, 0, 1]}}\n"
        )
        closures += (
            f"  top{i}: {{type: point, a: {{body: rod{i}}}, b: {{body: plate, at_m: {top[i].tolist()}}}}}\n"
        )
    text = (
        f"name: hexapod\nbodies:\n  plate: {{mass_kg: 5, {INERTIA}}}\n{bodies}joints:\n"
        f"  pose: {{type: free, parent: world, child: plate, coordinates: {coordinates}}}\n{joints}"
        f"constraints:\n{closures}"
    )
    return text, base, top


@pytest.mark.parametrize("turns", [(0, 0, 0), (10, -15, 20), (-20, 5, -40)])
def test_inverse_kinematics_of_a_platform_by_its_pose(write, turns):
    text, base, top = six_legged()
    place = np.array([0.05, -0.1, 0.7])
    keys = [f"pose.{axis}_m: {value}" for axis, value in zip("xyz", place, strict=True)]
    keys += [f"pose.{turn}_deg: {value}" for turn, value in zip(ANGLES, turns, strict=True)]
    guess = ", ".join(f"leg{i}_m: 0.7" for i in range(6))
    loaded = machine.load(write(text + f"initial: {{{', '.join(keys)}}}\ninitial_guess: {{{guess}}}\n"))
    assert loaded.assembly.dof == 6
    assert loaded.assembly.kept == tuple(f"pose.{name}" for name in ("x", "y", "z", *ANGLES))
    lengths = np.linalg.norm(place + top @ rotation_of(*np.radians(turns)).T - base, axis=1)
    found = values_of(loaded.mechanism, loaded.initial_q)
    np.testing.assert_allclose([found[f"leg{i}"] for i in range(6)], lengths, atol=1e-10)
    assert degrees(loaded) == pytest.approx(turns, abs=1e-8)


def test_a_value_out_of_reach_is_an_error_that_says_by_how_much(problems_of):
    (problem,) = problems_of(LEVEL + "initial: {pose.x_m: 5, pose.yaw_deg: 20}\n")
    assert problem.key == "initial.pose.x_m"
    assert problem.found.startswith("5 m, which is off by 3 m")  # x = 1 - cos(pitch) cos(yaw) ≤ 2
    assert problem.line == len(LEVEL.splitlines()) + 1


def test_an_angle_out_of_reach_is_named_with_the_nearest(problems_of):
    rod = "  rod: {type: distance, a: {body: world}, b: {body: plate}, distance_m: 0.8}\n"
    (problem,) = problems_of(LEVEL + rod + "initial: {pose.roll_deg: 30, pose.yaw_deg: 90, pose.x_m: 0.3}\n")
    assert problem.key == "initial.pose.yaw_deg"
    most = math.degrees(2.0 * math.asin(0.4))  # the plate's x axis lies on a cone about that of the world
    assert float(problem.allowed.split()[0]) == pytest.approx(most, abs=1e-3)
    assert float(problem.found.split()[6]) == pytest.approx(90 - most, abs=1e-3)


def test_a_joint_out_of_reach_is_named_too(problems_of):
    text = machine.shipped_path("five_bar").read_text(encoding="utf-8")
    start = "left_deg: 120, right_deg: 60}"
    assert start in text
    (problem,) = problems_of(text.replace(start, "left_deg: 180, right_deg: 0}"))
    assert problem.key == "initial.right_deg"
    assert problem.found.startswith("0 deg, which is off by")


def test_a_speed_that_contradicts_those_before_it_is_an_error(problems_of, write):
    speeds = "initial: {pose.rx_rad_s: 1, pose.rz_rad_s: 2, pose.ry_rad_s: 0.5, pose.y_m_s: "
    (problem,) = problems_of(LEVEL + speeds + "0.3}\n")
    assert problem.key == "initial.pose.y_m_s"
    assert problem.allowed == "-2 m/s"  # ẏ = -ω_z · 1 m
    assert "off by 2.3 m/s" in problem.found
    loaded = machine.load(write(LEVEL + speeds + "-2.01}\n"))
    assert loaded.initial_v[[1, 3, 4, 5]] == pytest.approx([-2, 1, 0.5, 2])


HELD = "initial: {pose.y_m: 0.1, pose.z_m: 0.1, pose.roll_deg: 5"


def test_a_value_that_those_before_it_determine_is_a_warning_with_the_value_allowed(write):
    text = LEVEL + HELD + ", pose.pitch_deg: 20}\n"
    (problem,) = machine.check(write(text))
    sine = math.degrees(math.asin(0.1))
    assert (problem.key, problem.severity) == ("initial.pose.pitch_deg", "warning")
    assert problem.found == f"20 deg, which is off by {20 - sine:.6g} deg"
    assert problem.allowed == f"{sine:.6g} deg"
    assert "initial_guess" in problem.remedy
    assert degrees(machine.load(write(text)))[1] == pytest.approx(sine)
    guessed = machine.load(write(LEVEL + HELD + "}\ninitial_guess: {pose.pitch_deg: 20}\n"))
    assert degrees(guessed)[1] == pytest.approx(sine)
    agreeing = machine.load(write(LEVEL + HELD + f", pose.pitch_deg: {sine:.1f}}}\n"))
    assert degrees(agreeing)[1] == pytest.approx(sine)


@pytest.mark.parametrize(
    ("initial", "guess", "key", "says"),
    [
        ("pose.yaw_deg: 3", "pose.yaw_rad: 1", "initial_guess.pose.yaw_rad", "same value twice"),
        ("pose.yaw_deg: 3", "pose.yaw_deg: 3", "initial_guess.pose.yaw_deg", "same value twice"),
        ("pose.yaw_deg: 3", "pose.rx_rad_s: 1", "initial_guess.pose.rx_rad_s", "a guess is a position"),
        ("pose.yaw_deg: 3", "pose.yow_deg: 1", "initial_guess.pose.yow_deg", "no joint has this name"),
    ],
)
def test_a_guess_is_a_position_given_nowhere_else(problems_of, initial, guess, key, says):
    (problem,) = problems_of(LEVEL + f"initial: {{{initial}}}\ninitial_guess: {{{guess}}}\n")
    assert problem.key == key
    assert says in problem.message


def test_a_guess_without_constraints_is_an_error(problems_of):
    text = LEVEL[: LEVEL.index("constraints:")]
    (problem,) = problems_of(text + "initial_guess: {pose.yaw_deg: 3}\n")
    assert problem.key == "initial_guess"


@given(st.tuples(*[st.floats(-3.1, 3.1), st.floats(-1.57, 1.57), st.floats(-3.1, 3.1)]))
def test_the_angles_of_a_rotation_give_it_back(turns):
    rotation = rotation_of(*turns)
    np.testing.assert_allclose(rotation_of(*turns_of(rotation)), rotation, atol=1e-7)


def _followed(value: str, speed: float) -> str:
    """Describe a cart that follows a value in time, with a rod that hangs from it."""
    return f"""name: followed
bodies:
  cart: {{mass_kg: 1, {INERTIA}}}
  rod: {{mass_kg: 1, {INERTIA}}}
joints:
  slide: {{type: prismatic, parent: world, child: cart, axis: [1, 0, 0]}}
  hinge: {{type: revolute, parent: cart, child: rod, axis: [0, 1, 0]}}
constraints:
  servo: {{type: coordinate, of: slide, equals_m: {value}}}
initial: {{slide_m_s: {speed}, hinge_deg: 20}}
"""


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    size=st.floats(0.01, 10.0),
    rate=st.floats(0.1, 10.0),
    half_turns=st.integers(-20, 20),
    also=st.floats(-1e-6, 1e-6),
)
def test_a_speed_of_zero_is_not_compared_with_round_off(write, size, rate, half_turns, also):
    """The derivative of the cosine is sin(k π), which is not quite 0."""
    stands = f"{size}*cos({rate}*t + {half_turns}*pi)"
    assert abs(machine.load(write(_followed(stands, 0.0))).initial_v[0]) < 1e-12
    creeps = 1e-10 * also / 1e-6
    assert machine.load(write(_followed(f"{stands} + {creeps}*t", 0.0))).initial_v[0] == pytest.approx(
        creeps, abs=1e-12
    )


def test_a_speed_of_zero_is_still_refused_where_the_value_moves(problems_of):
    (problem,) = problems_of(_followed("0.1*sin(0.001*t)", 0.0))
    assert problem.key == "initial.slide_m_s"
    assert "0.0001 m/s" in problem.allowed


@pytest.mark.parametrize("moments", ["0, 0, 0.1+0.2-0.3, 0, 0, 0", "0, 0, 0, 0.3-0.1-0.2, 0, 0"])
def test_a_moment_of_inertia_of_zero_may_be_round_off(write, moments):
    """A point mass."""
    rods = _followed("0", 0.0).replace(INERTIA, f"inertia_kg_m2: [{moments}], com_m: [0, 0, 1]")
    body = machine.load(write(rods)).mechanism.bodies[1]
    assert np.abs(body.inertia_kg_m2).max() < 1e-15
