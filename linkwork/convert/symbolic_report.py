"""Output of `linkwork symbolic`: sections of named results of a machine's model in symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from linkwork.convert.symbolic_joints import DerivedResult, joint_remarks, joint_results
from linkwork.multibody import Mechanism
from linkwork.multibody.symbolic.equations import balls, coriolis_matrix, in_coordinates, velocity_map
from linkwork.multibody.symbolic.generated_program import friction
from linkwork.multibody.symbolic.operation_tape import Expression
from linkwork.multibody.symbolic.symbolic_model import SymbolicModel
from linkwork.multibody.symbolic.writing import WrittenFormulas, shown

MOST = 800
"""Operations, with names, above which a result is too long to be read."""


@dataclass(frozen=True)
class Result:
    """A named result: labels of its entries that are not zero, and how they are written."""

    name: str
    unit: str
    labels: list[str]
    shown: WrittenFormulas


@dataclass(frozen=True)
class TooLong:
    """A result that would be too long to mean anything: its operations with names, and written out."""

    name: str
    operations: int
    operations_written_out: int


@dataclass(frozen=True)
class ReportSection:
    """Contents of one `--show`."""

    title: str
    remarks: Sequence[str] = ()
    results: list[Result] = field(default_factory=list)
    too_long: list[TooLong] = field(default_factory=list)


class SymbolicReport:
    """Sections on one mechanism.

    `coordinates`: with rates of coordinates for all velocities; `however_long`: without a limit on the
    length.
    """

    def __init__(
        self, mechanism: Mechanism, *, coordinates: bool = False, however_long: bool = False
    ) -> None:
        """Prepare the report, without any derivation yet."""
        self.mechanism = in_coordinates(mechanism) if coordinates else mechanism
        self.model = SymbolicModel(self.mechanism, angles=True)
        self._however_long = however_long

    def section(self, what: str, progress: Callable[[float], None] = lambda _: None) -> ReportSection:
        """The section of that name; `progress` receives the completed share after each entry."""
        made: tuple[ReportSection, list[DerivedResult]] = getattr(self, f"_{what}")()
        section, wanted = made
        for k, each in enumerate(wanted):
            found = self._result(each, partial(_part, progress, k, len(wanted)))
            if isinstance(found, TooLong):
                section.too_long.append(found)
            elif found.labels or not each.name.startswith("friction"):
                section.results.append(found)
        progress(1.0)
        return section

    def _result(self, wanted: DerivedResult, progress: Callable[[float], None]) -> Result | TooLong:
        there = [
            (label, entry) for label, entry in zip(wanted.labels, wanted.derive(), strict=True) if entry != 0
        ]
        kept = [entry for _, entry in there]
        size = self.model.tape.operations(kept)
        if size > MOST and not self._however_long:
            return TooLong(wanted.name, size, self.model.tape.expanded_operations(kept))
        labels = [label for label, _ in there]
        return Result(wanted.name, wanted.unit, labels, shown(self.model, kept, progress))

    def _matrix(self, name: str, unit: str, rows: Sequence[str], derive: Callable[[], Any]) -> DerivedResult:
        columns = self.mechanism.joint_names
        labels = [f"{name}[{row}, {column}]" for row in rows for column in columns]
        return DerivedResult(name, unit, labels, lambda: list(chain.from_iterable(derive())))

    def _vector(self, name: str, unit: str, rows: Sequence[str], derive: Callable[[], Any]) -> DerivedResult:
        return DerivedResult(name, unit, [f"{name}[{row}]" for row in rows], derive)

    def _joints(self) -> tuple[ReportSection, list[DerivedResult]]:
        title = "joints: X(e), twist (ω; u) = H β in the child's axes, ė = Γ β, Γ = 1 where none is given"
        return ReportSection(title, joint_remarks(self.mechanism)), joint_results(self.model)

    def _kinematics(self) -> tuple[ReportSection, list[DerivedResult]]:
        title = "kinematics: place of each point and axes of its body, in the world"
        wanted = []
        for name in self.mechanism.point_names:
            labels = [f"axis {a} of {name}[{x}]" for a in "xyz" for x in "xyz"]
            wanted += [
                DerivedResult(name, "m", [f"{name}.{x}" for x in "xyz"], partial(self._place, name)),
                DerivedResult(f"axes of {name}", "", labels, partial(self._axes, name)),
            ]
        return ReportSection(title, () if wanted else ("the machine file names no points",)), wanted

    def _inertia(self) -> tuple[ReportSection, list[DerivedResult]]:
        names = self.mechanism.joint_names
        lower = [(i, j) for i in range(len(names)) for j in range(i + 1)]
        labels = [f"M[{names[i]}, {names[j]}]" for i, j in lower]
        wanted = DerivedResult("M", "kg m², kg m, kg", labels, lambda: [self.model.M[i][j] for i, j in lower])
        return ReportSection("inertia: M v̇ + C v + g = forces, M symmetric", self._velocities()), [wanted]

    def _coriolis(self) -> tuple[ReportSection, list[DerivedResult]]:
        remark = "Christoffel's choice where velocities are rates of coordinates: Ṁ - 2 C is skew"
        title = "coriolis: C(q, v), with C v in M v̇ + C v + g"
        wanted = self._matrix("C", "", self.mechanism.joint_names, lambda: coriolis_matrix(self.model))
        return ReportSection(title, [remark, *self._velocities()]), [wanted]

    def _gravity(self) -> tuple[ReportSection, list[DerivedResult]]:
        names, model = self.mechanism.joint_names, self.model
        wanted = [
            DerivedResult("U", "J", ["U"], lambda: [model.potential]),
            self._vector("g", "N m or N", names, lambda: model.gravity),
            self._vector("friction", "N m or N", names, lambda: friction(self.mechanism, model)),
        ]
        title = "gravity: potential U, its generalized forces g on the left side, friction on the right"
        if self.mechanism.elements:
            wanted.append(self._vector("springs_and_forces", "N m or N", names, lambda: model.element_forces))
            title += ", as are springs and applied forces"
        return ReportSection(title), wanted

    def _closures(self) -> tuple[ReportSection, list[DerivedResult]]:
        names, model = self.mechanism.row_names, self.model
        title = "closures: Φ = 0, A v = 0, A v̇ = -Ȧv"
        if not names:
            return ReportSection(title, ["this machine has no constraints beyond its joints"]), []
        off = [each.name for each in self.mechanism.constraints if not each.on]
        wanted = [
            self._vector("Φ", "m or rad", names, lambda: model.rows.phi),
            self._matrix("A", "", names, lambda: model.rows.A),
            self._vector("Ȧv", "m/s² or rad/s²", names, lambda: model.rows.Adv),
        ]
        if any(entry != 0 for entry in model.rows.drift):
            title = "closures: Φ = 0, A v = -∂Φ/∂t, A v̇ = -Ȧv, with what moves with time in Ȧv"
            wanted.insert(2, self._vector("∂Φ/∂t", "m/s or rad/s", names, lambda: model.rows.drift))
        return ReportSection(title, [f"begins switched off: {', '.join(off)}"] if off else ()), wanted

    def _poincare(self) -> tuple[ReportSection, list[DerivedResult]]:
        names, model = self.mechanism.joint_names, self.model
        wanted = [
            self._matrix("V", "", names, lambda: velocity_map(model)),
            *self._inertia()[1],
            self._matrix("C", "", names, lambda: coriolis_matrix(model, christoffel=False)),
            self._vector("V'∂U/∂q", "N m or N", names, lambda: model.gravity),
        ]
        title = "poincare: M ṗ + C p + V'∂U/∂q = V'τ, q̇ = V p (Kwatny & Blankenship 1995)"
        return ReportSection(title, self._velocities()), wanted

    def _velocities(self) -> list[str]:
        if not balls(self.model):
            return ["the velocities are the rates of the coordinates, x' that of x"]
        remark = (
            "three rotations have the angular velocity in the child's axes as quasi-velocities, ω(x), and "
            "three angles, R = Rz Ry Rx, as coordinates (the machine itself runs on quaternions)"
        )
        return [remark]

    def _place(self, name: str) -> Sequence[Expression]:
        return self.model.point(name)[1]

    def _axes(self, name: str) -> Sequence[Expression]:
        return [x for axis in self.model.point(name)[0] for x in axis]


def _part(progress: Callable[[float], None], done: int, of: int, share: float) -> None:
    progress((done + share) / of)
