"""Tracking of a test's goals, from its span of the log: references, errors, efforts."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.tracking import rms
from linkwork.rig.collected import Span, TestFindings

_ERROR = re.compile(r"tracking_error\((?P<name>[^)]+)\)\.max")
_WORST = "tracking_error over tolerance.max"
"""Of all coordinates that have a reference, each in its own path tolerances."""


@dataclass(frozen=True, eq=False)
class FollowedCoordinate:
    """One coordinate over n ticks: reference and actual in rad or m; limit of its error, or none."""

    name: str
    unit: str
    reference: Floats
    actual: Floats
    limit: float | None

    @property
    def error(self) -> Floats:
        """Reference less actual (n,), NaN without a reference."""
        return self.reference - self.actual

    @property
    def worst(self) -> float:
        """Largest magnitude of the error."""
        return float(np.nanmax(np.abs(self.error)))

    @property
    def rms(self) -> float:
        """Root of the error's mean square."""
        return rms(self.error[np.isfinite(self.error)])


@dataclass(frozen=True, eq=False)
class Followed:
    """One test's motion. effort: (n, motors) in parts of each motor's largest."""

    title: str
    node: str
    ticks: Ticks
    time_s: Floats
    coordinates: tuple[FollowedCoordinate, ...]
    effort: Floats


def tracked_by(machine: Machine, test: TestFindings) -> dict[str, float | None]:
    """Coordinates whose error a test asked for, with its limit."""
    found: dict[str, float | None] = {}
    names = machine.mechanism.coordinate_names
    for span in test.spans:
        found |= {name: limit for name, limit in span.tracked.items() if name in names}
    for number in test.numbers:
        match = _ERROR.fullmatch(number.name)
        if match is not None and match["name"] in names:
            found[match["name"]] = number.limit
        if number.name == _WORST:
            for name, tolerance in zip(names, machine.controller.tolerances, strict=True):
                if found.get(name, None) is None:
                    found[name] = number.limit * tolerance.path
    return found


def followed(machine: Machine, test: TestFindings, span: Span, ticks: Ticks) -> Followed | None:
    """The reference of a test within these ticks; None without one that the test requested."""
    names = machine.mechanism.coordinate_names
    limits = tracked_by(machine, test)
    if not limits:
        return None
    table = ticks.table
    at = [names.index(name) for name in limits]
    given = np.isfinite(table["reference"][:, at])
    if not given.any():
        return None
    angles = machine.mechanism.coordinate_is_angle
    coordinates = tuple(
        FollowedCoordinate(
            name,
            "rad" if angles[column] else "m",
            table["reference"][:, column],
            table["coordinate"][:, column],
            limits[name],
        )
        for name, column, known in zip(limits, at, given.T, strict=True)
        if known.any()
    )
    largest = np.array([motor.max_effort for motor in machine.motors])
    time_s = table["time_s"] - table["time_s"][0]
    title = test.requirement
    if span.title and len(test.spans) > 1:
        title = f"{title.rstrip('.')}: {span.title}"
    return Followed(title, test.node, ticks, time_s, coordinates, table["effort"] / largest)
