"""Aghili 2005: projection-matrix dynamics and control, a slider-crank with equal links through its branch poses."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.papers.figures import GRID, QUIET, Sheet, legend, lines
from benchmarks.papers.motion import begin, under_law
from benchmarks.papers.report import Report, small
from machine import load
from multibody import Mechanism, Workspace, functions
from multibody.acceleration import Formulation, acceleration
from multibody.assembly import assemble
from multibody.constrained import projected
from multibody.constrained_steps import constrained_rk4
from multibody.layout import RANK, REPLACED
from multibody.model import Array
from multibody.projector import assembled, projector, pseudo_inverse

ABOUT = "projected dynamics and inverse dynamics: a slider-crank through its branch poses"
G = 9.81
TANGENT = np.array([1.0, -2.0])
"""Λ: on the branch the knee turns back twice as fast as the crank turns."""
BANDWIDTH = 10.0
TURN_S, FIRST, ERROR = 2.5, np.deg2rad(30.0), 0.1


def reproduce(out: Path, brief: bool = False) -> Report:
    """All figures of the paper; `brief`: shorter runs."""
    report = Report(
        "aghili2005",
        "Aghili 2005: projection matrices, through branch poses",
        "F. Aghili, Control and simulation of motion of constrained multibody systems based on projection matrix "
        "formulation, after IEEE Transactions on Robotics 21(5), 2005.",
        "Machine: `slider_crank`, two links of 1 m with 1 kg at their ends (the paper keeps symbols), gravity 9.81 m/s². On its "
        "branch q₂ = 2π - 2q₁ it meets the other branch at odd multiples of π/2, where A vanishes. RK4, 1 ms.",
    )
    crank = load("slider_crank").mechanism
    _model(report, crank)
    _assemblies(report)
    _control_laws(report)
    _free_motion(report, out, crank, 1.5 if brief else 4.0)
    _tracking(report, out, crank, 0.8 if brief else 3.0)
    return report


def on_branch(angle: float, speed: float) -> tuple[Array, Array]:
    """q and v of crank and knee."""
    return np.array([angle, -2.0 * angle]), speed * TANGENT


def _model(report: Report, crank: Mechanism) -> None:
    rng = np.random.default_rng(3)
    worst = dict.fromkeys(("model", "projector", "scaled", "bound"), 0.0)
    for _ in range(20):
        q, v = rng.uniform(-3.0, 3.0, 2), rng.uniform(-3.0, 3.0, 2)
        c1, c2, s2, c12 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1]), np.cos(q[0] + q[1])
        mass = np.array([[3.0 + 2.0 * c2, 1.0 + c2], [1.0 + c2, 1.0]])
        h = np.array([-s2 * (v[1] ** 2 + 2 * v[0] * v[1]) + G * (c12 + 2 * c1), s2 * v[0] ** 2 + G * c12])
        off = max(np.abs(functions.mass_matrix(crank, q) - mass).max(), np.abs(functions.bias(crank, q, v) - h).max())
        angle = float(q[0])
        on, _ = on_branch(angle, 0.0)
        p = projector(np.array([[np.cos(angle) * 2.0, np.cos(angle)]]), 1)
        c2 = np.cos(on[1])
        scaled = p @ functions.mass_matrix(crank, on) + np.eye(2) - p
        now = {
            "model": off,
            "projector": np.abs(p - np.outer(TANGENT, TANGENT) / 5.0).max(),
            "scaled": np.abs(scaled - np.array([[1.0, (1.0 + c2) / 5.0], [0.0, (3.0 - 2.0 * c2) / 5.0]])).max(),
        }
        worst = worst | {name: max(worst[name], float(value)) for name, value in now.items()}
    report.figures |= {"model_off": worst["model"], "projector_off": worst["projector"], "scaled_off": worst["scaled"]}
    report.row("M and h", "in closed form, relative angles", f"{small(worst['model'])} from the recursion, 20 states", "holds", worst["model"] < 1e-12)
    w = begin(crank, *on_branch(0.5 * np.pi, 1.0))
    projected(*w.arguments)
    rank = int(w.ranking[RANK] - w.ranking[REPLACED])
    report.figures["rank_at_branch_pose"] = rank
    report.row(
        "(70), (71)", "P = 1 away from the branch poses, [[1, -2], [-2, 4]]/5 at them",
        f"the other way about: [[1, -2], [-2, 4]]/5 to {small(worst['projector'])} where A ≠ 0, and rank {rank} of A, P = 1, at π/2",
        "mended", worst["projector"] < 1e-13 and rank == 0, "the two cases are exchanged",
    )  # fmt: skip
    report.row(
        "scaled assembly", "K = m l² [[1, (1 + c₂)/5], [0, (3 - 2c₂)/5]] for γ = m l², invertible on the branch",
        f"{small(worst['scaled'])} from P M + γ(1 - P); det K ≥ 1/5", "holds", worst["scaled"] < 1e-13,
    )  # fmt: skip


def _assemblies(report: Report) -> None:
    rng, worst, bound = np.random.default_rng(4), 0.0, 0.0
    ways: tuple[Formulation, ...] = ("plain", "symmetric", "scaled", "udwadia_kalaba", "projected")
    for name in ("slider_crank", "four_bar"):
        mechanism = load(name).mechanism
        state = assemble(mechanism, load(name).initial_q, rng.normal(size=mechanism.nv))
        q, v = state.q, state.v
        effort = rng.normal(size=mechanism.nv)
        w = mechanism.workspace()
        w.q[:], w.v[:], w.effort[:] = q, v, effort
        projected(*w.arguments)
        rows = [k for k in range(len(w.A)) if np.abs(w.A[k]).max() > 1e-9]
        n, m = mechanism.nv, len(rows)
        a, b, r = w.A[rows], w.b[rows], effort - w.h
        saddle = np.linalg.solve(np.block([[w.M, -a.T], [a, np.zeros((m, m))]]), np.concatenate([r, b]))[:n]
        for way in ways:
            found = acceleration(mechanism, q, v, effort, way)
            worst = max(worst, float(np.abs(found.vdot - saddle).max() / np.abs(saddle).max()))
        twice = np.vstack([a, -3.0 * a, a[:1] + 0.5 * a[-1:]])
        right = np.concatenate([b, -3.0 * b, b[:1] + 0.5 * b[-1:]])
        for assembly in ("plain", "symmetric", "scaled"):
            found_twice = assembled(w.M, r, twice, right, m, assembly).acceleration
            worst = max(worst, float(np.abs(found_twice - saddle).max() / np.abs(saddle).max()))
        bound = max(bound, float(np.linalg.svd(a.T @ a, compute_uv=False)[-1] / np.linalg.svd(a @ a.T, compute_uv=False)[-1]))
    report.figures |= {"assemblies_gap": worst, "gram_ratio": bound}
    report.row(
        "three assemblies", "plain, symmetric and scaled give one acceleration, redundant rows or not",
        f"{small(worst)} relative, from the saddle-point system, on slider-crank and four-bar, rows repeated, scaled and combined", "holds",
        worst < 1e-11,
    )  # fmt: skip
    report.row(
        "bound on the multipliers", "σ_min of A'A", f"σ_min(A'A)/σ_min(AA') = {small(bound)}: it is 0 whenever there are freedoms", "mended",
        bound < 1e-12, "the bound holds with AA'",
    )  # fmt: skip


def _saddle(mass: Array, h: Array, a: Array, b: Array, f: Array) -> tuple[Array, Array]:
    """v̇ and Fc of independent rows."""
    n, m = len(h), len(a)
    both = np.linalg.solve(np.block([[mass, -a.T], [a, np.zeros((m, m))]]), np.concatenate([f - h, b]))
    return both[:n], a.T @ both[n:]


def _control_laws(report: Report) -> None:
    rng, n, m = np.random.default_rng(5), 4, 2
    worst = dict.fromkeys(("motion", "longer", "hybrid_motion", "hybrid_force", "printed_force", "weighted"), 0.0)
    least = dict.fromkeys(("longer", "printed_force", "printed_weight", "circle"), np.inf)
    for _ in range(20):
        root, a, b, h = rng.normal(size=(n, n)), rng.normal(size=(m, n)), rng.normal(size=m), rng.normal(size=n)
        mass = root @ root.T + np.eye(n)
        p, one, c = projector(a, m), np.eye(n), pseudo_inverse(a, m) @ b
        u_p = c + p @ rng.normal(size=n)
        f = p @ (h + mass @ u_p)
        u_f = a.T @ rng.normal(size=m)
        mu = (one - p) @ mass @ np.linalg.inv(mass + p @ mass - mass @ p)
        motion = h + (one + mu) @ p @ mass @ u_p - u_f
        weight = np.diag(rng.uniform(0.2, 5.0, n))
        stretched = np.linalg.inv(np.sqrt(weight))
        good, bad = (np.sqrt(weight) @ projector(a @ e, m) @ stretched @ (h + mass @ u_p) for e in (stretched, np.sqrt(weight)))
        got, force = _saddle(mass, h, a, b, motion + mu @ mass @ c)
        now = {
            "motion": _off(_saddle(mass, h, a, b, f)[0], u_p),
            "hybrid_motion": _off(got, u_p),
            "hybrid_force": _off(force, u_f),
            "weighted": _off(_saddle(mass, h, a, b, good)[0], u_p),
        }
        far = {
            "longer": float(np.linalg.norm(f + u_f) - np.linalg.norm(f)),
            "printed_force": _off(_saddle(mass, h, a, b, motion + mu @ c)[1], u_f),
            "printed_weight": _off(_saddle(mass, h, a, b, bad)[0], u_p),
            "circle": _circle(rng)[1],
        }
        now["circle"] = _circle(rng)[0]
        worst = worst | {name: max(worst.get(name, 0.0), value) for name, value in now.items()}
        least = {name: min(least[name], value) for name, value in far.items()}
    report.figures |= {f"law_{name}": worst[name] for name in ("motion", "hybrid_motion", "hybrid_force", "weighted", "circle")}
    report.figures |= {f"printed_{name}": value for name, value in least.items()}
    report.row(
        "projected inverse dynamics", "f = P(h + M u_p) gives v̇ = u_p, with the least |f|",
        f"v̇ to {small(worst['motion'])} relative, on 20 random systems; any constraint force added makes |f| longer", "holds",
        worst["motion"] < 1e-11 and least["longer"] > 0.0,
    )  # fmt: skip
    report.row(
        "(51), (54)", "velocity term μ C q˙ of the force law",
        f"constraint force off by {least['printed_force']:.0%} at least; with μ M c force and motion to "
        f"{small(max(worst['hybrid_force'], worst['hybrid_motion']))}", "mended",
        least["printed_force"] > 1e-3 and worst["hybrid_force"] < 1e-10 and worst["hybrid_motion"] < 1e-10,
        "the M is dropped; invisible where C q˙ = 0, as on the slider-crank",
    )  # fmt: skip
    report.row(
        "metric, section 2.1.1", "A_W = A W^(1/2)",
        f"v̇ off by {least['printed_weight']:.0%} at least; with A W^(-1/2) to {small(worst['weighted'])}", "mended",
        least["printed_weight"] > 1e-3 and worst["weighted"] < 1e-11, "forces are weighted with W^(-1/2), so rows are too",
    )  # fmt: skip
    report.row(
        "particle on a circle", "m v̇ = P f",
        f"v̇ off by {least['circle']:.0%} at least; with m v̇ = P f + m c, c = -(|v|²/R) e_n, to {small(worst['circle'])}", "mended",
        least["circle"] > 1e-3 and worst["circle"] < 1e-11, "the centripetal term is missing",
    )  # fmt: skip


def _off(found: Array, wanted: Array) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def _circle(rng: np.random.Generator) -> tuple[float, float]:
    """How far m v̇ = P f + m c and m v̇ = P f are from the saddle-point system, relative."""
    mass, radius, angle, speed = rng.uniform(0.5, 3.0, 4)
    normal, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    f, a, b = rng.normal(size=2), radius * normal[None], np.array([-(speed**2)])
    exact = _saddle(mass * np.eye(2), np.zeros(2), a, b, f)[0]
    printed = along * (along @ f) / mass
    return _off(printed - speed**2 / radius * normal, exact), _off(printed, exact)


class Free(NamedTuple):
    """Time, crank and knee, their speeds, force of the guide on the tip (N), smallest singular value of A."""

    time: Array
    q: Array
    v: Array
    force: Array
    sigma: Array


def _free(crank: Mechanism, phase: float, speed: float, duration: float, dt: float) -> Free:
    w = begin(crank, *on_branch(phase, speed))
    count = round(duration / dt)
    run = Free(np.arange(count + 1) * dt, np.empty((count + 1, 2)), np.empty((count + 1, 2)), *np.empty((2, count + 1)))
    for k in range(count + 1):
        projected(*w.arguments)
        run.q[k], run.v[k], run.force[k], run.sigma[k] = w.q, w.v, w.multipliers[0], np.linalg.norm(w.A)
        constrained_rk4(*w.arguments, dt)
    return run


def _one_freedom(phase: float, speed: float, times: Array) -> Array:
    """The crank's angle from (1 + 4 sin² q) q¨ + 4 sin q cos q q˙² + g cos q = 0, to 1e-12."""

    def rates(_: float, y: Array) -> list[float]:
        s, c = np.sin(y[0]), np.cos(y[0])
        return [y[1], -(4.0 * s * c * y[1] ** 2 + G * c) / (1.0 + 4.0 * s * s)]

    found = solve_ivp(rates, (0.0, times[-1]), [phase, speed], "DOP853", times, rtol=1e-13, atol=1e-13)
    return np.asarray(found.y[0])


def _free_motion(report: Report, out: Path, crank: Mechanism, duration: float) -> None:
    phase, speed = FIRST, 6.0
    runs = {dt: _free(crank, phase, speed, duration, dt) for dt in (2e-3, 1e-3)}
    errors = {dt: np.abs(run.q[:, 0] - _one_freedom(phase, speed, run.time)) for dt, run in runs.items()}
    run = runs[1e-3]
    off = float(np.abs(run.q[:, 1] + 2.0 * run.q[:, 0]).max())
    passed = int(np.floor((run.q[-1, 0] + 0.5 * np.pi) / np.pi) - np.floor((phase + 0.5 * np.pi) / np.pi))
    ratio = float(errors[2e-3].max() / errors[1e-3].max())
    energy = [functions.kinetic_energy(crank, q, v) + functions.potential_energy(crank, q) for q, v in zip(run.q[::50], run.v[::50], strict=True)]
    drift = float(np.ptp(energy) / functions.kinetic_energy(crank, run.q[0], run.v[0]))
    report.figures |= {
        "free_off_branch": off, "free_passages": passed, "free_error_rad": float(errors[1e-3].max()), "free_ratio": ratio,
        "free_energy_drift": drift,
    }  # fmt: skip
    report.row(
        "simulation through singular poses", "the motion continues where A loses rank",
        f"{passed} branch poses passed in {duration:g} s, |q₂ + 2q₁| at most {small(off)}; {small(float(errors[1e-3].max()))} rad from the one-freedom "
        f"solution, {ratio:.0f} times less than with 2 ms; energy {small(drift)} relative", "holds",
        off < 1e-9 and passed >= 2 and errors[1e-3].max() < 2e-6 and 12.0 < ratio < 34.0 and drift < 1e-6,
        "the lost row is replaced by its next derivative: with P alone round-off would choose the branch",
    )  # fmt: skip
    sheet = Sheet(2, 2, height=2.3)
    turn = sheet.panel(sheet.grid[0, 0], "unforced motion, from 30° at 6 rad/s", "time / s", "crank q₁ / °")
    turn.plot(run.time, np.rad2deg(_one_freedom(phase, speed, run.time)), color="#c9d1d9", linewidth=4.0, label="one-freedom solution")
    lines(turn, run.time, np.rad2deg(run.q[:, :1]), ("two coordinates, one constraint",))
    legend(turn)
    sigma = sheet.panel(sheet.grid[1, 0], "singular value of A: the branch poses", "time / s", "σ / m/rad")
    lines(sigma, run.time, run.sigma[:, None], ("σ",))
    force = sheet.panel(sheet.grid[0, 1], "constraint force", "time / s", "force on the tip / N")
    lines(force, run.time, run.force[:, None], ("guide",))
    error = sheet.panel(sheet.grid[1, 1], "distance from the one-freedom solution", "time / s", "error / rad", yscale="log")
    for dt, hue in ((2e-3, 1), (1e-3, 0)):
        lines(error, runs[dt].time[1:], errors[dt][1:, None] + 1e-17, (f"step {1e3 * dt:g} ms",), most=400, color=("#0b6e99", "#d9730d")[hue], linewidth=1.0)
    error.set_ylim(1e-12, 1e-4)
    legend(error)
    for panel in (turn, force):
        _mark(panel, run)
    sheet.save(
        out, report, "aghili2005_free.png",
        "Slider-crank with equal links turning freely through its branch poses (dotted): angle, constraint force, error.",
    )  # fmt: skip


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


def _law(w: Workspace, t: float) -> Array:
    """f = P (h + M u_p), the reference acceleration u_p on the branch."""
    projected(*w.arguments)
    p = projector(w.A, int(w.ranking[RANK] - w.ranking[REPLACED]))
    angle, rate, push = _wanted(t)
    u = push + 2.0 * BANDWIDTH * (rate - w.v[0]) + BANDWIDTH**2 * (angle - w.q[0])
    return np.asarray(p @ (w.h + w.M @ (TANGENT * u)))


def _tracking(report: Report, out: Path, crank: Mechanism, duration: float) -> None:
    dt = 1e-3
    w = begin(crank, *on_branch(FIRST - ERROR, 0.0))
    count = round(duration / dt)
    time = np.arange(count + 1) * dt
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
        "tracking_off": off, "tracking_passages": passed, "passive_regular": regular, "passive_at_pose": lost,
        "effort_in_constraint": least, "force_peak_N": float(np.abs(force).max()),
    }  # fmt: skip
    report.row(
        "tracking error", "ë + G_D ė + G_P e = 0, also across singular poses",
        f"{small(off)} rad from (1 + ωt) e₀ exp(-ωt), ω = {BANDWIDTH:g}/s, e₀ = {ERROR:g} rad, over {passed} branch poses; constraint force at most "
        f"{np.abs(force).max():.0f} N", "holds", off < 1e-7 and passed >= (0 if duration < 1.0 else 3),
        "of the ideal model, in continuous time",
    )  # fmt: skip
    report.row(
        "motor torques", "both joints driven, the least |f|", f"no part of f in the range of A' ({small(least)} N m); peak "
        f"{np.abs(effort).max():.1f} N m, where one motor at the crank needs {np.abs(single).max():.1f}", "holds", least < 1e-6,
    )  # fmt: skip
    report.row(
        "passive knee, (64)", "f = (1 + H) f_par drives the crank alone",
        f"torque at the knee {small(regular)} of |f_par| at 40°; at 90° {lost:.0%} remains", "holds", regular < 1e-12 and lost > 0.1,
        "at a branch pose P = 1 and the condition of (64) fails: only free acceleration is possible there",
    )  # fmt: skip
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
        out, report, "aghili2005_control.png",
        "Slider-crank led one turn and a half through three branch poses (dotted) by projected inverse dynamics, "
        "beginning 0.1 rad off.",
    )  # fmt: skip


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
    f = f_par - (one - p) @ np.linalg.pinv(s, rcond=1e-9) @ (one - driven) @ f_par
    return float(np.linalg.norm((one - driven) @ f) / np.linalg.norm(f_par))
