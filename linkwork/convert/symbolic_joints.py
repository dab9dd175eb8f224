"""Pose X(e) and joint maps H and Γ of each joint, simple and compound, in symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from linkwork.multibody import Mechanism
from linkwork.multibody.model import Joint
from linkwork.multibody.symbolic import compound_joint_map, joint_configuration
from linkwork.multibody.symbolic.operation_tape import Expression
from linkwork.multibody.symbolic.symbolic_model import SymbolicModel
from linkwork.multibody.symbolic.writing import simplified
from linkwork.multibody.tree.link_tree import Places


@dataclass(frozen=True)
class DerivedResult:
    """A result that is to be derived: its name and unit, labels of its entries, and how they are found."""

    name: str
    unit: str
    labels: Sequence[str]
    derive: Callable[[], Sequence[Expression]]


def joint_results(model: SymbolicModel) -> list[DerivedResult]:
    """X, H and Γ of every joint that has degrees of freedom, in the order of the file."""
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
        if step.kind == "ball":
            groups.append([[sp.Integer(int(i == k)) for i in range(6)] for k in range(3)])
        else:
            groups.append([step.column.tolist()])
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
