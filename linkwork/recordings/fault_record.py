"""Analysis of a fault from a flight record: the ticks around it, the events, and the signals concerned."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.brief import Brief
from linkwork.machine import Machine
from linkwork.recordings.recorded_run import Happening, RecordedRun
from linkwork.recordings.recording import Recording
from linkwork.recordings.signal_plot import SIGNAL_CHANNELS, SignalPanel, recorded_panels, signal_panels

_CHANNELS: Final = {
    "LINK_LOST": "lost_in_a_row",
    "LINK_LOSS_RATIO": "loss_ratio",
    "CLOSURE_RESIDUAL": "closure_residual",
    "CONSTRAINT_FORCE": "constraint_force",
}
"""Faults with a separate channel, whose limit is that of the fault."""
_AT_ONCE: Final = 2
"""Coordinates that are shown where none is asked for."""


@dataclass(frozen=True, eq=False, repr=False)
class FaultRecord(Brief):
    """The ticks around a fault: `time_s` (n,) and the times of `happenings` are relative to the fault.

    fault: its event, as logged.
    """

    machine: str
    fault: dict[str, Any]
    time_s: Floats
    happenings: list[Happening]
    panels: list[SignalPanel]


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
    run = RecordedRun(recording, machine)
    time_s = (run.records["tick"] - fault["tick"]) * machine.period_s
    inside = (time_s >= -before_s) & (time_s <= after_s)
    if not inside.any():
        raise ValueError(f"{recording.paths[0]} holds no ticks from {-before_s:g} to {after_s:g} s")
    happenings = [
        replace(each, time_s=float(time_s[each.row])) for each in run.happenings if inside[each.row]
    ]
    if names:
        panels = [
            replace(panel, curves={label: values[inside] for label, values in panel.curves.items()})
            for panel in recorded_panels(recording.ticks, names, recording.machine_file)
        ]
    else:
        panels = _panels({name: values[inside] for name, values in run.columns.items()}, machine, fault)
    return FaultRecord(machine.name, fault, time_s[inside], happenings, panels)


def _changed(part: dict[str, Floats]) -> dict[str, Floats]:
    """Return the inputs and outputs that are not constant."""
    return {
        name: values
        for name, values in part.items()
        if name.partition(".")[0] in SIGNAL_CHANNELS and np.any(values != values[0])
    }


def _panels(part: dict[str, Floats], machine: Machine, fault: dict[str, Any]) -> list[SignalPanel]:
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
        panels.append(SignalPanel(channel, curves, () if limit is None else (float(limit),)))
    motors = {motor.joint: motor for motor in machine.motors}
    velocities = {joint.name: joint.velocity for joint in machine.joints}
    for name, at in _concerned(part, machine, fault):
        limits = next(each for each in machine.coordinates if each.name == name)
        unit = limits.unit
        curves = {"reference": part[f"reference.{name}"], "measured": at}
        panels.append(SignalPanel(f"{name} / {unit}", curves, limits.position))
        if name in velocities and f"v.{name}" in part:
            top = velocities[name]
            panels.append(
                SignalPanel(f"velocity of {name} / {unit}/s", {"velocity": part[f"v.{name}"]}, (-top, top))
            )
        if name in motors:
            most, turns = motors[name].max_effort, motors[name].is_angle
            curves = {"law": part[f"law_effort.{name}"], "sent": part[f"effort.{name}"]}
            panels.append(SignalPanel(f"effort of {name} / {'N m' if turns else 'N'}", curves, (-most, most)))
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
        goals = [name for name in machine.goal_coordinates if name in there] or list(there)
        named = sorted(goals, key=lambda name: -float(np.ptp(there[name])))[:_AT_ONCE]
    return [(name, there[name]) for name in named]
