"""Convert the sections `workspace` and `payloads` to bounds in SI units, and report their problems."""

from __future__ import annotations

import math
from collections.abc import Iterator

from linkwork.machine.checks.signal_names import condition_problems
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem
from linkwork.machine.sections.bounds import PayloadBounds, Region
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml_document import Document


def payload_bounds(file: MachineFile) -> tuple[PayloadBounds, ...]:
    """Return what may be carried, in the order of the file."""
    points = list(file.points)
    return tuple(one.at(name, points.index(name)) for name, one in file.controller.payloads.items())


def regions(file: MachineFile) -> tuple[Region, ...]:
    """Return the section `workspace`, in the order of the file."""
    points, open_range = list(file.points), (-math.inf, math.inf)
    found = []
    for name, spec in file.workspace.items():
        ranges = [one or open_range for one in (spec.x_m, spec.y_m, spec.z_m)]
        low = (float(ranges[0][0]), float(ranges[1][0]), float(ranges[2][0]))
        high = (float(ranges[0][1]), float(ranges[1][1]), float(ranges[2][1]))
        found.append(Region(name, points.index(name), low, high, spec.speed_m_s or math.inf))
    return tuple(found)


def check_bounds(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Yield what does not fit: points that do not exist or do not move, gains outside their own bounds."""
    named: list[tuple[tuple[str, ...], str]] = [(("workspace", name), name) for name in file.workspace]
    named += [(("controller", "payloads", name), name) for name in file.controller.payloads]
    for place, name in named:
        if name not in file.points:
            yield unknown(document, place, name, "point", file.points)
        elif place[0] != "workspace" and file.points[name].body == "world":
            yield document.problem(
                place, "the ground cannot carry a payload", of_key=True, found=name,
                allowed="a point of a body",
            )  # fmt: skip
    for name, payload in file.controller.payloads.items():
        if payload.carried is not None:
            place = ("controller", "payloads", name, "carried", "when")
            yield from condition_problems(file, document, place, payload.carried.when)
    bounds = file.controller.gain_bounds
    for name in ("bandwidth_rad_s", "damping_ratio"):
        values = getattr(bounds, name) if bounds is not None else None
        own = getattr(file.controller, name)
        if values is not None and not values[0] <= own <= values[1]:
            yield document.problem(
                ("controller", "gain_bounds", name), "the gain of this file is outside its bounds",
                found=f"{own:g}", allowed=f"{values[0]:g} to {values[1]:g}",
            )  # fmt: skip
