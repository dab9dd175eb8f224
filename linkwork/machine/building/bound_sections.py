"""Problems of the sections `workspace`, `payloads` and `gain_bounds`."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.machine.checks.signal_names import condition_problems
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml_document import Document


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
