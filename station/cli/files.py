"""Commands about files and this computer: check, robots, schema, simulate, keys, warm, latency."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from station.cli.choices import FormulationChoice, IntegratorChoice, SchemaChoice, StabilisationChoice
from station.cli.connected import AsJson
from station.cli.failures import DONE, USAGE, Misuse
from station.cli.output import complain, console, emit, number, say, table

Config = Annotated[str, typer.Argument(help="Machine file, or the name of a machine that ships.")]


def check(config: Config, as_json: AsJson = False) -> int:
    """Validates a machine file; names line, key, what was found and what was allowed."""
    from machine import check as problems_of
    from machine import load

    problems = problems_of(config)
    errors = [problem for problem in problems if problem.severity == "error"]
    content: dict[str, Any] = {"valid": not errors, "problems": [vars(problem) for problem in problems]}
    if not errors:
        machine = load(config)
        content |= {
            "name": machine.name,
            "joints": list(machine.mechanism.joint_names),
            "coordinates": list(machine.mechanism.coordinate_names),
            "interface": machine.interface_hash,
            "model": machine.model_hash,
            "config": machine.config_hash,
        }
    for problem in problems:
        complain(str(problem))
    if as_json:
        emit(content)
    elif not errors:
        say(f"{content['name']}: valid; {len(content['joints'])} joints: {', '.join(content['joints'])}")
        say(f"interface {content['interface']}")
    return USAGE if errors else DONE


def robots(as_json: AsJson = False) -> None:
    """Lists the machines that ship, and those that run."""
    from machine import load, shipped, shipped_path
    from protocol.endpoints import running

    there = {role: {found.name: found.pid for found in running(role)} for role in ("plant", "gateway")}
    listed = []
    for name in shipped():
        machine = load(name)
        listed.append(
            {
                "name": name,
                "about": machine.about,
                "file": str(shipped_path(name)),
                "joints": list(machine.mechanism.joint_names),
            }
        )
    if as_json:
        emit({"robots": listed, "running": {"plants": there["plant"], "controllers": there["gateway"]}})
        return
    for each in listed:
        say(f"{each['name']}  {each['about']}")
        say(f"    {each['file']}")
    for role, word in (("plant", "plant"), ("gateway", "controller")):
        for name, pid in there[role].items():
            say(f"running: {word} of {name}, process {pid}")


def schema(
    what: Annotated[SchemaChoice, typer.Argument(help="Of machine files, or of time lines of faults.")] = (
        SchemaChoice.MACHINE
    ),
) -> None:
    """Prints the JSON schema of machine files, with which an editor completes them; or of time lines."""
    if what is SchemaChoice.FAULTS:
        from plant.faults.timeline import schema as content
    else:
        from machine import schema as content

    say(json.dumps(content(), indent=2, ensure_ascii=False))


def simulate(
    config: Config,
    duration: Annotated[float, typer.Option(metavar="S", help="How long, s.")],
    dt: Annotated[
        float | None, typer.Option(metavar="S", help="Step (dop853, lsoda: sample), s; none: the plant's.")
    ] = None,
    initial: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=VALUE", help="shoulder_deg=30; repeatable.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every state there: FILE.csv, or FILE.npz.")
    ] = None,
    formulation: Annotated[
        FormulationChoice, typer.Option(help="Accelerations (the first three), or steps of their own.")
    ] = FormulationChoice.PROJECTED,
    stabilisation: Annotated[
        StabilisationChoice, typer.Option(help="What keeps the constraints closed.")
    ] = StabilisationChoice.PROJECTION,
    integrator: Annotated[
        IntegratorChoice | None,
        typer.Option(
            help="Fixed steps: rk4, gauss, semi_implicit; divided where motion is fast: adaptive_rk4. For "
            "reference, with tolerance 1e-11: dop853, lsoda. None: the file's."
        ),
    ] = None,
    track: Annotated[
        list[str] | None, typer.Option(metavar="POINT", help="Position and velocity of a point; repeatable.")
    ] = None,
    reactions: Annotated[
        bool, typer.Option("--reactions", help="Forces and moments in joints and closures, N and N m.")
    ] = False,
    plant_set: Annotated[
        list[str] | None, typer.Option("--plant-set", metavar="KEY=VALUE", help="upper_arm.mass_kg=+20%.")
    ] = None,
    switches: Annotated[
        list[str] | None,
        typer.Option("--switch", metavar="NAME=on@S", help="A constraint on, off or hold; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The plant alone, offline: no sockets, no brakes, no motors."""
    from machine import load
    from machine.units import parse_assignment
    from plant.offline import simulate as run
    from plant.simulator import SimulationDiverged
    from plant.switching import parse_switch
    from station.cli.motion_files import write_columns

    machine = load(config, plant_set or [])
    coordinates = machine.mechanism.coordinate_names
    names = [name for name in coordinates if name in machine.mechanism.joint_names]
    start: dict[str, float] = {}
    for text in initial or []:
        index, value = parse_assignment(text, machine)
        if coordinates[index] not in names:
            raise Misuse(f"{text}: only joints have an initial position; there are {', '.join(names)}")
        start[coordinates[index]] = value
    try:
        motion = run(
            machine,
            duration,
            dt,
            start,
            integrator.value if integrator else None,
            formulation=formulation.value,
            stabilisation=stabilisation.value,
            track=track or [],
            reactions=reactions,
            switches=[parse_switch(text) for text in switches or []],
        )
    except (ValueError, SimulationDiverged) as error:
        raise Misuse(str(error)) from None
    if out is not None:
        try:
            write_columns(out, motion.columns())
        except OSError as error:
            raise Misuse(f"{out} cannot be written: {error.strerror}") from None
    summary: dict[str, Any] = {
        "time_s": float(motion.time_s[-1]),
        "q": dict(zip(motion.position_names, motion.q[-1].tolist(), strict=True)),
        "v": dict(zip(motion.joint_names, motion.v[-1].tolist(), strict=True)),
        "energy_start_J": motion.energy_start_J,
        "energy_end_J": motion.energy_end_J,
        "steps": motion.steps,
        "steps_per_s": motion.steps_per_s,
        **asdict(motion.balance),
        "switches": motion.switches,
    }
    if motion.points is not None:
        summary["points"] = motion.points.summary()
    if motion.reactions is not None:
        summary["reactions"] = motion.reactions.summary()
    if as_json:
        emit(summary | ({"out": str(out)} if out is not None else {}))
        return
    rows = [(name, number(value), number(summary["v"].get(name))) for name, value in summary["q"].items()]
    console.print(table(f"{machine.name} after {motion.time_s[-1]:g} s", ("", "rad, m", "per second"), rows))
    say(f"energy {motion.energy_start_J:.9g} J → {motion.energy_end_J:.9g} J")
    balance = motion.balance
    say(f"largest difference between energy and work {balance.energy_balance_error_J:.3g} J")
    if balance.rank_min is not None:
        say(
            f"constraints open by at most {balance.residual_position_max:.3g} (m or rad), "
            f"{balance.residual_velocity_max:.3g} per second; rank {balance.rank_min} to {balance.rank_max}, "
            f"smallest singular value {balance.sigma_min:.3g}; "
            f"passed {balance.singular_passages} branch poses"
        )
    if motion.switches is not None:
        say(f"changed its independent coordinates {motion.switches} times")
    _say_points_and_reactions(motion)
    for event in balance.switched:
        loss = f": {event.energy_loss_J:.6g} J lost by an impulse of {event.impulse:.6g}" if event.on else ""
        say(f"{event.constraint} switched {'on' if event.on else 'off'} at {event.time_s:g} s{loss}")
    say(f"{motion.steps} steps, {motion.steps_per_s:,.0f} a second")


def _say_points_and_reactions(motion: Any) -> None:
    """Tables of what was tracked, at the end, and of the reactions' largest magnitudes."""
    if motion.points is not None:
        rows = [
            (name, *(" ".join(number(x) for x in each[key]) for key in ("position_m", "velocity_m_s")))
            for name, each in motion.points.summary().items()
        ]
        console.print(table("points at the end (world)", ("", "x y z, m", "x y z, m/s"), rows))
    if motion.reactions is not None:
        rows = [
            (name, each["on_body"], number(each["force_max_N"]), number(each["moment_max_N_m"]))
            for name, each in motion.reactions.summary().items()
        ]
        console.print(table("largest reactions", ("", "on", "N", "N m"), rows))


def keys(
    name: Annotated[str, typer.Argument(help="Whose keys: NAME.secret and NAME.public are made.")],
    folder: Annotated[Path, typer.Option(help="Where to put them.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Makes a pair of CURVE keys, for daemons and clients on different computers."""
    from protocol.sockets import generate_keys

    public, secret = generate_keys(folder, name)
    if as_json:
        emit({"public": str(public), "secret": str(secret)})
    else:
        say(f"{public}: give it to those who may talk to {name}")
        say(f"{secret}: keep it to yourself")


def warm(as_json: AsJson = False) -> None:
    """Compiles the kernels that the daemons need, once, so that they start at once."""
    from station.kernels import warm_kernels

    report = warm_kernels(console)
    if as_json:
        emit({"compiled": report.compiled, "seconds": report.seconds, "from_cache": report.from_cache})
    else:
        text = (
            "everything was compiled already" if report.from_cache else f"{report.compiled} kernels compiled"
        )
        say(f"{text} ({report.seconds:.1f} s)")


def latency(
    for_seconds: Annotated[
        float | None, typer.Argument(min=0.1, metavar="[SECONDS]", help="The same as --seconds.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, metavar="S", help="How long to measure, s.")] = 10.0,
    period: Annotated[float, typer.Option(min=1e-4, max=1.0, metavar="S", help="Period, s.")] = 0.001,
    as_json: AsJson = False,
) -> None:
    """How well this computer keeps time, and what a trip over the device link costs."""
    from station.latency import LOAD, LatencyError, run_latency
    from station.latency_text import report_text
    from station.progress import goal_bar

    if not as_json:
        console.print(LOAD, style="dim")
    try:
        with goal_bar(console, "measuring") as progress:
            report = run_latency(for_seconds or seconds, period_s=period, progress=progress)
    except LatencyError as error:
        raise Misuse(str(error)) from None
    if as_json:
        emit(report.as_dict())
    else:
        say(report_text(report))
