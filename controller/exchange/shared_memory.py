"""Memory shared by loop and gateway: the ring of tick records going up, goals and set-points going down.

One file, mapped by both. Its first page is the header; then the ring; then the goal slots; then the slots of
set-points. One writer a field: the loop writes records and `head`, the gateway writes the others and `tail`.
The file outlives either process: a new gateway maps it and finds the last seconds of ticks, whichever process
ended.

A word is written by one 8-byte store, and `head` moves only after its record is complete. On processors that
reorder stores a reader could still see `head` first; each record therefore begins with its own tick number,
and the reader takes a record only when that number is the one expected.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.records import RecordLayout
from linkwork.controller.exchange.set_points import SLOT_WORDS, SLOTS, SetPointRing

RING_RECORDS = 4096
GOAL_SLOTS = 4
SLOT_BYTES = 8 * 1024 * 1024
_PAGE = 4096
_MAGIC = 0x314B524F574B4E4C  # "LNKWORK1", read as a little-endian integer
_LAYOUT_VERSION = 2

# words of the header; those from 8 to 15 hold the hash
_AT_MAGIC, _AT_VERSION, _AT_RECORD_BYTES, _AT_LOOP_PID, _AT_HEAD, _AT_TAIL, _AT_LOCKSTEP, _AT_GATEWAY_PID = (
    range(8)
)
_AT_LEASH, _AT_STANDS, _AT_BEATS = 16, 17, 18
_HASH_AT = 64
_HASH_BYTES = 64
_TEXT_AT = 256
_TEXT_BYTES = 1792
_LINK_TEXT_AT = _TEXT_AT + _TEXT_BYTES
_LINK_TEXT_BYTES = 1024
_HOMING_AT = _LINK_TEXT_AT + _LINK_TEXT_BYTES
_HOMING_BYTES = 832
_SIMULATION_AT = _HOMING_AT + _HOMING_BYTES
_SIMULATION_BYTES = 96
_FEATURES_AT = _SIMULATION_AT + _SIMULATION_BYTES
_FEATURES_BYTES = _PAGE - _FEATURES_AT


class SharedMismatch(Exception):
    """The file is no linkwork memory, or of another version or machine."""


class _Text:
    """A text in the header of the file. whole: one that does not fit is kept as '', others are cut."""

    def __init__(self, at: int, size: int, *, whole: bool = False) -> None:
        self._at, self._size, self._whole = at, size, whole

    def __get__(self, shared: Shared, _: type[Shared]) -> str:
        content = shared._map[self._at : self._at + self._size]
        return bytes(content).rstrip(b"\0").decode(errors="replace")

    def __set__(self, shared: Shared, text: str) -> None:
        content = text.encode()
        fits = len(content) <= self._size or not self._whole
        shared._map[self._at : self._at + self._size] = content[: self._size * fits].ljust(self._size, b"\0")


_Kind = TypeVar("_Kind", bound=int)


class _Word(Generic[_Kind]):
    """A whole number, or yes and no, in the header of the file."""

    def __init__(self, place: int, kind: type[_Kind]) -> None:
        self._place, self._kind = place, kind

    def __get__(self, shared: Shared, _: type[Shared]) -> _Kind:
        return self._kind(shared._words[self._place])

    def __set__(self, shared: Shared, value: _Kind) -> None:
        shared._words[self._place] = value


class Shared:
    """The mapped file. Use `create` (the loop) or `open` (gateway, planner)."""

    text = _Text(_TEXT_AT, _TEXT_BYTES)
    """The loop's start-up line: real-time means asked for and obtained."""
    link_text = _Text(_LINK_TEXT_AT, _LINK_TEXT_BYTES)
    """State of the device link: which device the loop waits for, or why the plant refused it."""
    homing = _Text(_HOMING_AT, _HOMING_BYTES, whole=True)
    """Homing of the device, as JSON; '' where unknown, or too long."""
    simulation = _Text(_SIMULATION_AT, _SIMULATION_BYTES, whole=True)
    """Formulation and integrator of a simulated plant, as JSON; '' where unknown."""
    features = _Text(_FEATURES_AT, _FEATURES_BYTES)
    """Optional parts of the device link that the plant carries, as JSON; '' where unknown."""
    loop_pid = _Word(_AT_LOOP_PID, int)
    """Process id of the loop."""
    lockstep = _Word(_AT_LOCKSTEP, bool)
    """Whether the loop runs in lockstep."""
    head = _Word(_AT_HEAD, int)
    """Records written since the loop started."""
    tail = _Word(_AT_TAIL, int)
    """Records that the gateway has taken and logged."""
    stands = _Word(_AT_STANDS, bool)
    """Whether lockstep time is stopped: the loop waits for the next order."""
    leash = _Word(_AT_LEASH, int)
    """Ticks that a lockstep loop may be ahead of the gateway; 0: as many as fit into the ring."""

    def __init__(self, path: Path, descriptor: int, layout_bytes: int) -> None:
        self.path = path
        ring_bytes = -(-RING_RECORDS * layout_bytes // _PAGE) * _PAGE
        self._slots_at = _PAGE + ring_bytes
        points_at = self._slots_at + GOAL_SLOTS * SLOT_BYTES
        self.size = points_at + 8 * SLOTS * SLOT_WORDS
        try:
            if os.fstat(descriptor).st_size == 0:
                os.ftruncate(descriptor, self.size)
                os.posix_fallocate(descriptor, 0, self._slots_at)
                os.posix_fallocate(descriptor, points_at, self.size - points_at)
            self._map = mmap.mmap(descriptor, self.size)
        finally:
            os.close(descriptor)
        self._words: NDArray[np.int64] = np.frombuffer(self._map, np.int64, 32)
        self._ring: NDArray[np.float64] = np.frombuffer(
            self._map, np.float64, RING_RECORDS * layout_bytes // 8, _PAGE
        ).reshape(RING_RECORDS, layout_bytes // 8)
        self._slots = [
            np.frombuffer(self._map, np.float64, SLOT_BYTES // 8, self._slots_at + slot * SLOT_BYTES)
            for slot in range(GOAL_SLOTS)
        ]
        self.set_points = SetPointRing(np.frombuffer(self._map, np.float64, SLOTS * SLOT_WORDS, points_at))

    @classmethod
    def create(
        cls, path: Path, layout: RecordLayout, config_hash: str, *, lockstep: bool, pid: int | None = None
    ) -> Shared:
        """Create the shared file of gateway and loop; an existing one is replaced.

        layout: of the records. config_hash: of the machine file. lockstep: whether time is stepped. pid: of
        the loop, by default this process. Raises OSError when there is no room for it.
        """
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            return cls._begin(path, descriptor, layout, config_hash, lockstep=lockstep, pid=pid)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from None

    @classmethod
    def private(cls, layout: RecordLayout, config_hash: str) -> Shared:
        """Memory without a path, for a lockstep loop and its user in one process."""
        descriptor = os.memfd_create("linkwork", os.MFD_CLOEXEC)
        return cls._begin(Path(), descriptor, layout, config_hash, lockstep=True)

    @classmethod
    def _begin(
        cls,
        path: Path,
        descriptor: int,
        layout: RecordLayout,
        config_hash: str,
        *,
        lockstep: bool,
        pid: int | None = None,
    ) -> Shared:
        shared = cls(path, descriptor, layout.bytes)
        shared._map[_HASH_AT : _HASH_AT + _HASH_BYTES] = config_hash.encode().ljust(_HASH_BYTES)[:_HASH_BYTES]
        words = shared._words
        words[_AT_VERSION], words[_AT_RECORD_BYTES] = _LAYOUT_VERSION, layout.bytes
        words[_AT_LOOP_PID], words[_AT_LOCKSTEP] = os.getpid() if pid is None else pid, int(lockstep)
        words[_AT_MAGIC] = _MAGIC
        return shared

    @classmethod
    def open(cls, path: Path) -> Shared:
        """The file that a loop made. Raises FileNotFoundError, or SharedMismatch when it is not (yet) one of
        this version.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        head = os.pread(descriptor, 64, 0)
        magic, version, record_bytes = np.frombuffer(head.ljust(64, b"\0"), np.int64, 3)
        if magic != _MAGIC or version != _LAYOUT_VERSION:
            os.close(descriptor)
            raise SharedMismatch(f"{path.name} is not the shared memory of a loop of this version")
        return cls(path, descriptor, int(record_bytes))

    @property
    def config_hash(self) -> str:
        """Hash of the configuration the loop runs."""
        return bytes(self._map[_HASH_AT : _HASH_AT + _HASH_BYTES]).decode().strip()

    @property
    def progress(self) -> tuple[int, int]:
        """Two numbers of which one grows while the loop runs: records written, and `beat` calls."""
        return self.head, int(self._words[_AT_BEATS])

    def beat(self) -> None:
        """The loop's sign of life where it writes no records: it waits for a plant or for an order."""
        self._words[_AT_BEATS] += 1

    def append(self, record: NDArray[np.float64]) -> None:
        """Write a record (a flat array), then the new head; called by the loop."""
        head = self._words[_AT_HEAD]
        self._ring[head % RING_RECORDS] = record
        self._words[_AT_HEAD] = head + 1

    @property
    def full(self) -> bool:
        """Whether the next record would overwrite one not taken yet, or be further ahead than the leash."""
        return self.head - self.tail >= (self.leash or RING_RECORDS - 1)

    def read_records(self, since: int, most: int = RING_RECORDS) -> tuple[NDArray[np.float64], int, int]:
        """Records from number `since` on, copied: (words, number of the first, records lost to overwriting).

        Each is a row of words; view them with the layout's dtype. At most `most` of them.
        """
        head = self.head
        first = max(since, head - RING_RECORDS + 1, 0) if head - since >= RING_RECORDS else since
        numbered = np.arange(first, min(head, first + most))
        copied = self._ring[numbered % RING_RECORDS]
        numbers = copied.view(np.int64)[:, 0] if len(copied) else np.empty(0, np.int64)
        whole = numbers == numbered
        good = len(whole) if whole.all() else int(np.argmin(whole))
        if good == 0 and len(whole):  # the loop overtook us while copying: begin behind it
            return copied[:0], head, head - since
        return copied[:good], first, first - since

    def reserve(self, index: int, words: int) -> None:
        """Reserve room for a block in a goal slot: writing where there is none would end this process.

        Raises OSError when the folder has no room, or the file has been removed.
        """
        with self.path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), self._slots_at + index * SLOT_BYTES, 8 * words)

    def slot(self, index: int) -> NDArray[np.float64]:
        """Return a goal slot, writable, as a flat array of doubles."""
        return self._slots[index]

    def close(self) -> None:
        """Drop the views; unmap the memory when no other view is left."""
        del self._words, self._ring, self._slots, self.set_points
        try:
            self._map.close()
        except BufferError:
            return
