"""Analysis of a fault from a flight record: the ticks around it, the events, and the signals concerned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.gateway.records.event_detection import Story
from linkwork.controller.gateway.records.messages import Wording
from linkwork.controller.records import layout_for
from linkwork.machine import Machine
from linkwork.protocol.codes import DeviceFault
from linkwork.recordings.recording import Recording, signals
from linkwork.recordings.signal_plot import SIGNAL_CHANNELS, Panel, chosen, signal_panels

_CHANNELS: Final = {
    "LINK_LOST": "lost_in_a_row",
    "LINK_LOSS_RATIO": "loss_ratio",
    "CLOSURE_RESIDUAL": "closure_residual",
    "CONSTRAINT_FORCE": "constraint_force",
}
"""Faults with a separate channel, whose limit is that of the fault."""
_AT_ONCE: Final = 2
"""Coordinates that are shown where none is asked for."""
_NEAR_LIMIT: Final = 0.999


@dataclass(frozen=True)
class Happening:
    """Something that happened. time_s: relative to the fault."""

    time_s: float
    tick: int
    text: str


@dataclass(frozen=True, eq=False)
class FaultRecord:
    """The ticks around a fault. time_s: (n,), relative to the fault; fault: its event, as logged."""

    machine: str
    fault: dict[str, Any]
    time_s: Floats
    happenings: list[Happening]
    panels: list[Panel]


def fault_record(
    recording: Recording,
    machine: Machine,
    before_s: float,
    after_s: float,
    names: Sequence[str] = (),
) -> FaultRecord:
    """The fault of a flight record, from `before_s` before it to `after_s` after it.

    names: signals to show, as of `linkwork plot`; none: those that the fault concerns. Raises ValueError
    where the recording holds no fault, and for unknown signals.
    """
    told = [event for event in recording.events if event.get("event") == "fault"]
    if not told:
        raise ValueError(f"{recording.paths[0]} holds no fault; flight records do")
    fault = told[-1]
    table, period_s = recording.table, machine.controller.period_s
    time_s = (table["tick"] - fault["tick"]) * period_s
    inside = (time_s >= -before_s) & (time_s <= after_s)
    if not inside.any():
        raise ValueError(f"{recording.paths[0]} holds no ticks from {-before_s:g} to {after_s:g} s")
    happenings = [
        each
        for each in sorted(
            [
                *_events(table, machine, fault),
                *_links(table, fault, period_s),
                *_crossings(table, machine, fault),
            ],
            key=lambda each: each.tick,
        )
        if -before_s <= each.time_s <= after_s
    ]
    part = {name: values[inside] for name, values in signals(recording.ticks).items()}
    if names:
        panels = [
            Panel(name, {each: part[each] for each in found})
            for name, found in chosen(recording.ticks, names)
        ]
    else:
        panels = _panels(part, machine, fault)
    return FaultRecord(machine.name, fault, time_s[inside], happenings, panels)


def _at(table: NDArray[Any], row: int, text: str, fault: dict[str, Any], period_s: float) -> Happening:
    tick = int(table["tick"][row])
    return Happening((tick - fault["tick"]) * period_s, tick, text)


def _events(table: NDArray[Any], machine: Machine, fault: dict[str, Any]) -> list[Happening]:
    """The events that clients were sent, from the records as the gateway makes them."""
    layout, wording = layout_for(machine), Wording(machine)
    records = np.zeros(len(table), layout.dtype)
    for name in table.dtype.names or ():
        if name in (layout.dtype.names or ()):
            records[name] = table[name]
    story = Story(layout, wording, records[0])
    words = records.view(np.float64).reshape(len(records), -1)
    period_s = machine.controller.period_s
    return [
        _at(table, row, _told(name, content), fault, period_s)
        for row in story.rows(words)
        for _, name, content in story.detect(row, records[row])
    ]


def _told(name: str, content: dict[str, Any]) -> str:
    if name == "state":
        return f"state {content['before']} → {content['state']}"
    if name == "goal.accepted":
        return f"goal {content['goal']} begins, {content['duration_s']:.3g} s long"
    if name == "goal.result":
        return f"goal {content['goal']} ends: {content['name']}: {content['text']}"
    if name == "limited":
        return f"limited: {content['text']}" if content["text"] else "no longer limited"
    if name == "fault":
        return f"FAULT {content['name']}: {content['text']}"
    return str(content.get("text", name))


def _links(table: NDArray[Any], fault: dict[str, Any], period_s: float) -> list[Happening]:
    """Return the events of the device link and the device."""
    found = []
    connected, device_fault = table["connected"].astype(int), table["device_fault"].astype(int)
    for row in (np.flatnonzero(connected[1:] != connected[:-1]) + 1).tolist():
        text = "connected to the plant" if connected[row] else "the link to the plant is lost"
        found.append(_at(table, row, text, fault, period_s))
    for row in (np.flatnonzero(device_fault[1:] != device_fault[:-1]) + 1).tolist():
        text = f"the device reports {_device_fault(int(device_fault[row]))}"
        found.append(_at(table, row, text, fault, period_s))
    lost = table["lost_in_a_row"].astype(int)
    for row in (np.flatnonzero((lost[1:] == 0) & (lost[:-1] > 0)) + 1).tolist():
        first = row - min(lost[row - 1], row)
        text = f"{lost[row - 1]} state{'s' if lost[row - 1] > 1 else ''} lost in a row"
        found.append(_at(table, first, text, fault, period_s))
    return found


def _device_fault(code: int) -> str:
    return DeviceFault(code).name if code in set(DeviceFault) else f"fault {code} of its vendor"


def _crossings(table: NDArray[Any], machine: Machine, fault: dict[str, Any]) -> list[Happening]:
    """First violations of the machine file's limits by signals."""
    period_s = machine.controller.period_s
    found: list[Happening] = []

    def crossed(beyond: NDArray[np.bool_], text: str) -> None:
        rows = np.flatnonzero(beyond[1:] & ~beyond[:-1]) + 1
        if len(rows):
            found.append(_at(table, int(rows[0]), text, fault, period_s))

    for k, joint in enumerate(machine.joints):
        unit = "rad" if joint.is_angle else "m"
        speed = np.abs(table["v"][:, k])
        crossed(speed > joint.velocity, f"speed of {joint.name} exceeds {joint.velocity:.4g} {unit}/s")
    for k, limits in enumerate(machine.coordinates):
        unit = "rad" if limits.is_angle else "m"
        at, (low, high) = table["coordinate"][:, k], limits.position
        crossed(at > high, f"{limits.name} is above {high:.4g} {unit}")
        crossed(at < low, f"{limits.name} is below {low:.4g} {unit}")
        allowed = machine.controller.tolerances[k].following
        error = np.abs(at - table["reference"][:, k])
        crossed(error > allowed, f"following error of {limits.name} exceeds {allowed:.4g} {unit}")
    for k, motor in enumerate(machine.motors):
        unit, most = "N m" if motor.is_angle else "N", motor.max_effort
        effort = np.abs(table["effort"][:, k])
        crossed(effort >= _NEAR_LIMIT * most, f"effort of {motor.joint} reaches {most:.4g} {unit}")
    return found


def _changed(part: dict[str, Floats]) -> dict[str, Floats]:
    """Return the inputs and outputs that are not constant."""
    return {
        name: values
        for name, values in part.items()
        if name.partition(".")[0] in SIGNAL_CHANNELS and np.any(values != values[0])
    }


def _panels(part: dict[str, Floats], machine: Machine, fault: dict[str, Any]) -> list[Panel]:
    """The signals that the fault concerns: what exceeded its limit, then position, velocity and effort.

    Last come the inputs and outputs that changed.
    """
    units = {signal.name: None if signal.is_digital else signal.unit for signal in machine.signals}
    panels = []
    channel = _CHANNELS.get(str(fault.get("name")), "")
    curves = {
        name: values for name, values in part.items() if name == channel or name.startswith(f"{channel}.")
    }
    if channel and curves:
        limit = fault.get("limit")
        panels.append(Panel(channel, curves, () if limit is None else (float(limit),)))
    motors = {motor.joint: motor for motor in machine.motors}
    velocities = {joint.name: joint.velocity for joint in machine.joints}
    for name, at in _concerned(part, machine, fault):
        limits = next(each for each in machine.coordinates if each.name == name)
        unit = "rad" if limits.is_angle else "m"
        curves = {"reference": part[f"reference.{name}"], "measured": at}
        panels.append(Panel(f"{name} / {unit}", curves, limits.position))
        if name in velocities and f"v.{name}" in part:
            top = velocities[name]
            panels.append(
                Panel(f"velocity of {name} / {unit}/s", {"velocity": part[f"v.{name}"]}, (-top, top))
            )
        if name in motors:
            most, turns = motors[name].max_effort, motors[name].is_angle
            curves = {"law": part[f"law_effort.{name}"], "sent": part[f"effort.{name}"]}
            panels.append(Panel(f"effort of {name} / {'N m' if turns else 'N'}", curves, (-most, most)))
    return panels + signal_panels(_changed(part), units)


def _concerned(part: dict[str, Floats], machine: Machine, fault: dict[str, Any]) -> list[tuple[str, Floats]]:
    """The coordinates that the fault names; else the goal's coordinates that move most."""
    there = {
        limits.name: part[f"coordinate.{limits.name}"]
        for limits in machine.coordinates
        if f"coordinate.{limits.name}" in part
    }
    named = [name for name in str(fault.get("where") or "").split(", ") if name in there]
    if not named:
        goals = [name for name in machine.controller.goal_coordinates if name in there] or list(there)
        named = sorted(goals, key=lambda name: -float(np.ptp(there[name])))[:_AT_ONCE]
    return [(name, there[name]) for name in named]
