"""Reads the ticks of a log (MCAP) back into one numpy table.

The log's own schema says which fields a record has, so a log is readable without the machine file that made
it. A log that was cut off by a crash is read as far as it goes.
"""

import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mcap.records import Schema
from numpy.typing import NDArray

from linkwork.brief import Brief
from linkwork.recordings.log_follower import LogFollower

_PLAIN = {"int64": np.dtype("<i8"), "float64": np.dtype("<f8")}
_CDR_HEADER_BYTES = 4


class DamagedLog(UserWarning):
    """A log could be read in part only. The text says what is missing."""


@dataclass(frozen=True, repr=False)
class Ticks(Brief):
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
        return self.table[channel][:, names.index(name)]


def read_ticks(*paths: Path | str) -> Ticks:
    """All ticks of these segments, in the order given, up to the first that is damaged; then it warns.

    Raises OSError, and ValueError when a file holds no ticks or the segments do not belong together.
    """
    found: list[tuple[Schema, bytes]] = []
    damage = ""
    for path in paths:
        follower = LogFollower(Path(path), alone=True)
        with closing(follower):
            rows = (each for each in follower.contents() if isinstance(each, tuple))
            found += [(schema, data) for topic, schema, data in rows if topic == "tick"]
        if follower.damage and not follower.cut:
            warnings.warn(follower.damage, DamagedLog, stacklevel=2)
            damage = follower.damage
            break
    if not found:
        raise ValueError(f"no ticks in {', '.join(str(path) for path in paths)}" + (damage and f": {damage}"))
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
