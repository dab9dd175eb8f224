"""Commands of one request each that the table of requests does not give: see `request_commands`."""

from linkwork.cli.assignments import read_entries, read_values
from linkwork.cli.options.operate import (
    AdvanceOptions,
    ConfirmBranchOptions,
    EdgesOptions,
    GainOptions,
    PayloadOptions,
    SetOutputsOptions,
    SpeedOptions,
    SwitchOptions,
    WaitOptions,
)
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say


def speed(options: SpeedOptions) -> None:
    """Run `linkwork speed`."""
    found = options.ask(
        "speed", 120.0, fraction=options.fraction, limit=options.limit or None, at_tick=options.at_tick
    )
    if options.as_json:
        emit(found)
        return
    say(found["state"] + (f": {found['text']}" if found.get("text") else ""))
    limited = found.get("limited")
    if limited:
        what = f"{limited['quantity']} of {limited['coordinate']}" if "coordinate" in limited else "the path"
        say(f"{found['fraction']:.4g} times its own speed: limited by the {what}")


def confirm_branch(options: ConfirmBranchOptions) -> None:
    """Run `linkwork confirm-branch`."""
    given = None
    if options.positions:
        described, state = options.ask("describe"), options.ask("state")
        units = {each["name"]: each["unit"] == "rad" for each in described["joints"]}
        angles = {name: units.get(name, False) for name in state["q"]}
        given = read_values(options.positions, described["machine"], angles, described["aliases"])
    options.effect("confirm_branch", positions=given, at_tick=options.at_tick)


def switch(options: SwitchOptions) -> None:
    """Run `linkwork switch`."""
    options.effect("switch", constraint=options.constraint, on=options.to == "on", at_tick=options.at_tick)


def set_outputs(options: SetOutputsOptions) -> None:
    """Run `linkwork set`."""
    found: dict[str, str] = {}
    for text in options.signals:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not (name and sign and value):
            raise Misuse(f"{text!r} sets no signal; write NAME=VALUE, such as gripper=on")
        if name in found:
            raise Misuse(f"{name} is given twice")
        found[name] = value
    options.effect("set", signals=found, at_tick=options.at_tick)


def wait(options: WaitOptions) -> None:
    """Run `linkwork wait`."""
    condition = " and ".join(
        f"({each})" if len(options.conditions) > 1 else each for each in options.conditions
    )
    found = options.ask("wait", options.timeout_s + 10.0, condition=condition, within_s=options.timeout_s)
    if options.as_json:
        emit(found)
        return
    say(f"holds at tick {found['tick']}, {found['time_s']:.3f} s")


def edges(options: EdgesOptions) -> None:
    """Run `linkwork edges`."""
    found = options.ask("edges", signal=options.signal, after=options.after)
    if options.as_json:
        emit(found)
        return
    for each in found["edges"]:
        values = "".join(f"; {name} {value:.6g}" for name, value in each["signals"].items())
        change = "on" if each["value"] else "off"
        say(f"{each['number']}: {change} at tick {each['tick']}, {each['time_s']:.3f} s{values}")
    if not found["edges"]:
        say(f"{options.signal} has not changed")


def advance(options: AdvanceOptions) -> None:
    """Run `linkwork advance`."""
    options.effect("advance", timeout_s=1.0e6, ticks=options.ticks)


def gain(options: GainOptions) -> None:
    """Run `linkwork gain`."""
    gains = {"bandwidth_rad_s": options.bandwidth, "damping_ratio": options.damping}
    matrices = {
        "position_per_s2": read_entries(options.gp, "gp"),
        "rate_per_s": read_entries(options.gd, "gd"),
    }
    given = {name: value or None for name, value in (gains | matrices | {"coordinates": options.of}).items()}
    options.effect("set_gain", **given, at_tick=options.at_tick)


def payload(options: PayloadOptions) -> None:
    """Run `linkwork payload`."""
    moments = [*options.inertia, 0.0, 0.0, 0.0]
    load = {"mass_kg": options.mass_kg, "com_m": list(options.com_m), "inertia_kg_m2": moments}
    options.effect("payload", point=options.point, **load, at_tick=options.at_tick)
