"""Identification of a machine's dynamics from recorded motions: parameters, deviations, and a verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.base_estimate import EARLIEST, LATEST, BaseEstimate, estimate, fitted_delays
from linkwork.identification.base_parameters import BaseParameter, BaseParameters
from linkwork.identification.bootstrap import BootstrapRecording, bias, zero_columns
from linkwork.identification.consistent_samples import ClosedPoses, independent_joints
from linkwork.identification.filtered_equations import Equations, ExtraTerms, equations_of, joined
from linkwork.identification.friction_models import (
    FrictionLaw,
    FrictionRegressor,
    curve_grid,
    stribeck_curves,
)
from linkwork.identification.identified_model import IdentifiedModel, identified_model
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData, UniformMotion, on_a_grid
from linkwork.identification.missing_terms import (
    CHANGING_LOAD,
    STRIBECK,
    MissingTerm,
    extra_columns,
    missing_terms,
)
from linkwork.identification.physical_bodies import PhysicalFit, physical_fit
from linkwork.identification.regressor import Regressor
from linkwork.identification.sensor_mixups import mixups, shortened
from linkwork.identification.signal_checks import (
    refuse_contradictions,
    refuse_jumps,
    refuse_saturated,
    refuse_still,
)
from linkwork.identification.unit_checks import UNIT_RATIO, refuse_units
from linkwork.machine import Machine
from linkwork.multibody.coordinate_scales import reach_m

Status = Literal["alone", "sum", "not excited"]

NOISE_MODEL = 1.1
"""Factor of all deviations, since the noise model is estimated too; from six simulated recordings each of two
machines."""
_KNOWN = 0.2
"""Deviation, as a share of the usual size of a parameter, below which it is known."""
_SCALED = 1.6
"""Efforts of the bodies over those of the file's from which on a remark is made."""
_LARGE_SHARE, _OPPOSED = 0.2, 10.0
"""Share of the effort from which on the bodies' direction counts; doubt in a fit where it is reversed."""
_CERTAIN, _LARGE_NEGATIVE = 5.0, 0.05
"""Negative friction: deviations below zero, and share of the effort, from which on it is no chance."""
_UNPHYSICAL = 10.0
"""Squared deviations per base parameter with which bodies may miss the estimate."""
UNEXPLAINED = 0.03
"""Share of the efforts' power that a model leaves at most."""

_NOT_NEGATIVE = ("viscous", "coulomb", "armature", "stribeck", "load")
_NOT_IN_FILE = ("stribeck", "stribeck_speed", "load")
"""Kinds of parameters that cannot be negative, and that a machine file does not have."""
_SPEED_LAG_S = 0.02
"""Time over which positions give the largest speeds, so that counts of encoders do not."""

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class FoundParameter:
    """A base parameter with its estimate, standard deviation and status; file: the value of the file."""

    base: BaseParameter
    value: float
    deviation: float
    status: Status

    @property
    def file_value(self) -> float | None:
        """Value of the file; None for what a file does not have."""
        return None if self.base.first.kind in _NOT_IN_FILE else self.base.value

    @property
    def remark(self) -> str:
        """Remark on a negative value of what cannot be negative, or ""."""
        impossible = self.base.first.kind in _NOT_NEGATIVE and not self.base.others
        if not impossible or self.value >= 0.0 or self.status == "not excited":
            return ""
        sigmas = -self.value / max(self.deviation, 1e-300)
        if sigmas <= 3.0:
            return f"negative by {sigmas:.1f} standard deviations: taken as 0"
        return f"negative by {sigmas:.1f} standard deviations, as it cannot be: doubt this value; taken as 0"

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data, SI units."""
        return {
            "remark": self.remark or None,
            "parameter": self.base.first.name,
            "plus": {parameter.name: factor for parameter, factor in self.base.others},
            "text": self.base.text,
            "unit": self.base.first.unit,
            "value": self.value,
            "sigma": self.deviation,
            "file": self.file_value,
            "status": self.status,
        }


@dataclass(frozen=True, eq=False)
class Fit:
    """Residuals of one motor's or coordinate's equations: rms of effort and residual (N m or N)."""

    joint: str
    effort_rms: float
    residual_rms: float

    @property
    def unexplained(self) -> float:
        """Share of the effort's rms that remains."""
        return self.residual_rms / max(self.effort_rms, 1e-300)


@dataclass(frozen=True, eq=False)
class Identification:
    """The result: what was found, how well it explains the efforts, and what the model lacks.

    missing: kinds of terms tested. model_error: the kind that the residuals show, or "". physical: parameters
    of bodies that exist. values: all parameters of the regressor.
    """

    model: IdentifiedModel
    recordings: tuple[MeasuredMotion, ...]
    found: tuple[FoundParameter, ...]
    fits: tuple[Fit, ...]
    equations: Equations
    estimate: BaseEstimate
    missing: tuple[MissingTerm, ...]
    model_error: str
    physical: PhysicalFit
    remarks: tuple[str, ...]

    @property
    def machine(self) -> Machine:
        """The machine whose parameters are identified."""
        return self.model.machine

    @property
    def base(self) -> BaseParameters:
        """Base parameters of what is identified."""
        return self.model.base

    @property
    def friction_laws(self) -> tuple[str, ...]:
        """Laws of the friction that was asked for beside that of the file."""
        own = self.model.regressor
        return own.texts if isinstance(own, FrictionRegressor) else ()

    @property
    def hint(self) -> str:
        """Words after a model error about what to try, or ""."""
        own = self.model.regressor
        asked = own.laws if isinstance(own, FrictionRegressor) else ()
        left = [f"--friction {law}" for law in ("stribeck", "load") if law not in asked]
        if self.model_error != STRIBECK:
            return ""
        words = ". Times that jitter without showing in the recording look alike"
        return f"{words}, and so does friction by load; try {' or '.join(left)}" if left else words

    @property
    def not_excluded(self) -> tuple[str, ...]:
        """Kinds of model errors that these data cannot show."""
        return tuple(each.kind for each in self.missing if not each.excluded)

    @property
    def values(self) -> Floats:
        """All parameters (columns) of the regressor, the identified ones as bodies can have them."""
        place = {each.name: k for k, each in enumerate(self.base.parameters)}
        return np.array(
            [
                self.physical.values[place[each.name]] if each.name in place else each.value
                for each in self.model.regressor.parameters
            ]
        )

    @property
    def delays(self) -> tuple[tuple[str, float, float], ...]:
        """Each motor with the delay of its effort and the standard deviation (s)."""
        own = self.estimate
        deviations = (NOISE_MODEL * own.delay_deviations).tolist()
        return tuple(zip(self.equations.motors, own.delays.tolist(), deviations, strict=True))

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data, SI units."""
        own = self.equations
        return {
            "machine": self.machine.name,
            "recordings": [
                {"file": each.name, "sha256": each.digest, "rows": len(each.time_s)}
                for each in self.recordings
            ],
            "model_error": self.model_error or None,
            "base_parameters": len(self.found),
            "parameters": [each.plain() for each in self.found],
            "unseen": [each.name for each in self.base.unseen],
            "friction_laws": list(self.friction_laws),
            "delays_s": {motor: {"value": value, "sigma": sigma} for motor, value, sigma in self.delays},
            "fits": [
                {"joint": each.joint, "effort_rms": each.effort_rms, "residual_rms": each.residual_rms}
                for each in self.fits
            ],
            "tests": [
                {"kind": each.kind, "found": each.found, "share": each.share, "excluded": each.excluded}
                for each in self.missing
            ],
            "not_excluded": list(self.not_excluded),
            "equations": len(own.row),
            "cutoff_hz": own.cutoff_hz,
            "excited_hz": own.excited_hz,
            "left_out": own.left_out,
            "remarks": list(self.remarks),
        }


def prepared(
    machine: Machine, motion: MeasuredMotion, *, all_move: bool = True
) -> tuple[UniformMotion, list[str], Floats]:
    """Return a motion on a grid, its independent joints, and a closed pose (nq) to begin at.

    all_move: whether joints that rest are refused. Raises RefusedData for data that cannot answer.
    """
    try:
        joints = independent_joints(machine, list(motion.positions))
    except ValueError as error:
        raise RefusedData("sensors", str(error)) from None
    motors = [motor.joint for motor in machine.motors]
    uniform = on_a_grid(motion, joints, motors)
    refuse_units(machine, motion)
    if all_move:
        refuse_still(machine, motion, joints)
        refuse_jumps(motion, joints)
    refuse_saturated(machine, motion, clipped=all_move)
    first = uniform.positions[uniform.segments[0][0]]
    poses = ClosedPoses(
        machine.mechanism, machine.initial_q if motion.start is None else motion.start, joints
    )
    if not poses.go_to(first) and motion.start is None:
        raise RefusedData(
            "pose",
            f"the loops of {machine.name} cannot be closed on the way from the initial pose to the first row "
            f"of {motion.name}: check units, zeros and signs of the positions",
        )
    start = poses.pose
    refuse_contradictions(machine, motion, joints, poses)
    return uniform, joints, start


def equations_for(
    machine: Machine, motions: Sequence[MeasuredMotion], columns: Sequence[int], *,
    cutoff_hz: float | None = None, progress: Progress = lambda _: None, regressor: Regressor | None = None,
    terms: Callable[[Sequence[str], Floats], ExtraTerms] | None = None,
) -> Equations:  # fmt: skip
    """Return the filtered equations of all motions together. Raises RefusedData.

    regressor: None for that of the file's friction. terms: further columns, by independent joints and their
    largest speeds; with them, joints that rest or jump are refused.
    """
    found, own = [], regressor or Regressor(machine.mechanism)
    for k, motion in enumerate(motions):
        uniform, joints, start = prepared(machine, motion, all_move=terms is not None)
        more = None if terms is None else terms(joints, largest_speeds(uniform))
        part = equations_of(
            machine, own, uniform, joints, np.array(columns), start, cutoff_hz, more,
            lambda share, k=k: progress((k + share) / len(motions)),  # type: ignore[misc]
        )  # fmt: skip
        found.append(part)
    return joined(found)


def largest_speeds(motion: UniformMotion) -> Floats:
    """Return the largest speed of each independent joint (k) of a motion on a grid."""
    lag = max(1, round(_SPEED_LAG_S / motion.period_s))
    moved = [
        np.abs(motion.positions[first + lag : end] - motion.positions[first : end - lag]).max(axis=0)
        for first, end in motion.segments
        if end - first > lag
    ]
    return np.asarray(np.max(moved, axis=0) / (lag * motion.period_s))


def identify(
    machine: Machine, motions: Sequence[MeasuredMotion], *, cutoff_hz: float | None = None,
    progress: Progress = lambda _: None, friction: Sequence[FrictionLaw] = (),
) -> Identification:  # fmt: skip
    """Identify the parameters of a machine from recorded motions.

    friction: laws of the motors' friction beside Coulomb and viscous friction.

    Raises RefusedData for data that cannot answer, NoStates for a machine with too few poses.
    """
    model = identified_model(machine)
    try:
        if friction:
            model = _with_friction(model, motions, friction, cutoff_hz)
        found = _identified(model, motions, cutoff_hz, progress)
    except RefusedData as refused:
        if refused.reason not in ("pose", "units", "nothing left"):
            raise
        _refuse_mixups(machine, motions, np.inf)
        raise
    scale = 1.0
    if max(each.unexplained for each in found.fits) ** 2 <= UNEXPLAINED:
        scale = _effort_scale(found)
    doubt = _doubt(found)
    if doubt > 1.0:
        _refuse_mixups(machine, motions, doubt)
    if found.model_error == CHANGING_LOAD:
        raise RefusedData("load", f"{found.model_error}; give a recording with one load throughout")
    if joint := _opposed(found):
        raise RefusedData(
            "reversed",
            f"the bodies act on {joint} against those of the file: its position and effort, or gravity, "
            "are reversed",
        )
    if name := _negative(found):
        raise RefusedData(
            "reversed", f"{name} comes out negative, as it cannot be: a position or an effort may be reversed"
        )
    if not found.model_error:
        _refuse_nothing(found)
    if 1.0 / _SCALED < scale < _SCALED:
        return found
    remark = (
        f"the bodies need {scale:.3g} times the efforts of the file's: wrong torque constants look the same"
    )
    return replace(found, remarks=(*found.remarks, remark))


def _with_friction(
    model: IdentifiedModel, motions: Sequence[MeasuredMotion], laws: Sequence[FrictionLaw],
    cutoff_hz: float | None,
) -> IdentifiedModel:  # fmt: skip
    """Return the model with further friction, about what the recordings show of it."""
    machine, loads = model.machine, "load" in laws
    if loads and len(machine.motors) != machine.dof:
        raise RefusedData("motors", "friction by load needs as many motors as degrees of freedom")
    largest: list[Floats] = []

    def grid(_: Sequence[str], speeds: Floats) -> ExtraTerms:
        if not largest:  # one grid for all motions; redundant motors get the usual speed
            rest = len(machine.motors) - len(speeds)
            largest.append(np.concatenate([speeds, np.full(max(0, rest), speeds.mean())]))
        return curve_grid(machine, largest[0])

    def equations(
        terms: Callable[[Sequence[str], Floats], ExtraTerms] | None,
    ) -> tuple[IdentifiedModel, Equations]:
        own = model.with_friction(regressor)
        found = equations_for(
            machine, motions, own.columns, cutoff_hz=cutoff_hz, regressor=regressor, terms=terms
        )
        return own, found

    regressor = FrictionRegressor(machine)
    for law in ("load", "stribeck", "load"):  # the loads of the first pass lack the curves
        if law not in laws:
            continue
        own, found = equations(grid if law == "stribeck" else None)
        if law == "stribeck":
            regressor = regressor.with_curves(stribeck_curves(found, own.kept, largest[0]))
        else:
            regressor = regressor.with_loads(own.used, estimate(found, own.kept).values)
    return model.with_friction(regressor)


def _identified(
    model: IdentifiedModel, motions: Sequence[MeasuredMotion], cutoff_hz: float | None, progress: Progress, *,
    tests: bool = True,
) -> Identification:  # fmt: skip
    machine, base, kept = model.machine, model.base, model.kept
    equations = equations_for(
        machine, motions, model.columns, cutoff_hz=cutoff_hz, progress=progress, regressor=model.regressor,
        terms=partial(extra_columns, machine) if tests else None,
    )  # fmt: skip
    if len(equations.row) < 3 * len(kept):
        raise RefusedData(
            "too short", f"{len(equations.row)} equations are too few for {len(kept)} parameters"
        )
    estimated = estimate(equations, kept)
    beside, zeros = np.zeros(len(estimated.inverse)), None
    if tests:
        recordings = [BootstrapRecording(*prepared(machine, motion)) for motion in motions]
        beside = bias(model, recordings, equations, estimated)
        zeros = zero_columns(model, recordings, equations, estimated)
    estimated = estimated.widened(NOISE_MODEL, beside)
    effort = float(np.sqrt(np.mean(equations.efforts(np.zeros(len(equations.motors))) ** 2)))
    scales = usual_sizes(machine, base, effort, np.sqrt(np.mean(equations.matrix**2, axis=0)))
    physical = physical_fit(
        machine.mechanism,
        base.parameters,
        base.matrix,
        estimated.values,
        estimated.information,
        scales,
    )
    file = np.array([each.value for each in base.parameters])
    missing = missing_terms(equations, estimated, kept, equations.matrix @ file, zeros) if tests else []
    fits = fits_of(equations, estimated.measured, estimated.residual)
    known = judged(base, estimated.values, estimated.deviations, scales)
    return Identification(
        model, tuple(motions), known, fits, equations, estimated,
        tuple(missing), _model_error(missing, physical, fits), physical,
        equations.remarks,
    )  # fmt: skip


def _refuse_nothing(found: Identification) -> None:
    """Raise RefusedData where nothing is known, or a delay is at the end of those searched."""
    if all(each.status == "not excited" for each in found.found):
        raise RefusedData(
            "not excited",
            f"these recordings make none of the {len(found.found)} numbers known: move faster, farther and "
            "with more reversals (`linkwork excite`)",
        )
    for motor, delay, deviation in found.delays:
        periods = delay / found.equations.period_s
        if deviation < found.equations.period_s and not EARLIEST < periods < LATEST:
            raise RefusedData(
                "delay",
                f"the delay of the effort of {motor} is at the end of those searched, {periods:.0f} periods: "
                "shift its column in time",
            )


def _by_bodies(found: Identification) -> tuple[Floats, Floats]:
    """Return the efforts (rows each) that the identified bodies need, and those that the file's need."""
    place = {each.name: k for k, each in enumerate(found.base.parameters)}
    bodies = [
        each for each in found.found if each.base.first.kind == "inertial" and each.status != "not excited"
    ]
    matrix = found.equations.matrix[:, [place[each.base.first.name] for each in bodies]]
    own, file = ([each.value for each in bodies], [each.base.value for each in bodies])
    return np.asarray(matrix @ np.array(own)), np.asarray(matrix @ np.array(file))


def _effort_scale(found: Identification) -> float:
    """Return the bodies' efforts over those of the file. Raises RefusedData where they are far apart."""
    own, expected = (float(np.linalg.norm(each)) for each in _by_bodies(found))
    if expected > 0.0 and not 1.0 / UNIT_RATIO < own / expected < UNIT_RATIO:
        raise RefusedData(
            "units",
            f"the bodies need {own / expected:.3g} times the efforts that the file's need: check the units "
            "of positions, times and efforts in the names of the columns",
        )
    return own / expected if expected > 0.0 else 1.0


def _opposed(found: Identification) -> str:
    """Return a joint at which the bodies act against those of the file, or ""."""
    own, expected = _by_bodies(found)
    for row, fit in enumerate(found.fits):
        rows = found.equations.row == row
        sizes = float(np.linalg.norm(own[rows])), float(np.linalg.norm(expected[rows]))
        large = min(sizes) > _LARGE_SHARE * np.sqrt(rows.sum()) * fit.effort_rms
        if large and float(own[rows] @ expected[rows]) < -0.5 * sizes[0] * sizes[1]:
            return fit.joint
    return ""


def _negative(found: Identification) -> str:
    """Return a friction or armature that is negative with a good part of the effort, or ""."""
    place = {each.name: k for k, each in enumerate(found.base.parameters)}
    for each in found.found:
        if not each.remark or each.value > -_CERTAIN * each.deviation:
            continue
        effort = each.value * found.equations.matrix[:, place[each.base.first.name]]
        for row, fit in enumerate(found.fits):
            own = effort[found.equations.row == row]
            if float(np.sqrt(np.mean(own**2))) > _LARGE_NEGATIVE * fit.effort_rms:
                return each.base.first.name
    return ""


def _doubt(found: Identification) -> float:
    """Return how far a fit is from one that can be right: above 1 it is not."""
    worst = max(each.unexplained for each in found.fits)
    opposed = _OPPOSED if _opposed(found) or _negative(found) else 0.0
    return max(worst**2 / UNEXPLAINED, found.physical.misfit / _UNPHYSICAL, opposed)


def _angles_without_limits(machine: Machine) -> list[str]:
    names, angles = machine.mechanism.joint_names, machine.mechanism.joint_is_angle
    return [
        name
        for name, is_angle, limits in zip(names, angles, machine.joints, strict=True)
        if is_angle and not np.isfinite(limits.position).all()
    ]


def _refuse_mixups(machine: Machine, motions: Sequence[MeasuredMotion], doubt: float) -> None:
    """Raise RefusedData where a recording fits once a signal is swapped or reversed."""

    model = identified_model(machine)

    def doubt_of(motion: MeasuredMotion) -> float:
        try:
            tried = _identified(model, [motion], None, lambda _: None, tests=False)
        except RefusedData:
            return np.inf
        return _doubt(tried)

    for motion in map(shortened, motions):
        joints = independent_joints(machine, list(motion.positions))
        best, least = "", min(1.0, 0.3 * doubt, 0.3 * doubt_of(motion))
        for text, mended in mixups(motion, joints, _angles_without_limits(machine)):
            if (left := doubt_of(mended)) < least:
                best, least = text, left
        if best:
            raise RefusedData(
                "swapped or reversed",
                f"in {motion.name} {best}, it seems: so the efforts fit, as recorded they do not",
            )


def fits_of(equations: Equations, measured: Floats, residual: Floats) -> tuple[Fit, ...]:
    """Return the fit of each independent coordinate's equations, from both sides' difference (rows)."""
    found = []
    for k, joint in enumerate(equations.joints):
        own = equations.row == k
        size, left = (float(np.sqrt(np.mean(each[own] ** 2))) for each in (measured, residual))
        found.append(Fit(joint, size, left))
    return tuple(found)


def usual_sizes(machine: Machine, base: BaseParameters, effort: float, columns: Floats) -> Floats:
    """Return the usual size (parameters) of each one: that of a body's, or what needs a tenth of all effort.

    effort: rms of all equations; columns (parameters): rms of each one's column.
    """
    mechanism = machine.mechanism
    length = reach_m(mechanism) / max(1, len(mechanism.bodies))
    masses = {body.name: body.mass_kg for body in mechanism.bodies}
    usual = float(np.mean([mass for mass in masses.values() if mass] or [1.0]))
    found = np.empty(len(base.parameters))
    for k, each in enumerate(base.parameters):
        if each.kind == "stribeck_speed":
            found[k] = each.value
        elif each.kind == "inertial":
            found[k] = max(masses[each.owner], 0.1 * usual) * length**each.power
        else:
            found[k] = 0.1 * effort / columns[k] if columns[k] > 0.0 else 1.0
    return found


def judged(
    base: BaseParameters, values: Floats, deviations: Floats, scales: Floats
) -> tuple[FoundParameter, ...]:
    """Return base parameters with values and standard deviations (base), and what these make known.

    scales (parameters): usual sizes.
    """
    found = []
    for k, each in enumerate(base.combinations):
        usual = float(np.abs(base.matrix[k]) @ scales)
        deviation = float(deviations[k])
        known = deviation < _KNOWN * max(usual, abs(each.value))
        status: Status = "not excited" if not known else "sum" if each.others else "alone"
        found.append(FoundParameter(each, float(values[k]), deviation, status))
    return tuple(found)


def _model_error(missing: Sequence[MissingTerm], physical: PhysicalFit, fits: Sequence[Fit]) -> str:
    """Return the likely kind of model error, or ""."""
    kinds = [each.kind for each in missing if each.found]
    worst = max(fits, key=lambda each: each.unexplained)
    if kinds:
        return kinds[0]
    if worst.unexplained**2 > UNEXPLAINED:
        return f"{100.0 * worst.unexplained:.0f} % of the effort of {worst.joint} is not explained"
    if physical.misfit > _UNPHYSICAL:
        return "no bodies with positive masses and the size of the machine's explain the efforts"
    return ""


@dataclass(frozen=True, eq=False)
class EffortPrediction:
    """Efforts of a recording beside those that parameters predict; delays (s) by motor are fitted to it.

    measured, predicted (rows of `equations`): filtered efforts.
    """

    recording: MeasuredMotion
    equations: Equations
    measured: Floats
    predicted: Floats
    delays: dict[str, float]

    @property
    def fits(self) -> tuple[Fit, ...]:
        """Return the residuals of each independent coordinate."""
        return fits_of(self.equations, self.measured, self.measured - self.predicted)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return remarks on the recording, for people."""
        return self.equations.remarks

    def plain(self) -> dict[str, Any]:
        """Return the content as plain data, SI units."""
        return {
            "file": self.recording.name,
            "sha256": self.recording.digest,
            "delays_s": self.delays,
            "fits": [
                {
                    "joint": each.joint,
                    "effort_rms": each.effort_rms,
                    "residual_rms": each.residual_rms,
                    "unexplained": each.unexplained,
                }
                for each in self.fits
            ],
            "remarks": list(self.remarks),
        }


def predict(
    machine: Machine, motion: MeasuredMotion, values: Floats | None = None, *, cutoff_hz: float | None = None,
    progress: Progress = lambda _: None, regressor: Regressor | None = None,
) -> EffortPrediction:  # fmt: skip
    """Compare the efforts of a recording with those that parameters predict.

    values (columns) of the regressor; None: those of the file. regressor: None for that of the file's
    friction. Raises RefusedData.
    """
    own = regressor or Regressor(machine.mechanism)
    used = own.values if values is None else values
    columns = np.flatnonzero(used)
    equations = equations_for(
        machine, [motion], columns.tolist(), cutoff_hz=cutoff_hz, progress=progress, regressor=own
    )
    side = equations.matrix @ used[columns]
    delays = fitted_delays(equations, side)
    measured = equations.efforts(delays)
    named = dict(zip(equations.motors, delays.tolist(), strict=True))
    return EffortPrediction(motion, equations, measured, side, named)
