"""Templates of the section `repeat`: equal to files written out, turned copies, problems in their place."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkwork import machine
from linkwork.machine.loading import machine_in
from linkwork.machine.machine_patches import as_yaml, merged
from linkwork.machine.repeats import parse_machine
from linkwork.machine.yaml_document import parse_yaml
from linkwork.multibody.functions import point_position
from linkwork.offline.run import simulate

WRITTEN_OUT = Path(__file__).with_name("written_out")
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "machines" / "repeated_legs.yaml"
INERTIA = "inertia_kg_m2: {xx: 0.1, yy: 0.1, zz: 0.1}"
ARMS = f"""name: arms
repeat:
  arms:
    copies: [left, right]
    values: {{reach: [0.3, 0.4], place: [[0, 1, 0], [0, -1, 0]]}}
    bodies:
      <copy>_arm: {{mass_kg: 1, com_m: [<reach>/2, 0, 0], {INERTIA}}}
    joints:
      <copy>: {{type: revolute, parent: world, child: <copy>_arm, at_m: <place>, axis: [0, 0, 1]}}
    points:
      <copy>_tip: {{body: <copy>_arm, at_m: [<reach>, 0, 0]}}
    task:
      <copy>_x: {{coordinate: <copy>_tip.x}}
    motors:
      <copy>: {{max_torque_N_m: 10*<number>, max_speed_rad_s: 5}}
    sensors:
      <copy>: {{velocity: true}}
    initial: {{<copy>_deg: 10}}
right: later
"""
ARMS = ARMS.replace("right: later\n", "")


@pytest.mark.parametrize("path", sorted(WRITTEN_OUT.glob("*.yaml")), ids=lambda path: path.stem)
def test_machines_that_ship_are_those_written_out(path: Path) -> None:
    whole = parse_yaml(path.read_text()).data
    shipped = parse_machine(machine.shipped_path(path.stem).read_text()).data
    assert json.dumps(shipped, sort_keys=True) == json.dumps(whole, sort_keys=True)
    for section, entries in whole.items():
        if isinstance(entries, dict):
            assert list(shipped[section]) == list(entries)
    assert machine.load(path.stem).config_hash == machine.load(path).config_hash


def test_names_numbers_and_lists_stand_in_for_placeholders(write) -> None:
    loaded = machine.load(write(ARMS))
    assert loaded.mechanism.joint_names == ("left", "right")
    assert [joint.at_m.tolist() for joint in loaded.mechanism.joints] == [[0, 1, 0], [0, -1, 0]]
    assert [body.com_m[0] for body in loaded.mechanism.bodies] == [0.15, 0.2]
    assert [motor.max_effort for motor in loaded.motors] == [10.0, 20.0]
    assert [sensor.joint for sensor in loaded.sensors] == ["left", "right"]
    assert {each.name for each in loaded.coordinates} >= {"left_x", "right_x"}
    np.testing.assert_allclose(loaded.initial_q, np.radians([10, 10]))


def test_the_files_own_values_replace_those_of_a_copy(write) -> None:
    changed = ARMS + "bodies:\n  right_arm: {mass_kg: 7}\ninitial: {left_deg: 30}\n"
    loaded = machine.load(write(changed))
    assert [body.mass_kg for body in loaded.mechanism.bodies] == [1.0, 7.0]
    np.testing.assert_allclose(loaded.initial_q, np.radians([30, 10]))
    patched = merged(machine.load(write(ARMS)).document.data, {"bodies": {"right_arm": {"mass_kg": 7}}})
    assert (
        machine_in(parse_yaml(as_yaml(patched))).model_hash
        == machine.load(write(ARMS + "bodies:\n  right_arm: {mass_kg: 7}\n")).model_hash
    )


direction = st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda x: np.linalg.norm(x) > 0.1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    about=direction,
    through=st.tuples(*[st.floats(-1, 1)] * 3),
    angles=st.lists(st.floats(-400, 400), min_size=1, max_size=4),
    turn=st.tuples(*[st.floats(-180, 180)] * 3),
)
def test_copies_are_turned_about_any_axis(write, about, through, angles, turn) -> None:
    """Each copy is the first one, moved as a rigid body."""
    turning = f"turn: {{angle_deg: {angles}, about: {list(about)}, through_m: {{world: {list(through)}}}}}"
    hip = f"parent: world, child: leg_<copy>, at_m: [0.3, 1/5, 0], rpy_deg: {list(turn)}, axis: [0, 0, 1]"
    knee = "parent: leg_<copy>, child: foot_<copy>, at_m: [0, 0.1, 0.2], axis: [1, 0, 0]"
    text = f"""name: turned
repeat:
  legs:
    copies: {len(angles)}
    {turning}
    bodies: {{leg_<copy>: {{mass_kg: 1, {INERTIA}}}, foot_<copy>: {{mass_kg: 1, {INERTIA}}}}}
    joints: {{hip_<copy>: {{type: revolute, {hip}}}, knee_<copy>: {{type: revolute, {knee}}}}}
    points:
      world_<copy>: {{body: world, at_m: [1, 2, 3]}}
      a_<copy>: {{body: foot_<copy>}}
      b_<copy>: {{body: foot_<copy>, at_m: [1, 0, 0]}}
      c_<copy>: {{body: foot_<copy>, at_m: [0, 1, 0]}}
    initial: {{hip_<copy>_deg: 20, knee_<copy>_deg: 30}}
"""
    loaded, plain = machine.load(write(text)), machine.load(write(text.replace(f"    {turning}\n", "")))
    axis = np.array(about) / np.linalg.norm(about)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    for k, angle in enumerate(np.radians(angles)):
        R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
        for point in ("world", "a", "b", "c"):
            place, first = (
                point_position(each.mechanism, f"{point}_{k + 1}", each.initial_q) for each in (loaded, plain)
            )
            np.testing.assert_allclose(place, through + R @ (first - through), atol=1e-12)


def test_an_example_is_symmetric_and_keeps_its_energy() -> None:
    loaded = machine.load(EXAMPLE)
    assert loaded.dof == 3
    elbows = [loaded.initial_q[loaded.mechanism.joint_index(f"elbow_{k}.2")] for k in (1, 2, 3)]
    np.testing.assert_allclose(elbows, elbows[0], atol=1e-9)
    motion = simulate(loaded, 0.2)
    motors = [motion.q[:, motion.position_names.index(f"motor_{k}")] for k in (1, 2, 3)]
    np.testing.assert_allclose(motors, [motors[0]] * 3, atol=1e-8)
    assert motion.balance.energy_balance_error_J < 1e-6


@pytest.mark.parametrize(
    ("before", "after", "line", "key", "words"),
    [
        ("mass_kg: 1,", "mass_kg: -1,", 7, "bodies.left_arm.mass_kg", "(copy left of repeat.arms)"),
        ("mass_kg: 1,", "mas_kg: 1,", 7, "bodies.right_arm.mas_kg", "(copy right of repeat.arms)"),
        ("parent: world", "parent: <body>", 9, "repeat.arms.joints.<copy>.parent", "no value has this name"),
        ("<copy>_tip: {", "tip: {", 11, "repeat.arms.points.tip", "another copy has this name"),
        ("reach: [0.3, 0.4]", "reach: [0.3]", 5, "repeat.arms.values.reach", "not one value for each copy"),
        ("at_m: <place>", "at_m: [<place>, 0, 0]", 9, "joints.left.at_m[0]", "(copy left of repeat.arms)"),
        ("    bodies:", "    bodys:", 6, "repeat.arms.bodys", "unknown key"),
        ("axis: [0, 0, 1]", "axis: [0, 0, 1], only: [up]", 9, "repeat.arms.joints.<copy>.only", "not a list"),
        ("coordinate: <copy>_tip.x", "coordinate: <copy>_top.x", 13, "task.left_x.coordinate", "(copy left"),
        ("copies: [left, right]", "copies: 0", 4, "repeat.arms.copies", "these are no copies"),
        ("copies: [left, right]", "copies: [left, left]", 4, "repeat.arms.copies", "these are no copies"),
        ("    values:", "    turn: {angle_deg: [0, x]}\n    values:", 5, "repeat.arms.turn.angle_deg", "no"),
        ("    values:", "    turn: {angle_deg: [0]}\n    values:", 5, "repeat.arms.turn.angle_deg", "not"),
    ],
)  # fmt: skip
def test_a_problem_names_the_line_of_the_template_and_the_copy(
    problems_of, before: str, after: str, line: int, key: str, words: str
) -> None:
    assert before in ARMS
    found = problems_of(ARMS.replace(before, after))
    at = {problem.key: problem for problem in found}
    assert key in at, [str(problem) for problem in found]
    assert at[key].line == line
    assert words in at[key].message


def test_an_entry_may_be_in_some_copies_only(write) -> None:
    text = ARMS.replace("<copy>_tip: {", "<copy>_tip: {only: [right], ")
    text = text.replace("<copy>_x: {coordinate", "<copy>_x: {only: [right], coordinate")
    assert [point.name for point in machine.load(write(text)).mechanism.points] == ["right_tip"]
