"""From accelerations to the motors: least efforts, bounds, the direction of the motion, lost leverage."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linkwork.controller.actuation.effort_program import allocate
from linkwork.controller.laws.law_motors import Motors
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.catalogue import shipped_path
from linkwork.multibody import Workspace
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.multibody.dynamics.motion_basis import evaluate_shortest

DRAWN = st.integers(0, 2**31 - 1)


@pytest.fixture(scope="module")
def redundant() -> Machine:
    return load("five_bar_redundant")


def with_scales(folder: Path, name: str, scales: str) -> Machine:
    text = shipped_path(name).read_text(encoding="utf-8")
    file = folder / "scaled.yaml"
    file.write_text(
        text.replace("controller:\n", f"controller:\n  effort_scale: {scales}\n"), encoding="utf-8"
    )
    return load(file)


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return with_scales(tmp_path_factory.mktemp("scaled"), "five_bar_redundant", "{left: 20, left_elbow: 2}")


@pytest.fixture(scope="module")
def five_bar() -> Machine:
    return load("five_bar")


def in_motion(
    machine: Machine, rng: np.random.Generator, angles: tuple[float, float] = (0.3, 0.3)
) -> Workspace:
    """An assembled pose near the initial one, moving."""
    work = machine.workspace()
    q = machine.initial_q.copy()
    q[:2] += rng.uniform(-1.0, 1.0, 2) * angles
    work.q[:] = assemble(machine.mechanism, q).q
    evaluate_shortest(*work.arguments)
    work.v[:] = rng.normal(size=2) @ ways_of(work)
    evaluate_shortest(*work.arguments)
    return work


def ways_of(work: Workspace) -> np.ndarray:
    return work.basis[: len(work.v) - int(work.ranking[0])].copy()


def accelerations(work: Workspace, rng: np.random.Generator, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Two that the closures admit: one wanted, one for coasting."""
    coast = work.vdot.copy()
    return coast + size * rng.normal(size=2) @ ways_of(work), coast


def motion_under(machine: Machine, work: Workspace, force: np.ndarray) -> np.ndarray:
    passive = machine.workspace()
    passive.q[:], passive.v[:], passive.effort[:] = work.q, work.v, force
    projected(*passive.arguments)
    return passive.vdot.copy()


@settings(max_examples=15, deadline=None)
@given(DRAWN)
def test_no_other_effort_with_the_same_motion_is_smaller(redundant: Machine, seed: int) -> None:
    rng = np.random.default_rng(seed)
    motors, force = Motors(redundant), np.zeros(4)
    work = in_motion(redundant, rng)
    u, coast = accelerations(work, rng, 5.0)
    motors.drive(work, u, coast, force)
    assert motors.report.share == 1.0
    assert force[redundant.mechanism.joint_names.index("right_elbow")] == 0.0
    effort = force[motors.index] / motors.most
    rows = (ways_of(work)[:, motors.index]) * motors.most
    inner = np.linalg.svd(rows)[2][2:]
    others = effort + rng.normal(size=(1000, 1)) * 10.0 ** rng.uniform(-6, 1, (1000, 1)) * inner
    np.testing.assert_allclose(others @ rows.T - effort @ rows.T, 0.0, atol=1e-9 * np.abs(rows).max() * 10)
    assert np.all(np.linalg.norm(others, axis=1) >= np.linalg.norm(effort) * (1.0 - 1e-12))
    np.testing.assert_allclose(
        motion_under(redundant, work, force), u, rtol=1e-9, atol=1e-9 * np.abs(u).max()
    )


@settings(max_examples=15, deadline=None)
@given(DRAWN)
def test_it_is_the_projected_law_with_a_passive_joint_map(five_bar: Machine, seed: int) -> None:
    """f = (I + H) f_par with H = -(I - P) S⁺ (I - B), S = (I - B)(I - P) (Aghili 2005), all limits alike."""
    rng = np.random.default_rng(seed)
    motors, force = Motors(five_bar), np.zeros(4)
    work = in_motion(five_bar, rng)
    u, coast = accelerations(work, rng, 2.0)
    motors.drive(work, u, coast, force)
    rows = work.A
    eye = np.eye(4)
    along = eye - np.linalg.pinv(rows, rcond=1e-6) @ rows
    motor = np.zeros((4, 4))
    motor[motors.index, motors.index] = 1.0
    parallel = along @ (work.h - work.friction + work.M @ u)
    across = (eye - motor) @ (eye - along)
    expected = parallel - (eye - along) @ np.linalg.pinv(across, rcond=1e-9) @ (eye - motor) @ parallel
    np.testing.assert_allclose(force, expected, atol=1e-9 * np.abs(parallel).max())
    assert not np.any(np.delete(force, motors.index))


@settings(max_examples=25, deadline=None)
@given(DRAWN)
def test_beyond_the_limits_the_direction_of_the_motion_is_kept(five_bar: Machine, seed: int) -> None:
    rng = np.random.default_rng(seed)
    motors, force = Motors(five_bar), np.zeros(4)
    work = in_motion(five_bar, rng)
    u, coast = accelerations(work, rng, 2000.0)
    motors.drive(work, u, coast, force)
    share = motors.report.share
    assume(share < 1.0)
    assert share > 0.0
    assert np.abs(force[motors.index] / motors.most).max() == pytest.approx(1.0, abs=1e-12)
    expected = coast + share * (u - coast)
    np.testing.assert_allclose(motion_under(five_bar, work, force), expected, atol=1e-9 * np.abs(u).max())


@settings(max_examples=25, deadline=None)
@given(DRAWN)
def test_redundant_motors_share_what_one_alone_could_not(redundant: Machine, seed: int) -> None:
    """Beyond the least effort the program finds the nearest one within the limits, or the largest share."""
    rng = np.random.default_rng(seed)
    motors, force = Motors(redundant), np.zeros(4)
    work = in_motion(redundant, rng)
    u, coast = accelerations(work, rng, 10.0 ** rng.uniform(1.5, 3.5))
    motors.drive(work, u, coast, force)
    share = motors.report.share
    effort = force[motors.index] / motors.most
    assert np.all(np.abs(effort) <= 1.0)
    expected = coast + share * (u - coast)
    np.testing.assert_allclose(motion_under(redundant, work, force), expected, atol=1e-6 * np.abs(u).max())
    rows = ways_of(work)[:, motors.index] * motors.most
    inner = np.linalg.svd(rows)[2][2]
    if share < 1.0:
        more = coast + min(1.0, share + 1e-3) * (u - coast)
        needed = ways_of(work) @ (work.h - work.friction + work.M @ more)
        least = np.linalg.pinv(rows) @ needed
        low, high = np.sort((np.array([[-1.0], [1.0]]) - least) / inner, axis=0)
        assert low.max() > high.min()
    else:
        for step in (-1e-5, 1e-5):
            other = effort + step * inner
            assert np.any(np.abs(other) > 1.0) or np.linalg.norm(other) >= np.linalg.norm(effort) - 1e-9


def test_what_the_motors_cannot_even_hold_they_give_what_they_can(five_bar: Machine) -> None:
    rng = np.random.default_rng(3)
    motors, force = Motors(five_bar), np.zeros(4)
    work = in_motion(five_bar, rng)
    work.v[:] *= 100.0
    evaluate_shortest(*work.arguments)
    motors.drive(work, work.vdot, work.vdot, force)
    assert motors.report.share == 0.0
    assert np.abs(force[motors.index] / motors.most).max() == 1.0


def test_a_pre_load_strains_the_loop_and_moves_nothing(redundant: Machine) -> None:
    rng = np.random.default_rng(11)
    motors, force, plain = Motors(redundant), np.zeros(4), np.zeros(4)
    work = in_motion(redundant, rng)
    u, coast = accelerations(work, rng, 1.0)
    motors.drive(work, u, coast, plain)
    motors.preload[:] = [0.0, 0.0, 2.0]
    motors.drive(work, u, coast, force)
    assert np.abs(force - plain).max() > 0.2
    np.testing.assert_allclose(
        motion_under(redundant, work, force), motion_under(redundant, work, plain), atol=1e-8
    )


@pytest.mark.parametrize("beyond", [-3e-3, -1e-4, -1e-7, 0.0, 1e-7, 1e-4, 3e-3])
def test_where_the_motors_lose_their_leverage_efforts_stay_bounded(five_bar: Machine, beyond: float) -> None:
    """The forearms in one line: the tool can go up and down while both motors stand still."""
    left = np.arccos(0.75) + beyond
    near = np.array([np.pi - left, left, np.pi + left, np.pi - left])
    near[2] = -(np.pi - left)
    motors, force = Motors(five_bar), np.zeros(4)
    work = five_bar.workspace()
    work.q[:] = near
    evaluate_shortest(*work.arguments)
    for size in (1.0, 1e3):
        u = work.vdot + size * np.ones(2) @ ways_of(work)
        motors.drive(work, u, work.vdot, force)
        assert motors.report.leverage < 0.02
        assert np.all(np.isfinite(force))
        assert np.all(np.abs(force[motors.index]) <= motors.most)


@settings(max_examples=15, deadline=None)
@given(DRAWN)
def test_the_metric_of_the_file_shares_efforts_out_without_another_motion(
    redundant: Machine, scaled: Machine, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    work = in_motion(redundant, rng)
    u, coast = accelerations(work, rng, 1.0)
    plain, force = np.zeros_like(u), np.zeros_like(u)
    Motors(redundant).drive(work, u, coast, plain)
    motors = Motors(scaled)
    motors.drive(work, u, coast, force)
    assume(motors.report.share == 1.0)
    joints, ways = motors.index, ways_of(work)
    np.testing.assert_allclose(ways @ force, ways @ plain, atol=1e-9)
    scale = np.array(scaled.effort_scale)
    shared = np.linalg.lstsq(ways[:, joints] * scale, ways @ plain, rcond=None)[0] * scale
    np.testing.assert_allclose(force[joints], shared, atol=1e-8)


def test_scales_are_those_of_the_file_and_otherwise_the_limits(redundant: Machine, scaled: Machine) -> None:
    limits = [motor.max_effort for motor in redundant.motors]
    assert list(redundant.effort_scale) == limits
    assert list(scaled.effort_scale) == [20.0, limits[1], 2.0]
    assert scaled.interface() == redundant.interface()


@pytest.mark.parametrize("seed", range(6))
def test_at_a_limit_the_smallest_efforts_in_the_metric_are_taken(seed: int) -> None:
    """Against a general solver: only two of three efforts are free, one bound is active."""
    rng = np.random.default_rng(seed)
    rows, price = rng.normal(size=(2, 3)), np.array([1.0, 0.3, 0.02])
    preload, found = rng.uniform(-0.3, 0.3, 3), np.zeros(3)
    wanted = rows @ np.array([0.98, rng.uniform(-0.5, 0.5), rng.uniform(-0.5, 0.5)])
    assert allocate(rows, wanted, np.zeros(2), preload, found, price) == 1.0
    free = np.linalg.svd(rows)[2][2]
    start = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    steps = np.linspace(-3.0, 3.0, 600_001)
    inside = np.abs(start[:, None] + free[:, None] * steps).max(axis=0) <= 1.0
    cost = (price[:, None] * (start[:, None] + free[:, None] * steps - preload[:, None]) ** 2).sum(axis=0)
    best = steps[inside][np.argmin(cost[inside])]
    np.testing.assert_allclose(found, start + free * best, atol=2e-5)


@pytest.mark.parametrize(
    ("machine", "scales", "said"),
    [
        ("five_bar_redundant", "{elbow: 2}", "left_elbow"),
        ("five_bar_redundant", "{left: 0}", "effort_scale"),
        ("five_bar", "{left: 2}", "nothing to allocate"),
    ],
)
def test_scales_that_mean_nothing_are_refused(tmp_path: Path, machine: str, scales: str, said: str) -> None:
    with pytest.raises(MachineError, match=said):
        with_scales(tmp_path, machine, scales)
