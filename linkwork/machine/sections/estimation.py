"""The sections `estimator` and `disturbance_observer` of the controller."""

from __future__ import annotations

from typing import Literal

from linkwork.machine.sections.fields import Number, Section, entry

OBSERVER_RATIO = 10.0
"""Bandwidth of the observer, over that of the error dynamics, where the file gives none."""


class EstimatorSettings(Section):
    """Estimation of positions and velocities, and limits on sensor errors."""

    velocity: Literal["observer", "difference"] = entry(
        "Velocities of joints without velocity sensors: from an observer with the machine's model, or from "
        "filtered differences of positions, which lag",
        default="observer",
    )
    observer_bandwidth_rad_s: Number | None = entry(
        "Bandwidth of the observer. Default: ten times bandwidth_rad_s", "rad/s", None, gt=0, le=100_000
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
        "Largest sensor error that redundant sensors may show; beyond it the machine is braked",
        "rad or m",
        0.002,
        gt=0,
        le=1,
    )
    assemblies: Literal["one", "several"] | None = entry(
        "one: the machine is always enabled in the assembly mode of its initial pose. several: its sensors "
        "fit several assembly modes, and confirm_branch is needed before it is enabled. Default: one, with a "
        "warning of `linkwork check` where the sensors fit others",
        default=None,
    )


class DisturbanceSettings(Section):
    """Estimate of unmodelled forces as efforts of the motors, which the law compensates."""

    bandwidth_rad_s: Number = entry("Bandwidth of the estimate", "rad/s", gt=0, le=10_000)
