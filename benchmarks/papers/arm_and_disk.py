"""The machines of Kwatny & Blankenship 1995: thin disk, and arm with simple and compound wrist."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.papers.figures import Sheet, legend, lines
from benchmarks.papers.poincare import chain_inertia, coriolis
from benchmarks.papers.report import Report, small
from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody import Body, Joint, Mechanism, Workspace, functions
from linkwork.multibody.steps.integrate import rk4
from linkwork.multibody.tree import quaternions
from linkwork.multibody.tree.joint_map import configuration, twist_map
from linkwork.symbolic import derive

X, Y, Z = np.eye(3, 6)
DISK = np.diag([5.0, 5.0, 10.0])
REACH, RADIUS, GRIPPER = 0.7, 0.35, 0.5


def spherical_gamma(e: Floats) -> Floats:
    """The printed Γ of a spherical joint with columns x, y, z."""
    s1, c1, t2, c2 = np.sin(e[0]), np.cos(e[0]), np.tan(e[1]), np.cos(e[1])
    return np.array([[1.0, s1 * t2, c1 * t2], [0.0, c1, -s1], [0.0, s1 / c2, c1 / c2]])


def _universal_disk() -> Mechanism:
    hinge = Joint("centre", "compound", "world", "disk", columns=np.eye(6)[:3])
    return Mechanism.build([Body("disk", 1.0, inertia_kg_m2=DISK)], [hinge], (0.0, 0.0, -9.81))


def disk_equations(report: Report) -> None:
    """Statements on the thin disk's equations of motion."""
    rng, compound, simple = np.random.default_rng(9), _universal_disk(), load("thin_disk").mechanism
    worst = dict.fromkeys(("euler", "poincare", "sign", "inertia", "printed"), 0.0)
    for _ in range(20):
        e, w = rng.uniform(-1.2, 1.2, 3), rng.uniform(-3.0, 3.0, 3)
        printed = np.array([5 * w[1] * w[2], -5 * w[0] * w[2], 0.0])
        turning = coriolis(spherical_gamma, lambda _: DISK, e, w) @ w
        rest = np.array([0.0, 0.0, 0.0, 1.0])
        s1, c1, s2, c2 = np.sin(e[0]), np.cos(e[0]), np.sin(e[1]), np.cos(e[1])
        m33 = functions.mass_matrix(compound, e)[2, 2]
        whole = 10 * c1**2 * c2**2 + 5 * c2**2 * s1**2
        now = {
            "euler": np.abs(functions.bias(simple, rest, w) - printed).max(),
            "poincare": np.abs(turning - printed).max(),
            "sign": np.abs(-turning - printed).max(),
            "inertia": abs(m33 - whole - 5 * s2**2),
            "printed": abs(m33 - whole - 5 * s2),
        }
        worst = {name: max(worst[name], float(value)) for name, value in now.items()}
    report.figures |= {f"disk_{name}": value for name, value in worst.items()}
    report.row(
        "thin disk, simple joint",
        "C p = (5 ω₂ω₃, -5 ω₁ω₃, 0)",
        f"{small(worst['euler'])} from the library, 20 states",
        "holds",
        worst["euler"] < 1e-12,
    )
    report.row(
        "(53b), (54b), (55b)",
        "C(q, p) from M and the brackets of the columns of V",
        f"with the printed sign off by {worst['sign']:.0f} N m; with the other {small(worst['poincare'])} N "
        "m from Euler's equations",
        "corrected",
        worst["sign"] > 1.0 and worst["poincare"] < 1e-6,
        "the overall sign; inverses where V' stands",
    )
    report.row(
        "(55a)",
        "M₃₃ = 10 c₁²c₂² + 5 c₂²s₁² + 5 sin t₂",
        f"off by {worst['printed']:.1f} kg m²; with sin² t₂ {small(worst['inertia'])}",
        "corrected",
        worst["printed"] > 1.0 and worst["inertia"] < 1e-12,
        "a square is missing: it would be negative",
    )


def _simple_q(q: Floats) -> Floats:
    """Coordinates of the arm with the quaternion wrist in the pose of the other."""
    quaternion = quaternions.from_matrix(configuration(_wrist(), q[3:])[0])
    return np.concatenate([q[:3], quaternion[1:], quaternion[:1]])


def _wrist() -> Floats:
    return np.array([Y, Z, X])


def arm(report: Report) -> None:
    """Statements on the arm: inertia, potential energy, its two wrists."""
    rng = np.random.default_rng(10)
    compound, simple = load("arm_6dof").mechanism, load("arm_6dof_simple").mechanism
    moment = GRIPPER * (REACH**2 + 3 * RADIUS**2) / 12.0 + GRIPPER * (0.5 * REACH) ** 2
    thin = GRIPPER * RADIUS**2 / 12.0
    names = (
        "last_row",
        "simple_row",
        "congruence",
        "recursion",
        "printed_recursion",
        "wrist_rows",
        "potential",
    )
    worst = dict.fromkeys(names, 0.0)
    for _ in range(20):
        q = rng.uniform(-1.2, 1.2, 6)
        mass, free = functions.mass_matrix(compound, q), functions.mass_matrix(simple, _simple_q(q))
        (s1, _, e, t1, t2, t3) = q
        c, s = np.cos, np.sin
        row = np.array(
            [
                -moment * s(t2),
                -(moment - thin) * c(t1) * c(t2) * s(t1),
                moment * c(t1) ** 2 * c(t2) ** 2 + thin * c(t2) ** 2 * s(t1) ** 2 + moment * s(t2) ** 2,
            ]
        )
        to_simple = np.eye(6)
        to_simple[3:, 3:] = twist_map(_wrist(), q[3:])[:3]
        z3 = -c(t2) * s(e + s1) * s(t1) + c(e + s1) * (c(t1) * c(t3) + s(t1) * s(t2) * s(t3))
        energy = 9.81 * (6 * c(s1) + 3 * c(e + s1) + 0.175 * z3)
        printed = chain_inertia(q, previous=True)
        off = np.abs(printed - mass) / np.abs(mass).max()
        now = {
            "last_row": np.abs(mass[5, 3:] - row).max(),
            "simple_row": np.abs(free[3, 3:] - [moment, 0.0, 0.0]).max(),
            "congruence": np.abs(to_simple.T @ free @ to_simple - mass).max() / np.abs(mass).max(),
            "recursion": np.abs(chain_inertia(q) - mass).max() / np.abs(mass).max(),
            "printed_recursion": off[:3].max(),
            "wrist_rows": off[3:, 3:].max(),
            "potential": abs(functions.potential_energy(compound, q) - energy),
        }
        worst = {name: max(worst[name], float(value)) for name, value in now.items()}
    report.figures |= {f"arm_{name}": value for name, value in worst.items()}
    report.row(
        "arm, last row of M",
        "compound: M₆₄ = -I_g sin t₂, M₆₅, M₆₆; simple: 0, 0, I_g = 0.0969792",
        f"{small(max(worst['last_row'], worst['simple_row']))} kg m² from the library, 20 poses (I_g = "
        f"{moment:.7f})",
        "holds",
        max(worst["last_row"], worst["simple_row"]) < 1e-8,
    )
    report.row(
        "arm, rows 1 to 3 of M",
        "chain recursion of the example",
        "with the rotation of the joint before, as the printed rows have it, off by "
        f"{worst['printed_recursion']:.0%} of the largest entry (the wrist's block: "
        f"{small(worst['wrist_rows'])}); with the joint's own rotation {small(worst['recursion'])}",
        "corrected",
        worst["printed_recursion"] > 0.01 and worst["recursion"] < 1e-10,
        "R_k is that of joint k",
    )
    report.row(
        "arm, potential energy",
        "an expression without some masses and links",
        f"g [6 cos s₁ + 3 cos(e + s₁) + 0.175 z₃]: {small(worst['potential'])} J from the library",
        "corrected",
        worst["potential"] < 1e-9,
        "all masses, and all links before each, count",
    )
    report.row(
        "simple and compound wrist",
        "two forms of one machine",
        f"M_compound = T' M_simple T to {small(worst['congruence'])} relative",
        "holds",
        worst["congruence"] < 1e-12,
    )


def operations(report: Report) -> None:
    """How much the choice of the wrist's velocities saves in explicit equations."""
    counts = []
    for name in ("arm_6dof", "arm_6dof_simple"):
        model = derive(load(name).mechanism)
        parts = model.parts()
        counts.append(model.tape.operations([entry for key in ("M", "h") for entry in parts[key].entries]))
    saved = 1.0 - counts[1] / counts[0]
    report.figures |= {"operations_saved": saved, "operations_compound": counts[0]}
    report.row(
        "simple wrist",
        "saves 25 %",
        f"M and h with common subexpressions named: {counts[0]} operations with the compound wrist, "
        f"{counts[1]} with the simple one, {saved:.0%} fewer",
        "open",
        abs(saved) < 0.25,
        "the figure depends on the program that wrote and simplified the expressions, which is not printed",
    )


def same_motion(report: Report, duration: float) -> None:
    """Both wrists let the arm move identically."""
    compound, simple = load("arm_6dof").mechanism, load("arm_6dof_simple").mechanism
    q, v = np.array([0.5, 0.2, 1.0, 0.3, 0.2, 0.1]), np.array([0.3, -0.2, 0.4, 1.0, -0.5, 0.8])
    one, two = compound.workspace(), simple.workspace()
    one.q[:], one.v[:] = q, v
    two.q[:], two.v[:] = _simple_q(q), v
    two.v[3:] = twist_map(_wrist(), q[3:])[:3] @ v[3:]
    apart = 0.0
    for _ in range(round(duration / 1e-3)):
        rk4(*one.arguments, 1e-3)
        rk4(*two.arguments, 1e-3)
    places = [functions.point_position(arm, "tool", w.q) for arm, w in ((compound, one), (simple, two))]
    apart = float(np.abs(places[0] - places[1]).max())
    report.figures["arm_motion_apart_m"] = apart
    report.row(
        "motion of the arm",
        "not shown",
        f"both wrists move identically: tools within {small(apart)} m after {duration:g} s",
        "ours",
        apart < 1e-7,
    )


def _spun(mechanism: Mechanism, q: Floats, v: Floats, duration: float, dt: float) -> tuple[Floats, Floats]:
    w: Workspace = mechanism.workspace()
    w.q[:], w.v[:] = q, v
    states, speeds = [w.q.copy()], [w.v.copy()]
    for _ in range(round(duration / dt)):
        rk4(*w.arguments, dt)
        states.append(w.q.copy())
        speeds.append(w.v.copy())
    return np.array(states), np.array(speeds)


def disk_picture(report: Report, out: Path, duration: float) -> None:
    """The disk's motion with both joints, drawn."""
    machine, compound, dt = load("thin_disk"), _universal_disk(), 1e-3
    e, columns = np.array([0.0, np.deg2rad(10.0), 0.0]), np.eye(6)[:3]
    omega = np.array([0.5, 0.0, 10.0])
    quaternion = quaternions.from_matrix(configuration(columns, e)[0])
    balls, spins = _spun(
        machine.mechanism, np.concatenate([quaternion[1:], quaternion[:1]]), omega, duration, dt
    )
    angles, rates = _spun(compound, e, np.linalg.solve(twist_map(columns, e)[:3], omega), duration, dt)
    time = np.arange(len(angles)) * dt
    axes = [
        np.array([quaternions.to_matrix(np.roll(q, 1))[:, 2] for q in balls]),
        np.array([configuration(columns, q)[0][:, 2] for q in angles]),
    ]
    turn = omega[2] * (DISK[2, 2] - DISK[0, 0]) / DISK[0, 0]
    exact = 0.5 * np.column_stack([np.cos(turn * time), np.sin(turn * time)])
    off = float(np.abs(spins[:, :2] - exact).max())
    apart = float(np.abs(axes[0] - axes[1]).max())
    momentum = np.array(
        [
            configuration(columns, q)[0] @ DISK @ twist_map(columns, q)[:3] @ v
            for q, v in zip(angles[::20], rates[::20], strict=True)
        ]
    )
    kept = float(np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0]))
    report.figures |= {"disk_spin_off": off, "disk_apart": apart, "disk_momentum": kept}
    report.row(
        "motion of the disk",
        "not shown: simple (ω, quaternion) and compound (three angles) joint",
        f"ω is Euler's closed form to {small(off)} rad/s; axes within {small(apart)}; angular momentum kept "
        f"to {small(kept)} in {duration:g} s",
        "ours",
        off < 1e-6 and apart < 1e-6 and kept < 1e-6,
    )
    sheet = Sheet(1, 3, height=3.1, width=11.0, width_ratios=(1.1, 1.1, 1.0))
    spin = sheet.panel(sheet.grid[0, 0], "simple joint: velocities", "time / s", "angular velocity / rad/s")
    shown = time <= 1.0
    spin.plot(time[shown], exact[shown], color="#c9d1d9", linewidth=4.0)
    lines(spin, time[shown], spins[shown, :2], ("ω₁", "ω₂ (grey: closed form)"))
    legend(spin, 2, loc="upper right")
    spin.margins(y=0.2)
    three = sheet.panel(sheet.grid[0, 1], "compound joint: angles", "time / s", "angle / °")
    lines(three, time[shown], np.rad2deg(angles[shown, :2]), ("t₁", "t₂"))
    legend(three, 2, loc="upper right")
    three.margins(y=0.2)
    path = sheet.panel(sheet.grid[0, 2], "path of the disk's axis", "x", "y")
    lines(path, axes[0][:, 0], axes[0][:, 1:2], ("simple",), color="#c9d1d9", linewidth=4.0)
    lines(path, axes[1][:, 0], axes[1][:, 1:2], ("compound",), linewidth=1.0)
    path.set_aspect("equal", adjustable="datalim")
    legend(path, loc="center")
    sheet.save(
        out,
        report,
        "kwatny1995_disk.png",
        "Thin disk with 10 rad/s about its axis and a wobble: both forms of its joint give one motion.",
    )
