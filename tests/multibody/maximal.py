"""Machines in maximal coordinates that several tests share, and their closures written once more in numpy."""

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism
from linkwork.offline.taylor import Connection, JointFrame, MaximalModel, Pose, TaylorStepper
from tests.multibody.machines import G, random_body, random_rotation

KINDS = ("spherical", "revolute", "cylindrical", "prismatic")


def about_z(angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def bar(name: str, length: float, mass: float) -> Body:
    """A slender bar along x, from its origin."""
    across = mass * length**2 / 12.0
    return Body(name, mass, (0.5 * length, 0.0, 0.0), np.diag([0.01 * across, across, across]))


def _random_frame(rng: np.random.Generator, body: str) -> JointFrame:
    return JointFrame(body, rng.normal(size=3) * 0.3, random_rotation(rng))


def random_loop(seed: int, reactions_at: float) -> TaylorStepper:
    """Three bodies in general position, one joint of each kind, one loop; the joints need not fit at all."""
    rng = np.random.default_rng(seed)
    names = ["world", "one", "two", "three"]
    ends = [("world", "one"), ("two", "one"), ("two", "three"), ("three", "world")]
    joints = [
        Connection(f"joint {kind}", kind, _random_frame(rng, a), _random_frame(rng, b))
        for kind, (a, b) in zip(rng.permutation(KINDS).tolist(), ends, strict=True)
    ]
    model = MaximalModel.build([random_body(rng, name) for name in names[1:]], joints, rng.normal(size=3) * 5)
    stepper = TaylorStepper(model, reactions_at)
    for name in names[1:]:
        origin, velocity, omega = rng.normal(size=(3, 3))
        stepper.place(name, Pose(origin, random_rotation(rng), velocity, omega))
    stepper.force[:] = rng.normal(size=(3, 3))
    stepper.torque[:] = rng.normal(size=(3, 3))
    stepper.effort[:] = rng.normal(size=len(stepper.effort))
    return stepper


def slider_crank(angle: float, speed: float, gravity: float = G, reactions_at: float = 0.5) -> TaylorStepper:
    """Crank and coupler of equal length, slider along x; joints chosen so that none repeats another.

    All branches meet where the crank stands upright: angle = π/2.
    """
    bodies = [
        bar("crank", 1.0, 1.0),
        bar("coupler", 1.0, 1.0),
        Body("slider", 0.5, (0, 0, 0), 0.01 * np.eye(3)),
    ]
    along_x = (1.0, 0.0, 0.0)
    joints = [
        Connection("motor", "revolute", JointFrame("world"), JointFrame("crank")),
        Connection("pin", "cylindrical", JointFrame("crank", along_x), JointFrame("coupler")),
        Connection("ball", "spherical", JointFrame("coupler", along_x), JointFrame("slider")),
        Connection("guide", "prismatic", JointFrame.along("world", (0, 0, 0), along_x),
                   JointFrame.along("slider", (0, 0, 0), along_x)),
    ]  # fmt: skip
    stepper = TaylorStepper(MaximalModel.build(bodies, joints, (0.0, -gravity, 0.0)), reactions_at)
    up, omega = about_z(angle), np.array([0.0, 0.0, speed])
    tip, rest = up[:, 0], np.zeros(3)
    stepper.place("crank", Pose(rest, up, rest, omega))
    stepper.place("coupler", Pose(tip, about_z(-angle), np.cross(omega, tip), -omega))
    slide = np.array([2.0 * np.cos(angle), 0.0, 0.0])
    stepper.place("slider", Pose(slide, np.eye(3), np.array([-2.0 * np.sin(angle) * speed, 0, 0]), rest))
    return stepper


def spatial_pendulum(armature: float = 0.3, viscous: float = 0.05) -> Mechanism:
    """Two links in space with skew axes, a rotor on the first joint and friction in the second."""
    return Mechanism.build(
        [
            Body("one", 2.0, (0.3, 0.0, 0.1), np.diag([0.10, 0.12, 0.13])),
            Body("two", 1.5, (0.25, 0.1, 0.0), np.diag([0.05, 0.04, 0.03])),
        ],
        [
            Joint("first", "revolute", "world", "one", axis=(0.2, 1.0, 0.1), armature=armature),
            Joint("second", "revolute", "one", "two", (0.6, 0, 0.1), axis=(1.0, 0.3, 0.4), viscous=viscous),
        ],
        (0.0, 0.0, -G),
    )
