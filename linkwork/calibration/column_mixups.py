"""Columns of measurements that may be swapped or reversed: the variants to try where a calibration fails."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from linkwork.calibration.measurements import GeometryMeasurements


def column_mixups(measured: GeometryMeasurements) -> Iterator[tuple[str, GeometryMeasurements]]:
    """Yield what may be wrong, as text, with the measurements in which it is mended."""
    for name in measured.read:
        yield f"the readings of {name} are reversed", _with_readings(measured, {name: (name, -1.0)})
    for one, other in combinations(measured.read, 2):
        swapped = _with_readings(measured, {one: (other, 1.0), other: (one, 1.0)})
        yield f"the readings of {one} and {other} are swapped", swapped
    used = [k for k in range(3) if any(row.position[k] is not None for row in measured.rows)]
    for k in used:
        yield f"the column of {'xyz'[k]} is reversed", _with_axes(measured, {k: (k, -1.0)})
    for first, second in combinations(used, 2):
        swapped = _with_axes(measured, {first: (second, 1.0), second: (first, 1.0)})
        yield f"the columns of {'xyz'[first]} and {'xyz'[second]} are swapped", swapped


def _with_readings(
    measured: GeometryMeasurements, sources: Mapping[str, tuple[str, float]]
) -> GeometryMeasurements:
    """Return measurements in which joints have the readings of others, times a factor."""
    poses = []
    for pose in measured.poses:
        old = pose.readings
        new = {
            joint: factor * old[source]
            for joint, (source, factor) in sources.items()
            if joint in old and source in old
        }
        poses.append(replace(pose, readings={**old, **new}))
    return replace(measured, poses=tuple(poses))


def _with_axes(
    measured: GeometryMeasurements, sources: Mapping[int, tuple[int, float]]
) -> GeometryMeasurements:
    """Return measurements in which positions have the values of other axes, times a factor."""
    rows = []
    for row in measured.rows:
        values = list(row.position)
        for axis, (source, factor) in sources.items():
            value = row.position[source]
            values[axis] = None if value is None else factor * value
        rows.append(replace(row, position=(values[0], values[1], values[2])))
    return replace(measured, rows=tuple(rows))
