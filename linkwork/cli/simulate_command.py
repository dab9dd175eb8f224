"""The command `simulate`: the plant alone, offline."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from linkwork.arrays import Floats
from linkwork.cli.motion_files import ENDINGS, write_columns, write_csv, written
from linkwork.cli.options.files import SimulateOptions
from linkwork.command_line import imported
from linkwork.machine import Machine, load
from linkwork.machine.nearest_name import listed
from linkwork.machine.units import parse_assignment, parse_speed
from linkwork.offline.constraint_switching import parse_switch
from linkwork.offline.efforts import MotorEfforts, parse_effort, parse_force, with_forces
from linkwork.offline.outputs import columns_of
from linkwork.offline.reaction_samples import ReactionRequest
from linkwork.offline.run import Balance, Motion
from linkwork.offline.run import simulate as simulated
from linkwork.offline.start_state import StartState, begin
from linkwork.plant.simulator.simulator import SimulationDiverged
from linkwork.recordings.signal_plot import draw_panels, panels_by_unit
from linkwork.terminal.failures import Misuse, require
from linkwork.terminal.output import complain, console, emit, number, say, table

Value = TypeVar("Value")
_LSODA_S = 100.0
"""Longest motion of which `lsoda` is a reference without a warning, s (benchmarks/long_energy.py)."""


def _start(machine: Machine, options: SimulateOptions) -> StartState:
    coordinates = machine.mechanism.coordinate_names
    names = [name for name in coordinates if name in machine.mechanism.joint_names]

    def position(text: str) -> tuple[str, float]:
        index, value = parse_assignment(text, machine)
        if coordinates[index] not in names:
            raise Misuse(f"{text}: only joints have an initial position; there are {', '.join(names)}")
        return coordinates[index], value

    positions = _once(options.initial, position, "--initial")
    speeds = _once(options.speed, lambda text: parse_speed(text, machine), "--speed")
    return StartState(positions, speeds, options.start)


def _once(texts: Sequence[str], read: Callable[[str], tuple[str, Value]], option: str) -> dict[str, Value]:
    """Return assignments by name. Raises Misuse where one is given twice."""
    found: dict[str, Value] = {}
    for text in texts:
        name, value = read(text)
        if name in found:
            raise Misuse(f"{option} {text}: {name} is given twice")
        found[name] = value
    return found


def _efforts(machine: Machine, options: SimulateOptions, start: StartState) -> dict[str, str] | MotorEfforts:
    """Return the efforts of motors by name, or with FMUs what lets these act."""
    given = _once(options.effort, lambda text: parse_effort(text, machine), "--effort")
    if not options.fmu and not machine.plant.fmus:
        if options.connect:
            raise Misuse("--connect connects FMUs: add --fmu NAME=FILE.fmu")
        return given
    require("FMUs of others", "fmu", "fmpy")
    files = dict(imported("fmu.fmu_plant:files_of")(machine))
    files |= {name: Path(path) for name, path in _once(options.fmu, _named_file, "--fmu").items()}
    efforts: MotorEfforts = imported("fmu.fmu_coupling:FmuEfforts")(
        machine, given, files, [*machine.plant.connect, *options.connect], begin(machine, start)
    )
    return efforts


def _named_file(text: str) -> tuple[str, str]:
    name, sign, path = (part.strip() for part in text.partition("="))
    if not (sign and path and name.isidentifier()):
        raise Misuse(f"--fmu {text}: not a named file; write NAME=FILE.fmu, say drive=motor.fmu")
    return name, path


def simulate(options: SimulateOptions) -> None:
    """Run `linkwork simulate`."""
    if options.as_csv and options.as_json:
        raise Misuse("choose one of --csv (the samples) and --json (the summary)")
    if options.out is not None and options.out.suffix not in ENDINGS:
        raise Misuse(f"--out {options.out}: the name must end in .csv or .npz")
    machine = load(options.config, options.plant_set, offline=True)
    for warning in machine.warnings:
        if warning.key.endswith("inertia_kg_m2"):
            complain(str(warning))
    efforts: dict[str, str] | MotorEfforts = {}
    try:
        start = _start(machine, options)
        efforts = _efforts(machine, options, start)
        motion = simulated(
            with_forces(machine, _once(options.force, parse_force, "--force")),
            options.duration,
            options.dt,
            start,
            options.integrator,
            efforts,
            options.every,
            options.formulation,
            options.stabilisation,
            options.track,
            ReactionRequest(options.reactions, options.constraint_efforts, options.reactions_at),
            [parse_switch(text, machine.aliases) for text in options.switches],
            options.rtol,
            options.atol,
            options.gamma,
            options.accuracy,
        )
    except (ValueError, SimulationDiverged) as error:
        raise Misuse(str(error)) from None
    finally:
        if isinstance(efforts, MotorEfforts):
            efforts.close()
    if options.integrator == "lsoda" and options.duration > _LSODA_S:
        complain(
            f"warning: over {options.duration:g} s the errors of lsoda exceed those of dop853 by a factor of "
            "100; for a reference use --integrator dop853"
        )
    files = {}
    if options.out is not None:
        files["out"] = str(options.out)
        written(options.out, partial(write_columns, options.out, motion.columns()))
    if options.plot is not None:
        files["plot"] = str(options.plot)
        written(options.plot, partial(draw_motion, machine, motion, options.plot))
    if options.as_csv:
        write_csv(sys.stdout, motion.columns())
    elif options.as_json:
        emit(_summary(motion) | files)
    else:
        _say_motion(machine.name, motion)


def _summary(motion: Motion) -> dict[str, Any]:
    """Return the output of --json; docs/simulate.md has its keys."""
    summary: dict[str, Any] = {
        "time_s": float(motion.time_s[-1]),
        "q": dict(zip(motion.position_names, motion.q[-1].tolist(), strict=True)),
        "v": dict(zip(motion.joint_names, motion.v[-1].tolist(), strict=True)),
        "energy_start_J": motion.energy_start_J,
        "energy_end_J": motion.energy_end_J,
        "steps": motion.steps,
        "steps_per_s": motion.steps_per_s,
        **asdict(motion.balance),
        "undetermined": list(motion.undetermined),
        "switches": motion.switches,
    }
    if motion.error is not None:
        summary |= {"error": motion.error, "dt_s": motion.dt_s}
    if motion.inertia_condition is not None:
        least, most = motion.inertia_condition
        summary |= {"inertia_condition_min": least, "inertia_condition_max": most}
    asked = {
        "points": motion.points,
        "reactions": motion.reactions,
        "constraint_efforts": motion.constraint_efforts,
    }
    return summary | {name: each.summary() for name, each in asked.items() if each is not None}


def _say_motion(name: str, motion: Motion) -> None:
    """Print the summary."""
    speeds = dict(zip(motion.joint_names, motion.v[-1].tolist(), strict=True))
    positions = zip(motion.position_names, motion.q[-1].tolist(), strict=True)
    rows = [(each, number(value), number(speeds.get(each))) for each, value in positions]
    console.print(table(f"{name} after {motion.time_s[-1]:g} s", ("", "rad, m", "per second"), rows))
    _say_balance(motion, motion.balance)
    if motion.inertia_condition is not None:
        least, most = motion.inertia_condition
        say(f"condition number of the inertia matrix {least:.4g} to {most:.4g}")
    _say_points_and_reactions(motion)
    for event in motion.balance.switched:
        loss = f": {event.energy_loss_J:.6g} J lost by an impulse of {event.impulse:.6g}" if event.on else ""
        say(f"{event.constraint} switched {'on' if event.on else 'off'} at {event.time_s:g} s{loss}")
    if motion.error is not None:
        error = f"{motion.error:.2g} (rad, m, per second; relative beyond 1)"
        say(f"estimated error {error}, steps of {motion.dt_s:.3g} s")
    say(f"{motion.steps} steps, {motion.steps_per_s:,.0f} a second")


def _say_balance(motion: Motion, balance: Balance) -> None:
    """Print energy and constraint errors."""
    say(f"energy {motion.energy_start_J:.9g} J → {motion.energy_end_J:.9g} J")
    if motion.undetermined:
        names, verb = listed(motion.undetermined), "holds" if len(motion.undetermined) == 1 else "hold"
        say(f"not determined: loads and the work of constraints, as {names} {verb} to second order only")
    else:
        say(f"largest difference between energy and work {balance.energy_balance_error_J:.3g} J")
    if balance.rank_min is not None:
        say(
            f"largest constraint residual {balance.residual_position_max:.3g} (m or rad), "
            f"{balance.residual_velocity_max:.3g} per second; rank {balance.rank_min} to {balance.rank_max}, "
            f"smallest singular value {number(balance.sigma_min)}; "
            f"branch poses passed: {balance.singular_passages}"
        )
    if motion.switches is not None:
        say(f"changed its independent coordinates {motion.switches} times")


def _say_points_and_reactions(motion: Motion) -> None:
    """Print tables of tracked points at the end, and of the largest reactions and constraint efforts."""
    if motion.points is not None:
        rows = [
            (name, *(" ".join(number(x) for x in each[key]) for key in ("position_m", "velocity_m_s")))
            for name, each in motion.points.summary().items()
        ]
        console.print(table("points at the end (world)", ("", "x y z, m", "x y z, m/s"), rows))
    if motion.reactions is not None:
        largest: list[tuple[str, ...]] = [
            (name, str(each["on_body"]), *(_largest(each, key) for key in ("force", "moment", "effort")))
            for name, each in motion.reactions.summary().items()
        ]
        console.print(table("largest reactions", ("", "on", "N", "N m", "effort"), largest))
    if motion.constraint_efforts is not None:
        exerted = [
            (name, f"{number(float(str(each['effort_max'])))} {each['unit']}")
            for name, each in motion.constraint_efforts.summary().items()
        ]
        console.print(table("largest constraint efforts", ("", "effort"), exerted))


def _largest(summary: dict[str, Any], what: str) -> str:
    """Return the largest magnitude of a force, moment or effort, with its unit, or a dash."""
    for unit in ("N", "N_m"):
        value = summary.get(f"{what}_max_{unit}")
        if value is not None:
            return number(value) + (f" {unit.replace('_', ' ')}" if what == "effort" else "")
    return "–"


_COLUMN = re.compile(r"(.*?)(?:_constraint)?_(m_s|N_m|m|N)")
_TITLES = {"m": "points", "m/s": "velocity of points"}


def draw_motion(machine: Machine, motion: Motion, path: Path) -> None:
    """Write a picture of a motion. Raises ValueError for unknown formats, OSError."""
    draw_panels(motion.time_s, panels_by_unit(_curves(machine, motion)), path, machine.name)


def _curves(machine: Machine, motion: Motion) -> Iterator[tuple[str, str, str, Floats]]:
    """Yield title, label, unit and values (samples) of each curve; of reactions, the magnitudes."""
    mechanism = machine.plant_mechanism
    angles = dict(zip(mechanism.coordinate_names, mechanism.coordinate_is_angle, strict=True))
    for name, values in zip(motion.position_names, motion.q.T, strict=True):
        unit = {True: "rad", False: "m", None: ""}[angles.get(name)]  # a quaternion has none
        yield "position", name, unit, values
    for name, angle, values in zip(motion.joint_names, mechanism.joint_is_angle, motion.v.T, strict=True):
        yield "velocity", name, "rad/s" if angle else "m/s", values
    if motion.reactions is not None:
        for k, name in enumerate(motion.reactions.names):
            yield "reaction forces", name, "N", np.linalg.norm(motion.reactions.force_N[:, k], axis=1)
            yield "reaction moments", name, "N m", np.linalg.norm(motion.reactions.moment_N_m[:, k], axis=1)
    for column, values in columns_of(motion.points, None, motion.constraint_efforts).items():
        stem, unit = _COLUMN.fullmatch(column).groups()  # type: ignore[union-attr]
        unit = unit.replace("m_s", "m/s").replace("_", " ")
        yield _TITLES.get(unit, "constraint efforts"), stem, unit, values
