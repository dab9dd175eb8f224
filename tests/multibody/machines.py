"""Mechanisms that the tests of this room share: the SCARA of Xu & Liu 2017, and random chains and trees."""

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody import Body, Coordinate, Joint, Mechanism, Point
from linkwork.multibody.constraints import Constraint

G = 9.81


def scara() -> Mechanism:
    """Three parallel revolute joints and a vertical slide; zero pose along +y, data of Xu & Liu 2017."""

    def about_z(moment: float) -> Floats:
        return np.diag([0.6, 0.7, 1.0]) * moment

    return Mechanism.build(
        [
            Body("upper", 20.0, (0.0, 0.1, 0.0), about_z(0.27)),
            Body("fore", 15.0, (0.0, 0.125, 0.0), about_z(0.31)),
            Body("hand", 15.0, (0.0, 0.0, 0.0), about_z(0.02)),
            Body("quill", 0.5, (0.0, 0.0, 0.0), about_z(0.0001)),
        ],
        [
            Joint("shoulder", "revolute", "world", "upper"),
            Joint("elbow", "revolute", "upper", "fore", at_m=(0.0, 0.2, 0.0)),
            Joint("wrist", "revolute", "fore", "hand", at_m=(0.0, 0.25, 0.0)),
            Joint("lift", "prismatic", "hand", "quill"),
        ],
        (0.0, 0.0, -G),
        [Point("tool", "quill")],
        [
            Coordinate("x", "x", "tool"),
            Coordinate("y", "y", "tool"),
            Coordinate("z", "z", "tool"),
            Coordinate("angle", "yaw", "tool"),
        ],
    )


def pendulum(length: float = 0.7, mass: float = 1.3, **joint: float) -> Mechanism:
    """A point mass on a massless rod, turning about y and hanging down at zero."""
    return Mechanism.build(
        [Body("bob", mass, (0.0, 0.0, -length))],
        [Joint("hinge", "revolute", "world", "bob", axis=(0.0, 1.0, 0.0), **joint)],
        (0.0, 0.0, -G),
        [Point("mass", "bob", (0.0, 0.0, -length))],
    )


def random_rotation(rng: np.random.Generator) -> Floats:
    a, b, c, d = (lambda x: x / np.linalg.norm(x))(rng.normal(size=4))
    return np.array(
        [
            [1 - 2 * (c * c + d * d), 2 * (b * c - d * a), 2 * (b * d + c * a)],
            [2 * (b * c + d * a), 1 - 2 * (b * b + d * d), 2 * (c * d - b * a)],
            [2 * (b * d - c * a), 2 * (c * d + b * a), 1 - 2 * (b * b + c * c)],
        ]
    )


def random_body(rng: np.random.Generator, name: str) -> Body:
    points = rng.normal(size=(5, 3)) * 0.2
    masses = rng.uniform(0.2, 2.0, size=5)
    com = masses @ points / masses.sum()
    second = sum(
        m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points - com, strict=True)
    )
    return Body(name, float(masses.sum()), com, second)


def random_joint(
    rng: np.random.Generator, name: str, kind: str, parent: str, child: str, armature: float
) -> Joint:
    """A joint in general position; "angles" and "free_angles" are spherical and free on three angles."""
    special: dict[str, object] = {}
    if kind == "screw":
        special["pitch_m_per_rad"] = float(rng.normal() * 0.1)
    if kind == "universal":
        special["second_axis"] = rng.normal(size=3)
    if kind == "compound":
        special["columns"] = rng.normal(size=(int(rng.integers(1, 4)), 6)) * 0.7
    if kind in ("angles", "free_angles"):
        special["coordinates"] = "angles"
        kind = "spherical" if kind == "angles" else "free"
    return Joint(
        name, kind, parent, child, at_m=rng.normal(size=3) * 0.4, rotation=random_rotation(rng),
        axis=rng.normal(size=3), armature=armature if kind != "fixed" else 0.0, **special,
    )  # fmt: skip


def random_tree(
    rng: np.random.Generator,
    n: int,
    kinds: tuple[str, ...] = ("revolute", "prismatic"),
    serial: bool = False,
    armature: bool = True,
    constraints: tuple[Constraint, ...] = (),
) -> Mechanism:
    """A tree of n bodies in general position, its joints given in no particular order."""
    bodies, joints = [], []
    for i in range(n):
        bodies.append(random_body(rng, f"body{i}"))
        parent = i - 1 if serial else int(rng.integers(-1, i))
        kind = kinds[int(rng.integers(len(kinds)))] if i else kinds[0]
        mount = "world" if parent < 0 else f"body{parent}"
        inertia = float(rng.uniform(0.0, 0.3)) if armature else 0.0
        joints.append(random_joint(rng, f"joint{i}", kind, mount, f"body{i}", inertia))
    if not serial:
        joints = [joints[i] for i in rng.permutation(n)]
    tip = f"body{n - 1}"
    return Mechanism.build(
        bodies,
        joints,
        rng.normal(size=3) * 5.0,
        [Point("tip", tip, rng.normal(size=3) * 0.3), Point("middle", f"body{n // 2}", (0.1, 0.2, 0.3))],
        [
            *(Coordinate(f"tip_{kind}", kind, "tip") for kind in ("x", "y", "z", "roll", "pitch", "yaw")),
            Coordinate("tip_distance", "distance", "tip", from_m=(0.2, -0.1, 0.4), less_m=0.3),
        ],
        constraints,
    )


def random_state(rng: np.random.Generator, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Any state; quaternions are of unit length."""
    q, v = rng.uniform(-2.0, 2.0, size=mechanism.nq), rng.normal(size=mechanism.nv)
    for k, scalar in quaternions(mechanism):
        q[[k, k + 1, k + 2, scalar]] /= np.linalg.norm(q[[k, k + 1, k + 2, scalar]])
    return q, v


def quaternions(mechanism: Mechanism) -> list[list[int]]:
    """Places in q: beginning of the vector part, and scalar part."""
    model = mechanism.model
    return np.column_stack([model.ball_vector, model.ball_scalar]).tolist()


def moved(mechanism: Mechanism, q: Floats, v: Floats) -> Floats:
    """q after unit time at constant v, exactly; angular velocities of balls are constant in their axes."""
    result = q.copy()
    result[: mechanism.nv] += v
    for k, scalar in quaternions(mechanism):
        angle = float(np.linalg.norm(v[k : k + 3]))
        s, u = np.cos(0.5 * angle), 0.5 * np.sinc(0.5 * angle / np.pi) * v[k : k + 3]
        a, b = q[scalar], q[k : k + 3]
        result[scalar] = a * s - b @ u
        result[k : k + 3] = a * u + s * b + np.cross(b, u)
    return result


def relative_error(found: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """Largest deviation over the largest expected entry."""
    f, e = np.asarray(found), np.asarray(expected)
    assert f.shape == e.shape
    return float(np.abs(f - e).max() / max(np.abs(e).max(), 1e-300))
