"""SDO transfers of up to four bytes (expedited): their frames, and a master's queue of them for one drive."""

import struct
import time
from collections import deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from linkwork.cia402.can_link import SDO_REQUEST, Send
from linkwork.cia402.objects import DriveObject

_ANSWER_S: Final = 0.5
"""Longest wait for an answer to a request, which is repeated twice."""
_TRIES: Final = 3
_ABORTS: Final = {
    0x05040000: "timed out", 0x06010000: "access not supported", 0x06010001: "write only",
    0x06010002: "read only", 0x06020000: "no such object", 0x06040041: "cannot be mapped to a PDO",
    0x06040042: "PDO too long", 0x06070010: "wrong length", 0x06090011: "no such subindex",
    0x06090030: "value out of range", 0x06090031: "value too high", 0x06090032: "value too low",
    0x08000020: "cannot be stored", 0x08000021: "local control", 0x08000022: "not in this state",
}  # fmt: skip


class SdoAborted(Exception):
    """The other end refused a transfer; the text has the reason. `code`: the abort code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"abort {code:08X}h ({_ABORTS.get(code, 'unknown reason')})")
        self.code = code


def sdo_read(entry: DriveObject) -> bytes:
    """Return the request to read an object."""
    return struct.pack("<BHBI", 0x40, entry.index, entry.sub, 0)


def sdo_write(entry: DriveObject, value: int) -> bytes:
    """Return the request to write an object of up to four bytes."""
    data = entry.pack(value)
    return struct.pack("<BHB4s", 0x23 | (4 - len(data)) << 2, entry.index, entry.sub, data)


def sdo_answer(entry: DriveObject, data: bytes) -> int | None:
    """Return the value read (0 after a write) of an answer; None where it answers something else.

    Raises SdoAborted.
    """
    if len(data) < 8:
        return None
    command, index, sub = struct.unpack_from("<BHB", data)
    if (index, sub) != (entry.index, entry.sub):
        return None
    if command == 0x80:
        raise SdoAborted(struct.unpack_from("<I", data, 4)[0])
    if command == 0x60:
        return 0
    if command & 0xE2 == 0x42:  # expedited
        return entry.unpack(data[4:8])
    return None


class SdoJob(NamedTuple):
    """An object to read (value None) or to write; `required`: the drive is unusable without."""

    entry: DriveObject
    value: int | None
    required: bool


class SdoQueue:
    """Transfers with a node, one after the other. `name`: the drive's in texts.

    needed: why an object is, by index; wanted: what is missing without an object that is not required.
    values: by object, what was read last. refused: why the drive is unusable, or empty. ignored: wanted
    objects that the drive refused, in words, until the caller takes them.
    """

    def __init__(
        self, name: str, node: int, needed: Mapping[int, str], wanted: Mapping[DriveObject, str]
    ) -> None:
        self.name, self.node, self._needed, self._wanted = name, node, needed, wanted
        self.ignored: list[str] = []
        self.values: dict[DriveObject, int] = {}
        self.refused = ""
        self._jobs: deque[SdoJob] = deque()
        self._sent_s, self._tries = 0.0, 0

    @property
    def busy(self) -> bool:
        """Whether objects wait to be written or read."""
        return bool(self._jobs)

    def clear(self) -> None:
        """Forget all transfers that wait."""
        self._jobs.clear()
        self._tries, self.refused = 0, ""

    def write(self, entry: DriveObject, value: int, *, required: bool = False) -> None:
        """Queue an object to be written."""
        self._jobs.append(SdoJob(entry, value, required))

    def query(self, entry: DriveObject, *, required: bool = False) -> None:
        """Queue an object to be read, unless it is queued."""
        job = SdoJob(entry, None, required)
        if job not in self._jobs:
            self._jobs.append(job)

    def poll(self, send: Send) -> None:
        """Send the next request, or the present one again where its answer is overdue."""
        if not self._jobs or (self._tries and time.monotonic() - self._sent_s < _ANSWER_S):
            return
        job = self._jobs[0]
        if self._tries == _TRIES:
            self.clear()
            self.refused = (
                f"{self.name} (node {self.node}) does not answer the SDO request for {job.entry}; check "
                "power, wiring, bit rate, termination, and its node in driver.options.drives"
            )
            return
        request = sdo_read(job.entry) if job.value is None else sdo_write(job.entry, job.value)
        self._tries, self._sent_s = self._tries + 1, time.monotonic()
        send(SDO_REQUEST + self.node, request)

    def answer(self, data: bytes) -> None:
        """Take in the answer to a request."""
        if not self._jobs or not self._tries:
            return
        job = self._jobs[0]
        try:
            value = sdo_answer(job.entry, data)
        except SdoAborted as aborted:
            what = "reading" if job.value is None else f"writing {job.value} to"
            text = f"{what} {job.entry} failed: {aborted}"
            if job.required:
                reason = self._needed.get(job.entry.index, "")
                self.refused = f"{self.name} (node {self.node}): {text}{reason and '; '}{reason}"
            elif job.entry in self._wanted:
                self.ignored.append(f"{text}: {self._wanted[job.entry]}")
        else:
            if value is None:
                return
            if job.value is None:
                self.values[job.entry] = value
        self._jobs.popleft()
        self._tries = 0
