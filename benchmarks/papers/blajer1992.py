"""Blajer, Schiehlen & Schirm 1992: minimal form by inverse kinematics, a four-bar through singularities."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.papers.figures import ACCENT, GRID, INK, QUIET, Sheet, legend, lines
from benchmarks.papers.four_bar import ORDER, A, B, Lengths, Minimal
from benchmarks.papers.motion import begin
from benchmarks.papers.report import Report, small
from linkwork.arrays import Floats
from linkwork.machine import load
from linkwork.multibody import Mechanism, functions
from linkwork.multibody.assembly.assembly import assemble
from linkwork.multibody.formulations.acceleration import acceleration
from linkwork.multibody.steps.integrate import rk4

LENGTHS = Lengths(1.0, 0.8, 0.7, 0.6)
STEP = 5e-4


def reproduce(out: Path, brief: bool = False) -> Report:
    """All figures of the paper; `brief`: shorter runs."""
    report = Report(
        "blajer1992",
        "Blajer et al. 1992: a four-bar in minimal form",
        "Blajer, Schiehlen, Schirm, Dynamic analysis of constrained multibody systems using inverse "
        "kinematics, 1992.",
        "Machine: `four_bar`. The paper prints no numbers; ours are ground 1 m, links 0.8, 0.7, 0.6 m, "
        "slender bars of 2 kg/m: no link turns fully, so that one swing under gravity passes both sin α₃ = "
        "0 and cos α₁ = 0. The minimal form here is the paper's closed forms in "
        "benchmarks/papers/four_bar.py, beside `projected` of the library. RK4, 0.5 ms.",
    )
    bar = load("four_bar")
    start = assemble(bar.mechanism, bar.initial_q).q
    states = _states(bar.mechanism, start)
    _closed_forms(report, states)
    _equations(report, bar.mechanism, states)
    _swing(report, out, bar.mechanism, start, 1.2 if brief else 4.0)
    return report


def _states(mechanism: Mechanism, start: Floats) -> list[tuple[Floats, Floats]]:
    """Consistent states away from both singularities."""
    rng = np.random.default_rng(6)
    states: list[tuple[Floats, Floats]] = []
    while len(states) < 20:
        found = assemble(mechanism, start + rng.normal(size=3), rng.normal(size=3))
        if min(LENGTHS.measure(found.q)) > 0.1:
            states.append((found.q, found.v))
    return states


def _closed_forms(report: Report, states: list[tuple[Floats, Floats]]) -> None:
    worst = dict.fromkeys(("closure", "rates", "shift"), 0.0)
    printed = np.inf
    for q, v in states:
        jacobian = LENGTHS.closure_jacobian(q)
        true = {
            variant: -np.linalg.solve(jacobian[:, order[1:]], jacobian[:, order[0]])
            for variant, order in ((A, ORDER[A]), (B, ORDER[B]))
        }
        step = 1e-6
        turning = (
            (LENGTHS.closure_jacobian(q + step * v) - LENGTHS.closure_jacobian(q - step * v))
            @ v
            / (2.0 * step)
        )
        for variant in (A, B):
            order = ORDER[variant]
            whole = LENGTHS.positions(variant, q[order[0]], q)
            shift = -np.linalg.solve(jacobian[:, order[1:]], turning)
            now = {
                "closure": np.abs(LENGTHS.closure(whole)).max() + np.abs(whole - q).max(),
                "rates": np.abs(LENGTHS.slopes(variant, q) - true[variant]).max()
                / np.abs(true[variant]).max(),
                "shift": np.abs(LENGTHS.shifts(variant, q, v) - shift).max() / np.abs(shift).max(),
            }
            worst = {name: max(worst[name], float(value)) for name, value in now.items()}
        wrong = LENGTHS.l2 * LENGTHS.l3 * np.cos(q[2]) / (LENGTHS.l0 * LENGTHS.l1 * np.cos(q[0]))
        printed = min(printed, abs(float(wrong - true[B][0])) / float(np.abs(true[B]).max()))
    report.figures |= {f"closed_{name}": value for name, value in worst.items()} | {
        "closed_printed_rate": printed
    }
    report.row(
        "inverse kinematics",
        "α₃ and α₂ from α₁; α₁ and α₂ from α₃",
        f"all angles, closure {small(worst['closure'])}, 20 states, both variants; rates "
        f"{small(worst['rates'])} relative from the closure's Jacobian",
        "holds",
        worst["closure"] < 1e-11 and worst["rates"] < 1e-11,
    )
    report.row(
        "(19b)",
        "α˙₁ = l₂l₃ cos α₃/(l₀l₁ cos α₁) α˙₃",
        f"off by {printed:.0%} at least; with sin α₃ in the numerator as above",
        "corrected",
        printed > 0.01,
        "cos for sin",
    )
    report.row(
        "ξ, K₁ to K₄",
        "second derivatives in closed form",
        f"{small(worst['shift'])} relative, from differences of the Jacobian",
        "holds",
        worst["shift"] < 1e-6,
    )


def _equations(report: Report, mechanism: Mechanism, states: list[tuple[Floats, Floats]]) -> None:
    worst, printed, power = 0.0, np.inf, 0.0
    for q, v in states:
        exact = acceleration(mechanism, q, v)
        model = Minimal(LENGTHS, mechanism.workspace(), q, v)
        for variant in (A, B):
            found = model.acceleration(variant, q, v)
            worst = max(worst, float(np.abs(found - exact.vdot).max() / np.abs(exact.vdot).max()))
            minus = model.acceleration(variant, q, v, cross_sign=-1.0)
            printed = min(printed, float(np.abs(minus - exact.vdot).max() / np.abs(exact.vdot).max()))
            admitted = np.empty(3)
            admitted[ORDER[variant][0]], admitted[ORDER[variant][1:]] = 1.0, LENGTHS.slopes(variant, q)
            power = max(
                power,
                abs(float(admitted @ exact.constraint_force)) / float(np.abs(exact.constraint_force).max()),
            )
    report.figures |= {"minimal_gap": worst, "minimal_printed": printed, "force_power": power}
    report.row(
        "minimal equations",
        "M_r q¨_I = h_r, one unknown",
        f"q¨ {small(worst)} relative, from `projected`, both variants; D Fc = {small(power)} of Fc",
        "holds",
        worst < 1e-10 and power < 1e-10,
    )
    report.row(
        "(13)",
        "one cross term of M_r with a minus",
        f"q¨ off by {printed:.1%} at least; D M D' has both with plus",
        "corrected",
        printed > 1e-3,
        "M_r = M_II + (M_ID A_x)' + M_ID A_x + A_x' M_DD A_x",
    )


class FourBarSwing(NamedTuple):
    """Time, angles, rates, variant in use, and both measures, a row for each step; switches made."""

    time: Floats
    q: Floats
    v: Floats
    variant: Floats
    measures: Floats
    switches: int


def _minimal(mechanism: Mechanism, start: Floats, duration: float, dt: float) -> FourBarSwing:
    model, count = Minimal.of(mechanism, LENGTHS, start, np.zeros(3)), round(duration / dt)
    q, v, variant, measures = (
        np.empty((count + 1, 3)),
        np.empty((count + 1, 3)),
        np.empty(count + 1),
        np.empty((count + 1, 2)),
    )
    for k in range(count + 1):
        q[k], v[k], measures[k] = model.q, model.v, LENGTHS.measure(model.q)
        model.step(dt)
        variant[k] = model.variant
    return FourBarSwing(
        np.arange(count + 1, dtype=np.float64) * dt,
        q,
        v,
        variant,
        measures,
        int(np.abs(np.diff(variant)).sum()),
    )


def _projected(mechanism: Mechanism, start: Floats, duration: float, dt: float) -> Floats:
    w = begin(mechanism, start, np.zeros(3))
    q = np.empty((round(duration / dt) + 1, 3))
    for row in q:
        row[:] = w.q
        rk4(*w.arguments, dt)
    return q


def _swing(report: Report, out: Path, mechanism: Mechanism, start: Floats, duration: float) -> None:
    run = _minimal(mechanism, start, duration, STEP)
    other = _projected(mechanism, start, duration, STEP)
    apart = np.abs(run.q - other).max(axis=1)
    closure = np.array([np.abs(LENGTHS.closure(q)).max() for q in run.q])
    energy = np.array(
        [
            functions.kinetic_energy(mechanism, q, v) + functions.potential_energy(mechanism, q)
            for q, v in zip(run.q, run.v, strict=True)
        ]
    )
    kinetic = max(
        functions.kinetic_energy(mechanism, q, v) for q, v in zip(run.q[::10], run.v[::10], strict=True)
    )
    stretched, inline = (
        np.flatnonzero(np.diff(np.sign(values))) for values in (np.sin(run.q[:, 2]), np.cos(run.q[:, 0]))
    )
    fine, finer, finest = (_minimal(mechanism, start, 1.0, dt).q[-1] for dt in (2e-3, 1e-3, 5e-4))
    ratio = float(np.abs(fine - finer).max() / np.abs(finer - finest).max())
    first = float(apart[run.time <= 1.0].max())
    drift = float(np.abs(energy - energy[0]).max() / kinetic)
    report.figures |= {
        "switches": run.switches,
        "passes_sin": len(stretched),
        "passes_cos": len(inline),
        "closure_m": float(closure.max()),
        "energy_drift": drift,
        "apart_1s_rad": first,
        "order_ratio": ratio,
    }
    report.row(
        "singularities",
        "switch between the variants; sin α₃ = 0 and cos α₁ = 0 are never met together",
        f"{run.switches} switches in {duration:g} s, through {len(stretched)} poses sin α₃ = 0 and "
        f"{len(inline)} poses cos α₁ = 0; the better measure never below "
        f"{run.measures.max(axis=1).min():.2f} m²",
        "holds",
        run.switches >= 2
        and len(stretched) >= 1
        and len(inline) >= 1
        and run.measures.max(axis=1).min() > 0.1,
    )
    report.row(
        "constraints",
        "satisfied exactly, without stabilisation",
        f"closure ≤ {small(float(closure.max()))} m in {duration:g} s",
        "holds",
        closure.max() < 1e-12,
    )
    report.row(
        "motion",
        "not printed: no lengths, masses or curves",
        f"within {small(first)} rad of `projected` over 1 s; half the step divides the error by {ratio:.1f}; "
        f"energy {small(drift)} of the largest kinetic energy",
        "ours",
        first < 1e-7 and 12.0 < ratio < 34.0 and drift < 1e-6,
    )
    if duration > 1.5:
        _library(report, start)
    _draw(report, out, run, apart, np.abs(energy - energy[0]) / kinetic, closure)


def _library(report: Report, start: Floats) -> None:
    """The library's own minimal coordinates, chosen from the rows; it would lengthen brief runs."""
    from linkwork.offline.run import simulate  # its kernels take long to compile

    bar = load("four_bar")
    own = simulate(bar, 1.0, STEP, formulation="minimal")
    closed = _minimal(bar.mechanism, start, 1.0, STEP)
    apart = float(np.abs(own.q - closed.q).max())
    report.figures |= {"library_apart_rad": apart}
    report.row(
        "choice of coordinates",
        "two variants, known beforehand",
        f"`minimal` of the library finds independent coordinates itself ({own.switches} switches in 1 s): "
        f"within {small(apart)} rad",
        "holds",
        apart < 1e-7,
    )


def _draw(
    report: Report, out: Path, run: FourBarSwing, apart: Floats, energy: Floats, closure: Floats
) -> None:
    sheet = Sheet(2, 2, height=2.5)
    angles = sheet.panel(
        sheet.grid[0, 0], "four-bar swinging from rest; grey: variant b in use", "time / s", "angle / rad"
    )
    lines(angles, run.time, run.q, ("α₁", "α₂", "α₃"))
    legend(angles, 3, loc="upper right")
    angles.margins(y=0.2)
    measures = sheet.panel(sheet.grid[1, 0], "distance of the variants from being lost", "time / s", "m²")
    lines(measures, run.time, run.measures, ("a: l₂l₃ |sin α₃|", "b: l₀l₁ |cos α₁|"))
    used = run.measures[np.arange(len(run.time)), run.variant.astype(int)]
    measures.plot(run.time, used, color=INK, linewidth=2.6, alpha=0.35, label="in use")
    legend(measures, 3, loc="upper right")
    measures.set_ylim(0.0, 1.15)
    for panel in (angles, measures):
        panel.fill_between(
            run.time,
            0,
            1,
            where=run.variant == B,
            color=GRID,
            alpha=0.7,
            linewidth=0,
            transform=panel.get_xaxis_transform(),
            zorder=0.3,
        )
    places = sheet.panel(sheet.grid[0, 1], "poses of the first 0.9 s, every 90 ms", "x / m", "y / m")
    for k in range(0, min(round(0.9 / STEP) + 1, len(run.time)), round(0.09 / STEP)):
        b = np.cumsum(run.q[k]) - 0.5 * np.pi
        steps = np.array([LENGTHS.l1, LENGTHS.l2, LENGTHS.l3])[:, None] * np.column_stack(
            [np.cos(b), np.sin(b)]
        )
        chain = np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
        places.plot(
            *chain.T,
            color=QUIET if k else ACCENT,
            linewidth=0.9 if k else 1.8,
            marker="o",
            markersize=2.2,
            label=None if k else "start",
        )
    places.set_aspect("equal", adjustable="datalim")
    legend(places, loc="upper left")
    errors = sheet.panel(sheet.grid[1, 1], "errors", "time / s", "rad, relative, m", yscale="log")
    for values, name, hue in (
        (apart, "angles against projected / rad", 0),
        (energy, "energy / largest kinetic", 1),
        (closure, "closure / m", 2),
    ):
        lines(
            errors,
            run.time,
            np.maximum(values, 1e-17)[:, None],
            (name,),
            most=400,
            color=("#0b6e99", "#d9730d", "#448361")[hue],
            linewidth=1.0,
        )
    errors.set_ylim(1e-17, 1e-2)
    legend(errors, loc="upper left")
    sheet.save(
        out,
        report,
        "blajer1992_four_bar.png",
        "Four-bar in minimal form through sin α₃ = 0 and cos α₁ = 0: angles, poses, measures of the "
        "variants, errors.",
    )
