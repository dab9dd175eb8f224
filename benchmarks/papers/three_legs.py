"""The platform on three legs of Huang et al. 2000, and a slider-crank at its branch pose."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.papers.figures import ACCENT, HUES, Sheet, legend, lines
from benchmarks.papers.maximal import (
    TORQUE,
    assembled_platform,
    crank,
    platform_tree,
    printed_system,
    stepper_of,
)
from benchmarks.papers.report import Report, small
from multibody import functions
from multibody.constrained_steps import constrained_rk4
from multibody.layout import ORDINARY
from multibody.model import Array
from multibody.taylor import SingularStep, TaylorStepper

BALL = 0.29


def platform_rows(report: Report) -> None:
    """Statements on the platform's system of equations and its table."""
    tree = platform_tree(symmetric=False)
    stepper = stepper_of(tree, assembled_platform(tree), 0.0)
    stepper.step(1e-3, 100)
    matrix = printed_system(stepper)
    values = np.linalg.svd(matrix / np.abs(matrix).max(axis=1, keepdims=True), compute_uv=False)
    rank = int((values > 1e-10 * values[0]).sum())
    ours, _ = stepper.system(1e-3)
    own = int(np.linalg.matrix_rank(ours / np.abs(ours).max(axis=1, keepdims=True), tol=1e-10))
    report.figures |= {
        "platform_rank_printed": rank,
        "platform_size_printed": len(matrix),
        "platform_rank": own,
    }
    report.row(
        "system of the platform",
        "45 × 45: three forces and three moments at each hinge",
        f"rank {rank} of {len(matrix)}; with five unknowns a hinge {len(ours)} × {len(ours)}, rank {own}",
        "mended",
        rank == 39 and own == len(ours) == 39,
        "three cross-product rows of a hinge have rank 2",
    )
    motors = np.array([[0.33, -0.19, -0.03], [-0.33, -0.19, -0.03]])
    axes = np.array([[-0.84, 0.48, 0.26], [0.84, 0.48, 0.26]])
    inward = [
        float(a[:2] @ -m[:2] / np.linalg.norm(a[:2]) / np.linalg.norm(m[:2]))
        for m, a in zip(motors, axes, strict=True)
    ]
    as_printed = [
        float(a[:2] @ -m[:2] / np.linalg.norm(a[:2]) / np.linalg.norm(m[:2]))
        for m, a in zip(motors[::-1], axes, strict=True)
    ]
    report.figures |= {"axis_inward": min(inward), "axis_printed": max(as_printed)}
    report.row(
        "table of the platform",
        "places of motors J7 and J8",
        f"their axes point inward (cosine {as_printed[0]:.2f} as printed, {inward[0]:.4f} with the places "
        "exchanged)",
        "mended",
        min(inward) > 0.999 and max(as_printed) < 0.0,
        "the two rows are exchanged",
    )


def platform_motion(report: Report, brief: bool) -> None:
    """The symmetric motion against its closed form."""
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
        "platform_height_m": deviations[-1],
        "platform_height_ratio": deviations[-2] / deviations[-1],
        "platform_balance": balances[-1],
        "platform_balance_ratio": balances[-2] / balances[-1],
    }
    report.row(
        "symmetric motion",
        "three equal legs, 10 N m at each motor",
        f"h² = L² - (a² + b² - 2ab cos φ) to {small(deviations[1])} m at 1 ms until φ = {abs(turn):.2f} rad, "
        f"{deviations[-2] / deviations[-1]:.2f} times less for half the step; energy against motor work "
        f"{small(balances[1])}, {balances[-2] / balances[-1]:.2f} times less",
        "holds",
        abs(deviations[-2] / deviations[-1] - 8.0) < 0.8 and abs(balances[-2] / balances[-1] - 2.0) < 0.2,
        "the platform begins at its highest pose, and falls",
    )


def _centre(stepper: TaylorStepper) -> Array:
    pose = stepper.pose("platform")
    return np.asarray(pose.origin + pose.axes @ np.array([0.0, -BALL, 0.0]))


def platform_pictures(report: Report, out: Path, duration: float) -> None:
    """The motion of the printed platform, drawn."""
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
        "velocities of the platform",
        "curves, with kinks at printed times (Fig. 11)",
        f"smooth: no step changes them by more than {jump:.1%} of their peak; {small(off)} m/s from "
        f"`projected` after {duration:g} s (peak {np.abs(exact).max():.1f} m/s)",
        "open",
        jump < 0.05 and off < 0.02 * float(np.abs(exact).max()),
        "masses and inertias are not printed, and nothing printed acts at an instant",
    )
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
            forces.plot(
                time,
                sizes[:, k],
                color=hue,
                linewidth=1.2,
                linestyle=("-", "--", ":")[n],
                label=f"{kind}s 1, 2, 3" if n == 0 else None,
            )
    legend(forces)
    sheet.save(
        out,
        report,
        "huang2000_platform.png",
        "Platform on three legs, 10 N m at each motor, from rest: velocities (grey: `projected`), and "
        "reactions at motors, knees and balls.",
    )


def branch_pose(report: Report) -> None:
    """Statements on singular poses, shown by a slider-crank."""
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
        "singular poses",
        "the system stays regular where the constraint Jacobian does not",
        f"slider-crank passing its upright pose at 2 rad/s: on its branch to {small(mirror)} after 0.4 s; a "
        f"step that begins exactly there is {'singular' if refused else 'made'} with reactions at its "
        "beginning, with reactions half way regular (singular values from 1 to "
        f"{small(float(values[-1] / values[0]))})",
        "holds",
        values[-1] > 1e-12 * values[0] and mirror < 1e-2 and refused,
        "in motion: the second derivative must fill the lost row; at rest it cannot",
    )


def _refused(angle: float, speed: float, reactions_at: float) -> bool:
    try:
        crank(angle, speed, reactions_at).step(1e-3)
    except SingularStep:
        return True
    return False
