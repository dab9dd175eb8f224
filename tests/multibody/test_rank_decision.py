"""Stiff structures keep their rows, branch poses lose theirs, passages count for any number of loops."""

import numpy as np
import pytest
import scipy.linalg

from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, Workspace
from linkwork.multibody.assembly.assembly import AssemblyError, assemble, assemble_workspace, decide_rank
from linkwork.multibody.closure.rank import factor, factor_without
from linkwork.multibody.constraints import CoordinateConstraint, DistanceClosure, Frame, PointClosure
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.dynamics.tree_dynamics import dynamics, energy
from linkwork.multibody.kernels import layout
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree.rotations import move_by
from linkwork.offline.passages import count_passages


def six_legs(twist_deg: float, carrier: bool = False) -> Mechanism:
    """A plate that six rods hold, its hexagon turned against the base's; at 90° ± 0 it is at a fold.

    With a carrier the base turns about the vertical axis, so that a stiff structure moves as a whole.
    """
    angles = np.arange(6) // 2 * 2.0 * np.pi / 3.0
    base = np.column_stack([np.cos(angles), np.sin(angles), 0.0 * angles])
    turned = np.roll(angles, -1)
    plate = 0.6 * np.column_stack([np.cos(turned), np.sin(turned), 0.0 * angles])
    twist = np.deg2rad(twist_deg)
    rotation = np.array([[np.cos(twist), -np.sin(twist), 0], [np.sin(twist), np.cos(twist), 0], [0, 0, 1.0]])
    places = plate @ rotation.T + [0.0, 0.0, 0.8]
    on = "turntable" if carrier else "world"
    bodies = [Body("plate", 5.0, (0.05, 0.02, 0.0), np.diag([0.2, 0.3, 0.4]))]
    joints = [Joint("pose", "free", "world", "plate")]
    if carrier:
        bodies.append(Body("turntable", 8.0, (0.1, 0.0, 0.0), np.diag([1.0, 1.0, 2.0])))
        joints.append(Joint("turn", "revolute", "world", "turntable", axis=(0, 0, 1)))
    rods = [
        DistanceClosure(
            f"rod{i}",
            a=Frame(on, tuple(base[i])),
            b=Frame("plate", tuple(plate[i])),
            distance_m=float(np.linalg.norm(places[i] - base[i])),
        )
        for i in range(6)
    ]
    return Mechanism.build(bodies, joints, (0.0, 0.0, -9.81), constraints=rods)


def posed(mechanism: Mechanism, twist_deg: float) -> Floats:
    q = np.zeros(mechanism.nq)
    at = {name: i for i, name in enumerate(mechanism.position_names)}
    half = 0.5 * np.deg2rad(twist_deg)
    q[at["pose.z"]], q[at["pose.rz"]], q[at["pose.quaternion"]] = 0.8, np.sin(half), np.cos(half)
    return q


def singular_values(mechanism: Mechanism, q: Floats) -> Floats:
    w = mechanism.workspace()
    w.q[:] = q
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    rows = w.model.row_scale
    columns = w.model.column_scale
    return np.linalg.svd(rows[:, None] * w.A * columns, compute_uv=False)


def fold_deg() -> float:
    """Twist at which the six rods lose their rank: by bisection on the sign of the determinant."""

    def determinant(twist: float) -> float:
        mechanism = six_legs(twist)
        w = mechanism.workspace()
        w.q[:] = posed(mechanism, twist)
        dynamics(*w.arguments)
        constraint_rows(*w.arguments)
        return float(np.linalg.det(w.A))

    grid = np.arange(-175.0, 180.0, 7.0)
    values = [determinant(twist) for twist in grid]
    k = next(i for i in range(len(grid) - 1) if values[i] * values[i + 1] < 0.0)
    low, high = grid[k], grid[k + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if determinant(low) * determinant(middle) > 0.0 else (low, middle)
    return float(low)


FOLD = fold_deg()


@pytest.mark.parametrize("beside_deg", [1e-2, 1e-4])
def test_a_stiff_frame_does_not_move(beside_deg):
    twist = FOLD + beside_deg
    mechanism = six_legs(twist)
    q = posed(mechanism, twist)
    values = singular_values(mechanism, q)
    assert 1e-8 < values[-1] < 2e-4
    w = mechanism.workspace()
    w.q[:] = q
    state = assemble_workspace(mechanism, w)
    assert (state.rank, state.ordinary_rank) == (6, 6)
    for _ in range(300):
        rk4(*w.arguments, 1e-3)
    assert np.abs(w.q - q).max() < 1e-9
    assert np.abs(w.v).max() < 1e-9


def test_a_stiff_frame_turns_with_what_carries_it():
    twist = FOLD + 1e-2
    mechanism = six_legs(twist, carrier=True)
    w = mechanism.workspace()
    w.q[:] = posed(mechanism, twist)
    w.v[mechanism.joint_index("turn")] = 2.0
    state = assemble_workspace(mechanism, w)
    assert (state.rank, state.ordinary_rank) == (6, 6)
    turned = w.q[mechanism.joint_index("turn")]
    rate = w.v[mechanism.joint_index("turn")]
    for _ in range(500):
        rk4(*w.arguments, 1e-3)
        assert w.ranking[layout.LOST] == 0.0
    assert w.v[mechanism.joint_index("turn")] == pytest.approx(rate, rel=1e-6)
    assert w.q[mechanism.joint_index("turn")] == pytest.approx(turned + 0.5 * rate, rel=1e-6)
    assert w.v[mechanism.joint_index("pose.rz")] == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize("beside_deg", [1e-2, 1e-4])
def test_a_stiff_posture_is_found_from_beside(beside_deg):
    """At a condition number of 1e4 to 1e6 there are two assemblies close by; one of them is found exactly."""
    twist = FOLD + beside_deg
    mechanism = six_legs(twist)
    q = posed(mechanism, twist)
    guess = q.copy()
    guess[:3] += [2e-3, -1e-3, 1e-3]
    state = assemble(mechanism, guess)
    assert state.residual < 1e-13
    assert state.rank == 6
    assert np.abs(state.q - q).max() < 20.0 * np.deg2rad(beside_deg)


def searched(mechanism: Mechanism, near: Floats, starts: int) -> list[Floats]:
    """Different postures that assembly finds from random starts up to 0.2 m and 0.5 rad away."""
    rng, found = np.random.default_rng(1), list[Floats]()
    for _ in range(starts):
        guess = near.copy()
        move_by(mechanism.model, guess, rng.uniform(-1.0, 1.0, 6) * ([0.2] * 3 + [0.5] * 3), 1.0)
        try:
            state = assemble(mechanism, guess)
        except AssemblyError:
            continue
        assert (state.rank, state.ordinary_rank) == (6, 6)
        if all(np.abs(state.q - other).max() > 1e-8 for other in found):
            found.append(state.q)
    return found


def assert_holds_1_s(mechanism: Mechanism, q: Floats) -> None:
    w = mechanism.workspace()
    w.q[:] = q
    assemble_workspace(mechanism, w)
    for _ in range(1000):
        rk4(*w.arguments, 1e-3)
    assert np.abs(w.q - q).max() < 1e-9
    assert np.abs(w.v).max() < 1e-9


def test_a_posture_of_condition_number_1e6_is_found_by_search_and_holds():
    twist = FOLD + 1e-4
    mechanism = six_legs(twist)
    q = posed(mechanism, twist)
    values = singular_values(mechanism, q)
    assert values[0] / values[-1] == pytest.approx(1e6, rel=0.02)
    found = searched(mechanism, q, 10)
    assert min(np.abs(posture - q).max() for posture in found) < 1e-9
    assert_holds_1_s(mechanism, q)


@pytest.mark.slow
@pytest.mark.parametrize("beside_deg", [1e-2, 1e-3, 1e-4, 3e-5, -1e-4])
def test_all_postures_beside_a_fold_are_found_and_hold(beside_deg):
    """Condition numbers of 1e4 to 3e6: the posture and its neighbour beyond the fold, from 300 starts."""
    twist = FOLD + beside_deg
    mechanism = six_legs(twist)
    q = posed(mechanism, twist)
    found = searched(mechanism, q, 300)
    beside = [posture for posture in found if np.abs(posture - q).max() < 20.0 * np.deg2rad(abs(beside_deg))]
    assert min(np.abs(posture - q).max() for posture in beside) < 1e-9
    assert len(beside) == 2
    for posture in found:
        assert_holds_1_s(mechanism, posture)


def stiff_beside_parallelogram(beside_deg: float, angle: float) -> Workspace:
    """A stiff frame and, apart from it, a moving parallelogram that is nearly flat, in one mechanism."""
    twist = FOLD + beside_deg
    frame, rungs = six_legs(twist), ladder(1)
    mechanism = Mechanism.build(
        [*frame.bodies, *rungs.bodies],
        [*frame.joints, *rungs.joints],
        (0.0, 0.0, 0.0),
        constraints=[*frame.constraints, *rungs.constraints],
    )
    w = mechanism.workspace()
    w.q[:] = posed(mechanism, twist)
    for name, sign in (("rod0", 1.0), ("rod1", 1.0), ("coupler0", -1.0)):
        w.q[mechanism.position_names.index(name)] = sign * angle
        w.v[mechanism.joint_index(name)] = sign * 3.0
    w.ranking[layout.ORDINARY] = 8
    dynamics(*w.arguments)
    constraint_rows(*w.arguments)
    return w


@pytest.mark.parametrize("angle", [1e-5, 1e-6, 1e-7])
def test_a_branch_direction_is_lost_and_a_stiff_one_beside_it_is_kept(angle):
    """Both singular values lie in the window, either one first: only that of the branch goes."""
    w = stiff_beside_parallelogram(1e-4, angle)
    factor(*w.arguments)
    ranking = w.ranking
    assert (ranking[layout.RANK], ranking[layout.LOST], ranking[layout.MEETING]) == (7, 1, 1)
    assert ranking[layout.SMALLEST] == pytest.approx(1.8245e-6, rel=1e-3)  # that of the frame
    lost = w.combinations[: len(w.A)]
    scaled = w.model.row_scale[:, None] * w.A * w.model.column_scale
    assert np.abs(lost[:6]).max() < 1e-6  # of the parallelogram's rows alone
    left = np.linalg.svd(scaled - np.outer(lost, lost @ scaled), compute_uv=False)
    assert factor_without(*w.arguments, 1, 8) == 7 == np.count_nonzero(left > 1e-10)
    diagonal = np.abs(np.diag(w.factored)[:7])
    assert np.prod(diagonal) == pytest.approx(_volume(scaled, lost), rel=1e-6)


def _volume(rows: Floats, lost: Floats) -> float:
    """Product of the leading diagonal of a pivoted QR of the rows without a direction, by scipy."""
    _, upper, _ = scipy.linalg.qr(rows - np.outer(lost, lost @ rows), pivoting=True)
    return float(np.prod(np.abs(np.diag(upper)[:7])))


def test_passing_the_flat_pose_beside_a_stiff_frame_moves_the_parallelogram_alone():
    w = stiff_beside_parallelogram(1e-4, -0.3)
    still = w.q.copy()
    for _ in range(200):
        rk4(*w.arguments, 1e-3)
    moved = np.flatnonzero(np.abs(w.q - still) > 1e-9)
    assert [w.q[k] for k in moved] == pytest.approx([0.3, 0.3, -0.3], abs=1e-9)


def test_the_tolerance_is_settable():
    twist = FOLD + 1e-2
    fine = six_legs(twist)
    coarse = Mechanism.build(
        fine.bodies, fine.joints, fine.gravity_m_s2, constraints=fine.constraints, rank_tolerance=1e-2
    )
    assert coarse.rank_tolerance == 1e-2
    q = posed(fine, twist)
    assert decide_rank(fine, q).rank == 6
    decision = decide_rank(coarse, q)
    assert decision.rank == 5
    assert decision.largest_dropped < 2e-4 < decision.limit < decision.smallest


def ladder(couplers: int, length: float = 0.4, longer: Floats | None = None) -> Mechanism:
    """Vertical rods in a row, a metre apart, that equal couplers join one after the other: parallelograms.

    longer (couplers): what they are longer than a metre, m.
    """
    more = np.zeros(couplers) if longer is None else longer
    bodies, joints, closures = [], [], []
    for i in range(couplers + 1):
        bodies.append(Body(f"rod{i}", 1.0, (0.5 * length, 0, 0), np.diag([1e-3, 0.02, 0.02])))
        joints.append(Joint(f"rod{i}", "revolute", "world", f"rod{i}", at_m=(1.0 * i, 0, 0), axis=(0, 0, 1)))
    for i in range(couplers):
        bodies.append(Body(f"coupler{i}", 0.5, (0.5, 0, 0), np.diag([1e-3, 0.05, 0.05])))
        joints.append(
            Joint(f"coupler{i}", "revolute", f"rod{i}", f"coupler{i}", at_m=(length, 0, 0), axis=(0, 0, 1))
        )
        closures.append(
            PointClosure(
                f"pin{i}",
                a=Frame(f"coupler{i}", (1.0 + more[i], 0, 0)),
                b=Frame(f"rod{i + 1}", (length, 0, 0)),
            )
        )
    return Mechanism.build(bodies, joints, (0.0, 0.0, 0.0), constraints=closures)


def started(mechanism: Mechanism, angle: float, speed: float) -> Workspace:
    w = mechanism.workspace()
    for k, name in enumerate(mechanism.joint_names):
        sign = 1.0 if name.startswith("rod") else -1.0
        w.q[k], w.v[k] = sign * angle, sign * speed
    assemble_workspace(mechanism, w)
    return w


def total(w: Workspace) -> float:
    dynamics(*w.arguments)
    energy(*w.arguments)
    return float(w.energy.sum())


@pytest.mark.parametrize("couplers", [1, 5, 12, 30])
def test_passages_are_counted_for_any_number_of_loops(couplers):
    w = started(ladder(couplers), 1.0, 6.0)
    before, turns = total(w), 2
    steps = int(turns * 2.0 * np.pi / 6.0 / 1e-3)
    for _ in range(steps):
        rk4(*w.arguments, 1e-3)
        constraint_rows(*w.arguments)
        factor(*w.arguments)
        count_passages(*w.arguments)
    assert w.ranking[layout.PASSAGES] == 2 * turns
    assert abs(total(w) - before) < 1e-9 * before
    rods = w.q[: couplers + 1]
    assert np.abs(np.sin(0.5 * (rods - rods[0]))).max() < 1e-8


@pytest.mark.parametrize("error", [0.0, 1e-10, 1e-8, 1e-6])
@pytest.mark.parametrize("couplers", [1, 3, 6, 20])
def test_the_velocity_does_not_change_which_directions_are_lost(couplers, error):
    """In motion the meeting is looked for along the velocity, at rest by second derivatives in all of them.

    Coupler lengths with errors, all or every second one, leave gaps between the branches.
    """
    rng, seen = np.random.default_rng(couplers), set()
    for every in (1, 2):
        longer = error * rng.normal(size=couplers) * (np.arange(couplers) % every == 0)
        mechanism = ladder(couplers, longer=longer)
        ordinary = started(mechanism, 1.0, 0.0).ranking[layout.ORDINARY]
        for beside in (3e-5, -1e-4, 1.5e-4):
            signs = np.array([1.0 if name.startswith("rod") else -1.0 for name in mechanism.joint_names])
            try:
                q = assemble(mechanism, beside * signs).q
            except AssemblyError:
                continue  # couplers too long or too short to be flat
            lost = []
            for speed in (0.0, 3.0):
                w = mechanism.workspace()
                w.q[:] = q
                w.ranking[layout.ORDINARY] = ordinary
                dynamics(*w.arguments)
                constraint_rows(*w.arguments)
                w.v[:] = speed * np.linalg.svd(w.A)[2][-1]
                factor(*w.arguments)
                lost.append(int(w.ranking[layout.LOST]))
            assert lost[0] == lost[1]
            seen.add(lost[0])
    assert seen
    assert error > 0.0 or seen == {couplers}


def driven(couplers: int, middle: float, reach: float, omega: float, steps: int) -> Workspace:
    """A ladder whose first rod a drive takes along middle + reach cos(omega t) for `steps` of 1 ms."""
    plain = ladder(couplers)
    drive = CoordinateConstraint("drive", of="rod0")
    mechanism = Mechanism.build(
        plain.bodies, plain.joints, plain.gravity_m_s2, constraints=[*plain.constraints, drive]
    )
    w = mechanism.workspace()
    for k in range(steps):
        now = k * 1e-3
        w.clock[1] = now
        w.target[0] = [reach * omega**n * np.cos(omega * now + 0.5 * n * np.pi) for n in range(6)]
        w.target[0, 0] += middle
        if k == 0:
            signs = np.array([1.0 if name.startswith("rod") else -1.0 for name in mechanism.joint_names])
            w.q[:] = signs * (middle + reach)
            assemble_workspace(mechanism, w)
        rk4(*w.arguments, 1e-3)
        constraint_rows(*w.arguments)
        factor(*w.arguments)
        count_passages(*w.arguments)
    return w


def test_turning_back_before_a_branch_pose_is_no_passage():
    """The rods swing to 0.01 rad before the flat pose and back: small singular values, no passage."""
    w = driven(3, 0.505, 0.495, 4.0, 1600)
    assert w.ranking[layout.PASSAGES] == 0.0
    assert np.abs(np.sin(0.5 * (w.q[1:4] - w.q[0]))).max() < 1e-8


def test_a_drive_takes_a_ladder_through_its_flat_pose():
    """No velocity is left free, and yet the motion of the drive carries singular values through zero."""
    w = driven(3, 0.1, 0.9, 4.0, 1571)
    assert w.ranking[layout.PASSAGES] == 2.0
    assert np.abs(np.sin(0.5 * (w.q[1:4] - w.q[0]))).max() < 1e-8
