"""Checks of the section `scene`: unique names, points of grippers, conditions, speeds of planes."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.machine.building.dof_names import coordinates
from linkwork.machine.checks.signal_names import condition_problems
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.formulas import unreadable, within
from linkwork.machine.yaml import Document
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import parse_named


def check_scene(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield the problems of names, grippers and moving planes."""
    if file.scene is None:
        return
    taken = dict.fromkeys(file.points, "a point") | dict.fromkeys(file.contacts, "a contact")
    taken |= dict.fromkeys(file.joints, "a joint") | dict.fromkeys(coordinates(file), "a coordinate")
    taken |= dict.fromkeys(file.signals, "a signal")
    planes = file.scene.planes
    moving = {name for name, plane in planes.items() if plane.speed_m_s or plane.turn_rad_s}
    for section in ("parts", "grippers", "feeders", "beams", "planes"):
        for name in getattr(file.scene, section):
            if section == "planes" and name not in moving:
                continue  # nothing names it in an expression
            if name in taken:
                text = f"{taken[name]} has this name"
                place = ("scene", section, name)
                yield document.problem(place, text, of_key=True, found=name, remedy="take another name")
            taken[name] = f"one of the {section}"
    used: dict[str, str] = {}
    for name, gripper in file.scene.grippers.items():
        place = ("scene", "grippers", name)
        if gripper.point not in file.points:
            yield unknown(document, (*place, "point"), gripper.point, "point", file.points)
        elif file.points[gripper.point].body == "world":
            text = "this point is fixed in the world"
            remedy = "name a point of a moving body"
            yield document.problem((*place, "point"), text, found=gripper.point, remedy=remedy)
        elif gripper.point in used:
            text = f"{used[gripper.point]} is at this point"
            remedy = "give each gripper its own point"
            yield document.problem((*place, "point"), text, found=gripper.point, remedy=remedy)
        used[gripper.point] = name
        yield from condition_problems(file, document, (*place, "closed_when"), gripper.closed_when)
    for name in moving:
        key = "turn_rad_s" if planes[name].turn_rad_s else "speed_m_s"
        yield from _speed_problems(file, document, ("scene", "planes", name, key))


def _speed_problems(
    file: MachineFile, document: Document, path: tuple[str, str, str, str]
) -> Iterator[Problem]:
    """Yield the problems of the expression of a plane's speed."""
    assert file.scene is not None
    text, known = getattr(file.scene.planes[path[2]], path[3]), [*file.signals, "time_s"]
    try:
        names = parse_named(text).names
    except ExpressionError as error:
        yield unreadable(document, path, error)
        return
    for name, at in names.items():
        if name not in known:
            yield within(document, path, unknown(document, path, name, "signal", known), at)
