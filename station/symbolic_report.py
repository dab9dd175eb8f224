"""What `linkwork symbolic` shows: sections of named results of a machine's model in symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from multibody import Mechanism
from multibody.model import Joint
from multibody.symbolic import compound_joint_map, joint_configuration
from multibody.symbolic.equations import balls, coriolis_matrix, in_coordinates, velocity_map
from multibody.symbolic.model import SymbolicModel
from multibody.symbolic.program import friction
from multibody.symbolic.tape import Expression
from multibody.symbolic.writing import Shown, shown, simplified
from multibody.tree import Places

MOST = 800
"""Operations, with names, above which a result is too long to be read."""


@dataclass(frozen=True)
class Result:
    """A named result: labels of its entries that are not zero, and how they are written."""

    name: str
    unit: str
    labels: list[str]
    shown: Shown


@dataclass
class Section:
    """What one `--show` gives."""

    title: str
    results: list[Result] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class TooLong(Exception):
    """An explicit form that would be too long to mean anything; the text says how long, and what helps."""


class Report:
    """Sections on one mechanism; `coordinates`: with rates of coordinates for all velocities."""

    def __init__(
        self,
        name: str,
        mechanism: Mechanism,
        *,
        coordinates: bool = False,
        however_long: bool = False,
        progress: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.name = name
        self.mechanism = in_coordinates(mechanism) if coordinates else mechanism
        self.model = SymbolicModel(self.mechanism, angles=True)
        self._however_long = however_long
        self._progress = progress

    def section(self, what: str) -> Section:
        """The section of that name. Raises TooLong."""
        made: Section = getattr(self, f"_{what}")()
        self._progress(1.0)
        return made

    def _result(self, name: str, unit: str, labels: Sequence[str], entries: Sequence[Expression]) -> Result:
        there = [(label, entry) for label, entry in zip(labels, entries, strict=True) if entry != 0]
        kept = [entry for _, entry in there]
        size, explicit = self.model.tape.operations(kept), self.model.tape.expanded_operations(kept)
        if size > MOST and not self._however_long:
            raise TooLong(
                f"{name} of {self.name} takes {size} operations with common subexpressions named, and "
                f"{explicit} written out: too long to mean anything. `linkwork codegen {self.name} "
                "--language c --out DIR` writes the recursion as C code instead; "
                "--however-long shows it all the same"
            )
        self._progress(0.5)
        return Result(name, unit, [label for label, _ in there], shown(self.model, kept))

    def _matrix(self, name: str, unit: str, rows: Sequence[str], matrix: Any) -> Result:
        columns = self.mechanism.joint_names
        labels = [f"{name}[{row}, {column}]" for row in rows for column in columns]
        return self._result(name, unit, labels, [entry for row in matrix for entry in row])

    def _vector(self, name: str, unit: str, rows: Sequence[str], vector: Any) -> Result:
        return self._result(name, unit, [f"{name}[{row}]" for row in rows], vector)

    def _joints(self) -> Section:
        section = Section(
            "joints: X(e), twist (ω; u) = H β in the child's axes, ė = Γ β, with Γ = 1 where none is given"
        )
        places = Places.of(self.mechanism.joints)
        for joint in self.mechanism.joints:
            if joint.kind != "fixed":
                section.results += self._joint(joint, places)
                section.remarks.append(_form(joint, self.mechanism))
        return section

    def _joint(self, joint: Joint, places: Places) -> list[Result]:
        freedoms, first = places.freedoms[joint.name], places.first[joint.name]
        columns: list[list[Any]] = []
        groups: list[list[list[Any]]] = []
        e: list[Expression] = []
        for step in reversed(freedoms.chain):
            if step.kind == "ball":
                turns = [[sp.Integer(int(i == k)) for i in range(6)] for k in range(3)]
                columns += turns
                groups.append(turns)
                e += self.model.q[first + step.place : first + step.place + 3]
            else:
                column = [sp.nsimplify(x) if x == int(x) else sp.Float(x) for x in step.column.tolist()]
                columns.append(column)
                groups.append([column])
                e.append(self.model.q[first + step.place])
        made = compound_joint_map(groups, e)
        H, gamma = made.H, made.gamma
        names = [str(symbol) for symbol in e]
        pose = joint_configuration(columns, e)
        parts = ("ω1", "ω2", "ω3", "u1", "u2", "u3")
        found = [
            self._plain(f"X of {joint.name}", pose[:3, :], "xyz", ("x", "y", "z", "at")),
            self._plain(f"H of {joint.name}", H, parts, names),
        ]
        if gamma != sp.eye(len(e)):
            found.append(self._plain(f"Γ of {joint.name}", gamma, names, names))
        if len(e) > len(groups):  # the same joint with the rates of its coordinates as velocities
            one_by_one = compound_joint_map([[column] for column in columns], e)
            found.append(self._plain(f"compound H of {joint.name}", one_by_one.H, parts, names))
        return found

    def _plain(self, name: str, matrix: Any, rows: Sequence[str], columns: Sequence[str]) -> Result:
        labels = [f"{name}[{row}, {column}]" for row in rows for column in columns]
        return self._result(name, "", labels, [simplified(each) for each in matrix])

    def _kinematics(self) -> Section:
        section = Section("kinematics: place of each point and axes of its body, in the world")
        for name in self.mechanism.point_names:
            axes, place = self.model.point(name)
            section.results.append(self._result(name, "m", [f"{name}.{x}" for x in "xyz"], place))
            labels = [f"axis {a} of {name}[{x}]" for a in "xyz" for x in "xyz"]
            section.results.append(
                self._result(f"axes of {name}", "", labels, [x for column in axes for x in column])
            )
        if not section.results:
            section.remarks.append("the machine file names no points")
        return section

    def _inertia(self) -> Section:
        names = self.mechanism.joint_names
        lower = [
            (f"M[{a}, {b}]", self.model.M[i][j])
            for i, a in enumerate(names)
            for j, b in enumerate(names)
            if j <= i
        ]
        result = self._result("M", "kg m², kg m, kg", [x for x, _ in lower], [x for _, x in lower])
        return Section("inertia: M v̇ + C v + g = forces, M symmetric", [result], self._velocities())

    def _coriolis(self) -> Section:
        matrix = coriolis_matrix(self.model)
        result = self._matrix("C", "", self.mechanism.joint_names, matrix)
        remark = "Christoffel's choice where velocities are rates of coordinates: Ṁ - 2 C is skew"
        return Section(
            "coriolis: C(q, v), with C v in M v̇ + C v + g", [result], [remark, *self._velocities()]
        )

    def _gravity(self) -> Section:
        energy = self._result("U", "J", ["U"], [self.model.potential])
        names = self.mechanism.joint_names
        forces = self._vector("g", "N m or N", names, self.model.gravity)
        lost = self._vector("friction", "N m or N", names, friction(self.mechanism, self.model))
        title = "gravity: potential U, its generalized forces g on the left side, friction on the right"
        return Section(title, [energy, forces, *([lost] if lost.labels else [])])

    def _closures(self) -> Section:
        names, rows = self.mechanism.row_names, self.model.rows
        section = Section("closures: Φ = 0, A v = 0, A v̇ = -Ȧv")
        if not names:
            section.remarks.append("this machine has no constraints beyond its joints")
            return section
        section.results = [
            self._vector("Φ", "m or rad", names, rows.phi),
            self._matrix("A", "", names, rows.A),
            self._vector("Ȧv", "m/s² or rad/s²", names, rows.Adv),
        ]
        return section

    def _poincare(self) -> Section:
        names = self.mechanism.joint_names
        matrix = coriolis_matrix(self.model, christoffel=False)
        C = self._matrix("C", "", names, matrix)
        return Section(
            "poincare: M ṗ + C p + V'∂U/∂q = V'τ, q̇ = V p (Kwatny & Blankenship 1995)",
            [
                self._matrix("V", "", names, velocity_map(self.model)),
                *self._inertia().results,
                C,
                self._vector("V'∂U/∂q", "N m or N", names, self.model.gravity),
            ],
            self._velocities(),
        )

    def _velocities(self) -> list[str]:
        if not balls(self.model):
            return ["the velocities are the rates of the coordinates"]
        remark = (
            "three rotations have the angular velocity in the child's axes as quasi-velocities, and three "
            "angles, R = Rz Ry Rx, as coordinates (the machine itself runs on quaternions)"
        )
        return [remark]


def _form(joint: Joint, mechanism: Mechanism) -> str:
    freedoms = [name for name in mechanism.joint_names if name.partition(".")[0] == joint.name]
    columns = f"{joint.name}: {joint.kind}, {joint.parent} → {joint.child}, {', '.join(freedoms)}"
    if joint.kind == "universal":
        return f"{columns}; compound: a constant H would be a nonholonomic constraint"
    return columns
