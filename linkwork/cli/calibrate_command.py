"""`linkwork calibrate`: the geometry of a machine from measured positions, distances, encoders and stops."""

from __future__ import annotations

import math
from pathlib import Path

from linkwork.calibration.calibration import CalibratedNumber, Calibration, calibrate
from linkwork.calibration.csv_measurements import read_measurements
from linkwork.calibration.geometry import UnknownParameter
from linkwork.calibration.machine_patch import calibrated_file
from linkwork.calibration.planning import planned
from linkwork.calibration.prior import Prior
from linkwork.cli.identify_command import answered
from linkwork.cli.motion_files import refuse_existing, written
from linkwork.cli.options.study import CalibrateOptions
from linkwork.identification.csv_motion import QUANTITY_UNITS
from linkwork.machine import Machine, load
from linkwork.machine.problems import MachineError
from linkwork.multibody.model import ModelError
from linkwork.terminal.failures import DONE, GOAL_FAILED, REFUSED, Misuse, write_text
from linkwork.terminal.output import complain, console, emit, goal_bar, say

_TITLES = {
    "known": "known (± one standard deviation)",
    "useless": "of no use, worse than the prior or than 1 % of the length: measure poses farther apart",
    "combination": "only known in combinations",
}


def calibrate_machine(options: CalibrateOptions) -> int:
    """Run `linkwork calibrate`."""
    machine = load(options.config)
    refuse_existing(options.out, overwrite=options.overwrite)

    def run() -> int:
        return _calibrate(machine, options) if options.plan is None else _plan(machine, options, options.plan)

    return answered(run, as_json=options.as_json, misuses=(UnknownParameter, ModelError))


def read_prior(texts: tuple[str, ...]) -> Prior:
    """Return the prior from texts: "none", "0.5mm", "0.2deg" or NAME=0.1mm. Raises Misuse."""
    found = Prior()
    for text in texts:
        name, sign, value = text.rpartition("=")
        if value == "none" and not sign:
            found = Prior(found.length, found.angle, found.own, counts=False)
            continue
        number, is_angle = _with_unit(value)
        if sign:
            found = Prior(found.length, found.angle, {**found.own, name: number}, found.counts)
        elif is_angle:
            found = Prior(found.length, number, found.own, found.counts)
        else:
            found = Prior(number, found.angle, found.own, found.counts)
    return found


def _with_unit(text: str, name: str = "--prior") -> tuple[float, bool]:
    """Return a number in m or rad and whether it is an angle. Raises Misuse."""
    for is_angle in (False, True):
        for unit, factor in sorted(QUANTITY_UNITS["q", is_angle].items(), key=lambda each: -len(each[0])):
            if not text.endswith(unit):
                continue
            try:
                value = float(text.removesuffix(unit)) * factor
            except ValueError:
                continue
            if value > 0.0 and math.isfinite(value):
                return value, is_angle
    raise Misuse(f"{name} {text!r}: write a number above 0 with its unit, such as 0.5mm or 0.2deg")


def _plan(machine: Machine, options: CalibrateOptions, count: int) -> int:
    """Propose measurements and say what they would make known."""
    sigma, is_angle = _with_unit(options.sigma, "--sigma")
    if is_angle:
        raise Misuse(f"--sigma {options.sigma}: positions and distances are lengths; write 0.05mm")
    after = None if options.file is None else read_measurements(options.file, machine)
    found = planned(machine, count, options.kind, sigma, options.parameters, read_prior(options.prior), after)
    if options.out is not None:
        write_text(options.out, found.csv())
    if options.as_json:
        emit({**found.plain(), "out": None if options.out is None else str(options.out)})
        return DONE
    for pose in found.measured.poses:
        own = (f"{name} {_shown_in(value, name, machine)}" for name, value in pose.readings.items())
        say(f"{pose.name}: {', '.join(own)}")
    say(f"\n# expected from {len(found.measured.rows)} rows, {found.information.rank} directions")
    for each, value in zip(found.parameters, found.information.sigma.tolist(), strict=True):
        factor, unit = (1e3, "mm") if each.unit == "m" else (math.degrees(1.0), "°")
        say(f"{each.name}: {f'± {factor * value:.2g} {unit}' if math.isfinite(value) else 'not alone'}")
    if options.out is not None:
        say(f"{options.out} is written: fill in its empty cells")
    return DONE


def _shown_in(value: float, joint: str, machine: Machine) -> str:
    is_angle = machine.mechanism.joint_is_angle[machine.mechanism.joint_index(joint)]
    return f"{math.degrees(value):.2f}°" if is_angle else f"{1e3 * value:.2f} mm"


def _calibrate(machine: Machine, options: CalibrateOptions) -> int:
    if options.file is None:
        raise Misuse("give a file of measurements, or --plan N to propose some")
    measured = read_measurements(options.file, machine)
    with goal_bar(console, "measurements") as bar:
        found = calibrate(machine, measured, options.parameters, read_prior(options.prior), bar)
    target = None if found.model_error or found.refused else options.out
    if target is not None:
        _write(target, found)
    if options.as_json:
        emit({**found.plain(), "out": None if target is None else str(target)})
    else:
        _say(found)
        if target is not None:
            say(f"{target} is written")
    if found.model_error:
        complain(f"model error: {found.model_error}. No file is written")
        return GOAL_FAILED
    if found.refused:
        complain(f"refused: {found.refused}. No file is written")
        return REFUSED
    return DONE


def _write(target: Path, found: Calibration) -> None:
    """Write the machine file with the calibrated numbers, which must be one that loads."""
    text = calibrated_file(found)
    written(target, lambda: target.write_text(text, encoding="utf-8"))
    try:
        load(target)
    except MachineError as error:
        complain(f"warning: {target} is written, but it does not load: {error}")


def _say(found: Calibration) -> None:
    for remark in found.remarks:
        complain(f"warning: {remark}")
    count = len(found.found)
    say(
        f"{found.machine.name}: {len(found.measured.rows)} rows in {len(found.measured.poses)} poses show "
        f"{found.rank} of {count} directions, {found.information.better} of them better than the prior"
    )
    for verdict, title in _TITLES.items():
        members = [each for each in found.found if each.verdict == verdict]
        if members:
            say(f"\n# {title}")
        for each in members:
            say(_line(each))
    for direction in found.unseen:
        say(f"\nnot seen: {direction.text}")
    for _, text, size in found.outliers:
        say(f"outlier, left out: {text}, {size:.3g} deviations")
    for play in (each for each in found.found if each.parameter.name.startswith("play.")):
        width, unit = _shown(play, play.change)
        say(f"play of {play.parameter.name.removeprefix('play.')}: {width} {unit}")


def _line(each: CalibratedNumber) -> str:
    """Return "joints.left.at_m.x = 100.2 ± 0.02 mm (file: 100; with the prior ± 0.019)"."""
    unit = _shown(each, 0.0)[1]
    value, file = _shown(each, each.value)[0], _shown(each, each.parameter.size)[0]
    deviation, with_prior = (float(_shown(each, size)[0]) for size in (each.sigma, each.sigma_with_prior))
    alone = f" ± {deviation:.2g}" if math.isfinite(deviation) else ""
    known = f"(file: {file}; with the prior ± {with_prior:.2g})"
    return f"{each.parameter.name} = {value}{alone} {unit} {known}"


def _shown(each: CalibratedNumber, value: float) -> tuple[str, str]:
    """Return a value in mm or ° as text, and that unit."""
    if each.parameter.unit == "m":
        return f"{1e3 * value:.6g}", "mm"
    return f"{math.degrees(value):.6g}", "°"
