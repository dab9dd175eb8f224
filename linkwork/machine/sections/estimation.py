"""The sections `estimator` and `disturbance_observer` of the controller: what it makes of its sensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linkwork.machine.sections.fields import Number, Section, entry

OBSERVER_RATIO = 10.0
"""Bandwidth of the observer, over that of the error dynamics, where the file gives none."""


class EstimatorSpec(Section):
    """How positions and velocities are found, and when they are not believed."""

    velocity: Literal["observer", "difference"] = entry(
        "Velocities of joints whose sensors give none: by an observer with the machine's model, or by the "
        "filtered difference of positions, which lags",
        default="observer",
    )
    observer_bandwidth_rad_s: Number | None = entry(
        "Bandwidth of the observer; none: ten times bandwidth_rad_s", "rad/s", None, gt=0, le=100_000
    )
    difference_cut_off_hz: Number = entry(
        "Cut-off of the low-pass filter on differences", "Hz", 100.0, gt=0, le=100_000
    )
    closure_residual_max: Number = entry(
        "Largest residual of the closures, in typical lengths or rad; beyond it the machine is braked",
        "1",
        1e-4,
        gt=0,
        le=1,
    )
    sensor_disagreement_max: Number = entry(
        "Largest error of a sensor that redundant sensors may see; beyond it the machine is braked",
        "rad or m",
        0.002,
        gt=0,
        le=1,
    )
    assemblies: Literal["one", "several"] | None = entry(
        "Whether the machine is switched on in one assembly only, that of its initial pose, or in several "
        "that its sensors cannot tell apart: then confirm_branch must be said before it is enabled. None: "
        "one, and `linkwork check` warns where the sensors fit others",
        default=None,
    )


class DisturbanceSpec(Section):
    """An estimate of what the model does not know, as an effort of the motors, which the law makes up for."""

    bandwidth_rad_s: Number = entry("Bandwidth of the estimate", "rad/s", gt=0, le=10_000)


@dataclass(frozen=True)
class EstimatorSettings:
    """The section `estimator` in SI units; `observer_bandwidth_rad_s` is always a number.

    `disturbance_bandwidth_rad_s` is 0 where no disturbance is estimated.
    """

    velocity: Literal["observer", "difference"]
    observer_bandwidth_rad_s: float
    difference_cut_off_hz: float
    closure_residual_max: float
    sensor_disagreement_max: float
    assemblies: Literal["one", "several"]
    disturbance_bandwidth_rad_s: float


def estimator_settings(
    spec: EstimatorSpec, disturbance: DisturbanceSpec | None, bandwidth_rad_s: float
) -> EstimatorSettings:
    """Return the settings, given the bandwidth of the error dynamics."""
    given = spec.model_dump(exclude={"observer_bandwidth_rad_s", "assemblies"})
    return EstimatorSettings(
        **given,
        assemblies=spec.assemblies or "one",
        observer_bandwidth_rad_s=spec.observer_bandwidth_rad_s or OBSERVER_RATIO * bandwidth_rad_s,
        disturbance_bandwidth_rad_s=0.0 if disturbance is None else disturbance.bandwidth_rad_s,
    )
