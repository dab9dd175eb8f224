"""Commands of one request each that the table of requests does not give: see `request_commands`."""

from __future__ import annotations

from typing import Annotated

import typer

from linkwork.cli.choices import OnOff
from linkwork.cli.connected import ControllerConnection, connected
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say

AtTick = Annotated[
    int | None,
    typer.Option("--at-tick", min=0, help="Device tick at which it takes effect. Default: at once."),
]
Ticks = Annotated[int, typer.Argument(metavar="TICKS", min=1, max=10**9)]


@connected
def speed(
    link: ControllerConnection,
    fraction: Annotated[float, typer.Argument(metavar="FRACTION", min=0.0, max=2.0, help="Of its speed.")],
    limit: Annotated[
        bool, typer.Option("--limit", help="Use the largest feasible speed, if it is less.")
    ] = False,
    at_tick: AtTick = None,
) -> None:
    """Scale the speed of the current goal; above 1, the path is first verified at that speed."""
    found = link.ask("speed", 120.0, fraction=fraction, limit=limit or None, at_tick=at_tick)
    if link.as_json:
        emit(found)
        return
    say(found["state"] + (f": {found['text']}" if found.get("text") else ""))
    limited = found.get("limited")
    if limited:
        what = f"{limited['quantity']} of {limited['coordinate']}" if "coordinate" in limited else "the path"
        say(f"{found['fraction']:.4g} times its own speed: limited by the {what}")


@connected
def confirm_branch(
    link: ControllerConnection,
    positions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE...",
            help="Positions in the mode of the machine, coupler_deg=40, if `state` shows another one.",
        ),
    ] = None,
    at_tick: AtTick = None,
) -> None:
    """Confirm the assembly mode that `state` shows, or begin in another one."""
    given = None
    if positions:
        from linkwork.cli.assignments import read_values

        described, state = link.ask("describe"), link.ask("state")
        units = {each["name"]: each["unit"] == "rad" for each in described["joints"]}
        angles = {name: units.get(name, False) for name in state["q"]}
        given = read_values(positions, described["machine"], angles, described["aliases"])
    link.effect("confirm_branch", positions=given, at_tick=at_tick)


@connected
def switch(
    link: ControllerConnection,
    constraint: Annotated[
        str, typer.Argument(metavar="NAME", help="A constraint with `switchable: true` in the file.")
    ],
    to: Annotated[OnOff, typer.Argument(metavar="on|off", help="on: close it; off: open it.")],
    at_tick: AtTick = None,
) -> None:
    """Close or open a constraint of a machine at rest: a grasp, a guide, a latch."""
    link.effect("switch", constraint=constraint, on=to is OnOff.ON, at_tick=at_tick)


@connected
def set_outputs(
    link: ControllerConnection,
    signals: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE...", help="gripper=on, valve=off, glue_flow=0.4")
    ],
    at_tick: AtTick = None,
) -> None:
    """Set output signals, all at one tick; also while the machine is disabled."""
    found: dict[str, str] = {}
    for text in signals:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not (name and sign and value):
            raise Misuse(f"{text!r} sets no signal; write NAME=VALUE, such as gripper=on")
        if name in found:
            raise Misuse(f"{name} is given twice")
        found[name] = value
    link.effect("set", signals=found, at_tick=at_tick)


@connected
def wait(
    link: ControllerConnection,
    conditions: Annotated[
        list[str],
        typer.Argument(metavar="CONDITION...", help='part_present=on, "lift < 0.1"; all must hold.'),
    ],
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=0.001, max=3600.0, help="Longest wait in seconds.")
    ] = 10.0,
) -> None:
    """Wait until a condition on signals, coordinates or forces holds."""
    condition = " and ".join(f"({each})" if len(conditions) > 1 else each for each in conditions)
    found = link.ask("wait", timeout_s + 10.0, condition=condition, within_s=timeout_s)
    if link.as_json:
        emit(found)
        return
    say(f"holds at tick {found['tick']}, {found['time_s']:.3f} s")


@connected
def edges(
    link: ControllerConnection,
    signal: Annotated[str, typer.Argument(metavar="NAME", help="A digital input.")],
    after: Annotated[int, typer.Option(min=0, help="Only those with a larger number.")] = 0,
) -> None:
    """List the latest changes of a digital input, with the analog inputs at that tick."""
    found = link.ask("edges", signal=signal, after=after)
    if link.as_json:
        emit(found)
        return
    for each in found["edges"]:
        values = "".join(f"; {name} {value:.6g}" for name, value in each["signals"].items())
        change = "on" if each["value"] else "off"
        say(f"{each['number']}: {change} at tick {each['tick']}, {each['time_s']:.3f} s{values}")
    if not found["edges"]:
        say(f"{signal} has not changed")


@connected
def advance(link: ControllerConnection, ticks: Ticks) -> None:
    """Run lockstep time by this many ticks."""
    link.effect("advance", timeout_s=1.0e6, ticks=ticks)


@connected
def gain(
    link: ControllerConnection,
    bandwidth: Annotated[float | None, typer.Option("--bandwidth", help="In rad/s.")] = None,
    damping: Annotated[float | None, typer.Option("--damping", help="Damping ratio.")] = None,
    at_tick: AtTick = None,
) -> None:
    """Change the gains of the error dynamics, within the bounds of the machine file."""
    link.effect("set_gain", bandwidth_rad_s=bandwidth, damping_ratio=damping, at_tick=at_tick)


@connected
def payload(
    link: ControllerConnection,
    point: Annotated[str, typer.Argument(metavar="POINT", help="Payload point of the file.")],
    mass_kg: Annotated[float, typer.Argument(metavar="KG", min=0.0, help="Mass; 0: no payload.")],
    com_m: Annotated[
        tuple[float, float, float],
        typer.Option("--com", metavar="X Y Z", help="Centre of mass relative to the point, in m."),
    ] = (0.0, 0.0, 0.0),
    inertia: Annotated[
        tuple[float, float, float],
        typer.Option("--inertia", metavar="XX YY ZZ", help="Moments about its centre of mass, in kg m²."),
    ] = (0.0, 0.0, 0.0),
    at_tick: AtTick = None,
) -> None:
    """Set the payload of the machine, within the bounds of the machine file."""
    moments = [*inertia, 0.0, 0.0, 0.0]
    load = {"mass_kg": mass_kg, "com_m": list(com_m), "inertia_kg_m2": moments}
    link.effect("payload", point=point, **load, at_tick=at_tick)
