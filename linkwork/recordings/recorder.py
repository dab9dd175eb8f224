"""One file of a controller's run: its log, followed while it is written, with all that a replay needs.

It needs no additional work of loop or gateway.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mcap.records import Attachment, Channel, Message, Metadata, Schema

from linkwork.controller.gateway.records.idle_ticks import idle_count
from linkwork.controller.gateway.records.log_segment import begun_writer
from linkwork.recordings.log_follower import LogFollower, first_segment

HAND_OVER_S: Final = 0.5
"""Wall time after which even an unfinished chunk goes to the file: a kill costs less than a second."""
_LOOK_S: Final = 0.1


@dataclass(frozen=True)
class Recorded:
    """Contents of a recording: ticks, the first of them (-1: none), events and goals, bytes of the file.

    damage: what ended it, if its log is damaged.
    """

    ticks: int
    first_tick: int
    events: int
    goals: int
    bytes: int
    damage: str = ""


class RecordingWriter:
    """A recording being written. Raises OSError, FileExistsError for a file that is there."""

    def __init__(self, path: Path) -> None:
        """Make the file."""
        self._path = path
        self._stream = path.open("xb")
        self._writer = begun_writer(self._stream)
        self._schemas: dict[int, Schema] = {}
        self._names: dict[int, str] = {}
        self._channels: dict[str, int] = {}
        self._headed: set[str] = set()
        self._counts = {"tick": 0, "events": 0, "goals": 0}
        self._first = -1

    def add(self, record: object, *, ticks_from: int = 0) -> None:
        """Copy one record of a log; ticks before `ticks_from` are left out."""
        match record:
            case Schema():
                self._schemas[record.id] = record
            case Channel():
                self._register(record)
            case Metadata() if record.name not in self._headed:
                self._headed.add(record.name)
                self._writer.add_metadata(record.name, dict(record.metadata))
            case Attachment() if record.name not in self._headed:
                self._headed.add(record.name)
                self._writer.add_attachment(0, 0, record.name, record.media_type, record.data)
            case Message():
                self._message(record, ticks_from)
            case _:
                return

    def _register(self, channel: Channel) -> None:
        """A segment's channel; every segment has the same."""
        self._names[channel.id] = channel.topic
        if channel.topic in self._channels:
            return
        schema = self._schemas[channel.schema_id]
        made = self._writer.register_schema(schema.name, schema.encoding, schema.data)
        self._channels[channel.topic] = self._writer.register_channel(
            channel.topic, channel.message_encoding, made
        )

    def _message(self, message: Message, ticks_from: int) -> None:
        topic = self._names[message.channel_id]
        if topic == "tick" and message.sequence < ticks_from:
            return
        ticks = 1 if topic == "tick" else idle_count(message.data) if topic == "idle" else 0
        if ticks and self._first < 0:
            self._first = message.sequence
        kind = "tick" if ticks else topic
        self._counts[kind] = self._counts.get(kind, 0) + (ticks or 1)
        self._writer.add_message(
            self._channels[topic], message.log_time, message.data, message.publish_time, message.sequence
        )

    def hand_over(self) -> None:
        """Give everything to the system."""
        self._writer.flush()  # type: ignore[no-untyped-call]
        self._stream.flush()

    @property
    def so_far(self) -> Recorded:
        """The contents recorded so far."""
        counts = self._counts
        return Recorded(
            counts["tick"], self._first, counts["events"], counts["goals"], self._path.stat().st_size
        )

    def close(self) -> None:
        """Complete the file."""
        try:
            self._writer.finish()  # type: ignore[no-untyped-call]
        finally:
            self._stream.close()


def record(
    log: Path,
    path: Path,
    go_on: Callable[[Recorded], bool],
    *,
    ticks_from: int = 0,
) -> Recorded:
    """Write a run's log, to one file, while `go_on(so far)` says so.

    `log`: any segment of the run. ticks_from: the first tick that is wanted, if not the run's first: then the
    recording begins with the segment `log`. Ends by itself when the log is complete. Raises OSError. A file
    that is killed while it is written can be read up to the last second.
    """
    follower = LogFollower(log if ticks_from else first_segment(log), packed=not ticks_from)
    try:
        writer = RecordingWriter(path)
        try:
            handed_over = time.monotonic()
            while True:
                more = go_on(writer.so_far)
                for each in follower.records():
                    writer.add(each, ticks_from=ticks_from)
                if time.monotonic() - handed_over > HAND_OVER_S:
                    handed_over = time.monotonic()
                    writer.hand_over()
                if not more or follower.ended:
                    break
                time.sleep(_LOOK_S)
        finally:
            writer.close()
        return replace(writer.so_far, damage=follower.damage)
    finally:
        follower.close()
