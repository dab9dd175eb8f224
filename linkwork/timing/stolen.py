"""Time that a hypervisor took from this machine's processors."""

from __future__ import annotations

from pathlib import Path

_STAT = Path("/proc/stat")
_STEAL = 8
"""Column of the time stolen in the line of all processors (proc(5))."""
REFRESH_NS = 100_000_000


class StolenTime:
    """Detects stolen time, in steps of the kernel's clock tick (10 ms)."""

    def __init__(self) -> None:
        self._before, self._read_ns = _stolen(), 0

    def refresh(self, now_ns: int) -> None:
        """Read the count again where the last reading is older than REFRESH_NS, so that `grew` is recent."""
        if now_ns - self._read_ns >= REFRESH_NS:
            self._before, self._read_ns = _stolen(), now_ns

    def grew(self) -> bool:
        """Whether time was stolen from any processor since the count was read last."""
        before, self._before = self._before, _stolen()
        return self._before > before


def _stolen() -> int:
    """Clock ticks stolen from all processors since the computer started; 0 where the kernel does not say."""
    try:
        return int(_STAT.read_bytes().split(b"\n", 1)[0].split()[_STEAL])
    except (OSError, ValueError, IndexError):
        return 0
