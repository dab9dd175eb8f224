"""The report of an identification as one self-contained HTML file: efforts, residuals, parameters."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy.signal import periodogram

from linkwork.arrays import Floats, Integers
from linkwork.identification.effort_curves import effort_series, effort_unit
from linkwork.identification.filtered_equations import Equations
from linkwork.identification.identification import EffortPrediction, Fit, Identification
from linkwork.reports.chart import MOST, Chart
from linkwork.reports.pages import render
from linkwork.reports.provenance import origin
from linkwork.reports.quantities import amount, digits

_STATUS: Final = {
    "alone": "known alone",
    "sum": "only in this sum",
    "not excited": "not excited",
}
_BANDS: Final = 200
"""Most frequencies of a spectrum; of more, neighbours are averaged."""


def identification_page(
    found: Identification, validation: EffortPrediction | None, told: Mapping[str, Any]
) -> str:
    """Return the report of an identification as one HTML file.

    validation: a recording that was not used. told: provenance, of `linkwork.reports.provenance`.
    """
    known = found.estimate
    fitted = _charts(found, found.equations, known.measured, known.measured - known.residual)
    unseen: list[Chart] = []
    if validation is not None:
        unseen = _charts(found, validation.equations, validation.measured, validation.predicted)
    recordings = [(each.name, len(each.time_s), each.digest) for each in found.recordings]
    tests = [
        (each.kind, "yes" if each.found else "no", "yes" if each.excluded else "no", digits(each.statistic))
        for each in found.missing
    ]
    return render(
        "identify.html",
        title=f"Identification of {found.machine.name}",
        found=found,
        validation=validation,
        recordings=recordings,
        parameters=list(_parameters(found)),
        tests=tests,
        delays=[(name, amount(value, "s"), amount(sigma, "s")) for name, value, sigma in found.delays],
        fits=_fits(found, found.fits),
        unseen_fits=[] if validation is None else _fits(found, validation.fits),
        charts=fitted,
        unseen_charts=unseen,
        origin=origin(told),
    )


def _parameters(found: Identification) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of parameters.

    The information about a parameter is given as the deviation that remains if all others are known.
    """
    alone = 1.0 / np.maximum(np.linalg.norm(found.estimate.information, axis=0), 1e-300)
    for each, least in zip(found.found, alone.tolist(), strict=True):
        certain = not found.model_error
        yield (
            each.base.text,
            digits(each.value),
            digits(each.deviation) if certain else "",
            "" if each.file_value is None else digits(each.file_value),
            each.base.first.unit,
            digits(least) if certain else "",
            _STATUS[each.status],
            each.remark,
        )


def _fits(found: Identification, fits: Sequence[Fit]) -> list[tuple[str, ...]]:
    return [
        (
            each.joint,
            amount(each.effort_rms, effort_unit(found.machine, each.joint)),
            amount(each.residual_rms, effort_unit(found.machine, each.joint)),
            f"{100.0 * each.unexplained:.3g} %",
        )
        for each in fits
    ]


def _charts(found: Identification, equations: Equations, measured: Floats, predicted: Floats) -> list[Chart]:
    """Return three charts of each independent joint: efforts, residual, and its spectrum."""
    drawn = []
    for row, joint in enumerate(equations.joints):
        places = np.flatnonzero(equations.row == row)
        unit = effort_unit(found.machine, joint)
        time_s, real, model = effort_series(equations, places, measured, predicted, MOST)
        efforts = Chart(f"{joint}: effort", "time / s", unit)
        efforts.line("measured", time_s, real)
        efforts.line("predicted", time_s, model)
        rest = Chart(f"{joint}: residual", "time / s", unit)
        rest.line("measured − predicted", time_s, real - model)
        spectrum = Chart(
            f"{joint}: spectrum of the residual", "frequency / Hz", f"{unit} / √Hz", log=True, decades=4,
            note="A flat line is white noise up to the filter's cut-off.",
        )  # fmt: skip
        spectrum.line("residual", *_spectrum(equations, places, measured - predicted))
        spectrum.line("effort", *_spectrum(equations, places, measured))
        drawn += [efforts, rest, spectrum]
    return drawn


def _spectrum(equations: Equations, places: Integers, values: Floats) -> tuple[Floats, Floats]:
    """Return frequencies (Hz) and amplitude densities of the longest piece without gaps."""
    blocks = equations.block[places]
    longest = places[blocks == np.bincount(blocks).argmax()]
    period_s = float(np.median(np.diff(equations.time_s[longest])))
    frequency, power = periodogram(values[longest], 1.0 / period_s, window="hann")
    bands = np.array_split(np.arange(1, len(frequency)), min(_BANDS, len(frequency) - 1))
    return (
        np.array([frequency[band].mean() for band in bands]),
        np.array([np.sqrt(power[band].mean()) for band in bands]),
    )
