"""The command `simulate`: the plant alone, offline."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from linkwork.cli.choices import (
    FormulationChoice,
    IntegratorChoice,
    PlaceChoice,
    StabilisationChoice,
    StartChoice,
)
from linkwork.cli.connected import AsJson
from linkwork.cli.file_commands import Config
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import complain, console, emit, number, say, table

if TYPE_CHECKING:
    from linkwork.machine import Machine
    from linkwork.plant.offline.run import Balance, Motion
    from linkwork.plant.offline.start_state import StartState

Texts = list[str] | None
Value = TypeVar("Value")
_LSODA_S = 100.0
"""Longest motion of which `lsoda` is a reference without a warning, s (benchmarks/long_energy.py)."""


def _start(machine: Machine, initial: Texts, speed: Texts, start: str) -> StartState:
    from linkwork.machine.units import parse_assignment, parse_speed
    from linkwork.plant.offline.start_state import StartState

    coordinates = machine.mechanism.coordinate_names
    names = [name for name in coordinates if name in machine.mechanism.joint_names]

    def position(text: str) -> tuple[str, float]:
        index, value = parse_assignment(text, machine)
        if coordinates[index] not in names:
            raise Misuse(f"{text}: only joints have an initial position; there are {', '.join(names)}")
        return coordinates[index], value

    positions = _once(initial, position, "--initial")
    speeds = _once(speed, lambda text: parse_speed(text, machine), "--speed")
    return StartState(positions, speeds, start)


def _once(texts: Texts, read: Callable[[str], tuple[str, Value]], option: str) -> dict[str, Value]:
    """Return assignments by name. Raises Misuse where one is given twice."""
    found: dict[str, Value] = {}
    for text in texts or ():
        name, value = read(text)
        if name in found:
            raise Misuse(f"{option} {text}: {name} is given twice")
        found[name] = value
    return found


def simulate(
    config: Config,
    duration: Annotated[float, typer.Option(metavar="SECONDS", help="Duration, s.")],
    dt: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Step (dop853, lsoda: sample), s. Default: the plant's."),
    ] = None,
    initial: Annotated[
        Texts, typer.Option(metavar="JOINT=VALUE", help="Initial position, shoulder_deg=30; repeatable.")
    ] = None,
    speed: Annotated[
        Texts, typer.Option(metavar="JOINT=VALUE", help="Initial speed, shoulder_deg_s=30; repeatable.")
    ] = None,
    start: Annotated[
        StartChoice, typer.Option(help="Close all constraints at the start, or leave the state as given.")
    ] = StartChoice.ASSEMBLED,
    effort: Annotated[
        Texts,
        typer.Option(
            metavar="MOTOR=VALUE",
            help="Effort of a motor, N m or N: 10, or a function of time, 10*sin(2*pi*t); repeatable.",
        ),
    ] = None,
    force: Annotated[
        Texts,
        typer.Option(
            metavar="NAME=VALUE",
            help="Force on a joint, or at a point along a world axis, POINT.x: a number or an expression, "
            "tip.x=2*sin(t)-rate(tip.x); repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every sample there: FILE.csv, or FILE.npz.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="PICTURE", help="Draw the motion there, in ° and mm: .png, .svg or .pdf."),
    ] = None,
    every: Annotated[int, typer.Option(metavar="N", help="Keep the state after every N-th step.")] = 1,
    formulation: Annotated[
        FormulationChoice,
        typer.Option(help="Formulation of the dynamics; minimal and taylor have their own steps."),
    ] = FormulationChoice.PROJECTED,
    stabilisation: Annotated[
        StabilisationChoice, typer.Option(help="Stabilization of the constraints.")
    ] = StabilisationChoice.PROJECTION,
    integrator: Annotated[
        IntegratorChoice | None,
        typer.Option(
            help="Fixed steps: rk4, gauss, semi_implicit; divided where motion is fast: adaptive_rk4. For "
            "reference: dop853, lsoda. None: the file's."
        ),
    ] = None,
    track: Annotated[
        Texts, typer.Option(metavar="POINT", help="Position and velocity of a point; repeatable.")
    ] = None,
    reactions: Annotated[
        bool, typer.Option("--reactions", help="Forces and moments in joints and constraints, N and N m.")
    ] = False,
    constraint_efforts: Annotated[
        bool,
        typer.Option("--constraint-efforts", help="Generalized force of the constraints on each joint."),
    ] = False,
    reactions_at: Annotated[
        PlaceChoice | None,
        typer.Option(help="Where in a step reactions are taken. None: begin; taylor: middle."),
    ] = None,
    rtol: Annotated[
        float | None,
        typer.Option(metavar="R", help="Relative tolerance of a step; none: dop853 1e-15, lsoda 3e-14."),
    ] = None,
    atol: Annotated[
        float | None,
        typer.Option(
            metavar="A", help="Absolute tolerance, rad, m, per second; none: dop853 1e-17, lsoda 1e-15."
        ),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            metavar="E",
            help="Largest error, rad, m, per second (relative beyond 1): refined until two runs agree.",
        ),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(metavar="G", help="γ of the formulation scaled, kg m²; none: of the size of M."),
    ] = None,
    plant_set: Annotated[
        Texts, typer.Option("--plant-set", metavar="KEY=VALUE", help="upper_arm.mass_kg=+20%.")
    ] = None,
    switches: Annotated[
        Texts, typer.Option("--switch", metavar="NAME=on@S", help="A constraint on, off or hold; repeatable.")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Write the samples to standard output as CSV, with all digits.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate the plant alone, offline: no sockets, no brakes; motors apply only the --effort values."""
    from linkwork.cli.motion_files import ENDINGS, write_columns, write_csv
    from linkwork.cli.recording_commands import written
    from linkwork.machine import load
    from linkwork.plant.offline.added_forces import parse_force, with_forces
    from linkwork.plant.offline.constraint_switching import parse_switch
    from linkwork.plant.offline.efforts import parse_effort
    from linkwork.plant.offline.reaction_samples import ReactionRequest
    from linkwork.plant.offline.run import simulate as simulated
    from linkwork.plant.simulator.simulator import SimulationDiverged

    if as_csv and as_json:
        raise Misuse("choose one of --csv (the samples) and --json (the summary)")
    if out is not None and out.suffix not in ENDINGS:
        raise Misuse(f"--out {out}: the name must end in .csv or .npz")
    machine = load(config, plant_set or [], offline=True)
    for warning in machine.warnings:
        if warning.key.endswith("inertia_kg_m2"):
            complain(str(warning))
    try:
        motion = simulated(
            with_forces(machine, _once(force, parse_force, "--force")), duration, dt,
            _start(machine, initial, speed, start.value), integrator.value if integrator else None,
            _once(effort, lambda text: parse_effort(text, machine), "--effort"), every, formulation.value,
            stabilisation.value, track or (),
            ReactionRequest(reactions, constraint_efforts, reactions_at.value if reactions_at else None),
            [parse_switch(text, machine.aliases) for text in switches or ()], rtol, atol, gamma, accuracy,
        )  # fmt: skip
    except (ValueError, SimulationDiverged) as error:
        raise Misuse(str(error)) from None
    if integrator is IntegratorChoice.LSODA and duration > _LSODA_S:
        complain(
            f"warning: over {duration:g} s the errors of lsoda exceed those of dop853 by a factor of 100; "
            "for a reference use --integrator dop853"
        )
    files = {}
    if out is not None:
        files["out"] = str(out)
        written(out, lambda: write_columns(out, motion.columns()))
    if plot is not None:
        from linkwork.recordings.motion_plot import draw_motion

        files["plot"] = str(plot)
        written(plot, lambda: draw_motion(machine, motion, plot))
    if as_csv:
        write_csv(sys.stdout, motion.columns())
    elif as_json:
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
        from linkwork.machine.nearest_name import listed

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
