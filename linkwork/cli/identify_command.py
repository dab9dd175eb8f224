"""`linkwork identify` and `linkwork validate`: the dynamics of a machine from recorded motions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

from linkwork.cli.motion_files import refuse_existing, written
from linkwork.cli.options.study import IdentifyOptions, ValidateOptions
from linkwork.identification.admissible_states import NoStates
from linkwork.identification.effort_curves import plain_curves
from linkwork.identification.identification import (
    EffortPrediction,
    FoundParameter,
    Identification,
    identify,
    predict,
)
from linkwork.identification.log_motion import read_motion
from linkwork.identification.machine_update import updated_file
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.identification.payload import effort_scales, weigh
from linkwork.identification.twin_threshold import twin_effort_share
from linkwork.machine import Machine, load
from linkwork.recordings.recording import NoRecording
from linkwork.reports.provenance import provenance
from linkwork.terminal.failures import DONE, GOAL_FAILED, REFUSED, Misuse, require, write_text
from linkwork.terminal.output import complain, console, emit, goal_bar, number, say, show, table

_TITLES = {
    "alone": "known alone (± one standard deviation)",
    "sum": "only known in these sums",
    "not excited": "not excited: the motion shows too little of these",
}


def identify_machine(options: IdentifyOptions) -> int:
    """Run `linkwork identify`."""
    machine = load(options.config)
    if not options.files:
        raise Misuse("give one recording at least")
    refuse_existing(options.out, overwrite=options.overwrite)
    if options.html is not None:
        require("reports of identifications", "identify", "jinja2")
    if options.payload is None:
        if options.twin and options.out is None:
            raise Misuse("--twin sets a threshold in the file that --out writes: give --out, too")
        if options.mass is not None:
            raise Misuse("--mass is that of a part: name its point with --payload")
        return answered(lambda: _identify(machine, options), as_json=options.as_json)
    points = [each.name for each in machine.mechanism.points]
    if options.payload not in points:
        raise Misuse(
            f"{machine.name} has no point {options.payload}; its points: {', '.join(points) or 'none'}"
        )
    if options.twin:
        raise Misuse("--twin sets a threshold in --out, from recordings of one load: leave --payload out")
    others = (options.out, options.validate, options.html)
    if len(options.files) != 2 or options.friction or any(each is not None for each in others):
        raise Misuse(
            "--payload needs two recordings, before and after gripping, and no --out, --validate, --html or "
            "--friction"
        )
    return answered(lambda: _weigh(machine, options, str(options.payload)), as_json=options.as_json)


def _weigh(machine: Machine, options: IdentifyOptions, point: str) -> int:
    before, after = (read_recording(file, machine) for file in options.files)
    if options.mass is not None:
        return _scales(machine, options, point, options.mass, before, after)
    with goal_bar(console, "equations") as bar:
        found = weigh(machine, before, after, point, cutoff_hz=options.cutoff, progress=bar)
    if options.as_json:
        emit({"machine": machine.name, "payload": found.plain()})
        return DONE
    say(f"{point}: {found.mass_kg:.5g} ± {found.mass_sigma_kg:.2g} kg")
    centre = []
    for axis, value, sigma in zip("xyz", found.com_m.tolist(), found.com_sigma_m.tolist(), strict=True):
        seen = math.isfinite(value)
        say(f"mass centre {axis}: {value:.4g} ± {sigma:.2g} m" if seen else f"mass centre {axis}: not shown")
        centre.append(f"{value:.4g}" if seen else "0")
    say(f"linkwork payload {point} {found.mass_kg:.5g} --com {' '.join(centre)}")
    return DONE


def _scales(
    machine: Machine, options: IdentifyOptions, point: str, mass: float, before: MeasuredMotion,
    after: MeasuredMotion,
) -> int:  # fmt: skip
    """Find the scales of the motors' efforts from a part of known mass."""
    with goal_bar(console, "equations") as bar:
        found = effort_scales(machine, before, after, point, mass, cutoff_hz=options.cutoff, progress=bar)
    if options.as_json:
        scales = {each.motor: {"value": each.scale, "sigma": each.sigma} for each in found}
        emit({"machine": machine.name, "effort_scales": scales})
        return DONE
    for each in found:
        say(f"recorded efforts of {each.motor}: {each.scale:.4g} ± {each.sigma:.2g} of the true ones")
    return DONE


def validate_machine(options: ValidateOptions) -> int:
    """Run `linkwork validate`."""
    machine = load(options.config)

    def run() -> int:
        motion = read_recording(options.file, machine)
        with goal_bar(console, "equations") as bar:
            found = predict(machine, motion, cutoff_hz=options.cutoff, progress=bar)
        if options.as_json:
            emit({"machine": machine.name, **found.plain()} | _curves(machine, found, options.points))
        else:
            _say_remarks(found.remarks)
            _show_prediction(machine, found, f"{machine.name}, efforts of {motion.name}")
        return DONE

    return answered(run, as_json=options.as_json)


def answered(
    run: Callable[[], int], *, as_json: bool, misuses: tuple[type[Exception], ...] = (NoRecording, NoStates)
) -> int:
    """Run a command; a refusal is one message and exit status 3, and some errors are the user's misuse."""
    try:
        return run()
    except RefusedData as error:
        complain(f"refused: {error}")
        if as_json:
            emit({"error": {"name": "REFUSED_DATA", "reason": error.reason, "message": str(error)}})
        return REFUSED
    except misuses as error:
        raise Misuse(str(error)) from None


def read_recording(file: Path, machine: Machine) -> MeasuredMotion:
    """Read a recording of a machine with motors."""
    if not machine.motors:
        raise Misuse(f"{machine.name} has no motors, and so no efforts to explain")
    return read_motion(file, machine)


def _identify(machine: Machine, options: IdentifyOptions) -> int:
    begin = perf_counter()
    motions = [read_recording(file, machine) for file in options.files]
    unseen = None if options.validate is None else read_recording(options.validate, machine)
    with goal_bar(console, "equations") as bar:
        found = identify(machine, motions, cutoff_hz=options.cutoff, progress=bar, friction=options.friction)
    validation = None
    if unseen is not None:
        validation = predict(
            machine, unseen, found.values, cutoff_hz=options.cutoff, regressor=found.model.regressor
        )
    target = None if found.model_error else options.out
    share = None
    if target is not None:
        _write_machine(target, found)
        if options.twin:
            left = predict(load(target), unseen or motions[0], cutoff_hz=options.cutoff)
            share = twin_effort_share(machine, left)
            _write_machine(target, found, share)
    if options.html is not None:
        _write_report(options.html, found, validation, perf_counter() - begin)
    if options.as_json:
        content: dict[str, Any] = found.plain()
        content["validation"] = None if validation is None else validation.plain()
        content["out"] = None if target is None else str(target)
        content["twin_effort_share"] = share
        own = found.estimate
        fitted = own.measured - own.residual
        if options.points:
            content["efforts"] = plain_curves(machine, found.equations, own.measured, fitted, options.points)
        content["html"] = None if options.html is None else str(options.html)
        emit(content)
    else:
        _say(found)
        if validation is not None:
            _show_prediction(
                machine, validation, f"efforts of {validation.recording.name}, which was not used"
            )
        if share is not None:
            say(f"twin.effort_share in {target}: {share:g}")
        for file in (target, options.html):
            if file is not None:
                say(f"{file} is written")
    if found.model_error:
        complain(
            f"model error: {found.model_error}{found.hint}. No deviations are given and no file is written, "
            "since the residuals show that the model lacks something"
        )
        return GOAL_FAILED
    return DONE


def _write_machine(target: Path, found: Identification, twin_share: float | None = None) -> None:
    text = updated_file(found, twin_share)
    written(target, lambda: target.write_text(text, encoding="utf-8"))


def _curves(machine: Machine, found: EffortPrediction, points: int) -> dict[str, Any]:
    if not points:
        return {}
    return {"efforts": plain_curves(machine, found.equations, found.measured, found.predicted, points)}


def _write_report(
    file: Path, found: Identification, validation: EffortPrediction | None, seconds: float
) -> None:
    from linkwork.identification.identification_page import identification_page

    write_text(file, identification_page(found, validation, provenance(sys.argv[1:], seconds)))


def _say(found: Identification) -> None:
    _say_remarks(found.remarks)
    own = found.equations
    say(
        f"{found.machine.name}: {len(own.row)} equations up to {own.cutoff_hz:.3g} Hz; the motion reaches "
        f"{own.excited_hz:.3g} Hz"
    )
    if own.left_out:
        say(f"left out near singular poses: {100.0 * own.left_out:.1f} % of the samples")
    for status, title in _TITLES.items():
        members = [each for each in found.found if each.status == status]
        if members:
            say(f"\n# {title}: {len(members)}")
        for each in members:
            value = _value(each, certain=not found.model_error)
            say(f"{each.base.text} = {value}" + (f"; {each.remark}" if each.remark else ""))
    for law in found.friction_laws:
        say(f"{law}")
    if found.base.unseen:
        say(f"\n# cannot be seen with these motors: {len(found.base.unseen)}")
    for owner, unseen in groupby(found.base.unseen, key=lambda each: each.owner):
        say(f"{owner}: {', '.join(each.quantity for each in unseen)}")
    shown = (f"{name} {1e3 * value:.3g} ± {1e3 * error:.2g} ms" for name, value, error in found.delays)
    say(f"\ndelay of the efforts: {', '.join(shown)}")
    for fit in found.fits:
        say(f"{fit.joint}: {100.0 * fit.unexplained:.2g} % of the effort (rms) are not explained")
    for kind in found.not_excluded:
        say(f"not excluded, since these data cannot show it: {kind}")


def _value(each: FoundParameter, *, certain: bool) -> str:
    deviation = f" ± {each.deviation:.2g}" if certain else ""
    unit = f" {each.base.first.unit}".rstrip()
    file = "" if each.file_value is None else f" (file: {number(each.file_value)})"
    return f"{number(each.value)}{deviation}{unit}{file}"


def _say_remarks(remarks: tuple[str, ...]) -> None:
    for remark in remarks:
        complain(f"warning: {remark}")


def _show_prediction(machine: Machine, found: EffortPrediction, title: str) -> None:
    angles = dict(zip(machine.mechanism.joint_names, machine.mechanism.joint_is_angle, strict=True))
    rows = [
        (
            each.joint,
            number(each.effort_rms),
            number(each.residual_rms),
            f"{100.0 * each.unexplained:.3g} %",
            "N m" if angles[each.joint] else "N",
        )
        for each in found.fits
    ]
    show(table(title, ("", "rms", "rms not predicted", "share", "unit"), rows))
