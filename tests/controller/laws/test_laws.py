"""The laws as maps: on random states, against each other and against plain linear algebra."""

from dataclasses import replace

import numpy as np
import pytest

from linkwork.controller.laws import Law, Reference, law_of
from linkwork.controller.laws.law_table import LawRefused
from linkwork.machine import Machine, load
from linkwork.multibody import Workspace
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.functions import forward_dynamics
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.protocol.laws import LawKind

JOINTS, TOOL = np.arange(4), np.arange(4, 8)


@pytest.fixture(scope="module")
def scara() -> Machine:
    """With motors that nothing here is too much for; their limits have tests of their own."""
    machine = load("scara")
    return replace(machine, motors=tuple(motor.with_values(max_effort=1e9) for motor in machine.motors))


def random_state(machine: Machine, rng: np.random.Generator) -> Workspace:
    """A state with the elbow well bent, so that the tool coordinates are independent."""
    work = machine.mechanism.workspace()
    work.q[:] = rng.uniform(-2.0, 2.0, 4)
    work.q[1] = rng.choice([-1, 1]) * rng.uniform(0.3, 2.5)
    work.v[:] = rng.normal(size=4)
    dynamics(*work.arguments)
    coordinates(*work.arguments)
    return work


def random_reference(work: Workspace, index: np.ndarray, rng: np.random.Generator) -> Reference:
    theta = work.theta[index] + 0.1 * rng.normal(size=4)
    return Reference(index, theta, rng.normal(size=4), rng.normal(size=4))


def apply(law: Law, work: Workspace, reference: Reference) -> tuple[np.ndarray, float]:
    force = np.zeros(4)
    return force, law(work, reference, force)


@pytest.mark.parametrize("index", [JOINTS, TOOL], ids=["joints", "tool"])
@pytest.mark.parametrize("kind", [LawKind.PIDC, LawKind.SERVO])
def test_the_error_obeys_its_equation(scara: Machine, kind: LawKind, index: np.ndarray) -> None:
    law, rng = law_of(kind, scara), np.random.default_rng(1)
    omega = scara.controller.bandwidth_rad_s
    for _ in range(200):
        work = random_state(scara, rng)
        reference = random_reference(work, index, rng)
        force, determined = apply(law, work, reference)
        vdot = forward_dynamics(scara.mechanism, work.q, work.v, force)
        rate, change = work.J[index] @ work.v, work.J[index] @ vdot + work.Jdv[index]
        error = (reference.acceleration - change) + 2 * omega * (reference.velocity - rate)
        error += omega**2 * (reference.theta - work.theta[index])
        assert determined > 1e-6
        np.testing.assert_allclose(error, 0.0, atol=1e-9 * np.abs(reference.acceleration).max() + 1e-8)


@pytest.mark.parametrize("index", [JOINTS, TOOL], ids=["joints", "tool"])
def test_pidc_and_servo_ask_for_the_same_effort(scara: Machine, index: np.ndarray) -> None:
    pidc, servo, rng = law_of(LawKind.PIDC, scara), law_of(LawKind.SERVO, scara), np.random.default_rng(2)
    for _ in range(1000):
        work = random_state(scara, rng)
        reference = random_reference(work, index, rng)
        (first, _), (second, _) = apply(pidc, work, reference), apply(servo, work, reference)
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-10 * max(1.0, np.abs(first).max()))


@pytest.mark.parametrize("kind", [LawKind.PIDC, LawKind.SERVO])
def test_a_stretched_arm_is_called_singular_and_nothing_is_divided(scara: Machine, kind: LawKind) -> None:
    work = scara.mechanism.workspace()
    dynamics(*work.arguments)
    coordinates(*work.arguments)
    force, determined = apply(
        law_of(kind, scara), work, random_reference(work, TOOL, np.random.default_rng(3))
    )
    assert determined < 1e-6
    assert np.all(np.isfinite(force))


def test_an_angle_is_steered_the_short_way_round(scara: Machine) -> None:
    law, rng = law_of(LawKind.PIDC, scara), np.random.default_rng(4)
    work = random_state(scara, rng)
    near = Reference(TOOL, work.theta[TOOL].copy(), np.zeros(4), np.zeros(4))
    far = Reference(TOOL, work.theta[TOOL] + [0, 0, 0, 2 * np.pi], np.zeros(4), np.zeros(4))
    np.testing.assert_allclose(apply(law, work, far)[0], apply(law, work, near)[0], atol=1e-10)


def test_float_holds_gravity_and_nothing_else(scara: Machine) -> None:
    work = random_state(scara, np.random.default_rng(5))
    force, _ = apply(law_of(LawKind.FLOAT, scara), work, Reference.sized(4))
    np.testing.assert_allclose(force, [0, 0, 0, 0.5 * 9.81], atol=1e-12)


def test_damping_makes_every_speed_decay_alike(scara: Machine) -> None:
    work = random_state(scara, np.random.default_rng(6))
    force, _ = apply(law_of(LawKind.DAMP, scara), work, Reference.sized(4))
    vdot = forward_dynamics(scara.mechanism, work.q, work.v, force)
    np.testing.assert_allclose(vdot, -10.0 * work.v, atol=1e-10)


def test_a_joint_without_a_motor_is_refused_by_name(scara: Machine) -> None:
    bare = replace(scara, motors=scara.motors[:3])
    with pytest.raises(LawRefused, match="no motor drives lift"):
        law_of(LawKind.PIDC, bare)
