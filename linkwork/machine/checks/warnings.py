"""Warnings: valid settings that a user should know of before the machine moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.visual_shapes import MeshVisual
from linkwork.machine.yaml import Document


def warnings_of(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return warnings that follow from the sections of the file."""
    for name, body in file.bodies.items():
        if body.inertia_kg_m2.unphysical:
            message = "this inertia may be one that no rigid body has, and is used as it is"
            remedy = "correct the inertia, and remove unphysical"
            place = ("bodies", name, "inertia_kg_m2")
            yield document.problem(place, message, of_key=True, remedy=remedy, severity="warning")
    yield from _mesh_warnings(file, document)
    if file.motors or file.sensors:
        yield from _period_warning(file, document)


def _period_warning(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return a warning where the ticks are too rare for the bandwidth.

    Error dynamics e'' + 2 d b e' + b² e = 0, whose acceleration is held for a period T, are stable for
    b T < min(1/d, 4 d) (Jury's criterion), without any delay of the device.
    """
    settings = file.controller
    period_s, damping = settings.period_s or file.plant.period_s, settings.damping_ratio
    largest = min(1.0 / damping, 4.0 * damping) / period_s
    if settings.bandwidth_rad_s < largest:
        return
    yield document.problem(
        ("controller", "bandwidth_rad_s"),
        f"control is unstable with this bandwidth at a period of {period_s:g} s",
        found=f"{settings.bandwidth_rad_s:g} rad/s",
        allowed=f"less than {largest:.3g} rad/s, better a tenth of it",
        remedy="lower bandwidth_rad_s, or the period",
        severity="warning",
    )


def _mesh_warnings(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return a warning for each mesh whose file is missing, or leads out of the machine file's folder."""
    folder = Path(document.file).parent
    for name, body in file.bodies.items():
        for index, shape in enumerate(body.visual):
            if not isinstance(shape, MeshVisual):
                continue
            path = folder / shape.file
            if not path.is_file():
                message, remedy = (
                    "there is no such file",
                    "give the path of a file that exists",
                )
            elif not shape.outside and not path.resolve().is_relative_to(folder.resolve()):
                message, remedy = (
                    "a link leads out of the machine file's folder",
                    "add outside: true",
                )
            else:
                continue
            place = ("bodies", name, "visual", index, "file")
            yield document.problem(place, message, found=str(path), remedy=remedy, severity="warning")
