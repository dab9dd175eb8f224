"""Keeping a process in memory, so that no tick waits for a page."""

import ctypes
import os
import resource
from pathlib import Path

from linkwork.timing.scheduling import SchedulingStep
from linkwork.timing.system import LIBC

_MCL_CURRENT = 1
_MCL_FUTURE = 2
_MCL_ONFAULT = 4
_M_TRIM_THRESHOLD = -1
_M_MMAP_MAX = -4
_CAP_IPC_LOCK = 14
_HEAP_RESERVE_BYTES = 8 * 1024 * 1024
_LARGEST_CODE_BYTES = 16 * 1024 * 1024
"""Code above this size is that of a library for every kind of processor, of which one runs a small part."""
_REMEDY = (
    "Allow it with a line '@realtime - memlock unlimited' in /etc/security/limits.d/realtime.conf and the "
    "group realtime, with LimitMEMLOCK=infinity in a systemd unit, or run as root; without it a page "
    "fault may delay a tick."
)


def lock() -> SchedulingStep:
    """Lock all memory of this process, now and later, keep freed memory, and touch a reserve of heap.

    A page is locked from its first use; those of code are read now, because only they come from disk. What is
    reserved and never used takes no memory: stacks of threads, work space of linear algebra, slots of goals.
    Where the limit of locked memory is finite and this process may not exceed it, no memory is locked: a lock
    on future memory under such a limit would make an allocation in the middle of the motion fail. exec keeps
    no locks.
    """
    limit = _raise_limit()
    if limit != resource.RLIM_INFINITY and not _may_exceed_limit():
        return SchedulingStep("memory", "locked", f"not locked (limit {limit // 1024} KiB)", _REMEDY)
    LIBC.mallopt(_M_TRIM_THRESHOLD, -1)
    LIBC.mallopt(_M_MMAP_MAX, 0)
    if LIBC.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) != 0:
        why = os.strerror(ctypes.get_errno())
        return SchedulingStep("memory", "locked", "not locked", f"mlockall: {why}. {_REMEDY}")
    _read_code()
    reserve_heap(_HEAP_RESERVE_BYTES)
    return SchedulingStep("memory", "locked", "locked")


def reserve_heap(size: int) -> None:
    """Allocate, touch and free this many bytes of heap.

    With trimming off they stay with the process, already paged in.
    """
    page = resource.getpagesize()
    bytearray(size)[::page] = bytes(-(-size // page))


def _read_code() -> None:
    """Read the programs and libraries that this process has mapped, and keep them."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, access, _, _, inode = line.split()[:5]
        begin, end = (int(address, 16) for address in addresses.split("-"))
        if inode != "0" and access.endswith("p") and end - begin <= _LARGEST_CODE_BYTES:
            LIBC.mlock(begin, end - begin)


def give_back() -> None:
    """Return to the system what was freed and lies between blocks in use; a few milliseconds.

    For a process that runs for months and tolerates this delay: its size then follows its present use, not
    the peak. Locked memory cannot be returned: nothing is locked afterwards, until the next `lock`.
    """
    LIBC.munlockall()
    LIBC.malloc_trim(0)


class _MallInfo(ctypes.Structure):
    """glibc's `struct mallinfo`, whose numbers are modulo 2³²."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_uint32) for name in _names.split()]


_mallinfo = LIBC.mallinfo
_mallinfo.restype = _MallInfo


def allocated_bytes() -> int:
    """Return the bytes that all threads of this process have allocated and not freed, modulo 2³².

    It takes a microsecond, some thousand times as many with much fragmented memory. Small objects of Python
    are not among them.
    """
    info = _mallinfo()
    return int(info.uordblks + info.hblkhd)


def resident_bytes(pid: int | None = None) -> int:
    """Resident memory of a process (this one when not given), in bytes.

    Raises ProcessLookupError when it is gone.
    """
    try:
        fields = Path(f"/proc/{pid or 'self'}/statm").read_text().split()
    except FileNotFoundError:
        raise ProcessLookupError(f"there is no process {pid}") from None
    return int(fields[1]) * resource.getpagesize()


def _raise_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    return hard


def _may_exceed_limit() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_IPC_LOCK & 1)
    return False
