"""The section `signals`: digital and analog inputs and outputs beside the motors and sensors."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

from pydantic import PlainValidator, WithJsonSchema, field_serializer, model_validator

from linkwork.machine.problems import shown
from linkwork.machine.sections.fields import Alias, NamedSection, Number, Range, alias, entry, wrong

ON_WORDS: Final = ("on", "true", "1")
OFF_WORDS: Final = ("off", "false", "0")
KEEP: Final = "keep"
"""Reaction of an output that stays as it is."""


class SignalValueError(ValueError):
    """A value that a signal cannot have: what was found, and what is allowed."""

    def __init__(self, name: str, found: str, allowed: str) -> None:
        super().__init__(f"{name}: {found} is no value of this signal; allowed: {allowed}")
        self.found, self.allowed = found, allowed


def number_of(value: Any, *, words: bool) -> float:
    """Return the number that a value means, NaN where it means none."""
    if isinstance(value, bool):
        return float(value) if words else math.nan
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return math.nan
    word = value.strip().lower()
    if words and word in (*ON_WORDS, *OFF_WORDS):
        return float(word in ON_WORDS)
    try:
        return float(word) if "_" not in word else math.nan
    except ValueError:
        return math.nan


_REACTIONS = ("on_fault", "on_link_loss", "on_disable")


def _plain(value: Any) -> Any:
    if value is None or not isinstance(value, (bool, int, float, str)):
        raise wrong("this has the wrong type", shown(value), "on, off, a number, or keep")
    return value


SignalValue = Annotated[
    Any,
    PlainValidator(_plain),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "number"}, {"enum": ["on", "off", KEEP]}]}),
]
"""A value of a signal: on or off, or a number in the signal's unit."""


class Signal(NamedSection):
    """One signal: a valve, a lamp, a light barrier, the pressure of a gripper."""

    type: Literal["digital", "analog"] = entry("digital: on or off; analog: a number")
    direction: Literal["input", "output"] = entry(
        "output: the controller sets it; input: the device reports it"
    )
    about: str = entry("Description of the signal", default="")
    alias: Alias | None = alias()
    unit: str = entry("Unit of an analog signal, for people", default="", max_length=20)
    range: Range | None = entry(
        "Smallest and largest value of an analog signal. It must be given", default=None
    )
    initial: SignalValue = entry(
        "Value before the first one is set or reported. Default: off; of an analog signal 0, or the end of "
        "the range nearest to it",
        default=None,
    )
    on_fault: SignalValue = entry(
        "Value of an output from the tick of a fault or an emergency stop on; keep: it stays", default=KEEP
    )
    on_link_loss: SignalValue = entry(
        "Value of an output from the moment the plant's watchdog misses the controller; keep: it stays",
        default=KEEP,
    )
    on_disable: SignalValue = entry(
        "Value of an output once `disable` has braked the machine; keep: it stays", default=KEEP
    )

    simulated: str = entry(
        "How a simulated plant gives an input: a condition of a digital one, an expression of an analog one, "
        "over coordinates, JOINT.position, JOINT.velocity, POINT.x, .y, .z, signals and time_s. Default: its "
        "initial value",
        default="",
        max_length=1000,
    )
    noise: Number = entry(
        "Standard deviation of the noise of a simulated analog input, in its unit", default=0.0, ge=0
    )
    resolution: Number = entry(
        "Step to which a simulated analog input is rounded, after its noise, in its unit; 0: none",
        default=0.0,
        ge=0,
    )
    delay_s: Number = entry("Delay of a simulated input", "s", 0.0, ge=0, le=100)

    @model_validator(mode="after")
    def _fits(self) -> Signal:
        if self.type == "digital":
            for key in ("unit", "range"):
                if getattr(self, key):
                    raise wrong("a digital signal is on or off", key, remedy=f"remove {key}", at=(key,))
        elif self.range is None:
            raise wrong("an analog signal needs its range", "nothing", "range: [LOW, HIGH]", "add range")
        elif not self.range[0] < self.range[1]:
            raise wrong("the range is empty", shown(self.range), "[LOW, HIGH] with LOW < HIGH", at=("range",))
        if self.direction == "output" and self.simulated:
            remedy = "remove simulated"
            raise wrong("the controller sets an output", "simulated", remedy=remedy, at=("simulated",))
        for key in ("noise", "resolution", "delay_s"):
            if getattr(self, key) and not self.simulated:
                message = f"{key} belongs to a simulated input"
                raise wrong(message, key, remedy=f"remove {key}, or give simulated", at=(key,))
        for key in ("noise", "resolution"):
            if getattr(self, key) and self.type == "digital":
                raise wrong("a digital signal is on or off", key, remedy=f"remove {key}", at=(key,))
        if self.direction == "input":
            for key in _REACTIONS:
                if getattr(self, key) != KEEP:
                    message = "an input has no reactions: the device decides its value"
                    raise wrong(message, key, remedy=f"remove {key}", at=(key,))
        first = min(max(0.0, self.low), self.high) if self.initial is None else self._value("initial")
        return self.with_values(initial=first, **{key: self._value(key) for key in _REACTIONS})

    def _value(self, key: str) -> float:
        """Return the number of a value in words; NaN for a reaction that keeps the output as it is."""
        value = getattr(self, key)
        if value == KEEP and key != "initial":
            return math.nan
        try:
            return self.read(value)
        except SignalValueError as error:
            keep = "" if key == "initial" else ", or keep"
            raise wrong(
                "the signal cannot have this value", shown(value), error.allowed + keep, at=(key,)
            ) from None

    @field_serializer(*_REACTIONS)
    def _as_written(self, value: float) -> float | str:
        return KEEP if math.isnan(value) else value

    @property
    def is_input(self) -> bool:
        """Whether the device reports it."""
        return self.direction == "input"

    @property
    def is_digital(self) -> bool:
        """Whether its values are 0 and 1."""
        return self.type == "digital"

    @property
    def low(self) -> float:
        """The smallest value of its range."""
        return 0.0 if self.range is None else self.range[0]

    @property
    def high(self) -> float:
        """The largest value of its range."""
        return 1.0 if self.range is None else self.range[1]

    @property
    def allowed(self) -> str:
        """The values that it can have, as text."""
        if self.is_digital:
            return "on or off"
        return f"{self.low:g} to {self.high:g}" + (f" {self.unit}" if self.unit else "")

    def read(self, value: Any) -> float:
        """Return the number of a value, which may be a word. Raises SignalValueError."""
        number = number_of(value, words=self.is_digital)
        fits = number in (0.0, 1.0) if self.is_digital else self.low <= number <= self.high
        if not fits:
            raise SignalValueError(self.name, str(value), self.allowed)
        return number

    def admits(self, value: float) -> bool:
        """Whether the signal can have this value."""
        return value in (0.0, 1.0) if self.is_digital else self.low <= value <= self.high

    def plain(self, value: float) -> bool | float:
        """The value for people and programs: true or false of a digital signal."""
        return value > 0.5 if self.is_digital else float(value)

    def shown(self, value: float) -> str:
        """The value as text, with its unit."""
        if self.is_digital:
            return "on" if value > 0.5 else "off"
        return f"{value:.6g}" + (f" {self.unit}" if self.unit else "")

    def interface(self) -> dict[str, Any]:
        """Return the signal as both ends of the device link must agree on it."""
        return {
            "name": self.name,
            "direction": self.direction,
            "type": self.type,
            "unit": self.unit,
            "range": [self.low, self.high],
        }
