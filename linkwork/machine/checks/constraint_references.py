"""Whether the names in `constraints` point at something, and whether a constraint constrains anything."""

import math
from collections.abc import Iterator
from dataclasses import replace

from linkwork.machine.building.dof_names import coordinates, owned
from linkwork.machine.checks.alias_names import POINT_COORDINATES
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem
from linkwork.machine.sections.constraints import Constraint, CoordinateSpec
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.formulas import within
from linkwork.machine.sections.prescribed import ExpressionSpec
from linkwork.machine.yaml_document import Document
from linkwork.multibody.expressions.text import RESERVED, words_in

WORLD = "world"
_STEEPEST = math.radians(89.9)


def check_constraints(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return the problems of the section."""
    for name, constraint in file.constraints.items():
        here = ("constraints", name)
        ends = {end: place for end in ("a", "b") if (place := getattr(constraint, end, None)) is not None}
        for end, place in ends.items():
            if place.body != WORLD and place.body not in file.bodies:
                yield unknown(document, (*here, end, "body"), place.body, "body", [WORLD, *file.bodies])
        if ends and ends["a"].body == ends["b"].body:
            message, body = "both ends are on the same body", ends["b"].body
            remedy = "name another body at one end"
            yield document.problem((*here, "b", "body"), message, found=body, remedy=remedy)
        for place_within, coordinate in constraint.named():
            of_key = place_within[0] in ("factors", "coordinates")
            yield from check_coordinate(file, document, (*here, *place_within), coordinate, of_key=of_key)
        yield from _formulas(file, document, here, constraint)
        if isinstance(constraint, CoordinateSpec):
            yield from _unit(file, document, here, constraint)


def _formulas(
    file: MachineFile, document: Document, here: tuple[str, str], constraint: Constraint
) -> Iterator[Problem]:
    """Return the problems of names within formulas, each at its character."""
    named = constraint.coordinates_in_formulas()
    for place, name, at in named:
        for problem in check_coordinate(file, document, (*here, *place), name, of_key=False):
            known = replace(problem, allowed=f"{problem.allowed}; t, pi, deg")
            yield within(document, (*here, *place), known, at)
    for place, text in constraint.texts_of_formulas():
        for word, at in words_in(text).items():
            if word in RESERVED and word in [*owned(file), *file.task]:
                problem = document.problem(
                    (*here, *place),
                    f"{word} is reserved in expressions, and is also a coordinate",
                    found=word,
                    remedy="give the coordinate another name",
                )
                yield within(document, (*here, *place), problem, at)
    if isinstance(constraint, ExpressionSpec) and not named:
        message, remedy = "the equation names no coordinate, so that nothing is constrained", "name one"
        found, allowed = constraint.equation, ", ".join(coordinates(file))
        yield document.problem((*here, "equation"), message, found=found, allowed=allowed, remedy=remedy)


def check_coordinate(
    file: MachineFile, document: Document, path: tuple[str | int, ...], name: str, *, of_key: bool
) -> Iterator[Problem]:
    """Return the problem of a name that is no coordinate."""
    known = [*owned(file), *file.task]
    point, _, axis = name.partition(".")
    if name in known or (point in file.points and axis in POINT_COORDINATES):
        return
    if point in file.points:
        message, allowed = "a point has no such coordinate", ", ".join(POINT_COORDINATES)
        yield document.problem(path, message, of_key=of_key, found=axis or "nothing", allowed=allowed)
        return
    places = [f"{each}.{axis}" for each in file.points] if axis else []
    yield unknown(document, path, name, "coordinate", [*known, *places], of_key=of_key)


def _unit(
    file: MachineFile, document: Document, here: tuple[str, str], constraint: CoordinateSpec
) -> Iterator[Problem]:
    is_angle = coordinates(file).get(constraint.of)
    if is_angle is None:
        return
    if is_angle == constraint.turns():
        yield from _pitch(file, document, here, constraint)
        return
    found = "equals_m" if is_angle else next(iter(constraint.model_fields_set & {"equals_rad", "equals_deg"}))
    allowed = "equals_rad or equals_deg" if is_angle else "equals_m"
    message = f"{constraint.of} is {'an angle' if is_angle else 'a length'}"
    yield document.problem((*here, found), message, of_key=True, found=found, allowed=allowed)


def _pitch(
    file: MachineFile, document: Document, here: tuple[str, str], constraint: CoordinateSpec
) -> Iterator[Problem]:
    """Refuse a pitch that is held where the three angles lose their meaning."""
    task, value = file.task.get(constraint.of), constraint.value()
    is_pitch = (task.coordinate if task else constraint.of).endswith(".pitch")
    if is_pitch and isinstance(value, float) and abs(value) > _STEEPEST:
        key = "equals_deg" if constraint.equals_deg is not None else "equals_rad"
        yield document.problem(
            (*here, key),
            "the pitch cannot be held there: roll, pitch and yaw have no rates where it is ±90°",
            found=f"{math.degrees(value):g} deg",
            allowed="less than 90 deg on both sides",
            remedy="use a closure between bodies, or a point of a body that is turned",
        )
