"""Calibration of a machine's geometry from measurements: numbers, deviations, outliers, and refusals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.arrays import Flags, Floats
from linkwork.calibration.choice import chosen
from linkwork.calibration.column_mixups import column_mixups
from linkwork.calibration.geometry import GeometricParameter, Geometry
from linkwork.calibration.information import (
    Information,
    admitted_changes,
    eliminated,
    information,
    leverages,
    step,
)
from linkwork.calibration.linearisation import LinearPoses, LinearRows
from linkwork.calibration.measurements import GeometryMeasurements
from linkwork.calibration.null_directions import NullDirection, null_directions
from linkwork.calibration.prior import Prior
from linkwork.identification.measured_motion import RefusedData
from linkwork.identification.unit_checks import UNIT_RATIO, refuse_positions
from linkwork.machine import Machine
from linkwork.multibody.coordinate_scales import reach_m

_ITERATIONS = 25
_DONE = 1e-6
_OUTLIER = 3.5
_MOST_OUTLIERS = 0.1
_CHECKED = 1e-3
"""Least share of a row that others predict, below which it cannot be an outlier."""
_MODEL_ERROR = 3.0
"""Residuals over their standard deviations above which the model, or the deviations, are wrong."""
_MAYBE_MIXED = ("pose", "limits", "no convergence")
"""Reasons of a refusal that swapped or reversed columns have, too."""
_MENDED = 0.3
"""Share of the residuals that remains at most where a column was wrong."""
_STOP = 0.5
"""Largest difference of a joint's place at a stop from its pose, in scaled coordinates."""
_USEFUL = 0.01
"""Deviation as a share of a length above which it is of no use."""


@dataclass(frozen=True)
class CalibratedNumber:
    """A parameter with its change (m or rad), deviations (infinite: in combinations only) and remark.

    verdict: "known", "combination", or "useless": worse than the prior, or than 1 % of the length.
    """

    parameter: GeometricParameter
    change: float
    sigma: float
    sigma_with_prior: float
    before: float
    verdict: str

    @property
    def value(self) -> float:
        """The number after calibration, m or rad."""
        return self.parameter.size + self.change

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data, SI units; an infinite deviation is None."""
        return {
            "parameter": self.parameter.name,
            "terms": dict(self.parameter.terms),
            "unit": self.parameter.unit,
            "file": self.parameter.size,
            "value": self.value,
            "change": self.change,
            "sigma": self.sigma if math.isfinite(self.sigma) else None,
            "sigma_with_prior": self.sigma_with_prior,
            "prior": self.before,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, eq=False)
class Calibration:
    """The result. rank and better: directions seen at all, and determined better than by the prior.

    outliers: lines left out with their residual in deviations. excess: residuals over their deviations.
    model_error: what the residuals show, or "".
    """

    machine: Machine
    measured: GeometryMeasurements
    found: tuple[CalibratedNumber, ...]
    information: Information
    unseen: tuple[NullDirection, ...]
    outliers: tuple[tuple[int, str, float], ...]
    excess: float
    model_error: str
    remarks: tuple[str, ...]

    @property
    def rank(self) -> int:
        """Number of directions that the measurements see."""
        return self.information.rank

    @property
    def values(self) -> Floats:
        """The changes (n; m or rad) of n parameters."""
        return np.array([each.change for each in self.found])

    @property
    def refused(self) -> str:
        """Why no file may be written although the residuals are small, or ""."""
        if any(each.verdict == "known" for each in self.found):
            return ""
        return (
            f"these measurements make none of the {len(self.found)} numbers known: a file with them may be "
            "worse than the one before. Measure other kinds of rows (positions, distances) or more poses, or "
            "free fewer numbers with --parameters"
        )

    def sigma(self, name: str) -> float:
        """Return the deviation of a parameter without priors, m or rad."""
        return next(each.sigma for each in self.found if each.parameter.name == name)

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data, SI units."""
        return {
            "machine": self.machine.name,
            "measurements": {
                "file": self.measured.name,
                "sha256": self.measured.digest,
                "poses": len(self.measured.poses),
                "rows": len(self.measured.rows),
            },
            "parameters": [each.plain() for each in self.found],
            "rank": self.rank,
            "better_than_prior": self.information.better,
            "unseen": [each.plain() for each in self.unseen],
            "outliers": [
                {"line": line, "row": text, "deviations": size} for line, text, size in self.outliers
            ],
            "residual_over_sigma": self.excess,
            "model_error": self.model_error or None,
            "refused": self.refused or None,
            "remarks": list(self.remarks),
        }


def calibrate(
    machine: Machine,
    measured: GeometryMeasurements,
    parameters: Sequence[str] = (),
    prior: Prior | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Calibration:
    """Find the numbers of a machine's geometry. parameters: see `chosen`; none: those that matter.

    Raises RefusedData for data that cannot answer, UnknownParameter.
    """
    prior = Prior() if prior is None else prior
    try:
        found = _calibrated(machine, measured, parameters, prior, progress)
    except RefusedData as refused:
        if refused.reason in _MAYBE_MIXED:
            _refuse_mixups(machine, measured, parameters, prior, math.inf)
        raise
    if found.model_error:
        _refuse_mixups(machine, measured, parameters, prior, found.excess)
    return found


def _refuse_mixups(
    machine: Machine, measured: GeometryMeasurements, parameters: Sequence[str], prior: Prior, excess: float
) -> None:
    """Raise RefusedData where the measurements fit once columns are swapped or reversed.

    excess: residuals over their deviations as they are.
    """
    best, least = "", _MENDED * excess
    for text, mended in column_mixups(measured):
        try:
            tried = _calibrated(machine, mended, parameters, prior)
        except RefusedData:
            continue
        if not tried.model_error and tried.excess < least:
            best, least = text, tried.excess
    if best:
        raise RefusedData(
            "swapped or reversed",
            f"in {measured.name} {best}, it seems: so the measurements fit, as they are they do not",
        )


def _calibrated(
    machine: Machine, measured: GeometryMeasurements, parameters: Sequence[str], prior: Prior,
    progress: Callable[[float], None] = lambda _: None,
) -> Calibration:  # fmt: skip
    """Find the numbers of a machine's geometry, with the columns as they are."""
    if not measured.poses:
        raise RefusedData("poses", "no row has readings of joints in columns q/NAME_rad")
    _refuse_readings(machine, measured)
    geometry = Geometry(machine)
    own = chosen(machine, measured, geometry, parameters)
    poses = LinearPoses(machine, measured, own, geometry)
    _refuse_units(poses)
    before = prior.of(own)
    kept = np.ones(len(measured.rows), dtype=np.bool_)
    admitted = admitted_changes(poses.unclosed(), before)
    poses.move_to(np.zeros(len(own)))
    outliers: list[tuple[int, str, float]] = []
    while True:
        linear, info = _converged(poses, kept, before, admitted, prior)
        progress(0.5)
        new = _outliers(linear, info, kept, prior, len(outliers), measured)
        if not new:
            break
        outliers += new
    _, residual, basis = eliminated(linear)
    freedom = len(residual) - info.rank - basis.shape[1]
    excess = math.sqrt(float(residual @ residual) / freedom) if freedom > 0 else 0.0
    factor = excess if freedom > 0 and excess > 1.0 + 3.0 / math.sqrt(2.0 * freedom) else 1.0
    remarks = [*measured.remarks]
    if factor > 1.0:
        remarks.append(
            f"the residuals are {excess:.2g} times the deviations given: the printed ones grow by that factor"
        )
    if not freedom:
        remarks.append("there are as many unknowns as numbers measured: nothing checks the model or the rows")
    error = _model_error(excess, freedom, linear, measured)
    seen = replace(info, sizes=info.sizes / factor)
    found = tuple(
        CalibratedNumber(parameter, change, sigma, with_prior, known, _verdict(parameter, sigma, known))
        for parameter, change, sigma, with_prior, known in zip(
            own, poses.values.tolist(), seen.sigma.tolist(), seen.sigma_with_prior.tolist(), before.tolist(),
            strict=True,
        )
    )  # fmt: skip
    progress(1.0)
    return Calibration(
        machine, measured, found, seen, null_directions(poses, seen), tuple(outliers), excess, error,
        tuple(remarks),
    )  # fmt: skip


def _converged(
    poses: LinearPoses, kept: Flags, before: Floats, admitted: Floats, prior: Prior
) -> tuple[LinearRows, Information]:
    """Move parameters and poses until the measurements are met best. Raises RefusedData."""
    for _ in range(_ITERATIONS):
        linear = _of_rows(poses.linear(), kept)
        by_parameters, residual, _ = eliminated(linear)
        info = information(by_parameters, before, admitted)
        if not info.rank:
            raise RefusedData("rank 0", "these measurements show none of the parameters: " + _remedy(poses))
        change = step(info, by_parameters, residual, poses.values, prior=prior.counts)
        ways = _ways(poses, linear, change)
        if float(np.abs(change / before).max()) > 1e4:
            break
        poses.move_to(poses.values + change, ways)
        size = max(
            [float(np.abs(change / before).max()), *(float(np.abs(way).max(initial=0)) for way in ways)]
        )
        if size < _DONE:
            return linear, info
    raise RefusedData(
        "no convergence",
        "no values of the parameters near the file's explain the measurements: check units, names of poses "
        "and order of columns, or free fewer parameters with --parameters",
    )


def _remedy(poses: LinearPoses) -> str:
    rows = poses.measured.rows
    return "measure positions, distances, or more joints than degrees of freedom" if not rows else (
        "measure in more poses that differ, or choose others with --parameters"
    )  # fmt: skip


def _of_rows(linear: LinearRows, kept: Flags) -> LinearRows:
    own = np.array([each < 0 or bool(kept[each]) for each in linear.owner], dtype=np.bool_)
    owner = tuple(each for each, stays in zip(linear.owner, own, strict=True) if stays)
    return LinearRows(linear.residual[own], linear.by_parameters[own], linear.by_others[own], owner)


def _ways(poses: LinearPoses, linear: LinearRows, change: Floats) -> list[Floats]:
    """Return the change of each pose's free coordinates that belongs to a change of the parameters."""
    if not linear.by_others.shape[1]:
        return []
    left = linear.residual - linear.by_parameters @ change
    whole = np.linalg.lstsq(linear.by_others, left, rcond=1e-10)[0]
    starts = np.cumsum([sum(poses.edges.values()), *map(len, poses.free)])
    return [
        np.asarray(whole[a:b], dtype=np.float64)
        for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]


def _outliers(
    linear: LinearRows,
    info: Information,
    kept: Flags,
    prior: Prior,
    already: int,
    measured: GeometryMeasurements,
) -> list[tuple[int, str, float]]:
    """Leave out rows whose leverage-corrected residual is too large, the largest first; return them."""
    most = int(_MOST_OUTLIERS * len(measured.rows))
    found: list[tuple[int, str, float]] = []
    while already + len(found) < most:
        by_parameters, residual, basis = eliminated(linear)
        change = step(info, by_parameters, residual, np.zeros(len(info.before)), prior=False)
        residual = residual - by_parameters @ change
        rest = 1.0 - leverages(by_parameters, info.before, basis, info, prior=prior.counts)
        own = np.where(rest > _CHECKED, np.abs(residual) / np.sqrt(np.maximum(rest, _CHECKED)), 0.0)
        scale = max(1.0, float(np.median(own)) / 0.6745)
        own = np.where(np.array(linear.owner) >= 0, own, 0.0) / scale
        worst = int(np.argmax(own))
        if not own[worst] > _OUTLIER:
            break
        row = linear.owner[worst]
        kept[row] = False
        linear = _of_rows(linear, kept)
        info = information(eliminated(linear)[0], info.before, info.admitted)
        found.append((measured.rows[row].line, row_text(measured, row), float(own[worst] * scale)))
    return found


def row_text(measured: GeometryMeasurements, index: int) -> str:
    """Return a row in words: "distance P1 - P2 (line 7)"."""
    row = measured.rows[index]
    poses = " - ".join(measured.poses[k].name for k in row.poses)
    return f"{row.kind} {poses}" + (f" (line {row.line})" if row.line else "")


def _model_error(excess: float, freedom: int, linear: LinearRows, measured: GeometryMeasurements) -> str:
    if freedom <= 0 or excess <= _MODEL_ERROR:
        return ""
    owner = linear.owner[int(np.argmax(np.abs(linear.residual)))]
    where = (
        row_text(measured, owner) if owner >= 0 else f"the readings of pose {measured.poses[-1 - owner].name}"
    )
    return (
        f"the residuals are {excess:.3g} times the deviations given, most of all in {where}: the model lacks "
        "something (play, elasticity, a parameter that is not free), columns are swapped or reversed, or the "
        "deviations are too small"
    )


def _verdict(parameter: GeometricParameter, sigma: float, before: float) -> str:
    if not math.isfinite(sigma):
        return "combination"
    if sigma > before or (parameter.unit == "m" and parameter.size and sigma > _USEFUL * abs(parameter.size)):
        return "useless"
    return "known"


def _refuse_readings(machine: Machine, measured: GeometryMeasurements) -> None:
    """Raise RefusedData for readings in a wrong unit, and for joints that stand still."""
    for name in measured.read:
        values = np.array([pose.readings[name] for pose in measured.poses if name in pose.readings])
        if len(values) > 1 and float(np.ptp(values)) == 0.0:
            raise RefusedData(
                "constant readings",
                f"the reading of {name} is the same in all {len(values)} poses: its column or its encoder is "
                "wrong, or it must move",
            )
        refuse_positions(machine, name, values, "readings")


def _refuse_units(poses: LinearPoses) -> None:
    """Raise RefusedData where measured sizes are far from those that the file predicts."""
    measured, mechanism = poses.measured, poses.mechanism
    places = poses.places()
    rows = [row for row in measured.rows if row.kind != "stop"]
    reach = reach_m(mechanism)
    for axis, name in enumerate("xyz"):
        given = [row.position[axis] is not None for row in rows]
        real_places = [float(row.position[axis] or 0.0) for row in rows]
        own = np.array([real_places, places[:, axis]]).T[given]
        if len(own) > 1:
            real, model = np.ptp(own, axis=0).tolist()
            _refuse_ratio(f"{name}_m", real, model, reach)
    sizes = [row.value for row in measured.rows if row.kind == "distance"]
    if sizes:
        _refuse_ratio("value_m", float(np.median(sizes)), reach, reach)
    planes = [k for k, row in enumerate(rows) if row.kind == "plane"]
    if planes:
        heights = np.array([rows[k].value for k in planes])
        _refuse_ratio("value_m", float(np.ptp(heights)), float(np.ptp(places[planes], axis=0).max()), reach)
    _refuse_stops(poses)
    largest = max((row.sigma for row in measured.rows), default=0.0)
    if largest > 0.2 * reach:
        raise RefusedData(
            "units", f"a deviation of {largest:.4g} m is as large as the machine: is sigma_m in mm?"
        )


def _refuse_stops(poses: LinearPoses) -> None:
    """Raise RefusedData for joints whose place at a stop is far from what their encoders read there."""
    mechanism = poses.mechanism
    for row in (row for row in poses.measured.rows if row.kind == "stop"):
        place = mechanism.joint_index(row.point)
        here = float(poses.q[row.poses[0]][place])
        if abs(row.value - here) > _STOP * mechanism.model.column_scale[place]:
            unit, ending = ("rad", "deg") if mechanism.joint_is_angle[place] else ("m", "mm")
            raise RefusedData(
                "units",
                f"line {row.line}: the stop of {row.point} is at {row.value:.4g} {unit}, where the pose "
                f"gives {here:.4g} {unit}: check sign and unit (value_{unit}, value_{ending}) of the value",
            )


def _refuse_ratio(column: str, real: float, model: float, reach: float) -> None:
    text = f"the values of {column} spread over {real:.4g} m, those of the machine over {model:.4g} m: "
    if real > UNIT_RATIO * max(model, 1e-3 * reach) and real > 2.0 * reach:
        rest = f"they seem to be in millimetres; then name the column {column.removesuffix('_m')}_mm"
        raise RefusedData("units", text + rest)
    if model > UNIT_RATIO * real and real > 0.0 and column != "value_m":
        raise RefusedData("units", f"{text}check the unit in the name of the column")
