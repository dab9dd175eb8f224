"""Right of one page, of those that are open, to operate the machine; all others observe."""

from __future__ import annotations

import threading


class Seat:
    """The right to operate within one console. The controller's lease decides between clients."""

    def __init__(self, *, observe_only: bool = False) -> None:
        self.observe_only = observe_only
        self._holder: str | None = None
        self._lock = threading.Lock()

    def take(self, page: str) -> bool:
        """Give the seat to a page, from any other page; False where the console only observes."""
        if self.observe_only:
            return False
        with self._lock:
            self._holder = page
        return True

    def leave(self, page: str) -> None:
        """Free the seat where this page has it."""
        with self._lock:
            if self._holder == page:
                self._holder = None

    def held_by(self, page: str) -> bool:
        """Whether this page operates."""
        return self._holder == page and not self.observe_only

    @property
    def taken(self) -> bool:
        """Whether any page operates."""
        return self._holder is not None
