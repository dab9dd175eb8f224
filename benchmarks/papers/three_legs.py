"""The platform on three legs of Huang et al. 2000, and a slider-crank at its branch pose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.figures import ACCENT, HUES, QUIET, Sheet, legend, lines
from benchmarks.papers.maximal import (
    TABLE,
    TORQUE,
    crank,
    driven,
    platform,
    platform_of,
    printed_pose,
    printed_system,
    stepper_of,
)
from benchmarks.papers.report import Report, small
from benchmarks.papers.symmetric_platform import SymmetricPlatform, crossings_of
from linkwork.arrays import Floats
from linkwork.offline.taylor import SingularStep, TaylorStepper

FORM = SymmetricPlatform()
SPAN_S = 2.0


def platform_rows(report: Report) -> None:
    """Statements on the platform's system of equations and its table."""
    stepper = stepper_of(platform_of(), printed_pose(), 0.0)
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
        "corrected",
        rank == 39 and own == len(ours) == 39,
        "three cross-product rows of a hinge have rank 2",
    )
    inward = [_inward(m, a) for m, a in zip(TABLE.motors[1:], TABLE.motor_axes[1:], strict=True)]
    as_printed = [_inward(m, a) for m, a in zip(TABLE.motors[:0:-1], TABLE.motor_axes[1:], strict=True)]
    report.figures |= {"axis_inward": min(inward), "axis_printed": max(as_printed)}
    report.row(
        "table of the platform",
        "places of motors J7 and J8",
        f"their axes point inward (cosine {as_printed[0]:.2f} as printed, {inward[0]:.4f} with the places "
        "exchanged)",
        "corrected",
        min(inward) > 0.999 and max(as_printed) < 0.0,
        "the two rows are exchanged",
    )


def _inward(place: Floats, axis: Floats) -> float:
    """Cosine between an axis and the way to the centre, in the horizontal plane."""
    return float(axis[:2] @ -place[:2] / np.linalg.norm(axis[:2]) / np.linalg.norm(place[:2]))


def platform_motion(report: Report) -> None:
    """The symmetric motion against its two closed relations, and its energy."""
    steps = (2e-3, 1e-3, 5e-4)
    runs = [_relations(dt) for dt in steps]
    height, motor, balance, turn = (np.array(column) for column in zip(*runs, strict=True))
    exchanged = replace(FORM, knee_radius=FORM.ball_radius, ball_radius=FORM.knee_radius)
    apart = max(abs(exchanged.at(s).motor - FORM.at(s).motor) for s in np.linspace(0.1, 1.5, 15))
    report.figures |= {
        "platform_height_m": height[-1],
        "platform_height_ratio": height[-2] / height[-1],
        "platform_motor_rad": motor[-1],
        "platform_motor_ratio": motor[-2] / motor[-1],
        "platform_exchanged_rad": apart,
        "platform_balance": balance[-1],
        "platform_balance_ratio": balance[-2] / balance[-1],
    }
    report.row(
        "symmetric motion: height",
        "three equal legs, 10 N m at each motor",
        f"h² = L² - (a² + b² - 2ab cos φ) to {small(height[1])} m at 1 ms in {SPAN_S:g} s (|φ| up to "
        f"{turn[1]:.2f} rad), {height[-2] / height[-1]:.2f} times less for half the step; energy against "
        f"motor work {small(balance[1])}, {balance[-2] / balance[-1]:.2f} times less",
        "holds",
        abs(height[-2] / height[-1] - 8.0) < 0.8 and abs(balance[-2] / balance[-1] - 2.0) < 0.2,
        "the platform starts at its highest pose; the relation is symmetric in a and b",
    )
    report.row(
        "symmetric motion: motors",
        "knees at a = 0.29 m, balls at b = 0.61 m from the axis",
        f"tan θ = b sin φ/(e (b cos φ - a) + c h) to {small(motor[1])} rad, {motor[-2] / motor[-1]:.2f} "
        f"times less for half the step; with the two radii exchanged θ differs by {apart:.2f} rad",
        "holds",
        motor[-2] / motor[-1] > 3.5 and motor[1] < 1e-4 and apart > 0.1,
        "(0, -c, e): a motor's axis; this relation is not symmetric in a and b",
    )


def _relations(dt: float) -> tuple[float, float, float, float]:
    """Largest errors of height (m), of the motors' angle (rad) and of the energy (relative); largest |φ|."""
    stepper = stepper_of(platform(), printed_pose(), 0.0)
    motors = [stepper.model.dof_index(f"motor_{k}") for k in (1, 2, 3)]
    start, first = sum(stepper.energy()), stepper.coordinate[motors].copy()
    apart, ways, phi = [], [], []
    balance = 0.0
    for _ in range(round(SPAN_S / 0.02)):
        stepper.step(dt, round(0.02 / dt))
        axes = stepper.pose("platform").axes
        turn, height = float(np.arctan2(axes[1, 0], axes[0, 0])), float(_centre(stepper)[2])
        s = np.arctan2(np.sin(0.5 * turn) * 2.0 * np.sqrt(FORM.knee_radius * FORM.ball_radius), height)
        s += 2.0 * np.pi * np.round((float(stepper.coordinate[motors[0]] - first[0]) - s) / (2.0 * np.pi))
        wanted = FORM.at(float(s))
        squared = FORM.height**2 - 4.0 * FORM.knee_radius * FORM.ball_radius * np.sin(0.5 * turn) ** 2
        apart.append(abs(height**2 - squared) / (2.0 * FORM.height))
        ways.append(abs(float(stepper.coordinate[motors[0]] - first[0]) - wanted.motor))
        phi.append(abs(turn))
        work = TORQUE * float((stepper.coordinate[motors] - first).sum())
        balance = max(balance, abs(sum(stepper.energy()) - start - work) / max(abs(work), 1.0))
    return max(apart), max(ways), balance, max(phi)


def _centre(stepper: TaylorStepper) -> Floats:
    pose = stepper.pose("platform")
    return np.asarray(pose.origin + pose.axes @ np.array([0.0, -FORM.ball_radius, 0.0]))


def platform_pictures(report: Report, out: Path, brief: bool) -> None:
    """Fig. 11: the driven platform from rest, by three methods, drawn."""
    time, place, velocity = driven(platform(), SPAN_S, 1e-3)
    _, rounded, _ = driven(platform_of(), SPAN_S, 1e-3)
    step = 1e-3 if brief else 2.5e-4
    at, moving, sizes, order = _expanded(step, 0.5)
    early = _expanded(step, 0.0)[1]
    exact, found = FORM.crossings(), crossings_of(time, place[:, 2])
    expanded, of_table = crossings_of(at, moving[:, 2]), crossings_of(time, rounded[:, 2])
    off = float(np.abs(moving[:: round(1e-3 / step), 3:6] - velocity).max())
    jump = float(np.abs(np.diff(velocity, axis=0)).max() / np.abs(velocity).max())
    peak = float(np.abs(velocity).max())
    apart, gap, early_gap = (
        float(np.abs(times - exact).max()) for times in (found, expanded, crossings_of(at, early[:, 2]))
    )
    report.figures |= {
        "platform_crossings_off_s": apart,
        "platform_crossings_taylor_off_s": gap,
        "platform_velocity_off": off,
        "platform_velocity_jump": jump,
        "platform_peak_m_s": peak,
        **{f"platform_crossing_{k}_s": float(t) for k, t in enumerate(exact, 1)},
        **{f"platform_table_crossing_{k}_s": float(t) for k, t in enumerate(of_table, 1)},
    }
    report.row(
        "Fig. 11: heights",
        "motion from rest with 10 N m at each motor",
        f"z = 0 at {_times(exact)} s (closed form, by quadrature); `projected` at 1 ms within {small(apart)} "
        f"s, the expansion at {step * 1e3:g} ms within {small(gap)} s with reactions half way through the "
        f"step ({small(early_gap)} s with reactions at its beginning); {_times(of_table)} s for the table "
        "with its rounded positions",
        "ours",
        apart < 1e-4 and gap < (5e-3 if brief else 1e-3),
        "symmetric reading; the printed curves have no such numbers",
    )
    report.row(
        "Fig. 11: velocities",
        "curves, with kinks at printed times",
        f"smooth: no step of 1 ms changes them by more than {jump:.1%} of their peak of {peak:.1f} m/s; the "
        f"expansion at {step * 1e3:g} ms is within {small(off)} m/s of `projected` over {SPAN_S:g} s",
        "open",
        jump < 0.05 and off < 0.02 * peak * (4 if brief else 1),
        "the curves turn sharply, but smoothly, where the platform passes z = 0; nothing printed acts at an "
        "instant",
    )
    _draw_platform(report, out, time, velocity, at, moving, sizes, order, exact)


def _times(values: Floats) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


def _expanded(step: float, reactions_at: float) -> tuple[Floats, Floats, Floats, list[str]]:
    """Times, the centre's place, velocity and angular velocity (9), sizes of reactions (9), and joints."""
    stepper = stepper_of(platform(), printed_pose(), reactions_at)
    count = round(SPAN_S / step)
    moving, sizes, order = np.empty((count + 1, 9)), np.zeros((count + 1, 9)), []
    for k in range(count + 1):
        pose = stepper.pose("platform")
        lever = pose.axes @ np.array([0.0, -FORM.ball_radius, 0.0])
        velocity = pose.velocity + np.cross(pose.angular_velocity, lever)
        moving[k] = *_centre(stepper), *velocity, *pose.angular_velocity
        stepper.step(step)
        reactions = stepper.reactions()
        order = [r.joint for r in reactions]
        sizes[k] = [np.linalg.norm(r.force_N) for r in reactions]
    return np.arange(count + 1, dtype=np.float64) * step, moving, sizes, order


def _draw_platform(
    report: Report,
    out: Path,
    time: Floats,
    velocity: Floats,
    at: Floats,
    moving: Floats,
    sizes: Floats,
    order: list[str],
    exact: Floats,
) -> None:
    sheet = Sheet(1, 3, height=3.0, width=11.0)
    linear = sheet.panel(sheet.grid[0, 0], "velocity of the platform's centre", "time / s", "velocity / m/s")
    linear.plot(time, velocity, color="#c9d1d9", linewidth=4.0)
    lines(linear, at, moving[:, 3:6], ("x", "y", "z"))
    angular = sheet.panel(sheet.grid[0, 1], "angular velocity", "time / s", "angular velocity / rad/s")
    lines(angular, at, moving[:, 6:], ("x", "y", "z"))
    forces = sheet.panel(sheet.grid[0, 2], "joint reactions", "time / s", "force / N")
    for hue, kind in zip((HUES[0], HUES[1], ACCENT), ("motor", "knee", "ball"), strict=True):
        _draw_reactions(
            forces, at, sizes, [k for k, name in enumerate(order) if name.startswith(kind)], hue, kind
        )
    for axes in (linear, angular, forces):
        for moment in exact:
            axes.axvline(moment, color=QUIET, linewidth=0.8, linestyle=":")
        legend(axes)
    sheet.save(
        out,
        report,
        "huang2000_platform.png",
        "The paper's platform on three legs from rest, 10 N m at each motor: velocities (grey: `projected`) "
        "and reactions at motors, knees and balls. Dotted: the platform passes z = 0.",
    )


def _draw_reactions(axes: Any, at: Floats, sizes: Floats, columns: list[int], hue: str, kind: str) -> None:
    """One kind of joint of the three legs."""
    thin = max(1, len(at) // 1200)
    for n, k in enumerate(columns):
        label = f"{kind}s 1, 2, 3" if n == 0 else None
        axes.plot(
            at[::thin], sizes[::thin, k], color=hue, linewidth=1.2, linestyle=("-", "--", ":")[n], label=label
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
