"""The sections `plant`, `controller` and `twin`."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from linkwork.machine.sections.bounds import CoordinateGains, GainBounds, PayloadBounds
from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Count, Name, Number, Section, Switch, entry, wrong
from linkwork.machine.sections.force_settings import ForceSettings
from linkwork.machine.sections.limits import Tolerances
from linkwork.machine.sections.quantity import Quantity, one_unit
from linkwork.protocol.laws import MOTION_LAW_NAMES, MOTION_LAWS, MotionLawName

OBSERVER_RATIO = 10.0
"""Bandwidth of the observer, over that of the error dynamics, where the file gives none."""


class TwinSettings(Section):
    """The digital twin, a simulator beside the machine, and the reaction to differences."""

    on: Switch = entry("Whether it runs without being asked for by `--twin`", default=False)
    bandwidth_rad_s: Number = entry(
        "Bandwidth of the difference in effort; slower differences are detected in full", "rad/s", 60.0,
        gt=0, le=10_000,
    )  # fmt: skip
    effort_share: Number | None = entry(
        "Largest difference, as a share of each motor's largest effort. Default: motors are not compared",
        default=0.1,
        gt=0,
        le=10,
    )
    efforts: dict[CoordinateName, Annotated[Number, Field(gt=0)]] = entry(
        "Largest difference along goal coordinates, by their names", "N m or N", default={}
    )
    energy_threshold = Quantity(
        "energy_threshold", one_unit("J", "J"),
        "Largest difference in energy over `window_s`. Default: energy is not compared", None,
        absent=math.inf, gt=0,
    )  # fmt: skip
    window_s: Number = entry("Time over which the difference in energy is summed", "s", 0.5, gt=0, le=60)
    on_exceeded: Literal["tell", "stop", "fault"] = entry(
        "Reaction: report it, also stop the machine on its path, or brake with the fault MODEL_DIFFERENCE",
        default="tell",
    )


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


class PlantSettings(Section):
    """The plant daemon: its integrator, and its behaviour when the controller is silent."""

    period_s: Number = entry("Time between two states", "s", 0.001, gt=0, le=1)
    integrator: Literal["adaptive_rk4", "rk4", "semi_implicit", "gauss"] = entry(
        "Method of integration; adaptive_rk4 divides its steps, into 64 parts at most, where motion is fast; "
        "gauss is implicit and loses no energy",
        default="adaptive_rk4",
    )
    formulation: Literal["projected", "minimal"] = entry(
        "Equations of a simulated plant with constraints: projected onto the admitted motion, or minimal: "
        "only independent coordinates are integrated, and switched where they become singular; not by gauss",
        default="projected",
    )
    substeps: Count = entry("Steps of integration in a period", default=1, ge=1, le=1000)
    command_timeout_periods: Count = entry(
        "Periods without a fresh command until on_timeout acts", "periods", 20, ge=1, le=1_000_000
    )
    on_timeout: Literal["brake", "damp", "zero"] = entry(
        "Reaction to missing commands: close the brakes, damp with the motors, or apply no effort",
        default="brake",
    )
    peer_timeout_s: Number = entry(
        "Wall-clock time without a command until lockstep is left", "s", 5.0, gt=0, le=3600
    )
    on_overrun: Literal["slip", "advance"] = entry(
        "After a late period: let the plant's time slip, or advance it by the missed periods", default="slip"
    )
    fmus: dict[str, str] = entry(
        "FMUs of others in place of motors of the simulated plant, by name: their files, beside this one",
        default={},
    )
    connect: list[str] = entry("Connections of these FMUs, TARGET=SOURCE; see the page of FMUs", default=[])
    set: dict[str, Any] = entry(
        "Values in which the simulated plant differs from the model: "
        '{"upper_arm.mass_kg": "+20%", "elbow.coulomb_N_m": 0.5}',
        default={},
    )

    @model_validator(mode="after")
    def _formulation_takes_the_integrator(self) -> Self:
        if self.formulation == "minimal" and self.integrator == "gauss":
            raise wrong(
                "the method of Gauss cannot integrate minimal coordinates",
                "minimal, with integrator gauss",
                "with gauss: projected; with minimal: adaptive_rk4, rk4, semi_implicit",
                "write formulation: projected, or integrator: adaptive_rk4",
                ("formulation",),
            )
        return self


class PreloadLimit(Section):
    """A motor's pre-load from the start, and the largest that may be asked for (N m or N, at the joint)."""

    effort: Number = entry("Initial pre-load of the motor", "N m or N", 0.0)
    most: Number = entry("Largest pre-load that may be set in operation", "N m or N", gt=0)


class ControllerSettings(Section):
    """The controller daemon: its law, its tolerances, and its time-outs."""

    period_s: Number | None = entry(
        "Time between two ticks; the plant's period, which is also the default", "s", None, gt=0, le=1
    )
    law: MotionLawName = entry(
        "Law of motion. " + "; ".join(f"{law.label}: {law.spec.about}" for law in MOTION_LAWS),
        default=MOTION_LAW_NAMES[0],
    )
    law_class: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] | None = entry(
        "Class of the law `custom`, package.module:Class (docs/own_kernels.md)", default=None
    )
    goal_coordinates: Annotated[list[CoordinateName], Field(min_length=1, max_length=100)] | None = entry(
        "Goal coordinates where a goal names none, one per degree of freedom. Default: the joints, under "
        "constraints those with motors first",
        default=None,
    )
    bandwidth_rad_s: Number = entry("Bandwidth of the error dynamics", "rad/s", 20.0, gt=0, le=10_000)
    damping_ratio: Number = entry("Damping ratio of the error dynamics", "1", 1.0, gt=0, le=100)
    gains: dict[CoordinateName, CoordinateGains] = entry(
        "Gains of goal coordinates that differ from these two, by name", default={}
    )
    estimator: EstimatorSettings = entry(
        "Estimation of positions and velocities", default=EstimatorSettings()
    )
    disturbance_observer: DisturbanceSettings | None = entry(
        "Disturbance observer. Default: off", default=None
    )
    preload: dict[CoordinateName, PreloadLimit] = entry(
        "Internal force of machines with redundant motors, by the names of motors", default={}
    )
    effort_scale: dict[CoordinateName, Annotated[Number, Field(gt=0, le=1e9)]] = entry(
        "For machines with redundant motors: scale of each motor's effort, by the names of motors; the sum "
        "of squares of the scaled efforts is minimized. Default: the largest effort",
        "N m or N",
        default={},
    )
    gain_bounds: GainBounds | None = entry(
        "Bounds for changes of bandwidth and damping in operation. Default: no changes",
        default=None,
    )
    payloads: dict[Name, PayloadBounds] = entry("Largest payloads, by the names in `points`", default={})
    effort_filter_hz: Number = entry("Cut-off of the low-pass filter on efforts; 0: none", "Hz", 0.0, ge=0)
    tolerances: Tolerances = entry("Tolerances of goals", default=Tolerances())
    force: ForceSettings = entry("Control of forces that goals name", default=ForceSettings())
    loss_limit: Count = entry(
        "States lost in a row until the link counts as broken", "periods", 20, ge=1, le=1_000_000
    )
    loss_ratio_per_s: Number = entry(
        "Fraction of the states that may be lost within one second", "1", 0.2, gt=0, le=1
    )
    lease_s: Number = entry("Time without messages until a client's lease is lost", "s", 2.0, gt=0, le=3600)
    orphan_timeout_s: Number = entry(
        "Time for which a loop without gateway holds the machine before it brakes and ends",
        "s",
        30.0,
        gt=0,
        le=86_400,
    )
    publish: tuple[Literal["reactions"], ...] = entry(
        "What each tick publishes beside its usual record: reactions, the forces and moments in all "
        "joints and constraints",
        default=(),
        max_length=1,
    )
    telemetry_hz: Number = entry("Rate of telemetry", "Hz", 100.0, gt=0, le=100_000)
    log_cap_MB: Number = entry(
        "Size at which the oldest segments of the log are dropped", "MB", 2000.0, ge=1, le=1_000_000
    )

    @property
    def log_cap_bytes(self) -> int:
        """Size at which the oldest segments of the log are dropped, bytes."""
        return round(self.log_cap_MB * 1e6)

    @property
    def observer_bandwidth_rad_s(self) -> float:
        """Bandwidth of the estimator's observer."""
        return self.estimator.observer_bandwidth_rad_s or OBSERVER_RATIO * max(
            self.gain_of(name)[0] for name in ("", *self.gains)
        )

    @property
    def disturbance_bandwidth_rad_s(self) -> float:
        """Bandwidth of the disturbance observer; 0 where no disturbance is estimated."""
        return 0.0 if self.disturbance_observer is None else self.disturbance_observer.bandwidth_rad_s

    def gain_of(self, name: str) -> tuple[float, float]:
        """Return bandwidth (rad/s) and damping ratio of a coordinate, without what couples it to others."""
        own = self.gains.get(name)
        if own is None:
            return self.bandwidth_rad_s, self.damping_ratio
        omega = own.bandwidth_rad_s or math.sqrt(max(own.position_per_s2.get(name, 0.0), 0.0))
        omega = omega or self.bandwidth_rad_s
        return omega, own.damping_ratio or own.rate_per_s.get(name, 0.0) / (2.0 * omega) or self.damping_ratio

    def bounds_of(self, gain: str) -> tuple[float, float]:
        """Return the bounds of a gain; its own value where the file gives none."""
        given = None if self.gain_bounds is None else getattr(self.gain_bounds, gain)
        low, high = given or (getattr(self, gain),) * 2
        return low, high
