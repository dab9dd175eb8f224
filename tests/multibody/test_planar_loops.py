"""Planar loops closed by pins: beside points and Pinocchio, by `lagrange`, by the Taylor stepper."""

import numpy as np
import pytest

from linkwork.multibody import Body, Joint, Mechanism, ModelError
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.assembly.closed_form_search import four_bar_of
from linkwork.multibody.constraints import (
    Frame,
    PinClosure,
    PointClosure,
    PrismaticClosure,
    RevoluteClosure,
    WeldClosure,
)
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.offline.taylor import TaylorStepper
from linkwork.offline.taylor.conversion import maximal_model_of
from linkwork.offline.taylor.independent_closures import RedundantClosure, without_redundancy
from tests.multibody.closed_machines import BACK, bar, four_bar
from tests.multibody.machines import G, relative_error

START = (1.1, -0.9, -1.6)


def moving(mechanism, rng):
    found = assemble(mechanism, START, rng.normal(size=3))
    return found.q, found.v, rng.normal(size=3)


@pytest.mark.parametrize("formulation", ["projected", "udwadia_kalaba", "lagrange"])
def test_a_pin_moves_a_four_bar_as_a_point_does(formulation):
    pinned, pointed = four_bar(closure=PinClosure), four_bar(closure=PointClosure)
    q, v, effort = moving(pointed, np.random.default_rng(3))
    found = acceleration(pinned, q, v, effort, formulation=formulation)
    other = acceleration(pointed, q, v, effort)
    assert found.rank == other.rank == 2
    assert relative_error(found.vdot, other.vdot) < 1e-10
    assert relative_error(found.constraint_force, other.constraint_force) < 1e-9
    np.testing.assert_allclose(found.multipliers, other.multipliers[:2], rtol=1e-8, atol=1e-8)
    assert abs(other.multipliers[2]) < 1e-8
    with pytest.raises(ValueError, match="rank"):
        acceleration(pointed, q, v, effort, formulation="lagrange")


def test_a_pinned_four_bar_equals_pinocchio():
    pytest.importorskip("pinocchio")
    from tests.verification.in_pinocchio import InPinocchio

    pinned, other = four_bar(closure=PinClosure), InPinocchio(four_bar(closure=PointClosure))
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, v, effort = moving(pinned, rng)
        found = acceleration(pinned, q, v, effort, formulation="lagrange").vdot
        assert relative_error(found, other.acceleration(q, v, effort)) < 1e-7


def test_a_pinned_four_bar_has_its_closed_form():
    found, other = (four_bar_of(four_bar(closure=kind)) for kind in (PinClosure, RevoluteClosure))
    assert found.linkage == other.linkage
    tilted = PinClosure("pin0", a=Frame("world", (1.0, 0.0, 0.0)), b=Frame("c", (0.7, 0.0, 0.0)))
    plain = four_bar()
    with pytest.raises(ModelError, match="axis on world is not parallel"):
        four_bar_of(Mechanism.build(plain.bodies, plain.joints, plain.gravity_m_s2, constraints=[tilted]))


@pytest.mark.parametrize("closure", [PointClosure, RevoluteClosure, PinClosure])
def test_the_taylor_stepper_takes_a_planar_loop_of_hinges(closure):
    mechanism = four_bar(closure=closure)
    q, v = assemble(mechanism, START, (0.5, 0.0, 0.0)).q, np.zeros(3)
    stepper = TaylorStepper(maximal_model_of(mechanism, q))
    stepper.stand_as(mechanism, q, v)
    dt, duration = 2.5e-4, 0.3
    for _ in range(round(duration / dt)):
        stepper.step(dt)
    reference = mechanism.workspace()
    reference.q[:], reference.v[:] = q, v
    from linkwork.multibody.steps.integrate import rk4

    for _ in range(300):
        rk4(*reference.arguments, duration / 300)
    np.testing.assert_allclose(stepper.coordinate, reference.q, atol=2e-3)
    assert np.abs(reference.q - q).max() > 0.2
    assert np.abs(stepper.gap()).max() < 1e-6


def test_redundant_rows_that_no_closure_lacks_are_named():
    """A planar slider whose guide repeats what the hinges hold: of its five rows two are needed."""
    up = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    along = up @ np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    bodies = [bar(name, 0.5) for name in "abc"]
    hinges = [
        Joint("q1", "revolute", "world", "a", axis=BACK),
        Joint("q2", "revolute", "a", "b", at_m=(0.5, 0, 0), axis=BACK),
        Joint("q3", "revolute", "b", "c", at_m=(0.5, 0, 0), axis=BACK),
    ]
    guide = PrismaticClosure("guide", a=Frame("world", rotation=along), b=Frame("c", rotation=along))
    mechanism = Mechanism.build(bodies, hinges, (0, 0, -G), constraints=[guide])
    q = assemble(mechanism, (0.6, -1.2, 0.6)).q
    with pytest.raises(RedundantClosure) as caught:
        maximal_model_of(mechanism, q)
    assert len(caught.value.rows) == 3
    assert set(caught.value.rows) <= set(mechanism.row_names)
    assert all(name in str(caught.value) for name in caught.value.rows)
    assert caught.value.where == ("constraints", "guide")


def test_spatial_closures_stay_and_repeated_ones_go():
    mechanism = four_bar(closure=PointClosure, copies=2)
    q = assemble(mechanism, START).q
    (pin,) = without_redundancy(mechanism, q)
    assert isinstance(pin, PinClosure)
    assert abs((np.asarray(pin.a.rotation) @ (0, 0, 1)) @ BACK) == pytest.approx(1.0)
    free = Mechanism.build(
        [Body("plate", 1.0, (0, 0, 0), 0.1 * np.eye(3))],
        [Joint("pose", "free", "world", "plate")],
        (0, 0, -G),
        constraints=[
            WeldClosure("weld", a=Frame("world", (0.1, 0, 0)), b=Frame("plate")),
            PointClosure("off", b=Frame("plate"), on=False),
        ],
    )
    (kept,) = without_redundancy(free, assemble(free, [0.1, 0, 0, 0, 0, 0, 1.0]).q)
    assert kept is free.constraints[0]
