"""One thing asked of the system, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SetupStep:
    """name: what it is about. asked, obtained: as few words as will do. remedy.

    What to do where they differ.
    """

    name: str
    asked: str
    obtained: str
    remedy: str = ""

    @property
    def met(self) -> bool:
        """Whether what was asked for was obtained."""
        return self.asked == self.obtained
