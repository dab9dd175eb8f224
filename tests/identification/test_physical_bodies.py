"""Bodies that exist are found where they exist; simulated machines are not called wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.identify_campaign import (
    MACHINES,
    changed_truth,
    needed_efforts,
    recorded,
    results,
    summary,
    trial,
    true_motion,
)
from linkwork.identification.base_estimate import estimate
from linkwork.identification.base_parameters import structural_base_parameters
from linkwork.identification.identification import equations_for, identify
from linkwork.identification.identified_model import identified_parameters
from linkwork.identification.machine_update import updated_file
from linkwork.identification.physical_bodies import body_size, physical_fit, pseudo_inertia
from linkwork.identification.regressor import Regressor
from linkwork.machine import load
from linkwork.multibody import Mechanism
from tests.identification.excited import true_efforts


def own_values(mechanism: Mechanism) -> dict[str, float]:
    regressor = Regressor(mechanism)
    return dict(zip((each.name for each in regressor.parameters), regressor.values, strict=True))


@pytest.fixture(scope="module", params=MACHINES)
def machine(request):
    return load(request.param)


@pytest.fixture(scope="module")
def base(machine):
    return structural_base_parameters(machine)


def test_the_bodies_of_the_file_are_within_their_size_limit(machine):
    mechanism = machine.mechanism
    own = own_values(mechanism)
    for body in mechanism.bodies:
        ten = np.array([value for name, value in own.items() if name.rpartition(".")[0] == body.name])[:10]
        centre, radius = body_size(mechanism, body.name)
        pseudo = pseudo_inertia(ten)
        about = np.trace(pseudo[:3, :3]) - 2.0 * centre @ ten[1:4] + ten[0] * centre @ centre
        assert about <= ten[0] * radius**2


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 1000))
def test_bodies_that_exist_explain_their_own_parameters(machine, base, seed: int):
    rng = np.random.default_rng(seed)
    own = own_values(changed_truth(machine, true_motion(machine, rng, seconds=0.1), rng))
    values = base.matrix @ np.array([own[each.name] for each in base.parameters])
    file = base.matrix @ np.array([each.value for each in base.parameters])
    precise = np.diag(1000.0 / np.maximum(np.abs(file), 0.1 * np.abs(file).max()))
    found = physical_fit(
        machine.mechanism, base.parameters, base.matrix, values, precise, np.ones(len(base.parameters))
    )
    assert found.misfit < 1.0


@pytest.mark.parametrize("name", [name for name in MACHINES if name != "platform_3rrs"])  # it has ball joints
def test_the_campaigns_efforts_are_those_of_another_formulation(name):
    machine = load(name)
    rng = np.random.default_rng(0)
    motion = true_motion(machine, rng, seconds=0.05)
    truth = changed_truth(machine, motion, rng)

    class Along:
        def __init__(self) -> None:
            self.places = [machine.mechanism.joint_index(name) for name in motion.joints]

        def at(self, t: float):
            k = int(np.argmin(np.abs(motion.time_s - t)))
            return tuple(each[k, self.places] for each in (motion.q, motion.v, motion.vdot))

    q, efforts = true_efforts(machine, truth, Along(), motion.time_s)
    assert q == pytest.approx(motion.q, abs=1e-9)
    assert needed_efforts(machine, truth, motion) == pytest.approx(efforts, rel=1e-6, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("with_stribeck", [False, True])
@pytest.mark.parametrize("name", MACHINES)
def test_verdicts_hold_for_simulated_machines(name: str, with_stribeck: bool):
    found = summary(list(results([name], range(3), with_stribeck=with_stribeck, state=None)))
    assert found["model_errors"] == (1.0 if with_stribeck else 0.0)
    if not with_stribeck:
        assert found["within_3_sigma"] > 0.95


def test_rows_that_share_a_motors_noise_are_made_independent():
    machine, rng = load("five_bar_redundant"), np.random.default_rng(3)
    motion = true_motion(machine, rng, seconds=4.0)
    run = recorded(machine, motion, needed_efforts(machine, machine.mechanism, motion), rng)
    noisy = run.efforts["left_elbow"] + 0.02 * rng.normal(size=len(run.time_s))
    columns = identified_parameters(machine)
    motion = replace(run, efforts={**run.efforts, "left_elbow": noisy})
    equations = equations_for(machine, [motion], columns)
    found = estimate(equations, range(len(columns)))
    white = found.whitening.of(found.residual[:, None], found.series)[:, 0]
    sizes = [
        len(pieces[0]) - len(own)
        for pieces, own in zip(found.series, found.whitening.coefficients, strict=True)
    ]
    left, right = white[: sizes[0]], white[sizes[0] :]
    both = min(sizes)
    assert abs(np.corrcoef(left[-both:], right[-both:])[0, 1]) < 0.2


def test_negative_friction_is_named_and_not_written():
    machine, rng = load("five_bar"), np.random.default_rng(1)
    motion = true_motion(machine, rng, seconds=5.0)

    def pushing(_: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([0.0, 0.0, -0.004 * v[2], 0.0])

    run = recorded(machine, motion, needed_efforts(machine, machine.mechanism, motion, pushing), rng)
    found = identify(machine, [run])
    named = {each.base.first.name: each for each in found.found}
    assert named["left_elbow.viscous"].value < -0.001
    assert "cannot be" in named["left_elbow.viscous"].remark
    assert all(not each.remark for each in found.found if each.value >= 0.0)
    assert "viscous_N_m_s: -" not in updated_file(found)


@pytest.mark.slow
def test_the_file_does_not_spoil_what_a_poor_motion_shows():
    """The bodies' thin directions are far from the file's; the motion shows little of them."""
    found = trial("five_bar", 1, with_stribeck=False)
    assert found["model_error"] == ""
    assert found["ratio"] < 1.6
