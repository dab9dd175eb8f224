"""Output of `linkwork symbolic`: sections of named results of a machine's model in symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Literal

import sympy as sp

from linkwork.multibody import Mechanism
from linkwork.multibody.model import Joint
from linkwork.multibody.tree.link_tree import Places
from linkwork.symbolic import compound_joint_map, joint_configuration
from linkwork.symbolic.equations import balls, coriolis_matrix, in_coordinates, velocity_map
from linkwork.symbolic.generated_program import friction
from linkwork.symbolic.operation_tape import Expression
from linkwork.symbolic.symbolic_model import SymbolicModel
from linkwork.symbolic.writing import WrittenFormulas, latex, latex_names, shown, simplified, text

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


@dataclass(frozen=True)
class DerivedResult:
    """A result that is to be derived: its name and unit, labels of its entries, and how they are found."""

    name: str
    unit: str
    labels: Sequence[str]
    derive: Callable[[], Sequence[Expression]]


def joint_results(model: SymbolicModel) -> list[DerivedResult]:
    """Return X, H and Γ of each joint with degrees of freedom, in the order of the file.

    X: pose of the child's frame in the parent's. H: columns that give the twist from β, in the child's axes.
    Γ: map from β to coordinate rates, left out where it is 1.
    """
    places = Places.from_joints(model.mechanism.joints)
    moving = [joint for joint in model.mechanism.joints if joint.kind != "fixed"]
    return [each for joint in moving for each in _of_joint(model, joint, places)]


def joint_remarks(mechanism: Mechanism) -> list[str]:
    """Return a remark on every joint that has degrees of freedom: type, bodies, coordinates."""
    return [_form(joint, mechanism) for joint in mechanism.joints if joint.kind != "fixed"]


def _of_joint(model: SymbolicModel, joint: Joint, places: Places) -> list[DerivedResult]:
    columns, groups, e = _columns(model, joint, places)
    made = compound_joint_map(groups, e)
    names = [str(symbol) for symbol in e]
    parts = ("ω1", "ω2", "ω3", "u1", "u2", "u3")
    pose = joint_configuration(columns, e)
    found = [
        _matrix(f"X of {joint.name}", pose[:3, :], "xyz", ("x", "y", "z", "at")),
        _matrix(f"H of {joint.name}", made.H, parts, names),
    ]
    if made.gamma != sp.eye(len(e)):
        found.append(_matrix(f"Γ of {joint.name}", made.gamma, names, names))
    if len(e) > len(groups):  # the same joint with the rates of its coordinates as velocities
        one_by_one = compound_joint_map([[column] for column in columns], e)
        found.append(_matrix(f"compound H of {joint.name}", one_by_one.H, parts, names))
    return found


def _columns(
    model: SymbolicModel, joint: Joint, places: Places
) -> tuple[list[list[Any]], list[list[list[Any]]], list[Expression]]:
    """The columns of a joint, the same by groups, and their parameters; the first next to the child."""
    first = places.first[joint.name]
    groups: list[list[list[Any]]] = []
    e: list[Expression] = []
    for step in reversed(places.dof[joint.name].chain):
        groups.append(step.column.reshape(-1, 6).tolist())
        e += model.q[first + step.place : first + step.place + len(groups[-1])]
    return [column for group in groups for column in group], groups, e


def _matrix(name: str, matrix: Any, rows: Sequence[str], columns: Sequence[str]) -> DerivedResult:
    labels = [f"{name}[{row}, {column}]" for row in rows for column in columns]
    return DerivedResult(name, "", labels, lambda: [simplified(each) for each in matrix])


def _form(joint: Joint, mechanism: Mechanism) -> str:
    dofs = [name for name in mechanism.joint_names if name.partition(".")[0] == joint.name]
    columns = f"{joint.name}: {joint.kind}, {joint.parent} → {joint.child}, {', '.join(dofs)}"
    if joint.kind == "universal":
        return f"{columns}; compound: a constant H would be a nonholonomic constraint"
    return columns


Form = Literal["text", "latex"]
LATEX_NEEDS = r"% needs \usepackage{amsmath}; \allowdisplaybreaks lets long results continue on the next page"
_MARKS = {"text": "#", "latex": "%"}
_LETTERS = {"Φ": r"\Phi", "Γ": r"\Gamma", "Ȧv": r"\dot{A}v", "V'∂U/∂q": r"V^{\top}\partial U/\partial q"}
_LETTERS |= {f"ω{k}": rf"\omega_{k}" for k in (1, 2, 3)} | {"∂Φ/∂t": r"\partial\Phi/\partial t"}


def content(section: ReportSection, model: SymbolicModel, form: Form) -> dict[str, Any]:
    """The section as it is written with --json."""
    return {
        "title": section.title,
        "remarks": list(section.remarks),
        "results": [_written(result, model, form) for result in section.results],
        "too_long": [vars(each) for each in section.too_long],
    }


def too_long(name: str, machine: str, each: TooLong) -> str:
    """Message in place of a result that is too long."""
    return (
        f"{each.name} of {name} takes {each.operations} operations with common subexpressions named, and "
        f"{each.operations_written_out} written out: too long to read. `linkwork codegen {machine} "
        "--language c --out DIR` writes the recursion as C code instead; --however-long shows it anyway"
    )


def lines(found: dict[str, Any], form: Form, left_out: Sequence[str]) -> list[str]:
    """The lines of a section's content, as text or as LaTeX; entries that are `left_out` are listed at the
    end."""
    mark = _MARKS[form]
    made = [f"{mark} {found['title']}; entries that are not listed are zero"]
    made += [f"{mark} {remark}" for remark in found["remarks"]]
    for result in found["results"]:
        unit = f", {result['unit']}" if result["unit"] else ""
        made += ["", f"{mark} {result['name']}{unit}: {_size(result)}"]
        named = [*result["definitions"].items(), *result["entries"].items()]
        made += _align(named) if form == "latex" else [f"{name} = {value}" for name, value in named]
    for remark in left_out:
        made += ["", f"{mark} {remark}"]
    return [*made, ""]


def _size(result: dict[str, Any]) -> str:
    if not result["definitions"]:
        return f"{result['operations_shown']} operations"
    return f"{result['operations']} operations with names, {result['operations_written_out']} written out"


def _align(named: list[tuple[str, str]]) -> list[str]:
    if not named:
        return []
    rows = [rf"  {label(name)} &= {value}" for name, value in named]
    return [r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"]


def _written(result: Result, model: SymbolicModel, form: Form) -> dict[str, Any]:
    names = latex_names(model)

    def write(expression: Any) -> str:
        if form == "text":
            return text(expression)
        return " \\\\\n  &\\quad ".join(latex(expression, names))

    made = result.shown
    return {
        "name": result.name,
        "unit": result.unit,
        "definitions": {str(each.symbol): write(each.value) for each in made.definitions},
        "entries": {label: write(entry) for label, entry in zip(result.labels, made.entries, strict=True)},
        "operations": made.named_operations,
        "operations_written_out": made.explicit_operations,
        "operations_shown": made.operations,
    }


def label(name: str) -> str:
    """M[a, b] as M with an upright index, X of a[…] with a above, x12 as x with a number; ASCII alone."""
    body, _, index = name.partition("[")
    if not index and body[1:].isdigit():
        return f"{body[0]}_{{{body[1:]}}}"
    letter, _, owner = body.partition(" of ")
    made = _symbol(letter) + (rf"^{{{_upright(owner)}}}" if owner else "")
    if index:
        made += "_{" + r",\,".join(_index(each) for each in index.rstrip("]").split(", ")) + "}"
    return made


def _symbol(letter: str) -> str:
    return _LETTERS.get(letter) or (letter if len(letter) == 1 else _upright(letter))


def _index(name: str) -> str:
    return _LETTERS.get(name) or _upright(name)


def _upright(name: str) -> str:
    plain = name.replace("_", r"\_")
    return rf"\text{{{plain}}}"
