"""Names of the published reactions: columns of the record, and what `state` answers.

Each entry of `reactions.reactions.ReactionTable` has the force (N) and the moment (N m) on its body, along
the world's axes, the moment about the entry's place: of a joint the origin of its child's frame, of a closure
that of frame b. A constraint on a coordinate has its effort (N m or N) too.
"""

from __future__ import annotations

import math
from typing import Any

from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.reactions.reactions import ReactionTable

FORCE, MOMENT = ("fx", "fy", "fz"), ("mx", "my", "mz")
EFFORT = "effort"


def reaction_columns(mechanism: Mechanism) -> list[str]:
    """One name a number, `elbow.fx` to `elbow.mz`, in the order of the record."""
    table = ReactionTable(mechanism)
    named = zip(table.names, table.effort_units, strict=True)
    return [
        f"{name}.{part}" for name, unit in named for part in (*FORCE, *MOMENT, *([EFFORT] if unit else []))
    ]


class ReactionWording:
    """The reactions of one machine as people read them."""

    def __init__(self, mechanism: Mechanism) -> None:
        table = ReactionTable(mechanism)
        self._entries = list(
            zip(table.names, table.on_bodies, table.from_bodies, table.effort_units, strict=True)
        )

    def as_map(self, told: dict[str, float]) -> dict[str, Any]:
        """By joint and constraint, from the record's channel `reaction`; values that are not finite become
        nil."""
        return {
            name: {
                "on_body": on,
                "from_body": by,
                "force_N": [_finite(told[f"{name}.{part}"]) for part in FORCE],
                "moment_N_m": [_finite(told[f"{name}.{part}"]) for part in MOMENT],
                **({f"effort_{unit}": _finite(told[f"{name}.{EFFORT}"])} if unit else {}),
            }
            for name, on, by, unit in self._entries
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
