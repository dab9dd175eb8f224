"""A recording together with its machine: records under the machine's own names, states, and events."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.configuration import configured
from linkwork.controller.exchange.records import CHANNELS, layout_for
from linkwork.controller.gateway.records.event_detection import EventDetector
from linkwork.controller.gateway.records.messages import Messages
from linkwork.controller.gateway.requests.describe import describe
from linkwork.controller.gateway.requests.state_answers import recorded_state
from linkwork.machine import Machine
from linkwork.protocol.codes import DeviceFault, Pace
from linkwork.recordings.recording import NoRecording, Recording

_NEAR_LIMIT: Final = 0.999
_GROUPS: Final = {"goal.accepted": "goal", "goal.result": "goal", "signal.changed": "signal"}


@dataclass(frozen=True)
class Happening:
    """Something that happened. row: of its tick; group: state, goal, limited, fault, link, crossing, …"""

    row: int
    time_s: float
    tick: int
    group: str
    text: str


def recorded_machine(recording: Recording, against: str | None = None, law: str | None = None) -> Machine:
    """Return the machine of a configuration, or the recorded one, with the law that it ran by.

    Raises NoRecording where the recording has no machine file, or one that cannot run, and MachineError.
    """
    if against is not None:
        return configured(against, law)
    if not recording.machine_file:
        raise NoRecording(f"{recording.paths[0]} contains no machine file; name one with --against")
    with tempfile.TemporaryDirectory(prefix="linkwork-") as folder:
        path = Path(folder) / "machine.yaml"
        path.write_text(recording.machine_file, encoding="utf-8")
        try:
            return configured(str(path), law or recording.metadata.get("law"))
        except ValueError as error:
            raise NoRecording(f"{recording.paths[0]}: {error}; name another one with --law") from None


class RecordedRun:
    """The ticks of a recording as records of the controller.

    records: (n,), structured by `layout`; channels that the recording lacks are zero. time_s: (n,), from 0
    on; where the device time jumped back, as after a restart of the plant, one period passes.
    """

    def __init__(self, recording: Recording, machine: Machine) -> None:
        """Raises NoRecording where the recording is of another machine."""
        self.recording, self.machine = recording, machine
        self.layout, self.wording = layout_for(machine), Messages(machine)
        self.records = self._records()
        self.time_s = _time_line(self.records["time_s"], machine.period_s)

    def _records(self) -> NDArray[Any]:
        """Return the ticks as records: the same memory where all channels were recorded."""
        table, wanted = self.recording.table, self.layout.dtype
        names = [name for name in wanted.names or () if name in (table.dtype.names or ())]
        for name in names:
            if table.dtype[name].shape != wanted[name].shape:
                path, machine = self.recording.paths[0], self.machine.name
                raise NoRecording(f"{path} is of another machine than {machine}: {name} differs")
        there: Mapping[str, Any] = table.dtype.fields or {}
        here: Mapping[str, Any] = wanted.fields or {}
        if table.dtype.itemsize == wanted.itemsize and all(there[name][1] == here[name][1] for name in names):
            return table.view(wanted)
        records = np.zeros(len(table), wanted)
        for name in names:
            records[name] = table[name]
        return records

    @cached_property
    def described(self) -> Mapping[str, Any]:
        """The answer of `describe` of the controller that was recorded."""
        pace = self.recording.metadata.get("pace", Pace.DEVICE.value)
        return dict(describe(self.machine, Pace(pace)))

    @cached_property
    def columns(self) -> dict[str, Floats]:
        """Every recorded number over time (n,), by its flat name: `tick`, `effort.shoulder`."""
        recorded = self.recording.table.dtype.names or ()
        words = self.records.view(np.float64).reshape(len(self.records), -1)
        found: dict[str, Floats] = {}
        for channel in CHANNELS:
            if channel.name not in recorded:
                continue
            at = self.layout.offsets[channel.name]
            if not channel.per:
                whole = self.records[channel.name]
                found[channel.name] = whole.astype(np.float64) if channel.kind == "int" else words[:, at]
                continue
            for k, name in enumerate(self.layout.names[channel.per]):
                found[f"{channel.name}.{name}"] = words[:, at + k]
        return found

    def state_at(self, row: int) -> dict[str, Any]:
        """Return the state in a tick, as the answer of `state` has it."""
        record: np.void = self.records[row]
        return recorded_state(record, self.layout, self.wording)

    @cached_property
    def happenings(self) -> list[Happening]:
        """Events by tick: those of the gateway, losses of the link, and first violations of limits."""
        found = [*self._events(), *self._links(), *self._crossings()]
        return sorted(found, key=lambda each: each.tick)

    def _happening(self, row: int, group: str, text: str) -> Happening:
        return Happening(row, float(self.time_s[row]), int(self.records["tick"][row]), group, text)

    def _events(self) -> list[Happening]:
        """The events that clients were sent, from the records as the gateway makes them."""
        story = EventDetector(self.layout, self.wording, self.records[0])
        words = self.records.view(np.float64).reshape(len(self.records), -1)
        return [
            self._happening(row, _GROUPS.get(name, name), _event_text(name, content))
            for row in story.rows(words)
            for _, name, content in story.detect(row, self.records[row])
        ]

    def _links(self) -> list[Happening]:
        """Return the events of the device link and the device."""
        table, found = self.records, []
        connected, device_fault = table["connected"].astype(int), table["device_fault"].astype(int)
        for row in (np.flatnonzero(connected[1:] != connected[:-1]) + 1).tolist():
            text = "connected to the plant" if connected[row] else "the link to the plant is lost"
            found.append(self._happening(row, "link", text))
        for row in (np.flatnonzero(device_fault[1:] != device_fault[:-1]) + 1).tolist():
            found.append(
                self._happening(row, "link", f"the device reports {_device_fault(int(device_fault[row]))}")
            )
        lost = table["lost_in_a_row"].astype(int)
        for row in (np.flatnonzero((lost[1:] == 0) & (lost[:-1] > 0)) + 1).tolist():
            first = row - min(lost[row - 1], row)
            text = f"{lost[row - 1]} state{'s' if lost[row - 1] > 1 else ''} lost in a row"
            found.append(self._happening(first, "link", text))
        return found

    def _crossings(self) -> list[Happening]:
        """First violations of the machine file's limits by signals."""
        table, machine = self.records, self.machine
        found: list[Happening] = []

        def crossed(beyond: NDArray[np.bool_], text: str) -> None:
            rows = np.flatnonzero(beyond[1:] & ~beyond[:-1]) + 1
            if len(rows):
                found.append(self._happening(int(rows[0]), "crossing", text))

        for k, joint in enumerate(machine.joints):
            unit = joint.unit
            speed = np.abs(table["v"][:, k])
            crossed(speed > joint.velocity, f"speed of {joint.name} exceeds {joint.velocity:.4g} {unit}/s")
        for k, limits in enumerate(machine.coordinates):
            unit = limits.unit
            at, (low, high) = table["coordinate"][:, k], limits.position
            crossed(at > high, f"{limits.name} is above {high:.4g} {unit}")
            crossed(at < low, f"{limits.name} is below {low:.4g} {unit}")
            allowed = machine.tolerances[k].following_limit
            error = np.abs(at - table["reference"][:, k])
            crossed(error > allowed, f"following error of {limits.name} exceeds {allowed:.4g} {unit}")
        for k, motor in enumerate(machine.motors):
            unit, most = motor.effort_unit, motor.max_effort
            effort = np.abs(table["effort"][:, k])
            crossed(effort >= _NEAR_LIMIT * most, f"effort of {motor.joint} reaches {most:.4g} {unit}")
        return found


def _time_line(time_s: Floats, period_s: float) -> Floats:
    """Return the times (n; s) from 0 on, without jumps back."""
    steps = np.diff(time_s)
    if np.all(steps >= 0.0):
        from_zero: Floats = time_s - time_s[0]
        return from_zero
    return np.concatenate([[0.0], np.cumsum(np.where(steps >= 0.0, steps, period_s))])


def _event_text(name: str, content: dict[str, Any]) -> str:
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


def _device_fault(code: int) -> str:
    return DeviceFault(code).name if code in set(DeviceFault) else f"fault {code} of its vendor"
