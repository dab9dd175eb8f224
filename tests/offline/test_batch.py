"""Many motions in one call: each is that of `simulate`, whatever the others are."""

import numpy as np
import pytest

from linkwork import load, simulate, simulate_batch
from linkwork.arrays import Floats
from linkwork.machine import Machine, MachineError


def starts(machine: Machine, count: int) -> Floats:
    """States along a motion of the machine (count × (nq + nv))."""
    motion = simulate(machine, 0.5, 1e-3, every=max(1, 500 // count), effort=_push(machine))
    return np.hstack([motion.q, motion.v])[:count]


def _push(machine: Machine) -> list[float]:
    return [0.05 * motor.max_effort for motor in machine.motors]


@pytest.mark.parametrize("name", ["slider_crank", "scara", "delta", "scara_polish"])
def test_each_case_is_the_motion_of_simulate(name: str) -> None:
    """Closed and open machines, quaternions and contacts; every thread and every number of samples."""
    machine = load(name)
    motion = simulate(machine, 0.1, 1e-3, effort=_push(machine), integrator="rk4")
    first = np.concatenate([motion.q[0], motion.v[0]])
    states = np.vstack([first, *starts(machine, 4)])
    found = simulate_batch(
        machine, states, 0.1, effort=_push(machine), dt_s=1e-3, every=25, integrator="rk4", workers=2
    )
    assert found.shape == (len(states), 4, machine.plant_mechanism.nq + machine.plant_mechanism.nv)
    expected = np.hstack([motion.q, motion.v])[25::25]
    assert np.allclose(found[0], expected, rtol=0.0, atol=1e-12)
    last = simulate_batch(machine, states, 0.1, effort=_push(machine), dt_s=1e-3, integrator="rk4", workers=1)
    assert np.array_equal(last, found[:, -1])


def test_parameters_and_efforts_differ_from_case_to_case() -> None:
    machine = load("slider_crank")
    state = np.concatenate([machine.initial_q, machine.initial_v])
    masses, efforts = np.array([4.0, 6.0, 4.0]), np.array([[0.0], [0.0], [3.0]])
    found = simulate_batch(
        machine, state, 0.2, parameters={"bodies.crank.mass_kg": masses}, effort=efforts, integrator="rk4"
    )
    for row, mass, effort in zip(found, masses, efforts, strict=True):
        other = load("slider_crank", [f"bodies.crank.mass_kg={mass}"])
        alone = simulate_batch(other, state, 0.2, effort=effort, integrator="rk4")
        assert np.array_equal(row, alone[0])
        motion = simulate(other, 0.2, effort=effort, integrator="rk4")
        assert np.allclose(row, np.concatenate([motion.q[-1], motion.v[-1]]), rtol=0.0, atol=1e-12)
    assert len({tuple(row) for row in found.tolist()}) == 3


def test_gravity_is_a_parameter_and_efforts_go_by_motor() -> None:
    """One component of a list is a number, as on the command line."""
    machine = load("five_bar")
    state = np.concatenate([machine.initial_q, machine.initial_v])
    weights, torques = np.array([0.0, -1.62, -9.81]), np.array([0.1, 0.2, 0.3])
    given = {"parameters": {"gravity_m_s2[1]": weights}, "integrator": "rk4"}
    found = simulate_batch(machine, state, 0.05, effort={"right": torques}, **given)
    second = [motor.joint for motor in machine.motors].index("right")
    same = np.zeros((3, len(machine.motors)))
    same[:, second] = torques
    assert np.array_equal(found, simulate_batch(machine, state, 0.05, effort=same, **given))
    for row, weight, torque in zip(found, weights, torques, strict=True):
        other = load("five_bar", [f"gravity_m_s2[1]={weight}"])
        motion = simulate(other, 0.05, effort={"right": float(torque)}, integrator="rk4")
        assert np.allclose(row, np.concatenate([motion.q[-1], motion.v[-1]]), rtol=0.0, atol=1e-12)
    assert len({tuple(row) for row in found.tolist()}) == 3


def test_integers_of_numpy_are_integers() -> None:
    machine = load("slider_crank")
    state = np.concatenate([machine.initial_q, machine.initial_v])
    found = simulate_batch(machine, state, 0.1, dt_s=1e-3, every=np.int64(5), workers=np.int32(1))
    assert np.array_equal(found, simulate_batch(machine, state, 0.1, dt_s=1e-3, every=5))


def test_wrong_arguments_are_named() -> None:
    machine = load("slider_crank")
    state = np.concatenate([machine.initial_q, machine.initial_v])
    with pytest.raises(ValueError, match="states must have 4 numbers a case"):
        simulate_batch(machine, state[:3], 0.1)
    with pytest.raises(ValueError, match="cases: states 2, effort 3; give one for all"):
        simulate_batch(machine, np.tile(state, (2, 1)), 0.1, effort=np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"multiple of the step"):
        simulate_batch(machine, state, 0.10005, dt_s=1e-3)
    with pytest.raises(ValueError, match="every must divide"):
        simulate_batch(machine, state, 0.1, dt_s=1e-3, every=7)
    for wrong in (0, -1, 2.5, "2"):
        for name in ("every", "workers"):
            with pytest.raises(ValueError, match=f"{name} must be an integer, 1 or more"):
                simulate_batch(machine, state, 0.1, dt_s=1e-3, **{name: wrong})
    with pytest.raises(ValueError, match=r"mass_kg must be a number .* found an array of \(2, 1\)"):
        simulate_batch(machine, state, 0.1, parameters={"bodies.crank.mass_kg": [[1.0], [1.1]]})
    for wrong in (state.astype(complex), [[0.0] * 4, [0.0]], ["x"] * 4, np.zeros((0, 4))):
        with pytest.raises(ValueError, match="states must"):
            simulate_batch(machine, wrong, 0.1)
    for wrong in ("1", None, 0.0, np.nan, True):
        with pytest.raises(ValueError, match=r"duration_s must be positive and finite \(s\), not"):
            simulate_batch(machine, state, wrong)
    with pytest.raises(ValueError, match="dt_s must be positive"):
        simulate_batch(machine, state, 0.1, dt_s="1e-3")
    with pytest.raises(ValueError, match="effort of crank must be an array of real numbers, not of text"):
        simulate_batch(machine, state, 0.1, effort={"crank": "sin(t)"})
    with pytest.raises(ValueError, match=r"unknown motor 'krank'.*crank"):
        simulate_batch(machine, state, 0.1, effort={"krank": 1.0})
    with pytest.raises(ValueError, match="parameters must be a mapping"):
        simulate_batch(machine, state, 0.1, parameters=[1.0])
    with pytest.raises(ValueError, match="machine must be a Machine"):
        simulate_batch("slider_crank", state, 0.1)
    with pytest.raises(ValueError, match="every must be an integer"):
        simulate_batch(machine, state, 0.1, every=True)
    with pytest.raises(MachineError, match=r"write gravity_m_s2\[2\]"):
        simulate_batch(machine, state, 0.1, parameters={"gravity_m_s2.2": 1.0})
    with pytest.raises(ValueError, match="cannot use gauss"):
        simulate_batch(machine, state, 0.1, integrator="gauss")
    with pytest.raises(ValueError, match="finite; not so in case 1"):
        simulate_batch(machine, np.vstack([state, np.full(4, np.nan)]), 0.1)
    with pytest.raises(MachineError, match="no_such"):
        simulate_batch(machine, state, 0.1, parameters={"bodies.no_such.mass_kg": 1.0})


def test_open_closures_are_refused_with_their_cases() -> None:
    machine = load("four_bar")
    state = np.concatenate([machine.initial_q, machine.initial_v])
    away = state.copy()
    away[0] += 0.1
    with pytest.raises(ValueError, match=r"of 1 initial states are open.*case 1 by"):
        simulate_batch(machine, np.vstack([state, away]), 0.1)


@pytest.mark.parametrize("name", ["slider_crank", "four_bar", "delta"])
def test_speeds_that_open_the_closures_are_refused(name: str) -> None:
    """They would be replaced by others in the first step."""
    machine = load(name)
    motion = simulate(machine, 0.2, 1e-3, effort=_push(machine), every=100)
    states = np.hstack([motion.q, motion.v])
    simulate_batch(machine, states, 0.01)
    states[1, machine.plant_mechanism.nq] += 1e-3
    with pytest.raises(ValueError, match=r"speeds of 1 initial states open the closures.*case 1 by"):
        simulate_batch(machine, states, 0.01)


def test_a_case_that_leaves_the_numbers_does_not_disturb_the_others() -> None:
    machine = load("scara")
    n = machine.plant_mechanism.nq
    state = np.concatenate([machine.initial_q, machine.initial_v])
    wild = state.copy()
    wild[n:] = 1e200
    found = simulate_batch(machine, np.vstack([state, wild]), 0.01, every=1)
    assert np.isnan(found[1]).all()
    assert np.array_equal(found[0], simulate_batch(machine, state, 0.01, every=1)[0])
