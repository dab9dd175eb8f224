"""Integrators of `simulate`: each option is honoured or refused; orders, drift and references."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from linkwork.machine import Machine, load
from linkwork.multibody.formulations.projector import ASSEMBLIES
from linkwork.multibody.functions import kinetic_energy, potential_energy
from linkwork.offline.methods import ADAPTIVE, FORMULATIONS, INTEGRATORS
from linkwork.offline.run import STABILISATIONS, Motion, simulate

HINGE = """
name: hinge
gravity_m_s2: [0, -9.81, 0]
bodies:
  bar: {mass_kg: 2, com_m: [0.3, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.06, zz: 0.06}}
joints:
  pivot: {type: revolute, parent: world, child: bar, axis: [0, 0, 1]}
initial: {pivot_deg: 30}
"""
HELD = """
name: held
gravity_m_s2: [0, -9.81, 0]
bodies:
  bar: {mass_kg: 2, com_m: [0.3, 0, 0], inertia_kg_m2: {xx: 0.01, yy: 0.06, zz: 0.06}}
joints:
  plane: {type: planar, parent: world, child: bar, axis: [0, 0, 1]}
constraints:
  pivot: {type: point, a: {body: world}, b: {body: bar}}
initial: {plane.turn_deg: 30}
"""


def machine_of(folder: Path, text: str) -> Machine:
    path = folder / "machine.yaml"
    path.write_text(text)
    return load(path)


UNSETTLED = ("gauss", "baumgarte")
"""In steps of 0.1 s its stages do not settle at 50 rad/s, and it takes those of rk4, as documented."""


def outcome(machine: Machine, formulation: str, integrator: str | None, stabilisation: str) -> bytes | str:
    """The end of a short fast motion, or why it is refused."""
    try:
        motion = simulate(
            machine, 0.4, 0.1, integrator=integrator, formulation=formulation, stabilisation=stabilisation
        )
    except ValueError as error:
        return str(error)
    return motion.q[-1].tobytes() + motion.v[-1].tobytes()


@pytest.mark.slow
def test_every_combination_is_honoured_or_refused_with_the_reason() -> None:
    """Of what is not refused, no two integrators and no two stabilisations give the same bits."""
    machine = load("platform_3rrs")
    found = {
        (formulation, integrator, stabilisation): outcome(machine, formulation, integrator, stabilisation)
        for formulation, integrator, stabilisation in itertools.product(
            FORMULATIONS, INTEGRATORS, STABILISATIONS
        )
    }
    refused = {key for key, value in found.items() if isinstance(value, str)}
    assert refused == {
        (formulation, integrator, stabilisation)
        for formulation, integrator, stabilisation in found
        if formulation == "taylor"
        or (formulation in ASSEMBLIES and integrator != "rk4")
        or (formulation == "minimal" and (stabilisation == "baumgarte" or integrator in ("gauss", *ADAPTIVE)))
    }
    for key in refused:
        assert key[0] in found[key]
    for formulation in ("projected", "udwadia_kalaba", "lagrange"):
        ends = [value for key, value in found.items() if key[0] == formulation and key[1:] != UNSETTLED]
        assert len(set(ends)) == len(ends)
    ends = {value for key, value in found.items() if key[0] == "minimal" and key not in refused}
    assert len(ends) == 3, "which closes the closures at every stage, with any stabilisation"


@pytest.mark.parametrize("stabilisation", ["none", "projection"])
def test_taylor_takes_no_integrator_and_needs_none(stabilisation: str) -> None:
    machine = load("platform_3rrs")
    motion = simulate(machine, 0.002, 0.0005, formulation="taylor", stabilisation=stabilisation)
    assert motion.steps == 4
    with pytest.raises(ValueError, match="taylor has no Baumgarte stabilization"):
        simulate(machine, 0.002, 0.0005, formulation="taylor", stabilisation="baumgarte")


@pytest.mark.parametrize("integrator", [name for name in INTEGRATORS if name not in ADAPTIVE])
@pytest.mark.parametrize("option", ["rtol", "atol"])
def test_fixed_steps_take_no_tolerance(tmp_path: Path, integrator: str, option: str) -> None:
    with pytest.raises(ValueError, match=rf"{integrator} has fixed steps and no tolerance.*dop853 or lsoda"):
        simulate(machine_of(tmp_path, HINGE), 0.1, integrator=integrator, **{option: 1e-6})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"rtol": 1e-17}, "relative tolerance of dop853 must be between 1e-16 and 1"),
        ({"rtol": float("nan")}, "relative tolerance"),
        ({"rtol": 1.0}, "relative tolerance"),
        ({"atol": 0.0}, "absolute tolerance must be positive"),
        ({"atol": float("inf")}, "absolute tolerance must be positive"),
    ],
)
def test_tolerances_that_cannot_hold_are_refused(tmp_path: Path, options: dict[str, float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        simulate(machine_of(tmp_path, HINGE), 0.1, integrator="dop853", **options)


def swing(time_s: np.ndarray) -> np.ndarray:
    """Angle from the lowest pose of the pendulum above, released at rest 120 degrees off it: closed form."""
    rate = np.sqrt(2 * 9.81 * 0.3 / (0.06 + 2 * 0.3**2))
    k = np.sin(np.radians(60.0))
    sn = ellipj(ellipk(k**2) - rate * time_s, k**2)[0]
    return 2 * np.arcsin(k * sn)


def angle(motion: Motion) -> np.ndarray:
    place = next(name for name in motion.position_names if name in ("pivot", "plane.turn"))
    return motion.columns()[place] + np.pi / 2


@pytest.mark.parametrize("text", [HINGE, HELD], ids=["hinge", "held"])
@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_tolerances_are_honoured(tmp_path: Path, text: str, integrator: str) -> None:
    machine = machine_of(tmp_path, text)
    errors = []
    for rtol, atol in ((1e-5, 1e-7), (1e-8, 1e-10), (None, None)):
        motion = simulate(machine, 20.0, 0.05, integrator=integrator, rtol=rtol, atol=atol)
        errors.append(np.abs(angle(motion) - swing(motion.time_s)).max())
    assert errors[0] > 20 * errors[1] > 400 * errors[2]
    assert errors[2] < (1e-11 if integrator == "dop853" else 1e-7)


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_samples_close_together_give_the_motion_of_samples_far_apart(tmp_path: Path, integrator: str) -> None:
    machine = machine_of(tmp_path, HELD)
    near = simulate(machine, 5.0, 0.001, integrator=integrator)
    far = simulate(machine, 5.0, 0.5, integrator=integrator)
    np.testing.assert_allclose(near.q[::500], far.q, atol=1e-11)
    assert near.balance.residual_position_max < 1e-12
    assert near.balance.residual_velocity_max < 1e-11


@pytest.mark.slow
def test_dop853_is_better_than_the_default_over_long_times(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, HINGE)
    default = simulate(machine, 200.0, every=1000)
    reference = simulate(machine, 200.0, 10.0, integrator="dop853")
    errors = [np.abs(angle(motion) - swing(motion.time_s)).max() for motion in (default, reference)]
    assert errors[1] < 0.1 * errors[0]


def energies(machine: Machine, motion: Motion) -> np.ndarray:
    mechanism = machine.plant_mechanism
    return np.array(
        [
            kinetic_energy(mechanism, q, v) + potential_energy(mechanism, q)
            for q, v in zip(motion.q, motion.v, strict=True)
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["held", "four_bar"])
def test_gauss_under_constraints_does_not_lose_energy_with_time(tmp_path: Path, name: str) -> None:
    """The error swings to and fro; its mean over late swings is that over early ones."""
    machine = machine_of(tmp_path, HELD) if name == "held" else load("four_bar")
    motion = simulate(machine, 400.0, 0.01, integrator="gauss", every=7)
    off = energies(machine, motion) - motion.energy_start_J
    early, late = off[: len(off) // 8], off[-len(off) // 8 :]
    assert abs(late.mean() - early.mean()) < 0.05 * np.ptp(early)
    assert np.abs(late).max() < 1.5 * np.abs(early).max()


@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_minimal_divides_fast_steps(name: str) -> None:
    """By a closed form and by the general partition: as good as projected, and better than undivided."""
    machine = load(name)
    exact = simulate(machine, 1.0, 0.02, integrator="dop853")
    error = {}
    for formulation, integrator in (
        ("minimal", "adaptive_rk4"),
        ("minimal", "rk4"),
        ("projected", "adaptive_rk4"),
    ):
        motion = simulate(machine, 1.0, 0.02, integrator=integrator, formulation=formulation)
        error[formulation, integrator] = np.abs(motion.q - exact.q).max()
    assert error["minimal", "adaptive_rk4"] < 20 * error["projected", "adaptive_rk4"]
    assert error["minimal", "adaptive_rk4"] < 0.2 * error["minimal", "rk4"]
