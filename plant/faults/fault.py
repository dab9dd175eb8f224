"""A fault: the keys that a time line gives it, the names that it may use, and what it does to a plant.

A kind of fault is one class. Its fields are its keys; the types of fields that name something of the machine
(`MachineName`) are checked against the machine; one method says what becomes of a reading, an effort, a
signal, a message or the mechanism. What a fault remembers while it acts is its `Effect`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args, get_origin

import numpy as np
from pydantic import Field, model_validator

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.problems import Problem
from linkwork.machine.sections.fields import Count, Name, Number, Section, entry, one_of, wrong
from linkwork.machine.yaml_document import Document
from linkwork.multibody.expressions import ExpressionError
from linkwork.multibody.expressions.conditions import Condition, parse_condition
from linkwork.multibody.expressions.text import words_in
from linkwork.multibody.mechanism import Mechanism
from linkwork.plant.faults.faulty_machinery import Acting, FaultyMachinery
from linkwork.plant.faults.wire import Wire

BEGINS = ("at_s", "at_tick", "after_s", "after_ticks")
Named = Annotated[str, Field(min_length=1, max_length=100)]
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]


@dataclass(frozen=True)
class MachineName:
    """Type of a key that names something of the machine.

    `what`: the term for it, in which `{of}` is the fault's target; `known`: the names, for a fault.
    """

    what: str
    known: Callable[[Machine, Any], Sequence[str]]


@dataclass
class Site:
    """Place of a fault: the machine as its file has it, the machinery and the link with faults in them.

    `random` draws the fault's numbers; `built` is the mechanism that it asks for.
    """

    machine: Machine
    machinery: FaultyMachinery
    wire: Wire
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    built: Mechanism | None = None

    @property
    def period_s(self) -> float:
        """Length of a tick, s."""
        return self.machine.plant.period_s


@dataclass
class FaultCheck:
    """Comparison of one fault of a time line, at `index`, with the machine; collects its problems."""

    machine: Machine
    document: Document
    index: int
    hardware: bool
    problems: list[Problem] = field(default_factory=list)
    built: Mechanism | None = None
    """The mechanism that the fault asks for."""

    def note(self, key: str, message: str, found: str = "", allowed: str = "", remedy: str = "") -> None:
        """Something is wrong with a key."""
        place = ("faults", self.index, key)
        problem = self.document.problem(place, message, found=found, allowed=allowed, remedy=remedy)
        self.problems.append(problem)

    def unknown(self, key: str, name: str, what: str, known: Sequence[str]) -> None:
        """A key names what there is not."""
        self.problems.append(unknown(self.document, ("faults", self.index, key), name, what, known))

    def condition(self, text: str) -> None:
        """The names of a condition are measured quantities, and a word alone is a digital signal."""
        machine = self.machine
        known = ["time_s", "tick"]
        for sensor in machine.sensors:
            known += [f"{sensor.joint}.position", f"{sensor.joint}.velocity"]
        known += [f"{motor.joint}.effort" for motor in machine.motors]
        known += [signal.name for signal in machine.signals]
        for name in condition_in(text).names:
            if name not in known:
                self.unknown("when", name, "measured quantity", known)
                return
        try:
            parse_condition(text, [signal.name for signal in machine.signals if signal.is_digital])
        except ExpressionError as error:
            self.note("when", error.message, error.found, error.allowed, error.remedy)


@lru_cache(256)
def condition_in(text: str) -> Condition:
    """Return the condition of a fault. Raises ExpressionError.

    Any name may stand alone, as that of a digital signal does; whether it is one is checked with the machine.
    """
    return parse_condition(text, words_in(text))


class PlantFault(Section):
    """One fault. Without a key for the start it begins immediately; without a duration it stays."""

    kind: ClassVar[str]
    """Class and name, "sensor.bias": the key that allows one word only, and that word."""
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

    @classmethod
    def __pydantic_init_subclass__(cls, **rest: Any) -> None:
        super().__pydantic_init_subclass__(**rest)
        for key, each in cls.model_fields.items():
            if get_origin(each.annotation) is Literal and len(words := get_args(each.annotation)) == 1:
                cls.kind = f"{key}.{words[0]}"

    @model_validator(mode="after")
    def _when(self) -> Self:
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

    def ticks(self, period_s: float) -> int | None:
        """Return the number of ticks that it lasts; None: until it is cleared."""
        if self.for_ticks is not None:
            return self.for_ticks
        return None if self.for_s is None else max(1, round(self.for_s / period_s))

    @classmethod
    def missing(cls, machine: Machine) -> str:  # noqa: ARG003 - most faults need nothing
        """Return what a machine lacks for this kind of fault; "" where it lacks nothing."""
        return ""

    @classmethod
    def machine_names(cls) -> Iterator[tuple[str, MachineName]]:
        """Yield its keys that name something of the machine, with their types."""
        for key, each in cls.model_fields.items():
            yield from ((key, mark) for mark in each.metadata if isinstance(mark, MachineName))

    def with_own_names(self, machine: Machine) -> Self:
        """Return it with the machine's names in place of aliases."""
        given = {key: getattr(self, key) for key, _ in self.machine_names()}
        own = {key: machine.aliases[name] for key, name in given.items() if name in machine.aliases}
        return self.model_copy(update=own) if own else self

    def check(self, check: FaultCheck) -> None:
        """Compare it with the machine: its condition, its names and, where these are known, the rest."""
        if self.when is not None:
            check.condition(self.when)
        for key, mark in self.machine_names():
            known = mark.known(check.machine, self)
            if getattr(self, key) not in known:
                check.unknown(key, getattr(self, key), mark.what.format(of=self.about), known)
                return
        self.compare(check)

    def compare(self, check: FaultCheck) -> None:
        """Compare with the machine what its names do not say; by default nothing."""

    @abstractmethod
    def effect(self, site: Site) -> Effect[Any]:
        """Return what acts for it at a plant."""


class Clear(PlantFault):
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

    def effect(self, site: Site) -> Effect[Clear]:
        """Return an effect that leaves the plant as it is."""
        return Effect(self, site)


F = TypeVar("F", bound=PlantFault)


class CannotBegin(Exception):
    """A fault cannot act here and now; the text gives the reason. The state is unchanged."""


class Effect(Generic[F]):
    """A fault from its beginning to its end, and what it remembers; `first` is the tick of its beginning."""

    def __init__(self, fault: F, site: Site) -> None:
        self.fault, self.site, self.first = fault, site, 0

    def begin(self, tick: int) -> str:
        """Act from this tick of the plant on; return a remark. Raises CannotBegin."""
        self.first = tick
        return ""

    def tick(self, tick: int) -> None:
        """Called at the beginning of each tick at which it acts, the first too."""

    def end(self) -> str:
        """Stop acting; return a remark."""
        return ""


class ValueFault(PlantFault):
    """A fault that changes numbers of the device link: a reading, an effort, a signal."""

    @abstractmethod
    def place(self, site: Site) -> tuple[Acting, Floats, Floats]:
        """Return the list of what acts there in each tick, and views of the numbers: `x` (n) and `v` (k)."""

    @abstractmethod
    def change(self, values: FaultyValues) -> None:
        """Change the numbers of this tick, in place."""

    def effect(self, site: Site) -> Effect[Any]:
        """Return the numbers that it changes."""
        return FaultyValues(self, site)


class FaultyValues(Effect[ValueFault]):
    """Numbers with a fault: `x` (n) and, of a sensor that measures velocity, `v` (k); views.

    `last`: copies of both after the last tick; at the beginning, of before the fault. `past` is free for what
    a fault remembers of earlier ticks.
    """

    def __init__(self, fault: ValueFault, site: Site) -> None:
        super().__init__(fault, site)
        self._acting, self.x, self.v = fault.place(site)
        self.past: deque[float] = deque()

    @property
    def elapsed_ticks(self) -> int:
        """Ticks since the fault began."""
        return self.site.machinery.tick - self.first

    def begin(self, tick: int) -> str:
        """Change the numbers from this tick on, after the faults that began before."""
        self.last = self.x.copy(), self.v.copy()
        self._acting.append(self.apply)
        return super().begin(tick)

    def end(self) -> str:
        """Leave the numbers as they are."""
        self._acting.remove(self.apply)
        return super().end()

    def apply(self) -> None:
        """Change the numbers, in place."""
        self.fault.change(self)
        self.last = self.x.copy(), self.v.copy()
