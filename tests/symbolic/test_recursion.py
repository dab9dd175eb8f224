"""The symbolic model against the recursion: every machine that ships, every kind of joint and constraint."""

import numpy as np
import pytest

from linkwork.machine import load, shipped
from linkwork.multibody import Coordinate, Mechanism, ModelError, Point
from linkwork.multibody.constraints import (
    Constraint,
    CoordinateConstraint,
    CouplingConstraint,
    DistanceClosure,
    ExpressionConstraint,
    RollingConstraint,
    VelocityConstraint,
)
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.symbolic.code import numeric
from linkwork.symbolic.symbolic_model import derive
from tests.multibody import test_constraints as given
from tests.multibody.machines import random_body, random_joint, random_state

ROUND_OFF = 1e-11
JOINTS = (
    ("free", "universal", "screw"),
    ("spherical", "planar", "prismatic"),
    ("angles", "compound", "revolute"),
)


def worst_gap(mechanism: Mechanism, states: int, seed: int) -> dict[str, float]:
    """Largest relative gap of each part between the symbolic model and the kernels, at random states.

    The rows of constraints that are switched off, which the kernels leave out, are not compared.
    """
    on = np.array([each.on for each in mechanism.constraints for _ in each.rows], dtype=bool)
    rng = np.random.default_rng(seed)
    model = derive(mechanism)
    parts = model.parts()
    function = numeric(model, list(parts.values()))
    worst: dict[str, float] = {}
    for _ in range(states):
        w = mechanism.workspace()
        w.q[:], w.v[:] = random_state(rng, mechanism)
        w.clock[0] = time = float(rng.uniform(0.0, 2.0))
        dynamics(*w.arguments)
        coordinates(*w.arguments)
        constraint_rows(*w.arguments)
        expected = {
            "M": w.M, "h": w.h, "phi": w.phi, "A": w.A, "Adot_v": -w.b,
            "theta": w.theta, "J": w.J, "Jdot_v": w.Jdv, "points": w.point_position,
        }  # fmt: skip
        assert list(expected) == list(parts)
        for name, found in zip(parts, function(w.q, w.v, time), strict=True):
            wanted = expected[name]
            if name in ("phi", "A", "Adot_v"):
                found, wanted = np.asarray(found)[on], wanted[on]
            if found.size:
                size = max(np.abs(wanted).max(), 1e-3)
                worst[name] = max(worst.get(name, 0.0), np.abs(found - wanted).max() / size)
    return worst


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("scara", "five_bar", "arm_6dof_simple") else pytest.mark.slow)
        for name in shipped()
    ],
)
def test_machines_that_ship(name):
    assert max(worst_gap(load(name).mechanism, 3, 1).values()) < ROUND_OFF


def _constraints(rng: np.random.Generator, names: list[str], seed: int) -> list[Constraint]:
    """A third of all kinds, between bodies 0, 1, 2 and the world."""
    ends = [("world", "body1"), ("body2", "world"), ("body0", "body2"), ("body2", "body1")]
    made: list[Constraint] = []
    for k, kind in enumerate(
        [*given.CLOSURES, "disc", "coupling", "tip_x", "tip_roll", "velocity", *given.TEXTS, "tip_distance"]
    ):
        if k % 3 != seed:
            continue
        a, b = (given._frame(rng, body) for body in ends[(k + seed) % 4])
        name = f"it{k}"
        if kind == "disc":
            made.append(RollingConstraint(name, a=a, b=b, radius_m=0.3, disc=True))
        elif kind == "coupling":
            made.append(CouplingConstraint(name, factors={"tip_x": 0.4, "tip_yaw": -1.3}, value=0.3))
        elif kind == "velocity":
            made.append(VelocityConstraint(name, factors=given.SKATE.factors, value=given.SKATE.value))
        elif kind in given.TEXTS:
            made.append(ExpressionConstraint(name, expressions=given.TEXTS[kind]))
        elif kind in names:
            made.append(CoordinateConstraint(name, of=kind, value=0.3))
        else:
            special = {"distance_m": 0.7} if kind is DistanceClosure else {}
            special |= {"radius_m": 0.3} if kind is RollingConstraint else {}
            made.append(kind(name, a=a, b=b, **special))
    return made


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_every_kind_of_constraint_and_joint(seed):
    rng = np.random.default_rng(seed)
    bodies = ["world", "body0", "body1", "body2"]
    joints = []
    for k, kind in enumerate(JOINTS[seed]):
        parent = bodies[k // 2 + (k > 0)]
        joints.append(random_joint(rng, f"joint{k}", kind, parent, bodies[k + 1], 0.1))
    angles = [Coordinate(f"tip_{kind}", kind, "tip") for kind in ("x", "y", "z", "roll", "pitch", "yaw")]
    angles.append(Coordinate("tip_distance", "distance", "tip", from_m=(0.5, -0.4, 0.6), less_m=0.2))
    mechanism = Mechanism.build(
        [random_body(rng, name) for name in bodies[1:]],
        joints,
        (1.0, -2.0, -9.0),
        [Point("tip", "body2", (0.1, 0.2, -0.3))],
        angles,
        _constraints(rng, [each.name for each in angles], seed),
    )
    assert max(worst_gap(mechanism, 3, seed).values()) < ROUND_OFF


def test_progress_and_unknown_points():
    told: list[float] = []
    model = derive(load("double_pendulum").mechanism, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    with pytest.raises(ModelError, match="known"):
        model.point("nowhere")
