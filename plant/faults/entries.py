"""Common keys of the entries of a time line: name, begin, duration."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from linkwork.machine.sections.fields import Count, Name, Number, Section, entry, one_of, wrong
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.multibody.expressions.text import words_in

BEGINS = ("at_s", "at_tick", "after_s", "after_ticks")
Named = Annotated[str, Field(min_length=1, max_length=100)]
"""A name of the machine: whether it has it is checked against the machine."""
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]


@lru_cache(256)
def condition_in(text: str) -> Condition:
    """Return the condition of a fault. Raises ExpressionError.

    Any name may stand alone, as that of a digital signal does; whether it is one is checked with the machine.
    """
    return parse_condition(text, words_in(text))


class FaultEntry(Section):
    """One fault. Without a key for the start it begins immediately; without a duration it stays."""

    kind: ClassVar[str]
    hardware: ClassVar[str] = ""
    """Why a real machine cannot do it; "" where it can."""

    name: Name | None = entry("Name, for clearing it and in reports", default=None)
    at_s: Number | None = entry(
        "Device time at which it begins, as time_s of the states", "s", None, ge=0, le=1e7
    )
    at_tick: Count | None = entry("Tick at which it begins, as seq of the states", default=None, ge=0)
    after_s: Number | None = entry("Delay from injection to start", "s", None, ge=0, le=1e7)
    after_ticks: Count | None = entry("Delay from injection to start, in ticks", default=None, ge=0)
    when: str | None = entry(
        "Condition that starts it, once: comparisons of expressions, joined by `and`", default=None
    )
    for_s: Number | None = entry("Duration. Default: until it is cleared", "s", None, gt=0, le=1e7)
    for_ticks: Count | None = entry("Duration in ticks", default=None, ge=1)

    @model_validator(mode="after")
    def _when(self) -> FaultEntry:
        one_of(self, *BEGINS)
        one_of(self, "for_s", "for_ticks")
        if self.when is not None:
            try:
                condition_in(self.when)
            except ExpressionError as error:
                raise wrong(
                    error.message, error.found, error.allowed, error.remedy, ("when",), error.at
                ) from None
        return self

    @property
    def about(self) -> str:
        """Its target: a name of the machine, a direction, a process; "" where there is none."""
        return str(getattr(self, "of", ""))


class Clear(FaultEntry):
    """End earlier faults: active ones stop, waiting ones are removed."""

    kind: ClassVar[str] = "clear"

    clear: Named = entry("Name of an earlier fault, or `all`")

    @model_validator(mode="after")
    def _momentary(self) -> Clear:
        for key in ("for_s", "for_ticks"):
            if getattr(self, key) is not None:
                raise wrong("clearing is immediate", remedy=f"remove {key}", at=(key,))
        return self

    @property
    def at_once(self) -> bool:
        """Whether it waits only for the next tick."""
        return self.when is None and all(getattr(self, key) is None for key in BEGINS)

    def frees(self, names: set[str]) -> None:
        """Remove from a set the names that may be used again after it."""
        names.difference_update(set(names) if self.clear == "all" else {self.clear})

    @property
    def about(self) -> str:
        """Names of the faults to clear."""
        return self.clear
