"""Stops and contacts in the machine file: every mistake is placed and explained."""

from __future__ import annotations

import pytest

from linkwork import machine

GOOD = """
name: arm
bodies:
  link: {mass_kg: 1, com_m: [0.5, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.1, zz: 0.1}}
  hand: {mass_kg: 1, inertia_kg_m2: {xx: 0.1, yy: 0.1, zz: 0.1}}
joints:
  hinge:
    {type: revolute, parent: world, child: link, axis: [0, 1, 0], limits: {position_deg: [-90, 90]},
     stop: {damping_N_m_s: 2}}
  sleeve:
    {type: cylindrical, parent: link, child: hand, axis: [1, 0, 0], limits: {slide: {position_m: [0, 0.2]}},
     stop: {slide: {}}}
points: {tip: {body: hand}, rock: {body: world}}
contacts:
  wall:
    {point: tip, plane: {at_m: [1, 0, 0], normal: [-1, 0, 0]}, stiffness_N_m: 1.0e4, damping_N_s_m: 10,
     friction: 0.4}
  ball: {point: tip, sphere: {centre_m: [0, 2, 0], radius_m: 0.5}, stiffness_N_m: 1.0e4}
"""


STOP, HINGE, SLIDE = "stop: {damping_N_m_s: 2}", "joints.hinge.stop", "joints.sleeve.stop.slide"
SPHERE = "sphere: {centre_m: [0, 2, 0], radius_m: 0.5}, "


def test_what_is_right_is_read(write) -> None:
    found = machine.load(write(GOOD)).mechanism
    assert [stop.dof for stop in found.stops] == ["hinge", "sleeve.slide"]
    assert found.stops[0].damping == 2.0
    assert [contact.name for contact in found.contacts] == ["wall", "ball"]


def test_a_file_without_them_has_the_fingerprints_it_had(write) -> None:
    bare = GOOD[: GOOD.index("contacts:")].replace(STOP, "about: a").replace("stop: {slide: {}}", "about: a")
    plain, touching = machine.load(write(bare)), machine.load(write(GOOD))
    assert plain.mechanism.stops == plain.mechanism.contacts == ()
    assert plain.model_hash != touching.model_hash
    assert plain.interface_hash == touching.interface_hash


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ("limits: {position_deg: [-90, 90]}", "about: a", HINGE, "add position_rad"),
        (STOP, "stop: {damping_N_s_m: 2}", HINGE + ".damping_N_s_m", "write damping_N_m_s"),
        (STOP, "stop: {stiffness_N_m_rad: 0}", HINGE + ".stiffness_N_m_rad", "more than 0"),
        (STOP, "stop: {damping_N_m_s: -2}", HINGE + ".damping_N_m_s", "0 or more"),
        (STOP, "stop: {stiffness_N_m_rad: 1.0e9}", HINGE + ".stiffness_N_m_rad", "or less"),
        (STOP, "stop: yes", HINGE, "a mapping"),
        ("stop: {slide: {}}", "stop: {turn: {}}", "joints.sleeve.stop.turn", "limits"),
        ("stop: {slide: {}}", "stop: {slide: {damping_N_m_s: 1}}", SLIDE + ".damping_N_m_s", "damping_N_s_m"),
        ("point: tip, plane", "point: tipp, plane", "contacts.wall.point", "write tip"),
        ("point: tip, plane", "point: rock, plane", "contacts.wall.point", "a moving body"),
        ("normal: [-1, 0, 0]", "normal: [0, 0, 0]", "contacts.wall.plane.normal", "not zero"),
        ("radius_m: 0.5", "radius_m: -0.5", "contacts.ball.sphere.radius_m", "more than 0"),
        ("friction: 0.4", "friction: -0.4", "contacts.wall.friction", "0 or more"),
        ("friction: 0.4", "friction: .nan", "contacts.wall.friction", "finite"),
        (
            "friction: 0.4",
            "slip_speed_m_s: 1.0e-7, friction: 1",
            "contacts.wall.slip_speed_m_s",
            "0.000197 or more",
        ),
        ("damping_N_s_m: 10", "damping_N_s_m: 1.0e7", "contacts.wall.damping_N_s_m", "plant.substeps"),
        (SPHERE, SPHERE + "plane: {normal: [0, 0, 1]}, ", "contacts.ball.sphere", "one surface"),
        (SPHERE, "", "contacts.ball", "plane or sphere"),
        (
            "stiffness_N_m: 1.0e4}",
            "stifness_N_m: 1.0e4}",
            "contacts.ball.stifness_N_m",
            "write stiffness_N_m",
        ),
    ],
)
def test_mistakes(old: str, new: str, key: str, words: str, problems_of) -> None:
    assert old in GOOD
    found = problems_of(GOOD.replace(old, new, 1))
    matching = [problem for problem in found if problem.key == key]
    assert matching, "\n".join(map(str, found))
    assert words in str(matching[0])
    assert matching[0].line is not None


GEARED = """
name: geared
bodies:
  sled: {mass_kg: 3, inertia_kg_m2: [0, 0, 0, 0, 0, 0]}
  finger: {mass_kg: 1.0e-9, inertia_kg_m2: [0, 0, 0, 0, 0, 0]}
joints:
  x: {type: prismatic, parent: world, child: sled, axis: [1, 0, 0]}
  z:
    {type: prismatic, parent: world, child: finger, axis: [0, 0, 1], limits: {position_m: [-0.1, 0.5]},
     stop: {}}
points: {tip: {body: finger}}
constraints:
  gear: {type: coupling, factors: {x: 1, z: -1}}
contacts:
  floor: {point: tip, plane: {normal: [0, 0, 1]}, stiffness_N_m: 4.0e5, damping_ratio: 0.5}
initial: {x_m: 0.2}
"""


def test_a_contact_is_judged_by_the_inertia_that_is_geared_to_it(write, problems_of) -> None:
    found = machine.load(write(GEARED)).mechanism
    assert found.contacts[0].damping_N_s_m == pytest.approx(2 * 0.5 * (4e5 * 3) ** 0.5)
    assert found.stops[0].stiffness == pytest.approx(3 * 200**2)
    most = (200 * 0.2 / 1e-3) ** 2 * 3
    (problem,) = problems_of(GEARED.replace("4.0e5, damping_ratio: 0.5", f"{1.01 * most}"))
    assert problem.key == "contacts.floor.stiffness_N_m"
    assert problem.allowed == "4.8e+09 or less"


def test_the_stop_of_a_joint_that_is_held_fast_follows_from_its_own_inertia(write) -> None:
    held = GEARED.replace("factors: {x: 1, z: -1}", "factors: {z: 1}").replace("1.0e-9", "0.5")
    found = machine.load(write(held.replace("initial: {x_m: 0.2}", ""))).mechanism
    assert found.stops[0].stiffness == pytest.approx(0.5 * 200**2)
