"""Commands that only observe: status, state, describe, faults."""

from collections.abc import Collection, Mapping
from typing import Any

from rich.table import Table

from linkwork.cli.options.operate import DescribeOptions, FaultsOptions, StateOptions, StatusOptions
from linkwork.display_units import in_display_units, shown, shown_in
from linkwork.terminal.output import console, emit, left_out, number, passive_joints, say, table

REACTIONS = ("on_fault", "on_link_loss", "on_disable")
"""What output signals may do by themselves."""


def status(options: StatusOptions) -> None:
    """Run `linkwork status`."""
    found = options.ask("status")
    if options.as_json:
        emit(found)
        return
    timing, lease, device = found["timing"], found["lease"], found["device"]
    fault = in_display_units(f": {found['fault']['text']}") if found.get("fault") else ""
    lines = {
        "machine": f"{found['machine']} (linkwork {found['version']}, protocol {found['protocol']})",
        "state": found["state"] + fault,
        "pace": found["pace"],
        "plant": device["text"] or ("connected" if device["connected"] else "not connected"),
        "lacks": ", ".join(device["lacks"]) or "nothing",
        "homing": homing_told(device, options.ask("describe") if device.get("homing") else {}),
        "simulation": _simulated_by(device),
        "processes": f"gateway {found['gateway_pid']}, loop {found['loop_pid'] or '–'}",
        "real time": found["real_time"],
        "ticks": f"{timing['ticks']}, missed {timing['missed']}, lost {timing['lost']}",
        "period": _quantiles(timing["period_us"]),
        "latency": _quantiles(timing["latency_us"]),
        "lease": lease["owner"] or "none",
        "log": _log_told(found),
        "requests": options.address,
        "telemetry": found["telemetry"],
        "rank": _rank_decided(found["rank_decision"]),
        "faults": str(found["faults"]),
    }
    width = max(map(len, lines))
    for name, text in lines.items():
        say(f"{name:<{width}}  {text}")
    for part, over in (("window", "last {} ticks"), ("since_start", "{} ticks since the start")):
        console.print(_phases(timing[part], over.format(timing[part]["ticks"])))
    if timing["since_start"]["overruns"]:
        console.print(_overruns(timing["window"], timing["since_start"]))


def _log_told(found: dict[str, Any]) -> str:
    """Return as text where the log is, and what is missing from it."""
    text: str = found["log"] or found["log_problem"] or "none"
    return f"{text}; {found['log_lost']} ticks are missing" if found["log_lost"] else text


def _phases(part: dict[str, Any], over: str) -> Table:
    """Return the times of the phases of the period over some ticks."""
    columns = ["phase", "p50", "p99", "p99.9", "max"]
    rows = [
        [name, *(f"{found[key]:.1f}" for key in ("p50", "p99", "p999", "max"))]
        for name, found in part["phases_us"].items()
    ]
    return table(f"\nPhases of the period in µs, {over}", columns, rows)


def _overruns(window: dict[str, Any], since_start: dict[str, Any]) -> Table:
    """Return the causes of overruns, the most frequent first."""
    rows = [
        [cause.replace("_", " "), str(window["overruns"].get(cause, 0)), str(count)]
        for cause, count in since_start["overruns"].items()
    ]
    return table("\nOverruns by cause", ["cause", f"last {window['ticks']} ticks", "since start"], rows)


def _rank_decided(found: dict[str, Any]) -> str:
    if found["smallest"] is None:
        return "–"
    narrow = "; a narrow gap" if found["narrow"] else ""
    return (
        f"tolerance {found['tolerance']:.2g}; singular values from {found['smallest']:.2g} count, "
        f"up to {found['largest_dropped']:.2g} do not{narrow}"
    )


def _simulated_by(device: dict[str, Any]) -> str:
    how = device.get("simulation")
    return f"formulation {how['formulation']}, integrator {how['integrator']}" if how else "–"


def homing_told(device: dict[str, Any], described: dict[str, Any]) -> str:
    """Return as text whether and how the device is homed, and its encoders' zeros."""
    units = {each["name"]: each["unit"] for each in described.get("coordinates", ())}
    text = "homed" if device.get("homed") else "not homed: jogging only"
    homing = device.get("homing")
    if not homing:
        return text
    by = {"device": "by the device", "here": "in the initial pose", "procedure": "by its procedure"}
    zeros = ", ".join(f"{name} {shown(at, units.get(name, ''))}" for name, at in homing["zero"].items())
    return f"{text}, {by.get(homing['by'], homing['by'])}; encoders read 0 at {zeros}"


def signal_told(value: bool | float) -> str:
    """The value of a signal, as text."""
    return ("on" if value else "off") if isinstance(value, bool) else f"{value:.6g}"


def stream_told(status: str, buffered_s: float, offset_s: float) -> str:
    """The status of a stream, how far its set-points reach ahead, and the offset of the clocks, as text."""
    if status == "waiting":
        return status
    return f"{status}, set-points for {1e3 * buffered_s:.0f} ms, device clock - sender's {offset_s:+.4f} s"


def _quantiles(found: dict[str, float]) -> str:
    return f"p50 {found['p50']:.1f} µs, p99 {found['p99']:.1f} µs, max {found['max']:.1f} µs"


def state(options: StateOptions) -> None:
    """Run `linkwork state`."""
    found = options.ask("state")
    if options.as_json:
        emit(found)
        return
    say(f"{found['state']}  {found['mode']}  {found['law']}  tick {found['tick']}  {found['time_s']:.3f} s")
    if found["fault"]:
        say(f"fault: {found['fault']['name']}: {in_display_units(found['fault']['text'])}")
    if found["limited"]:
        say(f"limited by {', '.join(found['limited'])}")
    for name, heat in found["heat"].items():
        limit = f"largest effort {heat['effort_limit']:.4g} of {heat['max_effort']:.4g} {heat['unit']}"
        say(f"{name} {heat['winding_degC']:.1f} of at most {heat['max_degC']:g} °C, {limit}")
    if found["stream"]:
        stream = found["stream"]
        told = stream_told(stream["status"], stream["buffered_s"], stream["clock_offset_s"])
        held = stream["held_back"]
        say(f"stream {stream['goal']} {told}" + (f"; held back by {held['text']}" if held else ""))
    elif found["goal"]:
        goal = found["goal"]
        say(f"goal {goal['goal']} {goal['status']}, {goal['fraction']:.0%}")
    if found.get("closed"):
        say("; ".join(f"{name} {'on' if on else 'off'}" for name, on in found["closed"].items()))
    if found.get("signals"):
        say("; ".join(f"{name} {signal_told(value)}" for name, value in found["signals"].items()))
    for name, report in found["device"].get("motors", {}).items():
        if report["fault"]:
            say(f"motor {name}: fault {report['fault']}, status {report['status']}")
    for each in found.get("pending", ()):
        say(_pending_told(each))
    hidden = passive_joints(list(found["v"]), found["effort"], show_all=options.show_all)
    described = options.ask("describe")
    units = {each["name"]: each["unit"] for each in described["coordinates"]}
    console.print(positions(found, hidden, units))
    kinds = {each["name"]: each["unit"] for each in described["forces"]}
    for name, force in found["forces"].items():
        wanted = "" if force["wanted"] is None else f", wanted {shown(force['wanted'], kinds[name])}"
        say(f"force {name}: {shown(force['felt'], kinds[name])}{wanted}")
    if hidden:
        say(left_out(hidden))


def _pending_told(each: dict[str, Any]) -> str:
    what = each["method"] if each["goal"] is None else f"{each['method']} (goal {each['goal']})"
    when = "after the goal before it" if each["at_tick"] is None else f"at tick {each['at_tick']}"
    return f"pending: {what} {when}, requested by {each['owner']}"


def positions(found: dict[str, Any], hidden: Collection[str] = (), units: Mapping[str, str] = {}) -> Any:
    """Return joints and task coordinates of a state as a table, in ° and mm, without the hidden joints.

    units: rad or m by coordinate, from `describe`. The other joints are ball joints: their positions are
    quaternions, without unit.
    """
    efforts = {"rad": "N m", "m": "N"}
    rows = []
    for name, value in (found["q"] | found["coordinates"]).items():
        if name not in hidden:
            unit = units.get(name, "")
            speed, effort = found["v"].get(name), found["effort"].get(name)
            rate = f"{unit or 'rad'}/s"
            cells = (shown(value, unit), "" if speed is None else shown(speed, rate))
            rows.append((name, *cells, "" if effort is None else shown(effort, efforts.get(unit, ""))))
    return table("", ("", "position", "velocity", "effort"), rows)


def describe(options: DescribeOptions) -> None:
    """Run `linkwork describe`."""
    found = options.ask("describe")
    if options.as_json:
        emit(found)
        return
    say(f"{found['machine']}: {found['about']}")
    laws, period_ms = ", ".join(found["laws"]), 1e3 * found["period_s"]
    say(found["sensing"])
    say(f"law {found['law']} of {laws}; {period_ms:g} ms; pace {found['pace']}")
    joints = [each["name"] for each in found["coordinates"] if each["kind"] == "joint"]
    kept = {*(each["name"] for each in found["motors"]), *found["goal_coordinates"]}
    hidden = passive_joints(joints, kept, show_all=options.show_all)
    rows = []
    for each in found["coordinates"]:
        if each["name"] in hidden:
            continue
        limits = each["limits"]
        low, high = limits.get("position") or (None, None)
        factor, unit = shown_in(each["unit"])
        values = (low, high, *(limits.get(name) for name in ("velocity", "acceleration", "jerk")))
        numbers = (number(None if value is None else factor * value) for value in values)
        rows.append((each["name"], each["kind"], unit, *numbers))
    columns = ("coordinate", "kind", "unit", "least", "most", "velocity", "acceleration", "jerk")
    console.print(table("", columns, rows))
    if hidden:
        say(left_out(hidden))
    motors = []
    for each in found["motors"]:
        unit = each["unit"]
        speed = shown(each["limits"]["speed"], "rad/s" if unit == "N m" else "m/s")
        motors.append((each["name"], f"{number(each['limits']['effort'])} {unit}", speed))
    console.print(table("", ("motor", "effort", "speed"), motors))
    signals = [
        (
            each["name"], each["direction"], each["type"], each["unit"],
            *("keep" if each[key] is None else signal_told(each[key]) for key in REACTIONS),
        )
        for each in found.get("signals", ())
    ]  # fmt: skip
    if signals:
        console.print(table("", ("signal", "", "", "unit", *REACTIONS), signals))
    for each in found.get("constraint_sets", ()):
        say(_set_told(each))
    for alias, name in found["aliases"].items():
        if name not in hidden and "." not in name:
            say(f"alias of {name}: {alias}")


def _set_told(each: dict[str, Any]) -> str:
    """Return as text the capabilities of the machine under a set of its switchable constraints."""
    held = " and ".join(each["closed"]) or "no switchable constraint"
    if each["refused"]:
        return f"with {held}: not controllable, {each['refused']}"
    dof = f"{each['degrees_of_freedom']} degree{'s' if each['degrees_of_freedom'] > 1 else ''} of freedom"
    return f"with {held}: {dof}, held by {', '.join(each['goal_coordinates'])}"


def faults(options: FaultsOptions) -> None:
    """Run `linkwork faults`."""
    found = options.ask("faults", limit=options.limit)
    if options.as_json:
        emit(found)
        return
    if not found["faults"]:
        say("no fault since the controller started")
    for place, fault in enumerate(found["faults"], 1):
        say(f"{place:>3}  {fault['time_s']:.3f} s  {fault['name']}: {in_display_units(fault['text'])}")
        say(f"     clears when {fault['clears_when']}" if fault["clears_when"] else "     cannot be cleared")
        record = f"{fault['record']}; `linkwork faults show {place}`" if fault["record"] else "none"
        say(f"     flight record: {record}")
