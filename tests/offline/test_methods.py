"""Offline simulation by steps of other kinds: minimal coordinates, Taylor's stepper, adaptive reference."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from linkwork.machine import load
from linkwork.machine.catalogue import shipped_path
from linkwork.offline.run import simulate
from linkwork.plant.simulator.simulator import SimulationDiverged

FOUR, SLIDER, PLATFORM = load("four_bar"), load("slider_crank"), load("platform_3rrs")
PUSH = [8.0, 10.0, 12.0]


def test_minimal_passes_both_singularities_of_the_four_bar_as_projected_does() -> None:
    by_projection = simulate(FOUR, 1.0)
    minimal = simulate(FOUR, 1.0, formulation="minimal", stabilisation="none")
    np.testing.assert_allclose(minimal.q, by_projection.q, atol=1e-7)
    assert minimal.switches is not None
    assert minimal.switches >= 2
    a1, a3 = minimal.q[:, 0], minimal.q[:, 2]
    for measure in (np.cos(a1), np.sin(a3)):
        assert (measure[:-1] * measure[1:] < 0).any()
    assert minimal.balance.residual_position_max < 1e-12
    assert minimal.balance.residual_velocity_max < 1e-12
    assert by_projection.switches is None


def test_minimal_is_of_fourth_order() -> None:
    reference = simulate(PLATFORM, 0.2, 0.01, integrator="dop853", effort=PUSH)
    errors = [
        np.abs(
            simulate(PLATFORM, 0.2, dt, integrator="rk4", formulation="minimal", effort=PUSH).q[-1]
            - reference.q[-1]
        ).max()
        for dt in (0.01, 0.005)
    ]
    assert 11 < errors[0] / errors[1] < 21


def test_minimal_in_first_order_and_without_constraints() -> None:
    errors = [
        np.abs(
            simulate(FOUR, 0.2, dt, integrator="semi_implicit", formulation="minimal").q[-1]
            - simulate(FOUR, 0.2).q[-1]
        ).max()
        for dt in (0.001, 0.0005)
    ]
    assert 1.7 < errors[0] / errors[1] < 2.3
    free = simulate(load("scara"), 0.1, 0.001, formulation="minimal")
    np.testing.assert_allclose(free.q, simulate(load("scara"), 0.1, 0.001).q, atol=1e-12)
    assert free.switches == 0


def test_minimal_goes_through_branch_poses_by_projection() -> None:
    minimal = simulate(SLIDER, 2.0, formulation="minimal")
    assert minimal.balance.singular_passages >= 1
    np.testing.assert_allclose(minimal.q, simulate(SLIDER, 2.0).q, atol=1e-9)
    np.testing.assert_allclose(minimal.q[:, 1], -2.0 * minimal.q[:, 0], atol=1e-9)


def test_taylor_is_of_first_order_and_its_closures_open_by_the_third() -> None:
    reference = simulate(PLATFORM, 0.1, 0.1, integrator="dop853", effort=PUSH)
    runs = [simulate(PLATFORM, 0.1, dt, formulation="taylor", effort=PUSH) for dt in (0.002, 0.001)]
    errors = [np.abs(run.q[-1] - reference.q[-1]).max() for run in runs]
    assert errors[0] / errors[1] > 1.8
    gaps = [run.balance.residual_position_max for run in runs]
    assert gaps[0] / gaps[1] > 7.0
    speeds = [np.abs(run.v[-1] - reference.v[-1]).max() for run in runs]
    assert speeds[0] / speeds[1] > 1.8


def test_taylor_gives_the_joints_of_a_tree() -> None:
    machine = load("scara")
    effort = [1.0, -0.5, 0.1, 5.0]
    runs = [simulate(machine, 0.1, effort=effort, formulation=name) for name in ("taylor", "projected")]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)
    np.testing.assert_allclose(runs[0].v, runs[1].v, atol=1e-5)


@pytest.mark.parametrize("method", ["dop853", "lsoda"])
def test_adaptive_methods_are_the_reference(method: str) -> None:
    reference = simulate(FOUR, 0.5, 0.01, integrator=method)
    assert len(reference.time_s) == 51
    assert reference.balance.energy_balance_error_J < 1e-8
    assert reference.balance.residual_position_max < 1e-12
    coarse, fine = (simulate(FOUR, 0.5, dt, integrator="rk4") for dt in (0.002, 0.001))
    errors = [np.abs(run.q[-1] - reference.q[-1]).max() for run in (coarse, fine)]
    assert 12 < errors[0] / errors[1] < 20


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("delta", "constraints.wrist_2: wrist_2.y_z repeats .* leave these rows out"),
        ("slider_crank", "constraints.guide: .* none of kind coordinate"),
        ("arm_6dof", "joints.shoulder.kind: .* no compound joints"),
    ],
)
def test_taylor_refuses_by_name(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        simulate(load(name), 0.1, formulation="taylor")
    assert "projected" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"formulation": "newton"},
            "projected, udwadia_kalaba, lagrange, plain, symmetric, scaled, minimal, taylor",
        ),
        ({"integrator": "euler"}, "rk4, semi_implicit, adaptive_rk4, gauss, dop853, lsoda"),
        ({"formulation": "minimal", "integrator": "lsoda"}, "use integrator rk4 or semi_implicit"),
        ({"formulation": "minimal", "integrator": "gauss"}, "use integrator rk4 or semi_implicit"),
        ({"formulation": "minimal", "stabilisation": "baumgarte"}, "use projection"),
        ({"track": ["O9"]}, "there are O2, O3"),
    ],
)
def test_refusals(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        simulate(FOUR, 0.1, **arguments)  # type: ignore[arg-type]


def test_points_are_tracked() -> None:
    motion = simulate(FOUR, 0.1, track=["O3", "O3"])
    assert motion.points is not None
    assert motion.points.names == ("O3",)
    place, speed = motion.points.position_m[:, 0], motion.points.velocity_m_s[:, 0]
    b1 = motion.q[:, 0] - np.pi / 2
    b2 = b1 + motion.q[:, 1]
    np.testing.assert_allclose(place[:, 0], 0.8 * np.cos(b1) + 0.7 * np.cos(b2), atol=1e-12)
    np.testing.assert_allclose(speed[1:-1], (place[2:] - place[:-2]) / 0.002, atol=1e-3)
    assert {"O3.x_m", "O3.vz_m_s"} <= set(motion.columns())


@pytest.mark.parametrize("formulation", ["projected", "udwadia_kalaba", "lagrange", "minimal", "taylor"])
def test_reactions_of_a_pendulum_in_every_formulation(formulation: str) -> None:
    machine = load("double_pendulum")
    motion = simulate(machine, 0.1, 0.0005, formulation=formulation, reactions=True)
    found = motion.reactions
    assert found is not None
    assert found.names == ("shoulder", "elbow")
    # from the momentum of both bars: their centres, by differences of the recorded motion
    half, mass = 0.61, 14.59
    angles = np.cumsum(motion.q, axis=1)
    along = half * np.stack([np.cos(angles), 0 * angles, np.sin(angles)], axis=-1)
    centres = np.stack([along[:, 0], 2 * along[:, 0] + along[:, 1]], axis=1)
    dt = 0.0005
    rates = (centres[2:] - 2 * centres[1:-1] + centres[:-2]) / dt**2
    expected = mass * (rates + np.array([0.0, 0.0, 9.81]))
    exact = 2e-3 if formulation != "taylor" else 1.0
    np.testing.assert_allclose(found.force_N[1:-1, 1], expected[:, 1], atol=exact)
    np.testing.assert_allclose(found.force_N[1:-1, 0], expected.sum(axis=1), atol=exact)
    assert np.abs(found.moment_N_m).max() < 1e-9
    summary = found.summary()["elbow"]
    assert summary["on_body"] == "lower"
    assert summary["force_max_N"] == pytest.approx(np.linalg.norm(found.force_N[:, 1], axis=1).max())


def test_every_sample_has_its_reactions() -> None:
    for formulation in ("projected", "taylor"):
        motion = simulate(PLATFORM, 0.0105, formulation=formulation, reactions=True, every=3)
        assert motion.reactions is not None
        assert len(motion.reactions.force_N) == len(motion.time_s) == 5


def test_a_step_that_is_too_long_for_taylor_says_so() -> None:
    fast = dataclasses.replace(load("double_pendulum"), initial_v=np.array([100.0, 0.0]))
    with pytest.raises(SimulationDiverged, match="shorten the step"):
        simulate(fast, 0.1, 0.01, formulation="taylor")


LOADS = """
points:
  middle: {body: upper, at_m: [0.6, 0, 0.1]}
  tip: {body: lower, at_m: [1.22, 0, 0]}
springs:
  return: {joint: elbow, stiffness_N_m_rad: 30, damping_N_m_s: 2, rest_deg: 20}
  balance: {between: [middle, tip], stiffness_N_m: 200, damping_N_s_m: 5, rest_m: 0.3}
forces:
  push: {point: tip, direction: [1, 0, 0.5], force_N: "20*sin(9*t) - 3*rate(shoulder)"}
  follower: {point: tip, direction: [0, 0, 1], axes: body, force_N: 12}
  twist: {body: upper, axis: [0, -1, 0], torque_N_m: "5*cos(4*t)"}
  drive: {joint: shoulder, torque_N_m: "8*sin(6*t)"}
"""


def test_taylor_takes_springs_and_applied_forces_to_first_order(tmp_path) -> None:
    text = shipped_path("double_pendulum").read_text(encoding="utf-8")
    begin, end = text.index("points:"), text.index("task:")
    path = tmp_path / "loaded.yaml"
    path.write_text(text[:begin] + LOADS + text[end:], encoding="utf-8")
    machine = load(str(path))
    exact = simulate(machine, 0.5, 1e-3, integrator="dop853").q[-1]
    errors = [
        float(np.abs(simulate(machine, 0.5, dt, formulation="taylor").q[-1] - exact).max())
        for dt in (1e-3, 5e-4)
    ]
    without = simulate(load("double_pendulum"), 0.5, 1e-3, integrator="dop853").q[-1]
    assert float(np.abs(without - exact).max()) > 0.1  # the loads matter
    assert errors[1] < 2e-3
    assert 1.7 < errors[0] / errors[1] < 2.3
