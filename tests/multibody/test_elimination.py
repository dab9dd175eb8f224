"""QR of the rows front by front: the same motion as with the rows in one piece, and the plan."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody.closure import elimination_plan
from linkwork.multibody.closure.elimination import DELAYED
from linkwork.multibody.closure.elimination_plan import fronts
from linkwork.multibody.closure.rank import admitted
from linkwork.multibody.constraints import Frame, PinClosure, PointClosure
from linkwork.multibody.dynamics.other_formulations import constrained_forward_dynamics
from linkwork.multibody.kernels import layout
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body, Joint
from linkwork.multibody.workspace import Workspace
from tests.multibody.loop_topologies import legs
from tests.multibody.random_loops import random_loops

HEIGHT, SPACING = 0.5, 0.4
NORMAL = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Axes of a frame whose z axis is normal to the plane of the ladder."""


def ladder(loops: int, kind: type[PinClosure] | type[PointClosure] = PinClosure, bays: int = 1) -> Mechanism:
    """Rods hinged to the ground, and couplers between them; `bays` of them that do not touch one another."""
    bodies, joints, closures = [], [], []
    for bay in range(bays):
        for i in range(loops + 1):
            rod = f"rod {bay} {i}"
            bodies.append(Body(rod, 0.5, (0.0, 0.0, 0.5 * HEIGHT), np.diag([0.011, 0.011, 1e-3])))
            joints.append(Joint(rod, "revolute", "world", rod, axis=(0, 1, 0), at_m=(SPACING * i, bay, 0)))
        for i in range(loops):
            bar = f"bar {bay} {i}"
            bodies.append(Body(bar, 0.4, (0.5 * SPACING, 0.0, 0.0), np.diag([1e-3, 6e-3, 6e-3])))
            joints.append(Joint(bar, "revolute", f"rod {bay} {i}", bar, axis=(0, 1, 0), at_m=(0, 0, HEIGHT)))
            ends = Frame(bar, (SPACING, 0, 0), NORMAL), Frame(f"rod {bay} {i + 1}", (0, 0, HEIGHT))
            closures.append(kind(f"close {bay} {i}", a=ends[0], b=ends[1]))
    return Mechanism.build(bodies, joints, (0.0, 0.0, -9.81), constraints=closures)


def posed(mechanism: Mechanism, angle: float, rate: float) -> Workspace:
    """A workspace in the pose in which all rods lean by an angle (rad), at a rate (rad/s), with its rank."""
    w = mechanism.workspace()
    for k, name in enumerate(mechanism.joint_names):
        sign = 1.0 if name.startswith("rod") else -1.0
        w.q[k], w.v[k] = sign * angle, sign * rate
    w.effort[:] = np.sin(1.0 + np.arange(mechanism.nv))
    constrained_forward_dynamics(*w.arguments)  # decides on the ordinary rank
    return w


def in_one_piece(monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism) -> Mechanism:
    with monkeypatch.context() as patch:
        patch.setattr(elimination_plan, "FEWEST_COLUMNS", 10**9)
        return mechanism.changed()


def assert_same_motion(one: Workspace, other: Workspace, beside: float = 0.0) -> None:
    """Accelerations, constraint forces, multipliers and admitted velocities agree; only one is in fronts.

    beside: distance (rad, m) from the manifold, where dependent rows contradict one another.
    """
    for w in (one, other):
        constrained_forward_dynamics(*w.arguments)
        admitted(*w.arguments)
    assert (one.ranking[layout.IN_FRONTS], other.ranking[layout.IN_FRONTS]) == (1.0, 0.0)
    assert one.ranking[layout.RANK] == other.ranking[layout.RANK]
    size = np.abs(other.vdot).max()
    assert np.allclose(one.vdot, other.vdot, rtol=0.0, atol=1e-9 * size)
    for name in ("constraint_force", "multipliers"):
        mine, theirs = getattr(one, name), getattr(other, name)
        assert np.allclose(mine, theirs, rtol=0.0, atol=(1e-8 + 10.0 * beside) * np.abs(theirs).max()), name
    free = len(one.v) - int(one.ranking[layout.RANK])
    assert np.abs(one.A @ one.basis[:free].T).max() < 1e-12 + 10.0 * beside
    assert np.linalg.matrix_rank(one.basis[:free]) == free


@pytest.mark.parametrize(
    ("loops", "kind", "bays"), [(12, PinClosure, 1), (12, PointClosure, 1), (3, PinClosure, 6)]
)
def test_the_motion_is_that_of_the_rows_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, loops: int, kind: type[PinClosure], bays: int
) -> None:
    """Independent rows, redundant ones, and machines of several clusters."""
    mechanism = ladder(loops, kind, bays)
    for angle, rate in ((0.3, 1.0), (-1.2, 4.0), (2.5, -2.0)):
        fronted = posed(mechanism, angle, rate)
        assert_same_motion(fronted, posed(in_one_piece(monkeypatch, mechanism), angle, rate))


def chain(rods: list[float], bars: list[float]) -> tuple[Mechanism, Floats]:
    """Four-bars in a row through any pose: absolute angles (rad) of the rods and of the bars."""

    def direction(angle: float) -> Floats:
        return np.array([np.sin(angle), 0.0, np.cos(angle)])

    bodies, joints, closures, q = [], [], [], []
    for i, angle in enumerate(rods):
        bodies.append(Body(f"rod {i}", 0.5, (0.0, 0.0, 0.2), np.diag([0.011, 0.011, 1e-3])))
        joints.append(
            Joint(f"rod {i}", "revolute", "world", f"rod {i}", axis=(0, 1, 0), at_m=(SPACING * i, 0, 0))
        )
        q.append(angle)
    for i, angle in enumerate(bars):
        bodies.append(Body(f"bar {i}", 0.4, (0.0, 0.0, 0.2), np.diag([6e-3, 6e-3, 1e-3])))
        joints.append(Joint(f"bar {i}", "revolute", f"rod {i}", f"bar {i}", axis=(0, 1, 0), at_m=(0, 0, 0.3)))
        q.append(angle - rods[i])
        end = 0.3 * direction(rods[i]) + 0.35 * direction(angle) - np.array([SPACING, 0.0, 0.0])
        turn = rods[i + 1]
        across = np.array([np.cos(turn), 0.0, -np.sin(turn)])
        at = (float(across @ end), 0.0, float(direction(turn) @ end))
        ends = Frame(f"bar {i}", (0, 0, 0.35), NORMAL), Frame(f"rod {i + 1}", at)
        closures.append(PinClosure(f"close {i}", a=ends[0], b=ends[1]))
    return Mechanism.build(bodies, joints, (0.0, 0.0, -9.81), constraints=closures), np.array(q)


ANGLES = st.one_of(st.floats(-3.0, 3.0), st.sampled_from([0.0, 0.5, np.pi / 2]))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(rods=st.lists(ANGLES, min_size=10, max_size=14), bars=st.lists(ANGLES, min_size=13, max_size=13))
def test_any_pose_also_one_in_which_a_loop_is_at_its_dead_centre(
    rods: list[float], bars: list[float]
) -> None:
    """Where rod and bar of a loop are in line, its columns are eliminated with those of the next one."""
    with pytest.MonkeyPatch.context() as patch:
        mechanism, q = chain(rods, bars[: len(rods) - 1])
        other = in_one_piece(patch, mechanism)
    pair = []
    for each in (mechanism, other):
        w = each.workspace()
        w.q[:] = q
        constrained_forward_dynamics(*w.arguments)
        pair.append(w)
    if pair[1].ranking[layout.SMALLEST] < 1e-3 or pair[1].ranking[layout.LOST]:
        return  # near a branch pose the rows are in one piece
    admitted(*pair[1].arguments)
    free = len(q) - int(pair[1].ranking[layout.RANK])
    for w in pair:
        w.v[:] = np.cos(np.arange(free)) @ pair[1].basis[:free]
    assert_same_motion(pair[0], pair[1])


def test_columns_short_beside_others_go_on_to_the_next_front() -> None:
    """Rod 5 and bar 5 nearly in line, so that rod 6 hardly moves."""
    mechanism, q = chain([0.4] * 12, [1.4 if i != 5 else 0.401 for i in range(11)])
    w = mechanism.workspace()
    w.q[:] = q
    for _ in range(2):
        constrained_forward_dynamics(*w.arguments)
    assert w.ranking[layout.IN_FRONTS] == 1.0
    assert w.front_states[:, DELAYED].any()


def test_long_levers_leave_the_fronts_as_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leg's links move little beside a plate of 16 m, at every pose: their columns are not delayed."""
    mechanism, q = legs(40)
    pair = [each.workspace() for each in (mechanism, in_one_piece(monkeypatch, mechanism))]
    for w in pair:
        w.q[:] = q
        constrained_forward_dynamics(*w.arguments)
        admitted(*w.arguments)
        w.v[:] = np.cos(np.arange(3)) @ pair[0].basis[:3]
    assert_same_motion(*pair)
    assert not pair[0].front_states[:, DELAYED].any()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_random_mechanisms(seed: int) -> None:
    """Rods of very different lengths. Reference: Gauss's principle by least squares in numpy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination_plan, "FEWEST_COLUMNS", 0)
        patch.setattr(elimination_plan, "WORTH", np.inf)
        mechanism, q = random_loops(seed)
        other = in_one_piece(patch, mechanism)
    pair = [each.workspace() for each in (mechanism, other)]
    for w in pair:
        w.q[:] = q
        constrained_forward_dynamics(*w.arguments)
    assert np.abs(pair[1].phi).max() < 1e-9
    if pair[1].ranking[layout.LOST] or pair[1].ranking[layout.SMALLEST] < 1e-3:
        return  # near a branch pose the rows are in one piece
    free = mechanism.nv - int(pair[1].ranking[layout.RANK])
    assert pair[0].ranking[layout.RANK] == pair[1].ranking[layout.RANK]
    admitted(*pair[1].arguments)
    v = np.cos(1.0 + np.arange(free)) @ pair[1].basis[:free]
    for w in pair:
        w.v[:] = v / max(1e-300, np.abs(v).max(initial=0.0))
        w.effort[:] = np.sin(1.0 + np.arange(mechanism.nv))
        constrained_forward_dynamics(*w.arguments)
    root = np.linalg.cholesky(pair[1].M)
    rows, force = np.linalg.solve(root, pair[1].A.T).T, np.linalg.solve(root, pair[1].effort - pair[1].h)
    missing = np.linalg.lstsq(rows, pair[1].b - rows @ force, rcond=1e-10)[0]
    expected = np.linalg.solve(root.T, force + missing)
    for w in pair:
        assert np.allclose(w.vdot, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


def test_the_first_decision_on_the_rank_is_made_in_fronts_where_it_is_clear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Redundant rows too; close to the branch pose in which all loops are flat the rows are in one piece."""
    machines = [(each, np.zeros(each.nq)) for each in (ladder(12), ladder(12, PointClosure))]
    for mechanism, q in [*machines, legs(12)]:
        pair = [each.workspace() for each in (mechanism, in_one_piece(monkeypatch, mechanism))]
        for w in pair:
            w.q[:] = q
            constrained_forward_dynamics(*w.arguments)
        assert [w.ranking[layout.IN_FRONTS] for w in pair] == [1.0, 0.0]
        assert pair[0].ranking[layout.ORDINARY] == pair[1].ranking[layout.ORDINARY] > 0.0
    nearly_flat = posed(ladder(12), 0.5 * np.pi - 1e-5, 0.0)
    assert nearly_flat.ranking[layout.IN_FRONTS] == 0.0


@pytest.mark.parametrize("name", ["delta", "platform_3rrs", "platform_huang"])
def test_shipped_machines_in_fronts(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Also machines that are faster in one piece, and states in which dependent rows contradict others."""
    machine = load(name)
    other = in_one_piece(monkeypatch, machine.plant_mechanism)
    monkeypatch.setattr(elimination_plan, "FEWEST_COLUMNS", 0)
    monkeypatch.setattr(elimination_plan, "WORTH", np.inf)
    mine = machine.plant_mechanism.changed()
    beside = np.random.default_rng(1).standard_normal(mine.nv)
    for size in (0.0, 1e-9, 1e-7):
        pair = [each.workspace() for each in (mine, other)]
        for w in pair:
            w.q[:], w.v[:] = machine.initial_q, machine.initial_v
            w.ranking[layout.ORDINARY] = machine.assembly.ordinary_rank
            w.q[: mine.nv] += size * beside
            w.effort[:] = np.sin(1.0 + np.arange(mine.nv))
        assert_same_motion(*pair, beside=size)


@given(st.lists(st.frozensets(st.integers(0, 15), max_size=4), max_size=20))
def test_every_row_and_column_has_one_front(patterns: list[frozenset[int]]) -> None:
    made = fronts(patterns, 16)
    rows = [row for front in made for row in front.rows]
    assert sorted(rows) == [k for k, columns in enumerate(patterns) if columns]
    columns = [column for front in made for column in front.summed]
    assert sorted(columns) == sorted(frozenset().union(*patterns))
    for k, front in enumerate(made):
        assert all(before < k for before in front.before)
        inside = set(front.summed) | set(front.others)
        assert all(patterns[row] <= inside for row in front.rows)
        assert all(set(made[before].others) <= inside for before in front.before)
        done = {column for earlier in made[:k] for column in earlier.summed}
        assert not inside & done
