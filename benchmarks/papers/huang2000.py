"""Huang, Yan, Jeng & Cheing 2000: joint reactions from a second-order expansion, through singular poses."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.papers.figures import ACCENT, HUES, INK, Sheet, legend, lines
from benchmarks.papers.maximal import (
    TORQUE,
    assembled_platform,
    crank,
    pendulum,
    platform_tree,
    printed_system,
    stepper_of,
)
from benchmarks.papers.report import Report, small
from multibody import Mechanism, functions
from multibody.constrained_steps import constrained_rk4
from multibody.integrate import rk4
from multibody.layout import ORDINARY
from multibody.model import Array
from multibody.taylor import MaximalModel, SingularStep, TaylorStepper

ABOUT = "joint reactions by second-order expansion: a double pendulum, a platform on three legs"
MASS, MOMENT, HALF = 14.59, 1.36, 0.61
BALL = 0.29


def reproduce(out: Path, brief: bool = False) -> Report:
    """All figures of the paper; `brief`: shorter runs."""
    report = Report(
        "huang2000",
        "Huang et al. 2000: joint reactions through singular poses",
        "Y.-J. Huang, Yan, Jeng, Cheing, A constrained multibody system dynamics avoiding kinematic singularities, JSME "
        "International Journal, 2000.",
        "Machines: `double_pendulum` (m = 14.59 kg, J = 1.36 kg m², half length 0.61 m, as printed) and `platform_3rrs` "
        f"(printed places and axes of the motors; masses are ours), each motor with {TORQUE:g} N m. Step 1 ms, reactions as the paper "
        "takes them, at the beginning of a step.",
    )
    _pendulum_system(report)
    _pendulum_motion(report, out, 0.4 if brief else 2.0)
    _platform_rows(report)
    _platform_motion(report, brief)
    _platform_pictures(report, out, 0.1 if brief else 0.4)
    _branch_pose(report)
    return report


def _point_shifts(th: Array, q: Array) -> Array:
    """Second-order shifts of the four joint ends, W without dt²/2, of two free bars under Q = (R1, R2), 4."""
    e, n = _directions(th)
    r1, r2 = q[:2], q[2:]
    alpha = np.array([HALF * (n[0] @ (r2 - r1)), HALF * (n[1] @ r2)]) / MOMENT
    centre = np.array([r1 + r2, -r2]) / MASS
    root = centre[0] - HALF * alpha[0] * n[0]
    elbow = centre[0] + HALF * alpha[0] * n[0] - (centre[1] - HALF * alpha[1] * n[1])
    del e
    return np.concatenate([root, elbow])


def _directions(th: Array) -> tuple[Array, Array]:
    c, s = np.cos(th), np.sin(th)
    return np.column_stack([c, s]), np.column_stack([-s, c])


def _block_matrix(th: Array, lower_sign: float = 1.0, off_diagonal: float = 1.0) -> Array:
    """m times the printed matrix in 2/dt², in closed form."""
    k = MASS * HALF**2 / MOMENT
    e1, e2 = (k * np.outer(n, n) * np.array([[1, off_diagonal], [off_diagonal, 1]]) for n in _directions(th)[1])
    one = np.eye(2)
    return np.block([[one + e1, one - e1], [one - e1, one + e1 + lower_sign * (one + e2)]])


def _pendulum_system(report: Report) -> None:
    rng, k = np.random.default_rng(2), MASS * HALF**2 / MOMENT
    worst = dict.fromkeys(("mended", "sign", "block", "determinant"), 0.0)
    least = np.inf
    for _ in range(50):
        th = rng.uniform(-np.pi, np.pi, 2)
        true = MASS * np.column_stack([_point_shifts(th, unit) for unit in np.eye(4)])
        formula = k**2 + 6 * k + 1 + 4 * k**2 * np.sin(th[0] - th[1]) ** 2
        least = min(least, float(np.linalg.det(true)))
        now = {
            "mended": np.abs(_block_matrix(th) - true).max(),
            "sign": np.abs(_block_matrix(th, off_diagonal=-1.0) - true).max(),
            "block": np.abs(_block_matrix(th, lower_sign=-1.0) - true).max(),
            "determinant": abs(np.linalg.det(true) / formula - 1.0),
        }
        worst = {name: max(worst[name], float(value)) for name, value in now.items()}
    report.figures |= {f"system_{name}": value for name, value in worst.items()} | {"determinant_least": least}
    report.row(
        "(37)-(40)", "4 × 4 system of the double pendulum, its lower right block with a minus, without 1/m",
        f"minus: off by {worst['block']:.1f} of {k:.1f}; with plus and 1/m: {small(worst['mended'])} from the expansion itself",
        "mended", worst["block"] > 1.0 and worst["mended"] < 1e-12,
        "both bars give way at the elbow, so their compliances add",
    )  # fmt: skip
    report.row(
        "(37)-(40)", "off-diagonals + (k/2) sin 2θ", f"with θ counter-clockwise off by {worst['sign']:.1f}; they are -(k/2) sin 2θ",
        "mended", worst["sign"] > 1.0, "+ belongs to clockwise angles",
    )  # fmt: skip
    report.row(
        "determinant", "never zero", f"(dt²/2m)⁴ [k² + 6k + 1 + 4k² sin²(θ₁ - θ₂)], to {small(worst['determinant'])}; least of 50 random "
        f"poses {least:.1f}, bound {k * k + 6 * k + 1:.1f}", "mended", worst["determinant"] < 1e-12 and least >= k * k + 6 * k + 1 - 1e-9,
        "true, but the printed expression is another",
    )  # fmt: skip


def _reactions_by_recursion(tree: Mechanism, q: Array, v: Array) -> Array:
    """Forces on upper and lower bar at shoulder and elbow (2 × 3), from the tree's accelerations."""
    vdot = functions.forward_dynamics(tree, q, v, np.zeros(2))
    pull = []
    for k in ("1", "2"):
        a = functions.point_jacobian(tree, k, q)[3:] @ vdot + functions.point_jacobian_rate(tree, k, q, v)[3:]
        pull.append(MASS * (a - tree.gravity_m_s2))
    return np.array([pull[0] + pull[1], pull[1]])


class Swing(NamedTuple):
    """Time, angles, and reactions (shoulder, elbow) by expansion and by recursion at the same state."""

    time: Array
    angle: Array
    expanded: Array
    recursed: Array
    gap: float


def _swing(tree: Mechanism, duration: float, dt: float, every: int = 1) -> Swing:
    stepper = TaylorStepper(MaximalModel.of(tree), 0.0)
    q = np.array([0.0, 0.3])
    stepper.stand_as(tree, q, np.zeros(2))
    names = [stepper.model.freedom_index(name) for name in tree.joint_names]
    rows, gap = [], 0.0
    for k in range(round(duration / dt)):
        q, v = stepper.coordinate[names].copy(), stepper.rate[names].copy()
        stepper.step(dt)
        gap = max(gap, float(np.abs(stepper.gap()).max()))
        if k % every == 0:
            forces = np.array([r.force_N for r in stepper.reactions()])
            rows.append((k * dt, q, forces, _reactions_by_recursion(tree, q, v)))
    time, angle, expanded, recursed = (np.array(column) for column in zip(*rows, strict=True))
    return Swing(time, np.vstack([angle, stepper.coordinate[names]]), expanded, recursed, gap)


def _pendulum_motion(report: Report, out: Path, duration: float) -> None:
    tree = pendulum()
    runs = [_swing(tree, 0.4, dt, 10) for dt in (2e-3, 1e-3, 5e-4)]
    w = tree.workspace()
    w.q[:] = 0.0, 0.3
    for _ in range(400):
        rk4(*w.arguments, 1e-3)
    state = [float(np.abs(run.angle[-1] - w.q).max()) for run in runs]
    force = [float(np.abs(run.expanded - run.recursed).max()) for run in runs]
    gap = [run.gap for run in runs]
    swing = _swing(tree, duration, 1e-3)
    scale = float(np.abs(swing.recursed).max())
    orders = {"gap": gap[1] / gap[2], "state": state[1] / state[2], "force": force[1] / force[2]}
    report.figures |= {f"pendulum_{name}_ratio": value for name, value in orders.items()} | {"pendulum_gap_m": gap[1], "pendulum_force_N": force[1]}
    report.row(
        "joint reactions", "from the expansion, without constraint equations for the accelerations",
        f"{small(force[1])} N from Newton's law on the tree's accelerations (peak {scale:.0f} N), {orders['force']:.2f} times less "
        "for half the step", "holds", abs(orders["force"] - 2.0) < 0.1,
    )  # fmt: skip
    report.row(
        "accuracy", "joints close to second order",
        f"gap {small(gap[1])} m, {orders['gap']:.2f} times less for half the step (dt³); angles {small(state[1])} rad, {orders['state']:.2f} times "
        "less (dt)", "holds", abs(orders["gap"] - 8.0) < 0.5 and abs(orders["state"] - 2.0) < 0.1,
        "the motion itself is of first order only",
    )  # fmt: skip
    report.row(
        "start of the pendulum", "not printed", "both bars at rest, the upper level, the lower 0.3 rad above it", "ours", True,
        "the printed curves cannot be compared",
    )  # fmt: skip
    sheet = Sheet(1, 2, height=3.0, width_ratios=(1.0, 1.25))
    angles = sheet.panel(sheet.grid[0, 0], "double pendulum", "time / s", "angle / rad")
    lines(angles, swing.time, swing.angle[:-1] * [1, 1], ("shoulder θ₁", "elbow θ₂ - θ₁"))
    legend(angles)
    forces = sheet.panel(sheet.grid[0, 1], "joint reactions: expansion, and recursion beneath", "time / s", "force / N")
    size = np.linalg.norm(swing.expanded, axis=2)
    exact = np.linalg.norm(swing.recursed, axis=2)
    lines(forces, swing.time, exact, ("recursion", ""), color="#c9d1d9", linewidth=4.0)
    lines(forces, swing.time, size, ("shoulder", "elbow"), linewidth=1.2)
    handles, labels = forces.get_legend_handles_labels()
    forces.legend([h for h, l in zip(handles, labels, strict=True) if l], [l for l in labels if l], fontsize=8, frameon=False, labelcolor=INK)
    sheet.save(
        out, report, "huang2000_pendulum.png",
        "Double pendulum from rest: angles, and the size of the reactions at shoulder and elbow, step 1 ms.",
    )  # fmt: skip


def _platform_rows(report: Report) -> None:
    tree = platform_tree(symmetric=False)
    stepper = stepper_of(tree, assembled_platform(tree), 0.0)
    stepper.step(1e-3, 100)
    matrix = printed_system(stepper)
    values = np.linalg.svd(matrix / np.abs(matrix).max(axis=1, keepdims=True), compute_uv=False)
    rank = int((values > 1e-10 * values[0]).sum())
    ours, _ = stepper.system(1e-3)
    own = int(np.linalg.matrix_rank(ours / np.abs(ours).max(axis=1, keepdims=True), tol=1e-10))
    report.figures |= {"platform_rank_printed": rank, "platform_size_printed": len(matrix), "platform_rank": own}
    report.row(
        "system of the platform", "45 × 45: three forces and three moments at each hinge",
        f"rank {rank} of {len(matrix)}; with five unknowns a hinge {len(ours)} × {len(ours)}, rank {own}", "mended",
        rank == 39 and own == len(ours) == 39, "three cross-product rows of a hinge have rank 2",
    )  # fmt: skip
    motors = np.array([[0.33, -0.19, -0.03], [-0.33, -0.19, -0.03]])
    axes = np.array([[-0.84, 0.48, 0.26], [0.84, 0.48, 0.26]])
    inward = [float(a[:2] @ -m[:2] / np.linalg.norm(a[:2]) / np.linalg.norm(m[:2])) for m, a in zip(motors, axes, strict=True)]
    as_printed = [float(a[:2] @ -m[:2] / np.linalg.norm(a[:2]) / np.linalg.norm(m[:2])) for m, a in zip(motors[::-1], axes, strict=True)]
    report.figures |= {"axis_inward": min(inward), "axis_printed": max(as_printed)}
    report.row(
        "table of the platform", "places of motors J7 and J8",
        f"their axes point inward (cosine {as_printed[0]:.2f} as printed, {inward[0]:.4f} with the places exchanged)", "mended",
        min(inward) > 0.999 and max(as_printed) < 0.0, "the two rows are exchanged",
    )  # fmt: skip


def _platform_motion(report: Report, brief: bool) -> None:
    tree = platform_tree(symmetric=True)
    q = assembled_platform(tree)
    deviations, balances, turn = [], [], 0.0
    for dt in (2e-3, 1e-3) if brief else (2e-3, 1e-3, 5e-4):
        stepper = stepper_of(tree, q, 0.0)
        motors = [stepper.model.freedom_index(f"motor_{k}") for k in (1, 2, 3)]
        start, first = sum(stepper.energy()), stepper.coordinate[motors].copy()
        knee, ball = stepper.pose("leg_1").origin, stepper.pose("platform").origin
        away, leg2, worst = float(np.hypot(*knee[:2])), float((ball - knee) @ (ball - knee)), 0.0
        for _ in range(10):
            stepper.step(dt, round(0.02 / dt))
            axes = stepper.pose("platform").axes
            turn = float(np.arctan2(axes[1, 0], axes[0, 0]))
            height = np.sqrt(leg2 - (away**2 + BALL**2 - 2.0 * away * BALL * np.cos(turn)))
            worst = max(worst, abs(float(_centre(stepper)[2] - knee[2] - height)))
        work = TORQUE * float((stepper.coordinate[motors] - first).sum())
        deviations.append(worst)
        balances.append(abs(sum(stepper.energy()) - start - work) / abs(work))
    report.figures |= {
        "platform_height_m": deviations[-1], "platform_height_ratio": deviations[-2] / deviations[-1],
        "platform_balance": balances[-1], "platform_balance_ratio": balances[-2] / balances[-1],
    }  # fmt: skip
    report.row(
        "symmetric motion", "the platform rises and turns at once",
        f"h² = L² - (a² + b² - 2ab cos φ) to {small(deviations[1])} m at 1 ms until φ = {abs(turn):.2f} rad, {deviations[-2] / deviations[-1]:.2f} times "
        f"less for half the step; energy against motor work {small(balances[1])}, {balances[-2] / balances[-1]:.2f} times less", "holds",
        abs(deviations[-2] / deviations[-1] - 8.0) < 0.8 and abs(balances[-2] / balances[-1] - 2.0) < 0.2,
        "it falls: the platform begins at its highest pose",
    )  # fmt: skip


def _centre(stepper: TaylorStepper) -> Array:
    pose = stepper.pose("platform")
    return np.asarray(pose.origin + pose.axes @ np.array([0.0, -BALL, 0.0]))


def _platform_pictures(report: Report, out: Path, duration: float) -> None:
    tree, dt = platform_tree(symmetric=False), 1e-3
    q = assembled_platform(tree)
    stepper = stepper_of(tree, q, 0.0)
    w = tree.workspace()
    w.q[:] = q
    w.effort[[tree.joint_index(f"motor_{k}") for k in (1, 2, 3)]] = TORQUE
    w.ranking[ORDINARY] = 6.0
    place = tree.point_index("centre")
    count = round(duration / dt)
    moving, exact, sizes = np.empty((count, 6)), np.empty((count, 3)), np.empty((count, 9))
    order: list[str] = []
    for k in range(count):
        pose = stepper.pose("platform")
        lever = pose.axes @ np.array([0.0, -BALL, 0.0])
        moving[k] = *(pose.velocity + np.cross(pose.angular_velocity, lever)), *pose.angular_velocity
        exact[k] = functions.point_velocity(tree, tree.point_names[place], w.q, w.v)
        stepper.step(dt)
        constrained_rk4(*w.arguments, dt)
        order = [r.joint for r in stepper.reactions()]
        sizes[k] = [np.linalg.norm(r.force_N) for r in stepper.reactions()]
    time = np.arange(count) * dt
    off = float(np.abs(moving[:, :3] - exact).max())
    jump = float(np.abs(np.diff(moving, axis=0)).max() / np.abs(moving).max())
    report.figures |= {"platform_velocity_off": off, "platform_velocity_jump": jump}
    report.row(
        "velocities of the platform", "curves, with kinks at printed times (Fig. 11)",
        f"smooth: no step changes them by more than {jump:.1%} of their peak; {small(off)} m/s from `projected` after {duration:g} s "
        f"(peak {np.abs(exact).max():.1f} m/s)", "open", jump < 0.05 and off < 0.02 * float(np.abs(exact).max()),
        "masses and inertias are not printed, and nothing printed acts at an instant",
    )  # fmt: skip
    sheet = Sheet(1, 3, height=3.0, width=11.0)
    linear = sheet.panel(sheet.grid[0, 0], "velocity of the platform's centre", "time / s", "velocity / m/s")
    linear.plot(time, exact, color="#c9d1d9", linewidth=4.0)
    lines(linear, time, moving[:, :3], ("x", "y", "z"))
    legend(linear)
    angular = sheet.panel(sheet.grid[0, 1], "angular velocity", "time / s", "angular velocity / rad/s")
    lines(angular, time, moving[:, 3:], ("x", "y", "z"))
    legend(angular)
    forces = sheet.panel(sheet.grid[0, 2], "joint reactions", "time / s", "force / N")
    for hue, kind in zip((HUES[0], HUES[1], ACCENT), ("motor", "knee", "ball"), strict=True):
        chosen = [k for k, name in enumerate(order) if name.startswith(kind)]
        for n, k in enumerate(chosen):
            forces.plot(time, sizes[:, k], color=hue, linewidth=1.2, linestyle=("-", "--", ":")[n], label=f"{kind}s 1, 2, 3" if n == 0 else None)
    legend(forces)
    sheet.save(
        out, report, "huang2000_platform.png",
        "Platform on three legs, 10 N m at each motor, from rest: velocities (grey: `projected`), and reactions at motors, knees and balls.",
    )  # fmt: skip


def _branch_pose(report: Report) -> None:
    upright = 0.5 * np.pi
    matrix, _ = crank(upright, 2.0, 0.5).system(1e-3)
    values = np.linalg.svd(matrix / np.abs(matrix).max(axis=1, keepdims=True), compute_uv=False)
    mirror = 0.0
    for angle, reactions_at in ((1.2, 0.0), (upright, 0.5)):
        stepper = crank(angle, 2.0, reactions_at)
        stepper.step(1e-3, 400)
        mirror = max(mirror, float(np.abs(stepper.pose("upper").axes - stepper.pose("lower").axes.T).max()))
    refused = _refused(upright, 2.0, 0.0) and _refused(upright, 0.0, 0.5)
    report.figures |= {"branch_mirror": mirror, "branch_sigma": float(values[-1] / values[0])}
    report.row(
        "singular poses", "the system stays regular where the constraint Jacobian does not",
        f"slider-crank passing its upright pose at 2 rad/s: on its branch to {small(mirror)} after 0.4 s; a step that begins exactly "
        f"there is {'singular' if refused else 'made'} with reactions at its beginning, with reactions half way regular "
        f"(singular values from 1 to {small(float(values[-1] / values[0]))})", "holds",
        values[-1] > 1e-12 * values[0] and mirror < 1e-2 and refused,
        "in motion: the second derivative must fill the lost row; at rest it cannot",
    )  # fmt: skip


def _refused(angle: float, speed: float, reactions_at: float) -> bool:
    try:
        crank(angle, speed, reactions_at).step(1e-3)
    except SingularStep:
        return True
    return False
