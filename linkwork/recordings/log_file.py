"""Reads the ticks of a log (MCAP) back into one numpy table.

The log's own schema says which fields a record has, so a log is readable without the machine file that made
it. A log that was cut off by a crash is read as far as it goes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mcap.exceptions import EndOfFile, McapError
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from numpy.typing import NDArray

_PLAIN = {"int64": np.dtype("<i8"), "float64": np.dtype("<f8")}
_CDR_HEADER_BYTES = 4


@dataclass(frozen=True)
class Ticks:
    """The ticks of one log: `table[channel]` is (n,) or (n, number of names[channel])."""

    table: NDArray[Any]
    names: dict[str, tuple[str, ...]]

    def column(self, channel: str, name: str) -> NDArray[np.float64]:
        """Return one number over time (ticks), e.g. `column("effort", "shoulder")`. Raises KeyError with the
        names.
        """
        names = self.names[channel]
        if name not in names:
            raise KeyError(f"{channel} has {', '.join(names)}; not {name}")
        values: NDArray[np.float64] = self.table[channel][:, names.index(name)]
        return values


def read_ticks(*paths: Path | str) -> Ticks:
    """All ticks of these segments, in the order given.

    Raises ValueError when a file holds no ticks or the segments do not belong together.
    """
    found = [message for path in paths for message in _messages(Path(path))]
    if not found:
        raise ValueError(f"no ticks in {', '.join(str(path) for path in paths)}")
    return ticks_of(found)


def ticks_of(messages: Sequence[tuple[Schema, bytes]]) -> Ticks:
    """The ticks of these messages with their schemas.

    Raises ValueError when they are not all of one machine.
    """
    schemas = {schema.data: schema for schema, _ in messages}
    layouts = [_layout(schema) for schema in schemas.values()]
    if any(layout[0] != layouts[0][0] for layout in layouts):
        raise ValueError("these are records of more than one machine")
    rows = b"".join(data[_CDR_HEADER_BYTES:] for _, data in messages)
    return Ticks(np.frombuffer(rows, layouts[0][0]), layouts[0][1])


def _messages(path: Path) -> list[tuple[Schema, bytes]]:
    """Every tick of a file with its schema, up to the point where the file ends or breaks off."""
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    found: list[tuple[Schema, bytes]] = []
    with path.open("rb") as stream:
        try:
            for record in StreamReader(stream).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message):
                    channel = channels[record.channel_id]
                    if channel.topic == "tick":
                        found.append((schemas[channel.schema_id], record.data))
        except (EndOfFile, McapError, struct.error):
            return found
    return found


def _layout(schema: Schema) -> tuple[np.dtype[Any], dict[str, tuple[str, ...]]]:
    """The numpy type of a record from its ROS 2 message text, and the names within each channel."""
    main, *parts = schema.data.decode().split("=" * 80 + "\n")
    members: dict[str, tuple[str, ...]] = {}
    for part in parts:
        title, *lines = part.strip().splitlines()
        members[title.removeprefix("MSG: ")] = tuple(line.split()[1] for line in lines)
    fields: list[tuple[str, Any]] = []
    names: dict[str, tuple[str, ...]] = {}
    for line in main.strip().splitlines():
        kind, name = line.split("#")[0].split()
        if kind in _PLAIN:
            fields.append((name, _PLAIN[kind]))
        else:
            names[name] = members[kind]
            fields.append((name, (_PLAIN["float64"], (len(members[kind]),))))
    return np.dtype(fields), names
