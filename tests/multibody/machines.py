"""Mechanisms that the tests of this room share: the SCARA of Xu & Liu 2017, and random chains and trees."""

import numpy as np
import numpy.typing as npt

from multibody import Body, Coordinate, Joint, Mechanism, Point

Array = npt.NDArray[np.float64]
G = 9.81


def scara() -> Mechanism:
    """Three parallel revolute joints and a vertical slide; zero pose along +y, data of Xu & Liu 2017."""

    def about_z(moment: float) -> Array:
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


def random_rotation(rng: np.random.Generator) -> Array:
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


def random_tree(
    rng: np.random.Generator,
    n: int,
    kinds: tuple[str, ...] = ("revolute", "prismatic"),
    serial: bool = False,
    armature: bool = True,
) -> Mechanism:
    """A tree of n bodies in general position, its joints given in no particular order."""
    bodies, joints = [], []
    for i in range(n):
        bodies.append(random_body(rng, f"body{i}"))
        parent = i - 1 if serial else int(rng.integers(-1, i))
        kind = kinds[int(rng.integers(len(kinds)))] if i else kinds[0]
        joints.append(
            Joint(
                f"joint{i}",
                kind,
                "world" if parent < 0 else f"body{parent}",
                f"body{i}",
                at_m=rng.normal(size=3) * 0.4,
                rotation=random_rotation(rng),
                axis=rng.normal(size=3),
                pitch_m_per_rad=float(rng.normal() * 0.1) if kind == "screw" else 0.0,
                armature=float(rng.uniform(0.0, 0.3)) if armature and kind != "fixed" else 0.0,
            )
        )
    if not serial:
        joints = [joints[i] for i in rng.permutation(n)]
    tip = f"body{n - 1}"
    return Mechanism.build(
        bodies,
        joints,
        rng.normal(size=3) * 5.0,
        [Point("tip", tip, rng.normal(size=3) * 0.3), Point("middle", f"body{n // 2}", (0.1, 0.2, 0.3))],
        [Coordinate(f"tip_{kind}", kind, "tip") for kind in ("x", "y", "z", "roll", "pitch", "yaw")],
    )


def random_state(rng: np.random.Generator, mechanism: Mechanism) -> tuple[Array, Array]:
    return rng.uniform(-2.0, 2.0, size=mechanism.nq), rng.normal(size=mechanism.nv)


def relative_error(found: npt.ArrayLike, expected: npt.ArrayLike) -> float:
    """Largest deviation over the largest expected entry."""
    f, e = np.asarray(found), np.asarray(expected)
    assert f.shape == e.shape
    return float(np.abs(f - e).max() / max(np.abs(e).max(), 1e-300))
