"""A live table of the machine, from telemetry."""

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from linkwork.cli.options.operate import WatchOptions
from linkwork.cli.status_commands import homing_told, stream_told
from linkwork.client.connection import telemetry_endpoint
from linkwork.client.request_client import RequestClient
from linkwork.controller.exchange.set_points import StreamState
from linkwork.controller.supervision.state_machine import State
from linkwork.display_units import channel_unit, shown
from linkwork.protocol.codes import DeviceStatus
from linkwork.protocol.errors import NobodyThere, ProtocolError
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.sockets import Subscriber
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, TWIN_TOPIC, read_telemetry
from linkwork.terminal.output import MOST_SHOWN, console, emit, left_out, number, passive_joints, table

_REFRESH_S = 0.1
_SILENT_S = 3.0
_FIRST_S = 1.0
"""Time that the first sample may take, also where less was asked for."""


def watch(options: WatchOptions) -> None:
    """Run `linkwork watch`."""
    with options.client() as client:
        found = client.request("status")
        described = client.request("describe")
        homing = homing_told(found["device"], described) if found["device"].get("homing") else ""
        units = {each["name"]: each["unit"] for each in described["coordinates"]}
        for each in described.get("signals", ()):
            units[each["name"]] = None if each["type"] == "digital" else each["unit"]
        last = watch_telemetry(
            client,
            telemetry_endpoint(found["telemetry"], client.endpoint),
            options.client_keys,
            options.seconds,
            show=not options.as_json,
            homing=homing,
            show_all=options.show_all,
            units=units,
        )
    if options.as_json:
        emit(last)


def watch_telemetry(
    client: RequestClient,
    endpoint: str,
    keys: ClientKeys | None,
    seconds: float | None,
    *,
    show: bool,
    homing: str = "",
    show_all: bool = False,
    units: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """Show telemetry until Ctrl-C or for `seconds`; return the last sample, empty without any.

    client: asks whether a silent controller is there. endpoint, keys: of the telemetry. show: draw the table.
    homing: how the device found its zeros, in words; show_all: passive joints too, however many there are.
    units: rad or m of coordinates; of the signals, None of a digital one.

    Raises NobodyThere when telemetry ends and the controller does not answer.
    """
    heard = began = time.monotonic()
    sample: dict[str, Any] = {}

    def over() -> bool:
        return seconds is not None and time.monotonic() - began >= max(seconds, 0.0 if sample else _FIRST_S)

    with (
        Subscriber(endpoint, (TELEMETRY_TOPIC, TWIN_TOPIC), keys) as subscriber,
        suppress(KeyboardInterrupt),
    ):
        live = Live(console=console, auto_refresh=False, screen=console.is_terminal) if show else None
        try:
            if live is not None:
                live.start()
            while not over():
                heard_now = _newest(subscriber)
                if TELEMETRY_TOPIC in heard_now:
                    before = {"twin": sample["twin"]} if "twin" in sample else {}
                    sample, heard = before | heard_now[TELEMETRY_TOPIC], time.monotonic()
                if TWIN_TOPIC in heard_now and sample:
                    sample["twin"] = heard_now[TWIN_TOPIC]
                elif time.monotonic() - heard > _SILENT_S:
                    client.request("state", timeout_s=_SILENT_S)  # time may stand still in lockstep
                    heard = time.monotonic()
                if live is not None and sample:
                    live.update(view(sample, homing, units, show_all=show_all), refresh=True)
        except NobodyThere as gone:
            raise NobodyThere(f"the controller has ended: {gone}") from None
        finally:
            if live is not None:
                live.stop()
    if not sample:
        console.print("no telemetry came: in lockstep there is none while time stands")
    elif show and console.is_terminal:
        console.print(view(sample, homing, units, show_all=show_all))
    return sample


def _newest(subscriber: Subscriber) -> dict[bytes, dict[str, Any]]:
    """Return the newest sample of each topic in the next tenth of a second."""
    end = time.monotonic() + _REFRESH_S
    newest: dict[bytes, dict[str, Any]] = {}
    while (left_s := end - time.monotonic()) > 0:
        message = subscriber.receive(max(1, round(1e3 * left_s)))
        if message is not None:
            with suppress(ProtocolError):
                newest[message[0]] = read_telemetry(message[1])
    return newest


def view(
    sample: dict[str, Any],
    homing: str = "",
    units: Mapping[str, str | None] | None = None,
    *,
    show_all: bool = False,
) -> Group:
    """Return one sample as a table: joints and task coordinates with reference and effort.

    homing: how the device found its zeros, in words. units: rad or m by coordinate, None of digital signals.
    show_all: passive joints too.
    """
    gone = not sample.get("connected", 1)
    joints, efforts = sample["q"], sample["effort"]
    followed = {name for name, wanted in sample["reference"].items() if math.isfinite(wanted)}
    hidden = passive_joints(list(joints), {*efforts, *followed}, show_all=show_all)
    known = {name: unit or "" for name, unit in (units or {}).items()}
    rows = []
    for name, value in sample["coordinate"].items():
        if name in hidden:
            continue
        wanted = sample["reference"].get(name)
        error = None if wanted is None else wanted - value
        speed = sample["v"].get(name) if name in joints else None
        numbers = {"q": value, "v": speed, "reference": wanted, "error": error, "effort": efforts.get(name)}
        seen = {kind: None if gone else each for kind, each in numbers.items()}
        rows.append((name, *(shown(each, channel_unit(kind, name, known)) for kind, each in seen.items())))
    columns = ("", "position", "velocity", "reference", "error", "effort")
    state = State(sample["state"]).name.lower()
    stream = StreamState(sample["stream_state"])
    if stream is not StreamState.NONE:
        buffered_s, offset_s = sample["stream_buffered_s"], sample["stream_offset_s"]
        way = f"stream {stream_told(stream.name.lower(), buffered_s, offset_s)}"
    else:
        way = f"path {sample['path_s']:.2f} of {sample['path_length_s']:.2f} s"
    head = f"{state}  {sample['timestamp']:.3f} s  {way}"
    page: list[Any] = [Text(head, style="bold"), table("", columns, rows)]
    if gone:
        page.insert(1, Text("plant gone: nothing is known of the machine until it is connected again"))
        return Group(*page)
    if hidden:
        page.append(Text(left_out(hidden)))
    if homing:
        page.insert(1, Text(homing))
    elif not int(sample.get("device_status", DeviceStatus.HOMED)) & DeviceStatus.HOMED:
        page.insert(1, Text("not homed: jogging only"))
    if sample.get("closed"):
        held = "; ".join(f"{name} {'on' if on else 'off'}" for name, on in sample["closed"].items())
        page.append(Text(held))
    if sample.get("winding_temperature"):
        page.append(Text(_heat(sample, known)))
    signals = (sample.get("input") or {}) | (sample.get("output") or {})
    if signals:
        told = [f"{name} {_value(value, (units or {}).get(name, ''))}" for name, value in signals.items()]
        page.append(Text("; ".join(told)))
    if sample.get("constraint_force"):
        page += closures(sample, show_all=show_all)
    if sample.get("reaction"):
        page.append(reactions(sample["reaction"]))
    if "twin" in sample:
        page += twin(sample["twin"])
    return Group(*page)


def _heat(sample: dict[str, Any], units: Mapping[str, str]) -> str:
    """The estimated temperature of each motor that has a thermal model, and its largest effort at it."""
    limits = sample["effort_limit"]
    told = (
        f"{name} {hot:.1f} °C, at most {shown(limits[name], channel_unit('effort', name, units))}"
        for name, hot in sample["winding_temperature"].items()
    )
    return f"motors: {'; '.join(told)}"


def _value(value: float, unit: str | None) -> str:
    """The value of a signal; unit None: on or off."""
    if unit is None:
        return "on" if value > 0.5 else "off"
    return f"{number(value)} {unit}".rstrip()


def closures(sample: dict[str, Any], *, show_all: bool = False) -> list[Any]:
    """Return quality of the estimate and loads of the closures; of many loads, the largest."""
    flipped = "" if sample["branch"] > 0 else " (not that of the initial pose)"
    text = (
        f"closure residual {sample['closure_residual']:.1e} after {sample['newton_iterations']} steps; "
        f"rank {sample['rank']}; smallest singular values: closures {number(sample['sigma_closures'])}, "
        f"motors {number(sample['sigma_motors'])}; branch {sample['branch']:+d}{flipped}"
    )
    loads = sample["constraint_force"]
    listed = list(loads) if show_all else sorted(loads, key=lambda name: -abs(loads[name]))[:MOST_SHOWN]
    rows = [(name, shown(value, "")) for name, value in loads.items() if name in listed]
    found = [Text(text), table("", ("closure's row", "N, N m"), rows)]
    if len(listed) < len(loads):
        found.append(Text(left_out(loads.keys() - listed, "rows with smaller loads")))
    return found


def reactions(told: dict[str, float]) -> Any:
    """Return the published reactions of joints and constraints: forces and moments, world axes."""
    entries: dict[str, dict[str, float]] = {}
    for column, value in told.items():
        name, _, part = column.rpartition(".")
        entries.setdefault(name, {})[part] = value
    parts = ("fx", "fy", "fz", "mx", "my", "mz")
    rows = [(name, *(shown(values[part], "") for part in parts)) for name, values in entries.items()]
    return table("", ("reaction", "fx N", "fy N", "fz N", "mx N m", "my N m", "mz N m"), rows)


def twin(said: dict[str, Any]) -> list[Any]:
    """Return the differences between machine and digital twin."""
    compared = "" if said["compared"] else " (not compared now)"
    head = (
        f"difference from the model: {number(said['share'])} of the nearest threshold{compared}; "
        f"energy {number(said['energy'])} J"
    )
    rows = [(name, shown(value, "")) for name, value in said["motor_effort"].items()]
    return [Text(head), table("", ("motor's difference", "N, N m"), rows)]
