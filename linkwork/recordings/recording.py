"""A recording read back whole: ticks, events, orders with their goals, and the machine file."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from mcap.exceptions import EndOfFile, McapError
from mcap.records import Attachment, Channel, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from numpy.typing import NDArray

from linkwork.controller.gateway.records.logged_orders import GoalWords, TakenSetPoint, order_of
from linkwork.controller.orders import Order
from linkwork.controller.set_points import SetPoint
from linkwork.recordings.log_file import Ticks, ticks_of

_SEGMENT = re.compile(r"(.+-)(\d{4,})\.mcap")


class NoRecording(ValueError):
    """A file that is no recording of linkwork's, or holds too little of one. The text says which and why."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording. `events` are plain data as logged, each with the name under "event"."""

    paths: tuple[Path, ...]
    metadata: dict[str, str]
    machine_file: str
    ticks: Ticks
    events: tuple[dict[str, Any], ...]
    goals: dict[int, GoalWords]
    """By the number of the order that began it."""
    set_points: dict[int, SetPoint] = field(default_factory=dict)
    """Of streams, by their numbers."""

    @cached_property
    def orders(self) -> dict[int, Order]:
        """The orders by their numbers."""
        return {int(e["order"]): order_of(e) for e in self.events if e.get("event") == "order"}

    @property
    def table(self) -> NDArray[Any]:
        """The ticks as one structured array."""
        return self.ticks.table


def segments_of(path: Path) -> list[Path]:
    """The file and, where it is a segment of a log, those of the same run that follow it."""
    match = _SEGMENT.fullmatch(path.name)
    found = [path]
    while match is not None:
        following = path.with_name(f"{match[1]}{int(match[2]) + len(found):04d}.mcap")
        if not following.exists():
            break
        found.append(following)
    return found


def read_recording(path: Path) -> Recording:
    """Read a recording, or all of a log from this segment on, as far as they go.

    Raises OSError, and NoRecording for files that hold no ticks.
    """
    paths = segments_of(path)
    metadata: dict[str, str] = {}
    machine_file, events, goals = "", [], {}
    set_points: dict[int, SetPoint] = {}
    rows: list[tuple[Schema, bytes]] = []
    for each in paths:
        for found in contents(each):
            if isinstance(found, Metadata):
                metadata = dict(found.metadata)
            elif isinstance(found, Attachment):
                machine_file = found.data.decode()
            else:
                topic, schema, data = found
                if topic == "tick":
                    rows.append((schema, data))
                elif topic == "events":
                    events.append(json.loads(data))
                elif topic == "goals":
                    goal = GoalWords.unpack(data)
                    goals[goal.order] = goal
                elif topic == "set_points":
                    point = TakenSetPoint.unpack(data).point
                    set_points[point.number] = point
    if not rows:
        raise NoRecording(f"{path} contains no ticks; it is not a recording, or ended before the first tick")
    try:
        ticks = ticks_of(rows)
    except ValueError as error:
        raise NoRecording(f"{path}: {error}") from None
    return Recording(tuple(paths), metadata, machine_file, ticks, tuple(events), goals, set_points)


def contents(path: Path) -> Iterator[Metadata | Attachment | tuple[str, Schema, bytes]]:
    """The metadata, attachments and messages (topic, schema, data) of a file, up to where it breaks off.

    Raises OSError, and NoRecording for a file that is no MCAP file.
    """
    with path.open("rb") as stream:
        try:
            yield from _records(StreamReader(stream))
        except (EndOfFile, struct.error):
            return
        except McapError as error:
            if stream.tell() <= 8:
                raise NoRecording(f"{path} is not a recording: {error}") from None


def _records(reader: StreamReader) -> Iterator[Metadata | Attachment | tuple[str, Schema, bytes]]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    for record in reader.records:
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel):
            channels[record.id] = record
        elif isinstance(record, Message):
            channel = channels[record.channel_id]
            yield channel.topic, schemas[channel.schema_id], record.data
        elif isinstance(record, (Metadata, Attachment)):
            yield record


def signals(ticks: Ticks) -> dict[str, NDArray[np.float64]]:
    """Return every number over time (ticks), by its flat name: `effort.shoulder`."""
    found: dict[str, NDArray[np.float64]] = {}
    for channel in ticks.table.dtype.names or ():
        values = ticks.table[channel]
        if values.ndim == 1:
            found[channel] = values.astype(np.float64)
        else:
            found |= {f"{channel}.{name}": values[:, k] for k, name in enumerate(ticks.names[channel])}
    return found
