"""Whether the names in `springs` and `forces` point at something, and whether their units fit the joint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from linkwork.machine.building.dof_names import coordinates_of_force, degrees_of_freedom, owned
from linkwork.machine.checks.constraint_references import WORLD, check_coordinate
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_elements import ANGLE_KEYS, LENGTH_KEYS, AppliedForceSpec, SpringSpec
from linkwork.machine.sections.formulas import within
from linkwork.machine.yaml import Document


def check_force_elements(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return the problems of the sections `springs` and `forces`."""
    for name, spring in file.springs.items():
        yield from _spring(file, document, ("springs", name), spring)
    for name, force in file.forces.items():
        yield from _force(file, document, ("forces", name), force)


def _spring(
    file: MachineFile, document: Document, here: tuple[str, str], spring: SpringSpec
) -> Iterator[Problem]:
    if spring.joint is not None:
        angles = owned(file)
        if spring.joint not in angles:
            yield unknown(document, (*here, "joint"), spring.joint, "joint with a coordinate", angles)
            return
        is_angle = angles[spring.joint]
        misplaced = spring.given(LENGTH_KEYS if is_angle else ANGLE_KEYS)
        if misplaced:
            message = f"{spring.joint} is {'an angle' if is_angle else 'a length'}"
            allowed = ", ".join(ANGLE_KEYS if is_angle else LENGTH_KEYS)
            yield document.problem(
                (*here, misplaced[0]), message, of_key=True, found=misplaced[0], allowed=allowed
            )
    for index, point in enumerate(spring.between or ()):
        if point not in file.points:
            yield unknown(document, (*here, "between", index), point, "point", file.points)
    ends = [file.points[point].body for point in spring.between or () if point in file.points]
    if len(ends) == 2 and ends[0] == ends[1]:
        message, remedy = "both points are on the same body", "name a point of another body"
        yield document.problem((*here, "between", 1), message, found=ends[1], remedy=remedy)


def _force(
    file: MachineFile, document: Document, here: tuple[str, str], force: AppliedForceSpec
) -> Iterator[Problem]:
    if force.joint is not None:
        angles = degrees_of_freedom(file)
        if force.joint not in angles:
            yield unknown(document, (*here, "joint"), force.joint, "joint", angles)
        else:
            needed = "torque_N_m" if angles[force.joint] else "force_N"
            if force.quantity != needed:
                message = f"{force.joint} is {'an angle' if angles[force.joint] else 'a length'}"
                yield document.problem(
                    (*here, force.quantity), message, of_key=True, found=force.quantity, allowed=needed
                )
    if force.point is not None and force.point not in file.points:
        yield unknown(document, (*here, "point"), force.point, "point", file.points)
    elif force.point is not None and file.points[force.point].body == WORLD:
        message, remedy = "this point is fixed in the world", "name a point of a moving body"
        yield document.problem((*here, "point"), message, found=force.point, remedy=remedy)
    if force.body is not None and force.body not in file.bodies:
        yield unknown(document, (*here, "body"), force.body, "body", file.bodies)
    place = (*here, force.quantity)
    for name, at in coordinates_of_force(force).items():
        for problem in check_coordinate(file, document, place, name, of_key=False):
            known = replace(problem, allowed=f"{problem.allowed}; t, pi, deg")
            yield within(document, place, known, at)
