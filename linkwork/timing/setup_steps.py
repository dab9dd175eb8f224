"""One thing asked of the system, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SetupStep:
    """A requested setting: its name, the values asked for and obtained as short texts, and a remedy.

    `remedy`: what to do where the two differ.
    """

    name: str
    asked: str
    obtained: str
    remedy: str = ""

    @property
    def met(self) -> bool:
        """Whether the setting was obtained."""
        return self.asked == self.obtained
