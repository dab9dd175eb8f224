"""Settings of the simulated plant, in the file and on the command line."""

import numpy as np
import pytest

from linkwork import machine


def plant(*settings: str):
    return machine.load("scara", settings).plant_mechanism


def refusal(*settings: str) -> machine.Problem:
    with pytest.raises(machine.MachineError) as caught:
        machine.load("scara", settings)
    (problem,) = caught.value.problems
    return problem


def test_percentages_are_of_the_files_value_and_the_last_one_wins():
    assert plant("shoulder_link.mass_kg=+20%").bodies[0].mass_kg == pytest.approx(24)
    assert plant("shoulder_link.mass_kg=-5 %").bodies[0].mass_kg == pytest.approx(19)
    twice = plant("shoulder_link.mass_kg=+20%", "shoulder_link.mass_kg=+10%")
    assert twice.bodies[0].mass_kg == pytest.approx(22)


def test_values_vectors_elements_and_full_names():
    bodies = plant(
        "bodies.shoulder_link.mass_kg=21.5", "elbow_link.com_m=[0, 0.1, 0]", "wrist_link.com_m[2]=-0.01"
    ).bodies
    assert bodies[0].mass_kg == 21.5
    assert tuple(bodies[1].com_m) == (0, 0.1, 0)
    assert tuple(bodies[2].com_m) == (0, 0, -0.01)
    assert tuple(plant("gravity_m_s2[0]=0.1").gravity_m_s2) == (0.1, 0, -9.81)


def test_inertia_as_a_whole_and_by_element():
    whole = plant("elbow_link.inertia_kg_m2=+10%").bodies[1].inertia_kg_m2
    assert np.diag(whole) == pytest.approx([0.341, 0.055, 0.341])
    assert plant("elbow_link.inertia_kg_m2.xy=0.01").bodies[1].inertia_kg_m2[1, 0] == 0.01


def test_friction_of_a_joint_and_of_its_motor(scara_text, write):
    assert plant("elbow.coulomb_N_m=0.5").joints[1].coulomb == 0.5
    both = plant("joints.elbow.viscous_N_m_s=0.5", "motors.elbow.viscous_N_m_s=0.25")
    assert both.joints[1].viscous == 0.75
    assert plant("lift.coulomb_N=2").joints[3].coulomb == 2
    geared = plant("motors.wrist.rotor_inertia_kg_m2=0.001", "wrist.gear=10")
    assert geared.joints[2].armature == pytest.approx(0.1)
    given = write(scara_text.replace("max_torque_N_m: 40", "max_torque_N_m: 40\n    coulomb_N_m: 1"))
    assert machine.load(given, ["elbow.coulomb_N_m=+50%"]).plant_mechanism.joints[1].coulomb == 1.5


TOUCHING = """name: touching
bodies:
  arm: {mass_kg: 1, inertia_kg_m2: [0.1, 0.1, 0.1, 0, 0, 0]}
joints:
  hinge: {type: revolute, parent: world, child: arm, axis: [0, 0, 1]}
points:
  tip: {body: arm, at_m: [0.3, 0, 0]}
springs:
  coil: {joint: hinge, stiffness_N_m_rad: 3, rest_deg: 10}
contacts:
  wall: {point: tip, plane: {normal: [0, 1, 0]}, stiffness_N_m: 1000, damping_ratio: 0.5}
"""


@pytest.mark.parametrize(
    ("setting", "rest_deg", "damping"),
    [
        ("coil.rest_rad=0.2", np.degrees(0.2), None),
        ("coil.rest_rad=+20%", 12.0, None),
        ("coil.rest_deg=+20%", 12.0, None),
        ("wall.damping_N_s_m=5", 10.0, 5.0),
    ],
)
def test_a_quantity_is_set_in_a_unit_that_the_file_does_not_use(write, setting, rest_deg, damping):
    mechanism = machine.load(write(TOUCHING), [setting]).plant_mechanism
    assert np.degrees(mechanism.elements[0].rest) == pytest.approx(rest_deg)
    assert damping is None or mechanism.contacts[0].damping_N_s_m == damping


def test_geometry_in_either_unit():
    turned = plant("elbow.rpy_deg=[0, 0, 90]").joints[1].rotation
    assert turned == pytest.approx(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-15)
    assert plant("elbow.rpy_rad[2]=0.1").joints[1].rotation[1, 0] == pytest.approx(np.sin(0.1))
    assert tuple(plant("elbow.at_m[1]=+1%").joints[1].at_m) == (0, 0.202, 0)


def test_the_controllers_model_stays_as_it_is():
    changed = machine.load("scara", ["shoulder_link.mass_kg=+20%"])
    assert changed.mechanism.bodies[0].mass_kg == 20
    assert (changed.mechanism.model.buffer == machine.load("scara").mechanism.model.buffer).all()


def test_the_files_settings_come_first(scara_text, write):
    path = write(
        scara_text.replace("substeps: 1", "set: {shoulder_link.mass_kg: +50%, elbow_link.mass_kg: 16}")
    )
    assert [body.mass_kg for body in machine.load(path).plant_mechanism.bodies[:2]] == [30, 16]
    changed = machine.load(path, ["shoulder_link.mass_kg=22"]).plant_mechanism
    assert [body.mass_kg for body in changed.bodies[:2]] == [22, 16]


@pytest.mark.parametrize(
    ("setting", "key", "words"),
    [
        ("shoulder_link.mas_kg=1", "shoulder_link.mas_kg", "write shoulder_link.mass_kg"),
        ("sholder_link.mass_kg=1", "sholder_link.mass_kg", "write shoulder_link.mass_kg"),
        ("shoulder_link.com_m[3]=1", "shoulder_link.com_m[3]", "no value with this name"),
        ("shoulder_link=1", "shoulder_link", "shoulder_link.mass_kg"),
        ("shoulder.limits=1", "shoulder.limits", "shoulder.axis"),
        ("motors.shoulder.max_torque_N_m=1", "motors.shoulder.max_torque_N_m", "no value with this name"),
        ("controller.law=servo", "controller.law", "no value with this name"),
        ("shoulder_link.mass_kg=heavy", "shoulder_link.mass_kg", "+20%"),
        ("shoulder_link.mass_kg=20%", "shoulder_link.mass_kg", "with its sign"),
        ("shoulder_link.mass_kg=-200%", "shoulder_link.mass_kg", "0 or more"),
        ("shoulder_link.mass_kg=-1", "shoulder_link.mass_kg", "0 or more"),
        ("shoulder_link.mass_kg=.nan", "shoulder_link.mass_kg", "a finite number"),
        ("shoulder_link.mass_kg=true", "shoulder_link.mass_kg", "a number"),
        ("shoulder_link.mass_kg=[1", "shoulder_link.mass_kg", "cannot be read"),
        ("shoulder_link.mass_kg={a: 1}", "shoulder_link.mass_kg", "a number"),
        ("shoulder_link.com_m=+1e400%", "shoulder_link.com_m", "out of range"),
        ("shoulder_link.inertia_kg_m2.zz=+900%", "shoulder_link.inertia_kg_m2.zz", "triangle inequality"),
        ("elbow.coulomb_N_m=+10%", "elbow.coulomb_N_m", "a percentage of 0"),
        ("elbow.axis=[0, 0, 0]", "elbow.axis", "not zero"),
        ("shoulder_link.mass_kg", "", "KEY=VALUE"),
        ("=3", "", "KEY=VALUE"),
        ("", "", "KEY=VALUE"),
    ],
)
def test_what_cannot_be_set_is_refused(setting, key, words):
    problem = refusal(setting)
    assert (problem.line, problem.key) == (None, key)
    assert words in str(problem)


def test_two_frictions_that_are_both_given_need_the_full_name(scara_text, write):
    text = scara_text.replace("max_torque_N_m: 40", "max_torque_N_m: 40\n    coulomb_N_m: 1")
    text = text.replace("child: elbow_link", "child: elbow_link\n    coulomb_N_m: 2")
    with pytest.raises(machine.MachineError) as caught:
        machine.load(write(text), ["elbow.coulomb_N_m=3"])
    assert caught.value.problems[0].allowed == "joints.elbow.coulomb_N_m, motors.elbow.coulomb_N_m"
    assert machine.load(write(text), ["joints.elbow.coulomb_N_m=3"]).plant_mechanism.joints[1].coulomb == 4


def test_a_plant_that_cannot_be_built_blames_the_setting(scara_text, write):
    path = write(
        scara_text.replace("substeps: 1", "set: {lift_link.mass_kg: 0, lift_link.inertia_kg_m2: -100%}")
    )
    (problem,) = machine.check(path)
    assert "neither mass nor inertia" in problem.message
