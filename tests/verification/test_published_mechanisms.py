"""Mechanisms that multibody programs are compared by, in docs/examples/machines, beside their references.

Sources: the IFToMM library of computational benchmark problems (A02, A04, A05), and the test set for initial
value problem solvers (Mazzia & Magherini 2008) for Andrews' squeezer.
"""

from math import cos, pi, sin, sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_ivp

from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.offline.run import Motion, simulate
from tests.verification.four_bars import four_bars

MACHINES = Path(__file__).parents[2] / "docs" / "examples" / "machines"
GRAVITY = 9.81
Complexes = npt.NDArray[np.complex128]


def at_the_end(motion: Motion, name: str) -> tuple[float, float]:
    """Position and speed of a joint."""
    return (
        float(motion.q[-1, motion.position_names.index(name)]),
        float(motion.v[-1, motion.joint_names.index(name)]),
    )


def test_andrews_squeezer_ends_as_the_test_set_says() -> None:
    reference = {
        "beta": (15.81077119629904, 1139.920302151208),
        "theta": (-15.75637105984298, -1424.379294994111),
        "gamma": (0.04082224013073101, 11.03291221937134),
        "phi": (-0.5347301163226948, 19.29337464421385),
        "delta": (0.5244099658805304, 0.5735699284790808),
        "omega": (0.5347301163226948, -19.29337464421385),
        "epsilon": (1.048080741042263, 0.3231791658026955),
    }
    for integrator, dt in (("rk4", 5e-6), ("dop853", 1e-3)):
        motion = simulate(load(MACHINES / "andrews_squeezer.yaml"), 0.03, dt, integrator=integrator)
        for name, (position, speed) in reference.items():
            found = at_the_end(motion, name)
            assert found[0] == pytest.approx(position, rel=2e-9), name
            assert found[1] == pytest.approx(speed, rel=1e-7), name
        assert motion.balance.energy_balance_error_J < 1e-10
        assert motion.balance.constraint_work_J == pytest.approx(
            0.033 * (15.81077119629904 + 0.0617138900142764)
        )


@pytest.mark.parametrize(
    "windows", [2, 10, pytest.param(40, marks=pytest.mark.slow), pytest.param(80, marks=pytest.mark.slow)]
)
def test_four_bars_in_a_row_pass_flat_poses_as_one_pendulum(windows: int, tmp_path: Path) -> None:
    """Flat, N windows have N + 1 degrees of freedom instead of one; ten passages in ten seconds."""
    path = MACHINES / "n_four_bar.yaml"
    if windows != 2:
        path = tmp_path / "four_bars.yaml"
        path.write_text(four_bars(windows))
    motion = simulate(load(path), 10.0, 1e-3)
    inertia, moment = (windows + 1) / 3 + windows, (windows + 1) / 2 + windows
    found = solve_ivp(
        lambda _, y: [y[1], -moment * GRAVITY * np.cos(y[0]) / inertia],
        (0.0, 10.0),
        [pi / 2, -1.0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    rods = [motion.position_names.index(f"rod_{k}") for k in range(windows + 1)]
    assert motion.q[-1, rods] == pytest.approx(found.y[0, -1], abs=2e-8)
    assert motion.balance.singular_passages == 10
    assert motion.balance.rank_min == windows
    assert motion.balance.energy_balance_error_J < 1e-10 * motion.energy_start_J


def bricard_pose(odd: complex) -> tuple[list[Complexes], list[Complexes]]:
    """Centres of mass and frames of the five rods, by products of rotations; hinges 1, 3, 5 at `odd`."""
    even = np.arcsin(-np.sin(odd) / (1 + np.sin(odd)))
    place, frame = np.zeros(3, complex), np.eye(3, dtype=complex)
    centres, frames = [], []
    for rod, (axis, angle) in zip(
        ([1, 0, 0], [0, -1, 0], [0, 0, 1], [-1, 0, 0], [0, 1, 0]),
        ((1, odd), (2, even), (0, odd), (1, even), (2, odd)),
        strict=True,
    ):
        turn = np.eye(3, dtype=complex)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[j, i], turn[i, j] = np.sin(angle), -np.sin(angle)
        frame = frame @ turn
        centres.append(place + 0.5 * frame @ np.array(rod))
        frames.append(frame)
        place = place + frame @ np.array(rod)
    return centres, frames


def bricard_inertia(odd: float) -> float:
    """Inertia about the one coordinate, kg m², by derivatives with a complex step."""
    step = 1e-30
    centres, frames = bricard_pose(odd + 1j * step)
    total = 0.0
    for rod, (centre, frame) in enumerate(zip(centres, frames, strict=True)):
        axes = np.full(3, 1.01 / 12)
        axes[(0, 1, 2, 0, 1)[rod]] = 1 / 600
        spin = frame.real.T @ (frame.imag / step)
        rates = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        total += float((centre.imag / step) @ (centre.imag / step) + axes @ rates**2)
    return total


def bricard_slope(_: float, y: Floats) -> list[float]:
    """I a¨ + I' a˙² / 2 + V' = 0 for the angle a of hinges 1, 3 and 5."""
    h = 1e-3
    rate = sum(
        weight * bricard_inertia(y[0] + k * h) for k, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1))
    ) / (12 * h)
    heights, _frames = bricard_pose(y[0] + 1e-30j)
    pull = GRAVITY * sum(centre[1].imag for centre in heights) / 1e-30
    return [y[1], -(0.5 * rate * y[1] ** 2 + pull) / bricard_inertia(y[0])]


def test_bricards_mechanism_moves_though_no_formula_counts_its_motion() -> None:
    """Trihedral, equal links: sin a + sin b + sin a sin b = 0, a and b in turns (Chen, You & Tarnai 2005)."""
    motion = simulate(load(MACHINES / "bricard.yaml"), 10.0, 1e-3)
    odd, even = motion.q[:, 0], motion.q[:, 1]
    assert np.abs(motion.q[:, [2, 4]] - odd[:, None]).max() < 1e-10
    assert np.abs(motion.q[:, 3] - even).max() < 1e-10
    assert np.abs(np.sin(odd) + np.sin(even) + np.sin(odd) * np.sin(even)).max() < 1e-10
    assert (motion.balance.rank_min, motion.balance.rank_max) == (4, 4)
    assert motion.balance.energy_balance_error_J < 1e-10
    reference = solve_ivp(bricard_slope, (0.0, 1.0), [0.0, 0.0], method="DOP853", rtol=1e-11, atol=1e-12)
    assert odd[1000] == pytest.approx(reference.y[0, -1], abs=1e-8)


def test_the_stiff_governor_ends_as_its_equations_of_motion_say() -> None:
    """Lagrange's equations of spin, slide and both arms at once, by an implicit method of order 5."""
    rod, ball, slider, length = 0.3, 5.0, 3.0, 1.0
    across = rod * 1.0001 / 12 + rod * 0.25 + ball
    along = rod * 0.0002 / 12
    shaft = along + 0.005
    stiffness, damping = 8e5, 4e4

    def slope(_: float, y: Floats) -> list[float]:
        arm, slide, spin_rate, arm_rate, slide_rate = y
        gap = np.array([0.5 * sin(arm), length - 0.5 * cos(arm) - slide])
        apart = sqrt(gap @ gap)
        along_arm = gap @ np.array([0.5 * cos(arm), 0.5 * sin(arm)]) / apart
        along_slide = -gap[1] / apart
        pull = stiffness * (apart - 0.5) + damping * (along_arm * arm_rate + along_slide * slide_rate)
        turning = shaft + 2 * (across * sin(arm) ** 2 + along * cos(arm) ** 2)
        change = 2 * (across - along) * sin(arm) * cos(arm)
        return [
            arm_rate,
            slide_rate,
            -2 * change * arm_rate * spin_rate / turning,
            (0.5 * change * spin_rate**2 - (0.5 * rod + ball) * GRAVITY * sin(arm) - pull * along_arm)
            / across,
            -GRAVITY - 2 * pull * along_slide / slider,
        ]

    start = [pi / 6, 1 - 0.5 * sqrt(3), 2 * pi, 0.0, 0.0]
    found = solve_ivp(slope, (0.0, 0.5), start, method="Radau", rtol=1e-10, atol=1e-12)
    machine = load(MACHINES / "flyball_governor.yaml")
    for integrator, dt in (("rk4", None), ("lsoda", 0.01)):
        motion = simulate(machine, 0.5, dt, integrator=integrator)
        arm, slide, spin_rate, arm_rate, slide_rate = found.y[:, -1]
        for name in ("left", "right"):
            assert at_the_end(motion, name) == pytest.approx((arm, arm_rate), abs=1e-7)
        assert at_the_end(motion, "slide") == pytest.approx((slide, slide_rate), abs=1e-7)
        assert at_the_end(motion, "spin")[1] == pytest.approx(spin_rate, abs=1e-7)
