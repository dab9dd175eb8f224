"""Motion of Aghili's slider-crank through its branch poses: free, and led by projected inverse dynamics."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.papers.figures import QUIET, Sheet, legend, lines
from benchmarks.papers.motion import begin, under_law
from benchmarks.papers.report import Report, small
from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody import Mechanism, Workspace, functions
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.multibody.formulations.projector import projector, pseudo_inverse
from linkwork.multibody.kernels.layout import RANK, REPLACED
from linkwork.multibody.steps.integrate import rk4

G = 9.81
TANGENT = np.array([1.0, -2.0])
"""Λ: on the branch the knee turns back twice as fast as the crank turns."""
BANDWIDTH = 10.0
TURN_S, FIRST, ERROR = 2.5, np.deg2rad(30.0), 0.1


def on_branch(angle: float, speed: float) -> tuple[Floats, Floats]:
    """q and v of crank and knee."""
    return np.array([angle, -2.0 * angle]), speed * TANGENT


class Free(NamedTuple):
    """Time, crank and knee, their speeds, force of the guide on the tip (N), smallest singular value of A."""

    time: Floats
    q: Floats
    v: Floats
    force: Floats
    sigma: Floats


def _free(crank: Mechanism, phase: float, speed: float, duration: float, dt: float) -> Free:
    w = begin(crank, *on_branch(phase, speed))
    count = round(duration / dt)
    run = Free(
        np.arange(count + 1, dtype=np.float64) * dt,
        np.empty((count + 1, 2)),
        np.empty((count + 1, 2)),
        *np.empty((2, count + 1)),
    )
    for k in range(count + 1):
        projected(*w.arguments)
        run.q[k], run.v[k], run.force[k], run.sigma[k] = w.q, w.v, w.multipliers[0], np.linalg.norm(w.A)
        rk4(*w.arguments, dt)
    return run


def _one_dof(phase: float, speed: float, times: Floats) -> Floats:
    """The crank's angle from (1 + 4 sin² q) q¨ + 4 sin q cos q q˙² + g cos q = 0, to 1e-12."""

    def rates(_: float, y: Floats) -> list[float]:
        s, c = np.sin(y[0]), np.cos(y[0])
        return [y[1], -(4.0 * s * c * y[1] ** 2 + G * c) / (1.0 + 4.0 * s * s)]

    found = solve_ivp(rates, (0.0, times[-1]), [phase, speed], "DOP853", times, rtol=1e-13, atol=1e-13)
    return np.asarray(found.y[0])


def free_motion(report: Report, out: Path, crank: Mechanism, duration: float) -> None:
    """Unforced motion against the one-DOF solution, drawn."""
    phase, speed = FIRST, 6.0
    runs = {dt: _free(crank, phase, speed, duration, dt) for dt in (2e-3, 1e-3)}
    errors = {dt: np.abs(run.q[:, 0] - _one_dof(phase, speed, run.time)) for dt, run in runs.items()}
    run = runs[1e-3]
    off = float(np.abs(run.q[:, 1] + 2.0 * run.q[:, 0]).max())
    passed = int(np.floor((run.q[-1, 0] + 0.5 * np.pi) / np.pi) - np.floor((phase + 0.5 * np.pi) / np.pi))
    ratio = float(errors[2e-3].max() / errors[1e-3].max())
    energy = [
        functions.kinetic_energy(crank, q, v) + functions.potential_energy(crank, q)
        for q, v in zip(run.q[::50], run.v[::50], strict=True)
    ]
    drift = float(np.ptp(energy) / functions.kinetic_energy(crank, run.q[0], run.v[0]))
    report.figures |= {
        "free_off_branch": off,
        "free_passages": passed,
        "free_error_rad": float(errors[1e-3].max()),
        "free_ratio": ratio,
        "free_energy_drift": drift,
    }
    report.row(
        "simulation through singular poses",
        "the motion continues where A loses rank",
        f"{passed} branch poses passed in {duration:g} s, |q₂ + 2q₁| at most {small(off)}; "
        f"{small(float(errors[1e-3].max()))} rad from the one-DOF solution, {ratio:.0f} times less than "
        f"with 2 ms; energy {small(drift)} relative",
        "holds",
        off < 1e-9 and passed >= 2 and errors[1e-3].max() < 2e-6 and 12.0 < ratio < 34.0 and drift < 1e-6,
        "the lost row is replaced by its next derivative: with P alone round-off would choose the branch",
    )
    sheet = Sheet(2, 2, height=2.3)
    turn = sheet.panel(sheet.grid[0, 0], "unforced motion, from 30° at 6 rad/s", "time / s", "crank q₁ / °")
    turn.plot(
        run.time,
        np.rad2deg(_one_dof(phase, speed, run.time)),
        color="#c9d1d9",
        linewidth=4.0,
        label="one-DOF solution",
    )
    lines(turn, run.time, np.rad2deg(run.q[:, :1]), ("two coordinates, one constraint",))
    legend(turn)
    sigma = sheet.panel(sheet.grid[1, 0], "singular value of A: the branch poses", "time / s", "σ / m/rad")
    lines(sigma, run.time, run.sigma[:, None], ("σ",))
    force = sheet.panel(sheet.grid[0, 1], "constraint force", "time / s", "force on the tip / N")
    lines(force, run.time, run.force[:, None], ("guide",))
    error = sheet.panel(
        sheet.grid[1, 1], "distance from the one-DOF solution", "time / s", "error / rad", yscale="log"
    )
    for dt, hue in ((2e-3, 1), (1e-3, 0)):
        lines(
            error,
            runs[dt].time[1:],
            errors[dt][1:, None] + 1e-17,
            (f"step {1e3 * dt:g} ms",),
            most=400,
            color=("#0b6e99", "#d9730d")[hue],
            linewidth=1.0,
        )
    error.set_ylim(1e-12, 1e-4)
    legend(error)
    for panel in (turn, force):
        _mark(panel, run)
    sheet.save(
        out,
        report,
        "aghili2005_free.png",
        "Slider-crank with equal links turning freely through its branch poses (dotted): angle, constraint "
        "force, error.",
    )


def _mark(panel: Any, run: Free) -> None:
    """A line where the crank passes an odd multiple of π/2."""
    turns = np.floor((run.q[:, 0] + 0.5 * np.pi) / np.pi)
    for k in np.flatnonzero(np.diff(turns)):
        panel.axvline(run.time[k], color=QUIET, linewidth=0.8, linestyle=":", zorder=0.5)


def _wanted(t: float) -> tuple[float, float, float]:
    """The crank's angle, rate and acceleration: one turn and a half from 30°, rest to rest."""
    s, way = min(t / TURN_S, 1.0), 3.0 * np.pi
    value = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
    rate = 30.0 * s * s * (1.0 - s) ** 2 / TURN_S
    return FIRST + way * value, way * rate, way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / TURN_S**2


def _law(w: Workspace, t: float) -> Floats:
    """f = P (h + M u_p), the reference acceleration u_p on the branch."""
    projected(*w.arguments)
    p = projector(w.A, int(w.ranking[RANK] - w.ranking[REPLACED]))
    angle, rate, push = _wanted(t)
    u = push + 2.0 * BANDWIDTH * (rate - w.v[0]) + BANDWIDTH**2 * (angle - w.q[0])
    return np.asarray(p @ (w.h + w.M @ (TANGENT * u)))


def tracking(report: Report, out: Path, crank: Mechanism, duration: float) -> None:
    """Motion led by projected inverse dynamics, drawn."""
    dt = 1e-3
    w = begin(crank, *on_branch(FIRST - ERROR, 0.0))
    count = round(duration / dt)
    time = np.arange(count + 1, dtype=np.float64) * dt
    q, effort, force = np.empty((count + 1, 2)), np.empty((count + 1, 2)), np.empty(count + 1)
    wanted, single = np.empty(count + 1), np.empty(count + 1)
    for k in range(count + 1):
        w.effort[:] = _law(w, time[k])
        projected(*w.arguments)
        q[k], effort[k], force[k], wanted[k] = w.q, w.effort, w.multipliers[0], _wanted(time[k])[0]
        single[k] = TANGENT @ effort[k]
        under_law(w, lambda t, at: _law(at, t), float(time[k]), dt)
    exact = ERROR * (1.0 + BANDWIDTH * time) * np.exp(-BANDWIDTH * time)
    off = float(np.abs(wanted - q[:, 0] - exact).max())
    run = Free(time, q, q, force, force)
    passed = int(np.abs(np.diff(np.floor((q[:, 0] + 0.5 * np.pi) / np.pi))).sum())
    regular, lost = _passive(np.deg2rad(40.0)), _passive(0.5 * np.pi)
    away = np.abs(np.cos(q[:, 0])) > 1e-3
    least = float(np.abs(effort[away] @ np.array([2.0, 1.0])).max())
    report.figures |= {
        "tracking_off": off,
        "tracking_passages": passed,
        "passive_regular": regular,
        "passive_at_pose": lost,
        "effort_in_constraint": least,
        "force_peak_N": float(np.abs(force).max()),
    }
    report.row(
        "tracking error",
        "ë + G_D ė + G_P e = 0, also across singular poses",
        f"{small(off)} rad from (1 + ωt) e₀ exp(-ωt), ω = {BANDWIDTH:g}/s, e₀ = {ERROR:g} rad, over {passed} "
        f"branch poses; constraint force at most {np.abs(force).max():.0f} N",
        "holds",
        off < 1e-7 and passed >= (0 if duration < 1.0 else 3),
        "of the ideal model, in continuous time",
    )
    report.row(
        "motor torques",
        "both joints driven, the least |f|",
        f"no part of f in the range of A' ({small(least)} N m); peak {np.abs(effort).max():.1f} N m, where "
        f"one motor at the crank needs {np.abs(single).max():.1f}",
        "holds",
        least < 1e-6,
    )
    report.row(
        "passive knee, (64)",
        "f = (1 + H) f_par drives the crank alone",
        f"torque at the knee {small(regular)} of |f_par| at 40°; at 90° {lost:.0%} remains",
        "holds",
        regular < 1e-12 and lost > 0.1,
        "at a branch pose P = 1 and the condition of (64) fails: only free acceleration is possible there",
    )
    sheet = Sheet(2, 2, height=2.3)
    turn = sheet.panel(sheet.grid[0, 0], "projected inverse dynamics", "time / s", "crank q₁ / °")
    lines(turn, time, np.rad2deg(np.column_stack([wanted, q[:, 0]])), ("wanted", "crank"))
    legend(turn)
    error = sheet.panel(sheet.grid[1, 0], "tracking error", "time / s", "error / rad")
    error.plot(time, exact, color="#c9d1d9", linewidth=4.0, label="closed form")
    lines(error, time, (wanted - q[:, 0])[:, None], ("error",))
    legend(error)
    motor = sheet.panel(sheet.grid[0, 1], "motor torques, least norm", "time / s", "torque / N m")
    lines(motor, time, effort, ("crank", "knee"))
    legend(motor)
    guide = sheet.panel(sheet.grid[1, 1], "constraint force", "time / s", "force on the tip / N")
    lines(guide, time, force[:, None], ("guide",))
    for panel in (turn, motor, guide):
        _mark(panel, run)
    sheet.save(
        out,
        report,
        "aghili2005_control.png",
        "Slider-crank guided one turn and a half through three branch poses (dotted) by projected inverse "
        "dynamics, beginning 0.1 rad off.",
    )


def _passive(angle: float) -> float:
    """Torque left at the knee by f = (1 + H) f_par, relative to f_par, for the acceleration Λ."""
    crank = load("slider_crank").mechanism
    q, v = on_branch(angle, 1.0)
    w = begin(crank, q, v)
    projected(*w.arguments)
    p = projector(w.A, int(w.ranking[RANK] - w.ranking[REPLACED]))
    one, driven = np.eye(2), np.diag([1.0, 0.0])
    f_par = p @ (w.h + w.M @ TANGENT)
    s = (one - driven) @ (one - p)
    inverse = pseudo_inverse(s, int(np.linalg.matrix_rank(s, tol=1e-9)))
    f = f_par - (one - p) @ inverse @ (one - driven) @ f_par
    return float(np.linalg.norm((one - driven) @ f) / np.linalg.norm(f_par))
