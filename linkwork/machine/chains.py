"""Implementations for open and closed chains, chosen once for each machine (`Machine.chain`).

The members of a `Chain` name functions and classes as `module:name`. A process imports the ones that it uses
(`resolved`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True)
class Chain:
    """The implementations for one kind of machine; an empty name: none is needed."""

    law_factory: Literal["open_chain", "closed_chain"]
    """Which factory of a law (protocol.laws.LawSpec) makes it."""
    law_setup: str
    """The second argument of these factories: function (Machine, LawReport, preload)."""
    loop_model: str
    """The model of the tick: class (Machine, Estimator) → controller.estimation.loop_model.LoopModel."""
    contact_force: str
    """Contact forces by the model, if not by that of the tree: class (Machine, ForceRow)."""
    warnings: tuple[str, ...]
    """Checks beyond those of every machine: Machine → Problems."""


OPEN_CHAIN: Final = Chain(
    law_factory="open_chain",
    law_setup="linkwork.controller.laws.law_table:driven_report",
    loop_model="linkwork.controller.estimation.loop_model:OpenChainModel",
    contact_force="",
    warnings=(),
)
CLOSED_CHAIN: Final = Chain(
    law_factory="closed_chain",
    law_setup="linkwork.controller.laws.closed_chain:Motors",
    loop_model="linkwork.controller.estimation.closed_chain_model:ClosedChainModel",
    contact_force="linkwork.controller.estimation.closed_chain_force_sensing:FeltThroughClosures",
    warnings=(
        "linkwork.machine.checks.controllability:leverage_warnings",
        "linkwork.machine.checks.rank_gap:rank_warnings",
        "linkwork.machine.checks.assembly_modes:assembly_warnings",
    ),
)


def resolved(name: str) -> Any:
    """Import the module of `module:name` and return the named member."""
    module, _, member = name.partition(":")
    return getattr(import_module(module), member)
