"""Kwatny & Blankenship 1995: joint map matrices, simple and compound joints, Poincaré's equations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.linalg import expm

from benchmarks.papers.arm_and_disk import (
    arm,
    disk_equations,
    disk_picture,
    operations,
    same_motion,
    spherical_gamma,
)
from benchmarks.papers.report import Report, small
from linkwork.arrays import Floats
from linkwork.multibody import Body, Joint, Mechanism, ModelError
from linkwork.multibody.tree.joint_map import bracket, configuration, gamma, twist_map, unclosed_pair
from linkwork.multibody.tree.orientations import hat

PITCH = 0.3
X, Y, Z = np.eye(6)[:3]
ALONG_X, _, ALONG_Z = np.eye(6)[3:]
JOINTS: dict[str, tuple[str, Floats]] = {
    "revolute": ("1", np.array([Z])),
    "prismatic": ("1", np.array([ALONG_Z])),
    "screw": ("1", np.array([Z + PITCH * ALONG_Z])),
    "cylindrical": ("1", np.array([Z, ALONG_Z])),
    "universal": ("diag(1, cos z₁)", np.array([Y, Z])),
    "universal-screw": ("diag(1, cos z₁)", np.array([Z, X + PITCH * ALONG_X])),
    "spherical": ("G(y)", np.array([X, Y, Z])),
    "six degrees of freedom": ("diag(G(a), R)", np.eye(6)),
}


def reproduce(out: Path, brief: bool = False) -> Report:
    """All tables of the paper and one picture; `brief`: shorter runs."""
    report = Report(
        "kwatny1995",
        "Kwatny & Blankenship 1995: joint maps and Poincaré's equations",
        "Kwatny, Blankenship, Symbolic construction of models for multibody dynamics, IEEE Transactions on "
        "Robotics and Automation, 1995.",
        "Machines: `arm_6dof` (compound wrist), `arm_6dof_simple` (simple wrist), `thin_disk`, with the "
        "printed data. Everything that the paper has as symbols is computed at random states.",
    )
    _joint_table(report)
    _joint_maps(report)
    disk_equations(report)
    arm(report)
    operations(report)
    same_motion(report, 0.5 if brief else 2.0)
    disk_picture(report, out, 1.0 if brief else 3.0)
    return report


def _printed_gamma(name: str, e: Floats) -> Floats:
    if name.startswith("universal"):
        return np.diag([1.0, np.cos(e[0])])
    if name == "spherical":
        return spherical_gamma(e)
    if name == "six degrees of freedom":
        rotation = configuration(np.eye(6)[:3], e[:3])[0]
        return np.block([[spherical_gamma(e[:3]), np.zeros((3, 3))], [np.zeros((3, 3)), rotation]])
    return np.eye(len(e))


def _finite_twist(columns: Floats, e: Floats, rates: Floats) -> Floats:
    """X⁻¹ Ẋ by a central difference, as (ω; u)."""
    step = 1e-6
    rotation = configuration(columns, e)[0]
    (ahead, there), (behind, here) = (configuration(columns, e + sign * step * rates) for sign in (1.0, -1.0))
    turning = rotation.T @ (ahead - behind) / (2.0 * step)
    moving = rotation.T @ (there - here) / (2.0 * step)
    return np.array([turning[2, 1], turning[0, 2], turning[1, 0], *moving])


def _joint_table(report: Report) -> None:
    rng = np.random.default_rng(7)
    table = [["joint", "columns", "Γ", "printed Γ - computed", "span closed", "B Γ - H", "X⁻¹Ẋ - B ė"]]
    gap = defect = twist = 0.0
    open_spans = []
    for name, (text, columns) in JOINTS.items():
        off = open_defect = difference = 0.0
        for _ in range(10):
            e, rates = rng.uniform(-1.2, 1.2, (2, len(columns)))
            found = gamma(columns, e)
            off = max(off, float(np.abs(found - _printed_gamma(name, e)).max()))
            open_defect = max(open_defect, float(np.abs(twist_map(columns, e) @ found - columns.T).max()))
            difference = max(
                difference,
                float(np.abs(_finite_twist(columns, e, rates) - twist_map(columns, e) @ rates).max()),
            )
        closed = unclosed_pair(columns) is None
        gap, twist = max(gap, off), max(twist, difference)
        if closed:
            defect = max(defect, open_defect)
        else:
            open_spans.append(name)
        cells = [
            name,
            _columns_text(columns),
            text,
            small(off),
            "yes" if closed else "no",
            small(open_defect),
            small(difference),
        ]
        table.append(cells)
    report.tables.append(("Joint maps", table))
    report.figures |= {
        "gamma_gap": gap,
        "closed_defect": defect,
        "twist_gap": twist,
        "open_spans": len(open_spans),
    }
    report.row(
        "table of joints",
        "Γ of each joint",
        f"all {len(JOINTS)} to {small(gap)}, 10 random poses each; table below",
        "holds",
        gap < 1e-12,
    )
    report.row(
        "twist map",
        "(ω; u) = B(e) ė, columns Ad(U⁻¹) h",
        f"{small(twist)} from differences of the pose X(e), all joints",
        "holds",
        twist < 1e-8,
    )
    universal, worst = JOINTS["universal"][1], 0.0
    for _ in range(10):
        e, beta = rng.uniform(-1.2, 1.2, (2, 2))
        lost = np.linalg.norm((twist_map(universal, e) @ gamma(universal, e) - universal.T) @ beta)
        worst = max(worst, abs(float(lost) - abs(float(np.sin(e[0]) * beta[1]))))
    refused = False
    try:
        Joint("cardan", "simple", "world", "a", columns=universal)
        Mechanism.build(
            [Body("a", 1.0, inertia_kg_m2=np.eye(3))],
            [Joint("cardan", "simple", "world", "a", columns=universal)],
            (0, 0, 0),
        )
    except ModelError:
        refused = True
    report.figures |= {"universal_defect_gap": worst}
    report.row(
        "simple joints",
        "any simple joint is a holonomic joint",
        f"not those whose columns are not closed under the bracket ({', '.join(open_spans)}): B Γ β misses H "
        f"β by |sin z₁||β₂| (to {small(worst)}); the library {'refuses' if refused else 'takes'} them",
        "corrected",
        defect < 1e-12 and worst < 1e-12 and refused and open_spans == ["universal", "universal-screw"],
        "a constant H is then a nonholonomic constraint; the paper means the compound form",
    )


def _columns_text(columns: Floats) -> str:
    names = [f"{kind} {axis}" for kind in ("turn", "slide") for axis in "xyz"]
    words = []
    for column in columns:
        parts = [names[k] for k in np.flatnonzero(column)]
        words.append(f"screw {parts[0][-1]}" if len(parts) > 1 else parts[0])
    return ", ".join(words) if len(words) < 6 else "all six"


def _joint_maps(report: Report) -> None:
    rng, chain, upper = np.random.default_rng(8), 0.0, 0.0
    columns = np.eye(6)[:3]
    for _ in range(10):
        e = rng.uniform(-1.2, 1.2, 6)
        rotation, translation = configuration(np.eye(6), e)
        product = np.eye(4)
        for column, value in zip(np.eye(6), e, strict=True):
            twist = np.zeros((4, 4))
            twist[:3, :3], twist[:3, 3] = hat(column[:3]), column[3:]
            product = expm(value * twist) @ product
        chain = max(
            chain,
            float(np.abs(product[:3, :3] - rotation).max()),
            float(np.abs(product[:3, 3] - translation).max()),
        )
        s1, c1, s2, c2 = np.sin(e[0]), np.cos(e[0]), np.sin(e[1]), np.cos(e[1])
        printed = np.array([[1, 0, -s2], [0, c1, c2 * s1], [0, -s1, c1 * c2]])
        upper = max(upper, float(np.abs(twist_map(columns, e[:3])[:3] - printed).max()))
    ends = False
    try:
        gamma(columns, np.array([0.3, 0.5 * np.pi, 0.1]))
    except ValueError:
        ends = True
    jacobi = float(np.abs(bracket(X, Y) - Z).max())
    report.figures |= {"pose_gap": chain, "universal_upper_gap": upper, "bracket_gap": jacobi}
    report.row(
        "(17a), (17b)",
        "recursion with a plus, and its first value",
        f"the product R_j R_(j-1), d_j = R_j d_(j-1) + d, from 1 and 0: {small(chain)} from matrix "
        "exponentials",
        "corrected",
        chain < 1e-12,
        "rotations are multiplied",
    )
    report.row(
        "3-DOF universal joint",
        "Γ = 1, upper half of the compound map",
        f"{small(upper)} from the printed matrix",
        "holds",
        upper < 1e-13,
    )
    report.row(
        "parameters of the spherical joint",
        "Γ with 1/cos y₂",
        f"lost at y₂ = 90°: {'reported' if ends else 'not reported'}; machines use quaternions",
        "holds",
        ends,
    )
