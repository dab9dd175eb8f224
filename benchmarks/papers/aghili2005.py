"""Aghili 2005: projection-matrix dynamics and control, a slider-crank through its branch poses."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.papers.motion import begin
from benchmarks.papers.report import Report, small
from benchmarks.papers.slider_crank import TANGENT, G, free_motion, on_branch, tracking
from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody import Mechanism, functions
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.dynamics.constrained_dynamics import projected
from linkwork.multibody.formulations.acceleration import Formulation, acceleration
from linkwork.multibody.formulations.projector import assembled, projector, pseudo_inverse
from linkwork.multibody.kernels.layout import RANK, REPLACED


def reproduce(out: Path, brief: bool = False) -> Report:
    """All figures of the paper; `brief`: shorter runs."""
    report = Report(
        "aghili2005",
        "Aghili 2005: projection matrices, through branch poses",
        "Aghili, Control and simulation of motion of constrained multibody systems based on projection "
        "matrix formulation, after IEEE Transactions on Robotics 21(5), 2005.",
        "Machine: `slider_crank`, two links of 1 m with 1 kg at their ends (the paper keeps symbols), "
        "gravity 9.81 m/s². On its branch q₂ = 2π - 2q₁ it meets the other branch at odd multiples of π/2, "
        "where A vanishes. RK4, 1 ms.",
    )
    crank = load("slider_crank").mechanism
    _model(report, crank)
    _assemblies(report)
    _control_laws(report)
    free_motion(report, out, crank, 1.5 if brief else 4.0)
    tracking(report, out, crank, 0.8 if brief else 3.0)
    return report


def _model(report: Report, crank: Mechanism) -> None:
    rng = np.random.default_rng(3)
    worst = dict.fromkeys(("model", "projector", "scaled", "bound"), 0.0)
    for _ in range(20):
        q, v = rng.uniform(-3.0, 3.0, 2), rng.uniform(-3.0, 3.0, 2)
        c1, c2, s2, c12 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1]), np.cos(q[0] + q[1])
        mass = np.array([[3.0 + 2.0 * c2, 1.0 + c2], [1.0 + c2, 1.0]])
        h = np.array([-s2 * (v[1] ** 2 + 2 * v[0] * v[1]) + G * (c12 + 2 * c1), s2 * v[0] ** 2 + G * c12])
        off = max(
            np.abs(functions.mass_matrix(crank, q) - mass).max(),
            np.abs(functions.bias(crank, q, v) - h).max(),
        )
        angle = float(q[0])
        on, _ = on_branch(angle, 0.0)
        p = projector(np.array([[np.cos(angle) * 2.0, np.cos(angle)]]), 1)
        c2 = np.cos(on[1])
        scaled = p @ functions.mass_matrix(crank, on) + np.eye(2) - p
        now = {
            "model": off,
            "projector": np.abs(p - np.outer(TANGENT, TANGENT) / 5.0).max(),
            "scaled": np.abs(
                scaled - np.array([[1.0, (1.0 + c2) / 5.0], [0.0, (3.0 - 2.0 * c2) / 5.0]])
            ).max(),
        }
        worst = worst | {name: max(worst[name], float(value)) for name, value in now.items()}
    report.figures |= {
        "model_off": worst["model"],
        "projector_off": worst["projector"],
        "scaled_off": worst["scaled"],
    }
    report.row(
        "M and h",
        "in closed form, relative angles",
        f"{small(worst['model'])} from the recursion, 20 states",
        "holds",
        worst["model"] < 1e-12,
    )
    w = begin(crank, *on_branch(0.5 * np.pi, 1.0))
    projected(*w.arguments)
    rank = int(w.ranking[RANK] - w.ranking[REPLACED])
    report.figures["rank_at_branch_pose"] = rank
    report.row(
        "(70), (71)",
        "P = 1 away from the branch poses, [[1, -2], [-2, 4]]/5 at them",
        f"reversed: [[1, -2], [-2, 4]]/5 to {small(worst['projector'])} where A ≠ 0, and rank "
        f"{rank} of A, P = 1, at π/2",
        "corrected",
        worst["projector"] < 1e-13 and rank == 0,
        "the two cases are exchanged",
    )
    report.row(
        "scaled assembly",
        "K = m l² [[1, (1 + c₂)/5], [0, (3 - 2c₂)/5]] for γ = m l², invertible on the branch",
        f"{small(worst['scaled'])} from P M + γ(1 - P); det K ≥ 1/5",
        "holds",
        worst["scaled"] < 1e-13,
    )


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
        bound = max(
            bound,
            float(
                np.linalg.svd(a.T @ a, compute_uv=False)[-1] / np.linalg.svd(a @ a.T, compute_uv=False)[-1]
            ),
        )
    report.figures |= {"assemblies_gap": worst, "gram_ratio": bound}
    report.row(
        "three assemblies",
        "plain, symmetric and scaled give one acceleration, redundant rows or not",
        f"{small(worst)} relative, from the saddle-point system, on slider-crank and four-bar, rows "
        "repeated, scaled and combined",
        "holds",
        worst < 1e-11,
    )
    report.row(
        "bound on the multipliers",
        "σ_min of A'A",
        f"σ_min(A'A)/σ_min(AA') = {small(bound)}: it is 0 whenever there are degrees of freedom",
        "corrected",
        bound < 1e-12,
        "the bound holds with AA'",
    )


def _saddle(mass: Floats, h: Floats, a: Floats, b: Floats, f: Floats) -> tuple[Floats, Floats]:
    """v̇ and Fc of independent rows."""
    n, m = len(h), len(a)
    both = np.linalg.solve(np.block([[mass, -a.T], [a, np.zeros((m, m))]]), np.concatenate([f - h, b]))
    return both[:n], a.T @ both[n:]


def _control_laws(report: Report) -> None:
    rng, n, m = np.random.default_rng(5), 4, 2
    worst = dict.fromkeys(
        ("motion", "longer", "hybrid_motion", "hybrid_force", "printed_force", "weighted"), 0.0
    )
    least = dict.fromkeys(("longer", "printed_force", "printed_weight", "circle"), np.inf)
    for _ in range(20):
        root, a, b, h = (
            rng.normal(size=(n, n)),
            rng.normal(size=(m, n)),
            rng.normal(size=m),
            rng.normal(size=n),
        )
        mass = root @ root.T + np.eye(n)
        p, one, c = projector(a, m), np.eye(n), pseudo_inverse(a, m) @ b
        u_p = c + p @ rng.normal(size=n)
        f = p @ (h + mass @ u_p)
        u_f = a.T @ rng.normal(size=m)
        mu = (one - p) @ mass @ np.linalg.inv(mass + p @ mass - mass @ p)
        motion = h + (one + mu) @ p @ mass @ u_p - u_f
        weight = np.diag(rng.uniform(0.2, 5.0, n))
        stretched = np.linalg.inv(np.sqrt(weight))
        good, bad = (
            np.sqrt(weight) @ projector(a @ e, m) @ stretched @ (h + mass @ u_p)
            for e in (stretched, np.sqrt(weight))
        )
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
    report.figures |= {
        f"law_{name}": worst[name]
        for name in ("motion", "hybrid_motion", "hybrid_force", "weighted", "circle")
    }
    report.figures |= {f"printed_{name}": value for name, value in least.items()}
    report.row(
        "projected inverse dynamics",
        "f = P(h + M u_p) gives v̇ = u_p, with the least |f|",
        f"v̇ to {small(worst['motion'])} relative, on 20 random systems; any constraint force added makes "
        "|f| longer",
        "holds",
        worst["motion"] < 1e-11 and least["longer"] > 0.0,
    )
    report.row(
        "(51), (54)",
        "velocity term μ C q˙ of the force law",
        f"constraint force off by {least['printed_force']:.0%} at least; with μ M c force and motion to "
        f"{small(max(worst['hybrid_force'], worst['hybrid_motion']))}",
        "corrected",
        least["printed_force"] > 1e-3 and worst["hybrid_force"] < 1e-10 and worst["hybrid_motion"] < 1e-10,
        "the M is dropped; invisible where C q˙ = 0, as on the slider-crank",
    )
    report.row(
        "metric, section 2.1.1",
        "A_W = A W^(1/2)",
        f"v̇ off by {least['printed_weight']:.0%} at least; with A W^(-1/2) to {small(worst['weighted'])}",
        "corrected",
        least["printed_weight"] > 1e-3 and worst["weighted"] < 1e-11,
        "forces are weighted with W^(-1/2), so rows are too",
    )
    report.row(
        "particle on a circle",
        "m v̇ = P f",
        f"v̇ off by {least['circle']:.0%} at least; with m v̇ = P f + m c, c = -(|v|²/R) e_n, to "
        f"{small(worst['circle'])}",
        "corrected",
        least["circle"] > 1e-3 and worst["circle"] < 1e-11,
        "the centripetal term is missing",
    )


def _off(found: Floats, wanted: Floats) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def _circle(rng: np.random.Generator) -> tuple[float, float]:
    """How far m v̇ = P f + m c and m v̇ = P f are from the saddle-point system, relative."""
    mass, radius, angle, speed = rng.uniform(0.5, 3.0, 4)
    normal, along = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    f, a, b = rng.normal(size=2), radius * normal[None], np.array([-(speed**2)])
    exact = _saddle(mass * np.eye(2), np.zeros(2), a, b, f)[0]
    printed = along * (along @ f) / mass
    return _off(printed - speed**2 / radius * normal, exact), _off(printed, exact)
