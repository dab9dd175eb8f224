"""One MCAP file: the machine file as attachment, every tick and goal as CDR, events as JSON.

A tick's message is four bytes that say "little-endian CDR" and the record's own bytes. Ticks of a braked
machine are packed, but for one in a few hundred (`idle_ticks.py`). Under lockstep the wall-clock tail of the
record is left off and message times are the device's, so that the same run gives the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from mcap.writer import CompressionType, Writer
from numpy.typing import NDArray

from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.gateway.records.idle_ticks import IDLE_SCHEMA, MOST, idle, pack_idle
from linkwork.controller.gateway.records.logged_orders import (
    GOAL_SCHEMA,
    SET_POINT_SCHEMA,
    GoalWords,
    TakenSetPoint,
)
from linkwork.controller.gateway.twin.twin_channels import TwinChannels, nanoseconds
from linkwork.machine import Machine
from linkwork.machine.visuals import mesh_hashes
from linkwork.protocol.codes import Pace
from linkwork.version import __version__

CHUNK_BYTES = 64 * 1024
"""Closing a chunk of this size takes well under a millisecond; a chunk is also what a crash may lose."""
_CDR_LITTLE_ENDIAN = b"\0\1\0\0"
_EVENT_SCHEMA = {
    "title": "linkwork event",
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "tick": {"type": "integer"},
        "time_s": {"type": "number"},
    },
}


def begun_writer(stream: IO[bytes]) -> Writer:
    """Return the writer of a log or recording, with its head written. Raises OSError."""
    writer = Writer(stream, chunk_size=CHUNK_BYTES, compression=CompressionType.LZ4, enable_data_crcs=True)
    writer.start(profile="ros2", library="linkwork")
    return writer


@dataclass(frozen=True)
class LogSource:
    """Contents of a log: the layout of a record, and the metadata at its head.

    `wall_clock`: whether wall-clock time belongs in it. Without it `metadata` must be the same in two equal
    runs.
    """

    layout: RecordLayout
    wall_clock: bool
    machine_file: str
    metadata: Mapping[str, str]
    twin: TwinChannels | None = None
    """Layout of the digital twin's comparisons, where there is one."""

    @classmethod
    def for_machine(
        cls, machine: Machine, layout: RecordLayout, pace: Pace, twin: TwinChannels | None = None
    ) -> LogSource:
        """Return the source of a log; in lockstep equal for equal runs: without path, host, time."""
        metadata = {
            "linkwork": __version__,
            "machine": machine.name,
            "law": machine.controller.law,
            "pace": pace.value,
            "period_s": repr(machine.period_s),
            "config": machine.config_hash,
            "interface": machine.interface_hash,
            "model": machine.model_hash,
            "formulation": machine.plant.formulation,
        }
        if meshes := mesh_hashes(machine.path, machine.visuals):
            metadata["meshes"] = json.dumps(meshes)
        if pace is not Pace.LOCKSTEP:
            metadata["file"] = machine.path
        return cls(layout, pace is not Pace.LOCKSTEP, machine.source_text, metadata, twin)


class Segment:
    """A new file being written. Raises OSError (a full disk, a path that exists already).

    packs: whether ticks of a braked machine are packed.
    """

    def __init__(self, path: Path, source: LogSource, *, packs: bool = False) -> None:
        self.path = path
        self._layout = source.layout
        self._wall_clock = source.wall_clock
        self._record_bytes = source.layout.bytes if source.wall_clock else source.layout.deterministic_bytes
        self._stream: IO[bytes] = path.open("xb")
        self._set_points = self._compared = self._idle = -1
        self._packs = packs and source.twin is None
        self._packed = np.empty((0, source.layout.words))
        self._twin = source.twin
        self._last_ns = 0
        self.bytes = 0
        """Bytes of messages so far, before compression: the same for the same run. A tick of a braked machine
        counts as a sixteenth."""
        try:
            self._begin(source)
        except OSError:
            self.abandon()
            path.unlink(missing_ok=True)
            raise

    def _begin(self, source: LogSource) -> None:
        """Write the head of the file, and its channels."""
        self._writer = begun_writer(self._stream)
        self._writer.add_metadata("linkwork", dict(source.metadata))
        self._writer.add_attachment(0, 0, "machine.yaml", "application/yaml", source.machine_file.encode())
        schema = source.layout.ros2msg(wall_clock=source.wall_clock).encode()
        tick = self._writer.register_schema("linkwork_msgs/msg/Tick", "ros2msg", schema)
        event = self._writer.register_schema(
            "linkwork.Event", "jsonschema", json.dumps(_EVENT_SCHEMA).encode()
        )
        self._tick = self._writer.register_channel("tick", "cdr", tick)
        self._event = self._writer.register_channel("events", "json", event)
        goal = self._writer.register_schema("linkwork_msgs/msg/Goal", "ros2msg", GOAL_SCHEMA.encode())
        self._goal = self._writer.register_channel("goals", "cdr", goal)
        if source.twin is not None:
            text = source.twin.ros2msg().encode()
            twin = self._writer.register_schema("linkwork_msgs/msg/Twin", "ros2msg", text)
            self._compared = self._writer.register_channel("twin", "cdr", twin)
        self._stream.flush()

    def ticks(self, words: NDArray[np.float64], compared: NDArray[Any] | None = None) -> None:
        """Append records (n, words), each followed by the digital twin's comparison, if given."""
        if not self._packs:
            self._append(words, compared)
            return
        packed = idle(words, self._layout)
        bounds = [0, *(np.flatnonzero(packed[1:] != packed[:-1]) + 1), len(words)]
        for begin, end in pairwise(bounds if len(words) else []):
            if not packed[begin]:
                self._end_idle()
                self._append(words[begin:end])
                continue
            self.bytes += (end - begin) * (self._record_bytes // 16)
            self._packed = np.concatenate([self._packed, words[begin:end]])
            while len(self._packed) > MOST:
                more = self._packed[MOST + 1 :]
                self._packed = self._packed[: MOST + 1]
                self._end_idle()
                self._packed = more

    def _end_idle(self) -> None:
        """Write the ticks of a braked machine that are waiting: packed, and the last as a message."""
        rows, self._packed = self._packed, self._packed[:0]
        if len(rows) > 1:
            if self._idle < 0:
                schema = IDLE_SCHEMA.encode()
                kind = self._writer.register_schema("linkwork_msgs/msg/IdleTicks", "ros2msg", schema)
                self._idle = self._writer.register_channel("idle", "cdr", kind)
            packed = rows[:-1, : self._record_bytes // 8].copy()
            if self._wall_clock:
                at = self._layout.offsets["phase_ns"]
                packed[:, at : at + len(self._layout.names["phase"])] = np.nan
            time_ns, number = self._times(rows)[0], int(rows.view(np.int64)[0, 0]) & 0xFFFFFFFF
            data = pack_idle(packed.view(np.int64))
            self._writer.add_message(self._idle, time_ns, data, time_ns, number)
        if len(rows):
            counted = self.bytes
            self._append(rows[-1:])
            self.bytes = counted

    def _append(self, words: NDArray[np.float64], compared: NDArray[Any] | None = None) -> None:
        add, channel = self._writer.add_message, self._tick
        numbers = (words.view(np.int64)[:, 0] & 0xFFFFFFFF).tolist()
        times = self._times(words)
        raw, size, stride = words.tobytes(), self._record_bytes, self._layout.bytes
        for row, (number, time_ns) in enumerate(zip(numbers, times, strict=True)):
            at = row * stride
            add(channel, time_ns, _CDR_LITTLE_ENDIAN + raw[at : at + size], time_ns, number)
            if compared is not None:
                self.compared(compared[row : row + 1])
        self.bytes += len(words) * (size + len(_CDR_LITTLE_ENDIAN))
        if times:
            self._last_ns = times[-1]

    def compared(self, rows: NDArray[Any]) -> None:
        """Append comparisons of the digital twin (protocol.twin_messages)."""
        if self._twin is None:
            return
        raw, size, stride = rows.tobytes(), self._twin.bytes, rows.itemsize
        for row, stamp in enumerate(self._twin.stamps_ns(rows, wall_clock=self._wall_clock)):
            at = row * stride
            content = _CDR_LITTLE_ENDIAN + raw[at : at + size]
            self._writer.add_message(self._compared, stamp, content, stamp, int(rows["tick"][row]))
        self.bytes += len(rows) * (size + len(_CDR_LITTLE_ENDIAN))

    def event(self, name: str, content: Mapping[str, Any] | GoalWords | TakenSetPoint) -> None:
        """Append an event, a goal's block or a set-point, at the time of the last tick."""
        self._end_idle()
        if isinstance(content, GoalWords):
            channel, data = self._goal, content.pack()
        elif isinstance(content, TakenSetPoint):
            if self._set_points < 0:  # most runs have none
                schema = SET_POINT_SCHEMA.encode()
                kind = self._writer.register_schema("linkwork_msgs/msg/SetPoint", "ros2msg", schema)
                self._set_points = self._writer.register_channel("set_points", "cdr", kind)
            channel, data = self._set_points, content.pack()
        else:
            channel, data = self._event, json.dumps({"event": name, **content}, default=str).encode()
        self._writer.add_message(channel, self._last_ns, data, self._last_ns)
        self.bytes += len(data)

    def _times(self, words: NDArray[np.float64]) -> list[int]:
        offsets = self._layout.offsets
        if self._wall_clock:
            wall: list[int] = words.view(np.int64)[:, offsets["real_time_ns"]].tolist()
            return [max(0, time_ns) for time_ns in wall]
        return nanoseconds(words[:, offsets["time_s"]])

    @property
    def removed(self) -> bool:
        """Whether another process has removed the file, or put another one in its place."""
        try:
            return not os.path.samestat(self.path.stat(), os.fstat(self._stream.fileno()))
        except OSError:
            return True

    def flush(self, *, close_chunk: bool) -> None:
        """Hand complete chunks of the log to the operating system.

        close_chunk: end the chunk that is being filled, too, so that the file has all that was logged.
        """
        if close_chunk:
            self._end_idle()
            self._writer.flush()  # type: ignore[no-untyped-call]
        else:
            self._stream.flush()

    def close(self) -> None:
        """Write the index and close the file."""
        try:
            self._end_idle()
            self._writer.finish()  # type: ignore[no-untyped-call]
        finally:
            self._stream.close()

    def abandon(self) -> None:
        """Close the file as it is, after a failure to write."""
        try:
            self._stream.close()
        except OSError:
            return
