"""Short output for machines with many passive joints: they are counted, and shown with --all."""

from __future__ import annotations

from collections.abc import Collection, Sequence

MOST_SHOWN = 8
"""Passive joints, or other entries, up to which all of them are shown."""
MOST_ALIKE = 5
"""Problems of one kind that `check` shows."""
_ALL = "--all shows them"


def passive_joints(joints: Sequence[str], driven: Collection[str], *, show_all: bool) -> set[str]:
    """Return the joints to leave out: those that are not driven, where they are many and some are driven."""
    found = {name for name in joints if name not in driven}
    return set() if show_all or not driven or len(found) <= MOST_SHOWN else found


def left_out(hidden: Collection[str], what: str = "passive joints") -> str:
    """Return a text with the number of hidden entries, or '' if there are none."""
    return f"{len(hidden)} {what} ({_ALL})" if hidden else ""
