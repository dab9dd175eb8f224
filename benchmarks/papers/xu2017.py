"""Xu & Liu 2017: a SCARA arm under the explicit equation of Udwadia and Kalaba, its tool on a helix."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.papers.exponentials import ExponentialChain
from benchmarks.papers.figures import ACCENT, HUES, INK, Sheet, legend, lines
from benchmarks.papers.report import Report, small
from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody import Mechanism, Workspace, functions
from linkwork.multibody.constraints import CoordinateConstraint
from linkwork.multibody.dynamics.other_formulations import UDWADIA_KALABA, constrained_forward_dynamics
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.multibody.steps.integrate import rk4

TASK = ("x", "y", "z", "angle")
OMEGA, RADIUS, CENTRE_Y, CLIMB = 0.4 * np.pi, 0.05, 0.35, 0.02
L1, L2 = 0.2, 0.25
START = np.array([np.deg2rad(30.0), np.deg2rad(-55.0), np.deg2rad(24.0), 0.0])
PRINTED_START = np.abs(START)
RATES = np.array([-0.157, 1e-4, 0.157, 0.0195])
ALPHA, BETA = 0.5, 200.0


def helix(t: float) -> Floats:
    """Value and five time derivatives (columns) of x, y, z (m) and angle (rad), 4 × 6."""
    phases = OMEGA * t + 0.5 * np.pi * np.arange(6)
    powers = RADIUS * OMEGA ** np.arange(6)
    result = np.zeros((4, 6))
    result[0], result[1] = powers * np.sin(phases), powers * np.cos(phases)
    result[1, 0] += CENTRE_Y
    result[2, :2] = CLIMB * t, CLIMB
    return result


def on_helix(mechanism: Mechanism, t: float) -> tuple[Floats, Floats, Floats]:
    """q by inverse kinematics, and the v and v̇ that follow the helix at t."""
    target = helix(t)
    x, y, z, angle = target[:, 0]
    cosine = (x * x + y * y - L1 * L1 - L2 * L2) / (2.0 * L1 * L2)
    elbow = -np.arccos(cosine)
    shoulder = np.arctan2(-x, y) - np.arctan2(L2 * np.sin(elbow), L1 + L2 * np.cos(elbow))
    q = np.array([shoulder, elbow, angle - shoulder - elbow, z])
    tasks = [mechanism.coordinate_index(name) for name in TASK]
    jacobian = functions.coordinate_jacobian(mechanism, q)[tasks]
    v: Floats = np.linalg.solve(jacobian, target[:, 1]).astype(np.float64)
    rate = functions.coordinate_rate(mechanism, q, v)[tasks]
    return q, v, np.linalg.solve(jacobian, target[:, 2] - rate).astype(np.float64)


class MethodRun(NamedTuple):
    """Time (s), q, constraint torques Fc and Φ = task - helix, a row for each step."""

    time: Floats
    q: Floats
    torque: Floats
    error: Floats


def led(
    mechanism: Mechanism, q: Floats, v: Floats, duration: float, dt: float, alpha: float, beta: float
) -> MethodRun:
    """The arm without motors, its tool under the four moving constraints, by the explicit equation."""
    w = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    w.baumgarte[:] = alpha, beta
    w.choice[:2] = UDWADIA_KALABA, 0.0
    count = round(duration / dt)
    run = MethodRun(
        np.arange(count + 1, dtype=np.float64) * dt, *(np.empty((count + 1, 4)) for _ in range(3))
    )
    for k in range(count + 1):
        _aim(w, k * dt)
        constrained_forward_dynamics(*w.arguments)
        run.q[k], run.torque[k], run.error[k] = w.q, w.constraint_force, w.phi
        rk4(*w.arguments, dt)
    return run


def _aim(w: Workspace, t: float) -> None:
    w.clock[:] = t
    w.target[:] = helix(t)


def guided(mechanism: Mechanism) -> Mechanism:
    """The arm with its four task coordinates as moving constraints."""
    demands = [CoordinateConstraint(f"{name} of the helix", of=name) for name in TASK]
    return mechanism.changed(constraints=demands)


def closed_form(q: Floats, v: Floats) -> tuple[Floats, Floats]:
    """M and h as the paper prints them, with its data."""
    m, inertia = (20.0, 15.0, 15.0, 0.5), (0.27, 0.31, 0.02, 1e-4)
    r1, r2, c2, s2 = 0.1, 0.125, np.cos(q[1]), np.sin(q[1])
    al = inertia[0] + r1**2 * m[0] + L1**2 * sum(m[1:])
    be = sum(inertia[1:]) + L2**2 * (m[2] + m[3]) + m[1] * r2**2
    ga, de = L1 * L2 * (m[2] + m[3]) + L1 * m[1] * r2, inertia[2] + inertia[3]
    mass = np.array(
        [
            [al + be + 2 * ga * c2, be + ga * c2, de, 0],
            [be + ga * c2, be, de, 0],
            [de, de, de, 0],
            [0, 0, 0, m[3]],
        ]
    )
    h = np.array([-ga * s2 * v[1] * (2 * v[0] + v[1]), ga * s2 * v[0] ** 2, 0.0, m[3] * 9.81])
    return mass, h


def _oscillation(t: Floats, value: Floats, rate: Floats) -> Floats:
    """The exact Φ(t) with Φ¨ + α Φ˙ + β Φ = 0, a column for each row."""
    decay, turn = 0.5 * ALPHA, np.sqrt(BETA - 0.25 * ALPHA**2)
    cosine, sine = np.cos(turn * t)[:, None], np.sin(turn * t)[:, None]
    return np.asarray(np.exp(-decay * t)[:, None] * (value * cosine + (rate + decay * value) / turn * sine))


def reproduce(out: Path, brief: bool = False) -> Report:
    """All figures of the paper; `brief`: 3 s instead of 20 s."""
    duration, dt = (3.0, 2e-3) if brief else (20.0, 1e-3)
    report = Report(
        "xu2017",
        "Xu & Liu 2017: a SCARA arm on a helix",
        "Xu, Liu, Dynamic modeling of SCARA robot based on Udwadia–Kalaba theory, Advances in Mechanical "
        "Engineering 9(10), 2017.",
        "Machine: `scara`, no motor torques. Task: x = 0.05 sin 0.4πt, y = 0.35 + 0.05 cos 0.4πt, z = 0.02 "
        f"t, yaw 0, as four moving constraints. Start: (30, -55, 24)°, lift 0, rates {RATES.tolist()}. "
        f"{duration:g} s by RK4, step {dt:g} s.",
    )
    scara = load("scara").mechanism
    arm = guided(scara)
    _model(report, scara)
    _explicit_equation(report, arm)
    free = led(arm, START, RATES, duration, dt, 0.0, 0.0)
    held = led(arm, START, RATES, duration, dt, ALPHA, BETA)
    exact = led(arm, *on_helix(scara, 0.0)[:2], duration, dt, 0.0, 0.0)
    _errors(report, scara, free, held, exact)
    _torques(report, scara, exact)
    _draw_motion(report, out, held)
    _draw_errors(report, out, free, held)
    _draw_torques(report, out, held, exact)
    return report


def _model(report: Report, scara: Mechanism) -> None:
    rng = np.random.default_rng(1)
    chain, aside = ExponentialChain.of(scara), np.array([0.0, 1e-5, 0.0, 0.0])
    worst = dict.fromkeys(("closed", "exponentials", "printed", "derivative", "printed_derivative"), 0.0)
    for _ in range(20):
        q, v = rng.uniform(-2.0, 2.0, 4), rng.uniform(-3.0, 3.0, 4)
        mass, h = functions.mass_matrix(scara, q), functions.bias(scara, q, v)
        printed_mass, printed_h = closed_form(q, v)
        slope = (functions.mass_matrix(scara, q + aside) - functions.mass_matrix(scara, q - aside)) / 2e-5
        now = {
            "closed": max(
                np.abs(mass - printed_mass).max() / np.abs(mass).max(),
                np.abs(h - printed_h).max() / np.abs(h).max(),
            ),
            "exponentials": np.abs(chain.mass_matrix(q) - mass).max() / np.abs(mass).max(),
            "printed": np.abs(chain.mass_matrix(q, as_printed=True) - mass).max() / np.abs(mass).max(),
            "derivative": np.abs(chain.mass_derivative(q, 1) - slope).max() / np.abs(mass).max(),
            "printed_derivative": np.abs(chain.mass_derivative(q, 1, as_printed=True) - slope).max()
            / np.abs(mass).max(),
        }
        worst = {name: max(worst[name], float(value)) for name, value in now.items()}
    report.figures |= {f"model_{name}": value for name, value in worst.items()}
    report.row(
        "M, C, gravity in closed form",
        "M(q), C(q, q˙), (0, 0, 0, m₄g)",
        f"{small(worst['closed'])} relative, from the recursion of the library, 20 states",
        "holds",
        worst["closed"] < 1e-13,
    )
    report.row(
        "(26)",
        "M'ₗ with the pose gₗ(q)",
        f"M off by {worst['printed']:.0%}; with gₗ(0) by {small(worst['exponentials'])}",
        "corrected",
        worst["printed"] > 0.01 and worst["exponentials"] < 1e-13,
        "M'ₗ is constant: its pose is that at q = 0",
    )
    report.row(
        "(30)",
        "first bracket [Aₗᵢξᵢ, ξₖ]",
        f"∂M/∂q₂ off by {worst['printed_derivative']:.0%} of M; with Aₖᵢ by {small(worst['derivative'])} "
        "(differences)",
        "corrected",
        worst["printed_derivative"] > 0.01 and worst["derivative"] < 1e-8,
        "ξᵢ must be expressed at joint k, not at link l",
    )


def _explicit_equation(report: Report, arm: Mechanism) -> None:
    w = arm.workspace()
    w.q[:], w.v[:] = START, RATES
    w.choice[0] = UDWADIA_KALABA
    _aim(w, 0.0)
    constrained_forward_dynamics(*w.arguments)
    values, vectors = np.linalg.eigh(w.M)
    root, inverse = (vectors @ np.diag(values**e) @ vectors.T for e in (0.5, -0.5))
    free = np.linalg.solve(w.M, -w.h)
    pull = np.linalg.pinv(w.A @ inverse) @ (w.b - w.A @ free)
    vdot, n = free + inverse @ pull, arm.nv
    saddle = np.linalg.solve(np.block([[w.M, -w.A.T], [w.A, np.zeros((n, n))]]), np.concatenate([-w.h, w.b]))[
        :n
    ]
    size = float(np.abs(w.constraint_force).max())
    printed = float(np.abs(w.M @ vdot + w.h - inverse @ pull).max()) / size
    corrected = float(np.abs(w.M @ vdot + w.h - root @ pull).max()) / size
    gap = max(float(np.abs(vdot - saddle).max()), float(np.abs(vdot - w.vdot).max())) / float(
        np.abs(vdot).max()
    )
    report.figures |= {"explicit_gap": gap, "force_printed": printed, "force_corrected": corrected}
    report.row(
        "(9)",
        "v̇ = a + M^(-1/2) B⁺ (b - A a)",
        f"{small(gap)} relative, from the saddle-point system and from our kernel",
        "holds",
        gap < 1e-11,
    )
    report.row(
        "(8)",
        "Fc = M^(-1/2) B⁺ (b - A a)",
        f"M v̇ + h = Fc fails by {printed:.0%} of Fc; with M^(+1/2) by {small(corrected)}",
        "corrected",
        printed > 0.1 and corrected < 1e-12,
        "the sign of the exponent",
    )


def _errors(report: Report, scara: Mechanism, free: MethodRun, held: MethodRun, exact: MethodRun) -> None:
    def gap(q: Floats) -> Floats:
        return (
            functions.coordinate_values(scara, q)[[scara.coordinate_index(name) for name in TASK]]
            - helix(0.0)[:, 0]
        )

    printed, corrected = gap(PRINTED_START), gap(START)
    away, near = float(np.linalg.norm(printed[:3])), float(np.linalg.norm(corrected[:3]))
    report.row(
        "initial angles",
        "(30, 55, 24)°",
        f"the tool begins {away * 1e3:.0f} mm and {np.rad2deg(printed[3]):.0f}° off the helix; at (30, -55, "
        f"24)° {near * 1e3:.1f} mm and {np.rad2deg(corrected[3]):.1f}°",
        "corrected",
        away > 0.1 and near < 0.01,
        "the elbow's sign",
    )
    tasks = [scara.coordinate_index(name) for name in TASK]
    rate = functions.coordinate_jacobian(scara, START)[tasks] @ RATES - helix(0.0)[:, 1]
    straight = corrected + free.time[:, None] * rate
    off = float(np.abs(free.error - straight).max())
    height = float(free.error[-1, 2])
    report.row(
        "errors before stabilisation",
        "they grow: 0.01 m in z after 20 s (rate 0.0195 for 0.02 m/s)",
        f"z: {height * 1e3:.3f} mm at {free.time[-1]:g} s; all four rows within {small(off)} of Φ(0) + Φ˙(0) "
        "t",
        "holds",
        abs(height + 5e-4 * free.time[-1]) < 1e-8 and off < 1e-7,
    )
    end = np.linspace(0.0, 20.0, 2001)[:, None] * rate + corrected
    most_x, most_y = np.abs(end[:, :2]).max(axis=0)
    report.row(
        "largest errors before stabilisation",
        "8e-4 m in x, 7e-3 m in y",
        f"{most_x:.3g} m in x (at the start; {abs(end[-1, 0]):.3g} m at 20 s), "
        f"{most_y:.4g} m in y at 20 s, "
        "from Φ(0) + Φ˙(0) t",
        "open",
        abs(most_x - 5.65e-3) < 1e-5 and abs(most_y - 1.776e-2) < 1e-5,
        "the printed angles and rates alone determine these errors",
    )
    damped = float(np.abs(held.error - _oscillation(held.time, corrected, rate)).max())
    after = np.abs(held.error[(held.time >= 2.5) & (held.time <= 3.0), :3]).max()
    report.row(
        "errors after stabilisation",
        f"α = {ALPHA}, β = {BETA:.0f} bring them to zero",
        f"each row is the damped oscillator to {small(damped)}: still {after * 1e3:.1f} mm about 2.5 s, "
        f"{np.abs(held.error[held.time > held.time[-1] - 0.45, :3]).max() * 1e3:.2g} mm at {held.time[-1]:g} "
        "s",
        "holds",
        damped < 1e-6,
        f"slowly: damping ratio {0.5 * ALPHA / np.sqrt(BETA):.3f}, envelope exp(-{0.5 * ALPHA} t)",
    )
    rest = float(np.abs(exact.error).max())
    report.row(
        "consistent start",
        "not shown: q and v by inverse kinematics",
        f"without stabilisation no error above {small(rest)} in {exact.time[-1]:g} s",
        "ours",
        rest < 1e-9,
    )
    report.figures |= {
        "start_printed_m": away,
        "start_corrected_m": near,
        "free_z_end_m": height,
        "free_off_line": off,
        "free_x_most_m": float(most_x),
        "free_y_most_m": float(most_y),
        "held_off_oscillator": damped,
        "held_after_2_5_s_m": float(after),
        "exact_error": rest,
    }


def _torques(report: Report, scara: Mechanism, exact: MethodRun) -> None:
    worst = 0.0
    for k in range(0, len(exact.time), 50):
        wanted = functions.inverse_dynamics(scara, *on_helix(scara, float(exact.time[k])))
        worst = max(worst, float(np.abs(exact.torque[k] - wanted).max()))
    peak = np.abs(exact.torque).max(axis=0)
    other = acceleration(guided(scara), START, RATES, formulation="lagrange").residual_forces
    report.figures |= {"torque_off_inverse_dynamics": worst, "lagrange_residual": other}
    report.row(
        "constraint torques",
        "torques that keep the arm on the helix",
        f"{small(worst)} N m from inverse dynamics along the helix; peaks {peak[0]:.2f} and {peak[1]:.2f} N "
        f"m, none at the wrist, {peak[3]:.3f} N (m₄g) at the lift",
        "holds",
        worst < 1e-6 and peak[2] < 1e-9,
    )


def _draw_motion(report: Report, out: Path, held: MethodRun) -> None:
    sheet = Sheet(2, 2, height=2.3, width_ratios=(1.25, 1.0))
    angles = sheet.panel(sheet.grid[0, 0], "joint responses", "time / s", "angle / °")
    lines(angles, held.time, np.rad2deg(held.q[:, :3]), ("shoulder q₁", "elbow q₂", "wrist q₃"))
    legend(angles, 3, loc="lower right", bbox_to_anchor=(1.0, 0.98))
    lift = sheet.panel(sheet.grid[1, 0], "", "time / s", "lift q₄ / m", sharex=angles)
    lines(lift, held.time, held.q[:, 3:], ("lift",), color=HUES[3])
    space = sheet.panel(sheet.grid[:, 1], "trajectory of the tool", "x / m", "y / m", projection="3d")
    wanted = np.array([helix(float(t))[:3, 0] for t in held.time])
    actual = wanted + held.error[:, :3]
    space.plot(*actual[::10].T, color=HUES[0], linewidth=1.0, label="tool")
    space.plot(*wanted[::10].T, color=ACCENT, linewidth=1.2, linestyle=(0, (4, 2)), label="helix")
    space.scatter(*actual[0], color=INK, s=18, label="start")
    space.set_zlabel("z / m", color=INK, fontsize=9)
    space.view_init(elev=22, azim=-55)
    space.set_box_aspect((1, 1, 1.2), zoom=0.88)
    space.locator_params(nbins=4)
    legend(space, 3, loc="upper center", bbox_to_anchor=(0.5, 0.02))
    sheet.save(
        out,
        report,
        "xu2017_motion.png",
        "Joint responses and trajectory of the SCARA arm, stabilised with α = 0.5, β = 200.",
    )


def _draw_errors(report: Report, out: Path, free: MethodRun, held: MethodRun) -> None:
    sheet = Sheet(2, 2, height=2.3)
    for row, run, title in (
        (0, free, "before stabilisation"),
        (1, held, "after stabilisation, α = 0.5, β = 200"),
    ):
        place = sheet.panel(sheet.grid[row, 0], f"errors of position {title}", "time / s", "error / mm")
        lines(place, run.time, 1e3 * run.error[:, :3], TASK[:3], linewidth=1.1)
        turn = sheet.panel(sheet.grid[row, 1], "error of the angle", "time / s", "error / mrad")
        lines(turn, run.time, 1e3 * run.error[:, 3:], TASK[3:], color=HUES[3], linewidth=1.1)
        legend(place, 3, loc="upper right" if row else "lower left")
    sheet.save(
        out,
        report,
        "xu2017_errors.png",
        "Errors of the task: they grow linearly without stabilisation, and are damped oscillations with it.",
    )


def _draw_torques(report: Report, out: Path, held: MethodRun, exact: MethodRun) -> None:
    sheet = Sheet(1, 2, height=2.9)
    for column, run, title in (
        (0, held, "start beside the helix, stabilised"),
        (1, exact, "start on the helix"),
    ):
        panel = sheet.panel(
            sheet.grid[0, column], f"constraint torques: {title}", "time / s", "torque / N m, force / N"
        )
        lines(panel, run.time, run.torque, ("shoulder", "elbow", "wrist", "lift (N)"), linewidth=1.0)
        legend(panel, 2, loc="upper right", bbox_to_anchor=(1.0, 0.84 if column else 1.0))
        panel.margins(y=0.15)
    sheet.save(
        out,
        report,
        "xu2017_torques.png",
        "Constraint torques: a start beside the helix, stabilised, oscillates for long; on the helix "
        "they are smooth.",
    )
